"""Describing the files of a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from shroom.core.datapoint import Datapoint, Label
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import FileRecords
from shroom.datasets.download.sources import read_here
from shroom.datasets.groups import WIDTH, Table
from shroom.datasets.registry import data_set, refuse_another
from shroom.datasets.summary import Contents, Summary
from shroom.metrics.intervals import DEFAULT_INTERVALS, MAX_ITEMS, Intervals
from shroom.scoring.display.text import confidence, doubts, how_made, shortened
from shroom.scoring.in_memory import Data, sources_in
from shroom.scoring.result import Result
from shroom.scoring.rows import TEXTS
from shroom.scoring.tables import Table as Shown
from shroom.scoring.tables import bounds

#: Maximum characters of a file name or a label.
_NAMES = 72


@dataclass(frozen=True, repr=False)
class Description(Result):
    """The contents of the files of a data set.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    files : list of FileRecords
        Files with their records, in the order of the files.
    contents : Contents
        Figures of the records.
    problems : Problems
        All warnings about the files.
    how : Intervals
        Settings for the intervals.
    """

    dataset: str
    files: list[FileRecords]
    contents: Contents
    problems: Problems
    how: Intervals

    def __repr__(self) -> str:
        return f"Description({self.verdict.removesuffix('.')})"

    @cached_property
    def verdict(self) -> str:
        """The number of records in the files, and how many datapoints are hallucinated."""
        records = counted(self.counts["records"], "record")
        files = counted(len(self.files), "file")
        return f"{self.dataset}: {records} in {files}; {self._share()}."

    def _share(self) -> str:
        """Return how many labelled datapoints of the default view are hallucinated."""
        views = data_set(self.dataset).views
        records = [record for file in self.files for record in file.records]
        counts = [Counter(it.label for it in view.datapoints(records)) for view in views.values()]
        if not counts or not counts[0]:
            return "no record is labelled"
        n, wrong = counts[0].total(), counts[0][Label.HALLUCINATION]
        # The view is named if another view counts differently.
        of = f"{wrong} of {counted(n, 'labelled datapoint')}"
        if any(other != counts[0] for other in counts):
            have = "has" if wrong == 1 else "have"
            return f"in the view '{next(iter(views))}', {of} {have} p > 0.5 ({wrong / n:.1%})"
        return f"{of} {'is' if wrong == 1 else 'are'} hallucinated ({wrong / n:.1%})"

    def tables(self) -> list[Shown]:
        """Return the counts, labels, lengths, the data set's own tables and the agreement."""
        contents, ci = self.contents, confidence(self.how)
        labels = [
            Shown(
                f"{title}:",
                ("", ""),
                [(shortened(it, _NAMES), n) for it, n in counts.items()],
                indent=2,
            )
            for title, counts in contents.labels.items()
        ]
        tables = [table for table in contents.all_tables.values() if table.rows]
        warnings = (
            ", ".join(f"{n} {code}" for code, n in self.problems.to_dict()["counts"].items())
            or "none"
        )
        notes = [*(f"note: {note}" for note in contents.notes), f"warnings: {warnings}"]
        figures = [pair for table in tables for row in table.rows for pair in row.items()]
        if any(value and name.endswith("_ci") for name, value in figures):
            above = (
                f"; the normal approximation is used above {self.normal_above} units, except for "
                "agreement"
            )
            made = how_made(self.how, f"{self.how.resamples} resamples")
            notes += [made + above * bool(self.normal_above), *doubts(figures)]
        shown = [table.shown(ci) for table in tables]
        return [*self._files(), *labels, *shown, Shown(notes=notes, width=WIDTH)]

    def _files(self) -> list[Shown]:
        """Return the number of rows of each file, under the folder name if names are long."""
        counts = [file.to_dict() for file in self.files]
        names, above = [row.pop("file") for row in counts], []
        folders = {str(Path(name).parent) for name in names}
        if max(map(len, names)) > _NAMES and len(folders) == 1:
            above = [Shown(f"in {folders.pop()}:")]
            names = [Path(name).name for name in names]
        if len(counts) > 1:
            names, counts = [*names, "all"], [*counts, self.counts]
        rows = [(shortened(name, _NAMES), *row.values()) for name, row in zip(names, counts)]
        return [*above, Shown(heads=("", "rows", "records", "dropped"), rows=rows)]

    @property
    def parts(self) -> dict[str, Table]:
        """The tables by name: files, labels, lengths, agreement, and the data set's own tables."""
        labels = [
            {"field": name, "label": label, "n": n}
            for name, by_label in self.contents.labels.items()
            for label, n in by_label.items()
        ]
        return {
            "files": Table("files", ("file",), [file.to_dict() for file in self.files]),
            "labels": Table("how often each label was given", ("field", "label"), labels),
            **self.contents.all_tables,
        }

    def records(self) -> list[dict[str, Any]]:
        """Return all tables as one, with a row for each figure."""
        return [
            {
                "table": name,
                "of": ", ".join(f"{key}: {row[key]}" for key in table.keys),
                "figure": figure,
                "value": value,
                **bounds("value", row.get(f"{figure}_ci")),
            }
            for name, table in self.parts.items()
            for row in table.rows
            for figure, value in row.items()
            if figure not in table.keys and not figure.endswith(("_ci", "_ci_note"))
        ]

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of ``rows``, usable ``records`` and ``dropped`` rows in all files."""
        counts = [file.to_dict() for file in self.files]
        return {key: sum(file[key] for file in counts) for key in ("rows", "records", "dropped")}

    @property
    def normal_above(self) -> int | None:
        """Number of units above which intervals are normal approximations; ``None`` below it."""
        # Intervals of agreement are always percentiles.
        return MAX_ITEMS if self.counts["records"] > MAX_ITEMS and self.how.resamples else None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON: floats in full, undefined as ``None``."""
        contents, settings = self.contents, self.how.to_dict()
        if self.normal_above:
            settings["intervals"] = {**settings["intervals"], "normal_above": self.normal_above}
        return {
            "dataset": self.dataset,
            "files": [file.to_dict() for file in self.files],
            **self.counts,
            "labels": contents.labels,
            "lengths": contents.lengths.rows,
            "agreement": None if contents.agreement is None else contents.agreement.rows,
            "tables": {name: table.rows for name, table in contents.tables.items()},
            **settings,
            "notes": list(contents.notes),
            "warning_counts": self.problems.to_dict()["counts"],
            "warnings": [problem.sentence for problem in self.problems],
        }


