"""Citation metrics against a plain loop over the paper's definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shroom.metrics.citation_metrics import (
    CITATION_METRICS,
    COMPLETE,
    NONE,
    PARTIAL,
    counts,
    statistics,
)


def rows_of(responses, ratings):
    """Return the rows of responses, each a list of (worthy, supported, degrees of support)."""
    statements = [(n, *each) for n, response in enumerate(responses) for each in response]
    judged = [(s, degree) for s, each in enumerate(statements) for degree in each[3]]
    table = counts(
        np.array([each[0] for each in statements], int),
        np.array([each[1] for each in statements], bool),
        np.array([each[2] for each in statements], bool),
        np.array([s for s, _ in judged], int),
        np.array([degree for _, degree in judged], float),
        len(responses),
    )
    return statistics(*table.T, *np.array(ratings, float).reshape(-1, 2).T)


def by_loop(responses):
    """Return the pooled and the mean figures, as the paper words them."""
    rows = np.zeros((len(responses), 4), int)
    for row, response in zip(rows, responses):
        for is_worthy, is_supported, degrees in response:
            row[:2] += is_worthy, is_worthy and is_supported
            for degree in degrees:
                partial = degree == PARTIAL and is_supported and COMPLETE not in degrees
                row[2:] += 1, degree == COMPLETE or partial
    columns = zip(*(figures(*row) for row in rows.tolist())) if responses else ((), (), ())
    return [*figures(*rows.sum(axis=0).tolist()), *map(mean, columns)]


def figures(worthy, supported, judged, precise):
    recall = supported / worthy if worthy else None
    precision = precise / judged if judged else None
    if recall is None or precision is None:
        return recall, precision, None
    both = recall + precision
    return recall, precision, 2 * recall * precision / both if both else 0.0


def mean(column):
    kept = [value for value in column if value is not None]
    return math.fsum(kept) / len(kept) if kept else None


STATEMENTS = st.tuples(
    st.booleans(), st.booleans(), st.lists(st.sampled_from([COMPLETE, PARTIAL, NONE]), max_size=4)
)
RATING = st.sampled_from([None, 1, 4, 5])  # fluency and utility; one may be missing
RESPONSES = st.tuples(st.lists(STATEMENTS, max_size=4), st.tuples(RATING, RATING))


@given(st.lists(RESPONSES, max_size=6))
def test_a_plain_loop_gives_the_same(responses):
    answers, ratings = [each for each, _ in responses], [each for _, each in responses]
    rows = rows_of(answers, ratings)
    assert len(rows) == len(responses)
    expected = [*by_loop(answers), *map(mean, zip(*ratings) if ratings else ((), ()))]
    assert [metric(rows) for metric in CITATION_METRICS] == pytest.approx(expected, abs=1e-12)
