"""SHROOM, SemEval-2024 Task 6: its data files as datapoints.

Keys differ by split: trial and val have ``ref``, ``model`` and labels, but no ``id``; test has an
``id`` and no ``ref``; train has neither ``id`` nor labels. Whatever is absent stays empty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from shroom import decode
from shroom.datapoint import Datapoint, Label, Reference, Task
from shroom.documents import Document, documents_among_others
from shroom.problems import InvalidInput, Problems, show
from shroom.rows import id_in, number_in
from shroom.table import TOLERANCE, P

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import Enum

    from shroom.documents import Source

    AnyEnum = TypeVar("AnyEnum", bound=Enum)


@dataclass(frozen=True)
class DataFile:
    """One file of data: its name, without folders, and its datapoints in order."""

    base: str
    datapoints: list[Datapoint]


def read(source: Source, problems: Problems | None = None) -> list[Datapoint]:
    """Return the datapoints of a file, or of all files of a folder or zip.

    Parameters
    ----------
    source : path or "-"
        A file (``.json``, ``.jsonl``, either of them gzipped), a folder, a zip or a pipe.
    problems : Problems, optional
        Gets the warnings, such as a bare ``NaN`` for a text, each with its place.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.

    Examples
    --------
    >>> points = read("shroom/sample/val.model-aware.json")
    >>> len(points), points[0].task.value, points[0].p
    (60, 'PG', 1.0)
    """
    return [point for file in read_files(source, problems) for point in file.datapoints]


def read_files(
    source: Source,
    problems: Problems | None = None,
    choose: Callable[[list[Document]], list[Document]] = list,
) -> list[DataFile]:
    """Return the files of a source one by one, of those that ``choose`` keeps; see :func:`read`."""
    problems = Problems() if problems is None else problems
    files = []
    for document in choose(documents_among_others(source, problems)):
        data = document.read(problems)
        if data is None:
            continue
        items = decode.items(bytes(data), document.file, problems, lines=document.is_lines(data))
        if items is not None:
            files.append(DataFile(document.base, _datapoints(items, document, problems)))
    if problems.errors:
        raise InvalidInput(problems)
    return files


def _datapoints(items: list[Any], document: Document, problems: Problems) -> list[Datapoint]:
    found = []
    for index, item in enumerate(items):
        if item is decode.BROKEN:
            continue
        if not isinstance(item, dict):
            problems.add("item-object", document.file, "an object", show(item), index=index)
            continue
        found.append(_Item(item, index, document.file, problems).datapoint())
    return found


class _Item:
    """One row while it is read, reporting what it has wrong."""

    def __init__(self, item: dict[str, Any], index: int, file: str, problems: Problems) -> None:
        self.item, self.index, self.file, self.problems = item, index, file, problems
        self.id = id_in(item.get("id"))

    def datapoint(self) -> Datapoint:
        if "id" in self.item and self.id is None:
            self._report("id-integer", "id", "an integer")
        for key in ("hyp", "task"):
            if key not in self.item:
                expected, found = f'the key "{key}"', f"keys {show(list(self.item))}"
                place = {"index": self.index, "id": self.id}
                self.problems.add("key-missing", self.file, expected, found, **place)
        task = self._word("task", Task, "task-value")
        ref = self._word("ref", Reference, "ref-value") if self.item.get("ref") else None
        return Datapoint(
            hyp=self._text("hyp"),
            src=self._text("src"),
            tgt=self._text("tgt"),
            task=task or Task.DM,  # without a task there is an error, and this is never used
            ref=ref,
            model=self._text("model"),
            id=self.id,
            labels=self._labels(),
            label=self._word("label", Label, "label-value"),
            p=self._p(),
        )

    def _text(self, key: str) -> str:
        value = self.item.get(key, "")
        if isinstance(value, str):
            return value
        if isinstance(value, float) and not math.isfinite(value):
            self._report("value-finite", key, "a text (read as empty)")
        else:
            self._report("text-string", key, "a text")
        return ""

    def _word(self, key: str, words: type[AnyEnum], code: str) -> AnyEnum | None:
        if key not in self.item:
            return None
        try:
            return words(self.item[key])
        except ValueError:
            self._report(code, key, " or ".join(f'"{word.value}"' for word in words))
            return None

    def _labels(self) -> tuple[Label, ...]:
        value = self.item.get("labels", [])
        try:
            return tuple(Label(label) for label in value)
        except (TypeError, ValueError):
            self._report("label-value", "labels", "a list of labels")
            return ()

    def _p(self) -> float | None:
        if P not in self.item:
            return None
        value = self.item[P]
        number = None if isinstance(value, str) else number_in(value)
        if number is None:
            self._report("p-number", P, "a number")
        elif not -TOLERANCE <= number <= 1 + TOLERANCE:
            self._report("p-range", P, "a number in [0, 1]")
        return number

    def _report(self, code: str, key: str, expected: str) -> None:
        found, place = show(self.item[key]), {"index": self.index, "id": self.id, "key": key}
        self.problems.add(code, self.file, expected, found, **place)
