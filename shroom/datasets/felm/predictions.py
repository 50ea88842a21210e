"""Predictions for FELM's segments: reading, checking and aligning them with the responses.

One JSON object a line: ``index``, and for each segment ``labels`` (true is factual, as in the data)
or ``p`` (of being wrong), or both. Rows may be in any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.doubled_keys import report_doubled
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets import rows
from shroom.datasets.collection import Collection
from shroom.datasets.felm.rows import Response
from shroom.datasets.rows import report_unknown_keys
from shroom.metrics.correlation import rho
from shroom.scoring.input_files import documents
from shroom.scoring.item_values import problem_of_p

#: The columns of a row: a value for each segment.
_Values = dict[str, list[Any]]

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
        rows, start = [], 0
        for record in records:
            part = slice(start, start + len(record.labels))
            row = {"index": record.index, "labels": (~self.wrong[part]).tolist()}
            rows.append(row if self.p is None else {**row, "p": self.p[part].tolist()})
            start = part.stop
        return rows


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
        items = document.items(problems)
        if items is not None:
            files[document.file] = items
    records = {record.index: record for record in gold.records}
    objects = [item for items in files.values() for item in items if isinstance(item, dict)]
    columns = [key for key in _COLUMNS if any(key in item for item in objects)]
    read_rows: dict[str, _Values] = {}
    for file, items in files.items():
        _RowReader(file, problems, gold, columns, read_rows).records(items)
        expected = '"index", "labels" and "p"'
        report_unknown_keys(items, _KNOWN, expected, file, problems)
    missing = [index for index in records if index not in read_rows]
    if files and missing:
        first = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        expected = f"all {len(records)} indices of {', '.join(gold.files)}"
        value = f"{len(missing)} missing: {first}"
        problems.add("ids-missing", str(source), expected, value, key="index")
    if problems.errors:
        raise InvalidInput(problems)
    column = {
        key: np.array([value for index in records for value in read_rows[index][key]])
        for key in columns
    }
    wrong = np.logical_not(column["labels"]) if "labels" in column else column["p"] > THRESHOLD
    predictions = Predictions(np.asarray(wrong), column.get("p"))
    _check_columns(predictions, gold, str(source), problems)
    return predictions


class _RowReader(rows.RowReader[None]):
    """Reads the rows of a file of predictions into ``read_rows``, by index."""

    id_key = "index"
    not_an_object = "item-object"

    def __init__(
        self,
        file: str,
        problems: Problems,
        gold: Collection[Response],
        columns: list[str],
        read_rows: dict[str, _Values],
    ) -> None:
        super().__init__(file, problems)
        self.gold_files, self.columns, self.read_rows = ", ".join(gold.files), columns, read_rows
        self.of_index = {record.index: record for record in gold.records}

    def read(self, row: rows.Row) -> None:
        """Store the values of a row."""
        report_doubled(row.item, self.file, self.problems, index=row.index, id=row.id)
        record = self._record(row)
        values = {}
        for key in self.columns:
            if key in row.item:
                read = self._label if key == "labels" else self._p
                listed = enumerate(self._list(row, key, record))
                values[key] = [read(row, f"{key}[{n}]", value) for n, value in listed]
            else:
                self._missing(row, f'"{key}"')
        if not self.columns:
            self._missing(row, '"labels" or "p"')
        for number, (factual, p) in enumerate(zip(*(values.get(key, []) for key in _COLUMNS))):
            if p != THRESHOLD and factual == (p > THRESHOLD):
                word, sign = ("true", "<=") if factual else ("false", ">=")
                expected = f"p {sign} {THRESHOLD} of being wrong for the label {word}"
                row.report("label-p", f"p[{number}]", expected, repr(p))
        if record is not None:
            self.read_rows[record.index] = values

    def _missing(self, row: rows.Row, keys: str) -> None:
        row.report("key-missing", None, f"the key {keys}", f"keys {show(list(row.item))}")

    def _record(self, row: rows.Row) -> Response | None:
        if "index" not in row.item:
            self._missing(row, '"index"')
            return None
        record = None if row.id is None else self.of_index.get(str(row.id))
        if record is None:
            row.report("id-unknown", "index", f"an index of {self.gold_files}", row.shown("index"))
        elif record.index in self.read_rows:
            row.report("id-doubled", "index", "an index of its own", f"{row.id} again")
        return record

    def _list(self, row: rows.Row, key: str, record: Response | None) -> list[Any]:
        value = row.item[key]
        if not isinstance(value, list):
            code = "label-value" if key == "labels" else "p-number"
            row.report(code, key, "a list with a value for each segment", show(value))
            return []
        if record is not None and len(value) != len(record.labels):
            expected = f"{len(record.labels)} values, one for each segment"
            row.report("count", key, expected, f"{len(value)}")
        return value

    def _label(self, row: rows.Row, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            row.report("label-value", key, "true (factual) or false", show(value))
        return bool(value)

    def _p(self, row: rows.Row, key: str, value: Any) -> float:
        problem = problem_of_p(value)
        if problem:
            code, expected = problem
            row.report(code, key, expected, show(value))
            return THRESHOLD
        return min(max(float(value), 0.0), 1.0)


def _check_columns(
    predictions: Predictions, gold: Collection[Response], source: str, problems: Problems
) -> None:
    """Report what is odd in all rows together, as for SHROOM's predictions."""
    wrong, p = predictions.wrong, predictions.p
    if len(wrong) > 1 and np.all(wrong == wrong[0]):
        value = f"{'wrong' if wrong[0] else 'factual'} for every segment"
        problems.add("label-constant", source, "both verdicts", value)
    if p is not None and len(p) > 1 and np.ptp(p) == 0:
        value = f"{float(p[0])!r} for every segment"
        problems.add("p-constant", source, "p that differs", value, key="p")
    labels = np.array([not label for record in gold.records for label in record.labels], float)
    key, predicted = ("labels", wrong.astype(float)) if p is None else ("p", p)
    n = len(gold.records)
    correlation = rho(predicted, labels)  # nan if one side is constant
    # The segments of a response are not independent, so chance depends on the number of responses.
    if n >= 10 and correlation * math.sqrt(n - 1) <= -3:
        expected = "labels that are true, and p that is low, for what is factual"
        value = f"a correlation of {correlation:.2f} with the gold"
        code = "p-inverted" if key == "p" else "label-inverted"
        problems.add(code, source, expected, value, key=key)
