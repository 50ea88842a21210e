"""What a detector is, and the lazy registry of them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol

from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from shroom.datapoint import Datapoint

#: Each detector's name, and where its class is; the module is imported when it is asked for.
REGISTRY = {
    "lexical": "shroom.detectors.lexical:Lexical",
}


class Detector(Protocol):
    """What every detector has.

    Attributes
    ----------
    name : str
        Its name in the registry.
    threshold : float
        The label is Hallucination where p is greater.
    """

    name: str
    threshold: float

    def predict(self, datapoints: Sequence[Datapoint]) -> NDArray[np.float64]:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1]."""
        ...


class Trainable(Detector, Protocol):
    """A detector that can be fitted, in scikit-learn's manner."""

    def fit(self, datapoints: Sequence[Datapoint], p: NDArray[np.float64]) -> Any:
        """Fit the detector on the annotators' proportions p, shape [n]; return it."""
        ...

    def save(self, path: str) -> None:
        """Write the fitted state."""
        ...


def detector(name: str, **settings: Any) -> Detector:
    """Return a detector by its name.

    Parameters
    ----------
    name : str
        A name of the registry.
    **settings
        What the detector's class takes, such as ``model``.

    Raises
    ------
    ShroomError
        Where there is no such detector; the message suggests the nearest.

    Examples
    --------
    >>> detector("lexical").name
    'lexical'
    >>> detector("lexicle")
    Traceback (most recent call last):
    shroom.problems.ShroomError: no detector is named 'lexicle'; did you mean 'lexical'? ...
    """
    if name not in REGISTRY:
        import difflib

        near = difflib.get_close_matches(name, REGISTRY, n=1)
        hint = f" did you mean '{near[0]}'?" if near else ""
        raise ShroomError(
            f"no detector is named '{name}';{hint} there are: {', '.join(sorted(REGISTRY))}"
        )
    module, _, attribute = REGISTRY[name].partition(":")
    found: Detector = getattr(importlib.import_module(module), attribute)(**settings)
    return found
