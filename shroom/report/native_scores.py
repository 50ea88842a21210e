"""Scores by a data set's own metrics as tables for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shroom.core.problems import printable
from shroom.datasets.felm.scores import NativeResult, NativeScore
from shroom.report.figure_files import shortened
from shroom.scoring.display.columns import align
from shroom.scoring.display.text import confidence, doubts, interval, methods, number

Row = tuple[str, ...]

#: The most slices that are shown as columns, and the most characters of a slice's name.
_MOST, _LONGEST = 8, 40


def render(score: NativeScore) -> str:
    """Return each part's scores beside those of trivial systems, and then its slices."""
    lines = []
    for result in score.results:
        lines += [_title(result), "", *align(_metrics(result, confidence(score.intervals))), ""]
        for key, slices in result.slices.items():
            lines += [*align(_slices(result, key, slices)), ""]
    lines.append(score.signature)
    intervals = score.intervals
    if intervals.resamples:
        drawn = f"{intervals.resamples} bootstrap resamples, seed {intervals.seed}"
        lines.append(f"intervals: {methods(intervals)}, {drawn}")
        lines += doubts(pair for result in score.results for pair in result.intervals.items())
    return "\n".join(lines) + "\n"


def _title(result: NativeResult) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in result.counts.items())
    return f"{result.track}: {counts}"


def _metrics(result: NativeResult, ci: str) -> list[Row | None]:
    rows: list[Row | None] = [("", "score", ci, *result.floors), None]
    for name, value in result.scores.items():
        floors = [number(floor[name]) if name in floor else "" for floor in result.floors.values()]
        rows.append((name, number(value), interval(result.intervals[name]), *floors))
    return rows


def _slices(result: NativeResult, key: str, slices: Mapping[str, Any]) -> list[Row | None]:
    """Return a column for each slice, or a row for each where there are more than columns fit."""
    parts = list(slices.values())
    names = [name for name in (*result.counts, *result.scores) if name in parts[0]]
    rows: list[Row] = [(key, *(shortened(printable(value), _LONGEST) for value in slices))]
    for name in names:
        figure = str if name in result.counts else number
        rows.append((name, *(figure(part[name]) for part in parts)))
    if len(slices) > _MOST:
        rows = list(zip(*rows))
    return [rows[0], None, *rows[1:]]
