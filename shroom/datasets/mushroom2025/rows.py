"""The rows of files of Mu-SHROOM as records, with everything odd reported at its place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shroom.core.problems import show
from shroom.datasets import rows
from shroom.datasets.mushroom2025.records import KEYS, HardSpan, Record, SoftSpan
from shroom.scoring.kinds.base import Fault
from shroom.scoring.kinds.quotes import past_end
from shroom.scoring.kinds.span_values import read_spans


class RowReader(rows.RowReader[Record]):
    """Reads the rows of one file."""

    def row(self, index: int, item: Any) -> rows.Row:
        """Return an item with its place."""
        item = item if isinstance(item, dict) else {}
        row_id = item.get("id")
        row_id = row_id if isinstance(row_id, str) and row_id else None
        return rows.Row(item, index, self.file, self.problems, row_id)

    def read(self, row: rows.Row) -> Record:
        """Return the record of a row."""
        if "model_output_text" not in row.item:
            raise rows.Unusable("model_output_text", "a text", f"keys {show(list(row.item))}")
        # null and NaN are empty texts, as tables write them.
        row.need("model_output_text", _is_text_or_none, "a text")
        record = Record(
            id=self._id(row),
            lang=self._lang(row),
            model_input=_text(row, "model_input"),
            model_output_text=_text(row, "model_output_text"),
            model_id=_text(row, "model_id"),
            soft_labels=_spans(row, "soft_labels", SoftSpan),
            hard_labels=_spans(row, "hard_labels", HardSpan),
            model_output_tokens=_list(row, "model_output_tokens"),
            model_output_logits=_list(row, "model_output_logits"),
            wikipedia_url=_text(row, "wikipedia_url"),
            annotations=_annotations(row),
        )
        self._check(row, record)
        return record

    def _id(self, row: rows.Row) -> str | None:
        if not isinstance(row.id, str):
            got = show(row.item["id"]) if "id" in row.item else "none"
            self.share(row, "id-odd", "id", "an id", got)
            return None
        first = self.earlier(row, row.id)
        if first:
            row.report("id-doubled", "id", "each id once", f"{row.id}, as in {first}")
        return row.id

    def _lang(self, row: rows.Row) -> str:
        lang = _text(row, "lang")
        if lang != lang.upper():
            self.share(row, "word-odd", "lang", f"{lang.upper()} (read so)", show(lang))
        return lang.upper()

    def _check(self, row: rows.Row, record: Record) -> None:
        tokens, logits = len(record.model_output_tokens), len(record.model_output_logits)
        if row.item["model_output_text"] == "":  # null and NaN are reported before
            row.odd("answer-empty", "model_output_text", "an answer", "an empty text")
        if tokens != logits:
            expected = f"as many logits as the {tokens} tokens"
            row.odd("length-odd", "model_output_logits", expected, f"{logits}")
        marks = {"soft_labels": record.soft_labels, "hard_labels": record.hard_labels}
        marks |= {f"annotations.{name}": own for name, own in record.annotations.items()}
        for key, marked in marks.items():
            _report(row, key, past_end(marked, record.model_output_text))
        for key in row.item.keys() - KEYS:
            self.share(row, "key-unknown", key, "the keys of the data set", show(key))
        content = (record.lang, record.model_id, record.model_input, record.model_output_text)
        first = self.earlier(row, (self.file, *content))
        if first:
            row.report("row-doubled", None, "each answer once", f"the same texts as {first}")


def _spans(row: rows.Row, key: str, form: type[Any], value: Any = None) -> Any:
    """Return the spans of a key; ``None``, which is reported, if they are malformed."""
    spans, faults = read_spans(row.item.get(key) if value is None else value, form)
    _report(row, key, faults)
    return spans


def _report(row: rows.Row, key: str, faults: Iterable[Fault]) -> None:
    for code, expected, value, part, form in faults:
        is_left_out = not code.startswith("span-") or code == "span-value"
        rest = f" ({key} is left out)" if is_left_out else ""
        row.report("span-odd" if rest else code, key + part, expected + rest, form(value))


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, (str, float))


def _text(row: rows.Row, key: str) -> str:
    """Return a text, which may be absent."""
    text: str = row.text(key) if key in row.item else ""
    return text


def _list(row: rows.Row, key: str) -> tuple[Any, ...]:
    """Return a list, which may be absent."""
    if row.item.get(key) is None:
        return ()
    return tuple(row.take("list-odd", key, rows.is_list, "a list (read as empty)", ()))


def _annotations(row: rows.Row) -> dict[str, tuple[HardSpan, ...]]:
    """Return what each annotator marked, by name; the hub's copy has a list of objects instead."""
    value = row.item.get("annotations")
    if rows.is_objects(value):
        value = {
            str(annotation.get("annotator_id")): annotation.get("labels") for annotation in value
        }
    if value is None or isinstance(value, dict):
        by_name = {
            name: () if spans is None else _spans(row, f"annotations.{name}", HardSpan, spans)
            for name, spans in (value or {}).items()
        }
        return {name: spans for name, spans in by_name.items() if spans is not None}
    row.odd("object-odd", "annotations", "spans by annotator (left out)")
    return {}
