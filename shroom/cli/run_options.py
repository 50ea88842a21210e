"""How verbs that run a model are told to run it."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

import click

from shroom.inference.precision import PRECISIONS
from shroom.inference.run_settings import Run

F = TypeVar("F", bound=Callable[..., Any])


def run_options(*, precision: bool = True) -> Callable[[F], F]:
    """Return the options on batches, device and precision; a verb gets them as ``run``.

    Parameters
    ----------
    precision : bool
        Whether there is a choice of it.
    """

    def add(command: F) -> F:
        @click.option(
            "--batch-tokens",
            type=click.IntRange(1),
            help="Largest number of tokens in one batch; by default what suits the device.",
        )
        @click.option(
            "--device",
            help="Device to run on: cpu, cuda, cuda:1 or mps; by default the best available.",
        )
        @functools.wraps(command)
        def collected(*, batch_tokens: int | None, device: str | None, **given: Any) -> Any:
            chosen = given.pop("precision", None)
            return command(run=Run(batch_tokens, device, precision=chosen), **given)

        if precision:
            collected = click.option(
                "--precision",
                type=click.Choice(PRECISIONS),
                help="Precision that a model computes in, by default float32 (int8 for the "
                "shipped model); auto takes the fastest that agrees with float32.",
            )(collected)
        return collected  # type: ignore[return-value]

    return add
