"""Calibrations as tables for people."""

from __future__ import annotations

from collections.abc import Mapping

from shroom.learners.calibrators import Platt, Temperature
from shroom.prediction.calibration.calibration import ELSEWHERE, IN_SAMPLE, Calibration
from shroom.prediction.calibration.quality import TrackQuality
from shroom.scoring.display.columns import align
from shroom.scoring.display.text import footnote, number, starred

Row = tuple[str, ...]

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
    "accuracy_at_half": "accuracy of p > 0.5",
    "accuracy": "accuracy of the labels",
    "rho": "rho",
}


def render(calibration: Calibration) -> str:
    """Return a table for each track: its figures before and after, and what calibrates it."""
    lines: list[str] = []
    for result in calibration.results:
        star = footnote([("", result.in_sample, result.n)])
        lines += [*align(_rows(result)), "", _formula(result), _fit(result), *filter(None, [star])]
        lines.append("")
    return "\n".join([*lines, calibration.signature]) + "\n"


def _rows(result: TrackQuality) -> list[Row | None]:
    title = f"{result.split} {result.track}".strip()
    before, after, seen = result.before, result.after, result.in_sample
    return [
        (f"{title}, n = {result.n}", "as given", "calibrated"),
        None,
        ("against the labels", "", ""),
        *_compared(before.label, after.label, seen),
        None,
        ("against the proportions", "", ""),
        *_compared(before.proportion, after.proportion, seen),
    ]


def _compared(
    before: Mapping[str, float | None], after: Mapping[str, float | None], in_sample: int
) -> list[Row]:
    return [
        (
            f"  {shown}",
            *(starred(_unsigned(figures[name]), in_sample) for figures in (before, after)),
        )
        for name, shown in _NAMES.items()
        if name in before
    ]


def _unsigned(value: float | None) -> str:
    """Return a figure as people read it, a zero without the sign that rounding leaves it."""
    return number(value).replace("-0.000", "0.000")


def _formula(result: TrackQuality) -> str:
    """Return a description of a calibrator in one line."""
    calibrator, threshold = result.fitted.calibrator, result.fitted.threshold
    line = calibrator.method
    if isinstance(calibrator, Platt):
        line += f": slope {calibrator.slope:.4g}, intercept {calibrator.intercept:.4g}"
    elif isinstance(calibrator, Temperature):
        line += f": temperature {calibrator.temperature:.4g}"
    return f"{line}; Hallucination where p > {threshold:.4g}"


def _fit(result: TrackQuality) -> str:
    if result.fit == IN_SAMPLE:
        return "scored in-sample, on the very data that it was fitted on, and so too well"
    if result.fit == ELSEWHERE:
        return "fitted on other gold"
    line = f"'calibrated' is out of fold, in {result.fit.rpartition('.')[2]} folds"
    if result.fitted.calibrator.keeps_order:
        return line
    return f"{line}; undefined: what goes by order, which p from several curves has not"
