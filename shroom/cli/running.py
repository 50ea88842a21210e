"""The shell of verbs that run models: the detector, options, progress, and resumed runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shroom.cli.options import INPUT, Decorator, Number, flag, option, together
from shroom.cli.output import note, say
from shroom.core.atomic_writing import check_targets
from shroom.core.paths import cache_folder
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.detectors.registry import DEFAULT, DEFAULTS, Recipe
from shroom.inference.run_settings import PRECISIONS, Run
from shroom.inference.store import NAME, PARTIAL, RunStore, Store
from shroom.inference.store import kept as stored


def _settings(values: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings of ``--set NAME=VALUE``; a value that is not TOML is a string."""
    import tomllib

    settings: dict[str, Any] = {}
    for text in values:
        name, equals, value = map(str.strip, text.partition("="))
        if not equals or not name:
            raise ShroomError(f"expected NAME=VALUE, got '{text}'")
        try:
            settings[name] = tomllib.loads(f"value = {value}")["value"]
        except ValueError:
            settings[name] = value
    return settings


#: Any setting of a detector, on the command line.
SETTINGS = option(
    "--set settings",
    "Change a setting of the detector or model; may be repeated.",
    multiple=True,
    parse=_settings,
    metavar="NAME=VALUE",
)
MODEL = option(
    "--model", "Model for the detector: a file, a folder or a name on the Hugging Face Hub."
)
MAX_COST = option("--max-cost", "Stop before the total cost could exceed this limit.", Number(0))
RESUME = flag("--resume", "Continue an interrupted run.")


def _device(device: str | None) -> str | None:
    if device is not None and not re.fullmatch(r"cpu|mps|cuda(:\d+)?", device, re.ASCII):
        raise ShroomError(f"expected cpu, cuda, cuda:N or mps, got {device}")
    return device


DEVICE = option(
    "--device",
    "Device to run on: cpu, cuda, cuda:1 or mps; by default the fastest available.",
    parse=_device,
)
_PRECISION = option(
    "--precision",
    "Number format for inference. Default: int8 for the kit's own model, otherwise float32.",
    PRECISIONS,
)
_BATCH_TOKENS = option(
    "--batch-tokens",
    "Maximum number of tokens in a batch; the default depends on the device.",
    click.IntRange(1),
)
NO_CACHE = flag(
    "--no-cache",
    "Compute everything again, and do not store results for later runs.",
    envvar="SHROOM_NO_CACHE",
)


def detector_and_data(arguments: tuple[str, ...], *, kind: str = "binary") -> tuple[str, str]:
    """Return the detector and the data."""
    if len(arguments) > 2:
        got = f"got {len(arguments)} arguments"
        raise click.UsageError(f"expected DATA, or DETECTOR and DATA, {got}")
    *named, data = arguments
    data = INPUT.convert(data, None, None)
    return (named[0] if named else DEFAULTS.get(kind, DEFAULT)), data


def recipe_of(name: str, settings: dict[str, Any], **options: Any) -> Recipe:
    recipe = Recipe.of(name)
    given = {key: value for key, value in options.items() if value is not None}
    return replace(recipe, settings={**recipe.settings, **settings, **given})


def run_options(*, precision: bool = True) -> Decorator:
    """Return the options on batches, device and precision, which a verb receives as ``run``."""

    def run(values: dict[str, Any]) -> Run:
        names = [name for name in ("batch_tokens", "device", "precision") if name in values]
        given = {name: values.pop(name) for name in names}
        no_cache = values.pop("no_cache", True)
        stores = () if no_cache else (Store(cache_folder(NAME), note=note),)
        return Run(**given, note=note, stores=stores)

    return together("run", run, *([_PRECISION] if precision else []), _BATCH_TOKENS, DEVICE)


def partial_of(output: str, inputs: Iterable[str]) -> Path:
    """Return the file of an unfinished run next to its output, which must be a file."""
    partial = Path(f"{output}{PARTIAL}")
    check_targets([output, partial], inputs)
    return partial


def is_finished(output: str | Path, partial: str | Path, *, resume: bool) -> bool:
    """Return whether the run to resume has ended, and report it."""
    is_ended = resume and Path(output).exists() and not Path(partial).exists()
    if is_ended:
        why = "is complete, so there is nothing to resume"
        say([f"{output} {why}; to run the command again, leave out --resume"])
    return is_ended


@contextmanager
def resumable(
    path: str | Path, what: str, *, resume: bool, refuse: bool = False
) -> Iterator[RunStore]:
    """Keep results until the run ends well; if it is interrupted or fails, report their number."""
    with stored(path, note, resume=resume, refuse=refuse) as store:
        try:
            yield store
        except BaseException:
            if n := store.n:
                say([f"stored {counted(n, what)} in {path}; to continue, add --resume"])
            raise


@contextmanager
def if_interrupted(line: Callable[[], str]) -> Iterator[None]:
    """Report what an interrupted run keeps, unless the line is empty."""
    try:
        yield
    except KeyboardInterrupt:
        say(filter(None, [line()]))
        raise


@contextmanager
def watched(run: Run, label: str) -> Iterator[Run]:
    with shown_progress(label) as report:
        yield replace(run, report=report)


@contextmanager
def shown_progress(label: str) -> Iterator[Callable[..., None]]:
    """Show a bar on stderr; yields a function of the number done, the total and a text."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich import progress
    from rich.console import Console

    counts = progress.BarColumn(), progress.MofNCompleteColumn()
    columns = "{task.description}", *counts, progress.TimeRemainingColumn(), "{task.fields[more]}"
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, more="")

        def report(done: int, total: int, more: str = "") -> None:
            bar.update(task, completed=done, total=total, more=more)

        yield report
