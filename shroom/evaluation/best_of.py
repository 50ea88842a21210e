"""The best of a team's submissions, and by how much its score is too good to be true.

The best of several scores on the same items is chosen for its luck as well: on new items it would
score less. The difference, the optimism, is estimated by splitting the items: the submission that
is best on one half is scored on the other half, which has not chosen it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import ShroomError
from shroom.evaluation.contest import Contest
from shroom.evaluation.submission_folder import submissions_in
from shroom.metrics.base import Array, Metric
from shroom.metrics.bootstrap import chunks
from shroom.metrics.rank_intervals import ranks
from shroom.scoring.editions.edition import Edition

#: How many times the items are split into halves.
SPLITS = 1000


@dataclass(frozen=True)
class BestOf:
    """The best submission of a team on one track.

    Attributes
    ----------
    team, track : str
        The team, and the track.
    submission : str
        The best of its submissions.
    submissions : int
        How many it has on this track.
    metric : str
        Metric by which it is the best.
    score : float or None
        Its score; ``None`` where undefined.
    optimism : float or None
        By how much the score is better than what is expected on new items; at least 0.
    corrected : float or None
        The score without the optimism.
    corrected_rank : int
        The team's rank by the corrected scores, from 1.
    """

    team: str
    track: str
    submission: str
    submissions: int
    metric: str
    score: float | None
    optimism: float | None
    corrected: float | None
    corrected_rank: int = 1


def optimism(
    metric: Metric, statistics: Sequence[Array], splits: int = SPLITS, seed: int = 0
) -> float | None:
    r"""Return by how much the best of several scores is better than on new items.

    The items are split into halves, many times. The system that is best on one half is scored on
    both: the difference is the optimism of a choice by half of the items. It falls with the square
    root of their number, so that of a choice by all items is smaller by :math:`\sqrt{1/2}`. Where
    the systems are equally good, the estimate is right on average, and where some are better by
    about as much as chance could make them, it is somewhat too large.

    Parameters
    ----------
    metric : Metric
        Metric by which the best is chosen.
    statistics : sequence of array, shape [n, k]
        Each system's statistics of the same items in the same order.
    splits : int
        How many times the items are split.
    seed : int
        Seed of the random generator.

    Returns
    -------
    float or None
        At least 0, in the metric's unit; 0 for one system, or where one is the best on every
        half; ``None`` where the metric is undefined on all halves.

    References
    ----------
    The usual bootstrap estimate (B. Efron and R. Tibshirani 1993, "An Introduction to the
    Bootstrap", chapter 17) is too small where the systems are equal, since the sampled scores
    differ by more than the true ones do; ``docs/grading.md`` compares both with known truth. The
    choice by one part of the items, and the score by another, is that of nested cross-validation:
    S. Varma and R. Simon (2006), "Bias in error estimation when using cross-validation for model
    selection".

    Examples
    --------
    >>> from shroom.metrics.classification import ACCURACY
    >>> coins = np.random.default_rng(0).integers(0, 2, size=(10, 400, 1))
    >>> best = max(map(ACCURACY, coins))
    >>> round(best, 3), round(best - optimism(ACCURACY, list(coins)), 3)
    (0.552, 0.516)
    """
    n = len(statistics[0])
    if len(statistics) == 1:
        return 0.0
    if n < 2:
        return None
    generator = np.random.default_rng(seed)
    sign = 1.0 if metric.higher_is_better else -1.0
    total, count = 0.0, 0
    for size in chunks(2 * n, splits):
        first = np.zeros((size, n))
        order = generator.permuted(np.tile(np.arange(n), (size, 1)), axis=1)
        np.put_along_axis(first, order[:, : n // 2], 1.0, axis=1)
        a, b = (sign * metric.scores(statistics, half) for half in (first, 1 - first))
        differences = _chosen_less_other(a, b) + _chosen_less_other(b, a)
        defined = ~np.isnan(differences)
        total += float(np.sum(differences[defined])) / 2
        count += int(np.sum(defined))
    return total / count * math.sqrt(0.5) if count else None


def _chosen_less_other(
    chosen: NDArray[np.float64], other: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the best score of each column of one half, less the same system's on the other."""
    best = np.where(np.isnan(chosen), -np.inf, chosen).argmax(axis=0)[None, :]
    columns = (np.take_along_axis(half, best, axis=0)[0] for half in (chosen, other))
    return np.asarray(np.subtract(*columns))


def teams_in(
    folder: Source, gold: Source | None = None, edition: Edition | None = None
) -> tuple[dict[str, list[Path]], list[Path]]:
    """Return the submissions of the teams in a folder by their names, and the other files.

    Each folder in it is a team, with submissions in it as in the folder of a leaderboard; they are
    named ``team/submission``. A folder that is a submission itself, and a zip or files that begin
    with a name, are a team with one submission, which has the team's name.

    Raises
    ------
    ShroomError
        As :func:`~shroom.evaluation.submission_folder.submissions_in`.
    """
    entries, others = submissions_in(folder, gold, edition)
    systems: dict[str, list[Path]] = {}
    for team, paths in entries.items():
        for path in paths:
            try:
                submissions, more = submissions_in(path, gold, edition)
            except ShroomError:  # a single submission, or nothing, which its check reports
                systems.setdefault(team, []).append(path)
                continue
            systems |= {f"{team}/{name}": files for name, files in submissions.items()}
            others += more
    return systems, others


def team_of(system: str) -> str:
    """Return the team of a system that :func:`teams_in` has named."""
    return system.partition("/")[0]


def best_of_teams(
    contests: Sequence[Contest], metrics: Sequence[Metric], seed: int = 0
) -> tuple[list[Contest], list[BestOf]]:
    """Return contests of each team's best submission, and by how much these are too good.

    Parameters
    ----------
    contests : sequence of Contest
        All submissions on each track, named as by :func:`teams_in`.
    metrics : sequence of Metric
        The one that ranks, and the one that breaks ties, if there is one. Of submissions that
        are equal in both, the first is taken.
    seed : int
        As of :func:`optimism`.

    Returns
    -------
    contests : list of Contest
        The best submissions under the names of their teams.
    best : list of BestOf
        One for each track and team, in the same order.
    """
    chosen = [_best_of_teams(contest, metrics, seed) for contest in contests]
    return [contest for contest, _ in chosen], [entry for _, best in chosen for entry in best]


def _best_of_teams(
    contest: Contest, metrics: Sequence[Metric], seed: int
) -> tuple[Contest, list[BestOf]]:
    metric = metrics[0]
    statistics = contest.statistics(metric)
    places = [place for place, _ in contest.ranks(metrics, {}, confidence=0.95)]
    teams: dict[str, list[int]] = {}
    for number, system in enumerate(contest.systems):
        teams.setdefault(team_of(system), []).append(number)
    best = []
    for team, numbers in teams.items():
        first = min(numbers, key=places.__getitem__)
        score = metric(statistics[first])
        too_good = optimism(metric, [statistics[number] for number in numbers], SPLITS, seed)
        corrected = None
        if score is not None and too_good is not None:
            corrected = score - too_good if metric.higher_is_better else score + too_good
        submission = contest.systems[first].partition("/")[2] or team
        track = contest.name.track
        best.append(
            BestOf(team, track, submission, len(numbers), metric.name, score, too_good, corrected)
        )
    tracks = {
        team: contest.tracks[contest.systems[min(numbers, key=places.__getitem__)]]
        for team, numbers in teams.items()
    }
    return replace(contest, tracks=tracks), _ranked(metric, best)


def _ranked(metric: Metric, best: list[BestOf]) -> list[BestOf]:
    """Return the teams' entries with their ranks by the corrected scores."""
    sign = 1.0 if metric.higher_is_better else -1.0
    corrected = np.array([sign * (np.nan if b.corrected is None else b.corrected) for b in best])
    return [
        replace(entry, corrected_rank=rank)
        for entry, rank in zip(best, ranks(corrected, corrected).tolist())
    ]
