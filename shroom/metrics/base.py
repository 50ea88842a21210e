"""What a metric is: per-item statistics, and a function from weighted statistics to scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Array = NDArray[Any]


@dataclass(frozen=True)
class Metric:
    """A metric as three functions, from which intervals, paired tests and slices follow.

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
    """

    name: str
    statistics: Callable[[Array, Array, Array, Array], Array]
    score: Callable[[Array, Floats], Floats]
    influence: Callable[[Array], Floats]
    bounds: tuple[float, float]

    def __call__(self, statistics: Array) -> float | None:
        """Return the score of the items as they are; ``None`` where it is undefined."""
        import numpy as np

        value = float(self.score(statistics, np.ones((1, len(statistics))))[0])
        return None if np.isnan(value) else value
