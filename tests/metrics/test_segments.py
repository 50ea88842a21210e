"""The metrics of segments against scikit-learn, and their resampling by response."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from shroom.metrics.bootstrap import jackknife
from shroom.metrics.discrimination import auroc
from shroom.metrics.intervals import Intervals, estimates
from shroom.metrics.segment_metrics import (
    RESPONSE_METRICS,
    SEGMENT_AUROC,
    SEGMENT_METRICS,
    any_wrong,
    counts,
    scored,
)

EVERY = (*SEGMENT_METRICS, *RESPONSE_METRICS, SEGMENT_AUROC)
NAMES = [metric.name for metric in EVERY]


def balanced(meant, said):
    return sk.balanced_accuracy_score(meant, said) if len(set(meant)) == 2 else np.nan


def oracle(flagged, wrong, response, n, p):
    """Return all scores by scikit-learn, of pooled segments and of responses in a plain loop."""
    flagged, wrong = np.asarray(flagged, bool), np.asarray(wrong, bool)
    said = np.array([flagged[response == r].any() for r in range(n)])
    meant = np.array([wrong[response == r].any() for r in range(n)])
    arguments = {"zero_division": np.nan}
    return {
        "segment_f1": sk.f1_score(wrong, flagged, **arguments),
        "segment_precision": sk.precision_score(wrong, flagged, **arguments),
        "segment_recall": sk.recall_score(wrong, flagged, **arguments),
        "segment_specificity": sk.recall_score(wrong, flagged, pos_label=0, **arguments),
        "segment_balanced_accuracy": balanced(wrong, flagged),
        "response_f1": sk.f1_score(meant, said, **arguments),
        "response_balanced_accuracy": balanced(meant, said),
        "segment_auroc": sk.roc_auc_score(wrong, p) if len(set(wrong)) == 2 else np.nan,
    }


def ours(flagged, wrong, response, n, p):
    found = scored(flagged, wrong, response, n, p)
    return {metric.name: metric(statistics) for metric, statistics in found}


def made_up(m=200, n=40, seed=0):
    """Return m segments of n responses, each with one at least: flagged, wrong, response, n, p."""
    generator = np.random.default_rng(seed)
    response = np.sort(np.concatenate((np.arange(n), generator.integers(0, n, m - n))))
    wrong = generator.random(m) < 0.25
    p = np.round(np.clip(0.2 * wrong + 0.8 * generator.random(m), 0, 1), 1)
    return p > 0.5, wrong, response, n, p


CASES = st.integers(1, 40).flatmap(
    lambda m: st.tuples(
        st.lists(st.booleans(), min_size=m, max_size=m),
        st.lists(st.booleans(), min_size=m, max_size=m),
        st.lists(st.integers(0, 7), min_size=m, max_size=m),
        st.lists(st.integers(0, 4), min_size=m, max_size=m),
    )
)


@given(CASES)
def test_all_scores_are_scikit_learns(case):
    flagged, wrong, response, p = map(np.array, case)
    n = 8  # some responses may have no segments
    expected = oracle(flagged, wrong, response, n, p / 4)
    found = ours(flagged, wrong, response, n, p / 4)
    assert list(found) == NAMES
    for name, value in expected.items():
        assert found[name] == (None if np.isnan(value) else pytest.approx(value, abs=1e-12)), name


@given(CASES, st.data())
def test_a_weight_is_so_many_copies_of_a_response(case, data):
    flagged, wrong, response, p = map(np.array, case)
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=8, max_size=8)))
    parts = [np.flatnonzero(response == r) for r in np.repeat(np.arange(8), weights)]
    rows = np.concatenate([*parts, np.zeros(0, np.intp)]).astype(np.intp)
    copies = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    again = scored(flagged[rows], wrong[rows], copies, len(parts), p[rows])
    for (metric, statistics), (alike, repeated) in zip(
        scored(flagged, wrong, response, 8, p), again
    ):
        once = metric.score(statistics, weights[None, :].astype(float))
        twice = alike.score(repeated, np.ones((1, len(parts))))
        np.testing.assert_allclose(once, twice, rtol=0, atol=1e-12, err_msg=metric.name)


def test_a_rising_function_of_p_leaves_auroc_as_it_is():
    _, wrong, response, n, p = made_up()
    value, risen, fallen = (
        ours(wrong, wrong, response, n, of)["segment_auroc"] for of in (p, np.exp(7 * p) - 3, -p)
    )
    assert value == risen == auroc(p, wrong)
    assert value == pytest.approx(1 - fallen, abs=1e-12)


@pytest.mark.parametrize("metric", EVERY, ids=NAMES)
def test_a_metric_has_statistics_of_lone_segments(metric):
    flagged, wrong, _, _, p = made_up()
    statistics = metric.statistics(flagged, p, wrong, wrong.astype(float))
    expected = oracle(flagged, wrong, np.arange(len(p)), len(p), p)[metric.name]
    assert metric(statistics) == pytest.approx(expected, abs=1e-12)
    assert len(jackknife(metric, statistics)) == len(p)


def test_one_response_has_scores_and_no_intervals():
    one = np.zeros(3, np.intp)
    found = scored(np.array([1, 0, 1]), np.array([1, 1, 0]), one, 1, np.array([0.9, 0.1, 0.6]))
    scores, intervals = estimates(found, Intervals(50))
    assert scores["segment_auroc"] == 0.5
    assert set(intervals.values()) == {None}


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        counts(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="one shape"):
        scored(np.zeros(3), np.zeros(3), np.arange(3), 3, np.zeros(2))


def test_a_response_without_segments_is_not_wrong():
    assert any_wrong(np.array([True]), np.array([1]), 3).tolist() == [False, True, False]
    assert any_wrong(np.zeros(0), np.zeros(0, np.intp), 2).tolist() == [False, False]


def test_without_segments_nothing_is_defined():
    found = ours(np.zeros(0), np.zeros(0), np.zeros(0, np.intp), 2, np.zeros(0))
    assert {found[metric.name] for metric in (*SEGMENT_METRICS, SEGMENT_AUROC)} == {None}
