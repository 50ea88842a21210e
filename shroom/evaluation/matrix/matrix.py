"""The scores of each detector on each data set, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable

import numpy as np

from shroom.core.datapoint import Datapoint
from shroom.core.problems import InvalidInput, ShroomError
from shroom.evaluation.matrix.datasets import Subject
from shroom.evaluation.matrix.datasets import subjects as subjects_in
from shroom.evaluation.matrix.detectors import Contender, Detectors, contenders
from shroom.evaluation.matrix.leads import Entry, lead
from shroom.evaluation.matrix.prediction_store import Cell, Store
from shroom.evaluation.matrix.results import METRICS, Matrix, Row, Scores
from shroom.evaluation.matrix.threshold_tuning import Split, Threshold
from shroom.inference.run_settings import RUN, Run
from shroom.metrics.base import Array, Metric
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.discrimination import AUROC
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.scoring.in_memory import Data
from shroom.scoring.tables import score_cells

#: Returns a context with the run of a label, such as "lexical on felm".
Watch = Callable[[str], AbstractContextManager[Run]]


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
    entries: dict[str, list[Entry]] = {subject.name: [] for subject in subjects}
    for contender in chosen:
        predict = partial(_predict, contender, store, watch)
        threshold = Threshold(float(contender.detector.threshold_), "the detector's own")
        if split is not None:
            seen = contender.in_sample(split.datapoints) > 0
            threshold = split.threshold(predict("tuning", split.datapoints).p, seen=seen)
        cells = []
        for subject in subjects:
            cell = predict(subject.name, subject.datapoints)
            scores, auroc = _scores(subject, threshold, cell, contender, intervals)
            cells.append(scores)
            entries[subject.name].append(
                Entry(contender.name, scores.estimates[AUROC.name], *auroc)
            )
        about = contender.name, contender.argument, contender.fingerprint
        rows.append(Row(*about, threshold, tuple(cells)))
    leads = tuple(lead(name, of_subject, intervals) for name, of_subject in entries.items())
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
) -> tuple[Scores, tuple[Metric, Array]]:
    """Return the scores of a detector on a data set, and its AUROC as a metric of units."""
    label = cell.p > threshold.value
    columns = (label, cell.p, subject.label, subject.p)
    scored = {
        metric: clustered(metric, np.asarray(metric.statistics(*columns)), subject.unit)
        for metric in METRICS
    }
    scores, intervals = estimates([*scored.values()], settings)
    time = None if cell.seconds is None else 1000 * cell.seconds / subject.n
    seen = contender.in_sample(subject.datapoints)
    cells = score_cells(scores, intervals, seen)
    return Scores(subject.name, seen, cells, time, cell.notes), scored[AUROC]
