"""The options of verbs that show a result: its form, the file that it goes to, and a page of it."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from shroom.cli.options import Decorator, format_option, option, refuse_two_pipes, together
from shroom.cli.output import deliver, deliver_page, json_text
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
    renderers: Mapping[str, str]
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

    def __call__(self, result: Any) -> None:
        """Write a result."""
        if self.html:
            page = self._rendered(result, "html")
            deliver_page(page, self.html, map(str, filter(None, self.inputs)))
        deliver(self._rendered(result, self.form), self.output)

    def _rendered(self, result: Any, form: str) -> str:
        if form not in self.renderers:
            return json_text(result.to_dict())
        text: str = pkgutil.resolve_name(self.renderers[form])(result)
        return text


def result_options(
    *reads: str, about: str = "Print tables, or one JSON object.", html: str = "", **forms: str
) -> Decorator:
    """Add ``--format``, ``-o`` and perhaps ``--html``; a verb gets what writes as ``write``.

    ``reads`` are the parameters of the verb that name inputs: none is overwritten, and only one is
    a pipe. ``html`` and ``forms`` are what renders the page and each form, as ``module:function``;
    JSON is ``to_dict()``.
    """
    options = [format_option(*dict.fromkeys(("text", "json", *forms)), about=about), OUTPUT_OPTION]

    def writer(values: dict[str, Any]) -> Writer:
        given = [values[name] for name in reads]
        paths = [path for it in given for path in (it if isinstance(it, tuple) else [it])]
        refuse_two_pipes(*paths)
        renderers = {**forms, "html": html}
        form, output = values.pop("form"), values.pop("output")
        return Writer(form, output, values.pop("html", None), renderers, paths)

    return together("write", writer, *options, *([HTML_OPTION] if html else []))
