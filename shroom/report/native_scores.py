"""Scores by a data set's own metrics as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shroom.core.problems import printable
from shroom.scoring.display.text import align, confidence, interval, kind, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shroom.datasets.native_scores import NativeResult, NativeScore

    Row = tuple[str, ...]


def render(score: NativeScore) -> str:
    """Return each part's scores beside those of trivial systems, and then its slices."""
    lines = []
    for result in score.results:
        lines += [_title(result), "", *align(_metrics(result, confidence(score.how))), ""]
        for key, slices in result.slices.items():
            lines += [*align(_slices(result, key, slices)), ""]
    lines.append(score.signature)
    how = score.how
    if how.resamples:
        drawn = f"{how.resamples} bootstrap resamples, seed {how.seed}"
        lines.append(f"intervals: {kind(how)}, {drawn}")
    return "\n".join(lines) + "\n"


def _title(result: NativeResult) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in result.counts.items())
    return " ".join((result.dataset, *map(printable, result.part.values()))) + f": {counts}"


def _metrics(result: NativeResult, ci: str) -> list[Row | None]:
    rows: list[Row | None] = [("", "score", ci, *result.floors), None]
    for name, value in result.scores.items():
        floors = [number(floor[name]) if name in floor else "" for floor in result.floors.values()]
        rows.append((name, number(value), interval(result.intervals[name]), *floors))
    return rows


def _slices(result: NativeResult, key: str, slices: Mapping[str, Any]) -> list[Row | None]:
    """Return a column for each slice, since there are more metrics than slices."""
    parts = slices.values()
    rows: list[Row | None] = [(key, *map(printable, slices)), None]
    rows += [(name, *(str(part[name]) for part in parts)) for name in result.counts]
    rows += [(name, *(number(part[name]) for part in parts)) for name in result.scores]
    return rows
