"""A YAML file, with the line of each of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError, show

if TYPE_CHECKING:
    from pathlib import Path

#: A file of more characters is not a config.
_CHARACTERS = 100_000


class YamlFile:
    """The content of a YAML file, with the line of each of its parts.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    content : object
        What the file has: mappings, lists, texts, numbers.
    lines : dict of int
        The line of each part, by the keys and places that lead to it.

    Raises
    ------
    ShroomError
        Where the file cannot be read or is not YAML, names a key twice, repeats a list or a
        mapping by an alias, or has a text that cannot be a path or name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[tuple[Any, ...], int] = {}
        self._recorded: set[int] = set()
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
            raise ShroomError(f"{path}: {reason}") from error
        if len(text) > _CHARACTERS:
            message = f"has {len(text)} characters, and a config has at most {_CHARACTERS}"
            raise ShroomError(f"{path}: {message}; name a config, or shorten it")
        self.content = self._parsed(text)

    def line_of(self, place: tuple[Any, ...]) -> str:
        """Return the line of a part, or of the nearest one around it, for messages."""
        while place and place not in self.lines:
            place = place[:-1]
        return f"line {self.lines[place]}: " if place else ""

    def error(self, place: tuple[Any, ...], sentence: str) -> ShroomError:
        """Return an error at a part of the file, with its line."""
        return ShroomError(f"{self.path}: {self.line_of(place)}{sentence}")

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
        if isinstance(node, yaml.ScalarNode):
            # A path has neither zero characters nor lone surrogates.
            if any(
                character == "\0" or "\ud800" <= character <= "\udfff" for character in node.value
            ):
                raise self.error(place, f"{show(node.value)} cannot be a path or name")
            return
        if id(node) in self._recorded:  # repeated lists can fill the memory
            raise self.error(
                place, "an alias can only stand for a text or a number; remove aliases"
            )
        self._recorded.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            for number, part in enumerate(node.value):
                self._record(part, (*place, number))
            return
        for key, part in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.error(place, "a key is not a text; write 'key: value'")
            inner = (*place, key.value)
            given_before = inner in self.lines
            self.lines[inner] = key.start_mark.line + 1
            if given_before:
                raise self.error(inner, f"the key {show(key.value)} is given twice")
            self._record(part, inner)
