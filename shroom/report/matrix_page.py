"""The matrix as one page that needs nothing but itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shroom.core.version import __version__
from shroom.evaluation.matrix.matrix import floor
from shroom.report.matrix import FLOOR, HEADS, milliseconds, notes, size, why_starred
from shroom.report.page_templates import rendered
from shroom.scoring.display.marks import scale
from shroom.scoring.display.text import confidence

if TYPE_CHECKING:
    from shroom.evaluation.matrix.datasets import Subject
    from shroom.evaluation.matrix.matrix import Matrix, Scores


def page(matrix: Matrix) -> str:
    """Return the page of a matrix.

    Raises
    ------
    ShroomError
        Where jinja2 is missing.
    """
    cells = [cell for row in matrix.rows for cell in row.cells]
    star = why_starred(matrix)
    return rendered(
        "matrix.html.jinja",
        "SHROOM: detectors and data sets",
        confidence=confidence(matrix.how) if matrix.how.resamples else "",
        metrics=HEADS,
        names=[subject.name for subject in matrix.subjects],
        notes=[sentence for sentence in notes(matrix) if sentence != star],
        rows=matrix.rows,
        sections=[
            _section(matrix, place, subject) for place, subject in enumerate(matrix.subjects)
        ],
        star=star,
        span=_span(cells, "auroc"),
        version=__version__,
    )


def _section(matrix: Matrix, place: int, subject: Subject) -> dict[str, Any]:
    """Return what the template says of a data set."""
    systems = [(row.detector, row.cells[place]) for row in matrix.rows]
    cells = [cell for _, cell in systems]
    shares = [end for c in cells for rise in c.rises for end in (rise.share, *(rise.ci or ()))]
    return {
        "key": f"data-{place + 1}",
        "name": subject.name,
        "about": subject.about,
        "size": size(subject),
        "systems": [(name, cell, milliseconds(cell)) for name, cell in systems],
        "spans": {metric: _span(cells, metric) for metric in HEADS},
        "floor": (FLOOR, floor(subject)),
        "methods": cells[0].rises,
        "rises_span": scale(shares, least=0.0, greatest=1.0),
    }


def _span(cells: list[Scores], metric: str) -> tuple[float, float]:
    ends = [end for cell in cells for end in (cell.scores[metric], *(cell.intervals[metric] or ()))]
    return scale(ends, least=-1.0, greatest=1.0)
