"""A leaderboard as text, CSV, Markdown and a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shroom.core.problems import printable
from shroom.evaluation.leaderboard import Leaderboard, Row
from shroom.report.csv_cells import as_csv as csv_of
from shroom.report.page_templates import column_head, rendered, span_of
from shroom.scoring.display.text import align, confidence, footnote, interval, kind, number, starred

COLUMNS = ("rank", "rank_ci", "group", "system", "accuracy", "accuracy_ci", "rho", "rho_ci")
#: Further columns of the CSV.
_MORE = ("n", "in_sample")


def heads(board: Leaderboard) -> tuple[str, ...]:
    """Return the heads of the columns of :func:`cells`."""
    ci = confidence(board.how)
    return ("rank", "ranks", "group", "system", "accuracy", ci, "rho", ci)


def cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a row as people read them."""
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
    """Return an explanation of the ranks, in a few sentences."""
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
        "Group: systems that a paired randomisation test, corrected by Holm's method, cannot "
        f"distinguish from the group's first by {board.metric}."
    )


def star(rows: Iterable[Row]) -> str:
    """Return the meaning of the star on one track; empty where there is none."""
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
    """Return all rows as CSV: floats in full, intervals as two columns, undefined as empty."""
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


def page(board: Leaderboard) -> str:
    """Return the page of a leaderboard.

    Its tables can be sorted and filtered; without a script they stand as they are, by rank.

    Raises
    ------
    ShroomError
        Where jinja2 is missing.
    """
    return rendered(
        "leaderboard.html.jinja",
        f"SHROOM leaderboard {board.split}".rstrip(),
        board=board,
        confidence=column_head(board.how),
        how=how(board),
        tracks=[
            _track(board, name, rows, f"track-{place + 1}")
            for place, (name, rows) in enumerate(tracks(board).items())
        ],
    )


def _track(board: Leaderboard, name: str, rows: list[Row], key: str) -> dict[str, Any]:
    """Return the values that the template shows of a track."""
    systems = [row for row in rows if row.kind == "system"]
    spans = {
        metric: span_of((getattr(row, metric), getattr(row, f"{metric}_ci")) for row in systems)
        for metric in ("accuracy", "rho")
    }
    groups = [None, *(row.group for row in systems)]
    return {
        "key": key,
        "name": f"{board.split} {name}".strip(),
        # The first of a group is marked, so that a line separates the groups.
        "systems": [(row, row.group != before) for row, before in zip(systems, groups)],
        "beside": [row for row in rows if row.kind != "system"],
        "spans": spans,
        "places": (0.5, len(systems) + 0.5),
        "star": star(systems),
    }


def _name_first(row: tuple[str, ...]) -> tuple[str, ...]:
    return (row[3], *row[:3], *row[4:])


def _line(row: tuple[str, ...]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in row) + " |"


def _escaped(cell: str) -> str:
    escaped = "".join(f"\\{c}" if c in "\\|`*_" else c for c in printable(cell))
    return escaped.replace("<", "&lt;").replace("](", "]\\(")
