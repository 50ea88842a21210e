"""A detector as an estimator of scikit-learn: settings, ``fit``, ``predict``, ``predict_proba``.

scikit-learn is not imported: its functions ask an estimator for methods, not for a base class.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any, Callable, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError, show
from shroom.core.registry import check_settings, settings_of
from shroom.detectors.out_of_fold import TrainingItems
from shroom.inference.run_settings import RUN, Run
from shroom.scoring.datapoint_files import read
from shroom.scoring.in_memory import Data

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Estimator:
    """A binary classifier of datapoints in the manner of scikit-learn.

    ``X`` is a list of datapoints, a list of rows, a data frame, or a path, as for
    :func:`shroom.read`; ``y`` is the annotators' proportions or whether each datapoint is a
    hallucination, shape [n]. The parameters are those of the class.

    Attributes
    ----------
    classes_ : array, shape [2]
        ``False`` and ``True``: whether the label is Hallucination.

    Examples
    --------
    >>> import shroom
    >>> points = shroom.read("shroom/sample/val.model-aware.json")
    >>> lexical = shroom.detector("lexical", threshold=0.4)
    >>> lexical.predict_proba(points).shape, lexical.get_params()["threshold"]
    ((60, 2), 0.4)
    """

    classes_: ClassVar[Flags] = np.array([False, True])
    name: str
    trainable: ClassVar[bool]
    _estimator_type: ClassVar[str] = "classifier"  # for scikit-learn before 1.6
    #: The settings as they were given.
    _given: dict[str, Any] = {}  # noqa: RUF012 - an instance gets its own

    def __init_subclass__(cls) -> None:
        """Have the constructor remember its arguments, which :meth:`get_params` returns."""
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = _remembering(cls.__init__)  # type: ignore[method-assign]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - its name
        """Return the settings by name, as they were given or by default; they do not nest."""
        del deep
        return {
            name: self._given.get(name, value) for name, value in settings_of(type(self)).items()
        }

    def set_params(self, **settings: Any) -> Self:
        """Change settings, and return the detector; a setting that is not valid changes nothing.

        Raises
        ------
        ShroomError
            If there is no such setting, or the detector refuses a value.
        """
        current = self.get_params()
        check_settings(f"detector {self.name}", settings, current)
        vars(self).update(vars(type(self)(**{**current, **settings})))
        return self

    def fit(self, X: Data | Sequence[Datapoint], y: Any = None, run: Run = RUN) -> Self:
        """Fit the detector, and return it; one that is not trainable stays as it is.

        The datapoints are its training items from then on, so that scores on them are marked.

        Raises
        ------
        ShroomError
            If y is not one number from 0 to 1 for each datapoint.
        """
        if self.trainable:
            datapoints = _datapoints(X)
            self._fit(datapoints, _proportions(y, len(datapoints)), run)
            self.remember(TrainingItems.of(datapoints))
        return self

    def predict(self, X: Data | Sequence[Datapoint]) -> Flags:
        """Return whether the label of each datapoint is Hallucination: shape [n]."""
        return self.decide(_datapoints(X))[1]

    def predict_proba(self, X: Data | Sequence[Datapoint]) -> Floats:
        """Return 1 - p and p(Hallucination) of each datapoint: shape [n, 2]."""
        p = self.p(_datapoints(X))
        return np.column_stack([1 - p, p])

    def score(self, X: Data | Sequence[Datapoint], y: Any) -> float:
        """Return the accuracy of the labels; y above 0.5 is a hallucination."""
        labels = self.predict(X)
        return float(np.mean(labels == (_proportions(y, len(labels)) > 0.5)))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=self.trainable),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(two_d_array=False, dict=True, string=True),
            # A detector that lacks its model says so itself.
            requires_fit=False,
            no_validation=True,
        )

    def __repr__(self) -> str:
        given, defaults = self.get_params(), settings_of(type(self))
        changed = [f"{k}={value!r}" for k, value in given.items() if value is not defaults[k]]
        return f"{type(self).__name__}({', '.join(changed)})"

    def p(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1]."""
        raise NotImplementedError

    def decide(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> tuple[Floats, Flags]:
        """Return p, and whether the label is Hallucination: two arrays of shape [n]."""
        raise NotImplementedError

    def _fit(self, datapoints: Sequence[Datapoint], p: Floats, run: Run) -> None:
        """Fit a trainable detector on the annotators' proportions p: shape [n], in [0, 1]."""
        raise NotImplementedError

    def remember(self, items: TrainingItems) -> None:
        """Store the items on which the detector was fitted, with their out-of-fold p."""
        raise NotImplementedError


def _remembering(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor that stores its arguments, those of the outermost class."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def construct(self: Estimator, *args: Any, **settings: Any) -> None:
        if "_given" not in vars(self):
            _, *given = signature.bind(self, *args, **settings).arguments.items()
            self._given = dict(given)
        init(self, *args, **settings)

    return construct


def _datapoints(X: Any) -> Sequence[Datapoint]:
    if isinstance(X, (list, tuple)) and all(isinstance(point, Datapoint) for point in X):
        return X
    return read(X)


def _proportions(y: Any, n: int) -> Floats:
    try:
        p = np.asarray(y, np.float64)
    except (TypeError, ValueError):
        p = np.empty(0)
    if p.shape != (n,) or not ((p >= 0) & (p <= 1)).all():
        raise ShroomError(
            f"y: expected a proportion from 0 to 1, or True or False, for each of {n} datapoints, "
            f"got {show(y)}; of label names, pass y == 'Hallucination'; "
            "cross_val_predict(method='predict_proba') replaces proportions by the numbers of "
            "classes: pass y > 0.5"
        )
    return p
