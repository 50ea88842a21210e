"""The config of ``shroom annotate``: its data, scorers, ranker and output files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, Union

import msgspec
from msgspec import Meta

from shroom.annotate.base import RANKERS, SCORERS, Ranker, Scorer
from shroom.core.problems import ShroomError, nearest, printable, show
from shroom.inference.resume_log import PARTIAL

if TYPE_CHECKING:
    from shroom.core.registry import Registry

#: A file of more characters, or of more parts once its aliases are expanded, is a mistake, or an
#: attempt to fill the memory.
_CHARACTERS, _PARTS, _DEPTH = 100_000, 10_000, 20

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
    path : Path
        The path of the config.
    data : tuple of str
        Files or folders of generations.
    scorers : tuple of Scorer
        In the order in which they run.
    ranker : Ranker or None
        ``None`` for scores alone.
    output : Path
        The file that the questions are written to.
    ranked, pairs : Path or None
        The files that the rankings are written to.
    """

    path: Path
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
    def outputs(self) -> list[Path]:
        """The files that a run writes."""
        return [path for path in (self.output, self.ranked, self.pairs) if path is not None]

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """Return the config of a YAML file.

        Raises
        ------
        ShroomError
            Where it cannot be read, or a key, name or setting is wrong: with its line, and the
            nearest valid name.
        """
        file = _File(Path(path))
        content = file.content
        scorers = [
            file.made(SCORERS, scorer, ("scorers", place))
            for place, scorer in enumerate(content.scorers or [])
        ]
        named = content.ranker
        ranker = None if named is None else file.made(RANKERS, named, ("ranker",))
        data = content.data if isinstance(content.data, list) else [content.data]
        folder = file.path.parent
        config = cls(
            path=file.path,
            data=tuple(str(folder / name) for name in data),
            scorers=tuple(scorers),
            ranker=ranker,
            output=folder / content.output,
            ranked=folder / content.ranked if content.ranked else None,
            pairs=folder / content.pairs if content.pairs else None,
        )
        file.check(config)
        return config


