"""The detector on a command line, with its settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shroom.cli.parameter_types import INPUT
from shroom.detectors.recipe import Recipe
from shroom.detectors.registry import DEFAULT, DEFAULTS, REGISTRY


def detector_and_data(
    arguments: tuple[str, ...], *, anywhere: bool = False, kind: str = "binary"
) -> tuple[str, str]:
    """Return the detector and the data; with ``anywhere``, the data may be a URL."""
    expected = "expected DATA, or DETECTOR and DATA"
    if len(arguments) > 2:
        raise click.UsageError(f"{expected}, got {len(arguments)} arguments")
    *named, data = arguments
    if data in REGISTRY and not (named and Path(data).exists()):
        raise click.UsageError(f"{data} is a detector; {expected}")
    for name in named:
        if name not in REGISTRY and not name.endswith(".toml") and Path(name).exists():
            raise click.UsageError(f"{name} is not a detector; {expected}")
    if not anywhere or "://" not in data:
        data = INPUT.convert(data, None, None)
    return (named[0] if named else DEFAULTS.get(kind, DEFAULT)), data


def recipe_of(name: str, settings: dict[str, Any], **options: Any) -> Recipe:
    recipe = Recipe.of(name)
    given = {key: value for key, value in options.items() if value is not None}
    return replace(recipe, settings={**recipe.settings, **settings, **given})
