"""Detectors on data sets, as text and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shroom.core.problems import printable
from shroom.evaluation.matrix.datasets import Subject
from shroom.evaluation.matrix.matrix import Matrix, Scores, floor
from shroom.metrics.intervals import MAX_ITEMS
from shroom.report.page_templates import column_head, rendered, span_of
from shroom.report.sections import WIDTH, in_width
from shroom.scoring.display.columns import align
from shroom.scoring.display.text import (
    WHY_UNDEFINED,
    doubts,
    drawn,
    footnote,
    interval,
    methods,
    number,
    starred,
)

Cells = tuple[str, ...]

#: The template of the page.
TEMPLATE = "matrix.html.jinja"
FLOOR = "floor: one label"
#: The metrics as heads of columns.
HEADS = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "auroc": "AUROC", "rho": "rho"}
#: How many letters of a detector's name a table shows.
_NAME = 21


def text(matrix: Matrix) -> str:
    """Return the matrix as tables of at most 100 columns: all AUROC, then each data set."""
    lines = [*_overview(matrix), ""]
    for place, subject in enumerate(matrix.subjects):
        lines += [*_section(matrix, place, subject), ""]
    lines += [f"- {sentence}" for sentence in notes(matrix)]
    return "\n".join(map(_wrapped, lines)) + "\n"


def _overview(matrix: Matrix) -> Iterator[str]:
    """Yield the AUROC of each detector on each data set."""
    yield "AUROC"
    names = [["", *(_name(row.detector) for row in matrix.rows)]]
    columns = [
        [[subject.name, *(_marked(row.cells[place], "auroc") for row in matrix.rows)]]
        for place, subject in enumerate(matrix.subjects)
    ]
    for part in in_width(names, columns):
        head, *rows = zip(*names, *part)
        yield from align([head, None, *rows])


def _marked(cell: Scores, metric: str) -> str:
    return starred(number(cell.scores[metric]), cell.in_sample)


def _section(matrix: Matrix, place: int, subject: Subject) -> Iterator[str]:
    """Yield the table of one data set: scores, and below each its interval."""
    yield subject.name
    yield f"  {printable(subject.about)}"
    yield f"  {size(subject)}"
    rows: list[Cells | None] = [("", *HEADS.values(), "ms an item"), None]
    for row in matrix.rows:
        cell = row.cells[place]
        shown = [_marked(cell, metric) for metric in HEADS]
        rows.append((_name(row.detector, cell.in_sample), *shown, milliseconds(cell)))
        if matrix.intervals.resamples:
            rows.append(("", *(interval(cell.intervals[metric]) for metric in HEADS), ""))
    least = floor(subject)
    rows.append((FLOOR, *(number(least[metric]) for metric in HEADS), ""))
    yield from align(rows)


def _name(detector: str, in_sample: int = 0) -> str:
    """Return a detector's name as a table has room for it."""
    shown = printable(detector)
    room = _NAME - len(starred("", in_sample))
    if len(shown) > room:
        shown = shown[: room - 1] + "…"
    return starred(shown, in_sample)


def size(subject: Subject) -> str:
    """Return how many items there are, of how many units, and how many are hallucinations."""
    wrong = int(subject.label.sum())
    units = f" in {subject.units} units" if subject.units < subject.n else ""
    items = "item" if subject.n == 1 else "items"
    text = f"{subject.n} {items}{units}, {wrong} hallucinations ({100 * wrong / subject.n:.1f}%)"
    if subject.halves:
        text += f"; {subject.halves} of p = 0.5, which as a label is Not Hallucination"
    if subject.left_out:
        text += f"; {subject.left_out} without a premise left out"
    return text


def milliseconds(cell: Scores) -> str:
    """Return the time of an item with the digits that people read.

    Examples
    --------
    >>> from shroom.evaluation.matrix.matrix import Scores
    >>> [milliseconds(Scores("felm", 0, {}, {}, time)) for time in (0.123, 226.4, None)]
    ['0.12', '226', '–']
    """
    value = cell.milliseconds
    return number(None) if value is None else f"{value:.{2 if value < 10 else 0}f}"


