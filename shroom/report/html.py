"""Scores and problems as a small page of its own, for ``detailed_results.html``."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from shroom.report.text import HEADER, track_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shroom.problems import Problem, Problems
    from shroom.scoring import Score, TrackScore

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .75rem; text-align: left; border-bottom: 1px solid #8886; }
th[scope=row] { font-weight: normal; }
.scores tr:nth-child(2) > * { font-weight: 600; }
td.n, th.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
code { overflow-wrap: anywhere; }
"""


def scores_page(score: Score) -> str:
    """Return the page of a submission that was scored."""
    parts = ["<h1>Scores</h1>", *map(_track, score.results)]
    parts.append(f"<p>Signature: <code>{escape(score.signature)}</code></p>")
    if score.warnings:
        parts.append("<h2>Warnings</h2>")
        parts.append(_problem_table(score.warnings))
    return _page("Scores", parts)


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
    table = (
        "<table><caption>How many of each</caption>"
        f"<tr><th scope=col>code</th><th scope=col class=n>count</th></tr>{counts}</table>"
    )
    return _page("Problems", ["<h1>Problems</h1>", lead, table, _problem_table(problems)])


def _track(result: TrackScore) -> str:
    head = "".join(
        f"<th scope=col{' class=n' if i else ''}>{name}</th>" for i, name in enumerate(HEADER)
    )
    rows = "".join(
        f"<tr><th scope=row>{escape(name)}</th>"
        + "".join(f"<td class=n>{cell}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in track_rows(result)
    )
    return (
        f"<div class=wide><table class=scores><caption>{escape(result.track)}</caption>"
        f"<tr>{head}</tr>{rows}</table></div>"
    )


def _problem_table(problems: Iterable[Problem]) -> str:
    rows = "".join(
        _text_row((str(problem).removeprefix("warning: "), problem.mend)) for problem in problems
    )
    head = "<tr><th scope=col>problem</th><th scope=col>how to mend it</th></tr>"
    return f"<div class=wide><table>{head}{rows}</table></div>"


def _text_row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _page(title: str, parts: list[str]) -> str:
    return (
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>SHROOM: {escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )
