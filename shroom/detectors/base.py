"""The base classes of detectors: everything that a detector may offer, with defaults."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, ClassVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Label, Rule, premises
from shroom.core.problems import ShroomError
from shroom.detectors.estimator import Estimator
from shroom.detectors.out_of_fold import DECIMALS, TrainingItems
from shroom.inference.run_settings import RUN, Run
from shroom.scoring.editions.edition import Annotation
from shroom.scoring.rows import P

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Detector(Estimator):
    """Base of detectors, which compute p(Hallucination) of datapoints.

    A subclass sets :attr:`name` and defines :meth:`p`; everything else has a default. A detector
    that can be fitted derives from :class:`FittedDetector`. Both are estimators of scikit-learn.

    Attributes
    ----------
    name : str
        Its name in the registry.
    threshold : float
        The label is Hallucination where p is greater.
    annotations : tuple of str
        The kinds of annotation that it predicts: ``binary``, a label with p(Hallucination), or
        those of a :class:`~shroom.detectors.span_detector.SpanDetector`.
    trainable : bool
        Whether it can be fitted on labelled datapoints.
    start_setting : str
        The setting that ``shroom fit --model`` gives: the model from which fitting starts.
    labels_itself : bool
        Whether its labels do not follow from p and the threshold.
    rule : Rule
        How the reference is chosen.
    multilingual : bool
        Whether it reads the source language of a translation.
    languages : tuple of str
        The codes of the languages that it reads, such as ``en``: items in others are counted in a
        note. Empty if it reads any, or none is declared.
    report : callable or None
        Called during fitting with the progress: ``step``, ``steps`` and ``loss``.
    device : str or None
        The device on which it was fitted; ``None`` is the CPU.

    Examples
    --------
    >>> from shroom.core.datapoint import pair
    >>> class Longer(Detector):
    ...     name = "longer"
    ...
    ...     def p(self, datapoints):
    ...         return np.array([float(len(d.hyp) > len(self.premises(d)[0])) for d in datapoints])
    >>> Longer().decide([pair("A cat.", "A big cat."), pair("A big cat.", "A cat.")])
    (array([1., 0.]), array([ True, False]))
    """

    name: str = ""
    threshold: float = 0.5
    annotations: ClassVar[tuple[str, ...]] = ("binary",)
    trainable: ClassVar[bool] = False
    start_setting: ClassVar[str] = "model"
    labels_itself: bool = False
    rule: Rule = Rule.GIVEN
    multilingual: bool = False
    languages: tuple[str, ...] = ()
    report: Callable[[Any], None] | None = None
    device: str | None = None

    def __init_subclass__(cls) -> None:
        """Have what :meth:`p` returns checked, whoever calls it."""
        super().__init_subclass__()
        if "p" in vars(cls):
            cls.p = _checked(cls.p)  # type: ignore[method-assign]

    def p(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        """Return p(Hallucination) of each datapoint.

        Parameters
        ----------
        datapoints : sequence of Datapoint, length n
            May be empty.
        run : Run
            The device, the batches, the progress bar and the place for notes to the user. A method
            that needs none of these may leave it out.

        Returns
        -------
        array, shape [n]
            In [0, 1].
        """
        del datapoints, run
        raise ShroomError(
            f"the detector {self.name} lacks the method p(datapoints, run), which returns "
            "p(Hallucination) of each datapoint"
        )

    def decide(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> tuple[Floats, Flags]:
        """Return p, and whether the label is Hallucination: two arrays of shape [n]."""
        p = self.p(datapoints, run)
        return p, self.labels(p, datapoints, run)

    def labels(self, p: Floats, datapoints: Sequence[Datapoint], run: Run = RUN) -> Flags:
        """Return whether p, rounded as in a submission, is above its threshold: shape [n]."""
        return np.asarray(np.round(p, DECIMALS) > self.thresholds_of(datapoints, run))

    def columns(
        self, datapoints: Sequence[Datapoint], run: Run = RUN, annotation: Annotation | None = None
    ) -> dict[str, list[Any]]:
        """Return what a submission has for the datapoints, besides their ids: n values by key.

        ``annotation`` is that of the edition, of a kind among :attr:`annotations`.
        """
        del annotation
        p, flagged = self.decide(datapoints, run)
        p = check_p(p, len(datapoints), self.name)
        if np.shape(flagged) != p.shape:
            raise ShroomError(
                f"the detector {self.name} did not return a label for each of {len(p)} datapoints"
            )
        return label_columns(flagged, np.round(p, DECIMALS))

    def thresholds_of(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        """Return the threshold that applies to p of each datapoint: shape [n]."""
        del run
        return np.full(len(datapoints), self.threshold, float)

    @property
    def identity(self) -> str:
        """A text that changes with everything p depends on, except for texts and settings.

        Examples are a revision or a digest of weights. By default it is the name, and for a class
        of another package a digest of the file that defines it.
        """
        module = type(self).__module__
        path = getattr(sys.modules.get(module), "__file__", None)
        if module.startswith("shroom.") or path is None:
            return self.name
        return f"{self.name} {hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]}"

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the texts with which the hypothesis is compared; by default the reference."""
        return premises(datapoint, rule=self.rule, multilingual=self.multilingual)

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

    def cross_validate(
        self, files: Mapping[str, Sequence[Datapoint]], folds: int
    ) -> tuple[TrainingItems, dict[str, dict[str, float | None]]]:
        """Return the training items as they are kept, and what they score out of fold.

        Only a trainable detector has this method and the next.
        """
        raise NotImplementedError

    def save(self, path: str, **about: Any) -> None:
        """Write the fitted state to a file or a folder; ``about`` describes its origin."""
        raise NotImplementedError


