"""Calibrating a submission, with cross-validated figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.atomic_writing import write_atomically
from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError, UnknownName
from shroom.core.version import __version__
from shroom.learners.calibrators import METHODS, Calibrator
from shroom.learners.folds import Places, Split, linked, out_of_fold, random_splits
from shroom.learners.logistic import Floats
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD, accuracy_by_threshold
from shroom.prediction.calibration_quality import IN_SAMPLE, TrackQuality
from shroom.prediction.fitted_calibrators import Fitted, applied
from shroom.prediction.input_data import datapoints_by_file
from shroom.prediction.predictions import Predictions
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import Data, as_source
from shroom.scoring.in_sample import refuse
from shroom.scoring.result import Result, joined
from shroom.scoring.tables import Table


def calibrate(
    submission: Data,
    gold: Data,
    *,
    method: str = "platt",
    threshold: bool = True,
    folds: int = 10,
    seed: int = 0,
    in_sample: bool = False,
    edition: Edition | Source | None = None,
) -> Calibration:
    """Return a calibrator and a threshold for each track, with cross-validated figures.

    Parameters
    ----------
    submission, gold : path, rows or data frame
        As for :func:`shroom.scoring.scores.score`, with one file for each track. Items that share a
        hypothesis or a target are in the same fold, unless the gold is a pipe or has no texts.
    method : str
        The curve to fit: ``platt``, ``isotonic``, ``temperature``, or ``none``.
    threshold : bool
        Whether to fit the threshold; otherwise it is 0.5.
    folds, seed : int
        Number of folds, and random seed for them.
    in_sample : bool
        Whether to return in-sample figures, and to accept items that the detector was fitted on.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Returns
    -------
    Calibration
        Its figures are cross-validated, unless ``in_sample`` is set.

    Raises
    ------
    InvalidInput
        With every problem, if the check finds errors.
    ShroomError
        If a setting is not valid, if two files belong to one track, if p does not increase with
        the gold, or if the detector was fitted on these items and ``in_sample`` is not set.

    Examples
    --------
    >>> calibration = calibrate("shroom/sample", "shroom/sample")
    >>> [result.track for result in calibration.results]
    ['model-agnostic', 'model-aware']
    >>> calibration.results[0].fit
    'out-of-fold.10'
    """
    if method not in METHODS:
        raise UnknownName(f"no method '{method}'; choose from {', '.join(METHODS)}")
    if folds < 2:
        raise ShroomError(f"folds: expected at least 2 folds, got {folds}")
    gold = as_source(gold, "gold")
    checked = check(submission, gold, edition=edition, texts=True)
    checked.raise_for_errors()
    tracks = checked.aligned
    if len({track.name.track for track in tracks}) < len(tracks):
        listed = ", ".join(str(track.name) for track in tracks)
        raise ShroomError(
            "a calibrator is fitted to the files of one split, with one file for each track; got "
            f"{listed}"
        )
    if not in_sample:
        refuse(tracks, "a calibrator", ", or add --in-sample")
    points = datapoints_by_file(gold, [track.gold.file for track in tracks], checked.edition)
    fit = partial(fitted_on, method=method, threshold=threshold)
    results = []
    for track in tracks:
        _, p, gold_label, y = track.columns
        file, fitted = track.predictions.file, fit(p, y, gold_label)
        if not fitted.calibrator.rises:
            raise ShroomError(
                f"{file}: p does not increase with the share of annotators who chose "
                "Hallucination, and a calibrator never inverts p; check the gold; if p is the "
                "probability of Not Hallucination, replace it with 1 - p"
            )
        fitted = replace(fitted, gold=track.gold.hash)
        if in_sample:
            results.append(TrackQuality.of(track, fitted, IN_SAMPLE))
            continue
        groups = linked(points.get(track.gold.file, []))
        groups = groups if len(groups) == len(p) else np.arange(len(p))
        splits = random_splits(groups, folds, seed)
        if len(splits) < 2:
            raise ShroomError(
                f"{file}: all items are linked by shared hypotheses or targets, so "
                "cross-validation is impossible; use other items"
            )
        unseen = cross_validated(fit, p, y, gold_label, splits)
        fold = f"out-of-fold.{len(splits)}"
        results.append(TrackQuality.of(track, fitted, fold, unseen, groups))
    return Calibration(results, checked.problems)


def fitted_on(
    p: Floats, y: Floats, gold_label: NDArray[Any], method: str = "platt", *, threshold: bool = True
) -> Fitted:
    """Return a calibrator fitted to the proportions, and a threshold fitted to the labels."""
    calibrator: Calibrator = METHODS[method].fitted(p, y)
    if not threshold:
        return Fitted(calibrator, DEFAULT_THRESHOLD)
    return Fitted(calibrator, accuracy_by_threshold(calibrator(p), gold_label).best_threshold)


def cross_validated(
    fit: Callable[..., Fitted],
    p: Floats,
    y: Floats,
    gold_label: NDArray[Any],
    splits: Iterable[Split],
) -> tuple[NDArray[np.bool_], Floats]:
    """Return out-of-fold labels and p."""

    def predict(train: Places, test: Places) -> Floats:
        return np.column_stack(fit(p[train], y[train], gold_label[train])(p[test]))

    label, calibrated = np.array(out_of_fold(predict, splits)).T
    return label == 1, calibrated


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
            title = f"{result.track} {result.fitted.method}".strip()
            parts.append(f"{title}: Brier score {before:.3f} -> {after:.3f}")
        return f"Calibration({'; '.join(parts)})"

    @property
    def verdict(self) -> str:
        """Whether calibration improves p and the labels, on each track."""
        sentences = [result.verdict for result in self.results]
        if len(sentences) > 1 and any("interval" in sentence for sentence in sentences):
            sentences.append(
                f"The intervals are not corrected for the {2 * len(sentences)} comparisons."
            )
        return " ".join(sentences)

    def tables(self) -> list[Table]:
        """Return the figures of each track before and after calibration, and its calibrator."""
        tables = [table for result in self.results for table in result.tables()]
        return [*tables, Table(notes=[self.signature])]

    @property
    def signature(self) -> str:
        """The signature of all results."""
        return joined(result.signature for result in self.results)

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each track and figure, before and after."""
        heads = ("split", "track", "n", "against", "figure", "before", "after")
        return [
            dict(zip(heads, (result.split, result.track, result.n, against, *figures)))
            for result in self.results
            for against in ("label", "proportion")
            for figures in result.compared(against)
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
        checked = check(submission, edition=edition)
        checked.raise_for_errors()
        return applied({result.track: result.fitted for result in self.results}, checked)

    def write(self, out: Source) -> None:
        """Write the file that ``shroom calibrate --apply`` reads."""
        write_atomically(Path(out), calibrator_text(self.results))


def calibrator_text(results: Sequence[TrackQuality]) -> str:
    """Return the text of the file for fitted calibrators and their figures."""
    tracks = {result.track: {**result.to_dict(), "gold": result.fitted.gold} for result in results}
    content = {"shroom_calibrator": 1, "shroom": __version__, "tracks": tracks}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
