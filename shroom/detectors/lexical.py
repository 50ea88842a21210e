"""Surface overlap of hypothesis and reference: a weak baseline."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shroom.core.datapoint import premises
from shroom.core.extras import require
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.fitted import Fitted, JSONDetector
from shroom.detectors.settings import File, Share
from shroom.inference.run_settings import Run
from shroom.learners.logistic import Logistic

FEATURES = ("chrf", "overlap", "coverage", "length_ratio")
MODEL = Path(__file__).parent.parent / "models" / "lexical" / "model.json"
#: Inverse strength of the L2 penalty; chosen by cross-validation on trial and val.
_C = 0.1
_WORD = re.compile(r"\w+")


@dataclass(eq=False, repr=False)
class Lexical(JSONDetector):
    """Character n-gram F-score, token overlap and length, weighted for each task.

    Parameters
    ----------
    model : path, optional
        A fitted model; by default, the model that ships with the kit.
    threshold : float, optional
        The label is Hallucination if p is greater; by default, the fitted threshold.

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> close = Datapoint(hyp="A small cat.", src="", tgt="A little cat.", task=Task.DM)
    >>> far = Datapoint(hyp="To run fast.", src="", tgt="A little cat.", task=Task.DM)
    >>> p = Lexical().p([close, far])
    >>> bool(p[0] < p[1])
    True
    """

    name: ClassVar[str] = "lexical"
    shipped: ClassVar[Path] = MODEL
    model: File | None = None
    threshold: Share | None = field(default=None, kw_only=True)

    def _p(self, datapoints: Datapoints, run: Run) -> Floats:
        del run
        tasks = [point.task.like for point in datapoints]
        logistic: Logistic = self._fitted().model
        return logistic.p(features(datapoints), tasks)

    def _fit(self, datapoints: Datapoints, p: Floats, run: Run) -> None:
        del run
        tasks = [point.task.like for point in datapoints]
        self._state = Fitted(Logistic.fit(features(datapoints), tasks, p, _C))

    def _content(self) -> dict[str, Any]:
        logistic: Logistic = self._fitted().model
        return {"features": FEATURES, **logistic.to_dict(), "threshold": self.threshold_}

    def _read(self, content: Any) -> Logistic:
        return Logistic.from_dict(content, len(FEATURES))


def features(datapoints: Datapoints) -> Floats:
    """Return the features of each datapoint, shape [n, 4], in the order of ``FEATURES``."""
    # chrF of Popović (2015) by sacrebleu; the shares of the distinct words of each in the other;
    # the logarithm of the ratio of lengths. Of two premises, the one with the higher chrF counts.
    require("fit", "sacrebleu")
    from sacrebleu.metrics import CHRF

    chrf = CHRF(lowercase=True)
    rows = [
        max(_measures(point.hyp, premise, chrf) for premise in premises(point))
        for point in datapoints
    ]
    return np.array(rows)


def _measures(hyp: str, premise: str, chrf: Any) -> tuple[float, ...]:
    words, reference = (set(_WORD.findall(text.lower())) for text in (hyp, premise))
    shared = len(words & reference)
    return (
        chrf.sentence_score(hyp, [premise]).score / 100,
        shared / max(1, len(words)),
        shared / max(1, len(reference)),
        math.log((len(hyp) + 1) / (len(premise) + 1)),
    )
