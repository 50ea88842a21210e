"""Converting a data set to SHROOM's form; the key ``of`` of a row names its origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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
    chosen, converted = source.view(view), []
    of = {"data_set": source.name, "view": view or next(iter(source.views))}
    for part in collection.by_file:
        file = source.name + source.ending if part.file == PIPE else part.base
        if source.name == semeval2024.NAME:
            points = part.records if view is None else chosen.datapoints(part.records)
            rows, left_out = [*map(row_of, points)], len(part.records) - len(points)
        else:
            left_out = chosen.left_out(part.records)
            rows = [
                {**row_of(point), "of": {**of, "file": file, "record": index, "part": number}}
                for index, record in enumerate(part.records)
                for number, point in enumerate(chosen.datapoints([record]))
            ]
        stem = _without_ending(file) or source.name
        converted.append(Converted(stem, rows, len(part.records), left_out))
    for stem, times in Counter(file.stem for file in converted).items():
        if times > 1:
            raise ShroomError(f"{times} files have the name {stem}; convert them one at a time")
    return converted


def _without_ending(file: str) -> str:
    ending = max((end for end in (*JSON, *CSV) if file.lower().endswith(end)), key=len, default="")
    return file[: len(file) - len(ending)]


def as_json(rows: Sequence[dict[str, Any]], *, lines: bool = False) -> str:
    """Return rows as a JSON list with one row per line, or as JSON Lines."""
    if lines:
        return json_lines(rows)
    return "[\n" + ",\n".join(map(json_line, rows)) + "\n]\n"
