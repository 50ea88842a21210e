"""The options of verbs that show a result: its form, the file that it goes to, and a page of it."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import click

from shroom.cli.options import F, combined, format_option, refuse_two_pipes
from shroom.cli.output import deliver, deliver_page
from shroom.cli.parameter_types import OUTPUT
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable
from shroom.core.paths import Source
from shroom.core.printing import TABLE_WIDTH

_OUTPUT = click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
_HTML = click.option("--html", type=OUTPUT, help="Also write a self-contained page to this file.")


@dataclass
class Writer:
    """Writes a result in the form and to the places that the command line names."""

    form: str
    output: str | None
    html: str | None
    inputs: Sequence[Source | None] = ()

    def __post_init__(self) -> None:
        targets = [os.path.realpath(target) for target in self.targets]
        if len({*targets}) < len(targets) or self.html == "-":
            raise click.UsageError("the page (--html) needs a file of its own")
        self.refuse_overwriting()
        refuse_unwritable(Path(target) for target in self.targets if target != "-")
        if self.output not in (None, "-"):
            TABLE_WIDTH.set(None)

    @property
    def targets(self) -> list[str]:
        """The files that are written."""
        return [target for target in (self.output, self.html) if target]

    def refuse_overwriting(self, *inputs: Source | None) -> None:
        """Refuse to overwrite what is read: what the verb's parameters name, and ``inputs``."""
        self.inputs = [*self.inputs, *inputs]
        refuse_overwriting(self.targets, self.inputs)

    def __call__(self, result: Any, text: str | None = None) -> None:
        """Write a result; ``text`` is a form that it does not have itself."""
        if self.html:
            paths = map(str, filter(None, self.inputs))
            deliver_page(result.render("html"), self.html, paths)
        deliver(result.render(self.form) if text is None else text, self.output)


def result_options(
    *reads: str,
    about: str = "Print tables, or one JSON object.",
    forms: Sequence[str] = (),
    html: bool = False,
) -> Callable[[F], F]:
    """Add ``--format``, ``-o`` and perhaps ``--html``; a verb gets what writes as ``write``.

    Parameters
    ----------
    *reads : str
        Parameters of the verb that name inputs: none is overwritten, and only one is a pipe.
    about : str
        Help of ``--format``.
    forms : sequence of str
        The forms besides text and JSON.
    html : bool
        Whether there is a page.
    """
    options = [format_option("text", "json", *forms, about=about), _OUTPUT]
    options += [_HTML] if html else []

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def collected(*, form: str, output: str | None, **values: Any) -> Any:
            given = [values[name] for name in reads]
            paths = [path for it in given for path in (it if isinstance(it, tuple) else [it])]
            refuse_two_pipes(*paths)
            write = Writer(form, output, values.pop("html", None), paths)
            return command(write=write, **values)

        return combined(*options)(collected)  # type: ignore[return-value]

    return decorate
