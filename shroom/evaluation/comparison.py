"""Comparing systems: which differences are significant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.evaluation.board import Board, boards
from shroom.evaluation.differences import Comparison, Comparisons, McNemar
from shroom.evaluation.submissions import by_name, read
from shroom.evaluation.verdicts import ALPHA
from shroom.metrics.base import Metric
from shroom.metrics.intervals import Intervals, resampled_interval
from shroom.metrics.paired_tests import detectable_difference, holm, mcnemar, randomisation
from shroom.metrics.rank_intervals import groups
from shroom.scoring.display.text import in_words
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import Data, InMemory, Submissions
from shroom.scoring.kinds.base import with_ranking_metrics
from shroom.scoring.result import joined
from shroom.scoring.slices import with_unit

#: The default number of trials of a test.
TRIALS = 10_000
#: A comparison needs more resamples than a single score.
INTERVALS = Intervals(10_000)


def compare(
    submissions: Submissions,
    gold: Data,
    *,
    metrics: Sequence[Metric | str] = (),
    intervals: Intervals = INTERVALS,
    trials: int = TRIALS,
    baseline: Source | None = None,
    edition: Edition | Source | None = None,
) -> Comparisons:
    """Return the differences between submissions, with tests of their significance.

    Parameters
    ----------
    submissions : sequence, or mapping by system
        At least two submissions, each a file, a folder, a zip, rows or a data frame.
    gold : path, rows or data frame
        Gold that the submissions are scored against.
    metrics : sequence of Metric or str
        Metrics to compare besides those of the edition.
    intervals : Intervals
        Settings of the intervals of the differences, which are percentile intervals.
    trials : int
        Number of trials of the randomisation test; its random seed is that of ``intervals``.
    baseline : str or path, optional
        Name or path of the submission that all others are compared with; by default every pair
        is compared. The p-values are corrected for the pairs that are compared.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Raises
    ------
    InvalidInput
        If any submission has errors; the exception contains all problems.
    UnknownName
        If the baseline is not one of the submissions.
    ShroomError
        If no track has two systems; with a baseline, if no track has the baseline and another
        system.

    Examples
    --------
    >>> own = "shroom/sample/val.model-aware.json"
    >>> found = compare([own, own], "shroom/sample", intervals=Intervals(100), trials=99)
    >>> [(each.metric, each.difference, each.p) for each in found.comparisons]
    [('accuracy', 0.0, 1.0), ('rho', 0.0, 1.0)]
    """
    verdicts, problems = read(submissions, gold, edition=edition)
    if baseline is not None:
        sources = by_name(submissions, next(iter(verdicts.values())).edition)
        baseline = _name_of(baseline, sources)
    every = boards(verdicts)
    compared = [it for it in every if len(it.tracks) > 1 and baseline in (None, *it.tracks)]
    if not compared:
        others = "" if baseline is None else f" including {printable(baseline)}"
        raise ShroomError(
            f"no track has two submissions{others}; specify two submissions for the same track"
        )
    intervals = with_unit(intervals, (board.gold for board in compared), compared[0].edition)
    rows, remarks = list[Comparison](), list[str]()
    for board in compared:
        rows += compare_systems(board, metrics, intervals, trials, baseline)
        remarks += [
            printable(f"{a} and {b} have identical predictions for {board.gold.file}")
            for (a, one), (b, other) in combinations(board.tracks.items(), 2)
            if one.predictions.hash == other.predictions.hash
        ]
    if files := [*dict.fromkeys(file for it in verdicts.values() for file in it.by_order)]:
        why = "aligned by order only, because gold and predictions share neither ids nor texts"
        remarks.append(printable(f"{why}: {in_words(files)}"))
    of_tracks = joined(board.signature for board in compared)
    drawn = f"bs:{intervals.resamples}|" if intervals.resamples else ""
    signature = f"{of_tracks}|{drawn}ar:{trials}|seed:{intervals.seed}"
    left_out = [str(board.name) or "the file" for board in every if board not in compared]
    return Comparisons(rows, signature, intervals, trials, problems, baseline, left_out, remarks)


def _name_of(baseline: Source, sources: Mapping[str, Source]) -> str:
    for name, source in sources.items():
        is_path = not isinstance(source, InMemory) and Path(source) == Path(baseline)
        if str(baseline) == name or is_path:
            return name
    raise UnknownName(
        f"no submission is called '{printable(str(baseline))}';"
        f"{nearest(str(baseline), sources)} the submissions are {printable(', '.join(sources))}"
    )


def compare_systems(
    board: Board,
    metrics: Sequence[Metric | str],
    settings: Intervals,
    trials: int,
    baseline: str | None = None,
) -> list[Comparison]:
    """Return the comparisons of all pairs on one track, or of each system with a baseline."""
    metrics = with_ranking_metrics(board.edition, metrics)
    resampled, scores = board.resampled(metrics, settings), board.scores(metrics)
    systems, seen, count = board.systems, board.in_sample, len(board.systems)
    pairs = list(combinations(range(count), 2))
    if baseline is not None:
        place = systems.index(baseline)
        pairs = [(other, place) for other in range(count) if other != place]
    comparisons = []
    for metric in metrics:
        statistics, drawn = board.statistics(metric), resampled.get(metric.name)
        p = randomisation(metric, statistics, pairs, trials, settings.seed, board.unit)
        # McNemar's test takes the items as independent.
        is_exact = metric.name == "accuracy" and board.unit is None
        exact = _mcnemar(statistics, pairs) if is_exact else [None] * len(pairs)
        on = board.name.track, board.name.split, board.gold.n, metric.name
        for (a, b), p_value, adjusted, mcnemar_of in zip(pairs, p, holm(p), exact):
            first, second = scores[metric.name][a], scores[metric.name][b]
            difference = None if first is None or second is None else first - second
            ci = detectable = None
            if drawn is not None and difference is not None:
                row = drawn[a] - drawn[b]
                ci = resampled_interval(row, settings.confidence)
                detectable = _detectable(row[~np.isnan(row)])
            figures = first, second, difference, ci, _defined(p_value), _defined(adjusted)
            tested = "approximate randomisation", detectable, mcnemar_of, seen[a], seen[b]
            values = (systems[a], systems[b], *on, *figures, *tested, metric.higher_is_better)
            comparisons.append(Comparison(*values))
    return comparisons


def _detectable(differences: NDArray[np.float64]) -> float | None:
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    # If the systems never differ, nothing is known about the spread.
    return detectable_difference(spread, ALPHA) if spread else None


def _defined(p: float) -> float | None:
    return None if np.isnan(p) else float(p)


def _mcnemar(
    correct: Sequence[NDArray[Any]], pairs: Sequence[tuple[int, int]]
) -> list[McNemar | None]:
    tests = [mcnemar(correct[a][:, 0], correct[b][:, 0]) for a, b in pairs]
    adjusted = holm([p for p, _, _ in tests])
    return [
        McNemar(p, float(after), only_a, only_b)
        for (p, only_a, only_b), after in zip(tests, adjusted)
    ]


def indistinguishable(
    metric: Metric,
    statistics: Sequence[NDArray[Any]],
    seed: int,
    trials: int | None = None,
    unit: NDArray[np.intp] | None = None,
) -> tuple[list[int], list[bool]]:
    """Return each system's group by rank, and whether it is indistinguishable from the first."""
    count = len(statistics)
    pairs = list(combinations(range(count), 2))
    if not pairs:
        return [1] * count, [True] * count
    # The least p of the test, times the number of pairs, must still be well below the level.
    enough = max(TRIALS, 40 * len(pairs))
    p = randomisation(metric, statistics, pairs, trials or enough, seed, unit)
    table = np.ones((count, count))
    for (a, b), adjusted in zip(pairs, holm(np.nan_to_num(p, nan=1.0))):
        table[a, b] = table[b, a] = adjusted
    return groups(table, ALPHA).tolist(), (table[0] > ALPHA).tolist()
