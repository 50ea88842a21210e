"""Fitted calibrators with their figures, applied to other submissions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shroom.core.atomic_writing import write_atomically
from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError
from shroom.learners.calibrators import Platt, Temperature
from shroom.prediction.calibration.fitted_calibrators import (
    Figures,
    Fitted,
    TrackQuality,
    calibrator_text,
    fitted_for,
)
from shroom.prediction.predictions import Predictions
from shroom.prediction.submission_files import name_for, text_of
from shroom.scoring.align import AlignedPair
from shroom.scoring.check import check
from shroom.scoring.display.text import ends, figure, footnote
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import Data
from shroom.scoring.result import Result, joined
from shroom.scoring.tables import Estimate, Row, Table
from shroom.scoring.verdict import Checked

#: How the calibrator was fitted, as signatures name it.
IN_SAMPLE = "in-sample"
ELSEWHERE = "other-gold"
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


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """The calibrators of all tracks of a submission, and their figures.

    Attributes
    ----------
    results : list of TrackQuality
        One for each track.
    warnings : Problems
        Warnings about the inputs.
    """

    results: list[TrackQuality]
    warnings: Problems = field(default_factory=Problems)
    keys = ("signature", "results")
    panels_by = "of_calibration"

    def __repr__(self) -> str:
        parts = []
        for result in self.results:
            before, after = (it.proportion["brier"] for it in (result.before, result.after))
            title = f"{result.track} {result.fitted.calibrator.method}".strip()
            parts.append(f"{title}: Brier score {before:.3f} -> {after:.3f}")
        return f"Calibration({'; '.join(parts)})"

    @property
    def verdict(self) -> str:
        """Whether calibration improves p and the labels, on each track."""
        sentences = [_verdict(result) for result in self.results]
        if len(sentences) > 1 and any("interval" in sentence for sentence in sentences):
            sentences.append(
                f"The intervals are not corrected for the {2 * len(sentences)} comparisons."
            )
        return " ".join(sentences)

    def tables(self) -> list[Table]:
        """Return the figures of each track before and after calibration, and its calibrator."""
        tables = [table for result in self.results for table in _tables(result)]
        return [*tables, Table(notes=[self.signature])]

    @property
    def signature(self) -> str:
        """The signature of all results."""
        return joined(result.signature for result in self.results)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each track and figure, before and after."""
        return [
            {
                "split": result.split,
                "track": result.track,
                "n": result.n,
                "against": against,
                "figure": name,
                "before": value,
                "after": result.after.to_dict()[against][name],
            }
            for result in self.results
            for against, figures in result.before.to_dict().items()
            for name, value in figures.items()
        ]

    def apply(self, submission: Data, *, edition: Edition | Source | None = None) -> Predictions:
        """Return a submission with the calibrated p, and with labels determined by the thresholds.

        Parameters
        ----------
        submission : path, rows or data frame
            Predictions for items that the calibrator was not fitted on.
        edition : Edition, str or path, optional
            The shared task; see :func:`shroom.scoring.check.check`.

        Raises
        ------
        InvalidInput
            With every problem, if the check finds errors.
        ShroomError
            If there is no calibrator for a track.

        Examples
        --------
        >>> import shroom
        >>> sample = "shroom/sample/val.model-aware.json"
        >>> calibration = shroom.calibrate(shroom.predict("lexical", sample), sample)
        >>> other = "shroom/sample/val.model-agnostic.json"
        >>> calibration.apply({"val.model-aware": shroom.predict("lexical", other).records()})
        Predictions(60 of shroom calibrate --apply in val.model-aware.json)
        """
        fitted = {result.track: result.fitted for result in self.results}
        checked = checked_with_texts(submission, None, edition)
        return applied(fitted, checked)

    def write(self, out: Source) -> None:
        """Write the file that ``shroom calibrate --apply`` reads."""
        write_atomically(Path(out), calibrator_text(self.results))


