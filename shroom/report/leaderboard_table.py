"""A leaderboard as text, CSV, Markdown and a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from shroom.core.problems import printable
from shroom.evaluation.leaderboard import Leaderboard
from shroom.evaluation.leaderboard_rows import Row
from shroom.report.csv_cells import as_csv as csv_of
from shroom.report.csv_cells import markdown_cell as _escaped
from shroom.report.page_templates import column_head, rendered, span_of
from shroom.scoring.display.columns import align
from shroom.scoring.display.text import (
    confidence,
    doubts,
    drawn,
    footnote,
    interval,
    methods,
    number,
    starred,
)

#: The template of the page.
TEMPLATE = "leaderboard.html.jinja"


def heads(board: Leaderboard) -> tuple[str, ...]:
    """Return the heads of the columns of :func:`cells`."""
    ci = confidence(board.intervals)
    of_metrics = (head for metric in board.columns for head in (metric, ci))
    return ("rank", "ranks", "group", "system", *of_metrics)


def cells(row: Row, metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a row as people read them, with stars where figures are in-sample."""
    is_system = row.kind == "system"
    return (
        "" if row.rank is None else starred(str(row.rank), row.in_sample),
        "" if row.rank_ci is None else f"{row.rank_ci[0]}–{row.rank_ci[1]}",
        "" if row.group is None else str(row.group),
        starred(row.system, row.in_sample) if is_system else f"({row.kind}: {row.system})",
        *(cell for metric in metrics for cell in _score_cells(row, metric)),
    )


def _score_cells(row: Row, metric: str) -> tuple[str, str]:
    """Return a score and its interval; nothing where a trivial system does not have it."""
    if metric not in row.scores:
        return "", ""
    value = starred(number(row.scores[metric]), row.in_sample)
    return value, interval(row.intervals.get(metric))


def explanation(board: Leaderboard) -> str:
    """Return an explanation of the ranks, in a few sentences."""
    ties = f", ties by {board.metrics[1]}" if len(board.metrics) > 1 else ""
    text = f"Ranked by {board.metrics[0]}{ties}. "
    if board.are_outputs:
        return text + (
            "The scores are those of the scoring program's outputs. Without predictions there are "
            "no intervals and no groups, and a track that was not handed in has the score that "
            "the program writes for it."
        )
    intervals = board.intervals
    if intervals.resamples:
        text += (
            f"Intervals: {methods(intervals)}, {drawn(intervals, 'the items')}, the same for all "
            f"systems, seed {intervals.seed}. "
        )
    if any(row.kind == "system" and row.scores.get("rho", 0) is None for row in board.rows):
        text += "rho is undefined (–) where p or the gold is the same on all items. "
    return text + (
        "Group: systems that a paired randomisation test, corrected by Holm's method, cannot "
        f"distinguish from the group's first by {board.metrics[0]}."
    )


def _doubts(rows: Sequence[Row]) -> list[str]:
    """Return what the sign of intervals means, in one line; nothing if none has it."""
    return doubts((f"{row.system}, {it}", ci) for row in rows for it, ci in row.intervals.items())


def text(board: Leaderboard) -> str:
    """Return the leaderboard as aligned columns."""
    lines = []
    for title, rows in _tracks(board):
        of_rows = (cells(row, board.columns) for row in rows)
        table = [heads(board), *(tuple(map(printable, row)) for row in of_rows)]
        head, *shown = [(row[3], *row[:3], *row[4:]) for row in table]  # the name first
        notes = filter(None, [_star(rows), *_doubts(rows), _absent(board, rows)])
        lines += [title, *align([head, None, *shown]), *notes, ""]
    for entry in board.invalid:
        lines.append(f"not ranked: {printable(entry.system)}")
        lines += [f"  {line}" for line in entry.problems]
    if board.invalid:
        lines.append("")
    if board.rows:
        lines += [explanation(board), board.signature]
    return "\n".join(lines).rstrip() + "\n"