class _File:
    """A YAML file, with the line of each of its parts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[tuple[Any, ...], int] = {}
        self.parts = 0
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
            raise ShroomError(f"{path}: {reason}") from error
        if len(text) > _CHARACTERS:
            message = f"has {len(text)} characters, and a config has at most {_CHARACTERS}"
            raise ShroomError(f"{path}: {message}; name a config, or shorten it")
        self.content = self._converted(self._parsed(text))

    def _converted(self, content: Any) -> _Content:
        """Return what the file has, once its keys and the types of their values are checked."""
        if not isinstance(content, dict):
            expected = "keys such as data, scorers and output"
            raise ShroomError(f"{self.path}: expected {expected}, got {show(content)}")
        for key in content:
            if key not in KEYS:
                near, known = nearest(str(key), KEYS), ", ".join(KEYS)
                message = f"a config has no key '{printable(str(key))}';{near} there are: {known}"
                raise self.error((key,), message)
        for key in ("data", "output"):
            if content.get(key) is None:
                raise self.error((), f"no {key}; it needs {key}: {KEYS[key]}")
        try:
            return msgspec.convert(content, _Content)
        except msgspec.ValidationError as error:
            key, *places = re.findall(r"\w+", str(error).partition("`$")[2])
            place = (key, *map(int, filter(str.isdigit, places)))
            value, expected = content[key], f"{key}: expected {KEYS[key]}"
            if key == "scorers" and len(place) > 1:
                value = value[place[1]]
                expected = "expected a scorer's name, or one name with its settings"
            raise self.error(place, f"{expected}, got {show(value)}") from error

    def _parsed(self, text: str) -> Any:
        import yaml

        try:
            loader = yaml.SafeLoader(text)
        except yaml.reader.ReaderError as error:
            number = text.count("\n", 0, error.position) + 1
            reason = f"the character U+{ord(text[error.position]):04X} is not allowed; remove it"
            raise ShroomError(f"{self.path}: line {number}: is not YAML: {reason}") from error
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            self._record(node, ())
            return loader.construct_document(node)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f"line {mark.line + 1}: " if mark else ""
            reason = getattr(error, "problem", None) or str(error)
            raise ShroomError(f"{self.path}: {line}is not YAML: {reason}") from error
        except (ValueError, LookupError, AttributeError) as error:
            # PyYAML passes on the errors of Python's date and number types.
            message = f"has an invalid date or number ({error}); put it in quotes if it is a text"
            raise ShroomError(f"{self.path}: {message}") from error
        finally:
            loader.dispose()

    def _record(self, node: Any, place: tuple[Any, ...]) -> None:
        """Record the line of each part, and refuse keys and texts that cannot be names."""
        import yaml

        self.lines.setdefault(place, node.start_mark.line + 1)
        self.parts += 1
        if self.parts > _PARTS or len(place) > _DEPTH:
            message = f"a config has at most {_PARTS} parts, nested at most {_DEPTH} deep"
            raise self.error(place[:2], f"{message}; remove aliases")
        if isinstance(node, yaml.ScalarNode) and not _is_text(node.value):
            raise self.error(place, f"{show(node.value)} cannot be a path or name")
        if isinstance(node, yaml.SequenceNode):
            for number, part in enumerate(node.value):
                self._record(part, (*place, number))
        elif isinstance(node, yaml.MappingNode):
            for key, part in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise self.error(place, "a key is not a text; write 'key: value'")
                inner = (*place, key.value)
                if inner in self.lines:
                    self.lines[inner] = key.start_mark.line + 1
                    raise self.error(inner, f"the key {show(key.value)} is given twice")
                self.lines[inner] = key.start_mark.line + 1
                self._record(part, inner)

    def error(self, place: tuple[Any, ...], sentence: str) -> ShroomError:
        """Return an error at a part of the file, with its line."""
        while place and place not in self.lines:
            place = place[:-1]
        line = f"line {self.lines[place]}: " if place else ""
        return ShroomError(f"{self.path}: {line}{sentence}")

    def made(self, registry: Registry[Any], named: _Named, place: tuple[Any, ...]) -> Any:
        """Return the scorer or ranker of a name, or of a name with its settings."""
        pairs = {named: None} if isinstance(named, str) else named
        ((name, given),) = pairs.items()
        settings = {str(key): self._beside(value) for key, value in (given or {}).items()}
        try:
            return registry.make(name, **settings)
        except ShroomError as error:
            wrong = [
                key
                for key in settings
                if f"'{key}'" in str(error) or str(error).startswith(f"{key}:")
            ]
            raise self.error((*place, name, *wrong[:1]), str(error)) from error

    def _beside(self, value: Any) -> Any:
        """Return a setting, with paths that begin with ``./`` or ``../`` relative to the config."""
        if isinstance(value, list):
            return [self._beside(one) for one in value]
        if isinstance(value, str) and value.startswith(("./", "../")):
            return str(self.path.parent / value)
        return value

    def check(self, config: Config) -> None:
        """Refuse combinations of settings that cannot be intended."""
        if config.ranker is None:
            for key in ("ranked", "pairs"):
                if getattr(config, key) is not None:
                    raise self.error((key,), f"{key}: needs a ranker; add one, or remove {key}")
        if not config.scorers and config.ranker is None:
            raise self.error((), "neither scorers nor a ranker, so there is nothing to do")
        fields: set[str] = set()
        for place, scorer in enumerate(config.scorers):
            for field in scorer.fields:
                if field in fields:
                    message = f"{scorer.name}: adds {field}, as an earlier scorer does"
                    raise self.error(("scorers", place), message)
                fields.add(field)
        resolved = [path.resolve() for path in config.outputs]
        if len(set(resolved)) < len(resolved):
            raise self.error((), "two of output, ranked and pairs are the same file")
        for key in ("output", "ranked", "pairs"):
            path = getattr(config, key)
            if path is not None and path.resolve() == config.log.resolve():
                message = f"{key}: {path} is where a run keeps its scores until it ends"
                raise self.error((key,), f"{message}; name another file")


def _is_text(value: str) -> bool:
    """Return whether a path can have this name: without zero characters and lone surrogates."""
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value)
