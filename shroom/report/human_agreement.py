"""Agreement of automatic scores with people as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import printable
from shroom.scoring.display.text import align, interval, number

if TYPE_CHECKING:
    from shroom.annotate.human_agreement import Agreements

_NAMES = ("rho", "auroc", "accuracy", "cohen_kappa")


def render(found: Agreements) -> str:
    """Return a row for each score, and how it is to be read."""
    heading = ("", "n", "more is", *(cell for name in _NAMES for cell in (name, "")))
    rows = [
        (
            printable(row.name),
            str(row.n),
            row.direction,
            *(
                cell
                for name in _NAMES
                for cell in (number(row.scores.get(name)), interval(row.intervals.get(name)))
            ),
        )
        for row in found.rows
    ]
    lines = [*align([heading, None, *rows]), ""]
    majority = max(found.wrong, found.judged - found.wrong) / max(found.judged, 1)
    said = f"{found.wrong} of {found.judged} judged generations are wrong"
    lines.append(f"{said}, so the majority label has accuracy {majority:.3f}")
    lines.append("accuracy and kappa are at thresholds chosen on other questions")
    if found.how.resamples:
        percent = f"{100 * found.how.confidence:.12g}%"
        drawn = f"{found.how.resamples} resamples of questions, seed {found.how.seed}"
        lines.append(f"{percent} intervals: {drawn}")
    if found.unknown:
        lines.append(f"{found.unknown} judgements are of no generation")
    return "\n".join(lines) + "\n"
