"""Tables of the figures of records, by groups or by kinds of their parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shroom.core.printing import TABLE_WIDTH
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
#: Maximum characters of a line, of a name beside figures, and of a name in narrow terminals.
WIDTH, _KEY, _NARROW = 100, 72, 40


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
            letters=_NARROW if (TABLE_WIDTH.get() or WIDTH) < WIDTH else _KEY,
        )


def _cell(value: Any, ci: Any) -> Cell:
    return value if isinstance(value, int) else Estimate(value, ci)


@dataclass(frozen=True)
class Groups:
    """A table with a row for each group of records.

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
        ``record -> bool``: selects records. Files without selected records are left out.
    order : callable, optional
        ``(values, records) -> key``: sorts the groups of a file. By default, groups are not sorted.
    total : str
        The position of a row for all records: ``first``, ``last``, or empty for no such row.
    """

    about: str
    figures: Callable[[Sequence[Any], Intervals], Row]
    by: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    by_file: bool = False
    only: Callable[[Any], bool] | None = None
    order: Callable[[tuple[Any, ...], list[Any]], Any] | None = None
    total: str = ""

    def table(self, files: Sequence[FileRecords], intervals: Intervals) -> Table:
        """Return the figures of the files' records."""
        parts = [("", [record for file in files for record in file.records])]
        rows = []
        for file, every in named(files) if self.by_file else parts:
            above = {"file": file} if self.by_file else {}
            records = [record for record in every if self.only is None or self.only(record)]
            for values, group in self._groups(records) if records or not self.only else ():
                rows.append(
                    {**above, **dict(zip(self.by, values)), **self.figures(group, intervals)}
                )
        return Table(self.about, (*("file",) * self.by_file, *self.by), rows)

    def _groups(self, records: list[Any]) -> list[tuple[tuple[Any, ...], list[Any]]]:
        """Return the values and the records of each group."""
        groups: dict[tuple[Any, ...], list[Any]] = {} if self.by else {(): records}
        for record in records if self.by else ():
            values = tuple(get(record) for get in self.by.values())
            if None not in values:
                groups.setdefault(values, []).append(record)
        listed = [*groups.items()]
        if self.order is not None:
            order = self.order
            listed.sort(key=lambda group: order(*group))
        every = [((ALL,) * len(self.by), records)]
        if self.total == "first":
            return every + listed
        return listed + every if self.total == "last" and records else listed


def frequent(_: tuple[Any, ...], records: Sequence[Any]) -> int:
    """Sort groups by decreasing size."""
    return -len(records)


def by_name(values: tuple[Any, ...], _: Sequence[Any]) -> tuple[str, ...]:
    """Sort groups by name."""
    return tuple(map(str, values))


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


def counted(values: Iterable[str | None]) -> dict[str, int]:
    """Return the count of each value, the most frequent first; ``None`` counts as ``none``."""
    words = Counter("none" if value is None else value for value in values)
    return dict(words.most_common())


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


def named(files: Sequence[FileRecords]) -> list[tuple[str, list[Any]]]:
    """Return the records of each file by name, without folders if names stay unique."""
    bases = Counter(file.base for file in files)
    return [(file.base if bases[file.base] == 1 else file.file, file.records) for file in files]
