"""Scores with their intervals: Wilson's for shares of items, the bootstrap's for the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shroom.metrics.base import Array, Metric
from shroom.metrics.bootstrap import (
    bca_interval,
    jackknife,
    joint_bootstrap,
    normal_interval,
    percentile_interval,
)

Interval = tuple[float, float]
Scored = Sequence[tuple[Metric, Array]]

#: With more items, the interval is computed from influences instead, in one pass.
MAX_ITEMS = 5000
#: Fewer items, or units of them, have no interval; fewer of a class have one with a mark.
FEWEST = 10
#: The greatest share of the resamples that may be undefined without a mark.
LEFT_OUT = 0.05
#: Scores of resamples that are nearer than this are equal, but for a rounding.
SAME = 1e-9
#: Methods of computing an interval from resamples.
METHODS = ("percentile", "bca")


class Marked(tuple[float, float]):
    """An interval that is to be read with care, and the reason in a few words, as its ``note``."""

    note: str

    def __new__(cls, ends: Iterable[float], note: str = "") -> Marked:  # noqa: PYI034
        """Return an interval with a note."""
        self = super().__new__(cls, ends)
        self.note = note
        return self


@dataclass(frozen=True)
class Intervals:
    """The way in which intervals are made: by bootstrap over all items, with replacement.

    Shares of items have Wilson's interval, whatever the method.

    Attributes
    ----------
    resamples : int
        How many; 0 for no intervals.
    seed : int
        Seed of the random generator.
    confidence : float
        In (0, 1).
    method : str
        ``percentile``, or ``bca``: bias-corrected and accelerated.
    unit : str
        The key of the units that are drawn, if the items belong to some; the edition sets it.
    missing_unit : str
        The edition's key of the units, if some gold does not have it.
    """

    resamples: int = 1000
    seed: int = 0
    confidence: float = 0.95
    method: str = "percentile"
    unit: str = ""
    missing_unit: str = ""

    def to_dict(self, *, paired: bool = False) -> dict[str, Any]:
        """Return them for json, under ``intervals``: nothing if there are none.

        Those of differences between systems (``paired``) are all made from resamples.
        """
        if not self.resamples:
            return {}
        settings = {key: value for key, value in vars(self).items() if value != ""}
        return {"intervals": settings if paired else {**settings, "shares": "wilson"}}


#: A thousand percentile resamples, and none at all.
DEFAULT_INTERVALS, NO_INTERVALS = Intervals(), Intervals(0)


def estimates(
    scored: Scored, settings: Intervals
) -> tuple[dict[str, float | None], dict[str, Interval | None]]:
    """Return each metric's score and interval.

    Parameters
    ----------
    scored : sequence of (Metric, array of shape [n, k])
        The metrics, and the statistics of the same items.
    settings : Intervals
        Settings of the intervals.

    Returns
    -------
    scores : dict of float or None
        By metric; ``None`` if it is undefined.
    intervals : dict of tuple or None
        By metric; ``None`` if none was asked for, or if :func:`interval` has none.
    """
    scores = {metric.name: metric(statistics) for metric, statistics in scored}
    if not settings.resamples:
        return scores, dict.fromkeys(scores)
    resampled = [
        (metric, statistics)
        for metric, statistics in scored
        if scores[metric.name] is not None
        and not (metric.share or metric.is_biased or len(statistics) < FEWEST)
        and not (metric.influence and len(statistics) > MAX_ITEMS)
    ]
    drawn = {}
    if resampled:
        rows = joint_bootstrap(resampled, settings.resamples, settings.seed)
        drawn = {metric.name: row for (metric, _), row in zip(resampled, rows)}
    intervals = {
        each.name: interval(each, rows, scores[each.name], drawn.get(each.name), settings)
        for each, rows in scored
    }
    return scores, intervals


def interval(
    metric: Metric, statistics: Array, value: float | None, row: Array | None, settings: Intervals
) -> Interval | None:
    """Return the interval of a metric, by the method that fits it; ``None`` if it has none."""
    # ``row`` has the scores of resamples. Without them the interval is normal, but that of a share.
    if value is None or len(statistics) < FEWEST or metric.is_biased:
        return None
    if metric.share is not None:
        return wilson_interval(metric.share(statistics), settings.confidence)
    if row is None:
        ends: Interval | None = normal_interval(metric, statistics, value, settings.confidence)
    else:
        bca = (value, jackknife(metric, statistics)) if settings.method == "bca" else None
        ends = resampled_interval(row, settings.confidence, bca)
    if metric.classes is None:
        return ends
    least = int(metric.classes(statistics).sum(axis=0).min())
    few = f"only {least} item{'s' * (least != 1)} of a class" if least < FEWEST else ""
    return _marked(ends, [getattr(ends, "note", ""), few])


def resampled_interval(
    row: Array, confidence: float, bca: tuple[float, Array] | None = None
) -> Interval | None:
    """Return the percentile or BCa interval of a figure, with a mark if it is doubtful."""
    ends = bca_interval(row, *bca, confidence) if bca else percentile_interval(row, confidence)
    return _marked(ends, [_degenerate(row)])


def _degenerate(row: Array) -> str:
    """Return what is wrong with the scores of resamples; nothing if they can be relied on."""
    undefined = np.isnan(row)
    if undefined.sum() > LEFT_OUT * len(row):
        return f"{undefined.sum()} of {len(row)} resamples undefined"
    defined = row[~undefined]
    return "all resamples equal" if len(defined) and np.ptp(defined) < SAME else ""


def _marked(ends: Interval | None, notes: Iterable[str]) -> Interval | None:
    note = ", ".join(filter(None, notes))
    return Marked(ends, note) if ends is not None and note else ends


def wilson_interval(parts: Array, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's score interval of a share of items.

    If the items belong to units, such as the answers to a question, their number is replaced by
    the number of independent items that would make the share vary as much (by linearisation), and
    the quantile of the normal distribution by that of Student's t for so many units.

    Parameters
    ----------
    parts : array, shape [n, 2]
        What each item or unit adds to the part and to the whole.
    confidence : float
        In (0, 1).

    Returns
    -------
    tuple of float or None
        Within [0, 1]; ``None`` for a whole of fewer than ``FEWEST``.

    References
    ----------
    E. Wilson (1927), "Probable inference, the law of succession, and statistical inference"; for
    units E. Korn and B. Graubard (1998), "Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data", with Wilson's formula for theirs.

    Examples
    --------
    >>> low, high = wilson_interval(np.ones((30, 2)))
    >>> round(low, 4), high
    (0.8865, 1.0)
    >>> by_question = wilson_interval(np.tile([[8, 8], [0, 8]], (15, 1)))
    >>> [round(end, 3) for end in by_question]
    [0.322, 0.678]
    """
    from statistics import NormalDist

    part, whole = np.asarray(parts, np.float64).T
    n = float(whole.sum())
    if n < FEWEST:
        return None
    share = float(part.sum()) / n
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    if np.any((whole != (whole > 0)) | (part != (part > 0))):
        units = int(np.count_nonzero(whole))
        if units < FEWEST:
            return None
        moved = part - share * whole
        variance = float(moved @ moved) / n**2 * units / (units - 1)
        # Units that are all right, or all alike, do not show how they vary: each counts once.
        n = share * (1 - share) / variance if variance > 0 else float(units)
        z = _student(z, units - 1)
    return wilson_ends(share, n, z)


