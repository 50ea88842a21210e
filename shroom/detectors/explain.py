"""Which words of a hypothesis change p: the change of p if a word is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from shroom.core.datapoint import Datapoint, by_reference
from shroom.core.problems import ShroomError
from shroom.core.word_spans import spans
from shroom.detectors.base import Detector
from shroom.inference.run_settings import RUN, Run

#: Characters that follow a word without a blank.
_CLOSING = frozenset(".,;:!?)]}…»”’")


@dataclass(frozen=True)
class Explanation:
    """The contribution of each word of a hypothesis to p(Hallucination).

    Attributes
    ----------
    hyp : str
        The hypothesis.
    spans : tuple of (start, end)
        Start and end of each word; only white space is between them.
    weights : tuple of float
        For each word, p with the word minus p without it: positive if the word increases p.
    p : float
        p(Hallucination) of the whole hypothesis.
    flagged : bool or None
        Whether the detector's label is Hallucination; ``None`` if the label follows from p.
    in_sample : bool
        Whether the detector was fitted on the datapoint, which moves p towards its label.
    premises : tuple of str
        The texts that the hypothesis is compared with.
    """

    hyp: str
    spans: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]
    p: float
    flagged: bool | None = None
    in_sample: bool = False
    premises: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the hypothesis."""
        return tuple(self.hyp[start:end] for start, end in self.spans)

    def pieces(self) -> Iterator[tuple[str, float | None]]:
        """Yield the pieces of the hypothesis: words with weights, and the text between them."""
        at = 0
        for (start, end), weight in zip(self.spans, self.weights):
            if at < start:
                yield self.hyp[at:start], None
            yield self.hyp[start:end], weight
            at = end
        if at < len(self.hyp):
            yield self.hyp[at:], None


def explain(detector: Detector, datapoint: Datapoint, run: Run = RUN) -> Explanation:
    """Return the contribution of each word of the hypothesis to p, by leave-one-out occlusion.

    The hypothesis and its variants, each without one word, are predicted in one call.

    Parameters
    ----------
    detector : Detector
        The detector to explain.
    datapoint : Datapoint
        The datapoint to explain.
    run : Run
        Settings of the run.

    Raises
    ------
    ShroomError
        If the hypothesis has no words.

    Notes
    -----
    A weight describes the detector, not the truth. If two words have the same meaning, the weights
    of both are small, because leaving out one of them leaves the other.

    Source: Li, Monroe and Jurafsky (2016), "Understanding Neural Networks through Representation
    Erasure".

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> from shroom.detectors.registry import detector
    >>> point = Datapoint(hyp="A small zeppelin.", src="", tgt="A small cat.", task=Task.DM)
    >>> explanation = explain(detector("lexical"), point)
    >>> max(zip(explanation.weights, explanation.words))[1]
    'zeppelin'
    """
    hyp = datapoint.hyp
    places = spans(hyp)
    if not places:
        raise ShroomError(f"datapoint {datapoint.name}: the hypothesis has no words to explain")
    # The variants have no out-of-fold p, which comes from another model and cannot be compared.
    run = replace(run, in_sample=True)
    variants = [replace(datapoint, hyp=_without(hyp, *span)) for span in places]
    values, labels = detector.decide([datapoint, *variants], run)
    flagged = bool(labels[0]) if detector.labels_itself else None
    (in_sample,) = detector.in_sample([datapoint], run).tolist()
    p, *others = values.tolist()
    weights = tuple(p - other for other in others)
    texts = [text for one in by_reference([datapoint])[0] for text in detector.premises(one)]
    premises = tuple(dict.fromkeys(texts))
    return Explanation(hyp, tuple(places), weights, p, flagged, in_sample, premises)


def _without(text: str, start: int, end: int) -> str:
    """Return the text without a span and the white space beside it."""
    before, after = text[:start], text[end:]
    if not before or before[-1].isspace():
        after = after.lstrip()
    if not after or after[0] in _CLOSING:
        before = before.rstrip()
    return before + after
