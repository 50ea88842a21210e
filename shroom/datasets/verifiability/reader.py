"""Verifiability in generative search engines: whether what they cite supports what they say.

A row has one of three forms, which are distinguished by their keys: a response with full human
annotations (:class:`Response`), a pair of a claim and the text of its reference (:class:`Pair`), or
a judgement of one cited page (:class:`PageJudgement`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from shroom.core.datapoint import Datapoint, pair
from shroom.core.doubled_keys import Doubled
from shroom.core.paths import Source
from shroom.core.problems import Problems, show
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection, items_of
from shroom.datasets.rows import collect
from shroom.datasets.verifiability.records import (
    ATTRIBUTABLE,
    PAGE_SUPPORT,
    PageJudgement,
    Pair,
    Record,
    Response,
)
from shroom.datasets.verifiability.rows import RowReader

__all__ = ["PageJudgement", "Pair", "Record", "Response", "datapoints", "read", "without_premise"]

NAME = "verifiability"


def read(*paths: Source, problems: Problems | None = None) -> Collection[Record]:
    """Return the responses, pairs and judgements in files, folders or zips.

    Query sets in the same folder are left out, with a warning for each file; see
    :mod:`shroom.datasets.queries.reader`.

    Parameters
    ----------
    *paths : path or "-"
        JSON Lines or JSON lists, also gzipped.
    problems : Problems, optional
        Gets the warnings, each with its place.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors, such as a line that is not JSON.

    Examples
    --------
    >>> read("docs/examples/worked-citations.jsonl").rows
    3
    """
    problems = Problems() if problems is None else problems
    return collect(NAME, list(_records(paths, problems)), problems)


def _records(
    paths: Iterable[Source], problems: Problems
) -> Iterator[tuple[str, list[Record | None]]]:
    """Yield each file and the records of its rows, without the query sets among other files."""
    first: dict[Hashable, str] = {}
    for document, items in items_of(paths, problems):
        if document.member and _is_query_set(items):
            got = f"a query set of {len(items)} rows"
            problems.add("file-ignored", document.file, "responses or pairs", got)
            continue
        _report_doubled_keys(items, document.file, problems)
        yield document.file, RowReader(document.file, problems, first).records(items)


def datapoints(records: Iterable[Record]) -> list[Datapoint]:
    """Return statements with what their sources say, in order.

    Each judged citation of a response that has evidence is a datapoint: the statement with that
    evidence, with p 0 for complete support, 0.5 for partial support and 1 for none. A pair gives
    the claim with its reference: p 0 if it is attributable, else 1. A row of a judgement file
    gives the statement with the text of the page, with p as for a citation.
    Datapoints without a text to compare with are left out; :func:`without_premise` counts them.

    Examples
    --------
    >>> pair = Pair("How high?", "It is high.", "It is high.", "It is high.", ("8849 m.",),
    ...             ("https://…",), (), "attributable", "Stanford-GenSearch", "1")
    >>> (point,) = datapoints([pair])
    >>> point.src, point.hyp, point.p
    ('8849 m.', 'It is high.', 0.0)
    """
    return [
        pair(verdict.premise, verdict.hypothesis, verdict.p, verdict.model)
        for verdict in _verdicts(records)
        if verdict.premise.strip()
    ]


def without_premise(records: Iterable[Record]) -> int:
    """Return the number of verdicts that are not datapoints, as there is no text of the source."""
    return sum(not verdict.premise.strip() for verdict in _verdicts(records))


def left_out(records: Sequence[Record]) -> int:
    """Return the number of judged citations without a datapoint: no text, or no known verdict."""
    unknown = sum(
        judgement.citation_supports is None
        for record in records
        if isinstance(record, Response)
        for statement in record.statements
        for judgement in statement.citation_annotations or ()
    )
    return without_premise(records) + unknown


class _Verdict(NamedTuple):
    premise: str
    hypothesis: str
    p: float
    model: str
    response: Hashable


def _verdicts(records: Iterable[Record]) -> Iterator[_Verdict]:
    for record in records:
        if isinstance(record, Pair):
            p = float(record.attribution_label != ATTRIBUTABLE)
            response: Hashable = (record.question, record.response)
            yield _Verdict("\n\n".join(record.references), record.claim, p, "", response)
        elif isinstance(record, PageJudgement):
            p = 1 - PAGE_SUPPORT[record.source_supports_statement]
            response = (record.query, record.response)
            yield _Verdict(record.source_text, record.statement, p, "", response)
        else:
            for statement in record.statements:
                for judgement in statement.citation_annotations or ():
                    if judgement.citation_supports is not None:
                        p = 1 - judgement.citation_supports.degree
                        source = judgement.evidence or "", statement.text
                        yield _Verdict(*source, p, record.system_name, record.id)


def _is_query_set(items: Sequence[Any]) -> bool:
    return bool(items) and all(
        isinstance(item, dict)
        and ("prompt_text" in item or "query" in item)
        and not item.keys() & {"annotation", "attribution_label", "response"}
        for item in items
    )


def _report_doubled_keys(items: Sequence[Any], file: str, problems: Problems) -> None:
    """Report keys that one object has twice: of two equal statements, JSON keeps the last."""
    for index, item in enumerate(items):
        doubled, rest = set[str](), [item]
        while rest:
            value = rest.pop()
            if isinstance(value, Doubled):
                doubled.update(value.keys_doubled)
            rest += value.values() if isinstance(value, dict) else []
            rest += value if isinstance(value, list) else []
        for key in sorted(doubled):
            expected = "a key once in an object (the last is used)"
            problems.add("key-doubled", file, expected, "it again", key=show(key), index=index)


def _responses(records: Iterable[Record]) -> list[Hashable]:
    return [verdict.response for verdict in _verdicts(records) if verdict.premise.strip()]


#: As the kit's commands use it.
DATA_SET = DataSet(
    NAME,
    licence="MIT (human evaluation); none stated (Stanford-GenSearch pairs of AttributionBench)",
    about="statements of generative search engines, supported by their citations or not",
    source=(
        "Liu, Zhang and Liang (2023), Evaluating Verifiability in Generative Search Engines; "
        "Li et al. (2024), AttributionBench: How Hard is Automatic Attribution Evaluation?"
    ),
    read=read,
    views={
        "evidence": View(
            "statements against what their citations say; p is 1 minus the support",
            datapoints,
            _responses,
            left_out,
        )
    },
)
