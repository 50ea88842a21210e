"""The config of ``shroom annotate``: its data, scorers, ranker and output files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, Union

import msgspec
from msgspec import Meta

from shroom.annotate import source_config
from shroom.annotate.base import SCORERS, Scorer
from shroom.annotate.rankers import RANKERS, Ranker
from shroom.annotate.yaml_lines import YamlFile
from shroom.core.problems import ShroomError, nearest, printable, show
from shroom.inference.resume_log import PARTIAL

if TYPE_CHECKING:
    from shroom.core.registry import Registry

#: The keys of a config, with what each of them expects.
KEYS = {
    "data": "files or folders of generations",
    "scorers": "a list of scorers, in the order in which they run",
    "ranker": "a ranker's name, or one name with its settings",
    "output": "a path, for the scored, or labelled, questions",
    "ranked": "a path, for the rankings of two or more",
    "pairs": "a path, for every two of each ranking, as preference trainers read them",
}
_Text = Annotated[str, Meta(pattern=r"\S")]
_Texts = Union[_Text, Annotated[list[_Text], Meta(min_length=1)]]
_Settings = Optional[dict[Any, Any]]
#: A name, or one name with its settings.
_Named = Union[str, Annotated[dict[str, _Settings], Meta(min_length=1, max_length=1)]]
_Path = Optional[_Text]
_Ranker = Optional[_Named]
_Scorers = Optional[list[_Named]]


class _Content(msgspec.Struct):
    """The types of the values in a config."""

    data: _Texts
    output: _Text
    scorers: _Scorers = None
    ranker: _Ranker = None
    ranked: _Path = None
    pairs: _Path = None


@dataclass(frozen=True)
class Config:
    """The settings of one run.

    Attributes
    ----------
    data : tuple of str
        Files or folders of generations.
    scorers : tuple of Scorer
        In the order in which they run.
    ranker : Ranker or None
        ``None`` to write only scores.
    output : Path
        The file that the questions are written to.
    ranked, pairs : Path or None
        The files that the rankings are written to.
    """

    data: tuple[str, ...]
    scorers: tuple[Scorer, ...]
    ranker: Ranker | None
    output: Path
    ranked: Path | None = None
    pairs: Path | None = None

    @property
    def log(self) -> Path:
        """The file that keeps the scores until the run has succeeded."""
        return self.output.with_name(self.output.name + PARTIAL)

    @property
    def outputs(self) -> dict[str, Path]:
        """The files that a run writes, by key."""
        files = {"output": self.output, "ranked": self.ranked, "pairs": self.pairs}
        return {key: path for key, path in files.items() if path is not None}

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """Return the config of a YAML file, in our form or in that of the source's program.

        Raises
        ------
        ShroomError
            Where it cannot be read, or a key, name or setting is wrong: with its line, and the
            nearest valid name.
        """
        file = YamlFile(Path(path))
        content, folder = file.content, file.path.parent
        if not isinstance(content, dict):
            expected = "keys such as data, scorers and output"
            raise ShroomError(f"{file.path}: expected {expected}, got {show(content)}")
        if source_config.is_one(content):
            # The source's program reads paths from where it runs.
            content, folder = source_config.translated(file), Path()
        checked = _checked(file, content)
        config = cls(
            data=_data(file, folder, checked.data),
            scorers=tuple(
                _built(file, SCORERS, scorer, ("scorers", place))
                for place, scorer in enumerate(checked.scorers or [])
            ),
            ranker=_built(file, RANKERS, checked.ranker, ("ranker",)) if checked.ranker else None,
            output=folder / checked.output,
            ranked=folder / checked.ranked if checked.ranked else None,
            pairs=folder / checked.pairs if checked.pairs else None,
        )
        _refuse_contradictions(file, config)
        return config


def _checked(file: YamlFile, content: dict[str, Any]) -> _Content:
    """Return the content, once its keys and the types of their values are checked."""
    for key in content:
        if key not in KEYS:
            near, names = nearest(str(key), KEYS), ", ".join(KEYS)
            message = f"a config has no key '{printable(str(key))}';{near} there are: {names}"
            raise file.error((key,), message)
    for key in ("data", "output"):
        if content.get(key) is None:
            raise file.error((), f"no {key}; it needs {key}: {KEYS[key]}")
    try:
        return msgspec.convert(content, _Content)
    except msgspec.ValidationError as error:
        key, *places = re.findall(r"\w+", str(error).partition("`$")[2])
        place = (key, *map(int, filter(str.isdigit, places)))
        value, expected = content[key], f"{key}: expected {KEYS[key]}"
        if key == "scorers" and len(place) > 1:
            value = value[place[1]]
            expected = "expected a scorer's name, or one name with its settings"
        raise file.error(place, f"{expected}, got {show(value)}") from error


def _data(file: YamlFile, folder: Path, named: str | list[str]) -> tuple[str, ...]:
    """Return the paths of the data, which must exist."""
    paths = [folder / name for name in ([named] if isinstance(named, str) else named)]
    for place, path in enumerate(paths):
        if not path.exists():
            raise file.error(("data", place), f"data: there is no such file or folder: {path}")
    return tuple(map(str, paths))


def _built(file: YamlFile, registry: Registry[Any], named: _Named, place: tuple[Any, ...]) -> Any:
    """Return the scorer or ranker of a name, or of a name with its settings."""
    ((name, values),) = ({named: None} if isinstance(named, str) else named).items()
    settings = {str(key): _beside(file, value) for key, value in (values or {}).items()}
    try:
        return registry.make(name, **settings)
    except ShroomError as error:
        wrong = [
            key for key in settings if f"'{key}'" in str(error) or str(error).startswith(f"{key}:")
        ]
        raise file.error((*place, name, *wrong[:1]), str(error)) from error


def _beside(file: YamlFile, value: Any) -> Any:
    """Return a setting, with paths that begin with ``./`` or ``../`` relative to the config."""
    if isinstance(value, list):
        return [_beside(file, item) for item in value]
    if isinstance(value, str) and value.startswith(("./", "../")):
        return str(file.path.parent / value)
    return value


def _refuse_contradictions(file: YamlFile, config: Config) -> None:
    """Refuse combinations of settings that cannot be intended."""
    if config.ranker is None:
        for key in list(config.outputs)[1:]:
            raise file.error((key,), f"{key}: needs a ranker; add one, or remove {key}")
        if not config.scorers:
            raise file.error((), "neither scorers nor a ranker, so there is nothing to do")
    fields: set[str] = set()
    for place, scorer in enumerate(config.scorers):
        doubled = [field for field in scorer.fields if field in fields]
        if doubled:
            message = f"{scorer.name}: adds {doubled[0]}, as an earlier scorer does"
            raise file.error(("scorers", place), message)
        fields.update(scorer.fields)
    resolved = {key: path.resolve() for key, path in config.outputs.items()}
    if len(set(resolved.values())) < len(resolved):
        raise file.error((), "two of output, ranked and pairs are the same file")
    for key, path in config.outputs.items():
        if resolved[key] == config.log.resolve():
            message = f"{key}: {path} is where a run keeps its scores until it ends"
            raise file.error((key,), f"{message}; name another file")
