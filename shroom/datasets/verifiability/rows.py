"""From the rows of the verifiability files to records, reporting everything that is odd."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from shroom.core.json_reading import BROKEN
from shroom.core.problems import Problem, show
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
    from collections.abc import Iterable, Iterator
    from enum import Enum

    from shroom.core.problems import Problems

    AnyEnum = TypeVar("AnyEnum", bound=Enum)

ATTRIBUTABLE, NOT_ATTRIBUTABLE = "attributable", "not attributable"
_WORTHY, _SUPPORTED = "statement_is_verification_worthy", "statement_supported"
_JUDGED = "citation_annotations"


class Rows:
    """The rows of one data set while they are read, file by file.

    Parameters
    ----------
    problems : Problems
        Gets what is odd, once :meth:`report` is called.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems, self.file = problems, ""
        self.place: dict[str, Any] = {}
        self.odd: list[Problem] = []
        self.first: dict[object, str] = {}

    def records(self, items: list[Any], file: str) -> list[Response | Pair | None]:
        """Return a record for each item of a file, ``None`` where it cannot be one."""
        self.file = file
        return [self._record(index, item) for index, item in enumerate(items)]

    def report(self) -> None:
        """Report what was odd, the rarest kind first, so that a frequent one hides no other."""
        kinds = Counter(problem.expected for problem in self.odd)
        for odd in sorted(self.odd, key=lambda odd: kinds[odd.expected]):
            place = {"index": odd.index, "id": odd.id, "key": odd.key}
            self.problems.add(odd.code, odd.file, odd.expected, odd.found, **place)

    def _record(self, index: int, item: Any) -> Response | Pair | None:
        self.place = {"index": index}
        if item is BROKEN:
            return None
        if not isinstance(item, dict):
            self._drop("an object", show(item))
            return None
        row_id = item.get("id")
        self.place["id"] = row_id if type(row_id) in (str, int) else None
        record: Response | Pair | None
        if "annotation" in item:
            record = self._response(item)
        elif "attribution_label" in item:
            record = self._pair(item)
        else:
            self._drop('the key "annotation" or "attribution_label"', _keys(item))
            return None
        if record is not None:
            for key, expected, found in oddities(record):
                self._odd(expected, found, key)
            self._check_first(record)
        return record

    def _response(self, item: dict[str, Any]) -> Response | None:
        annotation = item["annotation"]
        judged = annotation.get("statement_to_annotation") if isinstance(annotation, dict) else None
        if not isinstance(judged, dict):
            self._drop("statement_to_annotation, an object", show(annotation), "annotation")
            return None
        cited = item.get("statements_to_citation_texts")
        if not isinstance(cited, dict):
            self._odd("an object", show(cited), "statements_to_citation_texts")
            cited = {}
        unjudged = [text for text in cited if text not in judged]
        if unjudged:
            self._odd("annotations of all statements", f"none of {show(unjudged)}", "annotation")
        return Response(
            id=self._text(item, "id"),
            query=self._text(item, "query"),
            response=self._text(item, "response"),
            split=self._text(item, "split"),
            system_name=self._text(item, "system_name"),
            citations=tuple(self._citations(item)),
            statements=tuple(self._statements(judged, cited)),
            fluency=self._word(annotation, "fluency", Likert),
            perceived_utility=self._word(annotation, "perceived_utility", Likert),
        )

    def _citations(self, item: dict[str, Any]) -> Iterator[Citation]:
        for number, value in enumerate(self._list(item, "citations")):
            key = f"citations[{number}]."
            if not isinstance(value, dict):
                self._odd("an object (left out)", show(value), key[:-1])
                continue
            start, end = (self._index(value, each, key) for each in ("start_index", "end_index"))
            yield Citation(
                self._text(value, "text", key), start, end, self._text(value, "link_target", key)
            )

    def _statements(self, judged: dict[str, Any], cited: dict[str, Any]) -> Iterator[Statement]:
        for number, (text, value) in enumerate(judged.items()):
            key = f"statement {number}: "
            if not isinstance(value, dict):
                self._odd("an object (left out)", show(value), key[:-2])
                continue
            worthy = value.get(_WORTHY)
            if not isinstance(worthy, bool):
                self._odd("true or false (read as false)", show(worthy), key + _WORTHY)
            supported = self._word(value, _SUPPORTED, Supported, key, none=True)
            texts = self._texts(cited, text, key + "citation texts") if text in cited else None
            judgements = self._judgements(value, key)
            yield Statement(text, texts, worthy is True, supported, judgements)

    def _judgements(self, value: dict[str, Any], key: str) -> tuple[Judgement, ...] | None:
        if value.get(_JUDGED) is None:
            return None
        found = []
        for place, each in enumerate(self._list(value, _JUDGED, key)):
            inner = f"{key}{_JUDGED}[{place}]"
            if not isinstance(each, dict):
                self._odd("an object (left out)", show(each), inner)
                continue
            text = self._text(each, "citation_text", f"{inner}.")
            support = self._word(each, "citation_supports", Support, f"{inner}.")
            missing = each.get("evidence") is None
            evidence = None if missing else self._text(each, "evidence", f"{inner}.")
            found.append(Judgement(text, support, evidence))
        return tuple(found)

    def _pair(self, item: dict[str, Any]) -> Pair | None:
        label, claim = item["attribution_label"], item.get("claim")
        if label not in (ATTRIBUTABLE, NOT_ATTRIBUTABLE):
            expected = f'"{ATTRIBUTABLE}" or "{NOT_ATTRIBUTABLE}"'
            self._drop(expected, show(label), "attribution_label")
            return None
        if not isinstance(claim, str) or not claim.strip():
            self._drop("a text", show(claim), "claim")
            return None
        return Pair(
            id=self._text(item, "id"),
            question=self._text(item, "question"),
            response=self._text(item, "response"),
            claim=claim,
            claim_raw_string=self._text(item, "claim_raw_string"),
            references=self._texts(item, "references", "references"),
            citation_links=self._texts(item, "citation_links", "citation_links"),
            webpage_references=self._texts(item, "webpage_references", "webpage_references"),
            attribution_label=label,
            src_dataset=self._text(item, "src_dataset"),
        )

    def _check_first(self, record: Response | Pair) -> None:
        """Report what an earlier row has already: all of it, or its id."""
        place = f"item {self.place['index']} of {self.file}"
        earlier = self.first.setdefault(record, place)
        if earlier is not place:
            self._add("row-doubled", "another row", f"that of {earlier}")
            return
        earlier = self.first.setdefault(record.id, place) if record.id else place
        if earlier is not place:
            self._odd("an id of its own", f"that of {earlier}", "id")

    def _text(self, holder: dict[str, Any], key: str, above: str = "") -> str:
        value = holder.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, float) and not math.isfinite(value):
            self._add("value-finite", "a text (read as empty)", show(value), above + key)
        else:
            self._odd("a text (read as empty)", show(value), above + key)
        return ""

    def _index(self, holder: dict[str, Any], key: str, above: str) -> int | None:
        value = holder.get(key)
        if type(value) is int and value >= 0:
            return value
        self._odd("a whole number (read as none)", show(value), above + key)
        return None

    def _word(
        self,
        holder: dict[str, Any],
        key: str,
        words: type[AnyEnum],
        above: str = "",
        *,
        none: bool = False,
    ) -> AnyEnum | None:
        value = holder.get(key)
        if none and value is None:
            return None
        try:
            return words(value)
        except ValueError:
            expected = " or ".join(show(word.value) for word in words)
            self._odd(f"{expected} (read as none)", show(value), above + key)
            return None

    def _list(self, holder: dict[str, Any], key: str, above: str = "") -> list[Any]:
        value = holder.get(key)
        if isinstance(value, list):
            return value
        self._odd("a list (read as empty)", show(value), above + key)
        return []

    def _texts(self, holder: dict[str, Any], key: str, name: str) -> tuple[str, ...]:
        value = holder.get(key)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        self._odd("a list of texts (read as empty)", show(value), name)
        return ()

    def _drop(self, expected: str, found: str, key: str | None = None) -> None:
        self._add("row-dropped", expected, found, key)

    def _odd(self, expected: str, found: str, key: str) -> None:
        self._add("row-odd", expected, found, key)

    def _add(self, code: str, expected: str, found: str, key: str | None = None) -> None:
        self.odd.append(Problem(code, self.file, expected, found, **self.place, key=key))


def _keys(item: Iterable[str]) -> str:
    return f"keys {show(list(item))}"
