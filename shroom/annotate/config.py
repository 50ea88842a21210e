"""The config of ``shroom annotate``: its data, scorers, ranker and output files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from shroom.annotate.base import SCORERS, Scorer
from shroom.annotate.rankers import RANKERS, Ranker
from shroom.core.problems import ShroomError, show
from shroom.core.registry import Registry, check_settings
from shroom.detectors.settings import File, Name, converted
from shroom.inference.store import PARTIAL

#: A file of more characters is not a config.
_CHARACTERS = 100_000
_Named = Annotated[
    str | Annotated[dict[str, dict[Any, Any] | None], Meta(min_length=1, max_length=1)],
    Meta(title="a name, or a name with its settings"),
]
#: The types of the values by key.
_TYPES = {
    "data": Annotated[
        tuple[Name, ...], Meta(min_length=1, title="files or folders of generations")
    ],
    "output": File,
    "scorers": Annotated[list[Any], Meta(title="a list of scorers, in the order to run them")]
    | None,
    "ranker": _Named | None,
    "ranked": File | None,
    "pairs": File | None,
}


@dataclass(frozen=True)
class Config:
    """The settings of one run."""

    data: tuple[str, ...]  # files or folders of generations
    scorers: tuple[Scorer, ...]
    ranker: Ranker | None  # ``None`` to write only scores
    output: Path  # the file of the questions
    ranked: Path | None = None  # the files of the rankings
    pairs: Path | None = None

    @property
    def partial(self) -> Path:
        """The file that stores the scores until the run has succeeded."""
        return self.output.with_name(self.output.name + PARTIAL)

    @property
    def outputs(self) -> dict[str, Path]:
        """The files that a run writes, by key."""
        files = {"output": self.output, "ranked": self.ranked, "pairs": self.pairs}
        return {key: path for key, path in files.items() if path is not None}

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """Return the config of a YAML file."""
        file = Path(path)
        try:
            return _config(_content(file), file.parent)
        except ShroomError as error:
            raise ShroomError(f"{file}: {error}") from error


def _content(file: Path) -> Any:
    """Return the content of a YAML file: mappings, lists, texts and numbers."""
    import yaml

    class Loader(yaml.SafeLoader):
        """A safe loader that refuses doubled keys."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
            counts = Counter(str(key.value) for key, _ in node.value)
            for key in (key for key, n in counts.items() if n > 1):
                raise ShroomError(f"the key {show(key)} appears more than once; keep one")
            return super().construct_mapping(node, deep)

    try:
        text = file.read_text(encoding="utf-8-sig")
        if len(text) > _CHARACTERS:
            size = len(text)
            message = f"the file has {size} characters, but a config may have at most {_CHARACTERS}"
            raise ShroomError(f"{message}; check the path, or shorten the config")
        for event in yaml.parse(text, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):  # nested repetition could fill the memory
                raise ShroomError("aliases are not supported; repeat the value instead")
            # A path has neither zero characters nor lone surrogates.
            value = getattr(event, "value", None) or ""
            if re.search("[\0\ud800-\udfff]", value):
                raise ShroomError(f"{show(value)} cannot be a path or name")
        return yaml.load(text, Loader)  # noqa: S506 - a safe one
    except OSError as error:
        raise ShroomError(error.strerror) from error
    except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:
        # PyYAML passes on the errors of Python's date and number types.
        reason = " ".join(str(error).split())
        raise ShroomError(f"not valid YAML: {reason}; perhaps a text needs quotes") from error


def _config(content: Any, folder: Path) -> Config:
    if not isinstance(content, dict):
        raise ShroomError(f"expected keys such as data, scorers and output, got {show(content)}")
    given = {str(key): value for key, value in content.items()}
    check_settings("config", given, _TYPES)
    values = {key: converted(key, given.get(key), kind) for key, kind in _TYPES.items()}
    paths = [folder / name for name in values["data"]]
    for path in paths:
        if not path.exists():
            raise ShroomError(f"data: {path}: no such file or folder")
    scorers = [
        converted(f"scorers[{n}]", it, _Named) for n, it in enumerate(values["scorers"] or [])
    ]
    config = Config(
        data=tuple(map(str, paths)),
        scorers=tuple(_built(folder, SCORERS, it, f"scorers[{n}]") for n, it in enumerate(scorers)),
        ranker=_built(folder, RANKERS, values["ranker"], "ranker") if values["ranker"] else None,
        **{key: folder / values[key] for key in ("output", "ranked", "pairs") if values[key]},
    )
    _refuse_contradictions(config)
    return config


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


def _refuse_contradictions(config: Config) -> None:
    """Refuse combinations of settings that cannot be intended."""
    if config.ranker is None:
        for key in list(config.outputs)[1:]:
            raise ShroomError(f"{key} requires a ranker; add one, or remove {key}")
        if not config.scorers:
            raise ShroomError(
                "no scorers and no ranker, so there is nothing to do; add a scorer or a ranker"
            )
    fields: set[str] = set()
    for place, scorer in enumerate(config.scorers):
        doubled = [field for field in scorer.fields if field in fields]
        if doubled:
            where = f"scorers[{place}].{scorer.name}"
            message = f"{where}: an earlier scorer already adds {doubled[0]}"
            raise ShroomError(f"{message}; remove one of the two scorers")
        fields.update(scorer.fields)
    resolved = {key: path.resolve() for key, path in config.outputs.items()}
    if len(set(resolved.values())) < len(resolved):
        raise ShroomError(
            "the keys 'output', 'ranked' and 'pairs' must refer to different files; choose "
            "another file"
        )
    for key, path in config.outputs.items():
        if resolved[key] == config.partial.resolve():
            message = f"{key}: {path} is reserved for the scores of an unfinished run"
            raise ShroomError(f"{message}; choose another file")
