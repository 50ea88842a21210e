"""A data set out of SHROOM's form: the records that converted rows were made of.

Nothing is taken on trust: the native rows are read by the reader of the source's own files and
converted again, and every row has to be what they give.
"""

from __future__ import annotations

import csv
import io
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from shroom.core.json_writing import json_lines
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.datasets.conversion.to_shroom import NATIVE, OF, rows_of, stem_of
from shroom.datasets.semeval2024 import reader as semeval2024
from shroom.scoring.documents import CSV

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.datasets.base import DataSet


@dataclass(frozen=True)
class Returned:
    """The records that have come back from SHROOM's form.

    Attributes
    ----------
    name : str
        Of the file that they were in, not gzipped.
    records : list
        The data set's.
    """

    name: str
    records: list[Any]


def come_back(source: DataSet, rows: Sequence[Any], file: str) -> list[Returned]:
    """Return the records that rows in SHROOM's form were made of, file by file.

    Parameters
    ----------
    source : DataSet
        What they are of.
    rows : sequence
        As :func:`convert` has made them, in that order; keys may have been added.
    file : str
        Where they are from, for messages.

    Raises
    ------
    ShroomError
        Where rows are missing, moved or changed, since the native rows would not have it; where
        the native rows are not of this data set.
    """
    if source.name == semeval2024.NAME:
        raise ShroomError(f"{source.name} is in SHROOM's form already, so nothing has to come back")
    places: dict[tuple[str, str], list[int]] = {}
    for index, row in enumerate(rows):
        places.setdefault(_origin(source, row, f"{file}: item {index}"), []).append(index)
    found = []
    for (view, base), indices in places.items():
        if indices[-1] - indices[0] >= len(indices):
            raise ShroomError(f"{file}: the items of {base} do not stand together; sort them")
        native = [each for index in indices for each in rows[index].get(NATIVE, [])]
        records = _read(source, base, native, file)
        made = rows_of(source, view, base, records)
        _check_same([(index, rows[index]) for index in indices], made, file, base)
        found.append(Returned(stem_of(base, source) + source.ending, records))
    return found


def _origin(source: DataSet, row: Any, place: str) -> tuple[str, str]:
    """Return the view and the file that a row is from."""
    of = row.get(OF) if isinstance(row, dict) else None
    if not isinstance(of, dict) or not isinstance(row.get(NATIVE, []), list):
        raise ShroomError(
            f"{place}: has no key '{OF}' as 'shroom datasets convert' writes it; to convert it, "
            "leave out --back"
        )
    if of.get("data_set") != source.name:
        raise ShroomError(f"{place}: is of {show(of.get('data_set'))}, not of {source.name}")
    view, base = of.get("view"), of.get("file")
    if not isinstance(base, str) or PurePath(base).name != base or not isinstance(view, str):
        raise ShroomError(f"{place}: its key '{OF}' does not tell the view and a file's name")
    source.view(view)
    return view, base


def _read(source: DataSet, base: str, rows: list[Any], file: str) -> list[Any]:
    """Return the records of native rows, by the reader that reads the source's own files."""
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ShroomError(f"{file}: expected the native rows of {base}, got {show(rows)}")
    if source.ending in CSV:
        stream = io.StringIO()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(stream, columns, quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
        text = stream.getvalue()
    else:
        text = json_lines(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (stem_of(base, source) + source.ending)
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
        try:
            return source.read(path, problems=Problems()).records
        except InvalidInput as error:
            first = next(iter(error.problems))
            expected = f"expected {first.expected}, got {first.found}"
            raise ShroomError(f"{file}: the native rows of {base}: {expected}") from error


def _check_same(
    given: Sequence[tuple[int, dict[str, Any]]],
    made: Sequence[dict[str, Any]],
    file: str,
    base: str,
) -> None:
    """Refuse rows that are not what the native rows give, since their changes would be lost."""
    way_out = f"name the file as 'shroom datasets convert' wrote it, or convert {base} again"
    for (index, row), wanted in zip(given, made):
        for key, value in wanted.items():
            if row.get(key) != value:
                raise ShroomError(
                    f"{file}: item {index}: {key}: expected {show(value)}, as the native rows of "
                    f"{base} give it, got {show(row.get(key))}; {way_out}"
                )
    if len(given) != len(made):
        raise ShroomError(
            f"{file}: expected {len(made)} items of {base}, as its native rows give them, "
            f"got {len(given)}; {way_out}"
        )
