"""Bootstrap intervals against scipy, against their definition, and on data of known truth."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_up import latent
from scipy import stats

from shroom.metrics.base import mean_of
from shroom.metrics.bootstrap import (
    bca_interval,
    bootstrap,
    chunks,
    jackknife,
    joint_bootstrap,
    normal_interval,
    percentile_interval,
    resamples,
)
from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO

VALUE = mean_of("value", lambda *given: given[1], (0.0, 1.0))
SCORES = arrays(np.float64, st.integers(1, 60), elements=st.floats(-5, 5))
CONFIDENCES = [0.5, 0.8, 0.9, 0.95, 0.99]


def columns(n=40, seed=0):
    generator = np.random.default_rng(seed)
    gold_p = generator.integers(0, 6, n) / 5
    p = np.round(np.clip(gold_p + generator.normal(0, 0.5, n), 0, 1), 2)
    return p > 0.5, p, gold_p > 0.5, gold_p


def named(each):
    return each.name


@given(SCORES, st.floats(0.01, 0.99))
def test_percentiles_are_numpys(scores, confidence):
    expected = np.quantile(scores, [(1 - confidence) / 2, (1 + confidence) / 2])
    np.testing.assert_allclose(percentile_interval(scores, confidence), expected, atol=1e-12)


def test_undefined_resamples_do_not_count():
    scores = np.array([np.nan, 0.1, 0.2, np.nan, 0.3])
    assert percentile_interval(scores, 0.5) == percentile_interval(scores[[1, 2, 4]], 0.5)
    assert percentile_interval(np.full(4, np.nan)) is None
    assert bca_interval(np.full(4, np.nan), 0.5, np.zeros(3)) is None
    left_out = np.array([0.1, np.nan, 0.3])
    assert bca_interval(scores, 0.2, left_out) == bca_interval(scores, 0.2, left_out[[0, 2]])


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("kind", [ACCURACY, RHO, VALUE], ids=named)
def test_bca_on_scipys_resamples_is_scipys_to_1e_12(kind, confidence):
    label, p, gold_label, gold_p = columns(50, seed=3)
    statistic = {
        "accuracy": lambda i, axis=-1: np.mean((label == gold_label)[i], axis=axis),
        "value": lambda i, axis=-1: np.mean(p[i], axis=axis),
        "rho": lambda i: stats.spearmanr(p[i], gold_p[i])[0],
    }[kind.name]
    theirs = stats.bootstrap(
        (np.arange(50),),
        statistic,
        vectorized=kind is not RHO,
        n_resamples=300,
        confidence_level=confidence,
        method="BCa",
        random_state=np.random.default_rng(0),
    )
    rows = kind.statistics(label, p, gold_label, gold_p)
    ours = bca_interval(
        theirs.bootstrap_distribution, kind(rows), jackknife(kind, rows), confidence
    )
    np.testing.assert_allclose(ours, theirs.confidence_interval, rtol=0, atol=1e-12)


@given(
    SCORES,
    st.floats(-5, 5),
    arrays(np.float64, st.integers(1, 20), elements=st.floats(-5, 5)),
    st.floats(0.001, 0.999),
)
@example(np.zeros(1), 0.0, np.full(3, 9.9e-136), 0.5)
def test_bca_is_an_interval_among_the_scores(scores, value, left_out, confidence):
    low, high = bca_interval(scores, value, left_out, confidence)
    assert scores.min() <= low <= high <= scores.max()


@pytest.mark.parametrize("kind", [ACCURACY, RHO], ids=named)
def test_the_greatest_confidence_there_is(kind):
    almost_one = float(np.nextafter(1, 0))
    rows = kind.statistics(*columns())
    value, drawn = kind(rows), bootstrap(kind, rows, 200)
    ends = drawn.min(), drawn.max()
    assert percentile_interval(drawn, almost_one) == pytest.approx(ends)
    assert bca_interval(drawn, value, jackknife(kind, rows), almost_one) == pytest.approx(ends)
    low, high = normal_interval(kind, rows, value, almost_one)
    assert kind.bounds[0] <= low < value < high <= kind.bounds[1]


def test_a_resample_draws_all_items_with_replacement():
    n, count = 20, 4000
    weights = np.concatenate(list(resamples(n, count)))
    assert weights.shape == (count, n)
    assert (weights.sum(axis=1) == n).all()
    # A multinomial: the variance of a weight is 1 - 1/n, its covariance with another -1/n.
    covariance = np.cov(weights.T)
    np.testing.assert_allclose(np.diag(covariance), 1 - 1 / n, atol=0.15)
    np.testing.assert_allclose(covariance[~np.eye(n, dtype=bool)], -1 / n, atol=0.1)


@given(st.integers(1, 5000), st.integers(0, 3000))
def test_chunks_add_up(n, count):
    sizes = list(chunks(n, count))
    assert sum(sizes) == count
    assert all(size * n <= max(n, 1 << 16) for size in sizes)


def test_chunks_do_not_change_the_draw(monkeypatch):
    whole = np.concatenate(list(resamples(7, 100)))
    monkeypatch.setattr("shroom.metrics.bootstrap.CHUNK", 20)
    np.testing.assert_array_equal(whole, np.concatenate(list(resamples(7, 100))))


@pytest.mark.parametrize("kind", [ACCURACY, RHO], ids=named)
def test_intervals_cover(kind):
    """Of 200 intervals about 190 hold the truth; 12 more or fewer are four standard errors.

    An interval that is too narrow by the root of the number of resamples holds it in a few cases
    only; one of a difference that forgets the pairing, in nearly all.
    """
    sets, n = 200, 300
    r = [latent.correlation_for(kind.name, value) for value in (0.65, 0.68)]
    true = np.array([0.65, 0.65 - 0.68])
    held = {"percentile": np.zeros(2), "bca": np.zeros(2)}
    for seed in range(sets):
        u, seen = latent.draw(n, r, np.random.default_rng(1000 + seed), shared=0.9)
        rows = [latent.statistics(kind, u, z) for z in seen]
        one, other = joint_bootstrap([(kind, part) for part in rows], 200, seed)
        gone, also = (jackknife(kind, part) for part in rows)
        value, second = (kind(part) for part in rows)
        cases = ((one, value, gone), (one - other, value - second, gone - also))
        for place, (drawn, estimate, left_out) in enumerate(cases):
            for method, ci in (
                ("percentile", percentile_interval(drawn)),
                ("bca", bca_interval(drawn, estimate, left_out)),
            ):
                held[method][place] += ci[0] - 1e-9 <= true[place] <= ci[1] + 1e-9
    for found in held.values():
        assert (found >= 178).all(), held
        assert (found <= 198).all(), held