def check_p(p: Any, n: int, name: str, way_out: str = "") -> Floats:
    """Return what a detector has given for n datapoints as an array of n numbers from 0 to 1.

    Raises
    ------
    ShroomError
        If it is anything else.

    Examples
    --------
    >>> check_p([0.5, 1.5], 2, "mine")
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: the detector mine did not return a p from 0 to 1 for each ...
    """
    try:
        array = np.asarray(p, np.float64)
    except (TypeError, ValueError):
        array = np.empty(())
    if array.ndim == 0:
        got = f"no array of numbers: its type is {type(p).__name__}"
    elif array.shape != (n,):
        got = f"an array of the shape {array.shape}"
    elif ((array >= 0) & (array <= 1)).all():
        return array
    else:
        place = int(np.argmin((array >= 0) & (array <= 1)))
        got = f"{array[place]} for datapoint {place}"
    raise ShroomError(
        f"the detector {name} did not return a p from 0 to 1 for each of {n} datapoints, but {got}"
        f"{way_out}"
    )


def label_columns(flagged: NDArray[Any], p: NDArray[Any]) -> dict[str, list[Any]]:
    """Return labels with p(Hallucination) as the columns of a submission.

    Examples
    --------
    >>> label_columns(np.array([True]), np.array([0.75]))
    {'label': ['Hallucination'], 'p(Hallucination)': [0.75]}
    """
    words = {True: Label.HALLUCINATION.value, False: Label.NOT_HALLUCINATION.value}
    return {"label": [words[one] for one in flagged.astype(bool).tolist()], P: p.tolist()}


def _checked(method: Callable[..., Any]) -> Callable[..., Floats]:
    """Return a method ``p`` whose result is checked, and that takes a run if it needs none, too."""
    parameters = inspect.signature(method).parameters.values()
    takes_run = len(parameters) > 2 or any(one.kind is one.VAR_POSITIONAL for one in parameters)

    @functools.wraps(method)
    def p(self: Detector, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        value = method(self, datapoints, run) if takes_run else method(self, datapoints)
        return check_p(value, len(datapoints), self.name)

    return p
