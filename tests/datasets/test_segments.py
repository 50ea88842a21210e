"""The metrics of segments against scikit-learn, pooled and by response."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from shroom.datasets.felm_scores import scored
from shroom.metrics.intervals import Intervals, estimates


def balanced(meant, said):
    return sk.balanced_accuracy_score(meant, said) if len(set(meant)) == 2 else np.nan


def oracle(flagged, wrong, response, n, p):
    """Return all scores by scikit-learn, of pooled segments and of responses in a plain loop."""
    said = [any(flagged[response == r]) for r in range(n)]
    meant = [any(wrong[response == r]) for r in range(n)]
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


SEGMENTS = st.tuples(st.booleans(), st.booleans(), st.integers(0, 7), st.sampled_from([0, 0.3, 1]))


@given(st.lists(SEGMENTS, min_size=1, max_size=40))
def test_all_scores_are_scikit_learns(segments):
    flagged, wrong, response, p = map(np.array, zip(*segments))
    case = flagged, wrong, response, 8, p  # some responses may have no segments
    found = {metric.name: metric.weighted(statistics) for metric, statistics in scored(*case)}
    assert found == pytest.approx(oracle(*case), abs=1e-12, nan_ok=True)


def test_one_response_and_none_with_segments():
    found = scored(np.array([1, 0, 1]), np.array([1, 1, 0]), np.zeros(3, int), 1, np.arange(3))
    assert set(estimates(found, Intervals(50))[1].values()) == {None}
    found = scored(*np.zeros((2, 0)), np.zeros(0, np.intp), 2, np.zeros(0))
    assert {metric(statistics) for metric, statistics in found} == {None}
