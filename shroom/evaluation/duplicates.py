"""Submissions of different teams that are equal or nearly so.

Two good systems agree because both agree with the gold, so their similarity is measured as the
disagreement that is left of what two independent systems with the same scores would have: 1 for
independent systems, 0 for copies. A pair is listed where next to nothing is left of it and it
stands out from the other pairs across teams.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.evaluation.contest import Contest
from shroom.metrics.base import Metric
from shroom.metrics.correlation import levels, twice_ranks

Floats = NDArray[np.float64]

#: Pairs are listed up to this share of the disagreement that independent systems would have, in
#: labels and in p; noise changes the order of p more than labels.
MOST, MOST_OF_P = 0.1, 0.15
#: What chance may make of it, for few items: the upper end of its 95% interval.
MOST_BY_CHANCE = 0.16
#: A pair stands out from the others by so many standard deviations, robustly estimated.
DEVIATIONS = 3.0
#: With fewer pairs than this there is no field to stand out from.
LEAST_PAIRS = 10
#: So many different p are not in the same order by chance.
FINE = 10
#: Correlations differ by less than this through rounding.
_SAME = 1e-9


@dataclass(frozen=True)
class Pair:
    """Two submissions of different teams that are suspiciously alike.

    Attributes
    ----------
    a, b, track : str
        The submissions, and the track.
    kind : str
        ``equal``, ``equal labels``, ``equal p`` (in the order that p gives to the items) or
        ``nearly equal``. For other annotations than one label with p: ``equal`` or
        ``nearly equal`` in what the metrics see.
    equal : float
        The share of items with equal labels.
    equal_by_chance : float
        What it would be for independent systems with the same scores.
    rho, rho_by_chance : float or None
        Spearman's correlation of both p, and what it would be; ``None`` where there is no p.
    """

    a: str
    b: str
    track: str
    kind: str
    equal: float
    equal_by_chance: float
    rho: float | None
    rho_by_chance: float | None


@dataclass(frozen=True)
class Field:
    """How alike the pairs across teams are: least, median and greatest.

    Attributes
    ----------
    track : str
        The track.
    pairs : int
        How many there are, without those of constant predictions.
    equal, equal_left, rho, rho_left : tuple of float or None
        Of the share of equal labels and of Spearman's correlation of p; ``left`` is the share of
        the disagreement of independent systems.
    """

    track: str
    pairs: int
    equal: tuple[float, float, float] | None
    equal_left: tuple[float, float, float] | None
    rho: tuple[float, float, float] | None
    rho_left: tuple[float, float, float] | None


@dataclass(frozen=True)
class Duplicates:
    """The pairs that are listed, and how alike all pairs across teams are, by track."""

    pairs: list[Pair]
    fields: list[Field]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json."""
        return asdict(self)


