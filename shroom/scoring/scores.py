"""Scores of a submission: the metrics of its edition for each track, whole and in slices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import InvalidInput, Problem, Problems
from shroom.metrics.intervals import DEFAULT_INTERVALS, MAX_ITEMS, NO_INTERVALS, estimates
from shroom.scoring.check import check
from shroom.scoring.editions.edition import MEAN
from shroom.scoring.editions.files import default
from shroom.scoring.kinds.registry import kind_of, ranking_metrics, with_ranking_metrics
from shroom.scoring.signature import joined, signature
from shroom.scoring.slices import SLICES, group_of, missing, needs_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shroom.core.paths import Source
    from shroom.metrics.base import Metric
    from shroom.metrics.intervals import Interval, Intervals, Scored
    from shroom.scoring.align import AlignedTrack
    from shroom.scoring.check import Checked
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.in_memory import Data
    from shroom.scoring.table import Group


#: Greater than the scores of any metric, and small enough for the leaderboards of Codabench.
LARGEST = 1e9


@dataclass(frozen=True)
class TrackScore:
    """The scores of one track.

    Attributes
    ----------
    track, split : str
        Names of the edition, such as ``model-agnostic`` and ``val``; the track is empty where
        there is one alone, the split where no file's name has it.
    n : int
        The number of items.
    scores : dict of float or None
        By metric; ``None`` where it is undefined.
    intervals : dict of tuple or None
        By metric; ``None`` where it was not asked for, or is undefined.
    slices : dict
        ``{"task": {"DM": {"n": …, "accuracy": …, "accuracy_ci": …, …}, …}, …}``.
    floors : dict
        The scores of trivial systems on the same gold.
    signature : str
        Signature of the score; only scores with the same signature are comparable.
    in_sample : int
        How many of the items the detector was fitted on, by the record of its run.
    """

    track: str
    split: str
    n: int
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]
    slices: dict[str, dict[str, dict[str, Any]]]
    floors: Mapping[str, Mapping[str, float | None]]
    signature: str
    in_sample: int = 0

    @property
    def accuracy(self) -> float:
        """In [0, 1]; of binary labels alone."""
        return self.scores["accuracy"] or 0.0

    @property
    def rho(self) -> float | None:
        """In [-1, 1]; ``None`` where p or the gold is constant."""
        return self.scores["rho"]

    @property
    def whole(self) -> dict[str, Any]:
        """The scores and their intervals, in the form of a slice."""
        return flat(self.scores, self.intervals)

    @property
    def accuracy_ci(self) -> Interval | None:
        """The interval of accuracy, where it was asked for."""
        return self.intervals.get("accuracy")

    @property
    def rho_ci(self) -> Interval | None:
        """The interval of rho, where it was asked for and rho is defined."""
        return self.intervals.get("rho")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for json."""
        return {
            "track": self.track,
            "split": self.split,
            "n": self.n,
            "in_sample": self.in_sample,
            **self.whole,
            "slices": self.slices,
            "floors": self.floors,
            "signature": self.signature,
        }


def flat(
    scores: Mapping[str, float | None], intervals: Mapping[str, Interval | None]
) -> dict[str, Any]:
    """Return scores, then their intervals under the same names with ``_ci``.

    Examples
    --------
    >>> flat({"rho": 0.5}, {"rho": (0.25, 0.75)})
    {'rho': 0.5, 'rho_ci': [0.25, 0.75]}
    """
    bounds = {f"{name}_ci": ci and list(ci) for name, ci in intervals.items()}
    return {**scores, **bounds}


