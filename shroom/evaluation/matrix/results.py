"""The scores of detectors on data sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shroom.core.printing import counted
from shroom.evaluation.matrix.datasets import Subject
from shroom.evaluation.matrix.detectors import Split, Threshold
from shroom.metrics.classification import ACCURACY, BALANCED_ACCURACY
from shroom.metrics.correlation import RHO
from shroom.metrics.discrimination import AUROC
from shroom.metrics.intervals import MAX_ITEMS, Intervals
from shroom.scoring.display.text import (
    UNDEFINED,
    WHY_UNDEFINED,
    confidence,
    doubts,
    drawn,
    figure,
    footnote,
    how_made,
    in_words,
    starred,
    within,
)
from shroom.scoring.result import Plain, Result, Scored, rounded
from shroom.scoring.tables import Beside, Estimate, Table, score_cells
from shroom.scoring.tables import Row as Cells

#: Metrics, in the order of the columns.
METRICS = (ACCURACY, BALANCED_ACCURACY, AUROC, RHO)
#: The heads of the metrics' columns.
HEADS = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "auroc": "AUROC", "rho": "rho"}
FLOOR = "floor: majority label"
#: The AUROC of a detector that does not look at the texts.
_CHANCE = 0.5
_NONE = Estimate(None)


@dataclass(frozen=True, repr=False)
class Scores(Scored):
    dataset: str
    in_sample: int
    estimates: dict[str, Estimate]
    ms_per_item: float | None
    notes: tuple[str, ...] = ()
    keys = ("dataset", "in_sample", "**estimates", "ms_per_item", "notes")
    columns = keys[:-1]

    def __repr__(self) -> str:
        return f"Scores({starred(self.dataset, self.in_sample)} {rounded(self.scores)})"

    @property
    def time(self) -> str:
        value = self.ms_per_item
        return UNDEFINED if value is None else f"{value:.{2 if value < 10 else 0}f}"


@dataclass(frozen=True, repr=False)
class Row(Plain):
    detector: str
    given: str
    fingerprint: str
    threshold: Threshold
    cells: tuple[Scores, ...]

    def __repr__(self) -> str:
        return f"Row({self.detector}: {', '.join(map(repr, self.cells))})"


@dataclass(frozen=True)
class Lead:
    """The detectors on a data set with their AUROC, the best first, and the first two's difference.

    The difference is paired. Detectors that were fitted on items of the data set are not ranked.
    """

    dataset: str
    ranked: tuple[tuple[str, Estimate], ...]
    in_sample: tuple[str, ...]
    difference: Estimate = _NONE

    def sentence(self, how: Intervals, place: str) -> str:
        """Return the answer for the data set, which claims no more than the intervals show."""
        named = in_words(self.in_sample)
        seen = f"not ranked because of in-sample scores: {named}" if self.in_sample else ""
        if not self.ranked:
            return f"On {place}, no AUROC can be compared{f' ({seen})' if seen else ''}."
        (best, auroc), *others = self.ranked
        figures = "; ".join(filter(None, (f"AUROC {_shown(auroc, how)}", seen)))
        second = f"{others[0][0]} (difference {_shown(self.difference, how)})" if others else ""
        if auroc.ci is None:
            who = f"{best} is first ({figures})" if second else f"{best} has {figures}"
            answer = f"{who}; without an interval, nothing can be concluded"
        elif auroc.ci[0] <= _CHANCE:
            who = f"{best} is first, but" if second else f"{best} is"
            answer = f"{who} not shown to be better than chance ({figures})"
        elif not second:
            answer = f"{best} is better than chance ({figures})"
        elif self.difference.ci is not None and self.difference.ci[0] > 0:
            answer = f"{best} is best ({figures}), better than {second}"
        else:
            answer = f"{best} is first ({figures}), but not shown to be better than {second}"
        return f"On {place}, {answer}."


def _shown(it: Estimate, how: Intervals) -> str:
    shown = UNDEFINED if it.value is None else figure(it.value)
    return ", ".join(filter(None, (shown, within(it.ci, how))))


@dataclass(frozen=True, eq=False, repr=False)
class Matrix(Result):
    """The scores of detectors on data sets.

    Attributes
    ----------
    subjects : tuple of Subject
        The data sets.
    rows : tuple of Row
        The detectors, in the given order.
    intervals : Intervals
        Settings of the intervals.
    tuned_on : Split or None
        Items that thresholds were tuned on.
    leads : tuple of Lead
        The best detector on each data set.
    """

    subjects: tuple[Subject, ...]
    rows: tuple[Row, ...]
    intervals: Intervals
    tuned_on: Split | None
    leads: tuple[Lead, ...] = ()
    keys = ("datasets", "rows", "tuned_on", "**intervals")
    heading = "Detectors and data sets"

    def __repr__(self) -> str:
        aurocs = (
            f"{row.detector} {rounded({cell.dataset: cell.scores['auroc'] for cell in row.cells})}"
            for row in self.rows
        )
        return f"Matrix(auroc: {'; '.join(aurocs)})"

    @property
    def verdict(self) -> str:
        """Which detector is best on each data set, as far as the intervals allow."""
        leads = zip(self.leads, self.subjects)
        return " ".join(lead.sentence(self.intervals, it.place) for lead, it in leads)

    def tables(self) -> list[Table]:
        """Return the AUROC of all detectors, the scores on each data set, and notes."""
        aurocs: list[Cells] = [
            (row.detector, *(it.estimates["auroc"]._replace(ci=None) for it in row.cells))
            for row in self.rows
        ]
        names = ("", *(subject.name for subject in self.subjects))
        return [
            Table("AUROC", names, aurocs),
            *(self._table(place, subject) for place, subject in enumerate(self.subjects)),
            Table(notes=[f"- {note}" for note in self._notes()]),
        ]

    def _table(self, place: int, subject: Subject) -> Table:
        rows: list[Cells] = []
        for row in self.rows:
            cell = row.cells[place]
            name = starred(row.detector, cell.in_sample)
            rows.append((name, *cell.estimates.values(), cell.time))
        rows.append(Beside((FLOOR, *score_cells(floor(subject), {}).values(), "")))
        return Table(
            subject.name,
            ("", *HEADS.values(), "ms/item"),
            rows,
            ci=confidence(self.intervals),
            about=[f"  {subject.about}", f"  {subject.size}"],
            below=True,
        )

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each detector and for the floor of each data set."""
        floors = [Scores(it.name, 0, score_cells(floor(it), {}), None) for it in self.subjects]
        rows = [*((row.detector, row.cells) for row in self.rows), (FLOOR, floors)]
        return [
            {"detector": detector, "dataset": subject.name, "n": subject.n, **cell.record()}
            for detector, cells in rows
            for subject, cell in zip(self.subjects, cells)
        ]

    @property
    def datasets(self) -> list[dict[str, Any]]:
        """The data sets in the form of the JSON output."""
        return [{"name": it.name, **it.to_dict(), "floor": floor(it)} for it in self.subjects]

    def _notes(self) -> Iterator[str]:
        cells = [(row, cell) for row in self.rows for cell in row.cells]
        sizes = {subject.name: subject.n for subject in self.subjects}
        yield from footnote(
            (f"{row.detector} on {it.dataset}", it.in_sample, sizes[it.dataset])
            for row, it in cells
        )
        yield WHY_UNDEFINED
        yield f"{FLOOR}: a system that always predicts the more frequent label"
        how = self.intervals
        if how.resamples and any(len(lead.ranked) > 1 for lead in self.leads):
            yield (
                "AUROC differences: both AUROCs are computed on the same resamples; the "
                "intervals are not corrected for the number of detectors and data sets"
            )
        if how.resamples:
            units = drawn(how, "all units (responses, dialogues, questions)")
            made = how_made(how, units).replace(": ", f": {100 * how.confidence:.12g}%, ", 1)
            normal = (
                f"; with more than {MAX_ITEMS} units, normal intervals (infinitesimal jackknife)"
            )
            yield made + normal * any(subject.units > MAX_ITEMS for subject in self.subjects)
            yield from doubts(
                (f"{row.detector} on {it.dataset}, {HEADS[name]}", ci)
                for row, it in cells
                for name, ci in it.intervals.items()
            )
        for row in self.rows:
            given = f" ({row.given})" if row.given != row.detector else ""
            limit = f"{row.threshold.value:.4g} ({row.threshold.source})"
            yield f"threshold of {row.detector}{given}: {limit}"
        if self.tuned_on is not None and self.tuned_on.left_out:
            left_out = counted(self.tuned_on.left_out, "item")
            yield f"left out of tuning: {left_out}, because scored items are not used for tuning"
        yield (
            "ms/item: measured when p was computed, including the time to load the model; "
            "p is computed only once for identical items"
        )
        for row, cell in cells:
            place = f"{row.detector} on {cell.dataset}"
            yield from (f"{place}: {note}" for note in cell.notes)
            if cell.ms_per_item is None:
                yield f"{place}: the run was interrupted, so no time was measured"


def floor(subject: Subject) -> dict[str, float | None]:
    """Return the scores of always predicting the more frequent label; a constant p has no rho."""
    p = np.full(subject.n, float(2 * subject.hallucinations > subject.n))
    columns = (p > 0, p, subject.label, subject.p)
    return {metric.name: metric(np.asarray(metric.statistics(*columns))) for metric in METRICS}
