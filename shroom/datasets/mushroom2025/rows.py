"""The rows of files of Mu-SHROOM as records, with everything that is odd reported at its place."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shroom.core import json_reading
from shroom.core.problems import show
from shroom.datasets.mushroom2025.fields import Fields
from shroom.datasets.mushroom2025.records import KEYS, HardSpan, Record

if TYPE_CHECKING:
    from shroom.core.problems import Problems


class Rows:
    """The rows of one file while they are read; ``strict`` as of :class:`Fields`."""

    def __init__(
        self, file: str, problems: Problems, seen: dict[str, str], *, strict: bool = False
    ) -> None:
        self.file, self.problems, self.seen, self.strict = file, problems, seen, strict
        self.contents: dict[tuple[Any, ...], int] = {}
        self.common: dict[tuple[str, str, str], list[int]] = {}

    def record(self, index: int, item: Any) -> Record | None:
        """Return the row's record, or ``None``, with the reason among the problems."""
        if item is json_reading.BROKEN:
            return None
        if not isinstance(item, dict):
            self.problems.add("row-dropped", self.file, "an object", show(item), index=index)
            return None
        fields = Fields(item, index, self.file, self.problems, self.strict)
        text = item.get("model_output_text")
        # null and NaN are how tables write an empty text.
        if not isinstance(text, (str, float)) and item.get("model_output_text", "") is not None:
            found = show(text) if "model_output_text" in item else f"keys {show(list(item))}"
            fields.report("row-dropped", "model_output_text", "a text", found)
            return None
        record = self._record(fields)
        self._check(fields, record)
        return record

    def _record(self, fields: Fields) -> Record:
        item = fields.item
        return Record(
            id=self._id(fields),
            lang=self._lang(fields),
            model_input=_text(fields, "model_input"),
            model_output_text=_text(fields, "model_output_text"),
            model_id=_text(fields, "model_id"),
            soft_labels=fields.soft(item.get("soft_labels"), "soft_labels"),
            hard_labels=fields.hard(item.get("hard_labels"), "hard_labels"),
            model_output_tokens=_list(fields, "model_output_tokens"),
            model_output_logits=_list(fields, "model_output_logits"),
            wikipedia_url=_text(fields, "wikipedia_url"),
            annotations=_annotations(replace(fields, strict=False)),  # nothing is scored by them
        )

    def _id(self, fields: Fields) -> str | None:
        said = fields.id
        if said is None:
            found = show(fields.item["id"]) if "id" in fields.item else "none"
            self._common("id", "an id", found, fields.index)
        elif said in self.seen:
            fields.report("id-doubled", "id", "each id once", f"{said}, as in {self.seen[said]}")
        else:
            self.seen[said] = f"{self.file}: item {fields.index}"
        return said

    def _lang(self, fields: Fields) -> str:
        said = _text(fields, "lang")
        if said != said.upper():
            self._common("lang", f"{said.upper()} (read so)", show(said), fields.index)
        return said.upper()

    def _check(self, fields: Fields, record: Record) -> None:
        length = len(record.model_output_text)
        tokens, logits = len(record.model_output_tokens), len(record.model_output_logits)
        if fields.item["model_output_text"] == "":  # null and NaN have been told
            fields.report("row-odd", "model_output_text", "an answer", "an empty text")
        if tokens != logits:
            expected = f"as many logits as the {tokens} tokens"
            fields.report("row-odd", "model_output_logits", expected, f"{logits}")
        fields.check_ends(record.soft_labels or (), record.hard_labels or (), length)
        for annotator, spans in record.annotations.items():
            fields.past_end(spans, f"annotations.{annotator}", length, "row-odd")
        for key in fields.item.keys() - KEYS:
            self._common(key, "the keys of the data set (kept)", show(key), fields.index)
        content = (record.lang, record.model_id, record.model_input, record.model_output_text)
        if content in self.contents:
            first = f"the same texts as item {self.contents[content]}"
            fields.report("row-doubled", None, "each answer once", first)
        self.contents.setdefault(content, fields.index)

    def _common(self, key: str, expected: str, found: str, index: int) -> None:
        """Note what is mostly so in all rows of a file, or in none."""
        self.common.setdefault((key, expected, found), []).append(index)

    def finish(self, n: int) -> None:
        """Report once for the file what many of its rows share."""
        for (key, expected, found), rows in self.common.items():
            rest = f", here and in {len(rows) - 1} more of {n} rows" if len(rows) > 1 else ""
            place = {"index": rows[0], "key": key}
            self.problems.add("row-odd", self.file, expected, found + rest, **place)


def _text(fields: Fields, key: str) -> str:
    value = fields.item.get(key, "")
    if isinstance(value, str):
        return value
    finite = not isinstance(value, float) or math.isfinite(value)
    code = "row-odd" if finite else "value-finite"
    fields.report(code, key, "a text (read as empty)", show(value))
    return ""


def _list(fields: Fields, key: str) -> tuple[Any, ...]:
    value = fields.item.get(key)
    if value is None or isinstance(value, list):
        return tuple(value or ())
    fields.report("row-odd", key, "a list (read as empty)", show(value))
    return ()


def _annotations(fields: Fields) -> dict[str, tuple[HardSpan, ...]]:
    """Return what each annotator marked, by name; the hub's copy has a list of objects instead."""
    value = fields.item.get("annotations")
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        value = {str(each.get("annotator_id")): each.get("labels") for each in value}
    if value is None or isinstance(value, dict):
        found = {
            name: () if spans is None else fields.hard(spans, f"annotations.{name}")
            for name, spans in (value or {}).items()
        }
        return {name: spans for name, spans in found.items() if spans is not None}
    fields.report("row-odd", "annotations", "spans by annotator (left out)", show(value))
    return {}
