"""The base class of detectors that are fitted, and do not answer in-sample for training items."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shroom.detectors.base import Detector
from shroom.inference.run_settings import RUN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.inference.run_settings import Run


class FittedDetector(Detector):
    """A detector that is fitted on labelled datapoints.

    A subclass defines ``fitted_threshold``, ``training_items``, ``_predict``, ``fit``,
    ``remember`` and ``save``. A shallow copy of it must be a detector of the same settings that
    can be fitted by itself, since cross-validation fits copies.
    """

    trainable: ClassVar[bool] = True
    #: The threshold that the user has set, instead of the fitted one.
    _threshold: float | None = None

    @property
    def fitted_threshold(self) -> float:
        """The threshold that results from fitting."""
        return 0.5

    @property
    def threshold(self) -> float:  # type: ignore[override]
        """The label is Hallucination where p is greater."""
        return self.fitted_threshold if self._threshold is None else self._threshold

    def _predict(self, datapoints: Sequence[Datapoint], run: Run) -> NDArray[np.float64]:
        """Return the fitted model's p of one datapoint or more: shape [n], in [0, 1]."""
        raise NotImplementedError

    def predict(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.float64]:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1].

        Training items get their out-of-fold p where there is one, unless ``run.in_sample``.
        """
        if not datapoints:
            return np.empty(0)
        stored = self._out_of_fold_p(datapoints, run)
        if not np.isnan(stored).any():
            return stored
        return np.where(np.isnan(stored), self._predict(datapoints, run), stored)

    def thresholds_of(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.float64]:
        """Return the threshold of each datapoint's p; an out-of-fold p has that of its fold."""
        usual = super().thresholds_of(datapoints, run)
        if run.in_sample or self._threshold is not None:
            return usual
        of_folds = self.training_items.thresholds(datapoints)
        return np.where(np.isnan(of_folds), usual, of_folds)

    def in_sample(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.bool_]:
        """Return which datapoints get the p of a model that was fitted on them: shape [n]."""
        unknown = ~self.out_of_fold_items(datapoints, run)
        return np.asarray(unknown & self.training_items.contain(datapoints))

    def out_of_fold_items(
        self, datapoints: Sequence[Datapoint], run: Run = RUN
    ) -> NDArray[np.bool_]:
        """Return which datapoints are training items that get their out-of-fold p: shape [n]."""
        return ~np.isnan(self._out_of_fold_p(datapoints, run))

    def out_of_fold(
        self, datapoints: Sequence[Datapoint], p: NDArray[np.float64], folds: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return p and thresholds of datapoints from copies that were fitted on the other folds.

        Datapoints with the same hypothesis are in one fold, so that duplicates reveal nothing.

        Parameters
        ----------
        datapoints : sequence of Datapoint, length n
            The labelled datapoints.
        p : array, shape [n]
            The annotators' proportions.
        folds : int
            The number of parts; fewer where there are fewer distinct hypotheses.

        Returns
        -------
        p, thresholds : array, shape [n]
        """
        from shroom.detectors.cross_validation import splits

        found, thresholds = np.empty(len(p)), np.empty(len(p))
        for train, test in splits(datapoints, folds):
            fitted = copy.copy(self).fit([datapoints[i] for i in train], p[train])
            unseen = [datapoints[i] for i in test]
            found[test], thresholds[test] = fitted.predict(unseen), fitted.thresholds_of(unseen)
        return found, thresholds

    def _out_of_fold_p(self, datapoints: Sequence[Datapoint], run: Run) -> NDArray[np.float64]:
        if run.in_sample:
            return np.full(len(datapoints), math.nan)
        return self.training_items.p(datapoints)
