"""Converting a data set to SHROOM's form; the key ``of`` of a row names its origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from shroom.core.json_writing import json_line, json_lines
from shroom.core.problems import ShroomError
from shroom.datasets import semeval2024
from shroom.datasets.base import DataSet
from shroom.datasets.collection import Collection
from shroom.scoring.in_memory import row_of
from shroom.scoring.input_files import CSV, JSON, PIPE


@dataclass(frozen=True)
class Converted:
    """The datapoints of one file of a data set."""

    stem: str  # the file's name without its ending
    rows: list[dict[str, Any]]  # in SHROOM's form
    records: int  # number of records in the file
    left_out: int


def convert(
    source: DataSet, collection: Collection[Any], view: str | None = None
) -> list[Converted]:
    """Return the datapoints of each file as rows in SHROOM's form."""
    stems = Counter(stem_of(file, source) for file in collection.files)
    for stem, times in stems.items():
        if times > 1:
            raise ShroomError(f"{times} files have the name {stem}; convert them one at a time")
    chosen = source.view(view)
    name = next(key for key, candidate in source.views.items() if candidate is chosen)
    converted = []
    for part in collection.by_file:
        if source.name == semeval2024.NAME:
            points = part.records if view is None else chosen.datapoints(part.records)
            rows, left_out = [*map(row_of, points)], len(part.records) - len(points)
        else:
            rows = rows_of(source, name, base_of(part.file, source), part.records)
            left_out = chosen.left_out(part.records)
        stem = stem_of(part.file, source)
        converted.append(Converted(stem, rows, len(part.records), left_out))
    return converted


def rows_of(source: DataSet, view: str, file: str, records: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the datapoints of one file's records in a view, as rows in SHROOM's form."""
    of = {"data_set": source.name, "view": view, "file": file}
    datapoints = source.view(view).datapoints
    return [
        {**row_of(point), "of": {**of, "record": index, "part": part}}
        for index, record in enumerate(records)
        for part, point in enumerate(datapoints([record]))
    ]


def base_of(file: str, source: DataSet) -> str:
    """Return a file's name without folders; for a pipe, the data set's name."""
    return source.name + source.ending if file == PIPE else PurePath(file).name


def stem_of(file: str, source: DataSet) -> str:
    """Return a file's name without folders and ending."""
    base = base_of(file, source)
    endings = [end for end in (*JSON, *CSV) if base.lower().endswith(end)]
    longest = max(endings, key=len, default="")
    return base[: len(base) - len(longest)] or source.name


def as_json(rows: Sequence[dict[str, Any]], *, lines: bool = False) -> str:
    """Return rows as a JSON list with one row per line, or as JSON Lines."""
    if lines:
        return json_lines(rows)
    return "[\n" + ",\n".join(map(json_line, rows)) + "\n]\n"
