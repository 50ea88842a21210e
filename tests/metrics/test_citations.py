"""Citation metrics: the paper's worked examples, a plain loop as an oracle, and invariances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shroom.metrics import citation_metrics
from shroom.metrics.citation_metrics import (
    CITATION_METRICS,
    COMPLETE,
    NONE,
    PARTIAL,
    counts,
    statistics,
)

POOLED = [metric for metric in CITATION_METRICS if metric.name.startswith("citation")]
MEANS = [metric for metric in CITATION_METRICS if metric.name.startswith("mean")]


def table(responses):
    """Return the counts of responses, each a list of (worthy, supported, degrees of support)."""
    statements = [(n, *each) for n, response in enumerate(responses) for each in response]
    judged = [(s, degree) for s, each in enumerate(statements) for degree in each[3]]
    return counts(
        np.array([each[0] for each in statements], int),
        np.array([each[1] for each in statements], bool),
        np.array([each[2] for each in statements], bool),
        np.array([s for s, _ in judged], int),
        np.array([degree for _, degree in judged], float),
        len(responses),
    )


def rows_of(responses, fluency=None, utility=None):
    n = len(responses)
    ratings = [np.full(n, np.nan) if each is None else each for each in (fluency, utility)]
    return statistics(*table(responses).T, *ratings)


def by_loop(responses):
    """Return the pooled and the mean figures, as the paper words them."""
    total = np.zeros(4, int)
    per_response = []
    for response in responses:
        worthy = supported = judged = precise = 0
        for is_worthy, is_supported, degrees in response:
            worthy += is_worthy
            supported += is_worthy and is_supported
            for degree in degrees:
                judged += 1
                partial = degree == PARTIAL and is_supported and COMPLETE not in degrees
                precise += degree == COMPLETE or partial
        total += [worthy, supported, judged, precise]
        per_response.append(figures(worthy, supported, judged, precise))
    columns = zip(*per_response) if per_response else ([], [], [])
    kept = [[value for value in column if value is not None] for column in columns]
    means = [math.fsum(column) / len(column) if column else None for column in kept]
    return [*figures(*total.tolist()), *means]


def figures(worthy, supported, judged, precise):
    recall = supported / worthy if worthy else None
    precision = precise / judged if judged else None
    if recall is None or precision is None:
        return recall, precision, None
    both = recall + precision
    return recall, precision, 2 * recall * precision / both if both else 0.0


full, part, no = COMPLETE, PARTIAL, NONE
WORKED = [
    ([(True, True, [full, no, part]), (True, True, [full, no, no]), (True, True, [full, part])],
     (3, 3, 8, 3)),
    ([(True, True, [part, part]), (True, False, [no]), (True, False, [])], (3, 1, 3, 2)),
    ([(True, True, [full, full, no]), (True, False, []), (True, False, [])], (3, 1, 3, 2)),
]  # fmt: skip


def test_the_worked_examples_together():
    rows = rows_of([response for response, _ in WORKED])
    assert rows[:, :4].tolist() == [list(expected) for _, expected in WORKED]
    assert citation_metrics.RECALL(rows) == 5 / 9
    assert citation_metrics.PRECISION(rows) == 7 / 14
    assert citation_metrics.MEAN_RECALL(rows) == pytest.approx(5 / 9, abs=1e-15)
    assert citation_metrics.MEAN_PRECISION(rows) == pytest.approx(
        (3 / 8 + 2 / 3 + 2 / 3) / 3, abs=1e-15
    )


statements = st.tuples(
    st.booleans(), st.booleans(), st.lists(st.sampled_from([full, part, no]), max_size=4)
)
some_responses = st.lists(st.lists(statements, max_size=4), max_size=6)


@given(some_responses)
def test_a_plain_loop_gives_the_same(responses):
    rows = rows_of(responses)
    found = [metric(rows) for metric in (*POOLED, *MEANS)]
    for value, expected in zip(found, by_loop(responses)):
        assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_a_missing_rating_is_left_out():
    rows = rows_of([[], []], [5, np.nan], [np.nan, np.nan])
    assert citation_metrics.FLUENCY(rows) == 5.0
    assert citation_metrics.UTILITY(rows) is None


def test_responses_without_statements_keep_their_row():
    assert table([[], [(True, True, [full])], []]).tolist() == [[0] * 4, [1, 1, 1, 1], [0] * 4]
    assert table([]).shape == (0, 4)
