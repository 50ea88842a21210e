"""Tables as part of a page, the page ``detailed_results.html``, and the look of all pages."""

# The scoring program has no templates. Screen readers skip the marks, which repeat the figures.

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from shroom.core.printing import counted
from shroom.core.problems import Problems, printable
from shroom.core.version import __version__
from shroom.metrics.intervals import Marked
from shroom.scoring.display.text import DOUBT, interval
from shroom.scoring.results import Score
from shroom.scoring.tables import ROSE, Column, Estimate, Row, Table, Whole, is_code, is_item
from shroom.scoring.verdict import problem_table

Span = tuple[float, float]
#: The colours of a light page (also of plots in files, and of print), and of a dark page. All
#: contrasts are at least 4.5.
_COLOURS = {
    "paper": ("#ffffff", "#14171b"),
    "wash": ("#f4f6f8", "#1d2228"),
    "rule": ("#d7dce1", "#3a424b"),
    "muted": ("#58626d", "#a6b0ba"),
    "ink": ("#1a1f25", "#e8eaed"),
    "accent": ("#1d5f9a", "#8abff0"),
    "second": ("#a1470b", "#f3aa62"),
}
LIGHT = {name: light for name, (light, _) in _COLOURS.items()}
_DARK = {name: dark for name, (_, dark) in _COLOURS.items()}

_FONT = 'font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif;'
_RULES = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}: {value}; " for name, value in colours.items()).strip()


#: The stylesheet of all pages.
STYLE = (
    f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(_DARK)} }} }}\n"
    f"{_RULES}"
)


def scores_page(score: Score) -> str:
    """Return the page of a submission that was scored."""
    warnings = [problem_table(score.warnings, "Warnings")] if score.warnings else []
    return page("Scores", html([*score.tables(), *warnings]))


def problems_page(problems: Problems) -> str:
    """Return the page of a submission that has errors."""
    lead = f"{counted(problems.errors, 'error')}, {counted(problems.warnings, 'warning')}"
    counts = list(problems.to_dict()["counts"].items())
    tables = [
        Table(notes=[f"The submission was not scored: {lead}."]),
        Table("Problems by code", ("code", "count"), counts),
        problem_table(problems, "Problems and fixes"),
    ]
    return page("Problems", html(tables))


def page(heading: str, content: str, **more: str) -> str:
    """Return a page with a heading; ``more`` is style and script, as for :func:`document`."""
    name = escape(printable(heading))
    footer = f'<footer><p class="note">SHROOM kit {__version__}</p></footer>'
    body = f"<header><h1>{name}</h1></header>\n<main>\n{content}</main>\n{footer}"
    title = heading if heading.startswith("SHROOM") else f"SHROOM: {heading}"
    return document(title, body, **more)


def html(tables: Iterable[Table]) -> str:
    """Return tables as sections of a page."""
    return "".join(sections(tables))


def sections(tables: Iterable[Table]) -> list[str]:
    """Return each table as a section of a page."""
    return [_section(table, f"t{place}") for place, table in enumerate(tables, 1)]


def _section(table: Table, key: str) -> str:
    title = escape(printable(table.title))
    parts = ["<section>"]
    if title:
        parts = [f'<section aria-labelledby="{key}">', f'<h2 id="{key}">{title}</h2>']
    parts += [f"<p>{escape(printable(line.strip()))}</p>" for line in table.about]
    parts += [one_table(table, table.title)] if table.rows else []
    for listed, notes in groupby(table.notes, key=lambda note: _is_listed(note, table)):
        shown = [_note(note) for note in notes]
        items = "".join(f"<li>{note}</li>" for note in shown)
        parts += [f"<ul>{items}</ul>"] if listed else [f'<p class="note">{it}</p>' for it in shown]
    return "\n".join([*parts, "</section>\n"])


def _is_listed(note: str, table: Table) -> bool:
    return bool(is_item(note)) and not (table.verdict and note.startswith("- "))


