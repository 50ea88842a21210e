"""Means of labels with the help of predictions, against independent formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shroom.metrics.prediction_powered import (
    estimate_mean,
    labels_for_half,
    prediction_powered_mean,
)


def case(n, m, seed=0):
    """Return labels and predictions of n items, and predictions of m others."""
    generator = np.random.default_rng(seed)
    latent = generator.normal(size=n + m)
    y = (latent + generator.normal(size=n + m) > 0).astype(float)
    p = 1 / (1 + np.exp(-latent))
    return y[:n], p[:n], p[n:]


#: By ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3, which divides by n, not n - 1.
RECORDED = {
    (100, 1000): (0.5325396, 0.45530003, 0.60977916),
    (500, 1500): (0.51844447, 0.48151203, 0.55537692),
    (40, 60): (0.45109354, 0.3185559, 0.58363117),
}


def test_the_estimate_is_that_of_ppi_python():
    generator = np.random.default_rng(0)
    for (n, m), (mean, low, high) in RECORDED.items():
        latent = generator.normal(size=n + m)
        y = (latent + generator.normal(size=n + m) > 0).astype(float)
        p = 1 / (1 + np.exp(-latent))
        estimate = prediction_powered_mean(y[:n], p[:n], p[n:])
        assert estimate.mean == pytest.approx(mean, abs=5e-5)
        half = (high - low) / 2 * math.sqrt(n / (n - 1))
        assert estimate.interval == pytest.approx((mean - half, mean + half), abs=5e-4)


def test_useless_predictions_leave_the_labels():
    y, _, unlabelled = case(200, 2000)
    constant = prediction_powered_mean(y, np.full(200, 0.3), np.full(2000, 0.3))
    assert constant == estimate_mean(y)
    reversed_ = prediction_powered_mean(y, 1 - y, 1 - unlabelled)
    assert reversed_.mean == pytest.approx(y.mean())


def test_good_predictions_shorten_the_interval():
    y, p, unlabelled = case(200, 20_000)
    alone, powered = estimate_mean(y), prediction_powered_mean(y, p, unlabelled)
    assert powered.standard_error < 0.9 * alone.standard_error


def test_the_interval_stays_within_0_and_1():
    estimate = estimate_mean(np.array([1.0] * 30 + [0.0]))
    assert 0 <= estimate.interval[0] < estimate.mean < estimate.interval[1] <= 1


@given(st.integers(0, 1000), st.integers(30, 300), st.integers(30, 3000))
def test_so_many_labels_halve_the_interval_and_one_fewer_does_not(seed, n, m):
    y, p, _ = case(n, m, seed)
    share = max(np.corrcoef(y, p)[0, 1], 0) ** 2

    def variance(labels):
        return (1 - share * m / (labels + m)) / labels

    needed = labels_for_half(y, p, m)
    assert variance(needed) <= variance(n) / 4 * (1 + 1e-6)
    assert variance(needed - 1) > variance(n) / 4 * (1 - 1e-6)
