"""The rows of FELM's file as records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shroom.core.problems import show
from shroom.datasets import rows

#: World knowledge, science and technology, writing and recommendation, reasoning, mathematics.
DOMAINS = ("wk", "science", "writing_rec", "reasoning", "math")

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
            comment=_list(row, "comment"),
            type=_list(row, "type", none=True),
            ref=_list(row, "ref"),
            ref_contents=_list(row, "ref_contents"),
        )
        _check_lengths(row, record)
        self._check_first(row, record)
        return record

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
        row.odd("word-odd", "domain", f"one of {', '.join(DOMAINS)}")
    return value if isinstance(value, str) else ""


def _list(row: rows.Row, key: str, *, none: bool = False) -> tuple[Any, ...]:
    """Return a list of texts; in the source an empty one is ``[]`` or an empty text."""
    value = row.item.get(key, [])
    if value == "":
        return ()
    kinds = (str, type(None)) if none else (str,)
    if isinstance(value, list) and all(isinstance(item, kinds) for item in value):
        return tuple(value)
    row.odd("list-odd", key, "a list of texts (read as none)")
    return ()


def _check_lengths(row: rows.Row, record: Response) -> None:
    """Report lists of another length than the segments, and segments without a text."""
    m = len(record.labels)
    for key in ("comment", "type"):
        n = len(getattr(record, key))
        if n not in (0, m):
            row.odd("length-odd", key, f"{m} of them, one for each segment", f"{n}")
    for number, segment in enumerate(record.segmented_response):
        if not segment.strip():
            key = f"segmented_response[{number}]"
            row.odd("segment-empty", key, "a segment with a text", show(segment))


def _is_flags(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(flag, bool) for flag in value)
