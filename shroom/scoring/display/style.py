"""The look that all pages share, and the document around the content of a page."""

# Colours are named, so that plots follow light and dark; contrasts are at least 4.5.

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path

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
#: The same colours on a dark page.
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
_RULES = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}: {value}; " for name, value in colours.items()).strip()


#: The stylesheet of all pages.
STYLE = (
    f":root {{ color-scheme: light dark; {_variables(LIGHT)} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}\n{_RULES}"
)


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
