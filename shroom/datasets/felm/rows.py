"""A row of FELM's file as a record, reporting everything that is odd about it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core import json_reading
from shroom.core.problems import show

if TYPE_CHECKING:
    from shroom.core.problems import Problems

#: World knowledge, science and technology, writing and recommendation, reasoning, mathematics.
DOMAINS = ("wk", "science", "writing_rec", "reasoning", "math")

#: What some readers take for the end of a line; JSON may have it inside a string.
_LINE_BREAKS = re.compile("[\x85\u2028\u2029]")
_NEEDED = ("index", "prompt", "segmented_response", "labels")


@dataclass(frozen=True)
class Response:
    """One answer of ChatGPT and what people said of its segments.

    Attributes
    ----------
    index : str
        Its number, as a string; predictions are aligned by it.
    domain : str
        One of :data:`DOMAINS`.
    source : str
        Where the prompt is from.
    prompt : str
        What ChatGPT was asked.
    response : str or None
        What it answered; ``None`` where the file has a bare ``NaN``. Its segments are there.
    segmented_response : tuple of str
        The answer in segments, a few of them empty.
    labels : tuple of bool
        For each segment, whether it is factual.
    comment : tuple of str
        For each segment, the annotators' reason or correction; mostly empty.
    type : tuple of (str or None)
        For each segment, the kind of error, ``None`` or empty where there is none; an empty tuple
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


class Rows:
    """The rows of one data set while they are read, file by file.

    Parameters
    ----------
    problems : Problems
        Gets what is odd.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems, self.file = problems, ""
        self.place: dict[str, Any] = {}
        self.first: dict[object, str] = {}

    def records(self, items: list[Any], file: str) -> list[Response | None]:
        """Return a record for each item of a file, ``None`` where it cannot be one."""
        self.file = file
        #: What rows have alike, as (key, expected, found), and where.
        self.common: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
        found = [self._record(*row) for row in enumerate(items)]
        for (key, expected, said), places in self.common.items():
            rest = f" here and in {len(places) - 1} more" if len(places) > 1 else ""
            self.problems.add("row-odd", file, expected, said + rest, key=key, **places[0])
        return found

    def _record(self, place: int, item: Any) -> Response | None:
        if item is json_reading.BROKEN:
            return None
        if not isinstance(item, dict):
            self.problems.add("item-object", self.file, "an object", show(item), index=place)
            return None
        index = item.get("index")
        self.place = {"index": place, "id": index if type(index) in (str, int) else None}
        missing = [key for key in _NEEDED if key not in item]
        for key in missing:
            self._add("key-missing", None, f'the key "{key}"', f"keys {show(list(item))}")
        if missing:
            return None
        reason = _unusable(item)
        if reason is not None:
            self._add("row-dropped", *reason)
            return None
        record = Response(
            str(index),
            domain=self._domain(item),
            source=self._text(item, "source") or "",
            prompt=item["prompt"],
            response=self._text(item, "response"),
            segmented_response=tuple(item["segmented_response"]),
            labels=tuple(item["labels"]),
            comment=self._list(item, "comment"),
            type=self._list(item, "type", none=True),
            ref=self._list(item, "ref"),
            ref_contents=self._list(item, "ref_contents"),
        )
        self._check(record)
        return record

    def _domain(self, item: dict[str, Any]) -> str:
        value = item.get("domain")
        if value not in DOMAINS:
            self._add("row-odd", "domain", f"one of {', '.join(DOMAINS)}", show(value))
        return value if isinstance(value, str) else ""

    def _text(self, item: dict[str, Any], key: str) -> str | None:
        value = item.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, float) and not math.isfinite(value):
            self._add("value-finite", key, "a text (read as none)", show(value))
        else:
            self._add("row-odd", key, "a text (read as none)", show(value))
        return None

    def _list(self, item: dict[str, Any], key: str, *, none: bool = False) -> tuple[Any, ...]:
        """Return a list of texts; the source writes none as ``[]`` or as an empty text."""
        value = item.get(key, [])
        if value == "":
            self._add_common(key, "a list", '""')
            return ()
        kinds = (str, type(None)) if none else (str,)
        if isinstance(value, list) and all(isinstance(each, kinds) for each in value):
            return tuple(value)
        self._add("row-odd", key, "a list of texts (read as none)", show(value))
        return ()

    def _check(self, record: Response) -> None:
        for number, segment in enumerate(record.segmented_response):
            if not segment.strip():
                key = f"segmented_response[{number}]"
                self._add("row-odd", key, "a segment with a text", show(segment))
        for key, value in vars(record).items():
            texts = value if isinstance(value, tuple) else (value,)
            broken = _LINE_BREAKS.search("".join(map(_text_of, texts)))
            if broken:
                found = f"U+{ord(broken[0]):04X}, which some readers take for the end of a line"
                self._add("row-odd", key, "a text without ends of lines other than \\n", found)
        self._check_lengths(record)
        self._check_first(record)

    def _check_lengths(self, record: Response) -> None:
        m = len(record.labels)
        for key in ("comment", "type"):
            n = len(getattr(record, key))
            if n not in (0, m):
                self._add("row-odd", key, f"{m} of them, one for each segment", f"{n}")
        if len(record.ref) != len(record.ref_contents):
            self._add_common("ref_contents", "a passage of each ref", "another number of them")
        pairs = list(zip(record.type, record.labels))
        if any(kind and factual for kind, factual in pairs):
            self._add_common(
                "type", "kinds of error on wrong segments alone", "one that is factual"
            )
        if any(not kind and not factual for kind, factual in pairs):
            self._add_common("type", "a kind of error for each wrong segment, or no list", "none")

    def _check_first(self, record: Response) -> None:
        """Report what an earlier row has already: the index, or the prompt and the answer."""
        place = f"item {self.place['index']} of {self.file}"
        earlier = self.first.setdefault(record.index, place)
        if earlier is not place:
            self._add("id-doubled", "index", "an index of its own", f"that of {earlier}")
        content = record.prompt, record.segmented_response
        earlier = self.first.setdefault(content, place)
        if earlier is not place:
            self._add("row-doubled", None, "another prompt and answer", f"those of {earlier}")

    def _add(self, code: str, key: str | None, expected: str, found: str) -> None:
        self.problems.add(code, self.file, expected, found, key=key, **self.place)

    def _add_common(self, key: str, expected: str, found: str) -> None:
        self.common.setdefault((key, expected, found), []).append(self.place)


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def _unusable(item: dict[str, Any]) -> tuple[str, str, str] | None:
    """Return why a row can be no record, as (key, expected, found)."""
    index, segments, labels = item["index"], item["segmented_response"], item["labels"]
    if type(index) not in (str, int):
        return "index", "a string", show(index)
    if not isinstance(item["prompt"], str):
        return "prompt", "a text", show(item["prompt"])
    for key, kind, word in (
        ("segmented_response", str, "texts"),
        ("labels", bool, "true or false"),
    ):
        value = item[key]
        if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
            return key, f"a list of {word}", show(value)
    if not segments or len(segments) != len(labels):
        return "labels", f"one for each of {len(segments)} segments, and some", f"{len(labels)}"
    return None
