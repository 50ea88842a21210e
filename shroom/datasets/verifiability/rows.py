"""From the rows of the verifiability files to records, reporting everything that is odd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Union

from shroom.core.problems import show
from shroom.datasets import rows
from shroom.datasets.rows import Unusable, is_filled, is_list
from shroom.datasets.verifiability.consistency_checks import oddities
from shroom.datasets.verifiability.records import (
    Citation,
    Judgement,
    Likert,
    Pair,
    Response,
    Statement,
    Support,
    Supported,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import Enum

    from shroom.datasets.rows import Row

    AnyEnum = TypeVar("AnyEnum", bound=Enum)

ATTRIBUTABLE, NOT_ATTRIBUTABLE = "attributable", "not attributable"
_WORTHY, _SUPPORTED = "statement_is_verification_worthy", "statement_supported"
_JUDGED = "citation_annotations"


class RowReader(rows.RowReader[Union[Response, Pair]]):
    """Reads the rows of one file, which are responses or pairs."""

    def read(self, row: Row) -> Response | Pair:
        """Return the response or the pair of a row."""
        if "annotation" in row.item:
            record: Response | Pair = _response(row)
        elif "attribution_label" in row.item:
            record = _pair(row)
        else:
            expected = 'the key "annotation" or "attribution_label"'
            raise Unusable(None, expected, f"keys {show(list(row.item))}")
        for key, expected, found in oddities(record):
            row.odd(key, expected, found)
        self._check_first(row, record)
        return record

    def _check_first(self, row: Row, record: Response | Pair) -> None:
        """Report what an earlier row has already: all of it, or its id."""
        first = self.earlier(row, record)
        if first:
            row.report("row-doubled", None, "another row", f"that of {first}")
            return
        first = self.earlier(row, record.id) if record.id else None
        if first:
            row.odd("id", "an id of its own", f"that of {first}")


def _response(row: Row) -> Response:
    annotation = row.item["annotation"]
    judged = annotation.get("statement_to_annotation") if isinstance(annotation, dict) else None
    if not isinstance(judged, dict):
        raise Unusable("annotation", "statement_to_annotation, an object", show(annotation))
    cited = row.take("statements_to_citation_texts", _is_object, "an object", {})
    unjudged = [text for text in cited if text not in judged]
    if unjudged:
        found = f"none of {show(unjudged)}"
        row.odd("annotation", "annotations of all statements", found)
    ratings = row.inner(annotation, "")
    return Response(
        id=row.text("id"),
        query=row.text("query"),
        response=row.text("response"),
        split=row.text("split"),
        system_name=row.text("system_name"),
        citations=tuple(_citations(row)),
        statements=tuple(_statements(row, judged, cited)),
        fluency=_word(ratings, "fluency", Likert),
        perceived_utility=_word(ratings, "perceived_utility", Likert),
    )


def _objects(row: Row, key: str) -> Iterator[Row]:
    """Yield the objects of a list, reporting what is none."""
    for number, item in enumerate(row.take(key, is_list, "a list (read as empty)", [])):
        if isinstance(item, dict):
            yield row.inner(item, f"{row.above}{key}[{number}].")
        else:
            row.odd(f"{key}[{number}]", "an object (left out)", show(item))


def _citations(row: Row) -> Iterator[Citation]:
    for citation in _objects(row, "citations"):
        start, end = (
            citation.take(key, _is_index, "a whole number (read as none)")
            for key in ("start_index", "end_index")
        )
        yield Citation(citation.text("text"), start, end, citation.text("link_target"))


def _statements(row: Row, judged: dict[str, Any], cited: dict[str, Any]) -> Iterator[Statement]:
    for number, (text, item) in enumerate(judged.items()):
        name = f"statement {number}"
        if not isinstance(item, dict):
            row.odd(name, "an object (left out)", show(item))
            continue
        statement = row.inner(item, f"{name}: ")
        worthy = statement.take(_WORTHY, _is_bool, "true or false (read as false)", otherwise=False)
        supported = None
        if item.get(_SUPPORTED) is not None:
            supported = _word(statement, _SUPPORTED, Supported)
        texts = None
        if text in cited:
            texts = row.inner(cited, statement.above).texts(text, "citation texts")
        judgements = None if item.get(_JUDGED) is None else tuple(_judgements(statement))
        yield Statement(text, texts, worthy, supported, judgements)


def _judgements(statement: Row) -> Iterator[Judgement]:
    for row in _objects(statement, _JUDGED):
        evidence = None if row.item.get("evidence") is None else row.text("evidence")
        support = _word(row, "citation_supports", Support)
        yield Judgement(row.text("citation_text"), support, evidence)


def _pair(row: Row) -> Pair:
    expected = f'"{ATTRIBUTABLE}" or "{NOT_ATTRIBUTABLE}"'
    label = row.need("attribution_label", _is_label, expected)
    claim = row.need("claim", is_filled, "a text")
    return Pair(
        id=row.text("id"),
        question=row.text("question"),
        response=row.text("response"),
        claim=claim,
        claim_raw_string=row.text("claim_raw_string"),
        references=row.texts("references"),
        citation_links=row.texts("citation_links"),
        webpage_references=row.texts("webpage_references"),
        attribution_label=label,
        src_dataset=row.text("src_dataset"),
    )


def _word(row: Row, key: str, words: type[AnyEnum]) -> AnyEnum | None:
    try:
        return words(row.item.get(key))
    except ValueError:
        expected = " or ".join(show(word.value) for word in words)
        row.odd(key, f"{expected} (read as none)")
        return None


def _is_label(value: Any) -> bool:
    return value in (ATTRIBUTABLE, NOT_ATTRIBUTABLE)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_index(value: Any) -> bool:
    return type(value) is int and value >= 0
