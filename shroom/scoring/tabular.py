"""Results as tables: data frames, and what notebooks show."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from html import escape
from typing import Any

from shroom.core.problems import ShroomError


class Tabular(ABC):
    """A result whose figures can be the rows of a table."""

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
        columns = {key: [row[key] for row in records] for key in (records[0] if records else {})}
        try:
            import narwhals

            return narwhals.from_dict(columns, backend=backend).to_native()  # type: ignore[arg-type]
        except ImportError as error:
            raise ShroomError(
                f"a data frame needs narwhals and {backend}: pip install narwhals {backend}"
            ) from error

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
            words = [value for value in row.values() if isinstance(value, str) and value]
            for key, value in row.items():
                if isinstance(value, (int, float)) and value == value:  # not nan
                    name = "/".join(re.sub(r"[^\w.\- ]", "_", part) for part in (*words, key))
                    while name in numbers:
                        name += "_"
                    numbers[name] = float(value)
        return numbers

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        records = self.records()
        heads = "".join(f"<th>{escape(key)}</th>" for key in (records[0] if records else {}))
        rows = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in records)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def bounds(name: str, ci: Any) -> dict[str, float | None]:
    """Return an interval as two values under their names.

    Examples
    --------
    >>> bounds("rho", (0.25, 0.75)), bounds("rho", None)
    ({'rho_low': 0.25, 'rho_high': 0.75}, {'rho_low': None, 'rho_high': None})
    """
    low, high = ci or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td style="text-align: right">{value:.3f}</td>'
    if isinstance(value, int):
        return f'<td style="text-align: right">{value}</td>'
    return f"<td>{'' if value is None else escape(str(value))}</td>"
