"""Recipes: TOML files with a detector and its settings, so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from shroom.core.paths import data_folder
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.registry import REGISTRY, detector
from shroom.detectors.settings import converted
from shroom.inference.run_settings import PRECISIONS
from shroom.scoring.editions.plain import read_plain

Splits = Annotated[list[str], Meta(min_length=1, title='a list of splits, such as ["val", "test"]')]


@dataclass(frozen=True)
class Recipe:
    """A detector with settings, precision, and splits (by default, the splits of submissions)."""

    name: str
    detector: str
    settings: Mapping[str, Any]
    data: tuple[str, ...] = ()
    path: Path | None = None
    precision: str | None = None

    @classmethod
    def of(cls, name: str) -> Recipe:
        """Return the recipe in a TOML file, or a detector with its default settings."""
        if not name.endswith(".toml"):
            return cls(name, name, {})
        path = Path(name)
        table: dict[str, Any] = read_plain(path)
        chosen = table.pop("detector", None)
        if not isinstance(chosen, str):
            raise ShroomError(f'{path}: no detector; add a line such as detector = "nli"')
        try:
            REGISTRY.in_file(chosen)
            data = converted("data", table.pop("data", None), Splits | None)
            precision = table.pop("precision", None)
            if precision is not None:
                precision = converted("precision", precision, Literal[PRECISIONS])
        except ShroomError as error:
            raise ShroomError(f"{path}: {error}") from error
        return cls(path.stem, chosen, _filled(table), tuple(data or ()), path, precision)

    def make(self, /, **settings: Any) -> Detector:
        """Return the detector; ``settings`` override those of the recipe."""
        try:
            return detector(self.detector, **{**self.settings, **settings})
        except ShroomError as error:
            if self.path is None:
                raise
            raise ShroomError(f"{self.path}: {error}") from error


def _filled(value: Any) -> Any:
    """Return a recipe's values with ``{data}`` in a text replaced by the folder of real data."""
    if isinstance(value, dict):
        return {key: _filled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item) for item in value]
    if isinstance(value, str) and "{data}" in value:
        return value.replace("{data}", str(data_folder()))
    return value
