"""The metrics of segments against scikit-learn, and their resampling by response."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from shroom.metrics.intervals import Intervals, estimates
from shroom.metrics.segment_metrics import (
    RESPONSE_METRICS,
    SEGMENT_AUROC,
    SEGMENT_METRICS,
    any_wrong,
    counts,
    scored,
)

NAMES = [metric.name for metric in (*SEGMENT_METRICS, *RESPONSE_METRICS, SEGMENT_AUROC)]


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


def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        counts(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="one shape"):
        scored(np.zeros(3), np.zeros(3), np.arange(3), 3, np.zeros(2))


def test_one_response_and_none_with_segments():
    found = scored(np.array([1, 0, 1]), np.array([1, 1, 0]), np.zeros(3, int), 1, np.arange(3))
    scores, intervals = estimates(found, Intervals(50))
    assert scores["segment_auroc"] == 0.0
    assert set(intervals.values()) == {None}
    assert any_wrong(np.array([True]), np.array([1]), 3).tolist() == [False, True, False]
    found = ours(np.zeros(0), np.zeros(0), np.zeros(0, np.intp), 2, np.zeros(0))
    assert {found[metric.name] for metric in (*SEGMENT_METRICS, SEGMENT_AUROC)} == {None}