def _note(note: str) -> str:
    words, colon, rest = note.rpartition(": ")
    shown = escape(printable(is_item(note) or note))
    if not is_code(rest):
        return shown
    return f"{escape(printable(words + colon))}<code>{escape(printable(rest))}</code>"


def one_table(table: Table, label: str) -> str:
    """Return the rows of a table; a script can sort it if it has no parts."""
    columns = table.columns(ends=not table.below)
    rows = [row for row in table.rows if row is not None]
    spans = {it.place: span for it in columns if (span := _span(it.place, rows))}
    bodies, looks = "", []
    for look, part in groupby(table.rows, key=lambda row: row and getattr(row, "look", "plain")):
        if look:
            looks.append(look)
            lines = "\n".join(_rows(filter(None, part), columns, table, spans))
            bodies += f'<tbody class="{look}">\n{lines}\n</tbody>'
    caption = counted(len(rows), "row")
    name = escape(printable(label)) or caption
    heads = "</tr>\n<tr>".join(_heads(columns, table, spans))
    marks, above = list[str](), ""
    for column in columns:
        over, _, head = column.head.rpartition("\n")
        above = over or above
        if column.place in spans and not column.ends:
            low, high = spans[column.place]
            marks.append(f"{above} {head}".strip() + f" {low:.3g} to {high:.3g}")
    legend = f"Dots show the figures, and bars show their intervals. Scales: {', '.join(marks)}."
    look = ' class="sortable"' if looks.count("plain") == 1 and Whole.look not in looks else ""
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{name}">\n'
        f"<table{look}>\n<caption>{caption}</caption>\n<thead><tr>{heads}</tr></thead>\n"
        f"{bodies}\n</table>\n</div>"
        + (f'\n<p class="note">{escape(printable(legend))}</p>' if marks else "")
    )


def _heads(columns: Sequence[Column], table: Table, spans: Mapping[int, Span]) -> list[str]:
    """Return the row of heads, and before it the row of common heads if there are any."""
    if not columns:
        return [""]
    above, _, own = zip(*(it.head.rpartition("\n") for it in columns))
    heads = "".join(_head(it._replace(head=head), table, spans) for it, head in zip(columns, own))
    starts, cells = [place for place, head in enumerate(above) if head], ""
    for start, end in zip([0, *starts], [*starts, len(above)]):
        tag, scope = ("th", ' scope="colgroup" class="over"') if above[start] else ("td", "")
        cells += f'<{tag}{scope} colspan="{end - start}">{escape(above[start])}</{tag}>'
    return [cells, heads] if starts else [heads]


def _head(column: Column, table: Table, spans: Mapping[int, Span]) -> str:
    is_figure = column.place >= table.left
    # A head without words cannot be pressed, so the column of names gets one.
    head = column.head or ("" if is_figure else "name")
    more = ' class="n"' * is_figure
    if head:
        more += f' data-kind="{"number" if is_figure else "text"}"'
    if column.place in spans and head != table.sort:
        more += ' data-first="descending"'
    if head and head == table.sort:
        more += ' aria-sort="ascending"'
    if head and head == table.groups:
        more += " data-filter"
    return f'<th scope="col"{more}>{escape(printable(head))}</th>'


def _rows(
    rows: Iterable[Row], columns: Sequence[Column], table: Table, spans: Mapping[int, Span]
) -> Iterator[str]:
    before = ""
    for row in rows:
        cells = "".join(_cell(column, row, table, spans) for column in columns)
        group = next((it.shown(row) for it in columns if it.head and it.head == table.groups), "")
        opening = ' class="opens"' if group != before else ""
        yield f"<tr{opening}>{cells}</tr>"
        before = group


