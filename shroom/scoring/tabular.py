"""Results as tables and plots: data frames, and what notebooks show."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError
from shroom.core.registry import Entry, Registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: What shows a result, on a floor above: it is imported when it is called.
_SHOWN = Registry(
    "form of a result",
    {
        "plot": Entry("shroom.report.result_plots:draw"),
        "notebook": Entry("shroom.report.notebook:html"),
    },
)


#: The other columns of an interval.
_OTHERS = ("_high", "_note")
_HEAD = '<th scope="col">{}</th>'


class Tabular(ABC):
    """A result whose figures can be the rows of a table, and drawn."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return the figures as rows of plain values, all with the same keys."""

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the figures as a data frame.

        Parameters
        ----------
        backend : str
            ``pandas``, ``polars`` or ``pyarrow``, which must be installed, as must narwhals.

        Raises
        ------
        ShroomError
            If one of them is missing.

        Examples
        --------
        >>> import shroom
        >>> frame = shroom.score("shroom/sample", "shroom/sample").to_frame()
        >>> frame.loc[frame["by"] == "", ["track", "n", "accuracy", "rho"]].values.tolist()
        [['model-agnostic', 60, 1.0, 1.0], ['model-aware', 60, 1.0, 1.0]]
        """
        records = self.records()
        heads = records[0] if records else {}
        columns = {key: _of_one_type([row[key] for row in records]) for key in heads}
        try:
            import narwhals

            return narwhals.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
        except ImportError as error:
            raise ShroomError(
                f"a data frame needs narwhals and {backend}: pip install narwhals {backend}"
            ) from error
        except ValueError as error:
            raise ShroomError(
                f"no data frame of '{backend}'; there are pandas, polars and pyarrow"
            ) from error

    def plot(self, kind: str = "", *, track: str = "", metric: str = "", ax: Any = None) -> Any:
        """Draw one figure of the result, as ``shroom report`` draws it.

        Parameters
        ----------
        kind : str
            Kind of figure; by default the first that the result has, such as ``scores``.
        track, metric : str
            Track (of a matrix: data set) and metric to draw; by default the first.
        ax : Axes, optional
            Axes to draw on; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ShroomError
            If there is no such figure, with the names of those that there are; or if matplotlib is
            not installed.

        Examples
        --------
        >>> import shroom
        >>> score = shroom.score("shroom/sample", "shroom/sample")
        >>> score.plot("scatter", track="model-aware").get_xlabel()
        "annotators' proportion"
        """
        return _SHOWN.load("plot")(self, kind, track, metric, ax)

    def numbers(self) -> dict[str, float]:
        """Return the figures that are defined, each under one name, for a tracker of experiments.

        A name has the words of its row and the figure's own, with an underscore for what MLflow
        does not allow: ``mlflow.log_metrics(score.numbers())``, ``run.log(score.numbers())``.

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
        """Return what a notebook shows: the report's tables, and plots if they can be drawn."""
        html: str = _SHOWN.load("notebook")(self)
        return html


def table_of(records: Sequence[Mapping[str, Any]], most: int = 60) -> str:
    """Return rows, at most so many, as an HTML table with the figures as people read them.

    The two ends of an interval are one column, with a mark if the interval is doubtful.

    Examples
    --------
    >>> table_of([{"rho": 0.12345, "rho_low": 0.0, "rho_high": 0.2}])
    '<table><thead><tr><th...>rho</th><th...>interval</th></tr>...<td...>[0.000, 0.200]</td>...'
    """
    first = records[0] if records else {}
    of_interval = {f"{key[:-4]}{end}" for key in first if key.endswith("_low") for end in _OTHERS}
    keys = [key for key in first if key not in of_interval]
    ends = {key: f"{key[:-4]}_high" for key in keys if f"{key[:-4]}_high" in first}
    heads = "".join(_HEAD.format("interval" if key in ends else escape(key)) for key in keys)
    cells = (
        [(row[key], row.get(ends.get(key, "")), row.get(f"{key[:-4]}_note")) for key in keys]
        for row in records[:most]
    )
    rows = "".join(f"<tr>{''.join(_cell(*parts) for parts in row)}</tr>" for row in cells)
    several = f"<caption>the first {most} of {len(records)} rows</caption>"
    caption = several if len(records) > most else ""
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def rounded(scores: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return scores with three decimal places, for a short form in words.

    Examples
    --------
    >>> rounded({"accuracy": 0.66666, "rho": None})
    {'accuracy': 0.667, 'rho': None}
    """
    return {name: None if value is None else round(value, 3) for name, value in scores.items()}


def bounds(name: str, ci: Any) -> dict[str, Any]:
    """Return the ends of an interval under their names, and why it is doubtful, if it is.

    Examples
    --------
    >>> bounds("rho", (0.25, 0.75))
    {'rho_low': 0.25, 'rho_high': 0.75, 'rho_note': None}
    """
    low, high = ci or (None, None)
    return {f"{name}_low": low, f"{name}_high": high, f"{name}_note": getattr(ci, "note", None)}


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return a column as numbers, or as texts where they are of several types."""
    kinds = {type(value) for value in values if value is not None}
    kind = float if kinds == {int, float} else str if len(kinds) > 1 else None
    return values if kind is None else [None if it is None else kind(it) for it in values]


def _cell(value: Any, high: float | None = None, note: str | None = None) -> str:
    if high is not None:
        sign = f'<abbr title="{escape(note)}">‡</abbr>' if note else ""
        return f'<td class="n">[{value:.3f}, {high:.3f}]{sign}</td>'
    if isinstance(value, float):
        return f'<td class="n">{value:.3f}</td>'
    if isinstance(value, int):
        return f'<td class="n">{value}</td>'
    return f"<td>{'' if value is None else escape(str(value))}</td>"
