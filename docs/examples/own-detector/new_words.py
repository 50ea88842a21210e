"""The detector new-words for the SHROOM kit."""

import numpy as np

from shroom.detectors import settings
from shroom.detectors.base import Detector


class NewWords(Detector):
    """The share of the hypothesis' words that the reference does not have."""

    name = "new-words"

    def __init__(self, case=False, threshold=0.5):
        self.case = settings.flag("case", case)
        self.threshold = settings.share("threshold", threshold)

    def p(self, datapoints):
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1]."""
        return np.array([self._share(point) for point in datapoints])

    def _share(self, point):
        texts = (point.hyp, *self.premises(point))
        hyp, *references = (set(t.split() if self.case else t.lower().split()) for t in texts)
        return min(len(hyp - reference) / max(1, len(hyp)) for reference in references)
