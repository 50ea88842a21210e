"""Rho and macro-F1 to the last digit, and what the table of metrics does not show."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sklearn

from shroom.metrics.aspect_metrics import of_aspect
from shroom.metrics.bootstrap import bootstrap, normal_interval, percentile_interval, resamples
from shroom.metrics.calibration import brier_score, log_loss
from shroom.metrics.classification import ACCURACY, accuracy, balanced_accuracy, macro_f1
from shroom.metrics.correlation import RHO, rho
from shroom.metrics.discrimination import auroc, average_precision
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


WEIGHTED = (accuracy, balanced_accuracy, macro_f1, brier_score, log_loss, auroc, average_precision)


@pytest.mark.parametrize("function", [rho, *WEIGHTED])
@given(pair=PAIRS, data=st.data())
def test_weights_of_functions_are_repetitions(function, pair, data):
    p, y = np.array(pair[0]) / 8, np.array(pair[1]) > 2
    label = p if function in (rho, *WEIGHTED[3:]) else p > 0.5
    n = len(p)
    weights = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    repeated = function(np.repeat(label, weights), np.repeat(y, weights))
    np.testing.assert_allclose(function(label, y, weights), repeated, rtol=0, atol=1e-12)


@given(PAIRS)
def test_macro_f1_is_scikit_learns_to_the_last_digit(pair):
    said, gold = np.array(pair[0]) > 4, np.array(pair[1]) > 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn divides nothing by 0 here either
        assert macro_f1(said, gold) == sklearn.f1_score(gold, said, average="macro")


@pytest.mark.parametrize("metric", [ACCURACY, RHO], ids=lambda metric: metric.name)
def test_where_one_pass_takes_over_the_intervals_agree(metric):
    generator = np.random.default_rng(6)
    gold_p = generator.integers(0, 6, 5001) / 5
    p = np.clip(gold_p + generator.normal(0, 0.8, 5001), 0, 1)
    statistics = metric.statistics(p > 0.5, p, gold_p > 0.5, gold_p)
    found = normal_interval(metric, statistics, metric(statistics))
    resampled = percentile_interval(bootstrap(metric, statistics, 2000))
    assert found == pytest.approx(resampled, abs=0.003)


@pytest.mark.parametrize("name", ["accuracy", "brier", "log_loss"])
def test_one_value_does_not_stand_for_all(name):
    one, many = np.ones(1), np.array([1.0, 0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"one shape, got \(1,\) and \(4,\)"):
        metric(name).statistics(one, one, many, many)


@pytest.mark.parametrize(("column", "aspect"), [(0, "factual"), (1, "fluency")])
def test_each_aspect_has_its_own_metrics(column, aspect):
    generator = np.random.default_rng(4)
    gold = (generator.random((60, 2)) < (0.8, 0.3)).astype(np.int8)
    said = np.where(generator.random((60, 2)) < 0.7, gold, 1 - gold)
    f1, share = (of_aspect(name, aspect, column) for name in ("f1", "accuracy"))
    assert (f1.name, share.name) == (f"{aspect}_f1", f"{aspect}_accuracy")
    sides = gold[:, column], said[:, column]
    assert share(share.statistics(said, None, gold, None)) == sklearn.accuracy_score(*sides)
    statistics = f1.statistics(said, None, gold, None)
    assert f1(statistics) == sklearn.f1_score(*sides, average="macro")
    drawn = np.concatenate(list(resamples(60, 40, seed=3))).astype(int)
    for value, weights in zip(bootstrap(f1, statistics, 40, seed=3), drawn):
        sides = (np.repeat(side[:, column], weights) for side in (gold, said))
        assert value == sklearn.f1_score(*sides, average="macro")
