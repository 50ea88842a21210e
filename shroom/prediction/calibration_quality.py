"""The figures of one track before and after calibration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.learners.logistic import Floats
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD
from shroom.metrics.calibration import brier_decomposition, log_loss
from shroom.metrics.classification import accuracy
from shroom.metrics.cluster_bootstrap import ratio, sums
from shroom.metrics.correlation import rho
from shroom.metrics.discrimination import auroc, average_precision
from shroom.metrics.intervals import DEFAULT_INTERVALS, estimates
from shroom.metrics.reliability import BINS, Reliability, reliability
from shroom.prediction.fitted_calibrators import Fitted
from shroom.scoring.align import AlignedPair
from shroom.scoring.display.text import ends, figure, footnote
from shroom.scoring.result import Plain, signature
from shroom.scoring.tables import Estimate, Row, Table, score_cells

#: How the calibrator was fitted, as signatures name it.
IN_SAMPLE = "in-sample"
ELSEWHERE = "other-gold"
Figures = dict[str, "float | None"]
_NAMES = {
    "brier": "Brier score",
    "reliability": "  = reliability",
    "resolution": "  - resolution",
    "uncertainty": "  + uncertainty",
    "within_bins": "  + within bins",
    "log_loss": "log loss",
    "ece": "ECE, equal width",
    "ece_mass": "ECE, equal mass",
    "mce": "MCE, equal width",
    "mce_mass": "MCE, equal mass",
    "auroc": "AUROC",
    "average_precision": "average precision",
    "accuracy_at_half": "accuracy at threshold 0.5",
    "accuracy": "accuracy of the labels",
    "rho": "rho",
}
_BRIER = "the Brier score of p against the shares of annotators who chose Hallucination"
#: What the verdict compares: a part of the predictions, its score, and the sign of an improvement.
_JUDGED = (
    ("p", _BRIER, "proportion", "brier", -1),
    ("the labels", "the accuracy", "label", "accuracy", 1),
)


@dataclass(frozen=True)
class Quality(Plain):
    """The figures against the gold labels, and against the annotators' proportions."""

    label: Figures
    proportion: Figures
    curve: Reliability = field(repr=False, compare=False)
    #: Squared error of p against the proportion, and whether the label is right: shape [n, 2].
    items: Floats = field(repr=False, compare=False)
    keys = ("label", "proportion")

    @classmethod
    def of(
        cls, label: NDArray[Any], p: NDArray[Any], gold_label: NDArray[Any], gold_p: NDArray[Any]
    ) -> Quality:
        against_label = {
            **_of_probabilities(p, gold_label),
            "auroc": auroc(p, gold_label),
            "average_precision": average_precision(p, gold_label),
            "accuracy": accuracy(label, gold_label),
            "accuracy_at_half": accuracy(p > DEFAULT_THRESHOLD, gold_label),
        }
        against_proportion = {**_of_probabilities(p, gold_p), "rho": rho(p, gold_p)}
        items = np.column_stack(((p - gold_p) ** 2, label == gold_label))
        curve = reliability(p, gold_label, BINS)
        return cls(_defined(against_label), _defined(against_proportion), curve, items)

    def with_order_of(self, other: Quality | None) -> Quality:
        """Return these figures with AUROC, average precision and rho of another, or undefined."""
        label, proportion = (other.label, other.proportion) if other else ({}, {})
        order = {name: label.get(name) for name in ("auroc", "average_precision")}
        rho = {"rho": proportion.get("rho")}
        return replace(self, label=self.label | order, proportion=self.proportion | rho)

    def change_to(self, other: Quality, groups: NDArray[np.intp]) -> dict[str, Estimate]:
        """Return the differences of another's Brier score and accuracy, resampled by group."""
        one = np.ones(len(groups))
        statistics = [
            (ratio(name, (-1, 1)), sums(np.column_stack((values, one)), groups))
            for name, values in zip(("brier", "accuracy"), (other.items - self.items).T)
        ]
        return score_cells(*estimates(statistics, DEFAULT_INTERVALS))


def _of_probabilities(p: NDArray[Any], y: NDArray[Any]) -> dict[str, float]:
    brier = asdict(brier_decomposition(p, y, BINS))
    width, mass = (reliability(p, y, BINS, by) for by in ("width", "mass"))
    return {
        "brier": brier.pop("score"),
        **brier,
        "log_loss": log_loss(p, y),
        "ece": width.expected_error,
        "mce": width.maximum_error,
        "ece_mass": mass.expected_error,
        "mce_mass": mass.maximum_error,
    }


def _defined(figures: dict[str, float]) -> Figures:
    return {name: None if math.isnan(value) else value for name, value in figures.items()}