def wilson_ends(share: float, n: float, z: float) -> Interval:
    """Return the ends of Wilson's interval for the share of n items, at so many standard errors."""
    middle = share + z * z / (2 * n)
    half = z * float(np.sqrt(max(0.0, share * (1 - share)) / n + (z / (2 * n)) ** 2))
    low, high = ((middle + side) / (1 + z * z / n) for side in (-half, half))
    # At 0 and 1 the ends are exact, but for a rounding.
    return max(0.0, low) if share > 0 else 0.0, min(1.0, high) if share < 1 else 1.0


def _student(z: float, freedom: int) -> float:
    """Return the quantile of Student's t at which the normal one is z, nearly.

    There is no scipy in the scoring program. The series is that of Abramowitz and Stegun, 26.7.5.
    """
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + float(sum(term / freedom**power for power, term in enumerate(terms, start=1)))


def mean_interval(
    values: Sequence[float], intervals: Sequence[Interval | None], *, share_items: bool = False
) -> Interval | None:
    """Return the interval of the mean of scores, such as those of the tracks, from their intervals.

    Parameters
    ----------
    values, intervals : sequence
        The scores and their intervals.
    share_items : bool
        Whether they may be wrong together: the distances are then added as they are.

    Returns
    -------
    tuple of float or None
        ``None`` if a score has no interval. It has the notes of all.

    References
    ----------
    G. Zou and A. Donner (2008), "Construction of confidence limits about effect measures: a general
    approach": the distances of the limits are added as squares (MOVER).

    Examples
    --------
    >>> mean_interval([0.5, 0.75], [(0.25, 0.75), (0.5, 1.0)])
    (0.4482..., 0.8017...)
    """
    there = [ends for ends in intervals if ends is not None]
    if len(there) < len(values) or not there:
        return None
    mean, distance = np.mean(values), np.abs(np.array(there) - np.array(values)[:, None])
    power = 1 if share_items else 2
    below, above = np.sum(distance**power, axis=0) ** (1 / power) / len(values)
    notes = dict.fromkeys(getattr(ends, "note", "") for ends in there)
    return _marked((float(mean - below), float(mean + above)), notes)
