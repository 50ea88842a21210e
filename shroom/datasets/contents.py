"""The figures of a data set's records: tables, counts, lengths and shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shroom.core.printing import TABLE_WIDTH
from shroom.datasets.collection import FileRecords
from shroom.metrics.cluster_bootstrap import ratio
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.results import flat
from shroom.scoring.tables import Cell, Estimate
from shroom.scoring.tables import Table as Shown

#: One row of a table: texts, whole numbers, scores, and intervals under a name with ``_ci``.
Row = dict[str, Any]

#: The name of the group of all values of a key.
ALL = "all"
#: The most letters of a line, and of a name beside figures; fewer where a terminal is narrow.
WIDTH, _KEY, _NARROW = 100, 72, 40


@dataclass(frozen=True)
class Table:
    """Rows of figures.

    Attributes
    ----------
    about : str
        What they are of, in a line.
    keys : tuple of str
        The columns that identify a row.
    rows : list of dict
        All with the same names. Undefined figures are ``None``.
    """

    about: str
    keys: tuple[str, ...]
    rows: list[Row]

    def shown(self, ci: str) -> Shown:
        """Return it with the figures as people read them; ``ci`` is the head of intervals."""
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
class Contents:
    """The figures of the records of one data set.

    Attributes
    ----------
    labels : dict of dict of int
        How often each label was given, by the name of its field.
    lengths : Table
        Of the texts; see :func:`lengths`.
    tables : dict of Table
        The native ones, by what their rows are keyed by.
    agreement : Table or None
        ``None`` where the files do not have more than one judgement of anything.
    notes : tuple of str
        What must be known to read the figures.
    """

    labels: dict[str, dict[str, int]]
    lengths: Table
    tables: dict[str, Table]
    agreement: Table | None = None
    notes: tuple[str, ...] = ()


def counted(values: Iterable[str | None]) -> dict[str, int]:
    """Return how often each value is there, the most frequent first; ``None`` as ``none``.

    Examples
    --------
    >>> counted(["y", None, "n", "y"])
    {'y': 2, 'none': 1, 'n': 1}
    """
    words = Counter("none" if value is None else value for value in values)
    return dict(words.most_common())


def histogram(values: Iterable[float | None]) -> dict[str, int]:
    """Return how often each number is there, in their order; ``None`` as ``none``, the last.

    Examples
    --------
    >>> histogram([0.5, None, 0.25, 0.5])
    {'0.25': 1, '0.5': 2, 'none': 1}
    """
    numbers = Counter(values)
    missing = numbers.pop(None, 0)
    counts = {repr(number): n for number, n in sorted(numbers.items())}
    return {**counts, "none": missing} if missing else counts


def lengths(texts: Mapping[str, Iterable[str]]) -> Table:
    """Return how long texts are, in characters, by the name of their field, where there are any.

    Examples
    --------
    >>> lengths({"hyp": ["ab", "abcd"]}).rows
    [{'text': 'hyp', 'n': 2, 'characters': 6, 'min': 2, 'median': 3.0, 'mean': 3.0, 'max': 4}]
    """
    sizes = {name: np.array([*map(len, values)], np.int64) for name, values in texts.items()}
    rows = [_length(name, values) for name, values in sizes.items() if len(values)]
    return Table("lengths in characters", ("text",), rows)


def _length(name: str, sizes: NDArray[np.int64]) -> Row:
    return {
        "text": name,
        "n": len(sizes),
        "characters": int(sizes.sum()),
        "min": int(sizes.min()),
        "median": float(np.median(sizes)),
        "mean": float(sizes.mean()),
        "max": int(sizes.max()),
    }


def shares(parts: Mapping[str, tuple[ArrayLike, ArrayLike]], how: Intervals) -> dict[str, Any]:
    """Return ratios of sums, each with its interval, for a row.

    Parameters
    ----------
    parts : dict of (array, array)
        By name the parts and wholes of the units, which are what is resampled; all of the same n.
    how : Intervals
        How to make intervals.

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
    return flat(*estimates(scored, how))


def named(files: Sequence[FileRecords]) -> list[tuple[str, list[Any]]]:
    """Return the records of each file with its name, shortened where it stays unique.

    Examples
    --------
    >>> from shroom.datasets.collection import FileRecords
    >>> [name for name, _ in named([FileRecords("a/x.json", [], 0), FileRecords("y.json", [], 0)])]
    ['x.json', 'y.json']
    """
    bases = Counter(file.base for file in files)
    return [(file.base if bases[file.base] == 1 else file.file, file.records) for file in files]
