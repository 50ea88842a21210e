"""``shroom detectors``."""

from __future__ import annotations

import inspect
import json

import click

from shroom.cli.options import format_option
from shroom.cli.output import deliver
from shroom.core.extras import install_hint
from shroom.detectors.registry import DEFAULT, REGISTRY, class_of

EXAMPLES = """\b
Examples:
  shroom detectors
  shroom detectors --format json
"""


@click.command(epilog=EXAMPLES)
@format_option("text", "json", about="Print a table, or one JSON list.")
def command(*, form: str) -> None:
    """List the detectors: what each does, what it needs, and whether it is ready here.

    Detectors of other packages that are installed here are listed as well.
    """
    problems = {name: REGISTRY.problem(name) for name in REGISTRY}
    if form == "json":
        listed = [
            {
                "name": name,
                "line": _line(name, problems[name]),
                "needs": entry.needs,
                "missing": entry.missing(),
                "give": entry.also,
                "package": entry.package or None,
                "problem": problems[name],
            }
            for name, entry in REGISTRY.items()
        ]
        deliver(json.dumps(listed, indent=2) + "\n", None)
        return
    for name, entry in REGISTRY.items():
        missing, problem = entry.missing(), problems[name]
        default = ", and the default" if name == DEFAULT else ""
        state = "absent" if missing or problem else "ready"
        click.echo(f"{name:<14} {state:<6} {_line(name, problem)}{default}")
        if problem:
            click.echo(f"{'':<21} {problem}")
        if missing:
            click.echo(f"{'':<21} needs {' and '.join(missing)}: {install_hint(entry.extra)}")
        if entry.also:
            click.echo(f"{'':<21} give {entry.also}")


def _line(name: str, problem: str | None) -> str:
    """Return what a detector does; for one of another package, the first line of its docstring."""
    entry = REGISTRY[name]
    if problem or not entry.package:
        return entry.line
    about = (inspect.getdoc(class_of(name)) or "").partition("\n")[0]
    return f"{about} ({entry.line})"