@dataclass(frozen=True)
class Score:
    """The scores of a submission, how their intervals were made, and the warnings.

    ``unsliced`` has a sentence for each slicing that was asked for and that the gold does not
    allow.
    """

    results: list[TrackScore]
    warnings: list[Problem] = field(default_factory=list)
    intervals: Intervals = NO_INTERVALS
    unsliced: list[str] = field(default_factory=list)
    edition: Edition = field(default_factory=default)

    @property
    def signature(self) -> str:
        """The signature of all results; parts that differ are joined by ``+``."""
        return joined(result.signature for result in self.results)

    @property
    def mean(self) -> dict[str, float | None]:
        """The mean of each score over all tracks, where the edition ranks by it; else empty."""
        tracks = {result.track: result.scores for result in self.results}
        if not self.edition.average or set(tracks) != set(self.edition.track_names):
            return {}
        means = {}
        for name in self.results[0].scores:
            values = [
                np.nan if scores[name] is None else scores[name] for scores in tracks.values()
            ]
            mean = float(np.mean(np.array(values, np.float64)))
            means[name] = None if np.isnan(mean) else mean
        return means

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json; floats in full, undefined as ``None``."""
        intervals = self.intervals.to_dict()
        if intervals and any(result.n > MAX_ITEMS for result in self.results):
            intervals = {"intervals": {**intervals["intervals"], "normal_above": MAX_ITEMS}}
        return {
            "signature": self.signature,
            "results": [result.to_dict() for result in self.results],
            **({"mean": self.mean} if self.mean else {}),
            **intervals,
            "warnings": [
                *(problem.sentence for problem in self.warnings),
                *self.unsliced,
            ],
        }

    def platform_scores(self) -> dict[str, float]:
        """Return what the platforms read: a finite number under the key of every column.

        A score that is undefined or missing is the worst that its metric has: the platforms rank
        by numbers alone, and Codabench ranks a submission without one first.

        Raises
        ------
        InvalidInput
            If two results are of the same track.
        """
        if len({result.track for result in self.results}) < len(self.results):
            problems = Problems()
            listed = ", ".join(f"{result.split} {result.track}" for result in self.results)
            problems.add("splits-mixed", "the submission", "one split for the platforms", listed)
            raise InvalidInput(problems)
        by_track = {MEAN: self.mean}
        by_track.update((result.track, result.scores) for result in self.results)
        metrics = {metric.name: metric for metric in ranking_metrics(self.edition)}
        scores = {}
        for column in self.edition.platform_columns(tuple(metrics)):
            value = by_track.get(column.track, {}).get(column.metric)
            if value is None:
                metric = metrics.get(column.metric)
                value = _worst(metric or kind_of(self.edition).metric(column.metric, self.edition))
            scores[column.key] = value
        return scores


def _worst(metric: Metric) -> float:
    """Return the worst score of a metric; where it has none, one that the platforms can store."""
    least, greatest = metric.bounds
    return max(least, -LARGEST) if metric.higher_is_better else min(greatest, LARGEST)


def score(
    submission: Data,
    gold: Data,
    *,
    by: Sequence[str] = SLICES,
    metrics: Sequence[Metric | str] = (),
    intervals: Intervals = DEFAULT_INTERVALS,
    splits: tuple[str, ...] = (),
    limit: int | None = 20,
    edition: Edition | Source | None = None,
) -> Score:
    """Return the scores of a submission.

    Parameters
    ----------
    submission, gold : path, rows or data frame
        Each a file, a folder or a zip, rows or a frame; one of them may be ``"-"`` for a pipe.
    by : sequence of str
        Keys to slice by, from ``SLICES`` and ``MORE_SLICES``.
    metrics : sequence of Metric or str
        Metrics to compute besides those of the edition, which are always computed.
    intervals : Intervals
        Settings of the intervals.
    splits : tuple of str
        The splits that are wanted; by default those for which predictions are handed in.
    limit : int or None
        How many problems of each code to keep.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Returns
    -------
    Score
        One result for each track that was handed in.

    Raises
    ------
    InvalidInput
        With every problem, if the check finds errors.

    Examples
    --------
    >>> result = score("shroom/sample", "shroom/sample").results[0]
    >>> result.track, result.accuracy, result.rho
    ('model-agnostic', 1.0, 1.0)
    """
    checked = check(
        submission, gold, splits=splits, texts=needs_texts(by), limit=limit, edition=edition
    )
    return score_checked(checked, by=by, metrics=metrics, intervals=intervals)


def score_checked(
    checked: Checked,
    *,
    by: Sequence[str] = SLICES,
    metrics: Sequence[Metric | str] = (),
    intervals: Intervals = DEFAULT_INTERVALS,
) -> Score:
    """Return the scores of a submission that has been checked; see :func:`score`.

    To slice by one of ``MORE_SLICES``, it must have been checked with ``texts=True``.
    """
    checked.raise_for_errors()
    problems = checked.problems
    computed = with_ranking_metrics(checked.edition, metrics)
    results = [_score_track(track, by, computed, intervals, problems) for track in checked.aligned]
    warnings = [problem for problem in problems if problem.severity == "warning"]
    asked = () if tuple(by) == SLICES else by
    unsliced = [sentence for track in checked.aligned for sentence in missing(track.gold, asked)]
    return Score(results, warnings, intervals, unsliced, checked.edition)


def _score_track(
    track: AlignedTrack,
    by: Sequence[str],
    metrics: Sequence[Metric],
    settings: Intervals,
    problems: Problems,
) -> TrackScore:
    gold, predictions = track.gold, track.predictions
    columns = track.columns
    scored = [(metric, metric.statistics(*columns)) for metric in metrics]
    scores, intervals = estimates(scored, settings)
    if scores.get("rho", 0.0) is None and not problems.count("p-constant", predictions.file):
        problems.add("rho-undefined", predictions.file, "p and gold that vary", "a constant")
    groups = {key: group_of(gold, key) for key in by}
    by_rows: dict[bytes, dict[str, Any]] = {}
    return TrackScore(
        track=track.name.track,
        split=track.name.split,
        n=gold.n,
        scores=scores,
        intervals=intervals,
        slices={
            key: _slices(group, scored, settings, by_rows) for key, group in groups.items() if group
        },
        floors=kind_of(track.edition).floors(gold, metrics, track.edition),
        signature=signature(track.name.track, gold, track.alignment, track.edition),
        in_sample=track.in_sample,
    )


def _slices(
    group: Group, scored: Scored, settings: Intervals, by_rows: dict[bytes, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the slices by one key; ``by_rows`` stores them by their rows.

    A task often has one model and one ref, and then its rows are resampled once, not three times.
    """
    slices = {}
    for place, word in enumerate(group.words):
        mask = group.place == place
        same = np.packbits(mask).tobytes()
        if same not in by_rows:
            rows = np.flatnonzero(mask)
            part = estimates(
                [(metric, statistics[rows]) for metric, statistics in scored], settings
            )
            by_rows[same] = {"n": len(rows), **flat(*part)}
        slices[word] = dict(by_rows[same])
    return slices
