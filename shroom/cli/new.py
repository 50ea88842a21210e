"""``shroom new``."""

from __future__ import annotations

from pathlib import Path

import click

from shroom.cli.output import say
from shroom.core.atomic_writing import write_atomically
from shroom.core.problems import ShroomError

EXAMPLES = """\b
Examples:
  shroom new detector new-words
"""


@click.group(epilog=EXAMPLES)
def command() -> None:
    """Write the start of a package of your own."""


@command.command(epilog=EXAMPLES)
@click.argument("name")
def detector(*, name: str) -> None:
    """Write a package with the detector NAME into the folder NAME.

    It has a module, a test, a README and the entry point by which the kit finds the detector.
    """
    from shroom.detectors.new_package import new_package

    files = new_package(name)
    if Path(name).exists():
        raise ShroomError(f"{name}: exists already, and is not overwritten; choose another name")
    for path, text in files.items():
        write_atomically(Path(name, path), text)
    say([f"wrote {', '.join(files)} to {name}; next: pip install -e {name}"])
