"""A metric: per-item statistics, a function from statistics to scores, and a description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]

#: The columns that metrics take: first the system's, then the gold's.
COLUMNS = ("label", "p", "gold_label", "gold_p")
LABELS, P = ("label", "gold_label"), ("p", "gold_label")
#: The command that prints the metrics by which an edition ranks.
SCORE = "shroom score SUBMISSION GOLD"
NO_ITEMS, ONE_LABEL = "if there are no items", "if all gold labels are the same"


@dataclass(frozen=True)
class Exchange:
    """A metric as a function of sums, for randomisation tests.

    A randomisation test swaps the outputs of two systems on random items. If the score depends only
    on sums over items, one matrix product computes all trials.

    Attributes
    ----------
    terms : callable
        ``statistics [n, k] -> [n, m]``: the contribution of each item to the sums.
    score : callable
        ``(sums [..., m], n) -> [...]``: the score, given the sums and the number of items.
    """

    terms: Callable[[Array], Floats]
    score: Callable[[Floats, Any], Floats]


@dataclass(frozen=True)
class Metric:
    """A metric: the functions that intervals, tests and slices need, and a description.

    Attributes
    ----------
    name : str
        Usual name of the metric in the field.
    statistics : callable
        ``(label, p, gold_label, gold_p) -> [n, k]``: the statistics of each item. Rows may be
        selected or weighted afterwards, so a slice is ``statistics[mask]``. Metrics of annotators
        take an array of votes instead.
    score : callable
        ``(statistics [n, k], weights [b, n]) -> [b]``: the score under each row of integer weights;
        ``nan`` if it is undefined. In a resample, the weight of an item is the number of times that
        it was drawn.
    bounds : tuple of float
        The lowest and the highest possible value.
    influence : callable or None
        ``statistics -> [n]``: the derivative of the score with respect to each item's weight, from
        which a normal interval is computed without resampling; ``None`` if there is no derivative.
    exchange : Exchange or None
        ``None`` if the score is not a function of sums.
    higher_is_better : bool
        Whether a higher value is better.
    about : str
        What the metric measures, in one line.
    formula : str
        Formula, in one line.
    reference : str
        Publication that defines the metric.
    joint : callable or None
        ``(systems' statistics, weights [b, n]) -> [systems, b]``: a faster version of ``score`` for
        several systems on the same items; ``None`` if there is no faster version.
    share : callable or None
        For a share of items, which has a Wilson interval: ``statistics -> [n, 2]``, the
        contribution of each item to the numerator and to the denominator. Otherwise ``None``.
    classes : callable or None
        For a score that depends on every class: ``statistics -> [n, c]``, the class of each item.
        With few items of a class, the interval is marked as unreliable. Otherwise ``None``.
    is_biased : bool
        Whether the score of a sample tends to lie on one side of the true score, for example
        because an error cannot be negative. Scores of resamples lie even farther away on that side,
        so no interval is computed.
    inputs : tuple of str
        Names of the arrays from which the metric is computed.
    undefined : str
        When the metric is undefined.
    function : str
        The Python function that computes the metric from these arrays, as ``module:name``.
    command : str
        The command that prints the metric; ``{name}`` stands for the name of the metric.
    listed_as : str
        Name in lists and heading in ``docs/metrics.md``, if it differs from ``name``.
    """

    name: str
    statistics: Callable[..., Array]
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
    inputs: tuple[str, ...] = COLUMNS
    undefined: str = "if its score is nan"
    function: str = ""
    command: str = f"{SCORE} --metrics {{name}}"
    listed_as: str = ""

    def __post_init__(self) -> None:
        """Raise a TypeError if ``share`` is not a function."""
        if self.share is not None and not callable(self.share):
            raise TypeError(f"{self.name}: share must be a function of the statistics, or None")

    def scores(self, systems: Sequence[Array], weights: Floats) -> Floats:
        """Return the scores of several systems on the same items: shape [systems, b]."""
        if self.joint is not None:
            return self.joint(systems, weights)
        return np.stack([self.score(statistics, weights) for statistics in systems])

    def weighted(self, statistics: Array, weights: Any = None) -> float:
        """Return the score with weights [n]: how often each item counts, 1 by default."""
        rows = np.ones(len(statistics)) if weights is None else np.asarray(weights, np.float64)
        return float(self.score(statistics, rows[None, :])[0])

    def __call__(self, statistics: Array) -> float | None:
        """Return the score of the items, each counted once; ``None`` if it is undefined."""
        value = self.weighted(statistics)
        return None if np.isnan(value) else value

    @property
    def range(self) -> str:
        """The lowest and the highest possible value, as text.

        Examples
        --------
        >>> from shroom.scoring.metric_registry import describe
        >>> describe("rho").range, describe("log_loss").range
        ('[−1, 1]', '[0, 36.04]')
        """
        low, high = (f"{bound:.4g}".replace("-", "−") for bound in self.bounds)
        return f"[{low}, {high}]"

    @property
    def intervals(self) -> tuple[str, ...]:
        """The kinds of intervals of this metric; ``normal`` uses the influences."""
        if self.is_biased:
            return ()
        if self.share is not None:
            return ("Wilson",)
        others = () if self.inputs == ("votes",) else ("BCa",)
        return ("percentile", *others, *(("normal",) if self.influence else ()))

    @property
    def paired_tests(self) -> tuple[str, ...]:
        """The tests of the difference between two systems."""
        if self.inputs == ("votes",):
            return ()
        exact = ("McNemar's exact test",) if self.name == "accuracy" else ()
        return ("approximate randomisation", *exact)

    def facts(self) -> dict[str, str]:
        """Return everything except ``name`` and ``about`` as text, for docs and the terminal."""
        module, _, function = self.function.partition(":")
        return {
            "formula": self.formula,
            "range": self.range,
            "direction": f"{'higher' if self.higher_is_better else 'lower'} is better",
            "computed from": " and ".join(name.replace("_", " ") for name in self.inputs),
            "undefined": self.undefined,
            "intervals": ", ".join(self.intervals) or "none",
            "paired test": ", ".join(self.paired_tests) or "none",
            "reference": self.reference,
            "in Python": f"from {module} import {function}",
            "command": self.command.format(name=self.name),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain values, for JSON."""
        return {
            "name": self.listed_as or self.name,
            "about": self.about,
            "formula": self.formula,
            "range": list(self.bounds),
            "higher_is_better": self.higher_is_better,
            "inputs": list(self.inputs),
            "undefined": self.undefined,
            "reference": self.reference,
            "function": self.function.replace(":", "."),
            "command": self.command.format(name=self.name),
            "intervals": list(self.intervals),
            "paired_tests": list(self.paired_tests),
        }


def metric_of(
    name: str,
    rows: Callable[..., Array],
    score: Callable[[Array, Floats], Floats],
    bounds: tuple[float, float] = (0.0, 1.0),
    columns: tuple[str, ...] = COLUMNS,
    **about: Any,
) -> Metric:
    """Return a metric whose statistics are a function of the given columns."""
    places = [COLUMNS.index(column) for column in columns]

    def statistics(*given: Array) -> Array:
        return rows(*(given[place] for place in places))

    return Metric(name, statistics, score, bounds, **{"inputs": columns, **about})


def of_sums(
    name: str, rows: Callable[..., Array], value: Callable[[Floats, Any], Array], **about: Any
) -> Metric:
    """Return a metric whose score is a function of weighted sums and of the total weight.

    The sums have the shape [..., k]; the total weight and the score have the shape [...].
    """

    @np.errstate(invalid="ignore", divide="ignore")
    def of(sums: Floats, weight: Any) -> Floats:
        return np.asarray(value(sums, weight))

    def score(statistics: Array, weights: Floats) -> Floats:
        return of(weights @ statistics, weights.sum(axis=1))

    exchange = Exchange(lambda statistics: np.asarray(statistics, np.float64), of)
    return metric_of(name, rows, score, exchange=exchange, **about)


def mean_of(
    name: str,
    values: Callable[..., Array],
    bounds: tuple[float, float] = (0.0, 1.0),
    columns: tuple[str, ...] = COLUMNS,
    **about: Any,
) -> Metric:
    """Return a metric that is the mean of one value per item.

    Parameters
    ----------
    name, bounds
        See :class:`Metric`.
    values : callable
        ``(label, p, gold_label, gold_p) -> [n]``.
    columns : tuple of str
        The columns that ``values`` takes; by default all four.
    **about
        Further attributes of :class:`Metric`.

    Examples
    --------
    >>> import numpy as np
    >>> error = mean_of("error", lambda p, gold_p: abs(p - gold_p), (0, 1), ("p", "gold_p"))
    >>> half, one = np.array([0.5, 0.5]), np.array([1.0, 0.5])
    >>> error(error.statistics(half, half, one, one))
    0.25
    """

    def column(*given: Array) -> Floats:
        return np.asarray(values(*given), np.float64)[:, None]

    about = {"influence": _mean_influence, "undefined": NO_ITEMS, **about}
    return of_sums(
        name, column, lambda sums, n: sums[..., 0] / n, bounds=bounds, columns=columns, **about
    )


def refuse_other_shapes(x: Array, y: Array) -> None:
    """Raise a ValueError if two columns differ in shape."""
    if np.shape(x) != np.shape(y):
        raise ValueError(f"expected arrays of the same shape, got {np.shape(x)} and {np.shape(y)}")


def _mean_influence(values: Array) -> Floats:
    return np.asarray((values[:, 0] - values.mean()) / len(values))
