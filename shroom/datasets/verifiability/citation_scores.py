"""The citation metrics of generative search engines, by system, query distribution, or both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from shroom.datasets.contents import ALL, Row
from shroom.datasets.verifiability.records import (
    Likert,
    PageJudgement,
    Pair,
    Record,
    Response,
    Statement,
    Supported,
)
from shroom.metrics import citation_metrics as citations
from shroom.metrics.base import Metric
from shroom.metrics.citation_metrics import CITATION_METRICS
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.scoring.results import flat

_COUNTS = ("worthy", "supported", "citations", "precise")
_VERDICTS = (
    "statement_supported",
    "citation_supports",
    "attribution_label",
    "source_supports_statement",
)


def statistics(responses: Sequence[Response]) -> NDArray[np.float64]:
    """Return what each response contributes: shape [n, 6].

    See :mod:`shroom.metrics.citation_metrics`.

    A statement that is worth verifying and has no verdict, or cites nothing, is not supported; a
    citation without a known verdict is not counted.
    """
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
        np.array([_is_supported(statement) for statement in statements], bool),
        np.array([number for number, _ in judged], np.intp),
        np.array([degree for _, degree in judged], np.float64),
        len(responses),
    )
    ratings = [
        np.array([_points(getattr(response, key)) for response in responses], np.float64)
        for key in ("fluency", "perceived_utility")
    ]
    return citations.statistics(*counted.T, *ratings)


def _is_supported(statement: Statement) -> bool:
    return statement.is_cited and statement.statement_supported is Supported.YES


def _points(rating: Likert | None) -> float:
    return float("nan") if rating is None else rating.points


def citation_scores(
    records: Iterable[Record],
    keys: Sequence[str] = ("system_name",),
    intervals: Intervals = DEFAULT_INTERVALS,
    metrics: Sequence[Metric] = CITATION_METRICS,
) -> list[Row]:
    """Return the citation metrics of each group of responses, and of all together.

    Parameters
    ----------
    records : iterable of Response, Pair or PageJudgement
        Only responses have citation metrics; the others are passed over.
    keys : sequence of str
        The fields that define the groups: ``system_name``, ``split`` or both.
    intervals : Intervals
        How to make intervals. Responses are resampled, so that what belongs together stays so.
    metrics : sequence of Metric
        The metrics to compute.

    Returns
    -------
    list of dict
        For each group, by name, and with a single key then for all responses: the keys, the
        counts (``responses``, ``statements``, those that are ``worthy`` of verification and those
        of them that are ``supported``, the judged ``citations`` and those that are ``precise``),
        and each metric with its interval under a name with ``_ci``. Undefined figures are
        ``None``.

    Examples
    --------
    >>> response = Response("1-you", "Why?", "So.", "allsouls", "you", (), (), None, None)
    >>> [group] = citation_scores([response], ["split", "system_name"])
    >>> group["split"], group["responses"], group["citation_recall"]
    ('allsouls', 1, None)
    """
    responses = [record for record in records if isinstance(record, Response)]
    rows = statistics(responses)
    sizes = np.array([len(response.statements) for response in responses], np.intp)
    names = [tuple(getattr(response, key) for key in keys) for response in responses]
    groups = {name: np.array([other == name for other in names]) for name in sorted(set(names))}
    if responses and len(keys) == 1:
        groups[(ALL,)] = np.ones(len(responses), bool)
    return [
        {
            **dict(zip(keys, name)),
            "responses": int(inside.sum()),
            "statements": int(sizes[inside].sum()),
            **dict(zip(_COUNTS, rows[inside, : len(_COUNTS)].sum(axis=0).astype(int).tolist())),
            **flat(*estimates([(metric, rows[inside]) for metric in metrics], intervals)),
        }
        for name, inside in groups.items()
    ]


def verdicts(records: Iterable[Record]) -> dict[str, dict[str, int]]:
    """Return how often each verdict was given, by field, the most frequent first.

    The verdict of a statement or citation without one is ``none``.
    """
    counts = {key: Counter[str]() for key in _VERDICTS}
    for record in records:
        if isinstance(record, Pair):
            counts["attribution_label"][record.attribution_label] += 1
        elif isinstance(record, PageJudgement):
            counts["source_supports_statement"][record.source_supports_statement] += 1
        else:
            for statement in record.statements:
                supported = statement.statement_supported
                if statement.statement_is_verification_worthy:
                    counts["statement_supported"][supported.value if supported else "none"] += 1
                for judgement in statement.citation_annotations or ():
                    support = judgement.citation_supports
                    counts["citation_supports"][support.value if support else "none"] += 1
    return {key: dict(counter.most_common()) for key, counter in counts.items() if counter}
