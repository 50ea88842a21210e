"""The options that several verbs share."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, TypeVar

import click

from shroom.cli.output import note
from shroom.cli.parameter_types import Number
from shroom.core.problems import ShroomError
from shroom.metrics.intervals import METHODS, Intervals
from shroom.scoring.column_names import naming
from shroom.scoring.slices import SLICES

F = TypeVar("F", bound=Callable[..., Any])


def names_of(registry: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what completes the names of ``module:registry`` in a shell; the last after commas."""

    def complete(ctx: click.Context, param: click.Parameter, text: str) -> list[str]:
        del ctx, param
        module, _, attribute = registry.partition(":")
        before, comma, begun = text.rpartition(",")
        names = getattr(importlib.import_module(module), attribute)
        return [before + comma + name for name in names if name.startswith(begun)]

    return complete


#: What completes the names of data sets.
DATA_SET_NAMES = names_of("shroom.datasets.registry:DATA_SETS")


def combined(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return the decorator that adds several options, in this order."""
    return lambda command: functools.reduce(lambda made, add: add(made), options[::-1], command)


def format_option(*forms: str, about: str) -> Callable[[F], F]:
    """Return the option ``--format``, which a verb gets as ``form``; the first is usual."""
    return click.option("--format", "form", type=click.Choice(forms), default=forms[0], help=about)


def settings_given(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, Any]:
    """Return what ``--set NAME=VALUE`` gives: values are read as in a recipe, else as text."""
    del ctx
    settings = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"expected NAME=VALUE, got {text}", param=param)
        settings[name.strip()] = _value(value.strip())
    return settings


def _value(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text


def given(**values: Any) -> dict[str, Any]:
    """Return the settings that the command line gives."""
    return {name: value for name, value in values.items() if value is not None}


#: Any setting of a detector, on the command line.
SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    callback=settings_given,
    metavar="NAME=VALUE",
    help="Set any other setting, as in a recipe; may be repeated.",
)


MODEL = click.option(
    "--model", help="Model of the detector: a file, a folder or a name on the hub."
)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Report errors of settings that the command line gives as errors of the command line."""
    try:
        yield
    except ShroomError as error:
        raise click.UsageError(str(error)) from error


def metrics_given(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    """Return the names of the metrics that ``--metrics NAME,NAME`` has."""
    del ctx, param
    return [name.strip() for name in (value or "").split(",") if name.strip()]


METRICS_OPTION = click.option(
    "--metrics",
    callback=metrics_given,
    shell_complete=names_of("shroom.scoring.metric_registry:METRICS"),
    help="Report further metrics, such as brier,auroc, or all; see 'shroom list metrics'.",
)


def columns_given(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Read files by the names that ``--columns KEY=COLUMN,KEY=COLUMN`` gives."""
    columns: dict[str, str] = {}
    for text in value.split(",") if value else ():
        key, equals, column = map(str.strip, text.partition("="))
        if not equals or not column or key in columns:
            raise click.BadParameter(
                f"expected KEY=COLUMN once for a key, got '{text}'", param=param
            )
        columns[key] = column
    try:
        ctx.with_resource(naming(columns))
    except ShroomError as error:
        raise click.BadParameter(str(error), param=param) from error


COLUMNS_OPTION = click.option(
    "--columns",
    callback=columns_given,
    expose_value=False,
    metavar="KEY=COLUMN,...",
    help="Name the columns of CSV and TSV files, or the keys of JSON, such as p=score,label=pred.",
)


def labels_given(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Read files by the two words that ``--labels WORD,WORD`` gives."""
    if value is None:
        return
    try:
        ctx.with_resource(naming(labels=[word.strip() for word in value.split(",")]))
    except ShroomError as error:
        raise click.BadParameter(str(error), param=param) from error


LABELS_OPTION = click.option(
    "--labels",
    callback=labels_given,
    expose_value=False,
    metavar="WORD,WORD",
    help="Name the words for Hallucination and for Not Hallucination, such as refuted,supported.",
)

METRIC_OPTION = click.option(
    "--metric",
    help="Metric of the edition to rank by; the next one breaks ties.  [default: its first one]",
)

TRACK_OPTION = click.option("--track", metavar="TRACK", help="Use only this track.")


TRIALS_OPTION = click.option(
    "--trials",
    type=click.IntRange(1, 10_000_000),
    default=10_000,
    help="Number of trials of each randomisation test between systems.",
)


def slices_given(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Return what ``--by KEY,KEY`` slices by."""
    del ctx, param
    return SLICES if value is None else tuple(filter(None, map(str.strip, value.split(","))))


BY_OPTION = click.option(
    "--by",
    callback=slices_given,
    metavar="KEY,KEY",
    help="Slice by these keys of the gold's rows, such as task, model, ref and agreement (of the "
    "annotators), which are the default.",
)


CONFIDENCE = click.option(
    "--confidence",
    type=Number(0, 1, min_open=True, max_open=True),
    default=0.95,
    help="Confidence level of the intervals.",
)


def interval_options(resamples: int, *, method: bool = True) -> Callable[[F], F]:
    """Add the options of bootstrap intervals to a verb, which gets them as ``intervals``.

    Parameters
    ----------
    resamples : int
        How many there are by default.
    method : bool
        Whether the kind of interval can be chosen.
    """
    options = [
        click.option("--no-ci", is_flag=True, help="Leave out the intervals."),
        CONFIDENCE,
        click.option(
            "--resamples",
            type=click.IntRange(1, 1_000_000),
            default=resamples,
            help="Number of bootstrap resamples, each of all items with replacement.",
        ),
        click.option(
            "--seed",
            "interval_seed",
            type=click.IntRange(0),
            default=0,
            help="Random seed of the resamples, and of the randomisation tests if there are any.",
        ),
    ]
    if method:
        options.append(
            click.option(
                "--interval",
                type=click.Choice(METHODS),
                default=METHODS[0],
                help="Kind of interval: percentile, or bias-corrected and accelerated.",
            )
        )

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def collected(**values: Any) -> Any:
            count = 0 if values.pop("no_ci") else values.pop("resamples")
            values.pop("resamples", None)
            kind = values.pop("interval", METHODS[0])
            chosen = Intervals(count, values.pop("interval_seed"), values.pop("confidence"), kind)
            if 0 < count * (1 - chosen.confidence) < 2:
                beyond = "fewer than one lies beyond either end of the intervals"
                note(f"of {count} resamples {beyond}; take more --resamples")
            return command(intervals=chosen, **values)

        return combined(*options)(collected)  # type: ignore[return-value]

    return decorate


def refuse_two_pipes(*sources: str | None) -> None:
    """Refuse a command line that reads the pipe twice."""
    if sources.count("-") > 1:
        raise click.UsageError("only one input can come from the pipe (-)")
