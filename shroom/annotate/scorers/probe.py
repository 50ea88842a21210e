"""The knowledge probe: p(the model knows the answer), from a hidden state; how it is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta

from shroom.annotate.base import Failure, Item, Scorer, Scores
from shroom.annotate.scorers.hidden_states import QUESTION, Mode, Position, Reader, frame, stored
from shroom.annotate.scorers.probe_fitting import train
from shroom.annotate.scorers.saved_probe import (
    ABOUT,
    TORCH,
    LinearProbe,
    SavedProbe,
    describe_left_out,
    identity,
)
from shroom.core.extras import require
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, show
from shroom.datasets.dreamcatcher import ALL_RIGHT, ALL_WRONG, Question
from shroom.detectors.settings import File, Name
from shroom.inference.run_settings import Run
from shroom.inference.store import kept
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals


@dataclass(eq=False)
class Probe(Scorer):
    """Scores all generations of a question by p(the model knows the answer)."""

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449, section 3.
    # The layer of a ``.pt``, from 0 for the embeddings, is by default in the file's name.

    name = "probe"
    fields = ("probe_score",)
    # What ``annotate probe train`` wrote, or the ``probe.pt`` of the source's notebook.
    probe: File
    model: Name | None = None
    layer: Annotated[int, Meta(ge=-1000, le=1000)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        place = Path(self.probe)
        self._saved: SavedProbe | LinearProbe
        if place.suffix in TORCH:
            self._saved = LinearProbe.load(place, self.model, self.layer)
            self._identity = self._saved.identity
        elif self.layer is not None:
            raise ShroomError(
                f"{self.probe} already specifies the layer; omit the setting 'layer', "
                "which is only for PyTorch files"
            )
        else:
            self._saved, self._identity = SavedProbe.load(place), identity(place)
        self._readers: dict[str | None, Reader] = {}

    @property
    def identity(self) -> str:
        """The probe's numbers and settings, which include the model's state after a check."""
        return f"{self.name} {self._identity}"

    def places(self, question: Question) -> tuple[int, ...]:
        """Return the places of all generations, which share the value of their question."""
        return tuple(range(len(question.generation)))

    def item(self, question: Question, place: int) -> Item:
        del place
        return question.question

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        asked = [question for question in items if question.strip()]
        if not asked:
            return [Failure("the question is blank")] * len(items)
        saved, reader = self._saved, self._reader(run)
        layer = reader.layer(saved.layer)
        ids = [reader.ids(saved.frame, question) for question in asked]
        p = dict(zip(asked, saved.p(reader.states(ids, [layer], run)[:, 0]).tolist()))
        return [
            {"probe_score": p[question]} if question in p else Failure("the question is blank")
            for question in items
        ]

    def _reader(self, run: Run) -> Reader:
        """Return the model, after checking that the probe was trained on it."""
        if run.device not in self._readers:
            name = self.model or self._saved.model
            reader = Reader(name, None if self.model else self._saved.revision, run.device)
            self._saved.refuse_another(reader.check(self._saved.frame, run), name)
            self._readers[run.device] = reader
        return self._readers[run.device]


#: The store of the states, in the folder of the probe.
STATES = "states.sqlite"
#: The minimum number of questions of either label, so that inner folds have both.
LEAST = 4


def labelled(questions: Sequence[Question], least: int) -> tuple[dict[str, bool], dict[str, int]]:
    """Return whether the model knows each question to train on, and the numbers left out."""
    # There are at least ``least`` questions of either label; the others are counted by reason.
    left_out: Counter[str] = Counter()
    by_text: dict[str, list[Question]] = {}
    for question in questions:
        text = question.question.strip()
        if not text:
            left_out["blank"] += 1
        elif question.category not in (ALL_RIGHT, ALL_WRONG):
            left_out[question.category or "without a category"] += 1
        else:
            by_text.setdefault(text, []).append(question)
    clear: dict[str, bool] = {}
    for first, *others in by_text.values():
        if any(other.category != first.category for other in others):
            left_out["repeated with another category"] += 1 + len(others)
        else:
            clear[first.question] = first.category == ALL_RIGHT
            left_out["doubled"] += len(others)
    left_out = +left_out  # without zero counts
    right = sum(clear.values())
    if min(right, len(clear) - right) < least:
        without = "; " + describe_left_out(left_out) if left_out else ""
        raise ShroomError(
            f"a probe needs at least {least} questions with only right answers (got {right}) "
            f"and {least} with only wrong answers (got {len(clear) - right}){without}; to "
            "categorise more questions, use 'shroom annotate run'"
        )
    return clear, dict(left_out)


@dataclass(frozen=True)
class Plan:
    """The settings of a training."""

    model: str
    revision: str | None = None
    layers: tuple[int, ...] = ()  # the layers to try; by default all
    position: Position = "last"  # as for :func:`shroom.annotate.scorers.hidden_states.frame`
    mode: Mode | None = None
    prompt: str | None = None
    folds: int = 5
    how: Intervals = DEFAULT_INTERVALS

    def __post_init__(self) -> None:
        if self.prompt is not None and self.prompt.count(QUESTION) != 1:
            raise ShroomError(f"prompt: expected {QUESTION} once, got {show(self.prompt)}")


def make(
    questions: Sequence[Question],
    plan: Plan,
    folder: Path,
    run: Run,
    report: Callable[[int, int], None],
    *,
    resume: bool = False,
) -> SavedProbe:
    """Train the probes of a plan, save the best one and all states to a folder, and return it."""
    require("models", "safetensors", "scikit-learn")
    knows, left_out = labelled(questions, max(LEAST, plan.folds))
    if (folder / ABOUT).exists() and not resume:
        raise ShroomError(
            f"{folder} contains the probe of an earlier run; add --resume to train it again from "
            "the stored hidden states, or choose another folder"
        )
    reader = Reader(plan.model, plan.revision, run.device)
    layers = sorted({reader.layer(number) for number in plan.layers or range(reader.last + 1)})
    around = frame(reader.tokenizer, plan.model, plan.position, plan.mode, plan.prompt)
    items = [reader.ids(around, question) for question in knows]
    cut = sum(len(item) == reader.most for item in items)
    if cut:
        run.note(
            f"{counted(cut, 'question')} might have been truncated: the model reads only the last "
            f"{reader.most} tokens"
        )
    with kept(folder / STATES, run.note, resume=resume, refuse=True) as store:
        store.unfinished = True  # other trainings can use the states
        figures, probe, curve = train(
            layers,
            stored(reader, items, layers, store, run),
            np.array([*knows.values()]),
            folds=plan.folds,
            how=plan.how,
            report=report,
        )
    place = Path(plan.model).expanduser()  # must be found from any working folder
    saved = SavedProbe(
        model=str(place.resolve()) if place.is_dir() else plan.model,
        revision=plan.revision,
        layer=figures.best,
        frame=around,
        probe=probe,
        curve=curve,
        check=np.asarray(reader.check(around, run), np.float64),
        figures=figures,
        left_out=left_out,
    )
    saved.save(folder)
    return saved
