"""The contents of a report on one or more submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shroom.core.datapoint import Datapoint
from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError
from shroom.evaluation.board import Board, boards, chosen, hardest, ranked, texts
from shroom.evaluation.comparison import INTERVALS, TRIALS, compare_systems
from shroom.evaluation.differences import Comparison
from shroom.evaluation.submissions import read
from shroom.evaluation.verdicts import by_place, not_above_floor, unfair
from shroom.metrics.base import Metric
from shroom.metrics.intervals import Intervals
from shroom.scoring.align import AlignedPair
from shroom.scoring.display.text import figure, p_in_words, within
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import Data, Submissions, as_source
from shroom.scoring.kinds.base import floor_or_reference, ranking_metrics, with_ranking_metrics
from shroom.scoring.result import alike, rounded
from shroom.scoring.results import Score, TrackScore
from shroom.scoring.rows import SLICES
from shroom.scoring.scores import score_checked
from shroom.scoring.slices import slice_keys, with_unit
from shroom.scoring.tables import Estimate, as_csv

#: Number of hardest items that are shown for each track.
HARDEST = 20


@dataclass(frozen=True, eq=False, repr=False)
class SystemReport:
    """A system's scores of all items and of slices, and its predictions beside the gold."""

    name: str
    score: TrackScore
    aligned: AlignedPair

    def __repr__(self) -> str:
        return f"SystemReport({self.name} on {self.score.title}: {rounded(self.score.scores)})"

    @property
    def in_sample(self) -> int:
        return self.score.in_sample

    @property
    def is_binary(self) -> bool:
        return self.aligned.edition.annotation.kind == "binary"

    @property
    def whole(self) -> dict[str, Estimate]:
        return self.score.parts[""][1]


@dataclass(frozen=True, eq=False, repr=False)
class TrackReport:
    """All systems on one track, in the order of their ranks."""

    board: Board
    systems: list[SystemReport]
    comparisons: list[Comparison]
    #: The hardest items, each with its datapoint if the gold has texts.
    items: list[dict[str, Any]]

    def __repr__(self) -> str:
        return f"TrackReport({self.name}, n={self.n}: {', '.join(self.board.systems)})"

    @property
    def name(self) -> str:
        return str(self.board.name)

    @property
    def n(self) -> int:
        return self.board.gold.n


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """The contents of a report; ``verdict`` is its answer in one or two sentences."""

    tracks: list[TrackReport]
    metrics: list[str]
    intervals: Intervals
    trials: int
    warnings: Problems
    unsliced: tuple[str, ...]
    verdict: str

    def __repr__(self) -> str:
        return f"Report({', '.join(self.systems)} on {', '.join(it.name for it in self.tracks)})"

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(system.name for track in self.tracks for system in track.systems))


def report(
    submissions: Submissions,
    gold: Data,
    *,
    by: str | Sequence[str] = SLICES,
    metrics: str | Sequence[Metric | str] = (),
    intervals: Intervals = INTERVALS,
    trials: int = TRIALS,
    track: str | None = None,
    edition: Edition | Source | None = None,
) -> Report:
    """Return the report on submissions.

    Parameters
    ----------
    submissions : sequence, or mapping by system
        One or more submissions, each a file, a folder, a zip, rows or a data frame.
    gold : path, rows or data frame
        The gold; not a pipe, because it is read twice.
    by : str or sequence of str
        Keys to slice by; see :func:`shroom.scoring.scores.score`.
    metrics : str or sequence of Metric or str
        Metrics besides those of the edition, which are always computed.
    intervals : Intervals
        Settings of the intervals.
    trials : int
        Number of trials of each randomisation test.
    track : str, optional
        The only track to report.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Returns
    -------
    Report

    Raises
    ------
    InvalidInput
        With every problem, if a submission has errors.
    ShroomError
        If no submission has the track.

    Examples
    --------
    >>> found = report(["shroom/sample"], "shroom/sample")
    >>> found.systems, [track.name for track in found.tracks]
    (['sample'], ['val model-agnostic', 'val model-aware'])
    >>> found.verdict.partition(". ")[0]
    'On val model-agnostic, sample scores 1.000 in accuracy (95% interval .940 to 1.000)'
    """
    gold = as_source(gold, "gold")
    keys = slice_keys(by)
    verdicts, problems = read(submissions, gold, by=keys, edition=edition)
    edition = next(iter(verdicts.values())).edition
    computed = with_ranking_metrics(edition, metrics)
    golds = (track.gold for verdict in verdicts.values() for track in verdict.aligned)
    intervals = with_unit(intervals, golds, edition)
    scores = {
        system: score_checked(verdict, by=keys, metrics=computed, intervals=intervals)
        for system, verdict in verdicts.items()
    }
    unsliced = dict.fromkeys(note for score in scores.values() for note in score.unsliced)
    shown = sorted(chosen(boards(verdicts), track), key=lambda board: board.name.key)
    tracks = [_track(board, gold, scores, computed, intervals, trials) for board in shown]
    answers = [(track.name, _best(track, computed[0], intervals)) for track in tracks]
    verdict = by_place(answers, scores)
    names = [metric.name for metric in computed]
    return Report(tracks, names, intervals, trials, problems, tuple(unsliced), verdict)


