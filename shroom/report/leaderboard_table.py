"""A leaderboard as text, CSV, Markdown and a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from shroom.core.problems import printable
from shroom.evaluation.leaderboard import Leaderboard, Row
from shroom.report.csv_cells import as_csv as csv_of
from shroom.report.leaderboard_sections import sections
from shroom.report.page_templates import column_head, rendered, span_of
from shroom.scoring.display.text import align, confidence, footnote, interval, kind, number, starred

COLUMNS = ("rank", "rank_ci", "group", "system", "accuracy", "accuracy_ci", "rho", "rho_ci")
#: Further columns of the CSV.
_MORE = ("n", "in_sample")


def heads(board: Leaderboard) -> tuple[str, ...]:
    """Return the heads of the columns of :func:`cells`."""
    ci = confidence(board.intervals)
    return ("rank", "ranks", "group", "system", "accuracy", ci, "rho", ci)


def cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a row as people read them, with stars where figures are in-sample."""
    is_system = row.kind == "system"
    return (
        "" if row.rank is None else starred(str(row.rank), row.in_sample),
        "" if row.rank_ci is None else f"{row.rank_ci[0]}–{row.rank_ci[1]}",
        "" if row.group is None else str(row.group),
        starred(row.system, row.in_sample) if is_system else f"({row.kind}: {row.system})",
        starred(number(row.accuracy), row.in_sample),
        interval(row.accuracy_ci),
        starred(number(row.rho), row.in_sample),
        interval(row.rho_ci),
    )


def explanation(board: Leaderboard) -> str:
    """Return an explanation of the ranks, in a few sentences."""
    other = "rho" if board.metric == "accuracy" else "accuracy"
    text = "Each team has the rank of its best submission. " if board.best else ""
    text += f"Ranked by {board.metric}, ties by {other}. "
    intervals = board.intervals
    if intervals.resamples:
        text += (
            f"Intervals: {kind(intervals)}, {intervals.resamples} bootstrap resamples of the "
            f"items, the same for all systems, seed {intervals.seed}. "
        )
    if any(row.kind == "system" and row.rho is None for row in board.rows):
        text += "rho is undefined (–) where p or the gold is the same on all items. "
    return text + (
        "Group: systems that a paired randomisation test, corrected by Holm's method, cannot "
        f"distinguish from the group's first by {board.metric}."
    )


def text(board: Leaderboard) -> str:
    """Return the leaderboard as aligned columns."""
    lines = []
    for title, rows in _tracks(board):
        table = [heads(board), *(tuple(map(printable, cells(row))) for row in rows)]
        head, *shown = [(row[3], *row[:3], *row[4:]) for row in table]  # the name first
        notes = filter(None, [_star(rows), _absent(board, rows)])
        lines += [title, *align([head, None, *shown]), *notes, ""]
    for section in sections(board):
        lines += [*section.lines, ""]
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
            f"| {' | '.join(map(_escaped, row))} |" for row in (heads(board), *map(cells, rows))
        ]
        rule = "|---:|---:|---:|:---|---:|---:|---:|---:|"
        lines += [f"## {title}", "", table[0], rule, *table[1:], ""]
        for note in filter(None, [_star(rows), _absent(board, rows)]):
            lines += [_escaped(note), ""]
    if board.invalid:
        lines += ["## Not ranked", ""]
        for entry in board.invalid:
            lines.append(f"- {_escaped(entry.system)}")
            lines += [f"    - {_escaped(line.strip())}" for line in entry.problems]
        lines.append("")
    if board.rows:
        lines += [explanation(board), "", f"`{board.signature}`"]
    return "\n".join(lines).rstrip() + "\n"


def as_csv(board: Leaderboard) -> str:
    """Return all rows as CSV: floats in full, intervals as two columns, undefined as empty."""
    names = ["track", "kind"]
    table: list[list[Any]] = [[row.track, row.kind] for row in board.rows]
    for column in (*COLUMNS, *_MORE):
        pair = column.endswith("_ci")
        names += [f"{column}_low", f"{column}_high"] if pair else [column]
        for place, row in enumerate(board.rows):
            value = getattr(row, column)
            table[place] += (value or (None, None)) if pair else [value]
    return csv_of([names, *table])


def page(board: Leaderboard) -> str:
    """Return the page of a leaderboard.

    Its tables can be sorted and filtered; without a script they stand as they are, by rank.

    Raises
    ------
    ShroomError
        If jinja2 is missing.
    """
    return rendered(
        "leaderboard.html.jinja",
        f"SHROOM leaderboard {board.split}".rstrip(),
        board=board,
        sections=sections(board),
        confidence=column_head(board.intervals),
        how=explanation(board),
        tracks=[
            _track(title, rows, f"track-{place}", _absent(board, rows))
            for place, (title, rows) in enumerate(_tracks(board), 1)
        ],
    )


def _track(title: str, rows: list[Row], key: str, absent: str) -> dict[str, Any]:
    """Return the values that the template shows of a track."""
    systems = [row for row in rows if row.kind == "system"]
    spans = {
        metric: span_of((getattr(row, metric), getattr(row, f"{metric}_ci")) for row in systems)
        for metric in ("accuracy", "rho")
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
        "notes": list(filter(None, [_star(systems), absent])),
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


def _escaped(cell: str) -> str:
    escaped = "".join(f"\\{c}" if c in "\\|`*_" else c for c in printable(cell))
    return escaped.replace("<", "&lt;").replace("](", "]\\(")
