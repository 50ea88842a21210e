"""Accuracy and rho against scipy, to the last digit, and the intervals of both."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shroom.metrics.bootstrap import bootstrap, normal_interval, percentile_interval, resamples
from shroom.metrics.classification import ACCURACY, accuracy
from shroom.metrics.correlation import RHO, rho
from shroom.scoring.metric_registry import metric

PAIRS = st.integers(2, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 8), min_size=n, max_size=n),
        st.lists(st.integers(0, 5), min_size=n, max_size=n),
    )
)


def spearmanr(x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a constant
        return float(stats.spearmanr(x, y)[0])


@given(PAIRS)
def test_rho_is_scipys_to_the_last_digit(pair):
    x, y = np.array(pair[0]) / 7, np.array(pair[1]) / 5
    np.testing.assert_equal(rho(x, y), spearmanr(x, y))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_rho_on_any_floats(values, random):
    x = np.array(values)
    y = np.array(random.sample(values, len(values)))
    np.testing.assert_allclose(rho(x, y), spearmanr(x, y), rtol=0, atol=1e-12)


def test_rho_beyond_exact_sums_is_scipys_to_1e_12():
    generator = np.random.default_rng(0)
    x = generator.random(400_000)
    y = np.round(x + generator.normal(0, 1, len(x)), 1)
    assert rho(x, y) == pytest.approx(spearmanr(x, y), abs=1e-12)


@given(PAIRS, st.data())
def test_weights_are_repetitions(pair, data):
    x, y = np.array(pair[0]), np.array(pair[1])
    size = len(x)
    weights = np.array(data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)))
    repeated = rho(np.repeat(x, weights), np.repeat(y, weights))
    np.testing.assert_equal(rho(x, y, weights), repeated)
    np.testing.assert_equal(accuracy(x, y, weights), accuracy(*np.repeat((x, y), weights, axis=1)))


def test_chunks_do_not_change_the_draw(monkeypatch):
    whole = np.concatenate(list(resamples(7, 100)))
    monkeypatch.setattr("shroom.metrics.bootstrap.CHUNK", 20)
    np.testing.assert_array_equal(whole, np.concatenate(list(resamples(7, 100))))


@pytest.mark.parametrize("metric", [ACCURACY, RHO], ids=lambda metric: metric.name)
def test_where_one_pass_takes_over_the_intervals_agree(metric):
    generator = np.random.default_rng(6)
    gold_p = generator.integers(0, 6, 5001) / 5
    p = np.clip(gold_p + generator.normal(0, 0.8, 5001), 0, 1)
    statistics = metric.statistics(p > 0.5, p, gold_p > 0.5, gold_p)
    resampled = percentile_interval(bootstrap(metric, statistics, 2000))
    assert normal_interval(metric, statistics, metric(statistics)) == pytest.approx(
        resampled, abs=0.003
    )


@pytest.mark.parametrize("name", ["accuracy", "brier", "log_loss"])
def test_one_value_does_not_stand_for_all(name):
    one, many = np.ones(1), np.array([1.0, 0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"one shape, got \(1,\) and \(4,\)"):
        metric(name).statistics(one, one, many, many)