@dataclass(frozen=True)
class TrackQuality(Plain):
    """The figures of one track before and after calibration."""

    file: str  # of predictions
    track: str
    split: str
    n: int
    fitted: Fitted
    before: Quality
    after: Quality
    #: Of the Brier score against the proportions and of the accuracy, with 95% intervals.
    change: Mapping[str, Estimate]
    signature: str
    in_sample: int = 0
    keys = (
        *("track", "split", "n", "in_sample", "**fitted", "fit"),
        *("before", "after", "change", "signature"),
    )

    @classmethod
    def of(
        cls,
        track: AlignedPair,
        fitted: Fitted,
        fit: str,
        out_of_fold: tuple[NDArray[np.bool_], Floats] | None = None,
        groups: NDArray[np.intp] | None = None,
    ) -> TrackQuality:
        """Return the figures of a track with their signature; ``fit`` is its end."""
        label, p, *golds = track.columns
        before = Quality.of(label == 1, p, *golds)
        after = Quality.of(*(out_of_fold or fitted(p)), *golds)
        if out_of_fold:
            # Each fold has its own curve, so p of different folds cannot be ranked together.
            after = after.with_order_of(before if fitted.calibrator.keeps_order else None)
        parts = f"calibration:{fitted.method}", f"fit:{fit}"
        gold, name = track.gold, track.name
        signed = signature(name.track, gold, track.alignment, track.edition, *parts)
        change = before.change_to(after, np.arange(gold.n) if groups is None else groups)
        figures = (gold.n, fitted, before, after, change, signed, track.in_sample)
        return cls(track.predictions.file, name.track, name.split, *figures)

    @classmethod
    def elsewhere(
        cls, track: AlignedPair, fitted: Fitted, *, in_sample: bool = False
    ) -> TrackQuality:
        """Return the figures on other gold; ``in_sample`` allows the gold of the fit."""
        seen = track.gold.hash == fitted.gold
        if seen and not in_sample:
            raise ShroomError(
                f"{track.gold.file} is the gold that the calibrator was fitted on ({fitted.gold}), "
                "so scores on it are too optimistic; use the cross-validated figures from the fit, "
                "use other gold labels, omit the gold, or add --in-sample"
            )
        return cls.of(track, fitted, IN_SAMPLE if seen else ELSEWHERE)

    @property
    def fit(self) -> str:
        """The end of the signature: how the calibrator of the figures was fitted."""
        return self.signature.rpartition("fit:")[2]

    def compared(self, against: str) -> Iterator[tuple[str, float | None, float | None]]:
        """Yield the names of the figures against ``label`` or ``proportion``, before and after."""
        before, after = (getattr(it, against) for it in (self.before, self.after))
        return ((name, before[name], after[name]) for name in before)

    @property
    def verdict(self) -> str:
        """Whether calibration improves p and the labels, with the changes."""
        subject = f"On {self.track}, calibration" if self.track else "Calibration"
        if self.in_sample or self.fit == IN_SAMPLE:
            return f"{subject} cannot be judged: the figures are in-sample."
        better, worse, changes = [], [], []
        for part, score, against, name, sign in _JUDGED:
            before, after = (getattr(it, against)[name] for it in (self.before, self.after))
            ci = self.change[name].ci
            gains = [sign * end for end in ci or (0, 0)]
            better += [part] if min(gains) > 0 else []
            worse += [part] if max(gains) < 0 else []
            shown = f" (95% interval of the change {ends(ci)})" if ci else ""
            changes.append(f"{score} changes from {figure(before)} to {figure(after)}{shown}")
        effects = [f"improves {' and '.join(better)}"] if better else []
        effects += [f"makes {' and '.join(worse)} worse"] if worse else []
        effect = " and ".join(effects) or "has no significant effect"
        if all(it.ci is None for it in self.change.values()):
            effect = "cannot be judged on so few items"
        data = "On other gold labels" if self.fit == ELSEWHERE else "In cross-validation"
        return f"{subject} {effect}. {data} (n = {self.n}), {' and '.join(changes)}."

    def tables(self) -> list[Table]:
        """Return the figures before and after calibration, and the calibrator."""
        rows: list[Row | None] = [("against the labels", "", ""), *self._rows("label")]
        rows += [None, ("against the proportions", "", ""), *self._rows("proportion")]
        head = f"{f'{self.split} {self.track}'.strip()}, n = {self.n}"
        star = footnote([("", self.in_sample, self.n)])
        return [
            Table(heads=(head, "as given", "calibrated"), rows=rows),
            Table(notes=[*self._notes(), *star]),
        ]

    def _rows(self, against: str) -> list[Row]:
        cells = {name: figures for name, *figures in self.compared(against)}
        return [
            (f"  {shown}", *(Estimate(it, star=self.in_sample) for it in cells[name]))
            for name, shown in _NAMES.items()
            if name in cells
        ]

    def _notes(self) -> Iterator[str]:
        """Yield a description of the calibrator, and how it was fitted."""
        curve, numbers = self.fitted.calibrator, asdict(self.fitted.calibrator).items()
        shown = ", ".join(f"{name} {it:.4g}" for name, it in numbers if isinstance(it, float))
        line = ": ".join(filter(None, (self.fitted.method, shown)))
        yield f"{line}; Hallucination if p > {self.fitted.threshold:.4g}"
        if self.fit == IN_SAMPLE:
            yield "in-sample: scored on the training data, so the figures are too optimistic"
        elif self.fit == ELSEWHERE:
            yield "fitted on other gold labels"
        else:
            ranks = "AUROC, average precision and rho are undefined if p comes from several curves"
            yield (
                f"calibrated: cross-validated, {self.fit.rpartition('.')[2]} folds"
                f"{'' if curve.keeps_order else f'; {ranks}'}"
            )
