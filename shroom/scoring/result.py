"""The base classes of results, which show and serialise themselves, and signatures of scores."""

from __future__ import annotations

import importlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

from shroom.core.problems import Problems, ShroomError
from shroom.core.version import __version__
from shroom.metrics.intervals import Marked
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import digest
from shroom.scoring.kinds.base import kind_of
from shroom.scoring.rows import Rows
from shroom.scoring.tables import Estimate, Table, as_csv, bounds, markdown, text


class Plain:
    """Values that serialise themselves: attributes and properties by their names, in order."""

    # A name with ``**`` before it, such as scores by metric, puts its values at the same level.

    #: The names that JSON has; by default the fields of the dataclass.
    keys: ClassVar[Sequence[str]] = ()
    #: The names that a row of a data frame has; by default those that JSON has.
    columns: ClassVar[Sequence[str]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; floats in full, undefined as ``None``."""
        values: dict[str, Any] = plain(_attributes(self, self.keys))
        return values

    def record(self) -> dict[str, Any]:
        """Return the figures as one row of plain values, with the ends of the intervals."""
        row: dict[str, Any] = {}
        for name, value in _attributes(self, self.columns or self.keys).items():
            if isinstance(value, Estimate):
                row |= {name: value.value, **bounds(name, value.ci)}
            elif name.endswith("_ci"):
                row |= dict(zip((name[:-2] + "low", name[:-2] + "high"), value or (None, None)))
            else:
                row[name] = value
        return row


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, Problems):
        return [problem.sentence for problem in value]
    if is_dataclass(value):
        return plain(_attributes(value, ()))
    if isinstance(value, Mapping):
        values: dict[Any, Any] = {}
        for key, part in value.items():
            if isinstance(part, Estimate):
                values |= {key: part.value, f"{key}_ci": plain(part.ci)}
                values |= doubt(f"{key}_ci_note", part.ci)
            else:
                values[key] = plain(part)
        return values
    return [*map(plain, value)] if isinstance(value, (list, tuple)) else value


def doubt(key: str, ci: object) -> dict[str, str]:
    """Return the reason for a doubtful interval under a key; nothing for other intervals."""
    return {key: ci.note} if isinstance(ci, Marked) else {}


def _attributes(thing: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return attributes by name, by default the fields; ``**name`` stands for its values."""
    values: dict[str, Any] = {}
    for name in names or [field.name for field in fields(thing)]:
        if name.startswith("**"):
            within = getattr(thing, name[2:])
            values |= within if isinstance(within, Mapping) else within.to_dict()
        else:
            values[name] = getattr(thing, name)
    return values


class Scored(Plain):
    """Values with scores, each an estimate by the name of its metric."""

    estimates: Mapping[str, Estimate]

    @property
    def scores(self) -> dict[str, float | None]:
        """The scores by metric; ``None`` if undefined."""
        return {name: cell.value for name, cell in self.estimates.items()}

    @property
    def intervals(self) -> dict[str, Any]:
        """Their intervals by metric; ``None`` if there is none."""
        return {name: cell.ci for name, cell in self.estimates.items()}


class Result(Plain, ABC):
    """A result defines its tables and the keys of its JSON; all other forms follow from these."""

    #: The function in ``shroom.report.results`` that returns its figures.
    panels_by: ClassVar[str] = ""
    #: After how many tables its page has the figures, which need Matplotlib; ``None``: without.
    figures_after: ClassVar[int | None] = None
    #: The attribute with the rows of its data frame; by default they are those of its tables.
    listed: ClassVar[str] = ""
    #: The keys of its rows if there are none.
    keys_of_none: ClassVar[Sequence[str]] = ()

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the tables that text, Markdown and pages show."""

    def page_tables(self) -> list[Table]:
        """Return the tables of a page, which has more room than a terminal."""
        return self.tables()

    @property
    def verdict(self) -> str:
        """One sentence with the answer, at the beginning of every form; may be empty."""
        return ""

    def with_verdict(self, tables: Sequence[Table]) -> list[Table]:
        """Return tables below the verdict."""
        return [*([Table(about=[self.verdict])] if self.verdict else []), *tables]

    @property
    def heading(self) -> str:
        """The heading of its page."""
        return type(self).__name__

    def records(self) -> list[dict[str, Any]]:
        """Return the figures as rows of plain values, all with the same keys."""
        if self.listed:
            return alike([row.record() for row in getattr(self, self.listed)])
        return alike([record for table in self.tables() for record in table.records()])

    def _keys(self, records: list[dict[str, Any]]) -> list[str]:
        return list(records[0] if records else self.keys_of_none)

    def render(self, form: str) -> str:
        """Return the result as ``text``, ``markdown``, ``csv``, ``json`` or an ``html`` page."""
        if form == "json":
            answer = {"verdict": self.verdict} if self.verdict else {}
            values = {**answer, **self.to_dict()}
            return json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"
        if form == "csv":
            records = self.records()
            return as_csv([self._keys(records), *(list(row.values()) for row in records)])
        if form == "html":
            return str(_report_room().page(self))
        return {"text": text, "markdown": markdown}[form](self.with_verdict(self.tables()))

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the figures as a data frame.

        Parameters
        ----------
        backend : str
            ``pandas``, ``polars`` or ``pyarrow``. The chosen library and narwhals must be
            installed.

        Raises
        ------
        ShroomError
            If a library is missing.

        Examples
        --------
        >>> import shroom
        >>> frame = shroom.score("shroom/sample", "shroom/sample").to_frame()
        >>> frame.loc[frame["by"] == "", ["track", "n", "accuracy", "rho"]].values.tolist()
        [['model-agnostic', 60, 1.0, 1.0], ['model-aware', 60, 1.0, 1.0]]
        """
        records = self.records()
        keys = self._keys(records)
        columns = {key: _of_one_type([row[key] for row in records]) for key in keys}
        try:
            import narwhals

            return narwhals.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
        except ImportError as error:
            raise ShroomError(
                f"a data frame requires narwhals and {backend}: pip install narwhals {backend}"
            ) from error
        except ValueError as error:
            raise ShroomError(
                f"unknown data frame library '{backend}'; use pandas, polars or pyarrow"
            ) from error

    def panels(self) -> dict[str, list[Any]]:
        """Return the panels that can be drawn, by kind; the first kind is drawn by default."""
        panels: dict[str, list[Any]] = {}
        return getattr(_report_room(), self.panels_by)(self) if self.panels_by else panels

    def plot(self, kind: str = "", *, track: str = "", metric: str = "", ax: Any = None) -> Any:
        """Draw one figure of the result, as ``shroom report`` draws it.

        Parameters
        ----------
        kind : str
            Kind of figure, such as ``scores``; by default, the first kind of the result.
        track : str
            Track to draw (for a matrix, the data set to draw); by default, the first.
        metric : str
            Metric to draw; by default, the first.
        ax : Axes, optional
            Axes to draw on; by default, the axes of a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ShroomError
            If the result has no such figure, or if matplotlib is not installed. The message lists
            the figures of the result.

        Examples
        --------
        >>> import shroom
        >>> score = shroom.score("shroom/sample", "shroom/sample")
        >>> score.plot("scatter", track="model-aware").get_xlabel()
        "annotators' proportion"
        """
        return _report_room().draw(self, kind, track, metric, ax)

    def numbers(self) -> dict[str, float]:
        """Return all defined numbers by name, for an experiment tracker.

        A name consists of the text cells of the row and the name of the number. Characters that
        MLflow does not allow become underscores. Use ``mlflow.log_metrics(score.numbers())`` or
        ``run.log(score.numbers())``.

        Examples
        --------
        >>> import shroom
        >>> numbers = shroom.score("shroom/sample", "shroom/sample").numbers()
        >>> numbers["val/model-aware/accuracy"], numbers["val/model-aware/task/DM/n"]
        (1.0, 15.0)
        """
        numbers: dict[str, float] = {}
        for row in self.records():
            texts = {key: value for key, value in row.items() if not key.endswith("_note")}
            words = [value for value in texts.values() if isinstance(value, str) and value]
            for key, value in row.items():
                if isinstance(value, (int, float)) and value == value:  # not nan
                    name = "/".join(re.sub(r"[^\w.\- ]", "_", part) for part in (*words, key))
                    while name in numbers:
                        name += "_"
                    numbers[name] = float(value)
        return numbers

    def _repr_html_(self) -> str:
        """Return the tables, and plots if they can be drawn, for a notebook."""
        return str(_report_room().in_notebook(self))


def _report_room() -> Any:
    """Return the module for plots and pages, which is in a higher layer."""
    return importlib.import_module("shroom.report.results")


def alike(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of plain values with the keys of all of them."""
    keys = dict.fromkeys(key for record in records for key in record)
    return [{key: record.get(key) for key in keys} for record in records]


def rounded(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return scores with three decimal places, for a short form in words."""
    return {name: None if value is None else round(value, 3) for name, value in scores.items()}


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return a column as numbers, or as texts if they are of several types."""
    kinds = {type(value) for value in values if value is not None}
    kind = float if kinds == {int, float} else str if len(kinds) > 1 else None
    return values if kind is None else [None if it is None else kind(it) for it in values]


def signature(track: str, gold: Rows, align: str, edition: Edition, *more: str) -> str:
    """Return everything that a score depends on, in one line; ``align`` is ``id`` or ``order``."""
    name = "@".join(filter(None, (edition.name, digest(edition))))
    parts = ["shroom", f"v:{__version__}", f"edition:{name}", f"track:{track}" if track else ""]
    parts += [f"n:{gold.n}", f"gold:{gold.hash}", f"align:{align}", kind_of(edition).signature]
    return "|".join(filter(None, (*parts, *more)))


def joined(signatures: Iterable[str]) -> str:
    """Return one signature for several results; parts that differ are joined by ``+``."""
    parts = []
    for column in zip(*(line.split("|") for line in signatures)):
        key, colon, _ = column[0].partition(":")
        values = [part.partition(":")[2] for part in column]
        # Sizes belong to their tracks, so they are all listed; a common value is listed once.
        parts.append(key + colon + "+".join(values if len({*values}) > 1 else values[:1]))
    return "|".join(parts)
