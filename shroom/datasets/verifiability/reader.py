"""Verifiability in generative search engines: whether what they cite supports what they say.

Two forms, told apart row by row: responses with full human annotations (:class:`Response`), and
pairs of a claim and the text of its reference (:class:`Pair`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Union

from shroom.core import json_reading
from shroom.core.datapoint import pair
from shroom.core.problems import Problems, show
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import items_of
from shroom.datasets.rows import collect
from shroom.datasets.verifiability.records import Pair, Response
from shroom.datasets.verifiability.rows import ATTRIBUTABLE, RowReader

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from shroom.core.datapoint import Datapoint
    from shroom.core.paths import Source
    from shroom.datasets.collection import Collection

__all__ = ["Pair", "Record", "Response", "datapoints", "read", "without_premise"]

NAME = "verifiability"

Record = Union[Response, Pair]


def read(*paths: Source, problems: Problems | None = None) -> Collection[Record]:
    """Return the responses and pairs in files, folders or zips.

    Query sets that lie beside them in a folder are left out, with a warning for each file; see
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
    >>> read("no/such/file.jsonl")
    Traceback (most recent call last):
    shroom.core.problems.InvalidInput: no/such/file.jsonl: expected a file, got No such ... [...]
      to fix [file-unreadable]: check the path and its permissions
    """
    problems = Problems() if problems is None else problems
    odd = Problems(limit=None)
    files = list(_records(paths, problems, odd))
    # The rarest kind first, so that a frequent one hides no other.
    kinds = Counter(problem.expected for problem in odd)
    for problem in sorted(odd, key=lambda problem: kinds[problem.expected]):
        problems.add(**vars(problem))
    return collect(NAME, files, problems)


def _records(
    paths: Iterable[Source], problems: Problems, odd: Problems
) -> Iterator[tuple[str, list[Record | None]]]:
    """Yield each file and the records of its rows, without the query sets among other files."""
    first: dict[Hashable, str] = {}
    for document, items in items_of(paths, problems):
        if document.member and _is_query_set(items):
            found = f"a query set of {len(items)} rows"
            problems.add("file-ignored", document.file, "responses or pairs", found)
            continue
        _report_doubled_keys(items, document.file, problems)
        yield document.file, RowReader(document.file, odd, first).records(items)


def datapoints(records: Iterable[Record]) -> list[Datapoint]:
    """Return statements against what their sources say, in order.

    Of a response, each judged citation that has evidence is a datapoint: the statement against that
    evidence, with p 0 where the support is complete, 0.5 where it is partial and 1 where there is
    none. Of a pair, the claim against its reference: p 0 where it is attributable, else 1. What has
    no text to be held against is left out; :func:`without_premise` counts it.

    Examples
    --------
    >>> pair = Pair("How high?", "It is high.", "It is high.", "It is high.", ("8849 m.",),
    ...             ("https://…",), (), "attributable", "Stanford-GenSearch", "1")
    >>> (point,) = datapoints([pair])
    >>> point.src, point.hyp, point.p
    ('8849 m.', 'It is high.', 0.0)
    """
    return [
        pair(premise, hypothesis, p, model)
        for premise, hypothesis, p, model, _ in _judged(records)
        if premise.strip()
    ]


def without_premise(records: Iterable[Record]) -> int:
    """Return how many verdicts are no datapoints, since nothing was copied from the cited page."""
    return sum(not premise.strip() for premise, *_ in _judged(records))


def left_out(records: Iterable[Record]) -> int:
    """Return how many judged citations are no datapoints: those, and what has no known verdict."""
    records = list(records)
    unknown = sum(
        judgement.citation_supports is None
        for record in records
        if isinstance(record, Response)
        for statement in record.statements
        for judgement in statement.citation_annotations or ()
    )
    return without_premise(records) + unknown


def _judged(records: Iterable[Record]) -> Iterable[tuple[str, str, float, str, Hashable]]:
    """Yield (premise, hypothesis, p, model, response) of each verdict."""
    for record in records:
        if isinstance(record, Pair):
            p = float(record.attribution_label != ATTRIBUTABLE)
            yield (
                "\n\n".join(record.references),
                record.claim,
                p,
                "",
                (record.question, record.response),
            )
            continue
        for statement in record.statements:
            for judgement in statement.citation_annotations or ():
                if judgement.citation_supports is not None:
                    p = 1 - judgement.citation_supports.degree
                    premise = judgement.evidence or ""
                    yield premise, statement.text, p, record.system_name, record.id


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
            if isinstance(value, json_reading.Doubled):
                doubled.update(value.keys_doubled)
            rest += value.values() if isinstance(value, dict) else []
            rest += value if isinstance(value, list) else []
        for key in sorted(doubled):
            expected = "a key once in an object (the last is used)"
            problems.add("row-odd", file, expected, "it again", key=show(key), index=index)


def _responses(records: Iterable[Record]) -> list[Hashable]:
    return [unit for premise, *_, unit in _judged(records) if premise.strip()]


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
