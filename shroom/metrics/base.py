"""A metric: per-item statistics, a function from weighted statistics to scores, and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]

#: The columns that metrics take: those of a system, then those of the gold.
COLUMNS = ("label", "p", "gold_label", "gold_p")
LABELS, P = ("label", "gold_label"), ("p", "gold_label")
#: The command that gives the scores by which an edition ranks.
SCORE = "shroom score SUBMISSION GOLD"
NO_ITEMS, ONE_LABEL = "for no items", "where all gold labels are the same"


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
    score: Callable[[Floats, Any], Floats]


@dataclass(frozen=True)
class Metric:
    """A metric as functions, from which intervals, paired tests and slices follow, and in words.

    Attributes
    ----------
    name : str
        The field's name of it.
    statistics : callable
        ``(label, p, gold_label, gold_p) -> [n, k]``: what each item contributes. Rows may be
        selected or weighted afterwards, so a slice is ``statistics[mask]``. Metrics of annotators
        take an array of votes instead.
    score : callable
        ``(statistics [n, k], weights [b, n]) -> [b]``: the score under each row of integer
        weights; ``nan`` where it is undefined. A resample is a row of weights, how often each
        item was drawn.
    bounds : tuple of float
        The least and the greatest value.
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
    joint : callable or None
        ``(systems' statistics, weights [b, n]) -> [systems, b]``: what ``score`` gives for each,
        where several systems on the same items take less than one by one.
    share : callable or None
        ``statistics -> [n, 2]``: what each item adds to the part and to the whole, if the metric
        is a share of items, which then has Wilson's interval; else ``None``.
    classes : callable or None
        ``statistics -> [n, c]``: to which class each item belongs, if resamples with few items of
        a class do not show how the score varies; else ``None``.
    is_biased : bool
        Whether the score of a sample lies on one side of the true one, as an error that is never
        negative does. Resamples lie farther on that side, so there is no interval.
    inputs : tuple of str
        The names of the arrays that it is computed from.
    undefined : str
        When it is undefined.
    function : str
        The Python function of these arrays, as ``module:name``.
    command : str
        The command line that gives it; ``{name}`` stands for its name.
    page : str
        The name of its documentation page, and in lists, if it is not ``name``.
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
    undefined: str = "where its score is nan"
    function: str = ""
    command: str = f"{SCORE} --metrics {{name}}"
    page: str = ""

    def __post_init__(self) -> None:
        """Raise a TypeError if ``share`` only says that it is one."""
        if self.share is not None and not callable(self.share):
            raise TypeError(f"{self.name}: share is a function of the statistics, or None")

    def scores(self, systems: Sequence[Array], weights: Floats) -> Floats:
        """Return the scores of several systems on the same items: shape [systems, b]."""
        if self.joint is not None:
            return self.joint(systems, weights)
        return np.stack([self.score(statistics, weights) for statistics in systems])

    def weighted(self, statistics: Array, weights: Any = None) -> float:
        """Return the score where each item counts as often as weights [n] say; once by default."""
        rows = np.ones(len(statistics)) if weights is None else np.asarray(weights, np.float64)
        return float(self.score(statistics, rows[None, :])[0])

    def __call__(self, statistics: Array) -> float | None:
        """Return the score of the items as they are; ``None`` where it is undefined."""
        value = self.weighted(statistics)
        return None if np.isnan(value) else value

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
    def intervals(self) -> tuple[str, ...]:
        """The kinds of intervals that it can have; ``normal`` is by influence, in one pass."""
        if self.is_biased:
            return ()
        if self.share is not None:
            return ("Wilson",)
        others = () if self.inputs == ("votes",) else ("BCa",)
        return ("percentile", *others, *(("normal",) if self.influence else ()))

    @property
    def paired_tests(self) -> tuple[str, ...]:
        """The tests of a difference between two systems."""
        if self.inputs == ("votes",):
            return ()
        exact = ("McNemar's exact test",) if self.name == "accuracy" else ()
        return ("approximate randomisation", *exact)

    def facts(self) -> dict[str, str]:
        """Return all but the name and what it is about, as text: for a page or a terminal."""
        module, _, function = self.function.partition(":")
        return {
            "formula": self.formula,
            "range": self.range,
            "direction": "more is better" if self.higher_is_better else "less is better",
            "computed from": " and ".join(name.replace("_", " ") for name in self.inputs),
            "undefined": self.undefined,
            "intervals": ", ".join(self.intervals) or "none",
            "paired test": ", ".join(self.paired_tests) or "none",
            "reference": self.reference,
            "in Python": f"from {module} import {function}",
            "command": self.command.format(name=self.name),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all words as plain values, for json."""
        return {
            "name": self.page or self.name,
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
    """Return a metric whose statistics are a function of some columns, which it takes by name."""
    places = [COLUMNS.index(column) for column in columns]

    def statistics(*given: Array) -> Array:
        return rows(*(given[place] for place in places))

    return Metric(name, statistics, score, bounds, **{"inputs": columns, **about})


def of_sums(
    name: str, rows: Callable[..., Array], value: Callable[[Floats, Any], Array], **about: Any
) -> Metric:
    """Return a metric whose score is a function of weighted sums of statistics and of the weight.

    The sums have the shape [..., k], the weight and the value [...].
    """

    @np.errstate(invalid="ignore", divide="ignore")
    def of(sums: Floats, weight: Any) -> Floats:
        return np.asarray(value(sums, weight))

    def score(statistics: Array, weights: Floats) -> Floats:
        return of(weights @ statistics, weights.sum(axis=1))

    return metric_of(name, rows, score, exchange=Exchange(_as_floats, of), **about)


def mean_of(
    name: str,
    values: Callable[..., Array],
    bounds: tuple[float, float] = (0.0, 1.0),
    columns: tuple[str, ...] = COLUMNS,
    **about: Any,
) -> Metric:
    """Return the metric that is the mean of a value of each item.

    Parameters
    ----------
    name, bounds
        As of :class:`Metric`.
    values : callable
        ``(label, p, gold_label, gold_p) -> [n]``.
    columns : tuple of str
        The columns that ``values`` takes, if it does not take all of these four.
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

    exchange = Exchange(_as_floats, lambda sums, n: np.asarray(sums[..., 0] / n))
    parts = {"influence": _mean_influence, "exchange": exchange, "undefined": NO_ITEMS}
    return metric_of(name, column, _mean, bounds, columns, **{**parts, **about})


def refuse_other_shapes(x: Array, y: Array) -> None:
    """Raise a ValueError where two columns do not have one value for each item."""
    if np.shape(x) != np.shape(y):
        raise ValueError(f"expected arrays of one shape, got {np.shape(x)} and {np.shape(y)}")


def _as_floats(statistics: Array) -> Floats:
    return np.asarray(statistics, np.float64)


def _mean(values: Array, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray((weights @ values[:, 0]) / total)


def _mean_influence(values: Array) -> Floats:
    return np.asarray((values[:, 0] - values.mean()) / len(values))
