"""Sampled alternatives of hypotheses: other outputs of the model for the same input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from shroom.core.datapoint import Datapoint
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.scoring.input_files import documents
from shroom.scoring.item_values import id_in


class Row(NamedTuple):
    """One row of the file: the alternatives, and the id and hypothesis if it has them."""

    texts: tuple[str, ...]
    id: int | None
    hyp: str | None


@dataclass(frozen=True)
class Samples:
    """The rows of a file of alternatives: all have an id, or none."""

    file: str
    rows: tuple[Row, ...]

    @classmethod
    def read(cls, path: str | Path) -> Samples:
        """Read rows with ``samples``, perhaps ``id`` and ``hyp``, from JSON or JSON Lines."""
        if Path(path).is_dir():
            raise ShroomError(f"{path}: is a folder; name one file of samples")
        problems = Problems()
        files = documents(path, problems)
        if len(files) > 1:
            raise ShroomError(f"{path}: holds {len(files)} files; name one file of samples")
        items: list[Any] | None = None
        for file in files:
            items = file.items(problems)
        if problems.errors or items is None:
            raise InvalidInput(problems)
        rows = tuple(_row(item, f"{path}: item {index}") for index, item in enumerate(items))
        with_id = sum(row.id is not None for row in rows)
        if with_id not in (0, len(rows)):
            raise ShroomError(
                f"{path}: {with_id} of {len(rows)} rows have an id; give every row one, or none "
                "and keep the order of the data"
            )
        return cls(str(path), rows)

    @cached_property
    def digest(self) -> str:
        """A digest of the samples that does not depend on the file's path."""
        text = json.dumps(self.rows)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def of(self, datapoints: Sequence[Datapoint]) -> list[tuple[str, ...]]:
        """Return the alternatives of each datapoint, by id if the rows have ids, else by order."""
        if self.rows and self.rows[0].id is not None:
            return self._by_id(datapoints)
        if len(datapoints) != len(self.rows):
            raise ShroomError(
                f"{self.file}: has {len(self.rows)} rows without ids, for {len(datapoints)} "
                "datapoints; give each row the id of its datapoint, or one row for each "
                "datapoint in the order of the data"
            )
        for index, (row, point) in enumerate(zip(self.rows, datapoints)):
            if row.hyp is not None and row.hyp != point.hyp:
                raise ShroomError(
                    f"{self.file}: item {index}: hyp: {show(row.hyp)} is not that of the datapoint "
                    f"at this place, {show(point.hyp)}; keep the order of the data, or give ids"
                )
        return [row.texts for row in self.rows]

    def _by_id(self, datapoints: Sequence[Datapoint]) -> list[tuple[str, ...]]:
        places: dict[Any, int] = {}
        for index, row in enumerate(self.rows):
            if places.setdefault(row.id, index) != index:
                raise ShroomError(
                    f"{self.file}: item {index}: id {row.id} stands in item {places[row.id]} "
                    "already; give all samples of a datapoint in one row"
                )
        for point in datapoints:
            if point.id is None:
                raise ShroomError(
                    f"{self.file}: has ids, and datapoint {point.name} has none; leave the ids "
                    "out and keep the order of the data"
                )
            if point.id not in places:
                raise ShroomError(f"{self.file}: has no samples for datapoint {point.name}")
        return [self.rows[places[point.id]].texts for point in datapoints]


def _row(item: Any, place: str) -> Row:
    if not isinstance(item, dict):
        raise ShroomError(f'{place}: expected an object with "samples", got {show(item)}')
    texts, hyp = item.get("samples"), item.get("hyp")
    if not isinstance(texts, list) or not texts:
        value = show(texts) if "samples" in item else "no such key"
        raise ShroomError(f"{place}: samples: expected a list of at least one text, got {value}")
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise ShroomError(f"{place}: samples: {index}: expected a text, got {show(text)}")
    if item.get("id") is not None and id_in(item["id"]) is None:
        raise ShroomError(f"{place}: id: expected an integer, got {show(item['id'])}")
    if hyp is not None and not isinstance(hyp, str):
        raise ShroomError(f"{place}: hyp: expected a text, got {show(hyp)}")
    return Row(tuple(texts), id_in(item.get("id")), hyp)
