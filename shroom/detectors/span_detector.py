"""The base class of detectors that mark spans, for Mu-SHROOM and SHROOM-Visions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError, show
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.base import Detector
from shroom.detectors.out_of_fold import DECIMALS
from shroom.inference.run_settings import RUN, Run
from shroom.scoring.editions.edition import Annotation
from shroom.scoring.kinds.labelled_spans import LABELS
from shroom.scoring.kinds.span_values import SoftSpan, hard_of
from shroom.scoring.kinds.spans import HARD, SOFT

Span = tuple[int, int, float] | tuple[int, int, float, str]
Marks = Sequence[Sequence[Span]]


class SpanDetector(Detector):
    """Base class of detectors that mark spans of characters in hypotheses.

    A subclass sets ``name`` and defines :meth:`mark`. The returned spans are the soft
    labels, and the :func:`likeliest` spans are the hard labels. If the spans of the edition have
    labels, as in SHROOM-Visions, the submission contains all returned spans with p and label.

    Attributes
    ----------
    label : str, optional
        The label of spans that :meth:`mark` returns without a label.

    Examples
    --------
    >>> from shroom.core.datapoint import pair
    >>> class Years(SpanDetector):
    ...     name = "years"
    ...
    ...     def mark(self, datapoints, run=RUN):
    ...         texts = [point.hyp.split("in ") for point in datapoints]
    ...         return [[(len(a) + 3, len(a) + 7, 0.75)] for a, _ in texts]
    >>> Years().columns([pair("When?", "It was in 1823.")])["hard_labels"]
    [[[10, 14]]]
    """

    annotations: ClassVar[tuple[str, ...]] = ("spans", "labelled-spans")
    label: str | None = None

    def mark(self, datapoints: Datapoints, run: Run = RUN) -> Marks:
        """Return the marked spans of each hypothesis, with their probabilities.

        Parameters
        ----------
        datapoints : sequence of Datapoint, length n
            The datapoints, perhaps none.
        run : Run
            As for :meth:`~shroom.detectors.base.Detector.p`.

        Returns
        -------
        sequence of length n of sequences of (int, int, float) or (int, int, float, str)
            The start, the end, the probability and, if spans have labels, the label of each span.
            Characters are counted from 0, and the end is the first character after the span. The
            spans of a hypothesis are sorted and do not overlap.
        """
        del datapoints, run
        raise ShroomError(
            f"the detector {self.name} has no method mark(datapoints, run); define it to return "
            "the spans of each datapoint"
        )

    def p(self, datapoints: Datapoints, run: Run = RUN) -> Floats:
        """Return the expected share of marked characters in each hypothesis: shape [n]."""
        marked = self._marked(datapoints, run)
        sizes = [sum((s.end - s.start) * s.prob for s, _ in spans) for spans in marked]
        lengths = [max(1, len(point.hyp)) for point in datapoints]
        return np.minimum(1, np.array(sizes) / lengths)

    def columns(
        self, datapoints: Datapoints, run: Run = RUN, annotation: Annotation | None = None
    ) -> dict[str, list[Any]]:
        labels = annotation.labels if annotation else ()
        marked = self._marked(datapoints, run, labels)
        if labels:
            own = [[{**s._asdict(), "label": label} for s, label in spans] for spans in marked]
            return {LABELS: own}
        soft = [[span for span, _ in spans] for spans in marked]
        hard = [hard_of([span._replace(prob=1.0) for span in likeliest(spans)]) for spans in soft]
        return {
            SOFT: [[span._asdict() for span in spans] for spans in soft],
            HARD: [[list(span) for span in spans] for spans in hard],
        }

    def _marked(
        self, datapoints: Datapoints, run: Run, labels: Sequence[str] = ()
    ) -> list[list[tuple[SoftSpan, str]]]:
        """Return the checked spans, with p rounded as in a submission, and their labels."""
        marked = list(self.mark(datapoints, run) or ())
        if len(marked) != len(datapoints):
            raise ShroomError(
                f"the detector {self.name} must return spans for each of {len(datapoints)} "
                f"datapoints, got {len(marked)} lists"
            )
        return [self._checked(point, spans, labels) for point, spans in zip(datapoints, marked)]

    def _checked(
        self, point: Datapoint, spans: Sequence[Span], labels: Sequence[str]
    ) -> list[tuple[SoftSpan, str]]:
        marked, last = [], 0
        for span in spans:
            try:
                start, end, prob, label = (*span, self.label or "")[:4]
                valid = last <= start < end <= len(point.hyp) and 0 <= prob <= 1
            except (TypeError, ValueError):
                valid = False
            if not valid:
                raise ShroomError(
                    f"the detector {self.name}, datapoint {point.name}: expected spans (start, "
                    f"end, p) or (start, end, p, label) in order and without overlap, with an end "
                    f"of at most {len(point.hyp)} and 0 <= p <= 1, got {show(span)}"
                )
            if labels and label not in labels:
                got = show(label) if label else "none"
                raise ShroomError(
                    f"the detector {self.name}: expected one of the labels {', '.join(labels)} for "
                    f"each span, got {got}; return the label as the fourth value of a span, or set "
                    "one label for all spans (for the kit's detector 'spans', with --set "
                    "label=NAME)"
                )
            soft = SoftSpan(int(start), int(end), round(float(prob), DECIMALS))
            if soft.prob > 0:
                marked.append((soft, label))
            last = end
        return marked


def likeliest(soft: Sequence[SoftSpan]) -> list[SoftSpan]:
    """Return the spans with the greatest expected intersection over expected union."""
    # With the characters' p independent, spans S have the intersection Σ_S p and the union
    # |S| + Σ p - Σ_S p. Given the size of S the highest p are best, so a threshold of p suffices.
    spans = sorted((span for span in soft if span.prob > 0), key=lambda span: -span.prob)
    if not spans:
        return []
    p = np.array([span.prob for span in spans])
    lengths = np.array([span.end - span.start for span in spans])
    inside, total = np.cumsum(p * lengths), float(p @ lengths)
    best = p[np.argmax(inside / (np.cumsum(lengths) + total - inside))]
    return [span for span in soft if span.prob >= best]
