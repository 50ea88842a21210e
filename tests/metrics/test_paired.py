"""Paired tests, ranks and groups of systems, against scipy and their definitions."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_up import drawn
from scipy import stats

from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO
from shroom.metrics.paired_tests import holm, mcnemar, randomisation
from shroom.metrics.rank_intervals import groups, rank_intervals, ranks


def test_a_score_that_is_undefined_has_no_p():
    label, p, gold_label, gold_p = drawn(20)
    rows = [RHO.statistics(label, own, gold_label, gold_p) for own in (p, p * 0, 1 - p)]
    found = randomisation(RHO, rows, [(0, 1), (1, 2), (0, 2)], 100)
    assert np.isnan(found).tolist() == [True, True, False]
    constant = [RHO.statistics(label, own, gold_label, gold_p * 0) for own in (p, 1 - p)]
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
@example((20_001, 9_871))
@example((100_000, 49_500))
def test_mcnemar_is_scipys_exact_test(counts):
    differing, here = counts
    first = np.arange(differing + 7) < here
    second = (np.arange(differing + 7) >= here) & (np.arange(differing + 7) < differing)
    p, *only = mcnemar(first, second)
    assert only == [here, differing - here]
    expected = stats.binomtest(here, differing).pvalue
    assert p == pytest.approx(expected, abs=1e-12, rel=1e-9)


def test_mcnemar_at_the_ends():
    right = np.ones(3000, bool)
    assert 0 < mcnemar(right, ~right)[0] < 1e-300
    assert mcnemar(right, right) == (1.0, 0, 0)


@given(st.lists(st.floats(0, 1), max_size=40))
def test_holm_is_its_definition_and_leaves_out_undefined_p(p):
    found = holm([float("nan"), *p, float("nan")])
    ordered = sorted(p)
    expected = [max((len(p) - j) * q for j, q in enumerate(ordered) if q <= own) for own in p]
    np.testing.assert_allclose(found[1:-1], np.minimum(expected, 1), rtol=0, atol=1e-12)
    assert np.isnan(found[[0, -1]]).all()


# ranks and groups

#: Few different scores, so that many are tied.
FEW = st.sampled_from([0.25, 0.5, 0.75, float("nan")])


@given(st.lists(st.tuples(FEW, FEW), min_size=1, max_size=12))
def test_a_rank_counts_the_better_and_the_other_score_breaks_ties(pairs):
    known = [tuple(-9 if np.isnan(value) else value for value in pair) for pair in pairs]
    expected = [1 + sum(other > own for other in known) for own in known]
    first, second = np.array(pairs).T
    assert ranks(first, second).tolist() == expected


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("count", [1, 7, 200])
def test_rank_intervals_hold_what_they_promise(count, confidence):
    scores, ties = np.random.default_rng(1).integers(0, 9, (2, count, 6)) / 9
    found = rank_intervals(scores, ties, confidence)
    every = ranks(scores, ties)
    np.testing.assert_array_equal(every, [ranks(a, b) for a, b in zip(scores, ties)])
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
