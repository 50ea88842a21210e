"""Scores and problems as a small page of its own, for ``detailed_results.html``.

It is the report in its small form, made by the standard library alone: the scoring program has no
templates and no plots. Marks in the cells of tables, a dot on a line for a score and its interval,
repeat the figures beside them, so they are hidden from screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from shroom.core.problems import Problem, Problems, printable
from shroom.metrics.intervals import Marked
from shroom.scoring.display.columns import DOUBT
from shroom.scoring.display.style import document
from shroom.scoring.display.text import (
    confidence,
    interval,
    intervals_line,
    number,
    title,
)
from shroom.scoring.results import Score, TrackScore


def scores_page(score: Score) -> str:
    """Return the page of a submission that was scored."""
    heads = confidence(score.intervals) if score.intervals.resamples else ""
    results = [*score.results, *score.mean_results]
    tracks = [_track(result, heads, place) for place, result in enumerate(results)]
    line = intervals_line(score)  # not capitalize(), which writes names in lower case
    note = f"<p>{escape(line[:1].upper() + line[1:])}.</p>" if score.intervals.resamples else ""
    warnings = ""
    if score.warnings:
        warnings = _section("warnings", "Warnings", _problem_table(score.warnings, "Warnings"))
    signature = f"<p>Signature: <code>{escape(score.signature)}</code></p>{note}"
    reproduce = _section("reproduce", "How to reproduce", signature)
    return _page("Scores", "".join([*tracks, warnings, reproduce]))


def problems_page(problems: Problems) -> str:
    """Return the page of a submission that has errors."""
    lead = (
        "<p>The submission was not scored. "
        f"Errors: {problems.errors}; warnings: {problems.warnings}.</p>"
    )
    counts = "".join(
        f"<tr><td><code>{escape(code)}</code></td><td class=n>{count}</td></tr>"
        for code, count in problems.to_dict()["counts"].items()
    )
    heads = ("<th scope=col>code</th>", "<th scope=col class=n>count</th>")
    table = _table("How many of each", heads, f"<tbody>{counts}</tbody>")
    return _page("Problems", lead + table + _problem_table(problems, "Every problem"))


def _track(result: TrackScore, of_intervals: str, place: int) -> str:
    return _section(f"track-{place + 1}", title(result), track_table(result, of_intervals))


def track_table(result: TrackScore, of_intervals: str) -> str:
    """Return a track's table: its scores whole, of trivial systems, and in slices.

    ``of_intervals`` is the head of their columns, empty where there are none.
    """
    names = list(result.scores)
    spans = {name: _span(result, name) for name in names}
    heads = ["<th scope=col></th>", "<th scope=col class=n>n</th>"]
    for name in names:
        heads.append(f"<th scope=col class=n>{name}</th>")
        if of_intervals:
            low, high = spans[name]
            heads.append(f"<th scope=col class=n>{of_intervals}</th>")
            heads.append(f"<th scope=col>{low:.3g} to {high:.3g}</th>")
    shown = spans if of_intervals else dict.fromkeys(names)
    bodies = [f"<tbody class=whole>{_row('all items', result.n, result.whole, shown)}</tbody>"]
    floors = "".join(
        _row(f"{'ceiling' if name == 'gold label as p' else 'floor'}: {name}", "", scores, shown)
        for name, scores in result.floors.items()
    )
    bodies.append(f"<tbody class=beside>{floors}</tbody>")
    for key, slices in result.slices.items():
        rows = "".join(
            _row(f"{key} {printable(word)}", part["n"], part, shown)
            for word, part in slices.items()
        )
        bodies.append(f"<tbody>{rows}</tbody>")
    return _table(f"Scores, {title(result)}".rstrip(", "), heads, "".join(bodies))


def _span(result: TrackScore, name: str) -> tuple[float, float]:
    """Return what the marks of a metric span."""
    parts = [part for slices in result.slices.values() for part in slices.values()]
    bounds = [result.intervals.get(name), *(part.get(f"{name}_ci") for part in parts)]
    ends = [end for pair in bounds for end in pair or ()]
    values = [result.scores[name], *(part[name] for part in parts)]
    return scale([*values, *ends], least=-1.0, greatest=1.0)


def _row(
    name: str,
    n: object,
    scores: Mapping[str, Any],
    spans: Mapping[str, tuple[float, float] | None],
) -> str:
    """Return a row: each score with its interval and its mark, where there are spans for them."""
    cells = [f"<th scope=row>{escape(name)}</th>", f"<td class=n>{n}</td>"]
    for metric, span in spans.items():
        bounds = scores.get(f"{metric}_ci")
        shown = number(scores[metric]) if metric in scores else ""
        cells.append(f"<td class=n>{shown}</td>")
        if span is not None:
            cells.append(f"<td class=n>{interval_cell(bounds)}</td>")
            cells.append(f"<td>{whisker(scores.get(metric), bounds, span) if bounds else ''}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def interval_cell(bounds: Sequence[float] | None) -> str:
    """Return an interval as HTML, with what its sign means, if it has one.

    Examples
    --------
    >>> interval_cell(Marked((0.25, 0.75), "only 3 items of a class"))
    '[0.250, 0.750]<abbr title="doubtful: only 3 items of a class">‡</abbr>'
    """
    if not isinstance(bounds, Marked):
        return interval(bounds)
    return f'{interval(tuple(bounds))}<abbr title="doubtful: {escape(bounds.note)}">{DOUBT}</abbr>'


def _problem_table(problems: Iterable[Problem], caption: str) -> str:
    rows = "".join(
        f"<tr><td class=problem>{escape(problem.sentence)}</td><td>{escape(problem.fix)}</td></tr>"
        for problem in problems
    )
    heads = ("<th scope=col>problem</th>", "<th scope=col>how to fix it</th>")
    return _table(caption, heads, f"<tbody>{rows}</tbody>")


def _table(caption: str, heads: Sequence[str], bodies: str) -> str:
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{''.join(heads)}</tr></thead>{bodies}"
        "</table></div>\n"
    )


def _section(key: str, name: str, content: str) -> str:
    return (
        f'<section aria-labelledby="{key}"><h2 id="{key}">{escape(name)}</h2>\n'
        f"{content}</section>\n"
    )


def _page(name: str, content: str) -> str:
    body = f"<header><h1>{escape(name)}</h1></header>\n<main>\n{content}</main>"
    return document(f"SHROOM: {name}", body)


def scale(values: Iterable[float | None], *, least: float, greatest: float) -> tuple[float, float]:
    """Return the tenths around all values, within bounds: what a column of marks spans.

    Parameters
    ----------
    values : iterable of float or None
        Values to draw; ``None`` is skipped.
    least, greatest : float
        The bounds, which are also what is returned where there are no values.

    Examples
    --------
    >>> scale([0.71, None, 0.78], least=0.0, greatest=1.0)
    (0.7, 0.8)
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return least, greatest
    low = max(least, math.floor(min(defined) * 10 + 1e-9) / 10)
    high = min(greatest, math.ceil(max(defined) * 10 - 1e-9) / 10)
    if high > low:
        return low, high
    return max(least, low - 0.1), min(greatest, high + 0.1)


def whisker(value: float | None, bounds: Sequence[float] | None, span: tuple[float, float]) -> str:
    """Return a dot for the value and a bar for its interval, as HTML; nothing where undefined.

    Parameters
    ----------
    value : float or None
        The score.
    bounds : sequence of float, or None
        Its interval.
    span : tuple of float
        The ends of the line.

    Examples
    --------
    >>> whisker(0.5, None, (0.0, 1.0))
    '<span class="bar" aria-hidden="true"><b style="left:50%"></b></span>'
    """
    if value is None:
        return ""
    bar = ""
    if bounds is not None:
        start, end = _place(bounds[0], span), _place(bounds[1], span)
        bar = f'<i style="left:{start:g}%;width:{end - start:g}%"></i>'
    dot = f'<b style="left:{_place(value, span):g}%"></b>'
    return f'<span class="bar" aria-hidden="true">{bar}{dot}</span>'


def _place(value: float, span: tuple[float, float]) -> float:
    low, high = span
    return round(100 * min(1.0, max(0.0, (value - low) / (high - low))), 2)
