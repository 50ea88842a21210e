"""The config of ``shroom annotate``: which data, which scorers, which ranker, which output."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.annotate.base import RANKERS, SCORERS, Ranker, Scorer
from shroom.core.problems import ShroomError, nearest, printable, show
from shroom.inference.journal import PARTIAL

if TYPE_CHECKING:
    from shroom.core.registry import Registry

#: More than any config has: a file of more characters, or of more parts once its aliases are
#: written out, is a mistake, or made to fill the memory.
_CHARACTERS, _PARTS, _DEPTH = 100_000, 10_000, 20

#: The keys of a config, with what they are.
KEYS = {
    "data": "files or folders of generations",
    "scorers": "a list of scorers, in the order in which they run",
    "ranker": "a ranker",
    "output": "where the scored, or labelled, questions go",
    "ranked": "where the rankings of two or more go",
    "pairs": "where every two of each ranking go, as preference trainers read them",
}


@dataclass(frozen=True)
class Config:
    """What is to be done.

    Attributes
    ----------
    path : Path
        The config's own.
    data : tuple of str
        Files or folders of generations; of a config, relative to it.
    scorers : tuple of Scorer
        In the order in which they run.
    ranker : Ranker or None
        ``None`` for scores alone.
    output : Path
        Where the questions go.
    ranked, pairs : Path or None
        Where rankings go.
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
        """Where the scores are kept until the run has ended well."""
        return self.output.with_name(self.output.name + PARTIAL)

    @property
    def outputs(self) -> list[Path]:
        """Every file that is written."""
        return [path for path in (self.output, self.ranked, self.pairs) if path is not None]

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """Return the config of a YAML file.

        Raises
        ------
        ShroomError
            Where it cannot be read, or a key, name or setting is wrong: with the line, and the
            nearest that there is.
        """
        file = _File(Path(path))
        content = file.content
        for key in content:
            if key not in KEYS:
                near, known = nearest(str(key), KEYS), ", ".join(KEYS)
                said = f"no key '{printable(str(key))}' of a config;{near} there are: {known}"
                raise file.error((key,), said)
        for key in ("data", "output"):
            if content.get(key) is None:
                raise file.error((), f"no {key}; it needs {key}: {KEYS[key]}")
        listed = content.get("scorers")
        if listed is not None and not isinstance(listed, list):
            raise file.error(
                ("scorers",), f"scorers: expected {KEYS['scorers']}, got {show(listed)}"
            )
        made = [
            file.made(SCORERS, one, ("scorers", place)) for place, one in enumerate(listed or [])
        ]
        chosen = content.get("ranker")
        ranker = None if chosen is None else file.made(RANKERS, chosen, ("ranker",))
        output, ranked, pairs = (file.path_at(key) for key in ("output", "ranked", "pairs"))
        assert output is not None  # noqa: S101 - it is among the needed keys
        config = cls(Path(path), file.data(), tuple(made), ranker, output, ranked, pairs)
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
            said = f"has {len(text)} characters, and a config has at most {_CHARACTERS}"
            raise ShroomError(f"{path}: {said}; name a config, or take away what is none")
        content = self._parsed(text)
        if not isinstance(content, dict):
            raise ShroomError(
                f"{path}: expected keys such as data, scorers and output, got {show(content)}"
            )
        self.content = content

    def _parsed(self, text: str) -> Any:
        import yaml

        try:
            loader = yaml.SafeLoader(text)
        except yaml.reader.ReaderError as error:
            number = text.count("\n", 0, error.position) + 1
            said = f"the character U+{ord(text[error.position]):04X} is not allowed; take it out"
            raise ShroomError(f"{self.path}: line {number}: is not YAML: {said}") from error
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            self._note(node, ())
            return loader.construct_document(node)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f"line {mark.line + 1}: " if mark else ""
            reason = getattr(error, "problem", None) or str(error)
            raise ShroomError(f"{self.path}: {line}is not YAML: {reason}") from error
        except (ValueError, LookupError, AttributeError) as error:
            # PyYAML lets through what becomes of a date or number that is none.
            said = f"has a date or number that is none ({error}); put it in quotes if it is a text"
            raise ShroomError(f"{self.path}: {said}") from error
        finally:
            loader.dispose()

    def _note(self, node: Any, place: tuple[Any, ...]) -> None:
        """Note the line of each part, and refuse keys and texts that nothing can be called."""
        import yaml

        self.lines.setdefault(place, node.start_mark.line + 1)
        self.parts += 1
        if self.parts > _PARTS or len(place) > _DEPTH:
            said = f"a config has at most {_PARTS} parts, {_DEPTH} within each other"
            raise self.error(place[:2], f"{said}; leave aliases out")
        if isinstance(node, yaml.ScalarNode) and not _is_text(node.value):
            raise self.error(place, f"no path or name is {show(node.value)}")
        if isinstance(node, yaml.SequenceNode):
            for number, part in enumerate(node.value):
                self._note(part, (*place, number))
        elif isinstance(node, yaml.MappingNode):
            for key, part in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    raise self.error(place, "a key is no text; write 'key: value'")
                inner = (*place, key.value)
                if inner in self.lines:
                    self.lines[inner] = key.start_mark.line + 1
                    raise self.error(inner, f"the key {show(key.value)} is given twice")
                self.lines[inner] = key.start_mark.line + 1
                self._note(part, inner)

    def error(self, place: tuple[Any, ...], sentence: str) -> ShroomError:
        """Return what is told of a part of the file."""
        while place and place not in self.lines:
            place = place[:-1]
        line = f"line {self.lines[place]}: " if place else ""
        return ShroomError(f"{self.path}: {line}{sentence}")

    def made(self, registry: Registry[Any], given: Any, place: tuple[Any, ...]) -> Any:
        """Return what a name, or a name with its settings, stands for."""
        name, settings = given, None
        if isinstance(given, dict) and len(given) == 1:
            ((name, settings),) = given.items()
        if not isinstance(name, str) or not isinstance(settings or {}, dict):
            expected = f"a {registry.kind}'s name, or one name with its settings"
            raise self.error(place, f"expected {expected}, got {show(given)}")
        settings = {str(key): self._beside(value) for key, value in (settings or {}).items()}
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
        """Return a setting, paths that begin with ``./`` or ``../`` relative to the config."""
        if isinstance(value, list):
            return [self._beside(one) for one in value]
        if isinstance(value, str) and value.startswith(("./", "../")):
            return str(self.path.parent / value)
        return value

    def path_at(self, key: str) -> Path | None:
        """Return a path relative to the config."""
        value = self.content.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.error((key,), f"{key}: expected a path, got {show(value)}")
        return self.path.parent / value

    def data(self) -> tuple[str, ...]:
        """Return the paths of the data."""
        value = self.content["data"]
        listed = value if isinstance(value, list) else [value]
        if not listed or not all(isinstance(one, str) and one.strip() for one in listed):
            raise self.error(("data",), f"data: expected {KEYS['data']}, got {show(value)}")
        return tuple(str(self.path.parent / one) for one in listed)

    def check(self, config: Config) -> None:
        """Refuse what cannot be meant."""
        if config.ranker is None:
            for key in ("ranked", "pairs"):
                if self.content.get(key) is not None:
                    raise self.error((key,), f"{key}: needs a ranker; add one, or leave it out")
        if not config.scorers and config.ranker is None:
            raise self.error((), "neither scorers nor a ranker; there is nothing to do")
        made: dict[str, int] = {}
        for place, scorer in enumerate(config.scorers):
            for field in scorer.fields:
                if field in made:
                    said = f"{scorer.name}: adds {field}, as one before does"
                    raise self.error(("scorers", place), said)
                made[field] = place
        resolved = [path.resolve() for path in config.outputs]
        if len(set(resolved)) < len(resolved):
            raise self.error((), "two of output, ranked and pairs are one file")
        for key in ("output", "ranked", "pairs"):
            path = self.path_at(key)
            if path is not None and path.resolve() == config.log.resolve():
                said = f"{key}: {path} is where a run keeps its scores until it ends"
                raise self.error((key,), f"{said}; name another file")


def _is_text(value: str) -> bool:
    """Return whether a path can be called so: without zero characters and half surrogates."""
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in value)
