"""The declaration of options, the types of their values, and the options that verbs share."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Callable

import click
from click.core import ParameterSource

from shroom.core.paths import shown_path
from shroom.core.problems import ShroomError
from shroom.metrics.intervals import METHODS, Intervals
from shroom.scoring.column_names import Names
from shroom.scoring.rows import SLICES

#: A decorator that adds options to the function of a verb.
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class ShownPath(click.Path):
    """A path, converted to the form that messages show."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return shown_path(os.fsdecode(super().convert(value, param, ctx)))


#: A file, a folder, a zip, or ``-`` for a pipe.
INPUT = ShownPath(exists=True, allow_dash=True)
#: A file, a folder or a zip, but no pipe.
PATH = ShownPath(exists=True)
FILE = ShownPath(exists=True, dir_okay=False)
FOLDER = ShownPath(exists=True, file_okay=False)


class _Output(ShownPath):
    """An output path; an empty name, such as from an unset variable, is an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("the name is empty", param, ctx)
        if value == "-" and not self.allow_dash:
            self.fail(
                "the result cannot be written to stdout; specify a file or a folder", param, ctx
            )
        return super().convert(value, param, ctx)


OUTPUT = _Output(allow_dash=True)
#: The same, but not stdout.
ON_DISK = _Output()


class Number(click.FloatRange):
    """A number in a range; unlike in click, nan is not accepted."""

    name = "number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail("expected a number, got nan", param, ctx)
        return number


def option(
    names: str,
    about: str,
    kind: Any = None,
    default: Any = None,
    *,
    parse: Callable[[Any], Any] | None = None,
    **more: Any,
) -> Decorator:
    """Return an option; errors raised by ``parse`` become errors of the command line."""
    if parse is not None:
        more["callback"] = _callback(parse)
    if default is not None:
        more["default"] = default
    if isinstance(kind, Iterable):
        kind = click.Choice([*kind])
    elif isinstance(kind, (click.IntRange, click.FloatRange)):  # for messages and the help
        kind.name = "integer" if isinstance(kind, click.IntRange) else "number"
    return click.option(*names.split(), help=about, type=kind, **more)


def _callback(parse: Callable[[Any], Any]) -> Callable[..., Any]:
    def callback(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        try:
            return parse(value)
        except ShroomError as error:
            raise click.BadParameter(str(error), ctx, param) from error

    return callback


def flag(names: str, about: str, **more: Any) -> Decorator:
    return option(names, about, is_flag=True, **more)


def combined(*options: Decorator) -> Decorator:
    return lambda command: functools.reduce(lambda made, add: add(made), options[::-1], command)


def together(name: str, value: Callable[[dict[str, Any]], Any], *options: Decorator) -> Decorator:
    """Add options that a verb receives as one argument ``name``, which ``value`` returns."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def collected(**values: Any) -> Any:
            return command(**{name: value(values)}, **values)

        return combined(*options)(collected)

    return decorate


@contextmanager
def usage_errors() -> Iterator[None]:
    """Turn errors in settings into errors of the command line."""
    try:
        yield
    except ShroomError as error:
        raise click.UsageError(str(error)) from error


def is_given(name: str) -> bool:
    """Return whether a parameter was set on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def refuse_two_pipes(*sources: str | None) -> None:
    if sources.count("-") > 1:
        raise click.UsageError("only one input can be stdin (-)")


def listed(text: str | None) -> list[str]:
    return [*filter(None, map(str.strip, (text or "").split(",")))]


def format_option(*forms: str, about: str) -> Decorator:
    """Return the option ``--format``, passed as ``form``; the first is the default."""
    return option("--format form", about, forms, forms[0])


def _columns(text: str | None) -> dict[str, str]:
    """Return the columns in ``--columns KEY=COLUMN,KEY=COLUMN`` by their keys."""
    columns: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, equals, column = map(str.strip, part.partition("="))
        if not equals or not column or key in columns:
            raise ShroomError(f"expected KEY=COLUMN, with each key once; got '{part}'")
        columns[key] = column
    Names.of(columns)
    return columns


def _labels(text: str | None) -> list[str] | None:
    labels = None if text is None else [word.strip() for word in text.split(",")]
    Names.of(labels=labels)
    return labels


METRICS_OPTION = option(
    "--metrics",
    "Also report these metrics: names separated by commas, or 'all'. See 'shroom list metrics'.",
    parse=listed,
)
_COLUMNS = option(
    "--columns",
    "Names of your columns or JSON keys, such as p=score,label=pred.",
    parse=_columns,
    metavar="KEY=COLUMN,...",
)
_LABELS = option(
    "--labels",
    "Your words for Hallucination and Not Hallucination, in that order, such as refuted,supported.",
    parse=_labels,
    metavar="WORD,WORD",
)
#: The user's names of columns and labels, which a verb receives as ``names``.
NAMES_OPTIONS = together(
    "names", lambda values: {it: values.pop(it) for it in ("columns", "labels")}, _COLUMNS, _LABELS
)
METRIC_OPTION = option("--metric", "Rank by this metric of the edition.  [default: the first]")
TRACK_OPTION = option("--track", "Use only this track.", metavar="TRACK")
TRIALS = click.IntRange(1, 10_000_000)
TRIALS_OPTION = option("--trials", "Number of trials of each randomisation test.", TRIALS, 10_000)
BY_OPTION = option(
    "--by",
    "Also report scores for each value of these keys. The key 'agreement' stands for annotator "
    "agreement.  [default: task,model,ref,agreement]",
    parse=lambda text: SLICES if text is None else tuple(listed(text)),
    metavar="KEY,KEY",
)
CONFIDENCE = option(
    "--confidence",
    "Confidence level of the intervals.",
    Number(0, 1, min_open=True, max_open=True),
    0.95,
)


def interval_options(resamples: int, *, method: bool = True) -> Decorator:
    """Add the options of bootstrap intervals, which a verb receives as ``intervals``."""
    kinds = option(
        "--interval",
        "Type of bootstrap interval: percentile, or bias-corrected and accelerated (bca).",
        METHODS,
        METHODS[0],
    )
    return together(
        "intervals",
        _intervals,
        flag("--no-ci", "Do not compute confidence intervals."),
        CONFIDENCE,
        option(
            "--resamples", "Number of bootstrap resamples.", click.IntRange(1, 1_000_000), resamples
        ),
        option("--seed interval_seed", "Random seed.", click.IntRange(0), 0),
        *([kinds] if method else []),
    )


def _intervals(values: dict[str, Any]) -> Intervals:
    none, resamples = values.pop("no_ci"), values.pop("resamples")
    seed, confidence = values.pop("interval_seed"), values.pop("confidence")
    count = 0 if none else resamples
    return Intervals(count, seed, confidence, values.pop("interval", METHODS[0]))
