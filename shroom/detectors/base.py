"""The base class of detectors: everything that a detector may offer, with defaults."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Rule, by_reference, premises
from shroom.core.problems import ShroomError
from shroom.core.registry import check_settings, settings_of
from shroom.detectors.arrays import check_p, datapoints_of, label_columns, proportions
from shroom.detectors.out_of_fold import DECIMALS, TrainingItems
from shroom.detectors.settings import convert_fields
from shroom.inference.run_settings import RUN, Run
from shroom.scoring.editions.edition import Annotation
from shroom.scoring.in_memory import Data

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Items = Data | Sequence[Datapoint]


class Detector:
    """Base of detectors, which compute p(Hallucination) of datapoints.

    A subclass sets :attr:`name` and defines :meth:`p`; everything else has a default. As a
    dataclass it has its fields for settings, which are converted to their types: see
    :mod:`shroom.detectors.settings`. A detector that can be fitted derives from
    :class:`~shroom.detectors.fitted.FittedDetector`.

    Every detector is a binary classifier of scikit-learn. ``X`` is a list of datapoints, a list of
    rows, a data frame, or a path, as for :func:`shroom.read`; ``y`` is the annotators' proportions
    or whether each datapoint is a hallucination, shape [n].

    Attributes
    ----------
    name : str
        Its name in the registry.
    threshold : float or None
        The setting: the label is Hallucination where p is greater. ``None`` for the one that
        results from fitting.
    threshold_ : float
        The threshold that applies.
    annotations : tuple of str
        The kinds of annotation that it predicts: ``binary``, a label with p(Hallucination), or
        those of a :class:`~shroom.detectors.span_detector.SpanDetector`.
    start_setting : str
        The setting that ``shroom fit --model`` gives: the model from which fitting starts.
    labels_itself : bool
        Whether its labels do not follow from p and the threshold.
    reference, rule : Rule
        The setting of how the reference is chosen, and the rule that applies.
    multilingual : bool
        Whether it reads the source language of a translation.
    languages : tuple of str
        The codes of the languages that it reads, such as ``en``: items in others are counted in a
        note. Empty if it reads any, or none is declared.
    report : callable or None
        Called during fitting with the progress: ``step``, ``steps`` and ``loss``.
    device : str or None
        The device on which it was fitted; ``None`` is the CPU.
    classes_ : array, shape [2]
        ``False`` and ``True``: whether the label is Hallucination.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from shroom.core.datapoint import pair
    >>> @dataclass
    ... class Longer(Detector):
    ...     name = "longer"
    ...     by: int = 0
    ...
    ...     def p(self, datapoints):
    ...         lengths = [(len(d.hyp), len(self.premises(d)[0])) for d in datapoints]
    ...         return np.array([float(hyp > length + self.by) for hyp, length in lengths])
    >>> points = [pair("A cat.", "A big cat."), pair("A big cat.", "A cat.")]
    >>> Longer().decide(points)
    (array([1., 0.]), array([ True, False]))
    >>> Longer(by="9").predict_proba(points)[:, 1], Longer().get_params()
    (array([0., 0.]), {'by': 0})
    """

    name: ClassVar[str] = ""
    threshold: float | None = 0.5
    annotations: ClassVar[tuple[str, ...]] = ("binary",)
    start_setting: ClassVar[str] = "model"
    labels_itself: bool = False
    reference: Rule | None = Rule.GIVEN
    multilingual: bool = False
    languages: tuple[str, ...] = ()
    report: Callable[[Any], None] | None = None
    device: str | None = None
    classes_: ClassVar[Flags] = np.array([False, True])
    _estimator_type: ClassVar[str] = "classifier"  # for scikit-learn before 1.6

    def __init_subclass__(cls) -> None:
        """Have what :meth:`p` returns checked, whoever calls it."""
        super().__init_subclass__()
        if "p" in vars(cls):
            cls.p = _checked(cls.p)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Convert the settings of a dataclass to their types."""
        convert_fields(self)

    def p(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        """Return p(Hallucination) of each datapoint.

        Parameters
        ----------
        datapoints : sequence of Datapoint, length n
            May be empty. Each has one ``tgt``: of several, each is judged, and the least p counts.
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

    @property
    def threshold_(self) -> float:
        """The threshold that applies."""
        return 0.5 if self.threshold is None else self.threshold

    def thresholds_of(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        """Return the threshold that applies to p of each datapoint: shape [n]."""
        del run
        return np.full(len(datapoints), self.threshold_, float)

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

    @property
    def rule(self) -> Rule:
        """The rule by which the reference is chosen."""
        return self.reference or Rule.GIVEN

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

    # As scikit-learn asks for; it is not imported, since it asks for methods, not for a base class.

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - its name
        """Return the settings by name; they do not nest."""
        del deep
        return {name: getattr(self, name) for name in settings_of(type(self))}

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

    def fit(self, X: Items, y: Any = None, run: Run = RUN) -> Self:
        """Return the detector as it is, since it has nothing to fit."""
        del X, y, run
        return self

    def predict(self, X: Items) -> Flags:
        """Return whether the label of each datapoint is Hallucination: shape [n]."""
        return self.decide(datapoints_of(X))[1]

    def predict_proba(self, X: Items) -> Floats:
        """Return 1 - p and p(Hallucination) of each datapoint: shape [n, 2]."""
        p = self.p(datapoints_of(X))
        return np.column_stack([1 - p, p])

    def score(self, X: Items, y: Any) -> float:
        """Return the accuracy of the labels; y above 0.5 is a hallucination."""
        labels = self.predict(X)
        return float(np.mean(labels == (proportions(y, len(labels)) > 0.5)))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=type(self).fit is not Detector.fit),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(two_d_array=False, dict=True, string=True),
            # A detector that lacks its model says so itself.
            requires_fit=False,
            no_validation=True,
        )

    def __repr__(self) -> str:
        given, defaults = self.get_params(), settings_of(type(self))
        changed = [f"{k}={value!r}" for k, value in given.items() if value != defaults[k]]
        return f"{type(self).__name__}({', '.join(changed)})"


def _checked(method: Callable[..., Any]) -> Callable[..., Floats]:
    """Return a method ``p`` for several references, too, with or without a run, that is checked."""
    parameters = inspect.signature(method).parameters.values()
    takes_run = len(parameters) > 2 or any(one.kind is one.VAR_POSITIONAL for one in parameters)

    @functools.wraps(method)
    def p(self: Detector, datapoints: Sequence[Datapoint], run: Run = RUN) -> Floats:
        single, starts = by_reference(datapoints)
        value = method(self, single, run) if takes_run else method(self, single)
        checked = check_p(value, len(single), self.name)
        return checked if single is datapoints else np.minimum.reduceat(checked, starts)

    return p