@dataclass(frozen=True)
class _Similarity:
    """A similarity of all systems, and what it is for independent ones: shape [systems, systems].

    ``nan`` where a system's predictions are constant.
    """

    value: Floats
    by_chance: Floats

    @property
    def left(self) -> Floats:
        """The disagreement, as a share of that of independent systems."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((1 - self.value) / (1 - self.by_chance))


def duplicates(
    contests: Sequence[Contest],
    metrics: Sequence[Metric],
    team_of: Callable[[str], str] = str,
) -> Duplicates:
    """Return the pairs of submissions across teams that are equal or nearly so.

    Parameters
    ----------
    contests : sequence of Contest
        The tracks.
    metrics : sequence of Metric
        Those that rank; what they see of each item is compared.
    team_of : callable
        Returns the team of a submission; by default, each is a team's of its own.

    Returns
    -------
    Duplicates
        The most alike pairs first, track by track.

    References
    ----------
    R. Geirhos et al. (2020), "Beyond accuracy: quantifying trial-by-trial behaviour of CNNs and
    humans by measuring error consistency", for the agreement beyond what the accuracies imply.
    """
    tracks = [_of_track(contest, metrics, team_of) for contest in contests]
    return Duplicates([pair for pairs, _ in tracks for pair in pairs], [f for _, f in tracks])


def _of_track(
    contest: Contest, metrics: Sequence[Metric], team_of: Callable[[str], str]
) -> tuple[list[Pair], Field]:
    systems = contest.systems
    teams = np.array([team_of(system) for system in systems])
    first, second = np.nonzero(np.triu(teams[:, None] != teams[None, :]))
    labels, p = _labels(contest, metrics), _p(contest)
    equal, chance = labels.value[first, second], labels.by_chance[first, second]
    left = labels.left[first, second]
    rho = rho_chance = rho_left = np.full(len(first), np.nan)
    if p is not None:
        rho, rho_chance = p.value[first, second], p.by_chance[first, second]
        rho_left = p.left[first, second]
    varied = ~np.isnan(left)
    fine = np.array([_is_fine(track.predictions.p) for track in contest.tracks.values()])
    expected = contest.gold.n * (1 - chance)
    listed = _listed(left, None if p is None else rho_left, expected, fine[first] & fine[second])
    pairs = [
        Pair(
            systems[first[i]],
            systems[second[i]],
            contest.name.track,
            kind,
            float(equal[i]),
            float(chance[i]),
            _plain(rho[i]),
            _plain(rho_chance[i]),
        )
        for i, kind in sorted(listed.items(), key=lambda entry: (left[entry[0]], entry[0]))
    ]
    spread = (_spread(values[varied]) for values in (equal, left, rho, rho_left))
    return pairs, Field(contest.name.track, int(varied.sum()), *spread)


def _listed(
    left: Floats, rho_left: Floats | None, expected: Floats, fine: NDArray[np.bool_]
) -> dict[int, str]:
    """Return the kinds of the pairs that are listed, by their number.

    ``expected`` is the number of items on which independent systems would differ, and ``fine``
    whether p is, so that systems do not have the same order by chance even on few items.
    """
    few = (left <= MOST) & (_upper(left * expected) <= MOST_BY_CHANCE * expected)
    same = few & (left * expected < 0.5)  # not a single item
    near = few & _stands_out(left)
    if rho_left is None:
        return {int(i): "equal" if same[i] else "nearly equal" for i in np.flatnonzero(same | near)}
    enough = _upper(np.zeros(1)) <= MOST_BY_CHANCE * expected
    same_p = (rho_left < _SAME) & (fine | enough)
    same |= same_p & (left == 0)
    near &= (rho_left <= MOST_OF_P) & _stands_out(rho_left)
    listed = {}
    for i in np.flatnonzero(same | same_p | near).tolist():
        kinds = {"equal": same[i] & same_p[i], "equal labels": same[i], "equal p": same_p[i]}
        listed[i] = next((kind for kind, holds in kinds.items() if holds), "nearly equal")
    return listed


def _stands_out(left: Floats) -> NDArray[np.bool_]:
    """Return which pairs have far less disagreement left than the others, on a log scale."""
    with np.errstate(divide="ignore"):
        logarithm = np.log(left)
    defined = logarithm[~np.isnan(logarithm)]
    if len(defined) < LEAST_PAIRS:
        return np.ones(len(left), bool)
    middle = np.median(defined)
    if np.isinf(middle):  # most pairs are equal, so that none stands out
        return np.zeros(len(left), bool)
    spread = 1.4826 * np.median(np.abs(defined - middle))
    return np.asarray(logarithm < middle - DEVIATIONS * spread)


def _upper(count: Floats) -> Floats:
    """Return the upper end of the two-sided 95% interval of a Poisson mean.

    References
    ----------
    E. B. Wilson and M. M. Hilferty (1931), "The distribution of chi-square".
    """
    with np.errstate(invalid="ignore"):
        more = np.maximum(count, 0) + 1
        return np.asarray(more * (1 - 1 / (9 * more) + 1.959964 / (3 * np.sqrt(more))) ** 3)


def _labels(contest: Contest, metrics: Sequence[Metric]) -> _Similarity:
    """Return how often what the metrics see of an item is the same, for each pair of systems.

    For one label with p that is the label alone, since p is compared by itself.
    """
    columns = [track.columns for track in contest.tracks.values()]
    if _is_binary(contest):
        rows = [np.asarray(label)[:, None] for label, *_ in columns]
        # Right or wrong: independent systems agree as often as their accuracies imply.
        seen = [np.asarray(label == gold)[:, None] for label, _, gold, _ in columns]
    else:
        parts = zip(*(contest.statistics(metric) for metric in metrics))
        rows = seen = [np.column_stack([np.asarray(x, np.float64) for x in part]) for part in parts]
    codes, seen_codes = _codes(rows), _codes(seen)
    value = np.array([(codes == own).mean(axis=1) for own in codes])
    size = int(seen_codes.max()) + 1
    shares = (np.bincount(own, minlength=size) / len(own) for own in seen_codes)
    chance = np.array([share[seen_codes].mean(axis=1) for share in shares])
    constant = np.array([len(np.unique(own)) == 1 for own in codes])
    value[constant | constant[:, None]] = np.nan
    return _Similarity(value, chance)


def _codes(rows: list[NDArray[Any]]) -> NDArray[np.intp]:
    """Return a number for each distinct row of the systems' arrays: shape [systems, n]."""
    distinct = np.unique(np.concatenate(rows), axis=0, return_inverse=True)[1]
    return np.asarray(distinct).reshape(len(rows), -1)


def _p(contest: Contest) -> _Similarity | None:
    """Return Spearman's correlation of each two systems' p; ``None`` where there is no p."""
    if not _is_binary(contest):
        return None
    columns = [track.columns for track in contest.tracks.values()]
    scaled = np.array([_scaled_ranks(p) for _, p, *_ in columns])
    with_gold = scaled @ _scaled_ranks(contest.gold.p)
    # Systems that have nothing in common but the gold.
    by_chance = np.nan_to_num(np.multiply.outer(with_gold, with_gold))
    return _Similarity(np.clip(scaled @ scaled.T, -1, 1), by_chance)


def _scaled_ranks(values: NDArray[Any]) -> Floats:
    """Return ranks whose products add up to Spearman's correlation; ``nan`` for constant values."""
    twice = twice_ranks(levels(values))
    deviation = twice - twice.mean()
    length = math.sqrt(float(deviation @ deviation))
    return np.asarray(deviation / length if length else np.full(len(deviation), np.nan))


def _is_binary(contest: Contest) -> bool:
    """Return whether each item has one label and one p."""
    return contest.edition.annotation.kind == "binary"


def _is_fine(p: Any) -> bool:
    return isinstance(p, np.ndarray) and p.ndim == 1 and len(np.unique(p)) >= FINE


def _spread(values: Floats) -> tuple[float, float, float] | None:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    return float(defined.min()), float(np.median(defined)), float(defined.max())


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
