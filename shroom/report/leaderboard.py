"""A leaderboard as text, csv and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import printable
from shroom.report.csv_cells import as_csv as csv_of
from shroom.scoring.display.in_sample_stars import footnote, starred
from shroom.scoring.display.text import align, confidence, interval, kind, number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shroom.evaluation.leaderboard import Leaderboard, Row

COLUMNS = ("rank", "rank_ci", "group", "system", "accuracy", "accuracy_ci", "rho", "rho_ci")
#: What csv has besides.
_MORE = ("n", "in_sample")


def heads(board: Leaderboard) -> tuple[str, ...]:
    """Return the heads of the columns of :func:`cells`."""
    ci = confidence(board.how)
    return ("rank", "ranks", "group", "system", "accuracy", ci, "rho", ci)


def cells(row: Row) -> tuple[str, ...]:
    """Return what people read of a row."""
    return (
        "" if row.rank is None else starred(str(row.rank), row.in_sample),
        "" if row.rank_ci is None else f"{row.rank_ci[0]}–{row.rank_ci[1]}",
        "" if row.group is None else str(row.group),
        name(row) if row.kind == "system" else f"({row.kind}: {row.system})",
        starred(number(row.accuracy), row.in_sample),
        interval(row.accuracy_ci),
        starred(number(row.rho), row.in_sample),
        interval(row.rho_ci),
    )


def name(row: Row) -> str:
    """Return a system's name, with a star where its figures are in-sample."""
    return starred(row.system, row.in_sample)


def tracks(board: Leaderboard) -> dict[str, list[Row]]:
    """Return the rows of each track."""
    found: dict[str, list[Row]] = {}
    for row in board.rows:
        found.setdefault(row.track, []).append(row)
    return found


def how(board: Leaderboard) -> str:
    """Return how the ranks came about, in a few sentences."""
    other = "rho" if board.metric == "accuracy" else "accuracy"
    text = f"Ranked by {board.metric}, ties by {other}. "
    if board.how.resamples:
        text += (
            f"Intervals: {kind(board.how)}, {board.how.resamples} bootstrap resamples of the "
            f"items, the same for all systems, seed {board.how.seed}. "
        )
    if any(row.kind == "system" and row.rho is None for row in board.rows):
        text += "rho is undefined (–) where p or the gold is the same on all items. "
    return text + (
        "Group: systems that a paired randomisation test, corrected by Holm's method, cannot tell "
        f"from the group's first by {board.metric}."
    )


def star(rows: Iterable[Row]) -> str:
    """Return what the star means on one track; nothing where there is none."""
    found = footnote((row.system, row.in_sample, row.n) for row in rows)
    return found and f"{found}, so its rank says little"


def text(board: Leaderboard) -> str:
    """Return the leaderboard as aligned columns."""
    lines = []
    for track, rows in tracks(board).items():
        lines.append(f"{board.split} {track}".strip())
        shown = [_name_first(tuple(printable(cell) for cell in cells(row))) for row in rows]
        lines += [
            *align([_name_first(heads(board)), None, *shown]),
            *filter(None, [star(rows)]),
            "",
        ]
    for entry in board.invalid:
        lines.append(f"not ranked: {printable(entry.system)}")
        lines += [f"  {line}" for line in entry.problems]
    if board.invalid:
        lines.append("")
    if board.rows:
        lines += [how(board), board.signature]
    return "\n".join(lines).rstrip() + "\n"


def markdown(board: Leaderboard) -> str:
    """Return the leaderboard as Markdown tables."""
    lines = []
    for track, rows in tracks(board).items():
        lines += [f"## {board.split} {track}".rstrip(), ""]
        lines.append(_line(heads(board)))
        lines.append("|---:|---:|---:|:---|---:|---:|---:|---:|")
        lines += [*(_line(cells(row)) for row in rows), ""]
        lines += [_escaped(star(rows)), ""] if star(rows) else []
    if board.invalid:
        lines += ["## Not ranked", ""]
        for entry in board.invalid:
            lines.append(f"- {_escaped(entry.system)}")
            lines += [f"    - {_escaped(line.strip())}" for line in entry.problems]
        lines.append("")
    if board.rows:
        lines += [how(board), "", f"`{board.signature}`"]
    return "\n".join(lines).rstrip() + "\n"


def as_csv(board: Leaderboard) -> str:
    """Return all rows as csv: floats in full, intervals as two columns, undefined as nothing."""
    names = [
        name
        for column in COLUMNS
        for name in ([f"{column}_low", f"{column}_high"] if column.endswith("_ci") else [column])
    ]
    rows: list[list[object]] = [["track", "kind", *names, *_MORE]]
    for row in board.rows:
        values: list[object] = [row.track, row.kind]
        for column in COLUMNS:
            value = getattr(row, column)
            values += (value or (None, None)) if column.endswith("_ci") else [value]
        rows.append([*values, *(getattr(row, column) for column in _MORE)])
    return csv_of(rows)


def _name_first(row: tuple[str, ...]) -> tuple[str, ...]:
    return (row[3], *row[:3], *row[4:])


def _line(row: tuple[str, ...]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in row) + " |"


def _escaped(cell: str) -> str:
    escaped = "".join(f"\\{c}" if c in "\\|`*_" else c for c in printable(cell))
    return escaped.replace("<", "&lt;").replace("](", "]\\(")
