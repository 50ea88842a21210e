"""The scores of a track, and of a whole submission."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shroom.core.problems import Problem
from shroom.metrics.intervals import (
    FEWEST,
    MAX_ITEMS,
    NO_INTERVALS,
    Interval,
    Intervals,
    mean_interval,
)
from shroom.scoring.align import AlignedPair
from shroom.scoring.display.text import (
    WHY_UNDEFINED,
    confidence,
    doubts,
    footnote,
    how_made,
    number,
)
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default
from shroom.scoring.kinds.base import floor_or_reference
from shroom.scoring.result import Plain, Result, doubt, joined
from shroom.scoring.slices import share_items
from shroom.scoring.tables import Beside, Estimate, Row, Table, Whole, bounds, score_cells


@dataclass(frozen=True, repr=False)
class TrackScore(Plain):
    """The scores of one track.

    Attributes
    ----------
    track, split : str
        Names from the edition, such as ``model-agnostic`` and ``val``. The track is empty if
        there is only one, and the split is empty if it is unknown.
    n : int
        The number of items.
    scores : dict of float or None
        By metric; ``None`` if it is undefined.
    intervals : dict of tuple or None
        By metric; ``None`` without intervals, or if undefined.
    slices : dict
        ``{"task": {"DM": {"n": …, "accuracy": …, "accuracy_ci": …, …}, …}, …}``.
    floors : dict
        The scores of floors (trivial systems) and references on the same gold.
    signature : str
        Signature of the score; only scores with the same signature are comparable.
    in_sample : int
        The number of items that the detector was fitted on, according to the run record.
    """

    track: str
    split: str
    n: int
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]
    signature: str
    slices: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    floors: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    in_sample: int = 0
    keys = ("track", "split", "n", "in_sample", "**whole", "slices", "floors", "signature")

    def __repr__(self) -> str:
        return f"TrackScore({self.sentence})"

    @property
    def sentence(self) -> str:
        """The track, its number of items, and the scores with three decimal places."""
        scores = ", ".join(f"{name} {number(value)}" for name, value in self.scores.items())
        return f"{self.title}, n = {self.n}: {scores}".removeprefix(", ")

    @property
    def title(self) -> str:
        """The split and track."""
        return f"{self.split} {self.track}".strip()

    @property
    def accuracy(self) -> float:
        """Accuracy in [0, 1]; only for binary labels."""
        return self.scores["accuracy"] or 0.0

    @property
    def rho(self) -> float | None:
        """Spearman's rho in [-1, 1]; ``None`` if p or the gold is constant."""
        return self.scores["rho"]

    @property
    def whole(self) -> dict[str, Any]:
        """The scores and their intervals, in the form of a slice."""
        return flat(self.scores, self.intervals)

    @property
    def accuracy_ci(self) -> Interval | None:
        """The interval of accuracy, or ``None``."""
        return self.intervals.get("accuracy")

    @property
    def rho_ci(self) -> Interval | None:
        """The interval of rho, or ``None``."""
        return self.intervals.get("rho")

    @property
    def parts(self) -> dict[str, tuple[int, dict[str, Estimate]]]:
        """The number of items and the scores, for all items (with an empty name) and by slice."""
        whole = score_cells(self.scores, self.intervals, self.in_sample)
        parts = {"": (self.n, whole)}
        for key, slices in self.slices.items():
            for word, part in slices.items():
                scores = {name: part[name] for name in self.scores if name in part}
                ends = {name: part.get(f"{name}_ci") for name in scores}
                parts[f"{key} {word}"] = part["n"], score_cells(scores, ends, self.in_sample)
        return parts


def flat(
    scores: Mapping[str, float | None], intervals: Mapping[str, Interval | None]
) -> dict[str, Any]:
    """Return scores, and their intervals (``_ci``) with the reason of a doubtful one."""
    ends: dict[str, Any] = {}
    for name, ci in intervals.items():
        note = doubt(f"{name}_ci_note", ci)
        ends |= {f"{name}_ci": ci if note else ci and list(ci), **note}
    return {**scores, **ends}


def records_of(results: Sequence[Any]) -> list[dict[str, Any]]:
    """Return a row for each result, its floors and references, and its slices."""
    rows = []
    for result in results:
        parts: list[tuple[str, str, Mapping[str, Any]]] = [("", "", result.whole)]
        parts += [(floor_or_reference(name), name, it) for name, it in result.floors.items()]
        for key, slices in result.slices.items():
            parts += [(key, word, part) for word, part in slices.items()]
        for by, word, part in parts:
            row = {"split": result.split, "track": result.track, "by": by, "group": word}
            row["n"] = part.get("n", result.n)
            for name in result.scores:
                row[name] = part.get(name)
                row |= bounds(name, part.get(f"{name}_ci"))
            rows.append(row)
    return rows


