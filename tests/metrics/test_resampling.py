"""Bootstrap intervals against scipy, against their definition, and on data of known truth."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from made_up import drawn, latent
from scipy import stats

from shroom.metrics.bootstrap import (
    bca_interval,
    bootstrap,
    jackknife,
    joint_bootstrap,
    normal_interval,
    percentile_interval,
    resamples,
)
from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO

SCORES = arrays(np.float64, st.integers(1, 60), elements=st.floats(-5, 5) | st.just(np.nan))
over_kinds = pytest.mark.parametrize("kind", [ACCURACY, RHO], ids=["accuracy", "rho"])


@given(SCORES, st.floats(0.01, 0.99))
def test_percentiles_are_numpys_of_defined_scores(scores, confidence):
    found, defined = percentile_interval(scores, confidence), scores[~np.isnan(scores)]
    if not len(defined):
        assert found is None
        return
    expected = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99])
@over_kinds
def test_bca_on_scipys_resamples_is_scipys_to_1e_12(kind, confidence):
    label, p, gold_label, gold_p = drawn(50, seed=3)
    statistic = {
        "accuracy": lambda i, axis=-1: np.mean((label == gold_label)[i], axis=axis),
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


@given(SCORES, st.floats(-5, 5), SCORES, st.floats(0.001, 0.999))
@example(np.zeros(1), 0.0, np.full(3, 9.9e-136), 0.5)
def test_bca_is_an_interval_among_the_defined_scores(scores, value, left_out, confidence):
    found, defined = bca_interval(scores, value, left_out, confidence), scores[~np.isnan(scores)]
    if not len(defined):
        assert found is None
        return
    assert defined.min() <= found[0] <= found[1] <= defined.max()
    assert found == bca_interval(defined, value, left_out[~np.isnan(left_out)], confidence)


@over_kinds
def test_the_greatest_confidence_there_is(kind):
    almost_one = float(np.nextafter(1, 0))
    rows = kind.statistics(*drawn(40))
    value, scores = kind(rows), bootstrap(kind, rows, 200)
    ends = scores.min(), scores.max()
    assert percentile_interval(scores, almost_one) == pytest.approx(ends)
    assert bca_interval(scores, value, jackknife(kind, rows), almost_one) == pytest.approx(ends)
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


def test_chunks_do_not_change_the_draw(monkeypatch):
    whole = np.concatenate(list(resamples(7, 100)))
    monkeypatch.setattr("shroom.metrics.bootstrap.CHUNK", 20)
    np.testing.assert_array_equal(whole, np.concatenate(list(resamples(7, 100))))


@over_kinds
def test_intervals_cover(kind):
    """Of 200 intervals about 190 hold the truth; 12 more or fewer are four standard errors.
    An interval that is too narrow by the root of the number of resamples holds it in a few cases
    only; one of a difference that forgets the pairing, in nearly all.
    """
    sets, n = 200, 300
    r = [latent.correlation_for(kind.name, value) for value in (0.65, 0.68)]
    true = np.array([0.65, 0.65 - 0.68])
    held = np.zeros((2, 2))
    for seed in range(sets):
        u, seen = latent.draw(n, r, np.random.default_rng(1000 + seed), shared=0.9)
        rows = [latent.statistics(kind, u, z) for z in seen]
        one, other = joint_bootstrap([(kind, part) for part in rows], 200, seed)
        gone, also = (jackknife(kind, part) for part in rows)
        value, second = (kind(part) for part in rows)
        cases = ((one, value, gone), (one - other, value - second, gone - also))
        for place, (scores, estimate, left_out) in enumerate(cases):
            intervals = percentile_interval(scores), bca_interval(scores, estimate, left_out)
            held[place] += [low - 1e-9 <= true[place] <= high + 1e-9 for low, high in intervals]
    assert ((held >= 178) & (held <= 198)).all(), held


@over_kinds
def test_where_one_pass_takes_over_the_intervals_agree(kind):
    statistics = kind.statistics(*drawn(5001))
    found = normal_interval(kind, statistics, kind(statistics))
    resampled = percentile_interval(bootstrap(kind, statistics, 2000))
    assert found == pytest.approx(resampled, abs=0.003)
