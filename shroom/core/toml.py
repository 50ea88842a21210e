"""Reading TOML: recipes, settings on the command line, and tables of the kit."""

from __future__ import annotations

import sys
from typing import Any


def parsed_toml(text: str) -> dict[str, Any]:
    """Return the table that a TOML text describes.

    Raises
    ------
    ValueError
        If it is not TOML.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    table: dict[str, Any] = tomllib.loads(text)
    return table
