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
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.scoring.align import AlignedPair
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import Data
from shroom.scoring.kinds.base import kind_of, with_ranking_metrics
from shroom.scoring.result import signature
from shroom.scoring.results import Score, TrackScore, flat
from shroom.scoring.rows import SLICES
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
    names: dict[str, Any] = {"columns": columns, "labels": labels}
    checked = check(submission, gold, splits=splits, by=keys, limit=limit, edition=edition, **names)
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
    problems, edition, tracks = checked.problems, checked.edition, checked.aligned
    computed = with_ranking_metrics(edition, metrics)
    asked = () if tuple(by) == SLICES else by
    lacking = [missing(track.gold, asked) for track in tracks]
    for key in asked:
        if key not in SLICES and all(key in sentences for sentences in lacking):
            raise UnknownName(lacking[0][key])
    intervals = with_unit(intervals, (track.gold for track in tracks), edition)
    results = [_score_track(track, by, computed, intervals, problems) for track in tracks]
    warnings = [problem for problem in problems if problem.severity == "warning"]
    unsliced = [sentence for sentences in lacking for sentence in sentences.values()]
    if intervals.resamples:
        unsliced += filter(None, (missing_units(track.gold, edition) for track in tracks))
    return Score(results, warnings, intervals, unsliced, edition, tracks)


def _score_track(
    track: AlignedPair,
    by: Sequence[str],
    metrics: Sequence[Metric],
    settings: Intervals,
    problems: Problems,
) -> TrackScore:
    gold, predictions, columns = track.gold, track.predictions, track.columns
    scored = [(metric, metric.statistics(*columns)) for metric in metrics]
    unit = unit_of(gold, track.edition)

    def estimated(rows: Any) -> Any:
        part = [(metric, statistics[rows]) for metric, statistics in scored]
        if unit is not None:
            units = places(unit[rows].tolist())
            part = [clustered(*pair, units) for pair in part]
        return estimates(part, settings)

    def slice_of(mask: NDArray[np.bool_]) -> dict[str, Any]:
        rows = np.flatnonzero(mask)
        return {"n": len(rows), **flat(*estimated(rows))}

    scores, intervals = estimated(slice(None))
    if scores.get("rho", 0.0) is None and not problems.count("p-constant", predictions.file):
        expected = "at least two different values in p and in the gold"
        problems.add("rho-undefined", predictions.file, expected, "a constant")
    groups = {key: group for key in by if (group := group_of(gold, key))}
    return TrackScore(
        track=track.name.track,
        split=track.name.split,
        n=gold.n,
        scores=scores,
        intervals=intervals,
        slices={
            key: {word: slice_of(group.place == i) for i, word in enumerate(group.words)}
            for key, group in groups.items()
        },
        floors=kind_of(track.edition).floors(gold, metrics, track.edition),
        signature=signature(track.name.track, gold, track.alignment, track.edition),
        in_sample=track.in_sample,
    )
