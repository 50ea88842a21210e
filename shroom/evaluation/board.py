"""Several systems on one track as an array, and their items by difficulty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Label
from shroom.core.paths import Source
from shroom.core.problems import ShroomError
from shroom.metrics.base import Array, Metric
from shroom.metrics.bootstrap import resamples
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.intervals import FEWEST, Intervals
from shroom.metrics.rank_intervals import by_rank, rank_intervals, ranks
from shroom.scoring.align import AlignedPair
from shroom.scoring.datapoint_files import read_files
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.input_files import Document
from shroom.scoring.result import joined, signature
from shroom.scoring.rows import Rows
from shroom.scoring.slices import unit_of
from shroom.scoring.verdict import Checked

#: A score of each system on each resample, by metric: arrays of shape [systems, b].
Drawn = Mapping[str, NDArray[np.float64]]
#: The rank of a system, and its interval.
Rank = tuple[int, Optional[tuple[int, int]]]
Places = NDArray[np.intp]
#: Digits of the keys that sort items, so that 0.8 - 0.2 ties with 0.6 - 0.0.
_DIGITS = 9
_LABELS = (Label.NOT_HALLUCINATION.value, Label.HALLUCINATION.value)


@dataclass(frozen=True, eq=False)
class Board:
    """The predictions of several systems on one track, each aligned with the gold."""

    name: Name
    gold: Rows
    edition: Edition
    tracks: dict[str, AlignedPair] = field(default_factory=dict)
    # A copy by dataclasses.replace may have other systems, so it starts without statistics.
    _statistics: dict[Metric, Array] = field(default_factory=dict, init=False, repr=False)

    @property
    def systems(self) -> list[str]:
        return list(self.tracks)

    @property
    def in_sample(self) -> list[int]:
        return [track.in_sample for track in self.tracks.values()]

    @property
    def signature(self) -> str:
        """The signature of the scores, with all alignments of the systems."""
        aligned = dict.fromkeys(track.alignment for track in self.tracks.values())
        return joined(
            signature(self.name.track, self.gold, align, self.edition) for align in aligned
        )

    @property
    def unit(self) -> Places | None:
        return unit_of(self.gold, self.edition)

    def add(self, system: str, track: AlignedPair) -> None:
        file = track.predictions.file
        if system in self.tracks:
            before = self.tracks[system].predictions.file
            raise ShroomError(
                f"{file}: the same system and track as {before}; rename or remove one of the files"
            )
        if track.gold.hash != self.gold.hash:
            raise ShroomError(
                f"{file}: scored against {track.gold.file}, but the other systems were scored "
                "against "
                f"{self.gold.file}; only systems scored against the same gold can be ranked "
                "together"
            )
        self.tracks[system] = track
        self._statistics.clear()

    def chosen(self, systems: Sequence[str]) -> Board:
        return replace(self, tracks={system: self.tracks[system] for system in systems})

    def statistics(self, metric: Metric) -> Any:
        """Return the systems' statistics of the items: an array of shape [systems, n, k]."""
        if metric not in self._statistics:
            tracks = self.tracks.values()
            rows = [metric.statistics(*track.columns) for track in tracks]
            self._statistics[metric] = np.stack(rows)
        return self._statistics[metric]

    def scored(self, metric: Metric) -> list[tuple[Metric, Array]]:
        """Return the metric and the statistics of each system, by unit if the gold has units."""
        unit, statistics = self.unit, self.statistics(metric)
        return [(metric, it) if unit is None else clustered(metric, it, unit) for it in statistics]

    def scores(self, metrics: Sequence[Metric]) -> dict[str, list[float | None]]:
        """Return each system's score by metric; ``None`` if it is undefined."""
        return {metric.name: [*map(metric, self.statistics(metric))] for metric in metrics}

    def resampled(
        self,
        metrics: Sequence[Metric],
        intervals: Intervals,
        unit: Places | None = None,
        units: int = 0,
    ) -> Drawn:
        """Return scores on common resamples, [systems, b]; nothing for fewer than FEWEST items."""
        unit = self.unit if unit is None else unit
        n = self.gold.n if unit is None else max(units, int(unit.max()) + 1)
        if not intervals.resamples or n < FEWEST:
            return {}
        parts: dict[str, list[Array]] = {metric.name: [] for metric in metrics}
        for weights in resamples(n, intervals.resamples, intervals.seed):
            own = weights if unit is None else np.take(weights, unit, axis=1)
            for metric in metrics:
                parts[metric.name].append(metric.scores(self.statistics(metric), own))
        return {name: np.concatenate(scores, axis=1) for name, scores in parts.items()}


