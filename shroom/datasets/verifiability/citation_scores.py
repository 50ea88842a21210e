"""The citation metrics of generative search engines, each engine by itself and all together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.datasets.verifiability.records import Likert, Response, Supported
from shroom.metrics import citation_metrics as citations
from shroom.metrics.intervals import USUAL, Intervals, estimates
from shroom.scoring.scores import flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from shroom.datasets.verifiability.records import Pair, Statement
    from shroom.metrics.intervals import Interval


@dataclass(frozen=True)
class SystemScores:
    """The scores of one system.

    Attributes
    ----------
    system_name : str or None
        ``None`` for all systems together.
    responses, statements : int
        How many there are.
    worthy, supported : int
        How many statements are worth verifying, and how many of those their citations support.
    citations, precise : int
        How many citations were judged, and how many of those count as precise.
    scores : dict of float or None
        By metric; ``None`` where it is undefined.
    intervals : dict of tuple or None
        By metric.
    """

    system_name: str | None
    responses: int
    statements: int
    worthy: int
    supported: int
    citations: int
    precise: int
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for json; an interval is named like its score, with _ci."""
        found = {k: v for k, v in vars(self).items() if k not in ("scores", "intervals")}
        return {**found, **flat(self.scores, self.intervals)}


@dataclass(frozen=True)
class CitationScores:
    """The scores of each system, how intervals were made, and how often each verdict was given.

    Attributes
    ----------
    whole : SystemScores
        Of all responses.
    systems : list of SystemScores
        By name.
    verdicts : dict of dict of int
        The counts of ``statement_supported``, ``citation_supports`` and ``attribution_label``.
    how : Intervals
        By responses, with replacement.
    """

    whole: SystemScores
    systems: list[SystemScores]
    verdicts: dict[str, dict[str, int]]
    how: Intervals

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json."""
        return {
            "whole": self.whole.to_dict(),
            "systems": [system.to_dict() for system in self.systems],
            "verdicts": self.verdicts,
            **self.how.to_dict(),
        }


def statistics(responses: Sequence[Response]) -> NDArray[np.float64]:
    """Return what each response contributes: shape [n, 6].

    See :mod:`shroom.metrics.citation_metrics`.

    A statement that is worth verifying and has no verdict, or cites nothing, is not supported; a
    citation without a known verdict is not counted.
    """
    places = [place for place, each in enumerate(responses) for _ in each.statements]
    statements = [statement for each in responses for statement in each.statements]
    judged = [
        (number, judgement.citation_supports.degree)
        for number, statement in enumerate(statements)
        for judgement in statement.citation_annotations or ()
        if judgement.citation_supports is not None
    ]
    counted = citations.counts(
        np.array(places, np.intp),
        np.array([each.statement_is_verification_worthy for each in statements], bool),
        np.array([_is_supported(each) for each in statements], bool),
        np.array([number for number, _ in judged], np.intp),
        np.array([degree for _, degree in judged], np.float64),
        len(responses),
    )
    ratings = [
        np.array([_points(getattr(each, key)) for each in responses], np.float64)
        for key in ("fluency", "perceived_utility")
    ]
    return citations.statistics(*counted.T, *ratings)


def _is_supported(statement: Statement) -> bool:
    return statement.is_cited and statement.statement_supported is Supported.YES


def citation_scores(records: Iterable[Response | Pair], how: Intervals = USUAL) -> CitationScores:
    """Return the citation metrics of all responses and of each system's.

    Parameters
    ----------
    records : iterable of Response or Pair
        Pairs have no citation metrics, since they are no whole responses; only their labels are
        counted.
    how : Intervals
        How to make intervals. Responses are drawn, so that what belongs together stays so.
    """
    records = list(records)
    responses = [record for record in records if isinstance(record, Response)]
    rows = statistics(responses)
    names = np.array([response.system_name for response in responses], np.str_)
    sizes = np.array([len(response.statements) for response in responses], np.intp)
    systems = [
        _scored(str(name), rows[names == name], sizes[names == name], how)
        for name in np.unique(names)
    ]
    return CitationScores(_scored(None, rows, sizes, how), systems, _verdicts(records), how)


def _scored(
    name: str | None, rows: NDArray[np.float64], sizes: NDArray[np.intp], how: Intervals
) -> SystemScores:
    scored = [(metric, rows) for metric in citations.CITATION_METRICS]
    worthy, supported, judged, precise = (int(count) for count in rows[:, :4].sum(axis=0))
    return SystemScores(
        name,
        len(rows),
        int(sizes.sum()),
        worthy,
        supported,
        judged,
        precise,
        *estimates(scored, how),
    )


def _points(rating: Likert | None) -> float:
    return float("nan") if rating is None else rating.points


def _verdicts(records: Sequence[Response | Pair]) -> dict[str, dict[str, int]]:
    """Return how often each verdict was given, the most frequent first; none as an empty text."""
    counts: dict[str, Counter[str]] = {
        key: Counter() for key in ("statement_supported", "citation_supports", "attribution_label")
    }
    for record in records:
        if not isinstance(record, Response):
            counts["attribution_label"][record.attribution_label] += 1
            continue
        for statement in record.statements:
            said = statement.statement_supported
            if statement.statement_is_verification_worthy:
                counts["statement_supported"][said.value if said else ""] += 1
            for judgement in statement.citation_annotations or ():
                support = judgement.citation_supports
                counts["citation_supports"][support.value if support else ""] += 1
    return {key: dict(found.most_common()) for key, found in counts.items() if found}