def markdown(board: Leaderboard) -> str:
    """Return the leaderboard as Markdown tables."""
    lines = []
    for title, rows in _tracks(board):
        table = [
            f"| {' | '.join(map(_escaped, row))} |"
            for row in (heads(board), *(cells(row, board.columns) for row in rows))
        ]
        rule = "|---:|---:|---:|:---|" + "---:|---:|" * len(board.columns)
        lines += [f"## {title}", "", table[0], rule, *table[1:], ""]
        for note in filter(None, [_star(rows), *_doubts(rows), _absent(board, rows)]):
            lines += [_escaped(note), ""]
    if board.invalid:
        lines += ["## Not ranked", ""]
        for entry in board.invalid:
            lines.append(f"- {_escaped(entry.system)}")
            lines += [f"    - {_escaped(line.strip())}" for line in entry.problems]
        lines.append("")
    if board.rows:
        lines += [explanation(board), *(["", f"`{board.signature}`"] if board.signature else [])]
    return "\n".join(lines).rstrip() + "\n"


def as_csv(board: Leaderboard) -> str:
    """Return all rows as CSV: floats in full, intervals as two columns, undefined as empty."""
    keys = {"track": "track", "kind": "kind"}
    for name in ("rank", "group", "system", *board.columns, "n", "in_sample"):
        keys[name] = name
        if name in ("rank", *board.columns):
            ends = ("low", "high", "note") if name != "rank" else ("low", "high")
            keys |= {f"{name}_ci_{end}": f"{name}_{end}" for end in ends}
    return csv_of([[*keys], *([row[key] for key in keys.values()] for row in board.records())])


def page(board: Leaderboard) -> str:
    """Return the page of a leaderboard.

    Its tables can be sorted and filtered; without a script they stand as they are, by rank.

    Raises
    ------
    ShroomError
        If jinja2 is missing.
    """
    title = f"{board.title} leaderboard {board.split}".strip()
    return rendered(TEMPLATE, title, **values(board))


def values(board: Leaderboard) -> dict[str, Any]:
    """Return the values that the template shows."""
    return {
        "board": board,
        "confidence": column_head(board.intervals),
        "how": explanation(board),
        "tracks": [
            _track(title, rows, board.columns, f"track-{place}", _absent(board, rows))
            for place, (title, rows) in enumerate(_tracks(board), 1)
        ],
    }


def _track(
    title: str, rows: list[Row], metrics: Sequence[str], key: str, absent: str
) -> dict[str, Any]:
    """Return the values that the template shows of a track."""
    systems = [row for row in rows if row.kind == "system"]
    spans = {
        metric: span_of((row.scores.get(metric), row.intervals.get(metric)) for row in systems)
        for metric in metrics
    }
    groups = [None, *(row.group for row in systems)]
    return {
        "key": key,
        "name": title,
        # The first of a group is marked, so that a line separates the groups.
        "systems": [(row, row.group != before) for row, before in zip(systems, groups)],
        "beside": [row for row in rows if row.kind != "system"],
        "spans": spans,
        "places": (0.5, len(systems) + 0.5),
        "notes": list(filter(None, [_star(systems), *_doubts(systems), absent])),
    }


def _tracks(board: Leaderboard) -> Iterator[tuple[str, list[Row]]]:
    """Yield the title and the rows of each track, whose rows stand together."""
    for track, rows in groupby(board.rows, key=lambda row: row.track):
        yield f"{board.split} {track}".strip(), list(rows)


def _star(rows: Iterable[Row]) -> str:
    """Return the meaning of the star on one track; empty where there is none."""
    note = footnote((row.system, row.in_sample, row.n) for row in rows)
    return note and f"{note}, so its rank says little"


def _absent(board: Leaderboard, rows: list[Row]) -> str:
    """Return which systems have no file for a track; empty where all have one."""
    names = board.absent.get(rows[0].track, [])
    return f"no file for this track: {printable(', '.join(names))}" if names else ""
