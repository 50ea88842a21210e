"""Training of a knowledge probe on questions whose answers are all right or all wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shroom.annotate.scorers.hidden_states import QUESTION, Mode, Position, Reader, frame, stored
from shroom.annotate.scorers.probe_fitting import train
from shroom.annotate.scorers.saved_probe import ABOUT, SavedProbe, describe_left_out
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


def labelled(questions: Sequence[Question], least: int) -> tuple[dict[str, bool], dict[str, int]]:
    """Return whether the model knows each question to train on, and the numbers left out."""
    # There are at least ``least`` questions of either label; the others are counted by reason.
    left_out: Counter[str] = Counter()
    by_text: dict[str, list[Question]] = {}
    for question in questions:
        text = question.question.strip()
        if text and question.category in (ALL_RIGHT, ALL_WRONG):
            by_text.setdefault(text, []).append(question)
        else:
            left_out[(question.category or "without a category") if text else "blank"] += 1
    knows: dict[str, bool] = {}
    for same in by_text.values():
        if len({question.category for question in same}) > 1:
            left_out["repeated with another category"] += len(same)
        else:
            knows[same[0].question] = same[0].category == ALL_RIGHT
            left_out["doubled"] += len(same) - 1
    left_out = +left_out  # without zero counts
    right = sum(knows.values())
    if min(right, len(knows) - right) < least:
        without = "; " + describe_left_out(left_out) if left_out else ""
        raise ShroomError(
            f"a probe needs at least {least} questions with only right answers (got {right}) "
            f"and {least} with only wrong answers (got {len(knows) - right}){without}; to "
            "categorise more questions, use 'shroom annotate run'"
        )
    return knows, dict(left_out)


def make(
    questions: Sequence[Question], plan: Plan, folder: Path, run: Run, *, resume: bool = False
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
        states, labels = stored(reader, items, layers, store, run), np.array([*knows.values()])
        figures, probe, curve = train(
            layers, states, labels, folds=plan.folds, how=plan.how, report=run.report
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
