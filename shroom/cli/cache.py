"""``shroom cache``: the values that models have computed, stored for later runs."""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from shroom.cli.options import format_option
from shroom.cli.output import deliver, say
from shroom.core.paths import cache_folder
from shroom.core.problems import ShroomError
from shroom.inference.result_cache import MOST, NAME, Cache

if TYPE_CHECKING:
    from collections.abc import Callable

#: The environment variable with the size limit of the cache.
LIMIT = "SHROOM_CACHE_MAX"
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

EXAMPLES = """\b
Examples:
  shroom cache info
  shroom cache info --format json
  shroom cache clear
  shroom cache clear --max 200MB
"""

NO_CACHE = click.option(
    "--no-cache",
    is_flag=True,
    envvar="SHROOM_NO_CACHE",
    help="Compute everything again, and store nothing for later runs.",
)


def size_of(text: str) -> int:
    """Return the bytes that a size such as 200MB means; a unit is 1000 of the one before.

    Examples
    --------
    >>> size_of("1.5 kB"), size_of("7")
    (1500, 7)
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"expected a size such as 200MB or 2GB, got {text}")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def opened(note: Callable[[str], None] = lambda _: None) -> Cache:
    """Return the user's cache, with the limit that the environment gives."""
    limit = os.environ.get(LIMIT)
    try:
        most = size_of(limit) if limit else MOST
    except ValueError as error:
        raise ShroomError(f"{LIMIT}: {error}") from error
    return Cache(cache_folder(NAME), most, note)


def _size_given(ctx: click.Context, param: click.Parameter, value: str) -> int:
    try:
        return size_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx=ctx, param=param) from error


@click.group(epilog=EXAMPLES)
def command() -> None:
    """Show or clear the stored results of models, which 'shroom predict' reuses."""


@command.command(epilog=EXAMPLES)
@format_option("text", "json", about="Print text, or one JSON object.")
def info(*, form: str) -> None:
    """Show where the cache is, how much is in it and when it was last used."""
    contents = opened().info()
    if form == "json":
        deliver(json.dumps(asdict(contents), indent=2) + "\n", None)
        return
    lines = [
        f"file     {contents.path}",
        f"pairs    {contents.entries}",
        f"size     {contents.size / 1e6:.1f} MB of at most {contents.most / 1e6:.1f} MB ({LIMIT})",
    ]
    if contents.oldest is not None and contents.newest is not None:
        lines.append(f"used     from {_day(contents.oldest)} to {_day(contents.newest)}")
    deliver("\n".join(lines) + "\n", None)


@command.command(epilog=EXAMPLES)
@click.option(
    "--max",
    "down_to",
    metavar="SIZE",
    default="0",
    callback=_size_given,
    help="Keep the most recently used results, up to a size such as 200MB.",
)
def clear(*, down_to: int) -> None:
    """Remove all results, or the least recently used ones."""
    cache = opened(lambda text: say([f"note: {text}"]))
    cache.clear(down_to)
    say([f"{cache.path}: {cache.info().entries} pairs are left"])


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
