"""Fitted calibrators with their figures, applied to other submissions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shroom.core.atomic_writing import write_atomically
from shroom.core.paths import Source
from shroom.core.problems import Problems
from shroom.core.version import __version__
from shroom.prediction.calibration.fitted import applied
from shroom.prediction.calibration.quality import TrackQuality
from shroom.prediction.predictions import Predictions
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import Data
from shroom.scoring.result import Result, joined
from shroom.scoring.tables import Table


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