def _cell(column: Column, row: Row, table: Table, spans: Mapping[int, Span]) -> str:
    cell, shown = row[column.place], escape(column.shown(row).strip())
    is_figure, is_group = column.place >= table.left, column.head and column.head == table.groups
    value: object = cell
    if isinstance(cell, Estimate):
        cell = _without_nan(cell)
        value = cell.value
        ends = f'<span class="why">{escape(cell.ends)}</span>' if cell.ends else ""
        if cell.ci and cell.value is not None:
            ends = f"{_interval(cell)} {_whisker(cell.value, cell.ci, spans[column.place])}"
        if column.ends:
            value, shown = cell.ci and cell.ci[0], ends
        elif table.below and ends:
            shown += f'<br><span class="note">{ends}</span>'
    elif isinstance(cell, str) and is_figure:
        number = re.search(r"[-+]?\d[\d.]*", cell.replace("−", "-"))
        value = number and number[0]
    known = "" if value is None else escape(printable(str(value)))
    if is_figure:
        if is_group and shown:
            shown = f'<span class="group">{shown}</span>'
        has_words = isinstance(cell, str) and " " in cell and any(map(str.isalpha, cell))
        look = "n words" if has_words else "n"
        return f'<td class="{look}" data-value="{known}">{shown}</td>'
    tag, more = ("td", "") if column.place else ("th", ' scope="row"')
    return f'<{tag}{more} class="name" data-value="{known}"><bdi>{shown}</bdi></{tag}>'


def _without_nan(cell: Estimate) -> Estimate:
    value = None if cell.value is None or math.isnan(cell.value) else cell.value
    ci = None if cell.ci is None or any(map(math.isnan, cell.ci)) else cell.ci
    return cell._replace(value=value, ci=ci)


def _interval(estimate: Estimate) -> str:
    """Return an interval as HTML, with the meaning of its sign if it has one."""
    if not isinstance(estimate.ci, Marked):
        return estimate.ends
    sign = f'<abbr title="doubtful: {escape(estimate.ci.note)}">{DOUBT}</abbr>'
    return interval(tuple(estimate.ci)) + sign


def _span(place: int, rows: Iterable[Row]) -> Span | None:
    """Return the ends of the scale on which a column is drawn; ``None`` without intervals."""
    cells = [_without_nan(cell) for row in rows if isinstance(cell := row[place], Estimate)]
    marked = [it for it in cells if it.value is not None and it.ci]
    ends = [end for it in marked for end in (it.value or 0.0, *(it.ci or ()))]
    if not marked:
        return None
    if any(it.form == ROSE for it in marked):
        return min(-1, math.floor(min(ends))), max(1, math.ceil(max(ends)))
    if any(it.form == "d" for it in marked):
        return 0.5, max(ends) + 0.5
    low = max(-1.0, math.floor(min(ends) * 10 + 1e-9) / 10)
    high = min(1.0, math.ceil(max(ends) * 10 - 1e-9) / 10)
    return (low, high) if high > low else (max(-1.0, low - 0.1), min(1.0, high + 0.1))


def _whisker(value: float, bounds: Sequence[float], span: Span) -> str:
    """Return a dot for the value and a bar for its interval on a line with these ends."""
    low, high = span
    shares = ((it - low) / (high - low) for it in (*bounds, value))
    start, end, place = (round(100 * min(1.0, max(0.0, share)), 2) for share in shares)
    bar = f'<i style="left:{start:g}%;width:{end - start:g}%"></i>'
    dot = f'<b style="left:{place:g}%"></b>'
    return f'<span class="bar" aria-hidden="true">{bar}{dot}</span>'


def inside(selector: str) -> str:
    """Return the rules for an element of a page that has its own look."""
    # Always light, like plots, because the style cannot know the theme of a notebook.
    return (
        f"{selector} {{ color-scheme: light; {_variables(LIGHT)} background: var(--paper); "
        f"color: var(--ink); {_FONT} padding: .5rem 1rem; {_RULES} }}"
    )


def document(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """Return a self-contained page; style and script must not contain an end tag."""
    allowed = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    if script:
        # A script that slipped into the page would not have this hash, so it would not run.
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        allowed += f"; script-src 'sha256-{digest}'"
        script = f"<script>{script}</script>\n"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{allowed}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(printable(title))}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>\n{STYLE}{style}</style>\n</head>\n<body>\n{body}\n{script}</body>\n</html>\n"
    )