@dataclass(frozen=True, repr=False)
class Score(Result):
    """The scores of a submission, the settings of intervals, and warnings.

    Attributes
    ----------
    results : list of TrackScore
        The scores of each track.
    warnings : list of Problem
        Warnings about the submission and the gold.
    intervals : Intervals
        Settings of the intervals.
    unsliced : list of str
        A sentence for each requested slicing that the gold does not allow.
    edition : Edition
        The shared task.
    tracks : list of AlignedPair
        The predictions aligned with the gold, for plots.
    """

    results: list[TrackScore]
    warnings: list[Problem] = field(default_factory=list)
    intervals: Intervals = NO_INTERVALS
    unsliced: list[str] = field(default_factory=list)
    edition: Edition = field(default_factory=default)
    tracks: list[AlignedPair] = field(default_factory=list, compare=False)
    keys = ("signature", "results", "**means", "**settings")
    panels_by = "of_score"
    heading = "Scores"

    def __repr__(self) -> str:
        return f"Score({'; '.join(result.sentence for result in self.results)})"

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each track, floor, reference, slice and mean."""
        return records_of([*self.results, *self.mean_results])

    @property
    def signature(self) -> str:
        """The signature of all results; parts that differ are joined by ``+``."""
        return joined(result.signature for result in self.results)

    @property
    def mean(self) -> dict[str, float | None]:
        """The means over all tracks if there is only one split; empty if there are no means."""
        means = self.mean_results
        return means[0].scores if len(means) == 1 else {}

    @property
    def mean_results(self) -> list[TrackScore]:
        """The means over tracks of each complete split, if the edition ranks by them."""
        names, means = set(self.edition.track_names), []
        for split in dict.fromkeys(result.split for result in self.results):
            own = [result for result in self.results if result.split == split]
            golds = [track.gold for track in self.tracks if track.name.split == split]
            if self.edition.average and {result.track for result in own} == names:
                means.append(_mean(own, shared=share_items(golds, self.edition)))
        return means

    def tables(self) -> list[Table]:
        """Return the scores of each track, of floors, references and slices, and the means."""
        names, means = list(self.results[0].scores) if self.results else [], self.mean_results
        rows: list[Row | None] = []
        for result in self.results:
            rows += [None, *_rows(result)]
        for mean in means:
            name = mean.title if len(means) > 1 else mean.track
            rows += [None, Whole((name, "", *mean.parts[""][1].values()))]
        notes = [self.signature]
        if self.intervals.resamples:
            notes.append(self._intervals_line())
        named = [(it.title, *part) for it in self.results for part in it.parts.items()]
        named.sort(key=lambda part: bool(part[1]))  # all items first, then the slices
        parts = [(f"{title} {name}".strip(), cells) for title, name, (_, cells) in named]
        if any(cell.value is None for _, cells in parts for cell in cells.values()):
            notes.append(WHY_UNDEFINED)
        notes += footnote((it.title, it.in_sample, it.n) for it in self.results)
        parts += [(f"{mean.split} mean".strip(), mean.parts[""][1]) for mean in means]
        notes += doubts((f"{at}, {it}", cell.ci) for at, own in parts for it, cell in own.items())
        scores = Table(heads=("", "n", *names), rows=rows[1:], ci=confidence(self.intervals))
        return [scores, Table(notes=notes)]

    def _intervals_line(self) -> str:
        if all(result.n < FEWEST for result in self.results):
            where = " in each track" if len(self.results) > 1 else ""
            return f"no intervals, because there are fewer than ten items{where}"
        above = f"; normal (infinitesimal jackknife) for more than {MAX_ITEMS} items"
        is_normal = any(result.n > MAX_ITEMS for result in self.results)
        return how_made(self.intervals) + above * is_normal

    @property
    def means(self) -> dict[str, Any]:
        """The mean under its key; for several splits, the means by split."""
        count = Counter(result.split for result in self.results)
        means = {it.split: {"tracks": count[it.split], **it.whole} for it in self.mean_results}
        return {"means": means} if len(means) > 1 else dict(zip(["mean"], means.values()))

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the intervals under their key."""
        settings = self.intervals.to_dict()
        if settings and any(result.n > MAX_ITEMS for result in self.results):
            settings["intervals"]["normal_above"] = MAX_ITEMS
        return settings

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON; floats in full, undefined as ``None``."""
        sentences = [problem.sentence for problem in self.warnings]
        return {**super().to_dict(), "warnings": [*sentences, *self.unsliced]}


def _mean(results: Sequence[TrackScore], *, shared: bool) -> TrackScore:
    """Return the means over tracks, as a score."""
    means: dict[str, float | None] = {}
    intervals: dict[str, Interval | None] = {}
    for name in results[0].scores:
        values = [result.scores[name] for result in results]
        defined = [value for value in values if value is not None]
        is_defined = len(defined) == len(values)
        means[name] = float(np.mean(np.array(defined, np.float64))) if is_defined else None
        ends = [result.intervals.get(name) for result in results]
        intervals[name] = mean_interval(defined, ends, share_items=shared) if is_defined else None
    return TrackScore(
        track=f"mean over {len(results)} tracks",
        split=results[0].split,
        n=sum(result.n for result in results),
        scores=means,
        intervals=intervals,
        signature=joined(result.signature for result in results),
        in_sample=sum(result.in_sample for result in results),
    )


def _rows(result: TrackScore) -> list[Row]:
    """Return a track's scores as rows: all items, floors and references, slices."""
    names, rows = list(result.scores), list[Row]()
    for name, (n, cells) in result.parts.items():
        shown = (n, *(cells.get(it, "") for it in names))
        rows.append((f"  {name}", *shown) if name else Whole((result.title, *shown)))
    for place, (name, floor) in enumerate(result.floors.items(), 1):
        cells = score_cells(floor, {})
        figures = (cells.get(it, "") for it in names)
        rows.insert(place, Beside((f"  {floor_or_reference(name)}: {name}", "", *figures)))
    return rows
