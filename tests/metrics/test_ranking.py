"""Ranks against scipy, and groups of systems."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from shroom.metrics.rank_intervals import groups, rank_intervals, ranks

#: Few different scores, so that many are tied.
FEW = st.sampled_from([0.25, 0.5, 0.75, float("nan")])


@given(st.lists(st.tuples(FEW, FEW), min_size=1, max_size=12))
def test_ranks_are_scipys_and_the_other_score_breaks_ties(pairs):
    known = [tuple(-9 if np.isnan(value) else value for value in pair) for pair in pairs]
    expected = [1 + sum(other > own for other in known) for own in known]
    first, second = np.array(pairs).T
    assert ranks(first, second).tolist() == expected
    alone = rankdata(-np.nan_to_num(first, nan=-9), method="min")
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