def describe(
    name: str, data: Data | Sequence[Data] = (), how: Intervals = DEFAULT_INTERVALS
) -> Description:
    """Return the contents of the files of a data set.

    Parameters
    ----------
    name : str
        Name of the data set.
    data : path, rows or data frame, or sequence of them
        Files, folders, zips, rows or data frames in the native form, or a pipe (``"-"``). By
        default, the copy of the data set on this machine.
    how : Intervals
        Settings for the intervals.

    Raises
    ------
    InvalidInput
        With every problem, if there are errors or no usable rows.
    ShroomError
        If there is no data set of that name, or the files belong to another data set.

    Examples
    --------
    >>> describe("semeval2024", "shroom/sample").verdict
    'semeval2024: 120 records in 2 files; 50 of 120 labelled datapoints are hallucinated (41.7%).'
    """
    described = data_set(name)
    paths = sources_in(data)
    for path in paths:
        refuse_another(name, path)
    problems = Problems(limit=None)
    collection = described.read(*paths, problems=problems) if paths else read_here(name, problems)
    if not collection.records:
        for file in collection.files:
            problems.add("empty", file, "a usable row", "none")
        raise InvalidInput(problems)
    files = collection.by_file
    summary = described.summary or _of_views(described)
    if summary.check is not None:
        summary.check(files, problems)
    return Description(name, files, summary.contents(files, how), problems, how)


def _of_views(described: DataSet) -> Summary:
    """Return the summary of a data set that declares none: the datapoints of each view."""

    def of(view: View[Any], get: Callable[[Datapoint], Any]) -> Callable[[Any], Any]:
        return lambda record: map(get, view.datapoints([record]))

    views = described.views.items()
    return Summary(
        {
            f"{name}: label": of(view, lambda it: it.label and it.label.value)
            for name, view in views
        },
        {f"{name}: {key}": of(view, attrgetter(key)) for name, view in views for key in TEXTS},
    )
