"""The hallucination rate of outputs without labels, corrected for a detector's errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Label
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.out_of_fold import TrainingItems
from shroom.inference.run_settings import RUN, Run
from shroom.metrics.prediction_powered import Estimate, labels_for_half, prediction_powered_mean
from shroom.scoring.display.text import ends, figure
from shroom.scoring.result import Result
from shroom.scoring.tables import Estimate as Shown
from shroom.scoring.tables import Row, Table

#: The minimum number of labelled items for an estimate.
MIN_LABELLED = 30


@dataclass(frozen=True)
class GroupRate:
    by: str
    group: str
    n_outputs: int
    n_labelled: int
    naive: float
    corrected: Estimate | None = None
    labels_alone: Estimate | None = None
    labels_for_half: int | None = None

    def row(self) -> Row:
        return (
            *(f"{self.by} {self.group}".strip() or "all", self.n_outputs, self.naive),
            *(_shown(self.corrected), self.n_labelled, _shown(self.labels_alone)),
            self.labels_for_half,
        )


def _shown(rate: Estimate | None) -> Shown:
    return Shown(None) if rate is None else Shown(rate.mean, rate.interval)


@dataclass(frozen=True, repr=False)
class HallucinationRate(Result):
    """The rate of all outputs and of each group."""

    detector: str
    confidence: float
    groups: list[GroupRate]
    out_of_fold: int = 0
    labelled_outputs: int = 0

    def __repr__(self) -> str:
        rate, n = _shown(self.groups[0].corrected), self.groups[0].n_outputs
        outputs = counted(n, "output")
        return f"HallucinationRate({rate} {rate.ends}, {outputs}, {self.detector})"

    @property
    def verdict(self) -> str:
        """The rate with its interval, and the data that it rests on."""
        whole = self.groups[0]
        rate = _shown(whole.corrected)
        return (
            f"The hallucination rate is {figure(rate.value)} ({self._confidence} {ends(rate.ci)})."
            f" The rate is estimated from {self.detector}'s predictions for {whole.n_outputs} "
            f"outputs and from {whole.n_labelled} labelled outputs, which must be a random sample."
        )

    @property
    def _confidence(self) -> str:
        return f"{100 * self.confidence:g}% interval"

    def tables(self) -> list[Table]:
        labels = ("labelled", "labels only", "labels to halve")
        rates = Table(
            heads=("", "outputs", "naive", "corrected", *labels),
            rows=[group.row() for group in self.groups],
            ci=self._confidence,
            below=True,
        )
        notes = [
            f"naive: share of outputs labelled Hallucination by {self.detector}",
            "corrected: prediction-powered estimate from the unlabelled and the labelled outputs",
            "labels only: share of Hallucination among the labels, weighted by task",
            "labels to halve: number of labels that would halve the interval",
            "the labelled outputs must be a random sample of all outputs or of each task's outputs",
        ]
        if self.out_of_fold:
            notes.append(
                f"{self.detector} was fitted on {self.out_of_fold} of the labelled outputs, for "
                "which it returns out-of-fold p"
            )
        if self.labelled_outputs:
            notes.append(
                f"both inputs contain {counted(self.labelled_outputs, 'labelled output')}, so the "
                "interval is too narrow; remove them from one input"
            )
        return [rates, Table(notes=notes)]


def hallucination_rate(
    detector: Detector,
    outputs: Sequence[Datapoint],
    labelled: Sequence[Datapoint],
    *,
    confidence: float = 0.95,
    run: Run = RUN,
) -> HallucinationRate:
    """Return the hallucination rate of outputs, corrected with labelled outputs of the same kind.

    Parameters
    ----------
    detector : Detector
        The detector, which predicts p for the outputs and the labelled outputs.
    outputs : sequence of Datapoint
        At least two outputs, whose labels are ignored.
    labelled : sequence of Datapoint
        A random sample of outputs of the same kind. Items are left out if they have no label or if
        no output has their task. Each task has the same weight as in ``outputs``.
    confidence : float
        Confidence level of the intervals, in (0, 1).
    run : Run
        Device, precision and batches.

    Raises
    ------
    ShroomError
        If there are fewer than two outputs, fewer than :data:`MIN_LABELLED` labelled items, or
        fewer than two labelled items of a task; if only some items have a task; or if the
        detector was fitted on labelled items and has no out-of-fold p for them.

    Examples
    --------
    >>> from shroom.detectors.registry import detector
    >>> from shroom.scoring.datapoint_files import read
    >>> points = read("shroom/sample/val.model-aware.json")
    >>> rate = hallucination_rate(detector("lexical"), points[:25], points[25:])
    >>> rate.groups[0].n_labelled, round(rate.groups[0].naive, 2)
    (35, 0.12)
    """
    labelled = [point for point in labelled if point.label is not None]
    tasks, of_labelled = _words(outputs, "task.name"), _words(labelled, "task.name")
    if "" in {*tasks, *of_labelled} and len({*tasks, *of_labelled}) > 1:
        raise ShroomError("some items have a task, but others do not; add a task to all items")
    kept = np.isin(of_labelled, tasks)
    labelled, of_labelled = list(compress(labelled, kept)), of_labelled[kept]
    if len(labelled) < MIN_LABELLED or len(outputs) < 2:
        raise ShroomError(
            f"estimating a rate needs at least {MIN_LABELLED} labelled items with the same tasks "
            f"as the outputs, and 2 outputs; got {counted(len(labelled), 'labelled item')} and "
            f"{counted(len(outputs), 'output')}; add data"
        )
    if missing := _too_few(tasks, of_labelled):
        raise ShroomError(
            f"some outputs have the task {' or '.join(missing)}, but fewer than two labelled items "
            "have this task; label more outputs of this task, or leave the task out"
        )
    if in_sample := int(detector.in_sample(labelled, run).sum()):
        raise ShroomError(
            f"{detector.name} was fitted on {in_sample} of the labelled items and has no "
            "out-of-fold p for them, so they do not show its errors; use other labelled data"
        )
    p_labelled, _ = detector.decide(labelled, run)
    p, flagged = detector.decide(outputs, run)
    y = np.array([point.label is Label.HALLUCINATION for point in labelled], float)
    groups = []
    for by, group, here, alike in _groups(outputs, labelled):
        among = alike & np.isin(of_labelled, tasks[here])
        n, n_labelled = int(here.sum()), int(among.sum())
        estimates: tuple[Estimate, Estimate, int] | tuple[()] = ()
        if n_labelled >= MIN_LABELLED and not _too_few(tasks[here], of_labelled[among]):
            labels, strata = (y[among], p_labelled[among]), (of_labelled[among], tasks[here])
            none = np.zeros(n_labelled), np.zeros(n)
            estimates = (
                prediction_powered_mean(*labels, p[here], confidence, strata),
                prediction_powered_mean(labels[0], *none, confidence, strata),
                labels_for_half(*labels, n),
            )
        naive = float(flagged[here].mean())
        groups.append(GroupRate(by, group, n, n_labelled, naive, *estimates))
    out_of_fold = int(detector.out_of_fold_items(labelled, run).sum())
    both = int(TrainingItems.of(labelled).contain(outputs).sum())
    return HallucinationRate(detector.name, confidence, groups, out_of_fold, both)


def _words(points: Sequence[Datapoint], attribute: str) -> NDArray[np.str_]:
    return np.array(list(map(attrgetter(attribute), points)), str)


def _too_few(of_outputs: NDArray[np.str_], of_labelled: NDArray[np.str_]) -> list[str]:
    """Return the tasks of outputs with fewer than two labelled items."""
    return [task for task in np.unique(of_outputs).tolist() if (of_labelled == task).sum() < 2]


def _groups(
    outputs: Sequence[Datapoint], labelled: Sequence[Datapoint]
) -> Iterator[tuple[str, str, NDArray[np.bool_], NDArray[np.bool_]]]:
    """Yield each group of outputs, with masks of the outputs and of the labelled items in it."""
    yield "", "", np.ones(len(outputs), bool), np.ones(len(labelled), bool)
    for by, attribute in (("task", "task.name"), ("model", "model")):
        of_outputs, of_labelled = _words(outputs, attribute), _words(labelled, attribute)
        names = sorted({*of_outputs.tolist()} - {""})
        for name in names if len(names) > 1 else ():
            yield by, name, of_outputs == name, of_labelled == name
