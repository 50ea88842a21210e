"""Metrics of citations: whether citations support their statements, and whether they are needed.

Resamples draw whole responses, because statements and citations of a response are not independent.
Each response has six statistics; see :func:`statistics`.

References
----------
N. F. Liu, T. Zhang and P. Liang (2023), "Evaluating Verifiability in Generative Search Engines",
Findings of EMNLP, sections 2.2 to 2.4.
"""

from __future__ import annotations

from typing import Callable

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Array, Floats, Metric

Of = Callable[[Array], Floats]  # sums or statistics [..., 4] -> values [...]

#: The verdicts on one citation, as numbers.
COMPLETE, PARTIAL, NONE = 1.0, 0.5, 0.0

_WORTHY, _SUPPORTED, _JUDGED, _PRECISE, _FLUENCY, _UTILITY = range(6)
_COUNTS = 4


def statistics(*columns: Array) -> Floats:
    """Return the statistics of each response, [n, 6], from columns of shape [n]."""
    # The four counts of :func:`counts`; then fluency and perceived utility, from 1 to 5, or ``nan``
    # if missing.
    return np.column_stack([np.asarray(column, np.float64) for column in columns])


def counts(
    response: Array, worthy: Array, supported: Array, statement: Array, support: Array, n: int
) -> NDArray[np.int64]:
    """Return four counts of each of n responses: shape [n, 4].

    They are the statements that are worth verifying, those of them that their citations together
    fully support, the judged citations, and the precise citations. ``response`` is the response of
    each statement, ``statement`` the statement of each judged citation, and ``support`` one of
    :data:`COMPLETE`, :data:`PARTIAL` and :data:`NONE`. A citation with partial support is precise
    only if the citations together support the statement and no single citation does.

    In the first worked example of the paper, each of three statements has one citation with
    complete support, so the two citations with partial support are not precise.

    >>> supported = worthy = np.array([True, True, True])
    >>> statement = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    >>> support = np.array([1, 0, 0.5, 1, 0, 0, 1, 0.5])
    >>> counts(np.array([0, 0, 0]), worthy, supported, statement, support, 1).tolist()
    [[3, 3, 8, 3]]
    """
    response, statement = np.asarray(response, np.intp), np.asarray(statement, np.intp)
    worthy, supported = np.asarray(worthy, bool), np.asarray(supported, bool)
    complete = np.asarray(support) == COMPLETE
    alone = np.zeros(len(response), bool)
    alone[statement[complete]] = True
    needed = (np.asarray(support) == PARTIAL) & (supported & ~alone)[statement]
    cited = response[statement]
    columns = (response[worthy], response[worthy & supported], cited, cited[complete | needed])
    return np.stack([np.bincount(column, minlength=n) for column in columns], axis=1)


def _recall(of: Array) -> Floats:
    return np.asarray(of[..., _SUPPORTED] / of[..., _WORTHY])


def _precision(of: Array) -> Floats:
    return np.asarray(of[..., _PRECISE] / of[..., _JUDGED])


def _f1(of: Array) -> Floats:
    recall, precision = _recall(of), _precision(of)
    harmonic = 2 * recall * precision / (recall + precision)
    return np.where(recall + precision == 0, 0.0, harmonic)


def _pooled(name: str, value: Of, about: str, *share: int) -> Metric:
    """Return a metric of the summed counts; ``share`` names the columns of its two parts."""

    @np.errstate(invalid="ignore")
    def score(rows: Array, weights: Floats) -> Floats:
        return value(weights @ rows[:, :_COUNTS])

    parts = (lambda rows: rows[:, share]) if share else None
    return Metric(name, statistics, score, (0.0, 1.0), about=about, share=parts)


def _mean(name: str, value: Of, about: str, bounds: tuple[float, float] = (0.0, 1.0)) -> Metric:
    """Return a metric that is the mean over responses with a value."""

    @np.errstate(invalid="ignore")
    def score(rows: Array, weights: Floats) -> Floats:
        values = value(rows)
        defined = ~np.isnan(values)
        drawn = weights[:, defined]
        return np.asarray((drawn @ values[defined]) / drawn.sum(axis=1))

    return Metric(name, statistics, score, bounds, about=about)


_AVERAGED = "of a response, averaged over responses"
_RATED = "of the response, rated by annotators from 1 to 5"
#: All metrics of citations, in the order of tables.
CITATION_METRICS = (
    _pooled(
        "citation_recall",
        _recall,
        "the share of verification-worthy statements fully supported by their citations",
        *(_SUPPORTED, _WORTHY),
    ),
    _pooled(
        "citation_precision",
        _precision,
        "the share of citations that support their statement, alone or together with others",
        *(_PRECISE, _JUDGED),
    ),
    _pooled("citation_f1", _f1, "the harmonic mean of citation recall and citation precision"),
    *(
        _mean(f"mean_citation_{name.lower()}", value, f"the citation {name} {_AVERAGED}")
        for name, value in (("recall", _recall), ("precision", _precision), ("F1", _f1))
    ),
    _mean("fluency", lambda of: of[..., _FLUENCY], f"the fluency {_RATED}", (1, 5)),
    _mean("perceived_utility", lambda of: of[..., _UTILITY], f"the usefulness {_RATED}", (1, 5)),
)
