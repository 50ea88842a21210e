"""The rows of FELM's file as records, with a report of everything odd."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from shroom.core.problems import show
from shroom.datasets import rows

#: World knowledge, science and technology, writing and recommendation, reasoning, mathematics.
DOMAINS = ("wk", "science", "writing_rec", "reasoning", "math")

#: What some readers take for the end of a line; JSON may have it inside a string.
_LINE_BREAKS = re.compile("[\x85\u2028\u2029]")
_NEEDED = ("index", "prompt", "segmented_response", "labels")


@dataclass(frozen=True)
class Response:
    """One answer of ChatGPT and the annotations of its segments.

    Attributes
    ----------
    index : str
        Its number, as a string; predictions are aligned by it.
    domain : str
        One of :data:`DOMAINS`.
    source : str
        Where the prompt is from.
    prompt : str
        The question to ChatGPT.
    response : str or None
        The answer; ``None`` where the file has a bare ``NaN``, with segments all the same.
    segmented_response : tuple of str
        The answer in segments, a few of them empty.
    labels : tuple of bool
        For each segment, whether it is factual.
    comment : tuple of str
        For each segment, the annotators' reason or correction; mostly empty.
    type : tuple of (str or None)
        For each segment, the kind of error, ``None`` or empty if there is no error; an empty tuple
        in the domains without kinds.
    ref : tuple of str
        The addresses of the references.
    ref_contents : tuple of str
        Passages of them; not for all.
    """

    index: str
    domain: str
    source: str
    prompt: str
    response: str | None
    segmented_response: tuple[str, ...]
    labels: tuple[bool, ...]
    comment: tuple[str, ...]
    type: tuple[str | None, ...]
    ref: tuple[str, ...]
    ref_contents: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str | None, ...]:
        """For each segment, the kind of error; ``None`` where the list has another length."""
        m = len(self.labels)
        return self.type if len(self.type) == m else (None,) * m


class RowReader(rows.RowReader[Response]):
    """Reads the rows of one file; an index or a response must be new in all files."""

    id_key = "index"
    not_an_object = "item-object"

    def read(self, row: rows.Row) -> Response | None:
        """Return the response of a row."""
        missing = [key for key in _NEEDED if key not in row.item]
        for key in missing:
            row.report("key-missing", None, f'the key "{key}"', f"keys {show(list(row.item))}")
        if missing:
            return None
        index = row.need("index", lambda value: type(value) in (str, int), "a string")
        prompt = row.need("prompt", rows.is_text, "a text")
        segments = row.need("segmented_response", rows.is_texts, "a list of texts")
        labels = row.need("labels", _is_flags, "a list of true or false")
        if not segments or len(segments) != len(labels):
            expected = f"one for each of {len(segments)} segments, and some"
            raise rows.Unusable("labels", expected, f"{len(labels)}")
        record = Response(
            str(index),
            domain=_domain(row),
            source=row.text("source", None) or "",
            prompt=prompt,
            response=row.text("response", None),
            segmented_response=tuple(segments),
            labels=tuple(labels),
            comment=self._list(row, "comment"),
            type=self._list(row, "type", none=True),
            ref=self._list(row, "ref"),
            ref_contents=self._list(row, "ref_contents"),
        )
        _check_texts(row, record)
        self._check_lengths(row, record)
        self._check_first(row, record)
        return record

    def _list(self, row: rows.Row, key: str, *, none: bool = False) -> tuple[Any, ...]:
        """Return a list of texts; in the source an empty one is ``[]`` or an empty text."""
        value = row.item.get(key, [])
        if value == "":
            self.share(row, key, "a list", '""')
            return ()
        kinds = (str, type(None)) if none else (str,)
        if isinstance(value, list) and all(isinstance(item, kinds) for item in value):
            return tuple(value)
        row.odd(key, "a list of texts (read as none)")
        return ()

    def _check_lengths(self, row: rows.Row, record: Response) -> None:
        m = len(record.labels)
        for key in ("comment", "type"):
            n = len(getattr(record, key))
            if n not in (0, m):
                row.odd(key, f"{m} of them, one for each segment", f"{n}")
        if len(record.ref) != len(record.ref_contents):
            expected = "a passage of each ref"
            self.share(row, "ref_contents", expected, "another number of them")
        pairs = list(zip(record.type, record.labels))
        if any(kind and factual for kind, factual in pairs):
            expected = "kinds of error on wrong segments alone"
            self.share(row, "type", expected, "one that is factual")
        if any(not kind and not factual for kind, factual in pairs):
            self.share(row, "type", "a kind of error for each wrong segment, or no list", "none")

    def _check_first(self, row: rows.Row, record: Response) -> None:
        """Report an index, or a prompt and answer, that an earlier row has."""
        first = self.earlier(row, record.index)
        if first:
            row.report("id-doubled", "index", "an index of its own", f"that of {first}")
        first = self.earlier(row, (record.prompt, record.segmented_response))
        if first:
            row.report("row-doubled", None, "another prompt and answer", f"those of {first}")


def _domain(row: rows.Row) -> str:
    value = row.item.get("domain")
    if value not in DOMAINS:
        row.odd("domain", f"one of {', '.join(DOMAINS)}")
    return value if isinstance(value, str) else ""


def _check_texts(row: rows.Row, record: Response) -> None:
    for number, segment in enumerate(record.segmented_response):
        if not segment.strip():
            key = f"segmented_response[{number}]"
            row.odd(key, "a segment with a text", show(segment))
    for key, value in vars(record).items():
        texts = value if isinstance(value, tuple) else (value,)
        broken = _LINE_BREAKS.search("".join(text for text in texts if isinstance(text, str)))
        if broken:
            character = f"U+{ord(broken[0]):04X}, which some readers take for the end of a line"
            row.odd(key, "a text without ends of lines other than \\n", character)


def _is_flags(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(flag, bool) for flag in value)