def ranked(
    metrics: Sequence[Metric],
    scores: Mapping[str, Any],
    drawn: Drawn | None = None,
    confidence: float = 0.95,
) -> list[Rank]:
    """Return each system's rank by the first metric, ties by the second, and its interval."""
    places = ranks(*by_rank(metrics, scores)).tolist()
    if not drawn:
        return [(place, None) for place in places]
    bounds = rank_intervals(*by_rank(metrics, drawn), confidence).tolist()
    return [(place, (low, high)) for place, (low, high) in zip(places, bounds)]


def boards(checked: Mapping[str, Checked]) -> list[Board]:
    entered = [(system, track) for system, verdict in checked.items() for track in verdict.aligned]
    # A file without a split in its name gets the split of the other files with the same gold.
    names = {track.gold.file: track.name for _, track in reversed(entered) if track.name.split}
    by_track: dict[tuple[str, str], Board] = {}
    for system, track in entered:
        name = track.name if track.name.split else names.get(track.gold.file, track.name)
        empty = Board(name, track.gold, track.edition)
        by_track.setdefault(name.key, empty).add(system, track)
    return sorted(by_track.values(), key=lambda board: board.name.order)


def chosen(tracks: Sequence[Board], track: str | None) -> list[Board]:
    """Return the boards of one track, or all boards if no track is named."""
    of_track = [board for board in tracks if track in (None, board.name.track)]
    if not of_track:
        raise ShroomError(f"no submission has predictions for the track {track}")
    return of_track


def absent(tracks: Sequence[Board]) -> dict[str, list[str]]:
    """Return the systems missing on each track, by the track's name."""
    systems = {system for board in tracks for system in board.systems}
    lacking = {board.name.track: sorted(systems - board.tracks.keys()) for board in tracks}
    return {track: names for track, names in lacking.items() if names}


def hardest(board: Board, n: int | None = None) -> list[dict[str, Any]]:
    """Return items by the number of systems with a wrong label, then by the error of p."""
    columns = [track.columns for track in board.tracks.values()]
    share = np.mean([label != gold_label for label, _, gold_label, _ in columns], axis=0)
    distance = np.mean([np.abs(p - gold_p) for _, p, _, gold_p in columns], axis=0)
    rows = np.lexsort((-distance.round(_DIGITS), -share.round(_DIGITS)))  # it is stable
    return items(board, rows[:n])


def items(board: Board, rows: Places | None = None) -> list[dict[str, Any]]:
    """Return items, by default all, with the predictions of the systems, as plain values."""
    gold, tasks = board.gold, board.gold.groups.get("task")
    columns = {system: track.columns for system, track in board.tracks.items()}
    listed = []
    for row in range(gold.n) if rows is None else rows.tolist():
        systems = {
            system: {
                "label": _LABELS[int(label[row])],
                "p": float(p[row]),
                "right": bool(label[row] == gold_label[row]),
                "in_sample": board.tracks[system].in_sample,
            }
            for system, (label, p, gold_label, _) in columns.items()
        }
        item = {
            "split": board.name.split,
            "track": board.name.track,
            "row": row,
            "id": gold.id_at(row),
            "task": tasks.words[tasks.place[row]] if tasks else "",
            "gold_label": _LABELS[int(gold.label[row])],
            "gold_p": float(gold.p[row]),
            "difficulty": sum(not it["right"] for it in systems.values()) / len(systems),
            "systems": systems,
        }
        listed.append(item)
    return listed


def texts(board: Board, gold: Source) -> list[Datapoint]:
    """Return the datapoints of a board's gold, which is read again."""

    def own(documents: list[Document]) -> list[Document]:
        return [it for it in documents if it.file == board.gold.file] or documents[:1]

    return read_files(gold, choose=own, edition=board.edition)[0].datapoints
