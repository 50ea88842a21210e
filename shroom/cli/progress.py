"""A bar on the terminal for what takes long; nothing where nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from shroom.cli.output import note
from shroom.inference.run_settings import Run


@contextmanager
def watched(run: Run, label: str) -> Iterator[Run]:
    """Show a bar while a run lasts, and its notes."""
    with shown_progress(label) as report:
        yield replace(run, report=report, note=note)


@contextmanager
def shown_progress(label: str) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr while the context lasts, with items a second and the time left.

    Yields a function of the number done, the number of all and, if there is more to say, a text
    after the bar.
    """
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )

    class Rate(ProgressColumn):
        """Items a second, of late."""

        def render(self, task: Task) -> str:
            speed = task.finished_speed or task.speed
            return "" if speed is None else f"{speed:.3g}/s"

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[more]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, more="")

        def report(done: int, total: int, more: str = "") -> None:
            bar.update(task, completed=done, total=total, more=more)

        yield report
