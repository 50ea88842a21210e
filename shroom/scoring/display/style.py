"""The look that all pages share, and the document around the content of a page.

The colours are named, so that plots inside a page follow it from light to dark. Text stands out
from its ground by a contrast of at least 4.5 in both.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape

from shroom.core.printing import printable

#: The colours of a light page, of plots in files, and of what is printed.
LIGHT = {
    "paper": "#ffffff",
    "wash": "#f4f6f8",
    "rule": "#d7dce1",
    "muted": "#58626d",
    "ink": "#1a1f25",
    "accent": "#1d5f9a",
    "second": "#a1470b",
}
#: The same of a dark page.
DARK = {
    "paper": "#14171b",
    "wash": "#1d2228",
    "rule": "#3a424b",
    "muted": "#a6b0ba",
    "ink": "#e8eaed",
    "accent": "#8abff0",
    "second": "#f3aa62",
}

_FONT = 'font: 16px/1.55 system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif;'
_RULES = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 70rem; background: var(--paper);
  color: var(--ink); @FONT@ overflow-wrap: break-word; }
h1, h2, h3, h4 { line-height: 1.25; font-weight: 600; text-wrap: balance;
  overflow-wrap: anywhere; }
h1, h2 { font-family: Charter, "Bitstream Charter", "Iowan Old Style", Georgia, serif; }
h1 { font-size: 2rem; margin: .5rem 0 .75rem; }
h2 { font-size: 1.5rem; margin: 3.5rem 0 1rem; padding-top: .75rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1.125rem; margin: 2.25rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p, ul, ol, dl { margin: .5rem 0 1rem; max-width: 44rem; }
a { color: var(--accent); }
code { font: .875em/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
pre { margin: .5rem 0 1rem; padding: .75rem 1rem; background: var(--wash); border-radius: 6px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.note { color: var(--muted); font-size: .9rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
.wide { overflow-x: auto; margin: .5rem 0 1.5rem; }
table { border-collapse: collapse; font-size: .9rem; }
caption { text-align: left; color: var(--muted); padding: .25rem 0 .5rem; }
th, td { padding: .375rem .75rem; text-align: left; vertical-align: baseline;
  border-bottom: 1px solid var(--rule); }
th:first-child { padding-left: .25rem; }
.name { min-width: 9rem; max-width: 24rem; overflow-wrap: anywhere; }
thead th { color: var(--muted); font-weight: 600; vertical-align: bottom;
  border-bottom: 1.5px solid var(--muted); }
tbody th { font-weight: 400; }
tbody.beside th, tbody.beside td { color: var(--muted); font-style: italic; }
tbody.whole th, tbody.whole td { font-weight: 600; }
.problem { min-width: 14rem; overflow-wrap: anywhere; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.why { color: var(--muted); font-style: italic; }
td.why { white-space: nowrap; }
.bar { position: relative; display: inline-block; width: 7rem; height: .75rem;
  background: linear-gradient(var(--rule), var(--rule)) center/100% 1px no-repeat;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.bar i { position: absolute; top: 50%; height: 4px; min-width: 2px; margin-top: -2px;
  border-radius: 2px; background: var(--accent); opacity: .55; }
.bar b { position: absolute; top: 50%; width: 8px; height: 8px; margin: -4px 0 0 -4px;
  border-radius: 50%; background: var(--accent); }
@media (max-width: 40rem) {
  body { padding: 1rem .75rem 3rem; }
  h1 { font-size: 1.6rem; }
  h2 { font-size: 1.3rem; margin-top: 2.5rem; }
  th, td { padding: .375rem .5rem; }
}
@page { margin: 14mm; }
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  .wide { overflow: visible; }
  table { font-size: .8em; }
  th, td { padding: .25rem .4rem; }
  .bar { width: 4rem; }
  h1, h2, h3, h4, caption { break-after: avoid; }
  tr { break-inside: avoid; }
  thead { display: table-header-group; }
  a { color: inherit; }
}
""".replace("@FONT@", _FONT)


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}: {value}; " for name, value in colours.items()).strip()


#: The stylesheet of all pages.
STYLE = (
    f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}"
    f"{_RULES}"
)


def inside(selector: str) -> str:
    """Return the rules for what is within an element of a page that has a look of its own.

    It is light everywhere, as plots are, since a notebook does not show its theme to the style.
    """
    return (
        f"{selector} {{ color-scheme: light; {_variables(LIGHT)} background: var(--paper); "
        f"color: var(--ink); {_FONT} padding: .5rem 1rem; {_RULES} }}"
    )


def document(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """Return a self-contained page, which needs no network and no external script.

    Parameters
    ----------
    title : str
        Plain text.
    body : str
        Its content, as HTML.
    style, script : str
        What it adds to the stylesheet, and what it does; neither may hold an end tag.
    """
    allowed = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    if script:
        # Whatever slipped into the page as a script would not have this hash, and not run.
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