def _best(track: TrackReport, metric: Metric, how: Intervals) -> str:
    """Return which system is best, and whether the difference from the next is significant."""
    first, *others = track.systems
    name, best = metric.name, first.whole[metric.name]
    if best.value is None:
        return f"{name} is undefined"
    known = first.score.floors.items()
    floors = {it: own.get(name) for it, own in known if floor_or_reference(it) == "floor"}
    scores = [system.whole[name] for system in track.systems]
    floor = not_above_floor(scores, floors, higher_is_better=metric.higher_is_better)
    value, ci = figure(best.value), within(best.ci, how)
    if not others:
        return f"{first.name} scores {value} in {name}{f' ({ci})' if ci else ''}{floor}"
    value += f", {ci}" if ci else ""
    pairs = [pair for pair in track.comparisons if pair.metric == name]
    # The systems are in the order of their ranks, so the first pair is that of the best two.
    pair, second = pairs[0], others[0].name
    if pair.difference is None or pair.p_adjusted is None:
        return f"{first.name} is first by {name} ({value}); {name} of {second} is undefined"
    if not pair.difference:
        return f"{first.name} and {second} have the same {name} ({value}){floor}"
    p = f"{p_in_words(pair.p_adjusted)}{f' corrected for {len(pairs)} pairs' * (len(pairs) > 1)}"
    gap = f"difference {figure(abs(pair.difference))}, {p}"
    better = "and significantly better" if pair.significant else "but not significantly better"
    answer = f"{first.name} is first by {name} ({value}), {better} than {second} ({gap})"
    warning = unfair([system.name for system in track.systems[:2] if system.in_sample])
    return ". ".join(filter(None, (answer, warning))) + floor


def _track(
    board: Board,
    gold: Source,
    scores: Mapping[str, Score],
    metrics: Sequence[Metric],
    intervals: Intervals,
    trials: int,
) -> TrackReport:
    """Return the report of all systems on one track."""
    ranking, pairs = ranking_metrics(board.edition), list[Comparison]()
    if len(board.systems) > 1:
        places = dict(zip(board.systems, ranked(ranking, board.scores(ranking))))
        board = board.chosen(sorted(places, key=lambda name: places[name][0]))
        pairs = compare_systems(board, metrics, intervals, trials)
    systems = []
    for name, aligned in board.tracks.items():
        own = zip(scores[name].results, scores[name].tracks)
        result = next(result for result, track in own if track is aligned)
        systems.append(SystemReport(name, result, aligned))
    hard, points = list[dict[str, Any]](), list[Datapoint]()
    if systems[0].is_binary:
        hard = hardest(board, HARDEST)
        with suppress(ShroomError):  # the gold need not have texts
            points = texts(board, gold)
    hard = [{**item, "point": points[item["row"]] if points else None} for item in hard]
    return TrackReport(board, systems, pairs, hard)


def items_as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV, with a column for each value of each system."""
    flat = []
    for row in rows:
        plain = {key: value for key, value in row.items() if key != "systems"}
        for name, prediction in row["systems"].items():
            values = {**prediction, "right": int(prediction["right"])}
            plain |= {f"{name} {key}": value for key, value in values.items()}
        flat.append(plain)
    table = alike(flat)
    return as_csv([[*table[0]], *([*row.values()] for row in table)])
