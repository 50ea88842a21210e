"""Making a probe of a model: its states, the training, and the folder of the best."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.annotate.probe.collect_states import collect
from shroom.annotate.probe.hidden_states import Reader
from shroom.annotate.probe.labels import labelled
from shroom.annotate.probe.prompt_frame import frame
from shroom.annotate.probe.saved_probe import ABOUT, CHECK, SavedProbe
from shroom.annotate.probe.site_search import train
from shroom.annotate.probe.sites import Site
from shroom.annotate.probe.state_store import Store
from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.metrics.intervals import USUAL, Intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from shroom.datasets.dreamcatcher.records import Question
    from shroom.inference.run_settings import Run

#: The least number of questions of either label: fewer leave inner folds without one.
LEAST = 4


@dataclass(frozen=True)
class Plan:
    """How a probe is made.

    Attributes
    ----------
    model, revision : str
        As for :func:`shroom.inference.hub.model`.
    kinds : tuple of str
        Of ``KINDS``.
    by_head : bool
        Whether each attention head has a probe of its own.
    position, mode, prompt : str
        As for :func:`shroom.annotate.probe.prompt_frame.frame`.
    dtype : str
        Of the states on disk.
    folds : int
        Of the cross-validation; its seed is that of the intervals.
    how : Intervals
        How intervals are made.
    """

    model: str
    revision: str | None = None
    kinds: tuple[str, ...] = ("layers",)
    by_head: bool = False
    position: str = "last"
    mode: str | None = None
    prompt: str | None = None
    dtype: str = "float32"
    folds: int = 5
    how: Intervals = USUAL


def make(
    questions: Sequence[Question],
    plan: Plan,
    folder: Path,
    run: Run,
    report: Callable[[int, int], None],
    *,
    resume: bool = False,
) -> SavedProbe:
    """Train the probes of a plan and save the best; return it.

    Parameters
    ----------
    questions : sequence of Question
        With categories.
    plan : Plan
        What is wanted.
    folder : Path
        Where the probe goes, and under ``states`` the states.
    run : Run
        How the model is run.
    report : callable
        Called with the number of places at which there is a probe, and of all.
    resume : bool
        Whether states in the folder count.

    Raises
    ------
    ShroomError
        Where there are too few questions, the model cannot be used, or the folder is another's.
    """
    require("models", "safetensors", "scikit-learn")
    found = labelled(questions, max(LEAST, plan.folds))
    if (folder / ABOUT).exists() and not resume:
        raise ShroomError(
            f"{folder}: has a probe already; name another folder, or give --resume to train it "
            "again from its states"
        )
    reader = Reader(plan.model, plan.revision, run.device)
    sites = reader.blocks.sites(plan.kinds, by_head=plan.by_head)
    stored = list(dict.fromkeys(Site(site.kind, site.layer) for site in sites))
    around = frame(reader.tokenizer, plan.model, plan.position, plan.mode, plan.prompt)
    model = _lasting(plan.model)
    about = {
        "model": model,
        "revision": plan.revision,
        "identity": reader.identity,
        "frame": around.to_dict(),
        "states": list(plan.kinds),
        "heads": reader.blocks.heads,
        "dtype": plan.dtype,
    }
    store = Store(folder / "states", about, resume=resume)
    around = store.frame  # a template may have had another date
    keys = collect(reader, around, stored, found.questions, store, run)

    def states(site: Site) -> NDArray[np.float64]:
        return store.states(site, keys, reader.blocks.heads)

    trained = train(
        sites,
        states,
        found.knows,
        folds=plan.folds,
        seed=plan.how.seed,
        how=plan.how,
        report=report,
    )
    best = trained.figures.best
    check = reader.check(reader.ids(around, CHECK), run)
    saved = SavedProbe(
        model=model,
        revision=plan.revision,
        site=best,
        heads=reader.blocks.heads,
        frame=around,
        probe=trained.probe,
        curve=trained.curve,
        check=check,
        figures=trained.figures,
        left_out=found.left_out,
    )
    saved.save(folder)
    return saved


def _lasting(model: str) -> str:
    """Return a model's name as it can be found from any folder."""
    place = Path(model).expanduser()
    return str(place.resolve()) if place.is_dir() else model
