"""The types of arguments and options: paths in the form that messages show, and numbers."""

from __future__ import annotations

import math
import os
from typing import Any

import click

from shroom.core.paths import shown_path


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
            self.fail("the result is written to a file or a folder, not to stdout", param, ctx)
        return super().convert(value, param, ctx)


OUTPUT = _Output(allow_dash=True)
#: The same, but not stdout.
ON_DISK = _Output()


class Number(click.FloatRange):
    """A number in a range; unlike in click, nan is not accepted."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail("expected a number, got nan", param, ctx)
        return number
