"""The outputs of an NLI model for each datapoint, as recorded in a CSV file.

The columns are ``p(Contr)`` and, of most models, ``p(Entl)``: the probabilities that the reference
contradicts or entails the hypothesis; and ``id``, in splits that have ids.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shroom.core.problems import Problems, ShroomError, printable, show
from shroom.datasets.csv_lines import lines_of
from shroom.scoring.editions.files import default
from shroom.scoring.input_files import CSV, Document
from shroom.scoring.item_values import id_in, number_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.core.paths import Source
    from shroom.datasets.csv_lines import Line

CONTRADICTION, ENTAILMENT = "p(Contr)", "p(Entl)"
#: How far C + E may exceed 1 by rounding each to two digits, and by adding floats.
_ROUNDING = 0.01 + 1e-9


@dataclass(frozen=True, eq=False)
class Recorded:
    """The recorded outputs of one model on one file of data.

    Attributes
    ----------
    file : str
        Name of the CSV file in messages.
    contradiction : array of float, shape [n]
        p(Contr), in [0, 1].
    entailment : array of float, shape [n], or None
        p(Entl), in [0, 1]; ``None`` if the file has no such column.
    ids : array of int, shape [n], or None
        ``None`` if the file has no such column.
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
        The start of the names of the model's files, if the folder has files of several models.

    Raises
    ------
    ShroomError
        If there is none, or the model is ambiguous.
    """
    path = Path(source)
    if not path.is_dir():
        return [path]
    there = sorted(file for file in path.iterdir() if file.name.lower().endswith(CSV))
    # A file that is there both packed and unpacked is read once.
    paths = [
        file for file in there if file.suffix.lower() == ".csv" or file.with_suffix("") not in there
    ]
    models = sorted({model_of(file) for file in paths})
    if model is not None:
        paths = [file for file in paths if model_of(file) == model]
    elif len(models) > 1:
        listed = printable(", ".join(models))
        raise ShroomError(f"{path}: has outputs of several models; choose one by --model: {listed}")
    if not paths:
        of = f" of {model}; there are: {', '.join(models)}" if model and models else ""
        raise ShroomError(printable(f"{path}: has no .csv file{of}"))
    return paths


def model_of(file: Path) -> str:
    """Return the model in a file's name, before split and track.

    Examples
    --------
    >>> model_of(Path("some-mnli.val.model-aware.csv"))
    'some-mnli'
    """
    model = default().system_in(file.name)
    if model is None:
        return file.with_suffix("").stem if file.suffix.lower() == ".gz" else file.stem
    return model


def recorded(path: Source, problems: Problems) -> Recorded | None:
    """Return the recorded outputs in a CSV file, reporting every problem with its line.

    Parameters
    ----------
    path : path
        UTF-8, gzipped or not, with a byte order mark or without; lines end in any common way.
    problems : Problems
        Receives the problems; a value that cannot be read is 0.

    Returns
    -------
    Recorded or None
        ``None`` where there are no rows to speak of.
    """
    lines = _lines(path, problems)
    header = [name.strip() for name in lines[0][1]] if lines else []
    if not lines or not _are_complete(header, lines[1:], str(path), problems):
        return None
    columns = {
        name: _column(name, header, lines[1:], str(path), problems)
        for name in ("id", CONTRADICTION, ENTAILMENT)
        if name in header
    }
    if ENTAILMENT in columns:
        total = np.array(columns[CONTRADICTION]) + np.array(columns[ENTAILMENT])
        for index in np.flatnonzero(total > 1 + _ROUNDING).tolist():
            expected = f"{CONTRADICTION} + {ENTAILMENT} of at most 1"
            got = f"{float(total[index]):g} at line {lines[1 + index][0]}"
            problems.add("p-range", str(path), expected, got, index=index)
    return Recorded(
        str(path),
        np.array(columns[CONTRADICTION], np.float64),
        np.array(columns[ENTAILMENT], np.float64) if ENTAILMENT in columns else None,
        np.array(columns["id"], np.int64) if "id" in columns else None,
    )


def _are_complete(header: list[str], rows: list[Line], file: str, problems: Problems) -> bool:
    """Report missing and doubled columns and rows; return whether there are values to read."""
    for name in ("id", CONTRADICTION, ENTAILMENT):
        if header.count(name) > 1:
            problems.add("key-missing", file, f'one column "{name}"', f"{header.count(name)}")
    if CONTRADICTION not in header:
        got = f"columns {show(header)}"
        problems.add("key-missing", file, f'a column "{CONTRADICTION}"', got)
    if not rows:
        problems.add("empty", file, "a line for each datapoint", "only a header")
    for index, (number, fields) in enumerate(rows if CONTRADICTION in header else []):
        if len(fields) != len(header):
            expected, got = f"{len(header)} fields, as the header has", f"{len(fields)}"
            problems.add("key-missing", file, expected, f"{got} at line {number}", index=index)
    return CONTRADICTION in header and bool(rows)


def _column(
    name: str, header: list[str], rows: list[Line], file: str, problems: Problems
) -> list[float]:
    """Return the values of a column; 0 for those that are reported."""
    values: list[float] = []
    for index, (number, fields) in enumerate(rows):
        text = fields[header.index(name)] if len(fields) == len(header) else "0"
        value = id_in(text) if name == "id" else number_in(text.strip())
        if name == "id" and value is None:
            code, expected = "id-integer", "an integer"
        elif value is None or not math.isfinite(value):
            code, expected = "p-finite", "a finite number"
        elif name != "id" and not 0 <= value <= 1:
            code, expected = "p-range", "a number in [0, 1]"
        else:
            values.append(value)
            continue
        got = f"{show(text)} at line {number}"
        problems.add(code, file, expected, got, index=index, key=name)
        values.append(0)
    return values


def _lines(path: Source, problems: Problems) -> list[Line] | None:
    """Return the lines that are not blank."""
    file = str(path)
    lines = lines_of(Document(file, Path(path).name, Path(path)), problems)
    if lines is None:
        return None
    filled = [(number, row) for number, row in lines if any(field.strip() for field in row)]
    if not filled:
        problems.add("empty", file, f"a header with {CONTRADICTION}, and lines", "an empty file")
    return filled
