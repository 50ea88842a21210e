"""What a detector is, and the lazy registry of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from shroom.core.registry import Entry, Registry
from shroom.detectors.training_items import FittedDetector
from shroom.inference.run import RUN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.detectors.training_items import TrainingItems
    from shroom.inference.run import Run


_TORCH = ("torch", "transformers")

#: Each detector's name, and what there is to know of it before it is imported.
REGISTRY = Registry(
    "detector",
    {
        "cross-encoder": Entry(
            "shroom.detectors.cross_encoder.detector:CrossEncoder",
            "the kit's own model: reference and hypothesis read together",
            ("onnxruntime", "tokenizers"),
            "onnx",
        ),
        "lexical": Entry(
            "shroom.detectors.lexical:Lexical",
            "how much of the hypothesis' surface the reference has; a floor",
            ("sacrebleu",),
            "lexical",
        ),
        "similarity": Entry(
            "shroom.detectors.similarity:Similarity",
            "1 - cosine of sentence embeddings, calibrated for each task",
            _TORCH,
            "models",
            "--model: an encoder",
        ),
        "nli": Entry(
            "shroom.detectors.nli:NLI",
            "whether the reference entails the hypothesis, by any NLI model",
            _TORCH,
            "models",
            "--model: an NLI model",
        ),
        "judge": Entry(
            "shroom.detectors.judge:Judge",
            "a language model is asked whether the context supports the hypothesis",
            (),
            "",
            "--model, and --set endpoint=URL unless the model is a local one",
        ),
        "selfcheck": Entry(
            "shroom.detectors.selfcheck:SelfCheck",
            "how well the hypothesis agrees with sampled alternatives",
            (),
            "",
            "--set samples=FILE: alternatives of each hypothesis",
        ),
        "unigram": Entry(
            "shroom.annotate.as_detectors:Unigram",
            "how many of the reference's words the hypothesis has; a floor (Chinese needs jieba)",
        ),
        "reward": Entry(
            "shroom.annotate.as_detectors:Reward",
            "a reward model's score of the hypothesis as a reply to the source",
            _TORCH,
            "models",
            "--model: a reward model",
        ),
        "probe": Entry(
            "shroom.annotate.as_detectors:Probe",
            "a linear probe on a language model's hidden state at the source",
            _TORCH,
            "models",
            "--model: what shroom probe train has written",
        ),
        "stack": Entry(
            "shroom.detectors.stack:Stack",
            "several detectors' p in one, weighted for each task",
            ("sklearn", "sacrebleu"),
            "stack",
            "--model: what shroom fit stack has written",
        ),
    },
)

#: The detector that is meant where none is named.
DEFAULT = "cross-encoder"


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

    @property
    def threshold(self) -> float:
        """The label is Hallucination where p is greater."""
        ...

    def predict(self, datapoints: Sequence[Datapoint], run: Run = ...) -> NDArray[np.float64]:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1]."""
        ...


class Trainable(Detector, Protocol):
    """A detector that can be fitted, in scikit-learn's manner."""

    def fit(self, datapoints: Sequence[Datapoint], p: NDArray[np.float64]) -> Any:
        """Fit the detector on the annotators' proportions p, shape [n]; return it."""
        ...

    def remember(self, items: TrainingItems) -> None:
        """Note which items it was fitted on, and their out-of-fold p."""
        ...

    def save(self, path: str, **about: Any) -> None:
        """Write the fitted state; ``about`` says where it comes from."""
        ...


def detector(name: str, /, **settings: Any) -> Detector:
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
        Where there is no such detector or setting; the message suggests the nearest.

    Examples
    --------
    >>> detector("lexical").name
    'lexical'
    >>> detector("lexicle")
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: no detector is named 'lexicle'; did you mean 'lexical'? ...
    """
    found: Detector = REGISTRY.make(name, **settings)
    return found


def class_of(name: str) -> Any:
    """Return a detector's class by its name in the registry."""
    return REGISTRY.class_of(name)


def limits(chosen: Detector, datapoints: Sequence[Datapoint], run: Run = RUN) -> list[float]:
    """Return the threshold that goes with each datapoint's p.

    A detector may have a ``thresholds``, a mapping from tasks to thresholds, for tasks that have
    one of their own; ``threshold`` serves for the others. An out-of-fold p has the threshold of
    its fold.
    """
    own = getattr(chosen, "thresholds", {})
    usual = [own.get(point.task.value, chosen.threshold) for point in datapoints]
    if not isinstance(chosen, FittedDetector):
        return usual
    folds = chosen.out_of_fold_thresholds(datapoints, run).tolist()
    return [limit if math.isnan(fold) else fold for limit, fold in zip(usual, folds)]
