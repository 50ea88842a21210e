"""The citation metrics of the responses of generative search engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.datasets.groups import Row
from shroom.metrics import citation_metrics as citations
from shroom.metrics.base import Metric
from shroom.metrics.citation_metrics import CITATION_METRICS
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.results import flat

_COUNTS = ("worthy", "supported", "citations", "precise")


def statistics(responses: Sequence[Any]) -> NDArray[np.float64]:
    """Return the statistics of each response: shape [n, 6]."""
    # Without a verdict or a citation, a statement that is worth verifying is not supported.
    # See :mod:`shroom.metrics.citation_metrics`.
    places = [place for place, response in enumerate(responses) for _ in response.statements]
    statements = [statement for response in responses for statement in response.statements]
    judged = [
        (number, judgement.citation_supports.degree)
        for number, statement in enumerate(statements)
        for judgement in statement.citation_annotations or ()
        if judgement.citation_supports is not None
    ]
    counted = citations.counts(
        np.array(places, np.intp),
        np.array([statement.statement_is_verification_worthy for statement in statements], bool),
        np.array([statement.is_supported for statement in statements], bool),
        np.array([number for number, _ in judged], np.intp),
        np.array([degree for _, degree in judged], np.float64),
        len(responses),
    )
    ratings = [
        np.array([np.nan if it is None else it.points for it in column], np.float64)
        for column in (
            [response.fluency for response in responses],
            [response.perceived_utility for response in responses],
        )
    ]
    return citations.statistics(*counted.T, *ratings)


def figures(
    responses: Sequence[Any], intervals: Intervals, metrics: Sequence[Metric] = CITATION_METRICS
) -> Row:
    """Return the counts and the citation metrics of responses, which intervals resample."""
    rows = statistics(responses)
    return {
        "responses": len(responses),
        "statements": sum(len(response.statements) for response in responses),
        **dict(zip(_COUNTS, rows[:, : len(_COUNTS)].sum(axis=0).astype(int).tolist())),
        **flat(*estimates([(metric, rows) for metric in metrics], intervals)),
    }
