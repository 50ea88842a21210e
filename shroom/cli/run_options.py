"""The options of commands that run a model: batches, device and precision."""

from __future__ import annotations

import functools
import re
from typing import Any, Callable

import click

from shroom.cli.options import F
from shroom.core.paths import cache_folder
from shroom.inference.result_cache import NAME, Cache
from shroom.inference.run_settings import PRECISIONS, Run

NO_CACHE = click.option(
    "--no-cache",
    is_flag=True,
    envvar="SHROOM_NO_CACHE",
    help="Compute everything again, and store nothing for later runs.",
)


def opened_cache(note: Callable[[str], None]) -> Cache:
    """Return the user's cache of results."""
    return Cache(cache_folder(NAME), note=note)


def check_device(ctx: click.Context, param: click.Parameter, device: str | None) -> str | None:
    """Return the name of a device, having refused what no device is called."""
    if device is not None and not re.fullmatch(r"cpu|mps|cuda(:\d+)?", device, re.ASCII):
        message = f"expected cpu, cuda, cuda:1 or mps, got {device}"
        raise click.BadParameter(message, ctx=ctx, param=param)
    return device


DEVICE = click.option(
    "--device",
    callback=check_device,
    help="Device to run on: cpu, cuda, cuda:1 or mps; by default the best available.",
)


def run_options(*, precision: bool = True) -> Callable[[F], F]:
    """Return the options on batches, device and precision; a command gets them as ``run``.

    Parameters
    ----------
    precision : bool
        Whether there is an option for it.
    """

    def add(command: F) -> F:
        @click.option(
            "--batch-tokens",
            type=click.IntRange(1),
            help="Largest number of tokens in one batch; by default what suits the device.",
        )
        @DEVICE
        @functools.wraps(command)
        def collected(*, batch_tokens: int | None, device: str | None, **others: Any) -> Any:
            run = Run(batch_tokens, device, precision=others.pop("precision", None))
            return command(run=run, **others)

        if precision:
            collected = click.option(
                "--precision",
                type=click.Choice(PRECISIONS),
                help="Precision that a model computes in; by default float32, for the shipped "
                "model int8.",
            )(collected)
        return collected  # type: ignore[return-value]

    return add
