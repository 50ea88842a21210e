"""Means of labels with the help of predictions, against independent formulas."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from shroom.metrics.prediction_powered import labels_for_half, prediction_powered_mean


def case(n, m, generator):
    """Return labels and predictions of n items, and predictions of m others."""
    latent = generator.normal(size=n + m)
    y = (latent + generator.normal(size=n + m) > 0).astype(float)
    p = 1 / (1 + np.exp(-latent))
    return y[:n], p[:n], p[n:]


def of_labels(y, confidence=0.95):
    """Return the estimate if the predictions are useless."""
    return prediction_powered_mean(y, np.zeros(len(y)), np.zeros(1), confidence)


#: By ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3, which divides by n, not n - 1.
RECORDED = {
    (100, 1000): (0.5325396, 0.45530003, 0.60977916),
    (500, 1500): (0.51844447, 0.48151203, 0.55537692),
    (40, 60): (0.45109354, 0.3185559, 0.58363117),
}


def test_the_estimate_is_that_of_ppi_python():
    generator = np.random.default_rng(0)
    for (n, m), (mean, low, high) in RECORDED.items():
        y, p, unlabelled = case(n, m, generator)
        estimate = prediction_powered_mean(y, p, unlabelled)
        assert estimate.mean == pytest.approx(mean, abs=5e-5)
        # Theirs is a normal interval, so its half is z times the standard error.
        error = (high - low) / 2 / 1.959964 * math.sqrt(n / (n - 1))
        labels = y.mean() * (1 - y.mean()) / error**2
        assert estimate.effective_labels == pytest.approx(labels, rel=2e-3)


@pytest.mark.parametrize(("ones", "n", "confidence"), [(0, 40, 0.9), (7, 50, 0.95), (99, 99, 0.8)])
def test_the_interval_of_labels_is_that_of_scipy(ones, n, confidence):
    theirs = binomtest(ones, n).proportion_ci(confidence, method="wilson")
    ours = of_labels(np.repeat([1.0, 0.0], [ones, n - ones]), confidence).interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-11)


def test_useless_predictions_leave_the_labels_and_good_ones_shorten_the_interval():
    y, p, unlabelled = case(200, 20_000, np.random.default_rng(0))
    constant = prediction_powered_mean(y, np.full(200, 0.3), np.full(2000, 0.3))
    assert constant == of_labels(y)
    reversed_ = prediction_powered_mean(y, 1 - y, 1 - unlabelled)
    assert reversed_.mean == pytest.approx(y.mean())
    assert prediction_powered_mean(y, p, unlabelled).effective_labels > 1.25 * len(y)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_interval_does_not_collapse_without_events(value):
    _, p, unlabelled = case(40, 2000, np.random.default_rng(0))
    y = np.full(40, value)
    assert prediction_powered_mean(y, p, unlabelled) == of_labels(y)
    # A detector that happens to be right on all labels makes no difference, either.
    assert prediction_powered_mean(y, y, unlabelled) == of_labels(y)


def test_few_events_do_not_show_that_a_detector_is_right():
    y = np.repeat([1.0, 0.0], [3, 47])
    estimate = prediction_powered_mean(y, y, np.repeat([1.0, 0.0], [120, 1880]))
    assert 50 < estimate.effective_labels <= 50 * (1 + 3 / 5)


def test_strata_have_the_weights_that_they_have_among_the_items_without_labels():
    y, strata = np.repeat([1.0, 0.0, 1.0, 0.0], [80, 20, 10, 90]), np.repeat(["a", "b"], 100)
    p, others = np.full(200, 0.5), np.repeat(["a", "b"], [100, 900])
    estimate = prediction_powered_mean(y, p, np.full(1000, 0.5), strata=(strata, others))
    assert estimate.mean == pytest.approx(0.1 * 0.8 + 0.9 * 0.1)
    variance = (0.1**2 * 0.8 * 0.2 + 0.9**2 * 0.1 * 0.9) / 99
    assert estimate.effective_labels == pytest.approx(
        max(0.17 * 0.83 / variance, 100 / (0.1**2 + 0.9**2))
    )
    alike = strata, np.repeat(["a", "b"], 500)
    proportional = prediction_powered_mean(y, p, np.full(1000, 0.5), strata=alike)
    assert proportional.mean == pytest.approx(of_labels(y).mean)


@pytest.mark.parametrize("labels", [(188, 188, 2), (100, 100, 3), (100, 100, 5), (26, 2, 2)])
def test_a_few_equal_labels_of_a_stratum_do_not_make_it_certain(labels):
    generator = np.random.default_rng(0)
    rates, others = np.array([0.47, 0.48, 0.21]), np.array([188, 188, 125])
    strata = tuple(np.repeat(np.arange(3), counts) for counts in (labels, others))
    truth, held = np.average(rates, weights=others), 0
    for _ in range(400):
        y, unseen = (np.float64(generator.random(len(it)) < rates[it]) for it in strata)
        p, q = (0.4 + 0.2 * it + generator.normal(0, 0.1, len(it)) for it in (y, unseen))
        low, high = prediction_powered_mean(y, p.clip(0, 1), q.clip(0, 1), strata=strata).interval
        held += low <= truth <= high
    assert held / 400 >= 0.92


@given(st.integers(0, 1000), st.integers(30, 300), st.integers(30, 3000))
def test_so_many_labels_halve_the_interval_and_one_fewer_does_not(seed, n, m):
    y, p, _ = case(n, m, np.random.default_rng(seed))
    share = max(np.corrcoef(y, p)[0, 1], 0) ** 2

    def variance(labels):
        return (1 - share * m / (labels + m)) / labels

    needed = labels_for_half(y, p, m)
    assert needed <= m
    assume(needed < m)
    assert variance(needed) <= variance(n) / 4 * (1 + 1e-6)
    assert variance(needed - 1) > variance(n) / 4 * (1 - 1e-6)
