"""A leaderboard as one page that needs nothing but itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shroom.report.leaderboard import how, star, tracks
from shroom.report.page_templates import rendered
from shroom.scoring.display.marks import scale
from shroom.scoring.display.text import confidence

if TYPE_CHECKING:
    from shroom.evaluation.leaderboard import Leaderboard, Row


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
        confidence=confidence(board.how) if board.how.resamples else "",
        how=how(board),
        tracks=[
            _track(board, name, rows, f"track-{place + 1}")
            for place, (name, rows) in enumerate(tracks(board).items())
        ],
    )


def _track(board: Leaderboard, name: str, rows: list[Row], key: str) -> dict[str, Any]:
    systems = [row for row in rows if row.kind == "system"]
    spans = {}
    for metric in ("accuracy", "rho"):
        ends = [
            end
            for row in systems
            for end in (getattr(row, metric), *(getattr(row, f"{metric}_ci") or ()))
        ]
        spans[metric] = scale(ends, least=-1.0, greatest=1.0)
    groups = [None, *(row.group for row in systems)]
    return {
        "key": key,
        "name": f"{board.split} {name}".strip(),
        # The first of a group is marked, so that a line can part the groups.
        "systems": [(row, row.group != before) for row, before in zip(systems, groups)],
        "beside": [row for row in rows if row.kind != "system"],
        "spans": spans,
        "places": (0.5, len(systems) + 0.5),
        "star": star(systems),
    }
