"""Scores of a submission: metrics of each track, for all items and in slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError, UnknownName
from shroom.metrics.base import Metric
from shroom.metrics.cluster_bootstrap import clustered, places
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, Scored, estimates
from shroom.scoring.align import AlignedPair
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import Data
from shroom.scoring.kinds.base import kind_of, with_ranking_metrics
from shroom.scoring.result import signature
from shroom.scoring.results import Score, TrackScore, flat
from shroom.scoring.rows import SLICES, Group
from shroom.scoring.slices import group_of, missing, missing_units, slice_keys, unit_of, with_unit
from shroom.scoring.verdict import Checked


def score(
    submission: Data,
    gold: Data,
    *,
    by: str | Sequence[str] = SLICES,
    metrics: str | Sequence[Metric | str] = (),
    intervals: Intervals = DEFAULT_INTERVALS,
    splits: tuple[str, ...] = (),
    limit: int | None = 20,
    edition: Edition | Source | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] | None = None,
) -> Score:
    """Return the scores of a submission.

    Parameters
    ----------
    submission, gold : path, rows or data frame
        A file, a folder, a zip, rows or a data frame. Either the submission or the gold may be
        ``"-"`` for a pipe.
    by : str or sequence of str
        Keys of the gold to slice by; ``agreement`` slices by the annotators' agreement.
    metrics : str or sequence of Metric or str
        Metrics in addition to the metrics of the edition.
    intervals : Intervals
        Settings of the intervals.
    splits : tuple of str
        The splits to score; by default all splits of the submission.
    limit : int or None
        The number of problems of each code to store.
    edition, columns, labels
        The shared task, and your own names of columns and labels, as for
        :func:`shroom.scoring.check.check`.

    Returns
    -------
    Score
        One result for each track of the submission.

    Raises
    ------
    InvalidInput
        If the check finds errors; it contains all problems.

    Examples
    --------
    >>> result = score("shroom/sample", "shroom/sample").results[0]
    >>> result.track, result.accuracy, result.rho
    ('model-agnostic', 1.0, 1.0)
    """
    if gold is None:
        raise ShroomError("gold: expected a path, rows or a data frame, got None")
    keys = slice_keys(by)
    checked = check(
        submission,
        gold,
        splits=splits,
        by=keys,
        limit=limit,
        edition=edition,
        columns=columns,
        labels=labels,
    )
    return score_checked(checked, by=keys, metrics=metrics, intervals=intervals)


def score_checked(
    checked: Checked,
    *,
    by: Sequence[str] = SLICES,
    metrics: str | Sequence[Metric | str] = (),
    intervals: Intervals = DEFAULT_INTERVALS,
) -> Score:
    """Return the scores of a submission that has been checked; see :func:`score`."""
    checked.raise_for_errors()
    problems = checked.problems
    computed = with_ranking_metrics(checked.edition, metrics)
    asked = () if tuple(by) == SLICES else by
    lacking = [missing(track.gold, asked) for track in checked.aligned]
    for key in asked:
        if key not in SLICES and all(key in sentences for sentences in lacking):
            raise UnknownName(lacking[0][key])
    intervals = with_unit(intervals, (track.gold for track in checked.aligned), checked.edition)
    results = [_score_track(track, by, computed, intervals, problems) for track in checked.aligned]
    warnings = [problem for problem in problems if problem.severity == "warning"]
    unsliced = [sentence for sentences in lacking for sentence in sentences.values()]
    if intervals.resamples:
        notes = (missing_units(track.gold, checked.edition) for track in checked.aligned)
        unsliced += filter(None, notes)
    return Score(results, warnings, intervals, unsliced, checked.edition, checked.aligned)


def _score_track(
    track: AlignedPair,
    by: Sequence[str],
    metrics: Sequence[Metric],
    settings: Intervals,
    problems: Problems,
) -> TrackScore:
    gold, predictions = track.gold, track.predictions
    columns = track.columns
    scored = [(metric, metric.statistics(*columns)) for metric in metrics]
    unit = unit_of(gold, track.edition)
    scores, intervals = estimates(_by_unit(scored, unit), settings)
    if scores.get("rho", 0.0) is None and not problems.count("p-constant", predictions.file):
        expected = "at least two different values in p and in the gold"
        problems.add("rho-undefined", predictions.file, expected, "a constant")
    groups = {key: group_of(gold, key) for key in by}
    by_rows: dict[bytes, dict[str, Any]] = {}
    return TrackScore(
        track=track.name.track,
        split=track.name.split,
        n=gold.n,
        scores=scores,
        intervals=intervals,
        slices={
            key: _slices(group, scored, unit, settings, by_rows)
            for key, group in groups.items()
            if group
        },
        floors=kind_of(track.edition).floors(gold, metrics, track.edition),
        signature=signature(track.name.track, gold, track.alignment, track.edition),
        in_sample=track.in_sample,
    )


def _by_unit(scored: Scored, unit: NDArray[np.intp] | None) -> Scored:
    """Return metrics and statistics by unit, if the items belong to units."""
    return scored if unit is None else [clustered(*pair, unit) for pair in scored]


def _slices(
    group: Group,
    scored: Scored,
    unit: NDArray[np.intp] | None,
    settings: Intervals,
    by_rows: dict[bytes, dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    """Return the slices by one key; ``by_rows`` caches slices with the same rows."""
    slices = {}
    for place, word in enumerate(group.words):
        mask = group.place == place
        same = np.packbits(mask).tobytes()
        if same not in by_rows:
            rows = np.flatnonzero(mask)
            of_rows = [(metric, statistics[rows]) for metric, statistics in scored]
            inside = None if unit is None else places(unit[rows].tolist())
            part = estimates(_by_unit(of_rows, inside), settings)
            by_rows[same] = {"n": len(rows), **flat(*part)}
        slices[word] = dict(by_rows[same])
    return slices
