"""Calibration and thresholds against scikit-learn and their definitions."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn import calibration as sklearn_calibration

from shroom.metrics.accuracy_by_threshold import accuracy_by_threshold
from shroom.metrics.calibration import brier_decomposition, brier_score, log_loss
from shroom.metrics.discrimination import auroc, average_precision
from shroom.metrics.reliability import (
    expected_calibration_error,
    maximum_calibration_error,
    reliability,
)

#: p with many ties and on the edges of bins, beside p that is anything.
P = st.one_of(st.integers(0, 20).map(lambda k: k / 20), st.floats(0, 1))
ITEMS = st.lists(st.tuples(P, st.integers(0, 5).map(lambda k: k / 5)), min_size=1, max_size=60)


def columns(items):
    p, y = np.array(items).T
    return p, y, (y > 0.5).astype(np.int8)


@given(ITEMS)
def test_proportions_are_votes(items):
    p, y, _ = columns(items)
    votes = np.concatenate([np.arange(5) < round(5 * share) for share in y])
    assert log_loss(p, y) == pytest.approx(log_loss(np.repeat(p, 5), votes), abs=1e-12)
    own = np.mean(y * (1 - y))
    each = brier_score(np.repeat(p, 5), votes)
    assert brier_score(p, y) + own == pytest.approx(each, abs=1e-12)


@given(ITEMS, st.integers(1, 12), st.sampled_from(["width", "mass"]))
def test_reliability_is_scikit_learns(items, bins, by):
    p, _, label = columns(items)
    strategy = {"width": "uniform", "mass": "quantile"}[by]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one class
        share, mean_p = sklearn_calibration.calibration_curve(
            label == 1, p, n_bins=bins, strategy=strategy, pos_label=True
        )
    found = reliability(p, label, bins, by)
    filled = found.n > 0
    np.testing.assert_allclose(found.share[filled], share, atol=1e-12)
    np.testing.assert_allclose(found.mean_p[filled], mean_p, atol=1e-12)
    assert np.isnan(found.mean_p[~filled]).all()
    assert found.n.sum() == len(p)
    gaps = np.abs(share - mean_p)
    expected = np.sum(gaps * found.n[filled]) / len(p)
    assert expected_calibration_error(p, label, bins, by) == pytest.approx(expected, abs=1e-12)
    assert maximum_calibration_error(p, label, bins, by) == pytest.approx(gaps.max(), abs=1e-12)


@given(ITEMS, st.sampled_from([None, 1, 3, 10]), st.sampled_from(["width", "mass"]))
def test_the_decomposition_adds_up(items, bins, by):
    p, y, label = columns(items)
    for truth in (label, y):
        found = brier_decomposition(p, truth, bins, by)
        total = found.reliability - found.resolution + found.uncertainty + found.within_bins
        assert total == pytest.approx(found.score, abs=1e-12)
        assert found.score == brier_score(p, truth)
        if bins is None:
            assert found.within_bins == 0
    share = label.mean()
    found = brier_decomposition(p, label, bins, by)
    assert found.uncertainty == pytest.approx(share * (1 - share), abs=1e-12)


def test_no_items():
    empty = np.zeros(0)
    assert np.isnan(maximum_calibration_error(empty, empty, by="mass"))
    assert np.isnan(brier_decomposition(empty, empty).score)
    assert reliability(empty, empty).n.tolist() == [0] * 10
    found = accuracy_by_threshold(empty, empty)
    assert np.isnan(found.at(0.5))
    assert found.best_threshold == 0.5


@pytest.mark.parametrize("by", ["width", "mass"])
def test_p_of_0_and_1_lie_in_the_first_and_the_last_bin(by):
    beyond = 1.0000000000000002  # by rounding
    p = np.array([0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 1.0, beyond])
    found = reliability(p, p > 0.5, 4, by)
    assert found.n.sum() == len(p)
    assert found.n[0] >= 1
    assert found.n[-1] == 3 - (by == "mass")
    assert log_loss(np.array([beyond]), np.array([1])) == pytest.approx(0, abs=1e-15)


def test_wrong_labels_and_bins_are_refused():
    p = np.array([0.2, 1.0])
    for score in (auroc, average_precision, accuracy_by_threshold):
        with pytest.raises(ValueError, match="each 0 or 1"):
            score(p, p)
    with pytest.raises(ValueError, match="at least 1"):
        reliability(p, p, 0)
    with pytest.raises(ValueError, match='"width" or "mass"'):
        reliability(p, p, 3, "size")


# Thresholds


@given(ITEMS)
@example([(1.0, 0.6), (0.9999999999999999, 0.0)])
@example([(0.2, 0.0), (1.0000000000000002, 0.0)])  # of one class, and beyond 1 by rounding
@example([(0.1, 0.0), (0.3, 0.0), (0.7, 1.0), (0.9, 1.0)])  # 0.5 is as good as any
@example([(0.2, 1.0), (0.4, 0.0), (0.6, 1.0)])  # another that is as good is farther from 0.5
def test_accuracy_by_threshold_is_the_accuracy_everywhere(items):
    p, _, label = columns(items)
    found = accuracy_by_threshold(p, label)
    starts, ends = found.thresholds, np.append(found.thresholds[1:], 1.0)
    middles = starts + (ends - starts) / 2
    for threshold in (*starts, *middles, 0.5, 1.0):
        assert found.at(threshold) == np.mean((np.minimum(p, 1) > threshold) == label)
    best = found.accuracies == found.accuracies.max()
    away = np.maximum(starts - 0.5, 0.5 - ends).clip(0)[best]
    start, end = found.best
    assert max(start - 0.5, 0.5 - end, 0) == away.min()
    is_best = found.at(0.5) == found.accuracies.max()
    assert found.best_threshold == pytest.approx(0.5 if is_best else (start + end) / 2)
    assert found.at(found.best_threshold) == found.accuracies.max()
    assert starts.max() <= 1
