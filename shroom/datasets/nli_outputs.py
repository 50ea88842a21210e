"""The outputs of an NLI model for each datapoint, as recorded in a CSV file.

The columns are ``p(Contr)`` and, of most models, ``p(Entl)``: the probabilities that the reference
contradicts or entails the hypothesis; and ``id``, in splits that have ids.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shroom.core.problems import InvalidInput, Problems, ShroomError, printable, show
from shroom.scoring.file_names import Name
from shroom.scoring.input_files import CSV, Document
from shroom.scoring.item_values import id_in, number_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.core.paths import Source

    Place = tuple[int, int]  # the item's, from 0, and the line's, from 1

CONTRADICTION, ENTAILMENT = "p(Contr)", "p(Entl)"
#: How far C + E may exceed 1 by rounding each to two digits, and by adding floats.
_ROUNDING = 0.01 + 1e-9


@dataclass(frozen=True, eq=False)
class Recorded:
    """The recorded outputs of one model on one file of data.

    Attributes
    ----------
    file : str
        How messages name the CSV file.
    contradiction : array of float, shape [n]
        p(Contr), in [0, 1].
    entailment : array of float, shape [n], or None
        p(Entl), in [0, 1]; ``None`` where the file has no such column.
    ids : array of int, shape [n], or None
        ``None`` where the file has no such column.
    """

    file: str
    contradiction: NDArray[np.float64]
    entailment: NDArray[np.float64] | None
    ids: NDArray[np.int64] | None


def files(source: Source, model: str | None = None) -> list[Path]:
    """Return a CSV file, or all of one model in a folder, by name.

    Parameters
    ----------
    source : path
        A file or a folder.
    model : str, optional
        How the names of the model's files begin, where the folder has those of several.

    Raises
    ------
    ShroomError
        If there is none, or the model is ambiguous.
    """
    path = Path(source)
    if not path.is_dir():
        return [path]
    there = sorted(file for file in path.iterdir() if file.name.lower().endswith(CSV))
    # What was packed beside itself is read once.
    found = [
        file for file in there if file.suffix.lower() == ".csv" or file.with_suffix("") not in there
    ]
    models = sorted({model_of(file) for file in found})
    if model is not None:
        found = [file for file in found if model_of(file) == model]
    elif len(models) > 1:
        listed = printable(", ".join(models))
        raise ShroomError(f"{path}: has outputs of several models; choose one by --model: {listed}")
    if not found:
        of = f" of {model}; there are: {', '.join(models)}" if model and models else ""
        raise ShroomError(printable(f"{path}: has no .csv file{of}"))
    return found


def model_of(file: Path) -> str:
    """Return the model in a file's name, before split and track.

    Examples
    --------
    >>> model_of(Path("some-mnli.val.model-aware.csv"))
    'some-mnli'
    """
    name = Name.guess(file.name)
    if name is None:
        return file.with_suffix("").stem if file.suffix.lower() == ".gz" else file.stem
    return file.name.split(f"{name.split}.{name.track}")[0].strip(".")


def read(path: Source) -> Recorded:
    """Return the recorded outputs in a CSV file; see :func:`recorded`.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    """
    problems = Problems()
    found = recorded(path, problems)
    if found is None or problems.errors:
        raise InvalidInput(problems)
    return found


def recorded(path: Source, problems: Problems) -> Recorded | None:
    """Return the recorded outputs in a CSV file, reporting every problem with its line.

    Parameters
    ----------
    path : path
        UTF-8, gzipped or not, with a byte order mark or without; lines end in any usual way.
    problems : Problems
        Gets what is wrong; a value that cannot be read is 0.

    Returns
    -------
    Recorded or None
        ``None`` where there are no rows to speak of.
    """
    lines = _lines(path, problems)
    return None if lines is None else _Columns(str(path), problems).recorded(lines)


def _lines(path: Source, problems: Problems) -> list[tuple[int, list[str]]] | None:
    """Return each line that is not blank as its number and fields."""
    file = str(path)
    data = Document(file, Path(path).name, Path(path)).read(problems)
    if data is None:
        return None
    try:
        text = bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{error.object[error.start]:02x} at line {line}"
        problems.add("not-utf8", file, "UTF-8", found)
        return None
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        lines = [(reader.line_num, row) for row in reader if any(field.strip() for field in row)]
    except csv.Error as error:
        found = f"{error} at line {reader.line_num}"
        problems.add("not-csv", file, "lines of fields between commas", found)
        return None
    if not lines:
        problems.add("empty", file, f"a header with {CONTRADICTION}, and lines", "an empty file")
        return None
    return lines


class _Columns:
    """One file's columns while they are read, reporting what is wrong."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.file, self.problems = file, problems

    def recorded(self, lines: list[tuple[int, list[str]]]) -> Recorded | None:
        header = [name.strip() for name in lines[0][1]]
        known = [name for name in ("id", CONTRADICTION, ENTAILMENT) if name in header]
        for name in known:
            if header.count(name) > 1:
                expected = f'one column "{name}"'
                self.problems.add("key-missing", self.file, expected, f"{header.count(name)}")
        if CONTRADICTION not in header:
            found = f"columns {show(header)}"
            self.problems.add("key-missing", self.file, f'a column "{CONTRADICTION}"', found)
        if len(lines) == 1:
            self.problems.add("empty", self.file, "a line for each datapoint", "only a header")
        if CONTRADICTION not in header or len(lines) == 1:
            return None
        rows = [self._whole(index, *line, len(header)) for index, line in enumerate(lines[1:])]
        places = [(index, number) for index, (number, _) in enumerate(lines[1:])]
        fields = {
            name: [row[header.index(name)] if row else None for row in rows] for name in known
        }
        contradiction = self._probabilities(CONTRADICTION, places, fields)
        entailment = ids = None
        if ENTAILMENT in known:
            entailment = self._probabilities(ENTAILMENT, places, fields)
            self._check_sums(contradiction + entailment, places)
        if "id" in known:
            ids = np.array([self._id(*one) for one in zip(places, fields["id"])], np.int64)
        return Recorded(self.file, contradiction, entailment, ids)

    def _whole(self, index: int, number: int, row: list[str], width: int) -> list[str] | None:
        if len(row) == width:
            return row
        expected, found = f"{width} fields, as the header has", f"{len(row)} at line {number}"
        self.problems.add("key-missing", self.file, expected, found, index=index)
        return None

    def _id(self, place: Place, text: str | None) -> int:
        if text is None:  # has been reported
            return 0
        value = id_in(text)
        if value is None:
            found = f"{show(text)} at line {place[1]}"
            index = place[0]
            self.problems.add("id-integer", self.file, "an integer", found, index=index, key="id")
        return 0 if value is None else value

    def _probabilities(
        self, name: str, places: list[Place], fields: dict[str, list[str | None]]
    ) -> NDArray[np.float64]:
        found = [self._probability(name, *one) for one in zip(places, fields[name])]
        return np.array(found, np.float64)

    def _probability(self, name: str, place: Place, text: str | None) -> float:
        if text is None:  # has been reported
            return 0.0
        value = number_in(text.strip())
        found, where = f"{show(text)} at line {place[1]}", {"index": place[0], "key": name}
        if value is None or not math.isfinite(value):
            self.problems.add("p-finite", self.file, "a finite number", found, **where)
            return 0.0
        if not 0 <= value <= 1:
            self.problems.add("p-range", self.file, "a number in [0, 1]", found, **where)
            return 0.0
        return value

    def _check_sums(self, total: NDArray[np.float64], places: list[Place]) -> None:
        for row in np.flatnonzero(total > 1 + _ROUNDING).tolist():
            index, number = places[row]
            expected = f"{CONTRADICTION} + {ENTAILMENT} of at most 1"
            found = f"{float(total[row]):g} at line {number}"
            self.problems.add("p-range", self.file, expected, found, index=index)
