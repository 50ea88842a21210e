"""Paired tests, ranks and groups of systems, against scipy and statsmodels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.multitest import multipletests

from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO
from shroom.metrics.paired_tests import detectable_difference, holm, mcnemar, randomisation
from shroom.metrics.rank_intervals import groups, rank_intervals, ranks
from shroom.scoring.metric_registry import metric

N = 9
#: Four standard errors of a share, at most.
TRIALS, APART = 10_000, 4 * 0.5 / np.sqrt(10_000)


def named(each):
    return each.name


def world(n=N, seed=0, systems=2, noise=(0.4, 0.9)):
    """Return the gold's labels and p, and the systems' p: the later the poorer, with ties."""
    generator = np.random.default_rng(seed)
    gold_p = generator.integers(0, 6, n) / 5
    gold_p[:2] = 0.2, 0.8
    spread = np.linspace(*noise, systems)
    p = [np.round(np.clip(gold_p + generator.normal(0, s, n), 0, 1), 1) for s in spread]
    return gold_p > 0.5, gold_p, p


def rows_of(kind, gold_label, gold_p, p):
    return [kind.statistics(one > 0.5, one, gold_label, gold_p) for one in p]


def pearson(x, y):
    with np.errstate(invalid="ignore", divide="ignore"):
        dx, dy = x - x.mean(), y - y.mean()
        return (dx * dy).sum() / np.sqrt((dx * dx).sum() * (dy * dy).sum())


def outputs(name, gold_label, gold_p, p):
    """Return what is exchanged, and the score of it: written anew, one sample at a time."""
    truth = stats.rankdata(gold_p)
    if name == "accuracy":
        return (p > 0.5) == gold_label, np.mean
    return stats.rankdata(p), lambda ranks: pearson(ranks, truth)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["accuracy", "rho"])
def test_p_is_that_of_scipys_exact_permutation_test(name, seed):
    gold_label, gold_p, p = world(n=8, seed=10 + seed)
    (a, score), (b, _) = (outputs(name, gold_label, gold_p, one) for one in p)
    exact = stats.permutation_test(
        (a.astype(float), b.astype(float)),
        lambda x, y: score(x) - score(y),
        permutation_type="samples",
        vectorized=False,
        n_resamples=np.inf,
    )
    kind = metric(name)
    found = randomisation(kind, rows_of(kind, gold_label, gold_p, p), [(0, 1)], TRIALS)
    assert found[0] == pytest.approx(exact.pvalue, abs=APART)


@pytest.mark.parametrize("kind", [ACCURACY, metric("brier"), metric("ece")], ids=named)
def test_a_metric_without_sums_is_tested_by_its_rows(kind):
    gold_label, gold_p, p = world(40, systems=3)
    rows, pairs = rows_of(kind, gold_label, gold_p, p), [(0, 1), (2, 0), (1, 2)]
    slow = randomisation(replace(kind, exchange=None), rows, pairs, 300, seed=3)
    np.testing.assert_array_equal(slow, randomisation(kind, rows, pairs, 300, seed=3))


def test_a_score_that_is_undefined_has_no_p():
    gold_label, gold_p, p = world(20)
    rows = rows_of(RHO, gold_label, gold_p, [p[0], np.full(20, 0.5), p[1]])
    found = randomisation(RHO, rows, [(0, 1), (1, 2), (0, 2)], 100)
    assert np.isnan(found).tolist() == [True, True, False]
    constant = rows_of(RHO, gold_label, np.full(20, 0.4), p)
    assert np.isnan(randomisation(RHO, constant, [(0, 1)], 100)).all()


def test_p_is_never_0_and_ties_with_the_sample_count_against_a_difference():
    rows = [np.ones((60, 1)), np.zeros((60, 1))]
    assert randomisation(ACCURACY, rows, [(0, 1)], 99).tolist() == [1 / 100]
    # Whatever is exchanged, the one item on which they differ makes the same difference.
    for usual, odd in ((1.0, 0.0), (0.1, 0.3)):
        one, other = np.full((2, 12, 1), usual)
        other[4] = odd
        assert randomisation(ACCURACY, [one, other], [(0, 1)], 500).tolist() == [1.0]


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_mcnemar_is_scipys_and_statsmodels_exact_test(counts):
    differing, here = counts
    first = np.arange(differing + 7) < here
    second = (np.arange(differing + 7) >= here) & (np.arange(differing + 7) < differing)
    p, only_first, only_second = mcnemar(first, second)
    assert (only_first, only_second) == (here, differing - here)
    assert p == pytest.approx(stats.binomtest(here, differing).pvalue, abs=1e-12, rel=1e-9)
    theirs = their_mcnemar([[0, here], [differing - here, 7]], exact=True).pvalue
    assert p == pytest.approx(theirs, abs=1e-12, rel=1e-9)


def test_mcnemar_is_exact_for_many_items():
    for differing, here in ((20_001, 9_871), (100_000, 49_500), (1023, 400), (2, 1)):
        first = np.arange(differing) < here
        expected = stats.binomtest(here, differing).pvalue
        assert mcnemar(first, ~first)[0] == pytest.approx(expected, rel=1e-9)


def test_mcnemar_at_the_ends():
    right = np.ones(3000, bool)
    assert 0 < mcnemar(right, ~right)[0] < 1e-300
    assert mcnemar(right, right) == (1.0, 0, 0)


@settings(max_examples=20)  # one call of theirs takes 50 ms
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_holm_is_statsmodels_and_leaves_out_undefined_p(p):
    found = holm([float("nan"), *p, float("nan")])
    np.testing.assert_allclose(found[1:-1], multipletests(p, method="holm")[1], rtol=0, atol=1e-12)
    assert np.isnan(found[[0, -1]]).all()
    assert holm([]).tolist() == []


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_a_detectable_difference_is_detected_with_its_power(alpha, power):
    least = detectable_difference(0.02, alpha, power)
    limit = stats.norm.ppf(1 - alpha / 2)
    assert stats.norm.sf(limit - least / 0.02) == pytest.approx(power, abs=1e-12)
    assert detectable_difference(0.04, alpha, power) == pytest.approx(2 * least)


def test_items_of_a_unit_are_exchanged_together():
    """Two systems differ on five of twelve units, always the same way: p is 2 / 2**5."""
    unit = np.repeat(np.arange(12), 6)
    one = (unit >= 5).astype(float)[:, None]
    other = np.ones((72, 1))
    (by_unit,) = randomisation(ACCURACY, [one, other], [(0, 1)], TRIALS, unit=unit)
    assert by_unit == pytest.approx(2 / 2**5, abs=APART)
    (by_item,) = randomisation(ACCURACY, [one, other], [(0, 1)], TRIALS)
    assert by_item < 0.001
    rows = [RHO.statistics(side[:, 0], side[:, 0] + unit % 3, unit, unit) for side in (one, other)]
    (by_weights,) = randomisation(
        replace(RHO, exchange=None), rows, [(0, 1)], 999, unit=np.arange(72)
    )
    (plain,) = randomisation(replace(RHO, exchange=None), rows, [(0, 1)], 999)
    assert by_weights == plain


# ranks and groups

#: Few different scores, so that many are tied.
FEW = st.sampled_from([0.25, 0.5, 0.75, float("nan")])


@given(st.lists(st.tuples(FEW, FEW), min_size=1, max_size=12))
def test_ranks_are_scipys_and_the_other_score_breaks_ties(pairs):
    known = [tuple(-9 if np.isnan(value) else value for value in pair) for pair in pairs]
    expected = [1 + sum(other > own for other in known) for own in known]
    first, second = np.array(pairs).T
    assert ranks(first, second).tolist() == expected
    alone = stats.rankdata(-np.nan_to_num(first, nan=-9), method="min")
    np.testing.assert_array_equal(ranks(first, np.zeros(len(first))), alone)


def test_ranks_of_many_resamples_are_each_as_one():
    scores, ties = np.random.default_rng(0).integers(0, 4, (2, 50, 7)) / 4
    found = ranks(scores, ties)
    np.testing.assert_array_equal(found, [ranks(a, b) for a, b in zip(scores, ties)])


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("count", [1, 7, 200])
def test_rank_intervals_hold_what_they_promise(count, confidence, monkeypatch):
    monkeypatch.setattr("shroom.metrics.rank_intervals._CHUNK", 30)  # in many parts
    scores, ties = np.random.default_rng(1).integers(0, 9, (2, count, 6)) / 9
    found = rank_intervals(scores, ties, confidence)
    every = ranks(scores, ties)
    for (low, high), own in zip(found, every.T):
        assert np.mean((low <= own) & (own <= high)) >= confidence
        # Not wider than it need be: no more than half the rest lies on either side beyond it.
        assert np.mean(own < low) <= (1 - confidence) / 2 + 1e-12
        assert np.mean(own > high) <= (1 - confidence) / 2 + 1e-12
        assert {low, high} <= set(own.tolist())


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([], [1, 1, 1, 1]),
        ([(0, 1), (1, 2), (2, 3)], [1, 2, 3, 4]),
        ([(0, 3)], [1, 1, 1, 2]),
        ([(0, 2), (0, 3)], [1, 1, 2, 2]),
        ([(0, 2), (0, 3), (2, 3)], [1, 1, 2, 3]),
        # A difference between two that both are like the first does not part them.
        ([(1, 3)], [1, 1, 1, 1]),
    ],
)
def test_groups(apart, expected):
    p = np.ones((4, 4))
    for a, b in apart:
        p[a, b] = p[b, a] = 0.05
    assert groups(p).tolist() == expected
    assert groups(p, alpha=0.04).tolist() == [1, 1, 1, 1]
