"""Describing the files of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shroom.core.datapoint import Label
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems
from shroom.datasets.collection import FileRecords
from shroom.datasets.download import read_here
from shroom.datasets.registry import data_set, refuse_another
from shroom.datasets.summary import NAMES, WIDTH, Contents
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals
from shroom.scoring.display.text import confidence, doubts, how_made, shortened
from shroom.scoring.in_memory import Data, sources_in
from shroom.scoring.result import Result
from shroom.scoring.tables import Table as Shown
from shroom.scoring.tables import bounds


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
        default = [*views.values()][:1]
        labels = [point.label for view in default for point in view.datapoints(records)]
        if not labels:
            return "no record is labelled"
        n, wrong = len(labels), labels.count(Label.HALLUCINATION)
        of = f"in the view '{next(iter(views))}', " if len(views) > 1 else ""
        are = f"{'is' if wrong == 1 else 'are'} hallucinated ({wrong / n:.1%})"
        return f"{of}{wrong} of {counted(n, 'labelled datapoint')} {are}"

    def tables(self) -> list[Shown]:
        """Return the counts, labels, lengths, the data set's own tables and the agreement."""
        contents, ci = self.contents, confidence(self.how)
        labels = [
            Shown(
                f"{title}:",
                ("", ""),
                [(shortened(it, NAMES), n) for it, n in counts.items()],
                indent=2,
            )
            for title, counts in contents.labels.items()
        ]
        tables = [table for table in contents.all_tables.values() if table.rows]
        counts = self.problems.to_dict()["counts"]
        warnings = ", ".join(f"{n} {code}" for code, n in counts.items()) or "none"
        notes = [*(f"note: {note}" for note in contents.notes), f"warnings: {warnings}"]
        figures = [pair for table in tables for row in table.rows for pair in row.items()]
        if any(value and name.endswith("_ci") for name, value in figures):
            notes += [how_made(self.how, f"{self.how.resamples} resamples"), *doubts(figures)]
        listed = [file.to_dict() for file in self.files]
        if len(listed) > 1:
            listed.append({"file": "all", **self.counts})
        rows = [(shortened(row.pop("file"), NAMES), *row.values()) for row in listed]
        files = Shown(heads=("", "rows", "records", "dropped"), rows=rows)
        shown = [table.shown(ci) for table in tables]
        return [files, *labels, *shown, Shown(notes=notes, width=WIDTH)]

    def records(self) -> list[dict[str, Any]]:
        """Return the tables as one, with a row for each figure."""
        return [
            {
                "table": name,
                "of": ", ".join(f"{key}: {row[key]}" for key in table.keys),
                "figure": figure,
                "value": value,
                **bounds("value", row.get(f"{figure}_ci")),
            }
            for name, table in self.contents.all_tables.items()
            for row in table.rows
            for figure, value in row.items()
            if figure not in table.keys and not figure.endswith(("_ci", "_ci_note"))
        ]

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of ``rows``, usable ``records`` and ``dropped`` rows in all files."""
        counts = [file.to_dict() for file in self.files]
        return {key: sum(file[key] for file in counts) for key in ("rows", "records", "dropped")}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON: floats in full, undefined as ``None``."""
        contents = self.contents
        return {
            "dataset": self.dataset,
            "files": [file.to_dict() for file in self.files],
            **self.counts,
            "labels": contents.labels,
            "lengths": contents.lengths.rows,
            "agreement": None if contents.agreement is None else contents.agreement.rows,
            "tables": {name: table.rows for name, table in contents.tables.items()},
            **self.how.to_dict(),
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
    return Description(name, files, described.summary.contents(files, how), problems, how)
