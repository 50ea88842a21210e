"""Every metric there is, by the rows of its items or of units of them."""

import tracemalloc

import numpy as np
import pytest
from made_up import drawn

from shroom.datasets import felm_scores
from shroom.metrics import citation_metrics, span_metrics
from shroom.metrics.agreement import AGREEMENT
from shroom.metrics.bootstrap import CHUNK, bootstrap, jackknife, joint_bootstrap, resamples
from shroom.metrics.classification import ACCURACY, COHEN_KAPPA, MACRO_F1, of_aspect
from shroom.metrics.cluster_bootstrap import clustered, places
from shroom.metrics.human_ceiling import CEILING
from shroom.metrics.intervals import METHODS, Intervals, estimates
from shroom.metrics.labelled_spans import METRICS as OF_LABELLED
from shroom.metrics.labelled_spans import LabelledSpans
from shroom.scoring.metric_registry import METRICS, metric

EVERY = [*map(metric, METRICS), MACRO_F1, COHEN_KAPPA]
TINY = 1e-12
#: What is computed from sums of whole numbers, so that no order of summation changes a digit.
EXACT = {"accuracy", "rho", "balanced_accuracy", "auroc"}


def by_rows():
    """Return all metrics, also of spans, segments, citations, annotators and units, with rows."""
    generator = np.random.default_rng(0)
    yield from ((each, each.statistics(*drawn(30))) for each in EVERY)
    tied, unit = drawn(90, 1, steps=7), generator.integers(0, 17, 90)
    yield from (clustered(each, each.statistics(*tied), unit) for each in EVERY)
    votes = generator.integers(0, 2, (30, 4))
    yield from ((figure, votes) for figure in (*AGREEMENT.values(), *CEILING.values()))
    aspects = [of_aspect(name, "fluency", 1) for name in ("f1", "accuracy")]
    yield from ((each, each.statistics(votes, None, votes[:, ::-1], None)) for each in aspects)
    worthy, judged = generator.integers(1, 6, 30), generator.integers(1, 8, 30)
    few = generator.integers(0, worthy + 1), generator.integers(0, judged + 1)
    ratings = generator.integers(1, 6, (2, 30)).astype(float)
    ratings[0, 3] = np.nan
    cited = citation_metrics.statistics(worthy, few[0], judged, few[1], *ratings)
    yield from ((each, cited) for each in citation_metrics.CITATION_METRICS)
    response = np.concatenate((np.arange(30), generator.integers(0, 30, 120)))
    flagged, p, wrong, _ = drawn(150, steps=5)
    yield from felm_scores.scored(flagged, wrong, response, 32, p)
    texts = [[[(i % 9, i % 9 + i % 7, i % 5 / 4, i % side)] for i in range(30)] for side in (2, 3)]
    marked = [LabelledSpans.of(side, [20] * 30, 3) for side in texts]
    yield from span_metrics.scored(*((side.spans, side.spans) for side in marked))
    columns = marked[0], None, marked[1], drawn(30)[0]
    yield from ((each, each.statistics(*columns)) for each in OF_LABELLED.values())


over_rows = pytest.mark.parametrize(
    ("metric", "rows"), [*by_rows()], ids=lambda each: getattr(each, "name", "")
)


@over_rows
def test_rows_may_be_permuted_repeated_drawn_and_left_out(metric, rows):
    n, generator = len(rows), np.random.default_rng(2)
    assert metric(generator.permutation(rows)) == pytest.approx(metric(rows), abs=TINY)
    times = generator.integers(0, 4, n)
    repeated = metric(np.repeat(rows, times, axis=0))
    assert metric.weighted(rows, times) == pytest.approx(repeated, abs=TINY)
    weights = np.concatenate(list(resamples(n, 25, seed=3)))
    one_by_one = [metric.weighted(rows, row) for row in weights]
    within = 0 if metric.name in EXACT else 1e-15
    np.testing.assert_allclose(metric.score(rows, weights), one_by_one, rtol=0, atol=within)
    chosen = np.random.default_rng(5).integers(0, n, (1, n))[0]
    assert bootstrap(metric, rows, count=1, seed=5) == pytest.approx(metric(rows[chosen]), abs=TINY)
    other = rows[::-1]  # another system
    joint = joint_bootstrap([(metric, rows), (metric, other)], 20, seed=4)
    for found, each in zip(joint, (rows, other)):
        np.testing.assert_array_equal(found, bootstrap(metric, each, 20, seed=4))
    left_out = [metric(np.delete(rows, place, axis=0)) for place in range(n)]
    assert jackknife(metric, rows) == pytest.approx(left_out, abs=TINY)
    scores, (low, high) = bootstrap(metric, rows, count=200), metric.bounds
    assert not np.any((scores < low) | (scores > high))
    assert np.isnan(metric.score(rows, np.zeros((2, n)))).all()
    assert metric(rows[:0]) is None
    assert estimates([(metric, rows[:0])], Intervals(9)) == ({metric.name: None},) * 2
    for method in METHODS:
        (ends,) = estimates([(metric, rows)], Intervals(99, method=method))[1].values()
        assert (ends is None) == metric.is_biased
        assert metric.is_biased or low <= ends[0] <= ends[1] <= high


@pytest.mark.parametrize(
    ("metric", "rows"),
    [(each, rows) for each, rows in by_rows() if each.influence],
    ids=lambda each: getattr(each, "name", ""),
)
def test_influence_is_the_derivative_by_weight(metric, rows):
    step = 1e-6 * np.eye(len(rows))
    slope = (metric.score(rows, 1 + step) - metric.score(rows, 1 - step)) / 2e-6
    np.testing.assert_allclose(metric.influence(rows), slope, rtol=0, atol=1e-7)
    assert metric.influence(rows).sum() == pytest.approx(0, abs=TINY)


@pytest.mark.parametrize("metric", EVERY, ids=lambda each: each.name)
def test_an_item_counts_as_often_as_its_unit(metric):
    generator, columns = np.random.default_rng(0), drawn(90, steps=50)
    unit = generator.permutation(places(generator.integers(0, 17, 90).tolist()))
    by_unit, rows = clustered(metric, metric.statistics(*columns), unit)
    weights = np.concatenate([*resamples(len(rows), 40), np.eye(3, len(rows))])
    expected = []
    for row in weights.astype(int):
        chosen = np.repeat(np.arange(len(unit)), row[unit])
        expected.append(metric(metric.statistics(*(column[chosen] for column in columns))))
    found = by_unit.score(rows, weights)
    np.testing.assert_allclose(found, np.array(expected, float), rtol=0, atol=1e-12)
    few = [5, 2, 11]
    assert by_unit(rows[few]) == pytest.approx(
        by_unit.weighted(rows, np.isin(range(len(rows)), few))
    )
    assert metric.influence is None or by_unit.influence(rows[few]).shape == (3,)


def test_units_without_items():
    by_unit, rows = clustered(ACCURACY, np.ones((3, 1)), np.array([0, 0, 1]), 5)
    assert (len(rows), by_unit(rows), by_unit(rows[2:])) == (5, 1.0, None)
    assert by_unit.share(rows).tolist() == [[2, 2], [1, 1], [0, 0], [0, 0], [0, 0]]


def test_many_items_in_few_units_take_little_memory():
    n = 50_000
    by_unit, rows = clustered(ACCURACY, np.ones((n, 1)), np.arange(n) % 2)
    tracemalloc.start()
    found = by_unit.score(rows, np.ones((300, 2)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.tolist() == [1.0] * 300
    assert peak < 30 * 8 * CHUNK  # all weights at once would be 300 * 50_000 * 8 bytes
