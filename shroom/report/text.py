"""Scores as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.problems import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.scoring import Score, TrackScore

    Row = tuple[str, ...]

HEADER = ("", "n", "accuracy", "95% interval", "rho", "95% interval")
_UNDEFINED = "–"


def render(score: Score) -> str:
    """Return the scores as text: each track whole, beside trivial systems, and in slices."""
    rows: list[Row | None] = [HEADER]
    for result in score.results:
        rows += [None, *track_rows(result)]
    lines = [*align(rows), "", score.signature]
    return "\n".join(lines) + "\n"


def track_rows(result: TrackScore) -> list[Row]:
    """Return a track's scores as the cells of ``HEADER``: whole, of trivial systems, in slices."""
    rows: list[Row] = [
        (
            f"{result.split} {result.track}".strip(),
            str(result.n),
            number(result.accuracy),
            _interval(result.accuracy_ci),
            number(result.rho),
            _interval(result.rho_ci),
        )
    ]
    rows.extend(
        (f"  floor: {name}", "", number(floor["accuracy"]), "", number(floor["rho"]), "")
        for name, floor in result.floors.items()
    )
    for key, slices in result.slices.items():
        for name, part in slices.items():
            shown = f"  {key} {printable(name)}", str(part["n"]), number(part["accuracy"])
            rows.append((*shown, "", number(part["rho"]), ""))
    return rows


def number(value: float | None) -> str:
    """Return a score with the digits that people read.

    Examples
    --------
    >>> number(0.77956), number(None)
    ('0.780', '–')
    """
    return _UNDEFINED if value is None else f"{value:.3f}"


def _interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"[{bounds[0]:.3f}, {bounds[1]:.3f}]"


def align(rows: Sequence[Row | None]) -> list[str]:
    r"""Return rows as lines with aligned columns, the first to the left; ``None`` is a rule.

    Examples
    --------
    >>> print(*align([("", "n"), None, ("val", "499")]), sep="\n")
           n
    --------
    val  499
    """
    cells = [row for row in rows if row is not None]
    shown = [i for i in range(len(cells[0])) if any(row[i] for row in cells[1:])]
    widths = {i: max(len(row[i]) for row in cells) for i in shown}
    rule = "-" * (sum(widths.values()) + 2 * (len(widths) - 1))
    lines = []
    for row in rows:
        if row is None:
            lines.append(rule)
            continue
        line = "  ".join(row[i].rjust(w) if i else row[i].ljust(w) for i, w in widths.items())
        lines.append(line.rstrip())
    return lines
