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
from shroom.metrics.bootstrap import jackknife
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
        Settings of the intervals of the differences.
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
    golds = (board.gold for board in compared)
    intervals = with_unit(intervals, golds, compared[0].edition)
    rows = [
        row
        for board in compared
        for row in compare_systems(
            board, metrics=metrics, intervals=intervals, trials=trials, baseline=baseline
        )
    ]
    of_tracks = joined(board.signature for board in compared)
    settings = f"ar:{trials}|seed:{intervals.seed}"
    if intervals.resamples:
        settings = f"bs:{intervals.resamples}|{settings}"
    signature = f"{of_tracks}|{settings}"
    left_out = [str(board.name) or "the file" for board in every if board not in compared]
    remarks = [
        printable(f"{a} and {b} have identical predictions for {board.gold.file}")
        for board in compared
        for (a, one), (b, other) in combinations(board.tracks.items(), 2)
        if one.predictions.hash == other.predictions.hash
    ]
    if files := [*dict.fromkeys(file for it in verdicts.values() for file in it.by_order)]:
        why = "aligned by order only, because gold and predictions share neither ids nor texts"
        remarks.append(printable(f"{why}: {in_words(files)}"))
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
    *,
    metrics: Sequence[Metric | str] = (),
    intervals: Intervals = INTERVALS,
    trials: int = TRIALS,
    baseline: str | None = None,
) -> list[Comparison]:
    """Return the comparisons of all pairs on one track, or of each system with a baseline."""
    metrics = with_ranking_metrics(board.edition, metrics)
    resampled = board.resampled(metrics, intervals)
    pairs = list(combinations(range(len(board.systems)), 2))
    if baseline is not None:
        place = board.systems.index(baseline)
        pairs = [(other, place) for other in range(len(board.systems)) if other != place]
    comparisons = list[Comparison]()
    for metric in metrics:
        drawn = resampled.get(metric.name)
        comparisons += _by_metric(board, metric, pairs, drawn, intervals, trials)
    return comparisons


def _by_metric(
    board: Board,
    metric: Metric,
    pairs: Sequence[tuple[int, int]],
    resampled: NDArray[np.float64] | None,
    settings: Intervals,
    trials: int,
) -> list[Comparison]:
    systems, statistics, in_sample = board.systems, board.statistics(metric), board.in_sample
    scores, unit = board.scores([metric])[metric.name], board.unit
    p = randomisation(metric, statistics, pairs, trials, settings.seed, unit)
    # McNemar's test takes the items as independent.
    is_exact = metric.name == "accuracy" and unit is None
    exact = _mcnemar(statistics, pairs) if is_exact else [None] * len(pairs)
    bca = settings.method == "bca" and resampled is not None
    left_out = [jackknife(*pair) for pair in board.scored(metric)] if bca else []
    comparisons = []
    for (a, b), p_value, adjusted, mcnemar_of in zip(pairs, p, holm(p), exact):
        first, second = scores[a], scores[b]
        difference = None if first is None or second is None else first - second
        ci = detectable = None
        if resampled is not None and difference is not None:
            drawn = resampled[a] - resampled[b]
            by_bca = (difference, left_out[a] - left_out[b]) if bca else None
            ci = resampled_interval(drawn, settings.confidence, by_bca)
            defined = drawn[~np.isnan(drawn)]
            spread = float(defined.std(ddof=1)) if len(defined) > 1 else 0.0
            # If the systems never differ, nothing is known about the spread.
            detectable = detectable_difference(spread, ALPHA) if spread else None
        comparisons.append(
            Comparison(
                a=systems[a],
                b=systems[b],
                track=board.name.track,
                split=board.name.split,
                n=board.gold.n,
                metric=metric.name,
                a_score=first,
                b_score=second,
                difference=difference,
                ci=ci,
                p=None if np.isnan(p_value) else float(p_value),
                p_adjusted=None if np.isnan(adjusted) else float(adjusted),
                test="approximate randomisation",
                detectable_difference=detectable,
                mcnemar=mcnemar_of,
                a_in_sample=in_sample[a],
                b_in_sample=in_sample[b],
                higher_is_better=metric.higher_is_better,
            )
        )
    return comparisons


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
