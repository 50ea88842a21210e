"""The summary of a data set's records: a declaration of labels, texts and tables of figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shroom.datasets.collection import FileRecords
from shroom.metrics.cluster_bootstrap import ratio
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.results import flat
from shroom.scoring.tables import Cell, Estimate
from shroom.scoring.tables import Table as Shown

#: One row of a table: texts, whole numbers, scores, and intervals under a name with ``_ci``.
Row = dict[str, Any]

#: The name of the group of all records.
ALL = "all"
#: Maximum characters of a line, and of a name.
WIDTH, NAMES = 100, 72


@dataclass(frozen=True)
class Table:
    """Rows of figures."""

    about: str  # title in one line
    keys: tuple[str, ...]  # the columns that identify a row
    rows: list[Row]  # with the same names; undefined figures are ``None``

    def shown(self, ci: str) -> Shown:
        """Return the table with formatted figures; ``ci`` is the column head of intervals."""
        names = [
            name
            for name in dict.fromkeys(name for row in self.rows for name in row)
            if name not in self.keys and not name.endswith(("_ci", "_ci_note"))
        ]
        return Shown(
            self.about,
            [name.replace("_", " ") for name in (*self.keys, *names)],
            [
                (
                    *(str(row[key]) for key in self.keys),
                    *(_cell(row.get(name), row.get(f"{name}_ci")) for name in names),
                )
                for row in self.rows
            ],
            ci=ci,
            left=len(self.keys),
            width=WIDTH,
            letters=NAMES,
        )


def _cell(value: Any, ci: Any) -> Cell:
    return value if isinstance(value, int) else Estimate(value, ci)


@dataclass(frozen=True)
class Groups:
    """A table with a row for each group of records, sorted by name.

    Attributes
    ----------
    about : str
        The title.
    figures : callable
        ``(records, intervals) -> row``: the figures of a group.
    by : dict of callable
        By column, ``record -> value``. A record with the value ``None`` belongs to no group.
    by_file : bool
        Whether the first column is the file.
    only : callable, optional
        ``record -> bool``: selects records.
    total : bool
        Whether the last row of a file has the figures of all records.
    """

    about: str
    figures: Callable[[Sequence[Any], Intervals], Row]
    by: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    by_file: bool = False
    only: Callable[[Any], bool] | None = None
    total: bool = False

    def table(self, files: Sequence[FileRecords], intervals: Intervals) -> Table:
        """Return the figures of the files' records."""
        whole = [("", [record for file in files for record in file.records])]
        rows = []
        for file, every in named(files) if self.by_file else whole:
            above = {"file": file} if self.by_file else {}
            records = [*filter(self.only, every)] if self.only else every
            for values, group in self._groups(records):
                of = dict(zip(self.by, values))
                rows.append({**above, **of, **self.figures(group, intervals)})
        return Table(self.about, (*("file",) * self.by_file, *self.by), rows)

    def _groups(self, records: list[Any]) -> list[tuple[tuple[Any, ...], list[Any]]]:
        """Return the values and the records of each group."""
        groups: dict[tuple[Any, ...], list[Any]] = {} if self.by else {(): records}
        for record in records if self.by else ():
            values = tuple(get(record) for get in self.by.values())
            if None not in values:
                groups.setdefault(values, []).append(record)
        every = [((ALL,) * len(self.by), records)] if self.total and records else []
        return sorted(groups.items(), key=lambda group: group[0]) + every


@dataclass(frozen=True)
class Parts:
    """A table with a row for each kind of a record's parts, the most frequent first.

    Attributes
    ----------
    about, key : str
        The title, and the column that contains the kind.
    parts : callable
        ``record -> kinds``, one for each part.
    names : tuple of str
        The columns for the number of records with the kind, the number of parts of the kind, and
        the share of the kind in all parts.
    """

    about: str
    key: str
    parts: Callable[[Any], Iterable[str]]
    names: tuple[str, str, str]

    def table(self, files: Sequence[FileRecords], intervals: Intervals) -> Table:
        """Return the figures of the files' records."""
        listed = [[*self.parts(record)] for file in files for record in file.records]
        every = [*map(len, listed)]
        records, parts, share = self.names
        rows = []
        for kind, number in counted(kind for kinds in listed for kind in kinds).items():
            of_kind = np.array([kinds.count(kind) for kinds in listed])
            counts = {self.key: kind, records: int((of_kind > 0).sum()), parts: number}
            rows.append({**counts, **shares({share: (of_kind, every)}, intervals)})
        return Table(self.about, (self.key,), rows)


def shares(parts: Mapping[str, tuple[ArrayLike, ArrayLike]], intervals: Intervals) -> Row:
    """Return ratios of sums, each with its interval, for a row.

    Parameters
    ----------
    parts : dict of (array, array)
        By name, the numerators and denominators of the resampled units; all of the same length.
    intervals : Intervals
        Settings of the intervals.

    Examples
    --------
    >>> from shroom.metrics.intervals import NO_INTERVALS
    >>> shares({"wrong_share": ([1, 0], [2, 2])}, NO_INTERVALS)
    {'wrong_share': 0.25, 'wrong_share_ci': None}
    """
    scored = [
        (ratio(name, share=np.asarray), np.column_stack(columns).astype(np.float64))
        for name, columns in parts.items()
    ]
    return flat(*estimates(scored, intervals))


def counted(values: Iterable[Any]) -> dict[str, int]:
    """Return the count of each value: numbers in order, then words by frequency."""
    counts = Counter("none" if value is None else value for value in values)
    numbers = sorted(value for value in counts if isinstance(value, float))
    words = [value for value, _ in counts.most_common() if not isinstance(value, float)]
    return {str(value): counts[value] for value in (*numbers, *words)}


def named(files: Sequence[FileRecords]) -> list[tuple[str, list[Any]]]:
    """Return the records of each file by name, without folders if names stay unique."""
    bases = Counter(file.base for file in files)
    return [(file.base if bases[file.base] == 1 else file.file, file.records) for file in files]


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


@dataclass(frozen=True)
class Summary:
    """What ``describe`` shows of a data set's records.

    Attributes
    ----------
    labels : dict of callable
        By name, ``record -> labels``: the labels to count.
    texts : dict of callable
        By name, ``record -> texts``: the texts whose lengths are measured.
    tables : dict of Groups or Parts
        The tables by name.
    agreement : Groups, optional
        The agreement of the annotators.
    notes : dict of callable
        The notes. A note is shown if its ``record -> bool`` is true for any record.
    """

    labels: Mapping[str, Callable[[Any], Iterable[Any]]] = field(default_factory=dict)
    texts: Mapping[str, Callable[[Any], Iterable[str | None]]] = field(default_factory=dict)
    tables: Mapping[str, Groups | Parts] = field(default_factory=dict)
    agreement: Groups | None = None
    notes: Mapping[str, Callable[[Any], bool]] = field(default_factory=dict)

    def contents(self, files: Sequence[FileRecords], intervals: Intervals) -> Contents:
        """Return the figures of the files' records."""
        records = [record for file in files for record in file.records]
        labels = {name: counted(chain(*map(get, records))) for name, get in self.labels.items()}
        agreement = self.agreement and self.agreement.table(files, intervals)
        return Contents(
            {name: counts for name, counts in labels.items() if counts},
            lengths({name: chain(*map(get, records)) for name, get in self.texts.items()}),
            {name: table.table(files, intervals) for name, table in self.tables.items()},
            agreement if agreement and agreement.rows else None,
            tuple(note for note, fits in self.notes.items() if any(map(fits, records))),
        )
