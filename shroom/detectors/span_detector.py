"""The base class of detectors that mark spans, as Mu-SHROOM and SHROOM-Visions ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shroom.core.problems import ShroomError, show
from shroom.detectors.base import Detector
from shroom.detectors.out_of_fold import DECIMALS
from shroom.inference.run_settings import RUN
from shroom.scoring.kinds.labelled_spans import LABELS
from shroom.scoring.kinds.span_values import SoftSpan, hard_of
from shroom.scoring.kinds.spans import HARD, SOFT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.inference.run_settings import Run

    Span = tuple[int, int, float] | tuple[int, int, float, str]
    Marks = Sequence[Sequence[Span]]


class SpanDetector(Detector):
    """A detector that gives spans of characters of each hypothesis a probability.

    A subclass sets ``name`` and defines :meth:`mark`. The soft labels are the spans that it
    returns, and the hard labels are the :func:`likeliest` of these. Where an edition has labels of
    spans, as SHROOM-Visions has, the submission has the likeliest spans with p and label.

    Attributes
    ----------
    label : str
        The label of spans that :meth:`mark` returns without one.

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
    label: str = ""

    def mark(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Marks:
        """Return the marked spans of each hypothesis: start, end and probability, perhaps a label.

        Parameters
        ----------
        datapoints : sequence of Datapoint, length n
            May be empty.
        run : Run
            As of :meth:`~shroom.detectors.base.Detector.p`.

        Returns
        -------
        sequence of length n of sequences of (int, int, float) or (int, int, float, str)
            Places count characters from 0, and ``end`` is the first one not in the span. The spans
            of a text are in order, do not overlap, and end within it.
        """
        del datapoints, run
        raise ShroomError(
            f"the detector {self.name} lacks the method mark(datapoints, run), which returns the "
            "spans of each datapoint"
        )

    def p(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.float64]:
        """Return the expected share of each hypothesis' characters that are marked: shape [n]."""
        marked = zip(datapoints, self._marked(datapoints, run))
        return np.array(
            [
                min(1.0, sum((s.end - s.start) * s.prob for s in spans) / max(1, len(point.hyp)))
                for point, spans in marked
            ]
        )

    def columns(
        self, datapoints: Sequence[Datapoint], run: Run = RUN, kind: str = "spans"
    ) -> dict[str, list[Any]]:
        """Return the soft and the hard labels of the datapoints, or their spans with labels."""
        marked = self._marked(datapoints, run)
        chosen = [likeliest(list(spans)) for spans in marked]
        if kind != "labelled-spans":
            hard = [hard_of([span._replace(prob=1.0) for span in spans]) for spans in chosen]
            return {
                SOFT: [[span._asdict() for span in spans] for spans in marked],
                HARD: [[list(span) for span in spans] for spans in hard],
            }
        if not all(map(all, (spans.values() for spans in marked))):
            raise ShroomError(
                f"the detector {self.name} gives spans no label, and the edition asks for one: "
                "name that of all spans (--set label=NAME)"
            )
        return {
            LABELS: [
                [{**span._asdict(), "label": labels[span]} for span in spans]
                for spans, labels in zip(chosen, marked)
            ]
        }

    def _marked(self, datapoints: Sequence[Datapoint], run: Run) -> list[dict[SoftSpan, str]]:
        """Return the spans with p as in a submission, having checked them, and their labels."""
        marked = self.mark(datapoints, run)
        if len(marked) != len(datapoints):
            raise ShroomError(
                f"the detector {self.name} did not return spans for each of {len(datapoints)} "
                f"datapoints, but for {len(marked)}"
            )
        return [self._checked(point, spans) for point, spans in zip(datapoints, marked)]

    def _checked(self, point: Datapoint, spans: Sequence[Span]) -> dict[SoftSpan, str]:
        marked, last = {}, 0
        for span in spans:
            start, end, prob, *label = span
            if not (last <= start < end <= len(point.hyp) and 0 <= prob <= 1):
                raise ShroomError(
                    f"the detector {self.name}, datapoint {point.name}: expected spans (start, "
                    f"end, p) in order, without overlap, within the {len(point.hyp)} characters "
                    f"and with p from 0 to 1, got {show(span)}"
                )
            soft = SoftSpan(int(start), int(end), round(float(prob), DECIMALS))
            marked[soft] = str(label[0]) if label else self.label
            last = end
        return marked


def likeliest(soft: Sequence[SoftSpan]) -> list[SoftSpan]:
    """Return the spans with the greatest expected intersection over expected union.

    They are the spans above a threshold of p, which is chosen for each text. With the
    characters' p independent, spans S have the expected intersection Σ_S p with what is marked,
    and the expected union |S| + Σ p - Σ_S p. Given the size of S, the spans of the highest p are
    best, so that a threshold suffices.

    Parameters
    ----------
    soft : sequence of SoftSpan
        Without overlap.

    Examples
    --------
    >>> spans = [SoftSpan(0, 4, 0.4), SoftSpan(4, 6, 0.3), SoftSpan(6, 30, 0.01)]
    >>> [span.prob for span in likeliest(spans)]
    [0.4, 0.3]
    """
    spans = sorted((span for span in soft if span.prob > 0), key=lambda span: -span.prob)
    if not spans:
        return []
    p = np.array([span.prob for span in spans])
    lengths = np.array([span.end - span.start for span in spans])
    inside, total = np.cumsum(p * lengths), float(p @ lengths)
    best = p[np.argmax(inside / (np.cumsum(lengths) + total - inside))]
    return [span for span in soft if span.prob >= best]
