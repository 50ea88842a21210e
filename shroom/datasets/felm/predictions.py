"""Predictions for FELM's segments: reading, checking and aligning them with the responses.

One JSON object a line: ``index``, and for each segment ``labels`` (true is factual, as in the data)
or ``p`` (of being wrong), or both. Rows may be in any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core import json_reading
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets.felm.rows import Response
from shroom.datasets.rows import report_unknown_keys
from shroom.scoring.input_files import documents
from shroom.scoring.item_values import problem_of_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.paths import Source
    from shroom.datasets.collection import Collection

#: Above this p a segment without a label is predicted to be wrong.
THRESHOLD = 0.5
_COLUMNS = ("labels", "p")
_KNOWN = {*_COLUMNS, *(field.name for field in fields(Response))}


@dataclass(frozen=True, eq=False)
class Predictions:
    """A system's predictions for all segments, in the order of the records.

    Attributes
    ----------
    wrong : array of bool, shape [m]
        Whether a segment is predicted to be wrong: by labels, or else by p > 0.5.
    p : array of float, shape [m], or None
        Probability that a segment is wrong, in [0, 1]; ``None`` if there is none.
    """

    wrong: NDArray[np.bool_]
    p: NDArray[np.float64] | None = None

    def rows(self, records: Sequence[Response]) -> list[dict[str, Any]]:
        """Return the predictions in the native form, an object for each response.

        Examples
        --------
        >>> from shroom.datasets.felm.reader import Response
        >>> record = Response("7", "wk", "", "Q?", "A. B.", ("A.", "B."), (True, False),
        ...                   ("", ""), (None, None), (), ())
        >>> Predictions(np.array([False, True])).rows([record])
        [{'index': '7', 'labels': [True, False]}]
        """
        found, start = [], 0
        for record in records:
            part = slice(start, start + len(record.labels))
            row = {"index": record.index, "labels": (~self.wrong[part]).tolist()}
            found.append(row if self.p is None else {**row, "p": self.p[part].tolist()})
            start = part.stop
        return found


def floors(m: int) -> dict[str, Predictions]:
    """Return the predictions of trivial systems for m segments, by name.

    Examples
    --------
    >>> {name: floor.wrong.tolist() for name, floor in floors(2).items()}
    {'flag everything': [True, True], 'flag nothing': [False, False]}
    """
    verdicts = {"flag everything": True, "flag nothing": False}
    return {name: Predictions(np.full(m, wrong)) for name, wrong in verdicts.items()}


def read_predictions(
    source: Source, gold: Collection[Response], problems: Problems | None = None
) -> Predictions:
    """Return the predictions for the gold's responses, in the order of the gold.

    Parameters
    ----------
    source : path or "-"
        JSON Lines or a JSON list, also gzipped; a folder, a zip or a pipe.
    gold : Collection
        What they are for.
    problems : Problems, optional
        Receives every problem with its place.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    """
    problems = Problems() if problems is None else problems
    if not gold.records:
        problems.add("gold-unlabelled", ", ".join(gold.files), "labelled responses", "none")
    files = {}
    for document in documents(source, problems):
        data = document.read(problems)
        if data is not None:
            lines = document.is_lines(data)
            items = json_reading.items(bytes(data), document.file, problems, lines=lines)
            files[document.file] = items or []
    reader = _Reader(gold, problems)
    reader.read(files)
    if files:
        reader.check_complete(str(source))
    if problems.errors:
        raise InvalidInput(problems)
    predictions = reader.predictions()
    _check_columns(predictions, gold, str(source), problems)
    return predictions


class _Reader:
    """The rows of predictions while they are read."""

    def __init__(self, gold: Collection[Response], problems: Problems) -> None:
        self.problems, self.gold_files = problems, ", ".join(gold.files)
        self.record = {record.index: record for record in gold.records}
        self.read_rows: dict[str, dict[str, list[Any]]] = {}
        self.file, self.place = "", dict[str, Any]()

    def read(self, files: dict[str, list[Any]]) -> None:
        """Read the rows of all files."""
        rows = [row for items in files.values() for row in items if isinstance(row, dict)]
        columns = [key for key in _COLUMNS if any(key in row for row in rows)]
        for file, items in files.items():
            self.file = file
            for place, item in enumerate(items):
                if isinstance(item, dict):
                    self._read_row(place, item, columns)
                elif item is not json_reading.BROKEN:
                    self.problems.add("item-object", file, "an object", show(item), index=place)
            expected = '"index", "labels" and "p"'
            report_unknown_keys(items, _KNOWN, expected, file, self.problems)

    def _read_row(self, place: int, item: dict[str, Any], columns: list[str]) -> None:
        index = item.get("index")
        index = str(index) if type(index) is int else index
        self.place = {"index": place, "id": index if isinstance(index, str) else None}
        json_reading.report_doubled(item, self.file, self.problems, **self.place)
        record = self._record(item, index)
        row = {}
        if not columns:
            self._missing(item, '"labels" or "p"')
        for key in columns:
            if key in item:
                values = self._list(key, item[key], record)
                read = self._label if key == "labels" else self._p
                row[key] = [read(f"{key}[{n}]", value) for n, value in enumerate(values)]
            else:
                self._missing(item, f'"{key}"')
        for number, (factual, p) in enumerate(zip(*(row.get(key, []) for key in _COLUMNS))):
            if p != THRESHOLD and factual == (p > THRESHOLD):
                word, sign = ("true", "<=") if factual else ("false", ">=")
                expected = f"p {sign} {THRESHOLD} of being wrong for the label {word}"
                self._report("label-p", f"p[{number}]", expected, repr(p))
        if record is not None:
            self.read_rows[record.index] = row

    def _missing(self, item: dict[str, Any], keys: str) -> None:
        self._report("key-missing", None, f"the key {keys}", f"keys {show(list(item))}")

    def _record(self, item: dict[str, Any], index: Any) -> Response | None:
        if "index" not in item:
            self._missing(item, '"index"')
            return None
        record = self.record.get(index) if isinstance(index, str) else None
        if record is None:
            expected = f"an index of {self.gold_files}"
            self._report("id-unknown", "index", expected, show(item["index"]))
        elif record.index in self.read_rows:
            self._report("id-doubled", "index", "an index of its own", f"{index} again")
        return record

    def _list(self, key: str, value: Any, record: Response | None) -> list[Any]:
        if not isinstance(value, list):
            code = "label-value" if key == "labels" else "p-number"
            self._report(code, key, "a list with a value for each segment", show(value))
            return []
        if record is not None and len(value) != len(record.labels):
            expected = f"{len(record.labels)} values, one for each segment"
            self._report("count", key, expected, f"{len(value)}")
        return value

    def _label(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            self._report("label-value", key, "true (factual) or false", show(value))
        return bool(value)

    def _p(self, key: str, value: Any) -> float:
        problem = problem_of_p(value)
        if problem:
            code, expected = problem
            self._report(code, key, expected, show(value))
            return THRESHOLD
        return min(max(float(value), 0.0), 1.0)

    def check_complete(self, source: str) -> None:
        """Report the responses that no row is for."""
        missing = [index for index in self.record if index not in self.read_rows]
        if missing:
            first = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            expected = f"all {len(self.record)} indices of {self.gold_files}"
            found = f"{len(missing)} missing: {first}"
            self.problems.add("ids-missing", source, expected, found, key="index")

    def predictions(self) -> Predictions:
        """Return what was read, where there are no errors, in the order of the gold."""
        rows = [self.read_rows[index] for index in self.record]
        column = {key: np.array([value for row in rows for value in row[key]]) for key in rows[0]}
        wrong = np.logical_not(column["labels"]) if "labels" in column else column["p"] > THRESHOLD
        return Predictions(np.asarray(wrong), column.get("p"))

    def _report(self, code: str, key: str | None, expected: str, value: str) -> None:
        self.problems.add(code, self.file, expected, value, key=key, **self.place)


def _check_columns(
    predictions: Predictions, gold: Collection[Response], source: str, problems: Problems
) -> None:
    """Report what is odd in all rows together, as for SHROOM's predictions."""
    wrong, p = predictions.wrong, predictions.p
    if len(wrong) > 1 and np.all(wrong == wrong[0]):
        found = f"{'wrong' if wrong[0] else 'factual'} for every segment"
        problems.add("label-constant", source, "both verdicts", found)
    if p is not None and len(p) > 1 and np.ptp(p) == 0:
        found = f"{float(p[0])!r} for every segment"
        problems.add("p-constant", source, "p that differs", found, key="p")
    labels = np.array([not label for record in gold.records for label in record.labels], float)
    key, predicted = ("labels", wrong.astype(float)) if p is None else ("p", p)
    n = len(gold.records)
    if n < 10 or np.ptp(predicted) == 0 or np.ptp(labels) == 0:
        return
    correlation = float(np.corrcoef(predicted, labels)[0, 1])
    # The segments of a response are not independent, so chance depends on the number of responses.
    if correlation * math.sqrt(n - 1) <= -3:
        expected = "labels that are true, and p that is low, for what is factual"
        found = f"a correlation of {correlation:.2f} with the gold"
        problems.add("p-inverted", source, expected, found, key=key)
