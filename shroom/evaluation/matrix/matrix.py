"""Detectors against data sets: each detector's scores on each of them, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable

import numpy as np

from shroom.core.datapoint import Datapoint
from shroom.core.problems import InvalidInput, ShroomError
from shroom.evaluation.matrix.datasets import Subject
from shroom.evaluation.matrix.datasets import subjects as subjects_in
from shroom.evaluation.matrix.detectors import Contender, Detectors, contenders
from shroom.evaluation.matrix.prediction_store import Cell, Store
from shroom.evaluation.matrix.threshold_tuning import Split, Threshold
from shroom.inference.run_settings import RUN, Run
from shroom.metrics.classification import ACCURACY, BALANCED_ACCURACY
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.correlation import RHO
from shroom.metrics.discrimination import AUROC
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.scoring.in_memory import Data
from shroom.scoring.tabular import Tabular, bounds, rounded

Interval = tuple[float, float]
#: Gives the run for what a label names, as long as the context lasts.
Watch = Callable[[str], AbstractContextManager[Run]]

#: Metrics, in the order of the columns.
METRICS = (ACCURACY, BALANCED_ACCURACY, AUROC, RHO)
NAMES = tuple(metric.name for metric in METRICS)


@dataclass(frozen=True)
class Scores:
    """A detector on a data set.

    Attributes
    ----------
    subject : str
        The data set.
    in_sample : int
        How many of its items the detector was fitted on.
    scores : dict of float or None
        By metric; ``None`` where it is undefined.
    intervals : dict of tuple or None
        Likewise.
    milliseconds : float or None
        For each item, as measured when its p were made; ``None`` where that was interrupted.
    notes : tuple of str
        Notes of the detector, such as that texts were cut.
    """

    subject: str
    in_sample: int
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]
    milliseconds: float | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for json."""
        values: dict[str, Any] = {"dataset": self.subject, "in_sample": self.in_sample}
        for name, value in self.scores.items():
            ci = self.intervals[name]
            values |= {name: value, f"{name}_ci": None if ci is None else list(ci)}
        return values | {"ms_per_item": self.milliseconds, "notes": list(self.notes)}