def notes(matrix: Matrix) -> list[str]:
    """Return notes on how the figures were computed and how to read them."""
    sentences = [star] if (star := why_starred(matrix)) else []
    sentences += [WHY_UNDEFINED, f"{FLOOR}: the more frequent label everywhere"]
    if matrix.intervals.resamples:
        sentences.append(how_made(matrix))
        sentences += doubts(
            (f"{row.detector} on {cell.subject}, {HEADS[it]}", ci)
            for row in matrix.rows
            for cell in row.cells
            for it, ci in cell.intervals.items()
        )
    for row in matrix.rows:
        limit = f"{row.threshold.value:.4g}: {row.threshold.source}"
        shown = f" ({row.argument})" if row.argument != row.detector else ""
        sentences.append(f"threshold of {printable(row.detector + shown)}: {printable(limit)}")
    if matrix.split is not None and matrix.split.left_out:
        left_out = f"{matrix.split.left_out} items are also scored, and were left out"
        sentences.append(f"tuning: {left_out}")
    sentences.append(
        "ms an item: measured when these p were made, on the machine that made them, loading "
        "included; equal items are computed once"
    )
    for row in matrix.rows:
        for cell in row.cells:
            place = f"{printable(row.detector)} on {cell.subject}"
            sentences += [f"{place}: {printable(note)}" for note in cell.notes]
            if cell.milliseconds is None:
                sentences.append(f"{place}: was interrupted, so its time was not measured")
    return sentences


def why_starred(matrix: Matrix) -> str:
    """Return what the star means; nothing where no score is in-sample."""
    return footnote(
        (f"{row.detector} on {cell.subject}", cell.in_sample, subject.n)
        for row in matrix.rows
        for subject, cell in zip(matrix.subjects, row.cells)
    )


def how_made(matrix: Matrix) -> str:
    """Return how the intervals were made."""
    intervals = matrix.intervals
    units = drawn(intervals, "all units (responses, dialogues, questions)")
    sentence = (
        f"intervals: {100 * intervals.confidence:.12g}%, {methods(intervals)}, {units}, "
        f"seed {intervals.seed}"
    )
    if any(subject.units > MAX_ITEMS for subject in matrix.subjects):
        sentence += f"; of more than {MAX_ITEMS} units normal, by the infinitesimal jackknife"
    return sentence


def _wrapped(line: str) -> str:
    """Return a line of words on as many lines as the width needs; a table's are short enough."""
    import textwrap

    if len(line) <= WIDTH or not line.startswith(("- ", "  ")):
        return line
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="  "))


def page(matrix: Matrix) -> str:
    """Return the page of a matrix.

    Raises
    ------
    ShroomError
        If jinja2 is missing.
    """
    return rendered(TEMPLATE, "SHROOM: detectors and data sets", **values(matrix))


def values(matrix: Matrix) -> dict[str, Any]:
    """Return the values that the template shows."""
    cells = [cell for row in matrix.rows for cell in row.cells]
    star = why_starred(matrix)
    return {
        "confidence": column_head(matrix.intervals),
        "metrics": HEADS,
        "names": [subject.name for subject in matrix.subjects],
        "notes": [sentence for sentence in notes(matrix) if sentence != star],
        "rows": matrix.rows,
        "sections": [
            _page_section(matrix, place, subject) for place, subject in enumerate(matrix.subjects)
        ],
        "star": star,
        "span": _metric_span(cells, "auroc"),
    }


def _page_section(matrix: Matrix, place: int, subject: Subject) -> dict[str, Any]:
    """Return the values that the template shows of a data set."""
    systems = [(row.detector, row.cells[place]) for row in matrix.rows]
    cells = [cell for _, cell in systems]
    return {
        "key": f"data-{place + 1}",
        "name": subject.name,
        "about": subject.about,
        "size": size(subject),
        "systems": [(name, cell, milliseconds(cell)) for name, cell in systems],
        "spans": {metric: _metric_span(cells, metric) for metric in HEADS},
        "floor": (FLOOR, floor(subject)),
    }


def _metric_span(cells: list[Scores], metric: str) -> tuple[float, float]:
    return span_of((cell.scores[metric], cell.intervals[metric]) for cell in cells)
