"""Scores of a submission: accuracy and rho for each track, whole and in slices.

Accuracy compares labels with the annotators' majority; rho is Spearman's rank correlation of
p(Hallucination) with the annotators' proportion (Mickus et al. 2024, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.check import check
from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO, levels
from shroom.metrics.resampling import bootstrap, normal_interval, percentile_interval
from shroom.problems import InvalidInput, Problem, Problems
from shroom.signature import signature
from shroom.submission import TRACKS
from shroom.table import GROUPS, Group

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.align import Track
    from shroom.check import Checked
    from shroom.documents import Source
    from shroom.metrics.base import Metric
    from shroom.table import Table

    Interval = tuple[float, float]
    Statistics = Mapping[str, NDArray[Any]]

#: What scores can be sliced by.
SLICES = (*GROUPS, "agreement")
METRICS = (ACCURACY, RHO)
#: Beyond so many draws the interval is computed from influences instead, in one pass.
MAX_DRAWS = 5_000_000


@dataclass(frozen=True)
class Intervals:
    """How intervals are made: by bootstrap over all items, with replacement.

    Attributes
    ----------
    resamples : int
        How many; 0 for no intervals.
    seed : int
        Of the generator.
    confidence : float
        In (0, 1).
    """

    resamples: int = 1000
    seed: int = 0
    confidence: float = 0.95


@dataclass(frozen=True)
class TrackScore:
    """The scores of one track.

    Attributes
    ----------
    track, split : str
        ``model-agnostic`` or ``model-aware``; ``val``, ``test``, ``trial`` or ``train``, or
        empty where no file's name tells it.
    n : int
        The number of items.
    accuracy : float
        In [0, 1].
    rho : float or None
        In [-1, 1]; ``None`` where p or the gold is constant.
    accuracy_ci, rho_ci : tuple of float or None
        Intervals, where they were asked for.
    slices : dict
        ``{"task": {"DM": {"n": …, "accuracy": …, "rho": …}, …}, …}``.
    floors : dict
        The scores of trivial systems on the same gold.
    signature : str
        What was measured, so that only like is compared with like.
    """

    track: str
    split: str
    n: int
    accuracy: float
    rho: float | None
    accuracy_ci: Interval | None
    rho_ci: Interval | None
    slices: dict[str, dict[str, dict[str, Any]]]
    floors: dict[str, dict[str, float | None]]
    signature: str

    @property
    def short(self) -> str:
        """``agnostic`` or ``aware``, as the platforms' keys have it."""
        return self.track.removeprefix("model-")


