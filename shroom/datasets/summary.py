"""The summary of a data set's records: a declaration of labels, texts and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from shroom.core.problems import Problems
from shroom.datasets.collection import FileRecords
from shroom.datasets.groups import Groups, Parts, Table, counted
from shroom.metrics.intervals import Intervals


@dataclass(frozen=True)
class Contents:
    """The figures of the records of one data set."""

    labels: dict[str, dict[str, int]]  # counts of labels, by field
    lengths: Table  # lengths of the texts in characters
    tables: dict[str, Table]  # the data set's own tables, by name
    agreement: Table | None = None
    notes: tuple[str, ...] = ()  # needed to interpret the figures

    @property
    def all_tables(self) -> dict[str, Table]:
        """The lengths, the data set's own tables and the agreement, by name."""
        last = {} if self.agreement is None else {"agreement": self.agreement}
        return {"lengths": self.lengths, **self.tables, **last}


def is_a(kind: type) -> Callable[[Any], bool]:
    """Return a function that returns whether a record is of a kind."""
    return lambda record: isinstance(record, kind)


def of(kind: type, values: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that returns values for records of one kind, and ``()`` for others."""
    return lambda record: values(record) if isinstance(record, kind) else ()


def fields(*names: str, kind: type = object) -> dict[str, Callable[[Any], Any]]:
    """Return a function for each field that returns its value for records of one kind."""
    return {name: of(kind, partial(_field, name)) for name in names}


def _field(name: str, record: Any) -> list[Any]:
    return [getattr(record, name)]


#: ``record -> values``: labels to count (a mapping adds several at once), or texts to measure.
Values = Callable[[Any], Any]


@dataclass(frozen=True)
class Summary:
    """What ``describe`` shows of a data set's records.

    Attributes
    ----------
    labels : dict of callable
        By name, ``record -> labels``: the labels to count. Numbers are sorted.
    texts : dict of callable
        By name, ``record -> texts``: the texts whose lengths are measured.
    tables : dict of Groups or Parts
        The tables by name.
    agreement : Groups, optional
        The agreement of the annotators.
    notes : dict of callable
        The notes. A note is shown if its ``record -> bool`` is true for any record.
    check : callable, optional
        ``(files, problems)``: reports problems that concern whole files.
    """

    labels: Mapping[str, Values] = field(default_factory=dict)
    texts: Mapping[str, Values] = field(default_factory=dict)
    tables: Mapping[str, Groups | Parts] = field(default_factory=dict)
    agreement: Groups | None = None
    notes: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)
    check: Callable[[Sequence[FileRecords], Problems], None] | None = None

    def contents(self, files: Sequence[FileRecords], intervals: Intervals) -> Contents:
        """Return the figures of the files' records."""
        records = [record for file in files for record in file.records]
        labels = {name: _labels(map(get, records)) for name, get in self.labels.items()}
        agreement = self.agreement and self.agreement.table(files, intervals)
        return Contents(
            {name: counts for name, counts in labels.items() if counts},
            lengths({name: chain(*map(get, records)) for name, get in self.texts.items()}),
            {name: table.table(files, intervals) for name, table in self.tables.items()},
            agreement if agreement and agreement.rows else None,
            tuple(note for note, fits in self.notes.items() if any(map(fits, records))),
        )


def _labels(by_record: Iterable[Any]) -> dict[str, int]:
    """Return the count of each label: numbers in order, words by frequency."""
    listed = [*by_record]
    if listed and isinstance(listed[0], Mapping):
        return {name: sum(counts[name] for counts in listed) for name in listed[0]}
    values = [value for labels in listed for value in labels]
    numbers = sorted(value for value in values if isinstance(value, float))
    if not numbers:
        return counted(values)
    missing = {"none": len(values) - len(numbers)} if len(values) > len(numbers) else {}
    return {**Counter(map(repr, numbers)), **missing}


def lengths(texts: Mapping[str, Iterable[str | None]]) -> Table:
    """Return the lengths of texts in characters, by field; fields without texts are left out."""
    rows = []
    for name, values in texts.items():
        sizes = np.array([len(text) for text in values if text is not None], np.int64)
        if len(sizes):
            low, high = int(sizes.min()), int(sizes.max())
            middle = {"median": float(np.median(sizes)), "mean": float(sizes.mean())}
            total = {"n": len(sizes), "characters": int(sizes.sum())}
            rows.append({"text": name, **total, "min": low, **middle, "max": high})
    return Table("lengths in characters", ("text",), rows)
