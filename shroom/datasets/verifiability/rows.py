"""From the rows of the verifiability files to records, reporting values that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from typing import Any, TypeVar

from shroom.core.problems import show
from shroom.datasets import rows
from shroom.datasets.rows import Row, Unusable, is_filled, is_list, is_text
from shroom.datasets.verifiability.records import (
    ATTRIBUTABLE,
    NOT_ATTRIBUTABLE,
    PAGE_SUPPORT,
    SPLITS,
    SYSTEMS,
    Citation,
    Judgement,
    Likert,
    PageJudgement,
    Pair,
    Record,
    Response,
    Statement,
    Support,
    Supported,
)

AnyEnum = TypeVar("AnyEnum", bound=Enum)

_WORTHY, _SUPPORTED = "statement_is_verification_worthy", "statement_supported"
_JUDGED, _VERDICT = "citation_annotations", "source_supports_statement"
_CITED = "statements_to_citation_texts"


class RowReader(rows.RowReader[Record]):
    """Reads the rows of one file, which may be of any of the three forms."""

    def read(self, row: Row) -> Record:
        """Return the response, the pair or the judgement of a row."""
        if "annotation" in row.item:
            record: Record = self._response(row)
        elif "attribution_label" in row.item:
            record = _pair(row)
        elif _VERDICT in row.item:
            record = _page_judgement(row)
        else:
            expected = f'the key "annotation", "attribution_label" or "{_VERDICT}"'
            raise Unusable(None, expected, f"keys {show(list(row.item))}")
        first = self.earlier(row, record)
        if first:
            row.report("row-doubled", None, "another row", f"that of {first}")
            return record
        first = self.earlier(row, row.id) if row.id else None
        if first:
            row.odd("id-repeated", "id", "an id of its own", f"that of {first}")
        return record

    def _response(self, row: Row) -> Response:
        annotation = row.item["annotation"]
        judged = annotation.get("statement_to_annotation") if isinstance(annotation, dict) else None
        if not isinstance(judged, dict):
            raise Unusable("annotation", "statement_to_annotation, an object", show(annotation))
        cited = row.take("object-odd", _CITED, _is_object, "an object", {})
        unjudged = [text for text in cited if text not in judged]
        if unjudged:
            expected, got = "annotations of all statements", f"none of {show(unjudged)}"
            row.odd("judgement-missing", "annotation", expected, got)
        ratings = row.inner(annotation, "")
        response = Response(
            id=row.text("id"),
            query=row.text("query"),
            response=row.text("response"),
            split=self._known(row, "split-unknown", "split", SPLITS),
            system_name=self._known(row, "system-unknown", "system_name", SYSTEMS),
            citations=tuple(_citations(row)),
            statements=tuple(_statements(row, judged, cited)),
            fluency=_word(ratings, "fluency", Likert),
            perceived_utility=_word(ratings, "perceived_utility", Likert),
        )
        name, system = response.id, response.system_name  # other systems may have other ids
        if name and system in SYSTEMS and not re.fullmatch(f"[0-9a-f]+-{system}", name):
            row.odd("id-odd", "id", f"<hash>-<system_name>, as <hash>-{system}")
        return response

    def _known(self, row: Row, code: str, key: str, values: tuple[str, ...]) -> str:
        """Return a text, which is kept and reported once a file if the source has no such value."""
        value: str = row.text(key)
        if key in row.read and value not in values:
            self.share(row, code, key, f"one of {', '.join(values)}", show(value))
        return value


def _objects(row: Row, key: str) -> Iterator[Row]:
    """Yield the objects of a list, reporting the items that are not objects."""
    items = row.take("list-odd", key, is_list, "a list (read as empty)", [])
    for number, item in enumerate(items):
        if isinstance(item, dict):
            yield row.inner(item, f"{row.above}{key}[{number}].")
        else:
            row.odd("object-odd", f"{key}[{number}]", "an object (left out)", show(item))


def _citations(row: Row) -> Iterator[Citation]:
    for citation in _objects(row, "citations"):
        start, end = (
            citation.take("number-odd", key, _is_index, "a whole number (read as none)")
            for key in ("start_index", "end_index")
        )
        yield Citation(citation.text("text"), start, end, citation.text("link_target"))


def _statements(row: Row, judged: dict[str, Any], cited: dict[str, Any]) -> Iterator[Statement]:
    for number, (text, item) in enumerate(judged.items()):
        name = f"statement {number}"
        if not isinstance(item, dict):
            row.odd("object-odd", name, "an object (left out)", show(item))
            continue
        statement = row.inner(item, f"{name}: ")
        worthy = statement.take(
            "word-odd", _WORTHY, _is_bool, "true or false (read as false)", otherwise=False
        )
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
        support = _word(row, "citation_supports", Support)
        yield Judgement(row.text("citation_text"), support, _text_or_none(row, "evidence"))


def _pair(row: Row) -> Pair:
    expected = f'"{ATTRIBUTABLE}" or "{NOT_ATTRIBUTABLE}"'
    row.need("attribution_label", (ATTRIBUTABLE, NOT_ATTRIBUTABLE).__contains__, expected)
    row.need("claim", is_filled, "a text")
    lists = ("references", "citation_links", "webpage_references")
    values: dict[str, Any] = {
        field.name: row.texts(field.name) if field.name in lists else row.text(field.name)
        for field in fields(Pair)
    }
    return Pair(**values)


def _page_judgement(row: Row) -> PageJudgement:
    expected = " or ".join(map(show, PAGE_SUPPORT))
    row.need(_VERDICT, lambda value: is_text(value) and value in PAGE_SUPPORT, expected)
    row.need("statement", is_filled, "a text")
    optional = ("title", "content_title", "date", "author", "localized_evidence")
    values: dict[str, Any] = {
        field.name: _text_or_none(row, field.name)
        if field.name.replace("source_", "") in optional
        else row.text(field.name)
        for field in fields(PageJudgement)
    }
    return PageJudgement(**values)


def _text_or_none(row: Row, key: str) -> str | None:
    text: str | None = None if row.item.get(key) is None else row.text(key)
    return text


def _word(row: Row, key: str, words: type[AnyEnum]) -> AnyEnum | None:
    try:
        return words(row.item.get(key))
    except ValueError:
        expected = " or ".join(show(word.value) for word in words)
        row.odd("word-odd", key, f"{expected} (read as none)")
        return None


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_index(value: Any) -> bool:
    return type(value) is int and value >= 0
