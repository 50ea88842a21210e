"""The base class of detectors: everything that a detector may offer, with defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, ClassVar

import numpy as np

from shroom.core.datapoint import premises
from shroom.core.problems import ShroomError
from shroom.detectors.out_of_fold import DECIMALS, TrainingItems
from shroom.inference.run_settings import RUN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.inference.run_settings import Run

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


class Detector:
    """Anything that turns datapoints into p(Hallucination).

    A subclass sets :attr:`name` and defines :meth:`predict`; everything else has a default. A
    detector that can be fitted derives from
    :class:`~shroom.detectors.fitted_detector.FittedDetector`.

    Attributes
    ----------
    name : str
        Its name in the registry.
    threshold : float
        The label is Hallucination where p is greater.
    trainable : bool
        Whether it can be fitted on labelled datapoints.
    start_setting : str
        The setting that ``shroom fit --model`` gives: the model from which fitting starts.
    labels_itself : bool
        Whether its labels do not follow from p and the threshold.
    report : callable or None
        Called during fitting with the name of the current step and its progress.
    device : str or None
        The device on which it was fitted; ``None`` is the CPU.

    Examples
    --------
    >>> from shroom.core.datapoint import pair
    >>> class Longer(Detector):
    ...     name = "longer"
    ...
    ...     def predict(self, datapoints, run=RUN):
    ...         return np.array([float(len(d.hyp) > len(self.premises(d)[0])) for d in datapoints])
    >>> Longer().decide([pair("A cat.", "A big cat."), pair("A big cat.", "A cat.")])
    (array([1., 0.]), array([ True, False]))
    """

    name: str = ""
    threshold: float = 0.5
    trainable: ClassVar[bool] = False
    start_setting: ClassVar[str] = "model"
    labels_itself: bool = False
    report: Callable[[str, Any], None] | None = None
    device: str | None = None

    def predict(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        """Return p(Hallucination) of each datapoint.

        Parameters
        ----------
        datapoints : sequence of Datapoint, length n
            May be empty.
        run : Run
            The device, the batches, the progress bar and the place for notes to the user.

        Returns
        -------
        array, shape [n]
            In [0, 1].
        """
        raise NotImplementedError

    def decide(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> tuple[Floats, Flags]:
        """Return p, and whether the label is Hallucination: two arrays of shape [n]."""
        p = self.predict(datapoints, run)
        return p, self.labels(p, datapoints, run)

    def labels(self, p: Floats, datapoints: Sequence[Datapoint], run: Run = RUN) -> Flags:
        """Return whether p, rounded as in a submission, is above its threshold: shape [n]."""
        return np.asarray(np.round(p, DECIMALS) > self.thresholds_of(datapoints, run))

    def thresholds_of(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        """Return the threshold that applies to p of each datapoint: shape [n]."""
        del run
        by_task = self.thresholds
        return np.array([by_task.get(d.task.value, self.threshold) for d in datapoints], float)

    @property
    def thresholds(self) -> Mapping[str, float]:
        """The thresholds of tasks that have their own, instead of :attr:`threshold`."""
        return {}

    @property
    def identity(self) -> str:
        """A text that changes with everything p depends on, except for texts and settings.

        Examples are a revision or a digest of weights. By default it is the name.
        """
        return self.name

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the texts with which the hypothesis is compared; by default the reference."""
        return premises(datapoint)

    def dry_run(self, datapoints: Sequence[Datapoint]) -> object:
        """Return an estimate of the requests to a service and of their cost, without sending any.

        Raises
        ------
        ShroomError
            If the detector does not use a service.
        """
        del datapoints
        raise ShroomError(f"{self.name} sends no requests to a service, so it has no dry run")

    @property
    def training_items(self) -> TrainingItems:
        """The items on which it was fitted; by default none."""
        return TrainingItems()

    def in_sample(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Flags:
        """Return which datapoints get the p of a model that was fitted on them: shape [n]."""
        del run
        return np.zeros(len(datapoints), bool)

    def out_of_fold_items(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Flags:
        """Return which datapoints are training items that get their out-of-fold p: shape [n]."""
        del run
        return np.zeros(len(datapoints), bool)

    def fit(self, datapoints: Sequence[Datapoint], p: Floats) -> Any:
        """Fit a trainable detector on the annotators' proportions p, shape [n], and return it."""
        raise NotImplementedError

    def out_of_fold(
        self, datapoints: Sequence[Datapoint], p: Floats, folds: int
    ) -> tuple[Floats, Floats]:
        """Return p and thresholds of datapoints from detectors that were not fitted on them.

        Only a trainable detector has this method and those below.

        Returns
        -------
        p, thresholds : array, shape [n]
        """
        raise NotImplementedError

    def remember(self, items: TrainingItems) -> None:
        """Store the items on which the detector was fitted, with their out-of-fold p."""
        raise NotImplementedError

    def save(self, path: str, **about: Any) -> None:
        """Write the fitted state to a file or a folder; ``about`` describes its origin."""
        raise NotImplementedError
