"""Writing results to stdout or a file, and messages to stderr."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from shroom.core.printing import counted
from shroom.core.problems import Problems, printable

T = TypeVar("T")


def deliver(text: str, output: str | None) -> None:
    if output is None or output == "-":
        click.echo(text, nl=False)
        return
    from shroom.core.atomic_writing import write_atomically

    write_atomically(output, text)


def deliver_page(page: str, output: str, paths: Iterable[str]) -> None:
    """Write a page with absolute ``paths`` shortened to their names, because pages are shared."""
    from markupsafe import escape

    for path in sorted(paths, key=len, reverse=True):
        name = Path(path).name
        if Path(path).is_absolute() and name:
            pattern = rf"(?<![<\w]){re.escape(escape(path))}(?!\w)"  # not the end of a tag
            page = re.sub(pattern, str(escape(name)).replace("\\", r"\\"), page)
    deliver(page, output)
    if output != "-":
        say([f"wrote {output}"])


def command_line() -> str:
    """Return the command line; absolute paths are shortened to their names."""
    ctx = click.get_current_context().find_root()
    words = [Path(word).name if Path(word).is_absolute() else word for word in ctx.obj]
    return shlex.join([ctx.info_name or "", *words])


def json_text(content: Any, **layout: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, **layout) + "\n"


def say(problems: Problems | Iterable[str]) -> None:
    """Write problems or other lines to stderr; warnings of the same code share a line."""
    lines = problems.lines() if isinstance(problems, Problems) else problems
    for line in lines:
        click.echo(line, err=True)
    if isinstance(problems, Problems):
        _say_how_many_more(problems.unshown)


def note(text: str) -> None:
    say([f"note: {printable(text)}"])


def read_aloud(read: Callable[..., T], *inputs: Any, **settings: Any) -> T:
    """Return the result of a function that reads files, and report the problems of these files."""
    problems = Problems()
    result = read(*inputs, problems=problems, **settings)
    say(problems)
    return result


def say_alike(lines: Iterable[str]) -> None:
    """Write at most three lines to stderr, and the number of the others; ``--all`` shows all."""
    listed = [*lines]
    shown = listed if Problems.show_all else listed[:3]
    say(shown)
    _say_how_many_more(len(listed) - len(shown))


def _say_how_many_more(n: int) -> None:
    if n:
        say([f"note: use --all to show {counted(n, 'more warning')}"])


def write_predictions(predictions: Any, output: str, inputs: Iterable[str | None]) -> None:
    warning = predictions.write(output, inputs)
    say(predictions.warnings)
    say(predictions.notes)
    if warning:
        note(warning)
    say([f"wrote {counted(predictions.n, 'prediction')} to {output}"])
