"""The scores of each detector on each data set, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable, NamedTuple

import numpy as np

from shroom.core.datapoint import Datapoint
from shroom.core.problems import InvalidInput, ShroomError
from shroom.evaluation.matrix.datasets import Subject
from shroom.evaluation.matrix.datasets import subjects as subjects_in
from shroom.evaluation.matrix.detectors import (
    Cell,
    Contender,
    Detectors,
    Split,
    Store,
    Threshold,
    contenders,
)
from shroom.evaluation.matrix.results import METRICS, Lead, Matrix, Row, Scores
from shroom.inference.run_settings import RUN, Run
from shroom.metrics.base import Array, Metric
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.discrimination import AUROC
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.scoring.in_memory import Data
from shroom.scoring.tables import Estimate, score_cells

#: Returns a context with the run of a label, such as "lexical on felm".
Watch = Callable[[str], AbstractContextManager[Run]]


class _Entry(NamedTuple):
    """A detector on a data set: its AUROC, and the metric of units with its statistics."""

    name: str
    auroc: Estimate
    metric: Metric
    statistics: Array


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
        Each is the name of a detector, ``NAME=MODEL``, the path of a recipe, or a detector.
    datasets : data, sequence of data, or mapping by name
        Each is a path, the name of a data set, ``NAME[:VIEW]=PATH``, rows or a data frame.
    store : Store, optional
        Stores p for later calls; by default p is not stored.
    split : Split, optional
        Items to tune thresholds on; by default each detector uses its own threshold.
    intervals : Intervals
        Settings of the intervals; units are resampled, not items.
    watch : callable
        Returns a context manager that yields the run for a label, such as "lexical on felm".

    Raises
    ------
    ShroomError
        If a detector or data set is unknown or missing, or a data set has no judged items.

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
        raise ShroomError("nothing to evaluate; choose at least one detector and one data set")
    rows = []
    entries: dict[str, list[_Entry]] = {subject.name: [] for subject in subjects}
    for contender in chosen:
        predict = partial(_predict, contender, store, watch)
        threshold = Threshold(float(contender.detector.threshold_), "the detector's own")
        if split is not None:
            seen = contender.in_sample(split.datapoints) > 0
            threshold = split.threshold(predict("tuning", split.datapoints).p, seen=seen)
        cells = []
        for subject in subjects:
            cell = predict(subject.name, subject.datapoints)
            scores, entry = _scores(subject, threshold, cell, contender, intervals)
            cells.append(scores)
            entries[subject.name].append(entry)
        about = contender.name, contender.argument, contender.fingerprint
        rows.append(Row(*about, threshold, tuple(cells)))
    leads = tuple(_lead(name, of_subject, intervals) for name, of_subject in entries.items())
    return Matrix(tuple(subjects), tuple(rows), intervals, split, leads)


def _predict(
    contender: Contender, store: Store, watch: Watch, place: str, datapoints: Sequence[Datapoint]
) -> Cell:
    """Return a detector's p; errors name the detector and the data set."""
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
) -> tuple[Scores, _Entry]:
    """Return the scores of a detector on a data set, and its AUROC with the units' statistics."""
    columns = (cell.p > threshold.value, cell.p, subject.label, subject.p)
    scored = {
        metric: clustered(metric, np.asarray(metric.statistics(*columns)), subject.unit)
        for metric in METRICS
    }
    time = None if cell.seconds is None else 1000 * cell.seconds / subject.n
    seen = contender.in_sample(subject.datapoints)
    cells = score_cells(*estimates([*scored.values()], settings), seen)
    entry = _Entry(contender.name, cells[AUROC.name], *scored[AUROC])
    return Scores(subject.name, seen, cells, time, cell.notes), entry


def _lead(dataset: str, entries: Sequence[_Entry], settings: Intervals) -> Lead:
    """Return the lead of the best of some detectors on a data set."""
    seen = tuple(it.name for it in entries if it.auroc.star)
    fair = [it for it in entries if not it.auroc.star and it.auroc.value is not None]
    fair.sort(key=lambda it: -(it.auroc.value or 0.0))
    ranked = tuple((it.name, it.auroc) for it in fair)
    if len(fair) < 2:
        return Lead(dataset, ranked, seen)
    one, other = fair[0].metric, fair[1].metric
    first, second = one.influence, other.influence
    difference = replace(
        one,
        # The same weights, so that each resample draws the same units for both.
        score=lambda rows, weights: one.score(rows, weights) - other.score(rows, weights),
        influence=first and second and (lambda rows: first(rows) - second(rows)),
        bounds=(-1.0, 1.0),
    )
    cells = score_cells(*estimates([(difference, fair[0].statistics)], settings))
    return Lead(dataset, ranked, seen, cells[one.name])
