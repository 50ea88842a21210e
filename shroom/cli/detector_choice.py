"""The detector on a command line, with its settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from shroom.cli.parameter_types import INPUT
from shroom.detectors.registry import DEFAULT, DEFAULTS, REGISTRY, Recipe


def detector_and_data(
    arguments: tuple[str, ...], *, anywhere: bool = False, kind: str = "binary"
) -> tuple[str, str]:
    """Return the detector and the data; with ``anywhere``, the data may be a URL."""
    if len(arguments) > 2:
        raise click.UsageError(
            f"expected DATA, or DETECTOR and DATA, got {len(arguments)} arguments"
        )
    *named, data = arguments
    if not named and data in REGISTRY:
        raise click.UsageError(f"{data} is a detector; also specify DATA")
    if not anywhere or "://" not in data:
        data = INPUT.convert(data, None, None)
    return (named[0] if named else DEFAULTS.get(kind, DEFAULT)), data


def recipe_of(name: str, settings: dict[str, Any], **options: Any) -> Recipe:
    recipe = Recipe.of(name)
    given = {key: value for key, value in options.items() if value is not None}
    return replace(recipe, settings={**recipe.settings, **settings, **given})
