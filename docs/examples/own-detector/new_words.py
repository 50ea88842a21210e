"""The detector new-words for the SHROOM kit."""

from dataclasses import dataclass

import numpy as np

from shroom.detectors.base import Detector
from shroom.detectors.settings import Share


@dataclass
class NewWords(Detector):
    """The share of words in the hypothesis that are missing from the reference."""

    name = "new-words"
    case: bool = False
    threshold: Share = 0.5

    def p(self, datapoints):
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1]."""
        return np.array([self._share(point) for point in datapoints])

    def _share(self, point):
        texts = (point.hyp, *self.premises(point))
        hyp, *references = (set(t.split() if self.case else t.lower().split()) for t in texts)
        return min(len(hyp - reference) / max(1, len(hyp)) for reference in references)