@dataclass(frozen=True)
class Score:
    """The scores of a submission, and what there is to warn of."""

    results: list[TrackScore]
    warnings: list[Problem] = field(default_factory=list)

    @property
    def signature(self) -> str:
        """The signature of all results; parts that differ are joined by ``+``."""
        parts = [result.signature.split("|") for result in self.results]
        return "|".join(_joined(column) for column in zip(*parts))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json; floats in full, undefined as ``None``."""
        return {
            "signature": self.signature,
            "results": [
                {
                    key: list(value) if isinstance(value, tuple) else value
                    for key, value in vars(result).items()
                }
                for result in self.results
            ],
            "warnings": [str(problem).removeprefix("warning: ") for problem in self.warnings],
        }

    def platform_scores(self) -> dict[str, float]:
        """Return what the platforms read: all four keys, 0 where a score is undefined or missing.

        Raises
        ------
        InvalidInput
            Where two results are of the same track.
        """
        scores = {f"{t.removeprefix('model-')}_{m}": 0.0 for t in TRACKS for m in ("acc", "rho")}
        if len({result.track for result in self.results}) < len(self.results):
            problems = Problems()
            found = ", ".join(f"{result.split} {result.track}" for result in self.results)
            problems.add("splits-mixed", "the submission", "one split for the platforms", found)
            raise InvalidInput(problems)
        for result in self.results:
            scores[f"{result.short}_acc"] = result.accuracy
            scores[f"{result.short}_rho"] = result.rho if result.rho is not None else 0.0
        return scores


def _joined(column: tuple[str, ...]) -> str:
    key, colon, _ = column[0].partition(":")
    values = dict.fromkeys(part.partition(":")[2] for part in column)
    # Sizes belong to their tracks, so they are all listed; what is common is said once.
    listed = values if len(values) == 1 else [part.partition(":")[2] for part in column]
    return key + colon + "+".join(listed)


def score(
    submission: Source,
    gold: Source,
    *,
    by: Sequence[str] = SLICES,
    intervals: Intervals = Intervals(),
    splits: tuple[str, ...] = (),
    limit: int | None = 20,
) -> Score:
    """Return the scores of a submission.

    Parameters
    ----------
    submission, gold : path
        Each a file, a folder or a zip; one of them may be ``"-"`` for a pipe.
    by : sequence of str
        What to slice by, of ``SLICES``.
    intervals : Intervals
        How to make intervals.
    splits : tuple of str
        The splits that are wanted; val and test by default.
    limit : int or None
        How many problems of each code to keep.

    Returns
    -------
    Score
        One result for each track that was handed in.

    Raises
    ------
    InvalidInput
        With every problem, where the check finds errors.

    Examples
    --------
    >>> result = score("shroom/sample", "shroom/sample").results[0]
    >>> result.track, result.accuracy, result.rho
    ('model-agnostic', 1.0, 1.0)
    """
    checked = check(submission, gold, splits=splits, limit=limit)
    return score_checked(checked, by=by, intervals=intervals)


def score_checked(
    checked: Checked,
    *,
    by: Sequence[str] = SLICES,
    intervals: Intervals = Intervals(),
) -> Score:
    """Return the scores of a submission that has been checked; see :func:`score`."""
    checked.raise_for_errors()
    problems = checked.problems
    results = [_score_track(track, by, intervals, problems) for track in checked.tracks]
    return Score(results, [problem for problem in problems if problem.severity == "warning"])


def _score_track(
    track: Track, by: Sequence[str], intervals: Intervals, problems: Problems
) -> TrackScore:
    gold, predictions = track.gold, track.predictions
    assert gold is not None  # noqa: S101 - for mypy; checked tracks have gold
    columns = (predictions.label[track.rows], predictions.p[track.rows], gold.label, gold.p)
    statistics = {metric.name: metric.statistics(*columns) for metric in METRICS}
    whole = _scores(statistics)
    if whole["rho"] is None and not problems.count("p-constant", predictions.file):
        problems.add("rho-undefined", predictions.file, "p and gold that vary", "a constant")
    return TrackScore(
        track=track.name.track,
        split=track.name.split,
        n=gold.n,
        accuracy=whole["accuracy"] or 0.0,
        rho=whole["rho"],
        accuracy_ci=_interval(ACCURACY, statistics, whole, intervals),
        rho_ci=_interval(RHO, statistics, whole, intervals),
        slices={
            key: _slices(group, statistics)
            for key in by
            if (group := _group(gold, key)) is not None
        },
        floors=_floors(gold, statistics),
        signature=signature(track.name.track, gold, track.align),
    )


def _scores(statistics: Statistics) -> dict[str, float | None]:
    return {metric.name: metric(statistics[metric.name]) for metric in METRICS}


def _interval(
    metric: Metric, statistics: Statistics, whole: Mapping[str, float | None], how: Intervals
) -> Interval | None:
    rows, value = statistics[metric.name], whole[metric.name]
    if not how.resamples or value is None:
        return None
    if len(rows) * how.resamples > MAX_DRAWS:
        return normal_interval(metric, rows, value, how.confidence)
    return percentile_interval(bootstrap(metric, rows, how.resamples, how.seed), how.confidence)


def _group(gold: Table, key: str) -> Group | None:
    """Return what a key slices the items into; ``None`` where the gold does not tell."""
    if key == "agreement":
        # The share of annotators on the majority's side: 1.0 is unanimous.
        shares = np.maximum(gold.p, 1 - gold.p).round(3)
        place = levels(shares)
        distinct = np.empty(int(place.max()) + 1)
        distinct[place] = shares
        return Group([repr(share) for share in distinct.tolist()], place)
    group = gold.groups.get(key)
    return group if group and any(group.words) else None


def _slices(group: Group, statistics: Statistics) -> dict[str, dict[str, Any]]:
    slices = {}
    for place, word in enumerate(group.words):
        rows = np.flatnonzero(group.place == place)
        chosen = {metric: values[rows] for metric, values in statistics.items()}
        slices[word] = {"n": len(rows), **_scores(chosen)}
    return slices


def _floors(gold: Table, statistics: Statistics) -> dict[str, dict[str, float | None]]:
    """Return the scores of systems that need no model, on the same gold."""
    share = float(np.mean(gold.label == 1))
    by_label = RHO(np.column_stack((gold.label, statistics["rho"][:, 1])))
    return {
        "majority label": {"accuracy": max(share, 1 - share), "rho": None},
        "constant p": {"accuracy": 1 - share, "rho": None},
        "gold label as p": {"accuracy": 1.0, "rho": by_label},
    }
