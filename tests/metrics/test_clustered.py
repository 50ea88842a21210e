"""Metrics resampled by units, against a plain loop over resampled sets of items."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shroom.metrics.bootstrap import CHUNK, bootstrap, jackknife, resamples
from shroom.metrics.classification import ACCURACY
from shroom.metrics.cluster_bootstrap import clustered, places
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.metric_registry import METRICS, metric

over_metrics = pytest.mark.parametrize("metric", [*map(metric, METRICS)], ids=METRICS)


def items(n=90, units=17, seed=0):
    """Return the columns of a system on n items, and the unit of each; units differ in size."""
    generator = np.random.default_rng(seed)
    unit = places(np.sort(generator.integers(0, units, n)).tolist())
    truth = generator.random(n) < 0.4
    p = np.round(np.clip(generator.normal(0.4 + 0.2 * truth, 0.25), 0, 1), 2)
    return (p > 0.5, p, truth, np.where(truth, 0.8, 0.2)), generator.permutation(unit)


def one_by_one(metric, columns, unit, weights):
    """Return the score of the items of each resample of units, taken as a set of items."""
    found = []
    for row in weights.astype(int):
        drawn = np.repeat(np.arange(len(unit)), row[unit])
        value = metric(metric.statistics(*(column[drawn] for column in columns)))
        found.append(np.nan if value is None else value)
    return found


@over_metrics
def test_resamples_draw_units_and_the_jackknife_leaves_them_out(metric):
    columns, unit = items()
    by_unit, rows = clustered(metric, metric.statistics(*columns), unit)
    draws = np.concatenate(list(resamples(len(rows), 40, seed=0)))
    for found, weights in (
        (bootstrap(by_unit, rows, 40, seed=0), draws),
        (jackknife(by_unit, rows), 1 - np.eye(len(rows))),
        ([by_unit(rows)], np.ones((1, len(rows)))),
    ):
        expected = one_by_one(metric, columns, unit, weights)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in METRICS if metric(name).influence])
def test_an_influence_is_the_derivative_by_the_weight_of_a_unit(name):
    columns, unit = items()
    by_unit, rows = clustered(metric(name), metric(name).statistics(*columns), unit)
    step = 1e-6 * np.eye(len(rows))
    slope = (by_unit.score(rows, 1 + step) - by_unit.score(rows, 1 - step)) / 2e-6
    found = by_unit.influence(rows)
    np.testing.assert_allclose(found, slope, rtol=0, atol=1e-7)
    assert found.sum() == pytest.approx(0, abs=1e-12)


@over_metrics
@settings(max_examples=15)
@given(data=st.data())
def test_chosen_rows_are_the_items_of_these_units(metric, data):
    columns, unit = items(40, 8)
    by_unit, rows = clustered(metric, metric.statistics(*columns), unit)
    chosen = data.draw(st.lists(st.sampled_from(range(len(rows))), min_size=1, unique=True))
    inside = np.isin(unit, chosen)
    expected = metric(metric.statistics(*(column[inside] for column in columns)))
    found = by_unit(rows[chosen])
    assert found == (expected if expected is None else pytest.approx(expected, abs=1e-12))
    if expected is not None and metric.influence:
        assert by_unit.influence(rows[chosen]).shape == (len(chosen),)


def test_no_items_and_units_without_items():
    by_unit, rows = clustered(ACCURACY, np.empty((0, 1)), np.empty(0, np.intp))
    assert by_unit(rows) is None
    assert estimates([(by_unit, rows)], Intervals(10)) == ({"accuracy": None}, {"accuracy": None})
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
