"""What can be corrupted: SHROOM's data, or pairs of premise and hypothesis."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from shroom.core import json_reading
from shroom.core.datapoint import Datapoint, Label, Reference, Task
from shroom.core.problems import Problems, show
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD
from shroom.scoring.csv_files import columns_of
from shroom.scoring.datapoint_files import DataFile, read_files
from shroom.scoring.item_values import TOLERANCE, number_in
from shroom.scoring.table import P

if TYPE_CHECKING:
    from shroom.core.paths import Source
    from shroom.scoring.input_files import Document

PREMISE, HYPOTHESIS = "premise", "hypothesis"
#: What the labels of pairs say, in lower case and with blanks; every other label is an error.
FAITHFUL = frozenset({"not hallucination", "entailment", "paraphrase", "supported", "faithful"})
UNFAITHFUL = frozenset(
    ["hallucination", "contradiction", "neutral", "not entailment", "not supported", "unfaithful"]
)
#: How many bytes of a file are read to recognise its form.
_HEAD = 1 << 16


def read(source: Source, problems: Problems | None = None) -> list[DataFile]:
    """Return the files of a source, each in the form that it has.

    Parameters
    ----------
    source : path or "-"
        SHROOM's data (a file, a folder, a zip or a pipe), or JSON, JSON Lines or, named directly,
        CSV with ``premise`` and ``hypothesis``, and perhaps ``label``, ``p`` and ``task``.
    problems : Problems, optional
        Gets the warnings, each with its place.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.

    Examples
    --------
    >>> [(file.base, len(file.datapoints)) for file in read("shroom/sample/val.model-aware.json")]
    [('val.model-aware.json', 60)]
    """
    problems = Problems() if problems is None else problems
    of_pairs: list[DataFile] = []

    def others(found: list[Document]) -> list[Document]:
        """Read those that hold pairs, and return the rest."""
        rest = []
        for document in found:
            if _holds_pairs(document):
                rows = _rows(document, problems)
                points = [_Pair(row, n, document.file, problems).datapoint() for n, row in rows]
                of_pairs.append(DataFile(document.base, points))
            else:
                rest.append(document)
        return rest

    return sorted(read_files(source, problems, others) + of_pairs, key=lambda file: file.base)


def _holds_pairs(document: Document) -> bool:
    """Return whether a file has pairs: its first item has no ``hyp``, but ``hypothesis``."""
    data = document.read(Problems())
    head = b"" if data is None else bytes(data[:_HEAD])
    if _is_csv(document):
        return "hyp" not in columns_of(head)
    return b'"hyp"' not in head and b'"hypothesis"' in head


def _is_csv(document: Document) -> bool:
    return document.base.lower().endswith((".csv", ".csv.gz"))


def _rows(document: Document, problems: Problems) -> list[tuple[int, dict[str, Any]]]:
    """Return the rows that can be read, each with its number from 0."""
    data = document.read(problems)
    if data is None:
        return []
    if _is_csv(document):
        return list(enumerate(_csv_rows(bytes(data), document.file, problems)))
    lines = document.is_lines(data)
    found = []
    for index, item in enumerate(
        json_reading.items(bytes(data), document.file, problems, lines=lines) or []
    ):
        if isinstance(item, dict):
            found.append((index, item))
        elif item is not json_reading.BROKEN:
            problems.add("item-object", document.file, "an object", show(item), index=index)
    return found


def _csv_rows(data: bytes, file: str, problems: Problems) -> list[dict[str, Any]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problems.add("not-utf8", file, "UTF-8", f"byte 0x{data[error.start]:02x}")
        return []
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        rows = list(reader)
    except csv.Error as error:
        found = f"{error} at line {reader.line_num}"
        problems.add("not-csv", file, "lines of fields between commas", found)
        return []
    if not rows:
        problems.add("empty", file, "a header, and a line for each pair", "no line")
    for index, row in enumerate(rows):
        if None in row or None in row.values():
            expected = f"{len(reader.fieldnames or [])} fields, as the header has"
            problems.add("key-missing", file, expected, "another number", index=index)
    return [
        {str(key).strip(): value for key, value in row.items() if value not in ("", None)}
        | {key: row.get(key) or "" for key in (PREMISE, HYPOTHESIS) if key in row}
        for row in rows
    ]


class _Pair:
    """One pair while it is read, reporting what it has wrong."""

    def __init__(self, row: dict[str, Any], index: int, file: str, problems: Problems) -> None:
        self.row, self.index, self.file, self.problems = row, index, file, problems

    def datapoint(self) -> Datapoint:
        p = self._p()
        label = self._label() if p is None else None
        if p is None and label is not None:
            p = float(label is Label.HALLUCINATION)
        elif p is not None:
            label = Label.HALLUCINATION if p > DEFAULT_THRESHOLD else Label.NOT_HALLUCINATION
        return Datapoint(
            hyp=self._text(HYPOTHESIS),
            src=self._text(PREMISE),
            tgt="",
            task=self._task(),
            ref=Reference.SRC,
            label=label,
            p=p,
        )

    def _text(self, key: str) -> str:
        if key not in self.row:
            self._report("key-missing", key, f'the key "{key}"', f"keys {show(list(self.row))}")
            return ""
        value = self.row[key]
        if not isinstance(value, str):
            self._report("text-string", key, "a text", show(value))
        return value if isinstance(value, str) else ""

    def _task(self) -> Task:
        """Return the task where it is one of SHROOM's, else the one without weights of its own."""
        value = self.row.get("task")
        return Task(value) if value in [task.value for task in Task] else Task.TS

    def _p(self) -> float | None:
        key = P if P in self.row else "p"
        if self.row.get(key) is None:
            return None
        value = number_in(self.row[key])
        if value is None or not math.isfinite(value):
            self._report("p-number", key, "a number", show(self.row[key]))
            return None
        if not -TOLERANCE <= value <= 1 + TOLERANCE:
            self._report("p-range", key, "a number in [0, 1]", show(self.row[key]))
        return value

    def _label(self) -> Label | None:
        value = self.row.get("label")
        if value is None:
            return None
        said = " ".join(str(value).lower().replace("_", " ").split())
        if said in FAITHFUL:
            return Label.NOT_HALLUCINATION
        if said not in UNFAITHFUL:
            known = ", ".join(sorted(FAITHFUL | UNFAITHFUL))
            self._report("label-value", "label", f"one of {known}", show(value))
        return Label.HALLUCINATION

    def _report(self, code: str, key: str, expected: str, found: str) -> None:
        self.problems.add(code, self.file, expected, found, index=self.index, key=key)
