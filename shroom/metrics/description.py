"""What one reads about a metric before one trusts it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Description:
    """A metric in words, of a system against the gold or of the annotators' votes.

    Attributes
    ----------
    name : str
        As on the command line and in json.
    about : str
        One line: what it measures.
    formula : str
        How it is computed, in one line.
    bounds : tuple of float
        The least and the greatest value.
    higher_is_better : bool
        Whether more is better.
    inputs : tuple of str
        The arrays that it is computed from, in the order in which ``function`` takes them.
    undefined : str
        Where it has no value.
    reference : str
        Where it comes from.
    function : str
        The Python function, as ``module:name``.
    command : str
        The command line that gives it.
    intervals : tuple of str
        The kinds of intervals that it can have; ``normal`` is by influence, in one pass.
    paired_tests : tuple of str
        The tests of a difference between two systems.
    """

    name: str
    about: str
    formula: str
    bounds: tuple[float, float]
    higher_is_better: bool
    inputs: tuple[str, ...]
    undefined: str
    reference: str
    function: str
    command: str
    intervals: tuple[str, ...] = ("percentile",)
    paired_tests: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """The least and the greatest value, as text.

        Examples
        --------
        >>> from shroom.scoring.metric_registry import describe
        >>> describe("rho").range, describe("log_loss").range
        ('[−1, 1]', '[0, 36.04]')
        """
        low, high = (f"{bound:.4g}".replace("-", "−") for bound in self.bounds)
        return f"[{low}, {high}]"

    @property
    def direction(self) -> str:
        """Which way is better, as text."""
        return "more is better" if self.higher_is_better else "less is better"

    def facts(self) -> dict[str, str]:
        """Return all but the name and what it is about, as text: for a page or a terminal."""
        module, _, function = self.function.partition(":")
        return {
            "formula": self.formula,
            "range": self.range,
            "direction": self.direction,
            "computed from": " and ".join(each.replace("_", " ") for each in self.inputs),
            "undefined": self.undefined,
            "intervals": ", ".join(self.intervals),
            "paired test": ", ".join(self.paired_tests) or "none",
            "reference": self.reference,
            "in Python": f"from {module} import {function}",
            "command": self.command,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json."""
        renamed = {**asdict(self), "function": self.function.replace(":", ".")}
        plain = {key: list(v) if isinstance(v, tuple) else v for key, v in renamed.items()}
        return {"range" if key == "bounds" else key: value for key, value in plain.items()}
