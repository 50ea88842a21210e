"""Scores and their intervals: Wilson's for shares of items, the bootstrap for other metrics."""

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

#: Above this number of items, the interval is computed from influences, without resampling.
MAX_ITEMS = 5000
#: Fewer items or units have no interval; with fewer items of a class the interval is marked.
FEWEST = 10
#: An interval is marked if a larger share of its resamples is undefined.
LEFT_OUT = 0.05
#: Scores of resamples that differ by less than this are equal except for rounding.
SAME = 1e-9
#: Methods of computing an interval from resamples.
METHODS = ("percentile", "bca")


class Marked(tuple[float, float]):
    """A doubtful interval; ``note`` gives the reason in a few words."""

    note: str

    def __new__(cls, ends: Iterable[float], note: str = "") -> Marked:  # noqa: PYI034
        """Return an interval with a note."""
        self = super().__new__(cls, ends)
        self.note = note
        return self


@dataclass(frozen=True)
class Intervals:
    """Settings of bootstrap intervals.

    Shares of items always have a Wilson interval.

    Attributes
    ----------
    resamples : int
        Number of resamples; 0 for no intervals.
    seed : int
        Random seed.
    confidence : float
        Confidence level, in (0, 1).
    method : str
        ``percentile`` or ``bca`` (bias-corrected and accelerated).
    unit : str
        Key of the units that are drawn instead of items; set by the edition.
    missing_unit : str
        The key of units that the edition sets, if this key is missing in some gold rows.
    """

    resamples: int = 1000
    seed: int = 0
    confidence: float = 0.95
    method: str = "percentile"
    unit: str = ""
    missing_unit: str = ""

    def to_dict(self, *, paired: bool = False) -> dict[str, Any]:
        """Return the settings for JSON, under the key ``intervals``; empty for no intervals.

        Intervals of differences between systems (``paired``) are always percentile intervals.
        """
        if not self.resamples:
            return {}
        settings = {key: value for key, value in vars(self).items() if value != ""}
        methods = {"method": METHODS[0]} if paired else {"shares": "wilson"}
        return {"intervals": {**settings, **methods}}


#: A thousand resamples with percentile intervals, and no intervals.
DEFAULT_INTERVALS, NO_INTERVALS = Intervals(), Intervals(0)


def estimates(
    scored: Scored, settings: Intervals
) -> tuple[dict[str, float | None], dict[str, Interval | None]]:
    """Return each metric's score and interval.

    Parameters
    ----------
    scored : sequence of (Metric, array of shape [n, k])
        Metrics and their statistics of the same items.
    settings : Intervals
        Settings of the intervals.

    Returns
    -------
    scores : dict of float or None
        The score of each metric; ``None`` if it is undefined.
    intervals : dict of tuple or None
        The interval of each metric; ``None`` if the metric has no interval, or if the settings turn
        intervals off.
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
    """Return the interval of a metric, by the method for its kind; ``None`` if it has none."""
    # ``row`` contains the scores of resamples. Without it, the interval is Wilson's or normal.
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
    few = f"a class with only {least} item{'s' * (least != 1)}" if least < FEWEST else ""
    return _marked(ends, [getattr(ends, "note", ""), few])


def resampled_interval(
    row: Array, confidence: float, bca: tuple[float, Array] | None = None
) -> Interval | None:
    """Return the percentile or BCa interval of a figure, with a mark if it is doubtful."""
    ends = bca_interval(row, *bca, confidence) if bca else percentile_interval(row, confidence)
    undefined = np.isnan(row)
    if undefined.sum() > LEFT_OUT * len(row):
        return _marked(ends, [f"{undefined.sum()} of {len(row)} resamples undefined"])
    is_constant = ends is not None and np.ptp(row[~undefined]) < SAME
    return _marked(ends, ["all resamples equal"] if is_constant else [])


def _marked(ends: Interval | None, notes: Iterable[str]) -> Interval | None:
    note = ", ".join(filter(None, notes))
    return Marked(ends, note) if ends is not None and note else ends


def wilson_interval(parts: Array, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's score interval of a share of items.

    If items belong to units, such as several answers to a question, the number of items is replaced
    by the number of independent items that would give the share the same variance (by
    linearisation). The normal quantile is then replaced by the quantile of Student's t
    distribution.

    Parameters
    ----------
    parts : array, shape [n, 2]
        Contribution of each item or unit to the numerator and to the denominator.
    confidence : float
        In (0, 1).

    Returns
    -------
    tuple of float or None
        Within [0, 1]; ``None`` if the denominator or the number of units is below 10.

    References
    ----------
    E. Wilson (1927), "Probable inference, the law of succession, and statistical inference". For
    units: E. Korn and B. Graubard (1998), "Confidence intervals for proportions with small expected
    number of positive counts estimated from survey data", with Wilson's formula in place of theirs.

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
        # If all units are alike, they do not show their variance: each counts as one item.
        n = share * (1 - share) / variance if variance > 0 else float(units)
        z = _student(z, units - 1)
    return wilson_ends(share, n, z)


def wilson_ends(share: float, n: float, z: float) -> Interval:
    """Return the ends of Wilson's interval of a share of n items; z is the normal quantile."""
    middle = share + z * z / (2 * n)
    half = z * float(np.sqrt(max(0.0, share * (1 - share)) / n + (z / (2 * n)) ** 2))
    low, high = ((middle + side) / (1 + z * z / n) for side in (-half, half))
    # At 0 and 1 the ends are exact except for rounding.
    return max(0.0, low) if share > 0 else 0.0, min(1.0, high) if share < 1 else 1.0


def _student(z: float, freedom: int) -> float:
    """Return approximately the quantile of Student's t for the same probability as the normal z."""
    # The scoring program has no scipy. The series is equation 26.7.5 of Abramowitz and Stegun.
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + float(sum(term / freedom**power for power, term in enumerate(terms, start=1)))


def mean_interval(
    values: Sequence[float], intervals: Sequence[Interval | None], *, share_items: bool = False
) -> Interval | None:
    """Return the interval of the mean of several scores, for example of tracks.

    Parameters
    ----------
    values, intervals : sequence
        The scores and their intervals.
    share_items : bool
        Whether the scores have items in common, so that their errors may be correlated. If so, the
        distances of the limits from the scores are averaged without being squared.

    Returns
    -------
    tuple of float or None
        ``None`` if a score has no interval. The result has the notes of all intervals.

    References
    ----------
    G. Zou and A. Donner (2008), "Construction of confidence limits about effect measures: a general
    approach" (MOVER): the squared distances of the limits are added.

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