def _verdict(result: TrackQuality) -> str:
    """Return whether calibration improves p and the labels of a track, with the changes."""
    subject = f"On {result.track}, calibration" if result.track else "Calibration"
    if result.in_sample or result.fit == IN_SAMPLE:
        return f"{subject} cannot be judged: the figures are in-sample."
    better, worse, changes = [], [], []
    for part, score, against, name, sign in (
        (
            "p",
            "the Brier score of p against the shares of annotators who chose Hallucination",
            "proportion",
            "brier",
            -1,
        ),
        ("the labels", "the accuracy", "label", "accuracy", 1),
    ):
        before, after = (it.to_dict()[against][name] for it in (result.before, result.after))
        ci = result.change[name].ci
        if ci is not None and not any(ci):
            changes.append(f"{score} stays at {figure(before)}")
            continue
        gains = [sign * end for end in ci or (0, 0)]
        better += [part] if min(gains) > 0 else []
        worse += [part] if max(gains) < 0 else []
        shown = f" (95% interval of the change {ends(ci)})" if ci else ""
        changes.append(f"{score} changes from {figure(before)} to {figure(after)}{shown}")
    effects = [f"improves {' and '.join(better)}"] if better else []
    effects += [f"makes {' and '.join(worse)} worse"] if worse else []
    effect = " and ".join(effects) or "has no significant effect"
    if all(it.ci is None for it in result.change.values()):
        effect = "cannot be judged on so few items"
    data = "On other gold labels" if result.fit == ELSEWHERE else "In cross-validation"
    return f"{subject} {effect}. {data} (n = {result.n}), {' and '.join(changes)}."


def _tables(result: TrackQuality) -> list[Table]:
    title = f"{result.split} {result.track}".strip()
    before, after, seen = result.before, result.after, result.in_sample
    rows: list[Row | None] = [("against the labels", "", "")]
    rows += _compared(before.label, after.label, seen)
    rows += [None, ("against the proportions", "", "")]
    rows += _compared(before.proportion, after.proportion, seen)
    star = footnote([("", result.in_sample, result.n)])
    return [
        Table(heads=(f"{title}, n = {result.n}", "as given", "calibrated"), rows=rows),
        Table(notes=[_formula(result), _fit(result), *star]),
    ]


def _compared(before: Figures, after: Figures, in_sample: int) -> list[Row]:
    return [
        (
            f"  {shown}",
            *(Estimate(_unsigned(figures[name]), star=in_sample) for figures in (before, after)),
        )
        for name, shown in _NAMES.items()
        if name in before
    ]


def _unsigned(value: float | None) -> float | None:
    """Return a figure without the sign that rounding leaves to a zero."""
    return 0.0 if value is not None and f"{value:.3f}" == "-0.000" else value


def _formula(result: TrackQuality) -> str:
    """Return a description of a calibrator in one line."""
    calibrator, threshold = result.fitted.calibrator, result.fitted.threshold
    line = calibrator.method
    if isinstance(calibrator, Platt):
        line += f": slope {calibrator.slope:.4g}, intercept {calibrator.intercept:.4g}"
    elif isinstance(calibrator, Temperature):
        line += f": temperature {calibrator.temperature:.4g}"
    return f"{line}; Hallucination if p > {threshold:.4g}"


def _fit(result: TrackQuality) -> str:
    if result.fit == IN_SAMPLE:
        return "in-sample: scored on the training data, so the figures are too optimistic"
    if result.fit == ELSEWHERE:
        return "fitted on other gold labels"
    line = f"calibrated: cross-validated, {result.fit.rpartition('.')[2]} folds"
    if result.fitted.calibrator.keeps_order:
        return line
    return f"{line}; AUROC, average precision and rho are undefined if p comes from several curves"


def checked_with_texts(
    submission: Data, gold: Data | None, edition: Edition | Source | None
) -> Checked:
    """Return a submission that has passed the check, with texts to identify gold without ids."""
    checked = check(submission, gold, edition=edition, texts=True)
    checked.raise_for_errors()
    return checked


def applied(fitted: Mapping[str, Fitted], checked: Checked) -> Predictions:
    """Return the calibrated predictions of a submission that has passed the check."""
    edition = checked.edition
    texts, in_sample = [], {}
    for track in checked.tracks:
        predictions = track.predictions
        label, p = fitted_for(fitted, track)(predictions.p)
        name = name_for(track.name, "-", predictions.file, edition)
        texts.append((name, text_of(label, p, predictions.ids, edition)))
        in_sample[name] = track.in_sample
    return Predictions(
        texts,
        maker="shroom calibrate --apply",
        edition=edition,
        in_sample=in_sample,
        warnings=checked.problems,
    )


def figures(fitted: Fitted, track: AlignedPair, *, in_sample: bool = False) -> TrackQuality:
    """Return the figures before and after; ``in_sample`` allows the gold of the fit."""
    seen = fitted.was_fitted_on(track.gold)
    if seen and not in_sample:
        raise ShroomError(
            f"{track.gold.file} is the gold that the calibrator was fitted on ({fitted.gold}), so "
            "scores on it are too optimistic; use the cross-validated figures from the fit, use "
            "other gold labels, omit the gold, or add --in-sample"
        )
    return TrackQuality.of(track, fitted, IN_SAMPLE if seen else ELSEWHERE)
