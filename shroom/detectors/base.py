"""The base class of detectors, with a default for everything except p."""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from pathlib import Path
from typing import Any, Callable, ClassVar, Self

import numpy as np

from shroom.core.datapoint import Datapoint, Rule, by_reference, premises
from shroom.core.problems import ShroomError
from shroom.core.registry import check_settings, settings_of
from shroom.detectors.arrays import (
    Datapoints,
    Flags,
    Floats,
    check_p,
    datapoints_of,
    label_columns,
    proportions,
)
from shroom.detectors.out_of_fold import DECIMALS, TrainingItems
from shroom.detectors.settings import convert_fields
from shroom.inference.run_settings import RUN, Run
from shroom.scoring.editions.edition import Annotation
from shroom.scoring.in_memory import Data

Items = Data | Datapoints


class Detector:
    """Base class of detectors, which predict p(Hallucination) of datapoints.

    A subclass sets :attr:`name` and defines :meth:`p`; everything else has a default. If it is a
    dataclass, its fields are the settings, and values are converted to their types: see
    :mod:`shroom.detectors.settings`. A detector that can be fitted derives from
    :class:`~shroom.detectors.fitted.FittedDetector`.

    Every detector is a binary classifier of scikit-learn. ``X`` is a list of datapoints, a list of
    rows, a data frame, or a path, as for :func:`shroom.read`; ``y`` contains the proportion of
    annotators who said Hallucination, or booleans for hallucinations: shape [n].

    Attributes
    ----------
    name : str
        The name in the registry.
    threshold : float or None
        The label is Hallucination if p is greater. ``None`` stands for the fitted model's.
    threshold_ : float
        The threshold in use.
    annotations : tuple of str
        The kinds of annotation that the detector predicts. ``binary`` stands for a label with
        p(Hallucination). A :class:`~shroom.detectors.span_detector.SpanDetector` has other kinds.
    start_setting : str
        The name of the setting that ``shroom fit --model`` sets: the model to start from.
    labels_itself : bool
        Whether the labels are independent of p and the threshold.
    reference : Rule or None
        How to choose the reference; ``None`` if the fitted model decides.
    rule : Rule
        The rule in use.
    multilingual : bool
        Whether the detector reads the source language of a translation.
    languages : tuple of str
        The codes of the languages that the detector reads, such as ``en``. A note counts the items
        in other languages. Empty if the detector reads any language or declares no languages.
    report : callable or None
        Called during fitting with an object that has ``step``, ``steps`` and ``loss``.
    classes_ : array, shape [2]
        The classes of scikit-learn: ``False`` (Not Hallucination) and ``True`` (Hallucination).

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
    classes_: ClassVar[Flags] = np.array([False, True])

    def __init_subclass__(cls) -> None:
        """Wrap :meth:`p`, so that every call checks what it returns."""
        super().__init_subclass__()
        if "p" in vars(cls):
            cls.p = _checked(cls.p)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Convert the settings of a dataclass to their types."""
        convert_fields(self)

    def p(self, datapoints: Datapoints, run: Run = RUN) -> Floats:
        """Return p(Hallucination) of each datapoint.

        Parameters
        ----------
        datapoints : sequence of Datapoint, length n
            The datapoints, at least one. Each has one ``tgt``: the base class calls the method
            once for every target of a datapoint, and uses the lowest p.
        run : Run
            The device, the batch size, the progress bar and the notes to the user. A method that
            uses none of them may omit the parameter.

        Returns
        -------
        array, shape [n]
            Numbers from 0 to 1.
        """
        del datapoints, run
        raise ShroomError(
            f"the detector {self.name} has no method p(datapoints); define it to return "
            "p(Hallucination) of each datapoint"
        )

    def decide(self, datapoints: Datapoints, run: Run = RUN) -> tuple[Floats, Flags]:
        """Return p, and whether the label is Hallucination: two arrays of shape [n]."""
        p = self.p(datapoints, run)
        return p, self.labels(p)

    def labels(self, p: Floats) -> Flags:
        """Return whether p, rounded as in a submission, is above the threshold: shape [n]."""
        return np.asarray(np.round(p, DECIMALS) > self.threshold_)

    def columns(
        self, datapoints: Datapoints, run: Run = RUN, annotation: Annotation | None = None
    ) -> dict[str, list[Any]]:
        """Return the columns of a submission by key, without the ids: n values each.

        ``annotation`` is the annotation of the edition, whose kind is in :attr:`annotations`.
        """
        del annotation
        p, flagged = self.decide(datapoints, run)
        p = check_p(p, len(datapoints), self.name)
        if np.shape(flagged) != p.shape:
            raise ShroomError(
                f"the detector {self.name} must return a label for each of the {len(p)} datapoints"
            )
        return label_columns(flagged, np.round(p, DECIMALS))

    @property
    def threshold_(self) -> float:
        """The threshold in use: the setting, or 0.5 if there is no setting."""
        return 0.5 if self.threshold is None else self.threshold

    @property
    def identity(self) -> str:
        """A text that identifies the model, such as a revision or a digest of the weights.

        It must change if p changes for the same texts and settings. By default, it is the name; for
        a class of another package, the default contains a digest of the file that defines the
        class.
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

    def dry_run(self, datapoints: Datapoints) -> object:
        """Return an estimate of the requests to a service and their cost, without sending them.

        Raises
        ------
        ShroomError
            If the detector does not use a service.
        """
        del datapoints
        raise ShroomError(
            f"the detector {self.name} sends no requests, so --dry-run does not apply"
        )

    @property
    def training_items(self) -> TrainingItems:
        """The items on which the detector was fitted; by default none."""
        return TrainingItems()

    def in_sample(self, datapoints: Datapoints, run: Run = RUN) -> Flags:
        """Return whether each datapoint gets p from a model that was fitted on it: shape [n]."""
        unknown = ~self.out_of_fold_items(datapoints, run)
        return np.asarray(unknown & self.training_items.contain(datapoints))

    def out_of_fold_items(self, datapoints: Datapoints, run: Run = RUN) -> Flags:
        """Return whether each datapoint is a training item with out-of-fold p: shape [n]."""
        return ~np.isnan(self._out_of_fold(datapoints, run))

    def _out_of_fold(self, datapoints: Datapoints, run: Run) -> Floats:
        items = TrainingItems() if run.in_sample else self.training_items
        return items.out_of_fold(datapoints)

    # The methods of a scikit-learn classifier, which needs no base class.

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - its name
        """Return the settings by name. No setting is itself an estimator."""
        del deep
        return {name: getattr(self, name) for name in settings_of(type(self))}

    def set_params(self, **settings: Any) -> Self:
        """Change settings and return the detector; if a setting is invalid, nothing changes.

        Raises
        ------
        ShroomError
            If there is no such setting, or a value is invalid.
        """
        current = self.get_params()
        check_settings(f"detector {self.name}", settings, current)
        changed = vars(type(self)(**{**current, **settings}))
        if settings.keys() - {"threshold"}:
            vars(self).clear()  # a model that was loaded or fitted with other settings
        vars(self).update(changed)
        return self

    def fit(self, X: Items, y: Any = None, run: Run = RUN) -> Self:
        """Return the detector unchanged, because it cannot be fitted."""
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
            # A detector without a model reports this itself.
            requires_fit=False,
            no_validation=True,
        )

    def __repr__(self) -> str:
        given, defaults = self.get_params(), settings_of(type(self))
        changed = [f"{k}={value!r}" for k, value in given.items() if value != defaults[k]]
        return f"{type(self).__name__}({', '.join(changed)})"


def _checked(method: Callable[..., Any]) -> Callable[..., Floats]:
    """Return a checked method ``p`` that accepts several references and any ``run``."""
    parameters = inspect.signature(method).parameters.values()
    takes_run = len(parameters) > 2 or any(one.kind is one.VAR_POSITIONAL for one in parameters)

    @functools.wraps(method)
    def p(self: Detector, datapoints: Datapoints, run: Run = RUN) -> Floats:
        if not datapoints:
            return np.empty(0)
        single, starts = by_reference(datapoints)
        value = method(self, single, run) if takes_run else method(self, single)
        checked = check_p(value, len(single), self.name)
        return checked if single is datapoints else np.minimum.reduceat(checked, starts)

    return p