@dataclass(frozen=True)
class Row:
    """A detector.

    Attributes
    ----------
    detector : str
        Its name.
    argument : str
        Argument by which the user named it.
    fingerprint : str
        Digest of what p depends on.
    threshold : Threshold
        Threshold of its labels.
    cells : tuple of Scores
        On each data set, in their order.
    """

    detector: str
    argument: str
    fingerprint: str
    threshold: Threshold
    cells: tuple[Scores, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for json."""
        return {
            "detector": self.detector,
            "given": self.argument,
            "fingerprint": self.fingerprint,
            "threshold": asdict(self.threshold),
            "cells": [cell.to_dict() for cell in self.cells],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Matrix(Tabular):
    """The scores of detectors on data sets.

    Attributes
    ----------
    subjects : tuple of Subject
        The data sets.
    rows : tuple of Row
        The detectors, in the order in which they were named.
    intervals : Intervals
        Settings of the intervals.
    split : Split or None
        Items that thresholds were tuned on.
    """

    subjects: tuple[Subject, ...]
    rows: tuple[Row, ...]
    intervals: Intervals
    split: Split | None

    def __repr__(self) -> str:
        aurocs = (
            f"{row.detector} {rounded({cell.subject: cell.scores['auroc'] for cell in row.cells})}"
            for row in self.rows
        )
        return f"Matrix(auroc: {'; '.join(aurocs)})"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each detector on each data set, and for each data set's floor."""
        cells: list[tuple[Any, ...]] = [
            (row.detector, subject, cell.in_sample, cell.scores, cell.intervals, cell.milliseconds)
            for row in self.rows
            for subject, cell in zip(self.subjects, row.cells)
        ]
        cells += [("floor: one label", it, 0, floor(it), {}, None) for it in self.subjects]
        records = []
        for detector, subject, in_sample, scores, intervals, time in cells:
            row = {"detector": detector, "dataset": subject.name, "n": subject.n}
            row["in_sample"] = in_sample
            for name in NAMES:
                row |= {name: scores[name], **bounds(name, intervals.get(name))}
            records.append({**row, "ms_per_item": time})
        return records

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for json."""
        return {
            "datasets": [
                {"name": subject.name, **subject.to_dict(), "floor": floor(subject)}
                for subject in self.subjects
            ],
            "rows": [row.to_dict() for row in self.rows],
            "tuned_on": None if self.split is None else self.split.to_dict(),
            **self.intervals.to_dict(),
        }


def evaluate(
    detectors: Detectors,
    datasets: Data | Sequence[Data | Subject] | Mapping[str, Data],
    store: Store | None = None,
    *,
    split: Split | None = None,
    intervals: Intervals = DEFAULT_INTERVALS,
    watch: Watch = lambda _: nullcontext(RUN),
) -> Matrix:
    """Return the scores of each detector on each data set.

    Parameters
    ----------
    detectors : sequence, or mapping by name
        Each the name of a detector, ``NAME=MODEL``, the path of a recipe, or a detector.
    datasets : data, or sequence or mapping by name of them
        Each a path, the name of a data set, ``NAME[:VIEW]=PATH``, rows or a data frame.
    store : Store, optional
        Keeps p as they are made, for later calls; by default nothing is kept.
    split : Split, optional
        Items to tune thresholds on; by default each detector uses its own threshold.
    intervals : Intervals
        Settings of the intervals; units are drawn, not items.
    watch : callable
        Gives the run for what is computed, which a label names.

    Raises
    ------
    ShroomError
        If there is no such detector or data set, none at all, or a data set has nothing judged.

    Examples
    --------
    >>> evaluate(["lexical"], {"mine": "shroom/sample/val.model-aware.json"})
    Matrix(auroc: lexical {'mine': 0.67})
    """
    if store is None:
        with TemporaryDirectory(prefix="shroom-") as folder:
            store = Store(Path(folder))
            return evaluate(
                detectors, datasets, store, split=split, intervals=intervals, watch=watch
            )
    chosen, subjects = contenders(detectors), subjects_in(datasets)
    if not (chosen and subjects):
        raise ShroomError("there is nothing to evaluate: name a detector and a data set")
    rows = []
    for contender in chosen:
        predict = partial(_predict, contender, store, watch)
        threshold = Threshold(float(contender.detector.threshold), "the detector's own")
        if split is not None:
            seen = contender.in_sample(split.datapoints) > 0
            threshold = split.threshold(predict("tuning", split.datapoints).p, seen=seen)
        cells = tuple(
            _scores(
                subject, threshold, predict(subject.name, subject.datapoints), contender, intervals
            )
            for subject in subjects
        )
        about = contender.name, contender.argument, contender.fingerprint
        rows.append(Row(*about, threshold, cells))
    return Matrix(tuple(subjects), tuple(rows), intervals, split)


def floor(subject: Subject) -> dict[str, float | None]:
    """Return the scores of a system that always gives the more frequent label.

    Its p is constant, so it has no rank correlation.
    """
    n, flagged = len(subject.label), int(subject.label.sum())
    chance = 0.5 if 0 < flagged < n else None
    return {
        "accuracy": max(flagged, n - flagged) / n,
        "balanced_accuracy": chance,
        "auroc": chance,
        "rho": None,
    }


def _predict(
    contender: Contender, store: Store, watch: Watch, place: str, datapoints: Sequence[Datapoint]
) -> Cell:
    """Return a detector's p of datapoints; errors name the detector and the data."""
    label = f"{contender.name} on {place}"
    try:
        with watch(label) as run:
            return store.p(contender, datapoints, run)
    except InvalidInput:
        raise
    except ShroomError as error:
        raise ShroomError(f"{label}: {error}") from error


def _scores(
    subject: Subject, threshold: Threshold, cell: Cell, contender: Contender, settings: Intervals
) -> Scores:
    label = cell.p > threshold.value
    columns = (label, cell.p, subject.label, subject.p)
    scored = [
        clustered(metric, np.asarray(metric.statistics(*columns)), subject.unit)
        for metric in METRICS
    ]
    scores, intervals = estimates(scored, settings)
    time = None if cell.seconds is None else 1000 * cell.seconds / subject.n
    seen = contender.in_sample(subject.datapoints)
    return Scores(subject.name, seen, scores, intervals, time, cell.notes)
