"""Train probes of a model, and save the best one to a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shroom.annotate.probe.fitting import train
from shroom.annotate.probe.hidden_states import QUESTION, Mode, Position, Reader, frame, stored
from shroom.annotate.probe.saved_probe import ABOUT, SavedProbe, describe_left_out
from shroom.core.extras import require
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, show
from shroom.datasets.dreamcatcher import ALL_RIGHT, ALL_WRONG, Question
from shroom.inference.run_settings import Run
from shroom.inference.store import kept
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals

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
            f"and {least} with only wrong answers (got {len(clear) - right}){without}; to find the "
            "categories of more questions, use 'shroom annotate run'"
        )
    return clear, dict(left_out)


@dataclass(frozen=True)
class Plan:
    """The settings of a training."""

    model: str
    revision: str | None = None
    layers: tuple[int, ...] = ()  # the layers to try; by default all
    position: Position = "last"  # as for :func:`shroom.annotate.probe.hidden_states.frame`
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
            f"{folder} contains the probe of an earlier run; add --resume to train it again, or "
            "choose another folder"
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
