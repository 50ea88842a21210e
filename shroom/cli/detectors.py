"""``shroom detectors``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from shroom.cli.options import deliver, format_option
from shroom.core.extras import install_hint
from shroom.detectors.registry import DEFAULT, REGISTRY

if TYPE_CHECKING:
    from shroom.core.registry import Entry

EXAMPLES = """\b
Examples:
  shroom detectors
  shroom detectors --format json
"""


@click.command(epilog=EXAMPLES)
@format_option("text", "json", about="Print a table, or one JSON object.")
def command(*, form: str) -> None:
    """List the detectors: what each does, what it needs, and whether it is ready here."""
    if form == "json":
        listed = [
            {
                "name": name,
                "line": entry.line,
                "needs": entry.needs,
                "missing": entry.missing(),
                "give": entry.also,
            }
            for name, entry in REGISTRY.items()
        ]
        deliver(json.dumps(listed, indent=2) + "\n", None)
        return
    for name, entry in REGISTRY.items():
        default = ", and the default" if name == DEFAULT else ""
        click.echo(f"{name:<14} {_ready(entry):<6} {entry.line}{default}")
        if entry.missing():
            needed = " and ".join(entry.missing())
            click.echo(f"{'':<21} needs {needed}: {install_hint(entry.extra)}")
        if entry.also:
            click.echo(f"{'':<21} give {entry.also}")


def _ready(entry: Entry) -> str:
    """Return whether a detector can run here."""
    return "absent" if entry.missing() else "ready"
