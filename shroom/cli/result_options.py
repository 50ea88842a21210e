"""The wrapper of verbs that return a result: it writes the result and sets the exit code."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import click

from shroom.cli.options import OUTPUT, Decorator, combined, format_option, option, refuse_two_pipes
from shroom.cli.output import deliver, deliver_page, say, say_alike
from shroom.core.atomic_writing import check_targets
from shroom.core.paths import Source
from shroom.core.printing import TABLE_WIDTH
from shroom.core.problems import Problems

OUTPUT_OPTION = option("-o --output", "Write to this file instead of stdout.", OUTPUT)
#: The formats that endings of file names stand for.
_ENDINGS = {".htm": "html", ".md": "markdown"} | {
    f".{name}": name for name in ("csv", "html", "json", "svg", "pdf", "png")
}
_HTML_OPTION = option("--html", "Also write a self-contained HTML page to this file.", OUTPUT)


@dataclass(frozen=True)
class Outcome:
    """A result with its messages; a verb without messages returns only the result."""

    result: Any
    said: Sequence[Problems | Iterable[str]] = ()
    #: Lines that are shown once per kind, with a count.
    alike: Iterable[str] = ()
    #: Whether the exit code is 1.
    wrong: bool = False
    #: Additional output formats.
    forms: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)


@dataclass
class Targets:
    """The format and the output files of a result; a verb receives them with ``click.pass_obj``."""

    form: str
    output: str | None
    html: str | None
    inputs: Sequence[Source | None]

    def __post_init__(self) -> None:
        targets = [target for target in (self.output, self.html) if target]
        if len({*map(os.path.realpath, targets)}) < len(targets) or self.html == "-":
            raise click.UsageError("the page (--html) must be written to a separate file")
        self.refuse_inputs()
        if self.output not in (None, "-"):
            TABLE_WIDTH.set(None)

    def refuse_inputs(self, *more: Source | None) -> None:
        """Refuse to overwrite inputs; ``more`` are inputs that are not parameters of the verb."""
        self.inputs = [*self.inputs, *more]
        check_targets(filter(None, (self.output, self.html)), self.inputs)

    def write(self, made: Any) -> int:
        """Write the result of a verb, and return the exit code."""
        outcome = made if isinstance(made, Outcome) else Outcome(made)
        result = outcome.result
        if self.html:
            deliver_page(result.render("html"), self.html, map(str, filter(None, self.inputs)))
        render = outcome.forms.get(self.form)
        deliver(render(result) if render else result.render(self.form), self.output)
        for lines in outcome.said:
            say(lines)
        say_alike(outcome.alike)
        return int(outcome.wrong)


def refuse_other_ending(output: str | None, form: str) -> None:
    """Refuse an output whose ending names another format."""
    named = _ENDINGS.get(Path(output or "").suffix.lower(), form)
    if named != form:
        fix = "use another ending, or the option for this format"
        raise click.UsageError(f"{output} would contain {form}, not {named}; {fix}")


def result_options(
    *reads: str,
    about: str = "Print tables, or one JSON object.",
    forms: Sequence[str] = (),
    output: bool = True,
    html: bool = False,
) -> Decorator:
    """Add the options of a result, and write it; ``reads`` are the parameters with inputs."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def written(*, form: str, **values: Any) -> int:
            given = [values[name] for name in reads]
            inputs = [path for it in given for path in (it if isinstance(it, tuple) else [it])]
            refuse_two_pipes(*inputs)
            file = values.pop("output") if output else None
            page = values.pop("html") if html else None
            targets = click.get_current_context().obj = Targets(form, file, page, inputs)
            refuse_other_ending(page, "html")
            refuse_other_ending(file, form)
            made = function(**values)
            return 0 if made is None else targets.write(made)

        added = [*([OUTPUT_OPTION] if output else []), *([_HTML_OPTION] if html else [])]
        return combined(format_option("text", "json", *forms, about=about), *added)(written)

    return decorate
