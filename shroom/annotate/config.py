"""The config of ``shroom annotate``: its data, scorers, ranker and output files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from shroom.annotate.base import SCORERS, Scorer
from shroom.annotate.rankers import RANKERS, Ranker
from shroom.core.problems import ShroomError, show
from shroom.core.registry import Registry, check_settings
from shroom.detectors.settings import converted
from shroom.inference.store import PARTIAL

_Named = Annotated[
    str | Annotated[dict[str, dict[Any, Any] | None], Meta(min_length=1, max_length=1)],
    Meta(title="a name, or a name with its settings"),
]
#: A NUL is in no path, and half of a surrogate pair is not a character.
_Path = Annotated[str, Meta(pattern="^[^\0\ud800-\udfff]+$", title="a path")]
_Files = Annotated[tuple[_Path, ...], Meta(min_length=1, title="files or folders of generations")]
_Scorers = Annotated[list[Any], Meta(title="a list of scorers, in the order to run them")]
#: The types of the values by key.
_TYPES = {"data": _Files, "output": _Path, "scorers": _Scorers | None, "ranker": _Named | None}
_TYPES |= {"ranked": _Path | None, "pairs": _Path | None}


@dataclass(frozen=True)
class Config:
    """The settings of one run."""

    data: list[str]  # files or folders of generations
    scorers: list[Scorer]
    ranker: Ranker | None  # ``None`` to write only scores
    outputs: dict[str, Path]  # the files that a run writes, by key; the first is ``output``

    @property
    def partial(self) -> Path:
        """The file that stores the scores until the run has succeeded."""
        return Path(f"{self.outputs['output']}{PARTIAL}")

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """Return the config of a YAML file, whose folder is the start of relative paths."""
        file = Path(path)
        try:
            return _config(_content(file), file.parent)
        except ShroomError as error:
            raise ShroomError(f"{file}: {error}") from error


def _config(content: dict[str, Any], folder: Path) -> Config:
    check_settings("config", content, _TYPES)
    values = {key: converted(key, content.get(key), kind) for key, kind in _TYPES.items()}
    data = [folder / name for name in values["data"]]
    for path in data:
        if not path.exists():
            raise ShroomError(f"data: {path}: no such file or folder")
    scorers = [
        _built(folder, SCORERS, converted(f"scorers[{n}]", named, _Named), f"scorers[{n}]")
        for n, named in enumerate(values["scorers"] or [])
    ]
    ranker = _built(folder, RANKERS, values["ranker"], "ranker") if values["ranker"] else None
    outputs = {it: folder / values[it] for it in ("output", "ranked", "pairs") if values[it]}
    rankings = [*outputs][1:]
    if rankings and not ranker:
        raise ShroomError(f"{rankings[0]} requires a ranker; add one, or remove {rankings[0]}")
    if not ranker and not scorers:
        raise ShroomError(
            "no scorers and no ranker, so there is nothing to do; add a scorer or a ranker"
        )
    for field, n in Counter(field for scorer in scorers for field in scorer.fields).items():
        if n > 1:
            raise ShroomError(f"scorers: {n} scorers add {field}; keep one of them")
    config = Config([*map(str, data)], scorers, ranker, outputs)
    if len({path.resolve() for path in (*outputs.values(), config.partial)}) <= len(outputs):
        raise ShroomError(
            "the keys 'output', 'ranked' and 'pairs' must refer to different files, and "
            f"{config.partial} is reserved for the scores of an unfinished run; choose another file"
        )
    return config


def _content(file: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file; its values are mappings, lists, texts and numbers."""
    import yaml

    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ShroomError(error.strerror) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date that does not exist
        reason = " ".join(str(error).split())
        raise ShroomError(f"not valid YAML: {reason}; perhaps a text needs quotes") from error
    if not isinstance(content, dict):
        raise ShroomError(f"expected keys such as data, scorers and output, got {show(content)}")
    return {str(key): value for key, value in content.items()}


def _built(folder: Path, registry: Registry, named: _Named, place: str) -> Any:
    """Return the scorer or ranker of a name, or of a name with its settings."""
    ((name, values),) = ({named: None} if isinstance(named, str) else named).items()
    settings = {str(key): _beside(folder, value) for key, value in (values or {}).items()}
    try:
        return registry.make(name, **settings)
    except ShroomError as error:
        inside = f".{name}." if str(error).partition(":")[0] in settings else ": "
        raise ShroomError(f"{place}{inside}{error}") from error


def _beside(folder: Path, value: Any) -> Any:
    """Return a setting, with paths that begin with ``./`` or ``../`` relative to the config."""
    if isinstance(value, list):
        return [_beside(folder, item) for item in value]
    if isinstance(value, str) and value.startswith(("./", "../")):
        return str(folder / value)
    return value
