"""The options of verbs that show a result: its form, the file that it goes to, and a page of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shroom.cli.options import Decorator, format_option, option, refuse_two_pipes, together
from shroom.cli.output import deliver, deliver_page
from shroom.cli.parameter_types import OUTPUT
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable
from shroom.core.paths import Source
from shroom.core.printing import TABLE_WIDTH

OUTPUT_OPTION = option("-o --output", "Write to this file instead of stdout.", OUTPUT)
HTML_OPTION = option("--html", "Also write a self-contained page to this file.", OUTPUT)


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
) -> Decorator:
    """Add ``--format``, ``-o`` and perhaps ``--html``; a verb gets what writes as ``write``.

    ``reads`` are the parameters of the verb that name inputs: none is overwritten, and only one is
    a pipe. ``forms`` are those besides text and JSON; ``html``: there is a page.
    """
    options = [format_option("text", "json", *forms, about=about), OUTPUT_OPTION]

    def writer(values: dict[str, Any]) -> Writer:
        given = [values[name] for name in reads]
        paths = [path for it in given for path in (it if isinstance(it, tuple) else [it])]
        refuse_two_pipes(*paths)
        form, output = values.pop("form"), values.pop("output")
        return Writer(form, output, values.pop("html", None), paths)

    return together("write", writer, *options, *([HTML_OPTION] if html else []))
