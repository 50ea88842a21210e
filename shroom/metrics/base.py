"""A metric: per-item statistics, a function from weighted statistics to scores, and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True)
class Exchange:
    """A metric as a function of sums, for tests that exchange the outputs of two systems.

    Such a test swaps items between the systems at random. Where a score depends on sums of terms
    alone, all its trials are one product of matrices.

    Attributes
    ----------
    terms : callable
        ``statistics [n, k] -> [n, m]``: what each item adds.
    score : callable
        ``(sums [..., m], n) -> [...]``: the score that follows from them.
    """

    terms: Callable[[Array], Floats]
    score: Callable[[Floats, int], Floats]


@dataclass(frozen=True)
class Metric:
    """A metric as functions, from which intervals, paired tests and slices follow.

    Attributes
    ----------
    name : str
        The field's name of it.
    statistics : callable
        ``(label, p, gold_label, gold_p) -> [n, k]``: what each item contributes. Rows may be
        selected or weighted afterwards, so a slice is ``statistics[mask]``.
    score : callable
        ``(statistics [n, k], weights [b, n]) -> [b]``: the score under each row of integer
        weights; ``nan`` where it is undefined. A resample is a row of weights, how often each
        item was drawn.
    bounds : tuple of float
        The least and the greatest value.
    joint : callable or None
        ``(systems' statistics, weights [b, n]) -> [systems, b]``: what ``score`` gives for each,
        where several systems on the same items take less than one by one.
    influence : callable or None
        ``statistics -> [n]``: the derivative of the score by each item's weight, which gives
        intervals in one pass; ``None`` where only resampling does.
    exchange : Exchange or None
        ``None`` where the score is not a function of sums.
    higher_is_better : bool
        Whether more is better.
    about : str
        What it measures, in one line.
    formula : str
        Formula, in one line.
    reference : str
        Reference of the definition.
    share : callable or None
        ``statistics -> [n, 2]``: what each item adds to the part and to the whole, if the metric
        is a share of items, which then has Wilson's interval; else ``None``.
    classes : callable or None
        ``statistics -> [n, c]``: to which class each item belongs, if resamples with few items of
        a class do not show how the score varies; else ``None``.
    is_biased : bool
        Whether the score of a sample lies on one side of the true one, as an error that is never
        negative does. Resamples lie farther on that side, so there is no interval.
    """

    name: str
    statistics: Callable[[Array, Array, Array, Array], Array]
    score: Callable[[Array, Floats], Floats]
    bounds: tuple[float, float]
    influence: Callable[[Array], Floats] | None = None
    exchange: Exchange | None = None
    higher_is_better: bool = True
    about: str = ""
    formula: str = ""
    reference: str = ""
    joint: Callable[[Sequence[Array], Floats], Floats] | None = None
    share: Callable[[Array], Floats] | None = None
    classes: Callable[[Array], Array] | None = None
    is_biased: bool = False

    def scores(self, systems: Sequence[Array], weights: Floats) -> Floats:
        """Return the scores of several systems on the same items: shape [systems, b]."""
        if self.joint is not None:
            return self.joint(systems, weights)
        return np.stack([self.score(statistics, weights) for statistics in systems])

    def weighted(self, statistics: Array, weights: Array | None = None) -> float:
        """Return the score where each item counts as often as weights [n] say; once by default."""
        rows = np.ones(len(statistics)) if weights is None else np.asarray(weights, np.float64)
        return float(self.score(statistics, rows[None, :])[0])

    def __call__(self, statistics: Array) -> float | None:
        """Return the score of the items as they are; ``None`` where it is undefined."""
        value = self.weighted(statistics)
        return None if np.isnan(value) else value


@dataclass(frozen=True)
class Description:
    """A metric in words, of a system against the gold or of the annotators' votes.

    Attributes
    ----------
    name : str
        As on the command line and in json.
    about : str
        What it measures, in one line.
    formula : str
        Formula, in one line.
    bounds : tuple of float
        The least and the greatest value.
    higher_is_better : bool
        Whether more is better.
    inputs : tuple of str
        The arrays that it is computed from, in the order in which ``function`` takes them.
    undefined : str
        When it is undefined.
    reference : str
        Reference of the definition.
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
            "computed from": " and ".join(name.replace("_", " ") for name in self.inputs),
            "undefined": self.undefined,
            "intervals": ", ".join(self.intervals) or "none",
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


def mean_of(
    name: str,
    values: Callable[[Array, Array, Array, Array], Array],
    bounds: tuple[float, float],
    **about: Any,
) -> Metric:
    """Return the metric that is the mean of a value of each item.

    Parameters
    ----------
    name, bounds
        As of :class:`Metric`.
    values : callable
        ``(label, p, gold_label, gold_p) -> [n]``.
    **about
        Further attributes of :class:`Metric`.

    Examples
    --------
    >>> import numpy as np
    >>> error = mean_of("error", lambda label, p, gold_label, gold_p: abs(p - gold_p), (0.0, 1.0))
    >>> half, one = np.array([0.5, 0.5]), np.array([1.0, 0.5])
    >>> error(error.statistics(half, half, one, one))
    0.25
    """

    def statistics(label: Array, p: Array, gold_label: Array, gold_p: Array) -> Floats:
        return np.asarray(values(label, p, gold_label, gold_p), np.float64)[:, None]

    exchange = Exchange(lambda rows: np.asarray(rows, np.float64), _mean_of_sums)
    return Metric(name, statistics, _mean, bounds, _mean_influence, exchange, **about)


def refuse_other_shapes(x: Array, y: Array) -> None:
    """Raise a ValueError where two columns do not have one value for each item."""
    if np.shape(x) != np.shape(y):
        raise ValueError(f"expected arrays of one shape, got {np.shape(x)} and {np.shape(y)}")


def _mean(values: Array, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray((weights @ values[:, 0]) / total)


def _mean_influence(values: Array) -> Floats:
    return np.asarray((values[:, 0] - values.mean()) / len(values))


def _mean_of_sums(sums: Floats, n: int) -> Floats:
    return np.asarray(sums[..., 0] / n)
