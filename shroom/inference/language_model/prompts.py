"""Prompt templates: text files with placeholders."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shroom.core.problems import ShroomError, nearest


@dataclass(frozen=True)
class Template:
    """The literal texts of a prompt, each with the placeholder after it."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def parse(cls, text: str, file: str, places: Sequence[str], needed: Sequence[str]) -> Template:
        """Return the template in a text with placeholders ``places``, some of them ``needed``."""
        parts = []
        try:
            for literal, place, form, conversion in string.Formatter().parse(text):
                if place is not None and (place not in places or form or conversion):
                    listed = ", ".join(f"{{{name}}}" for name in places)
                    raise ShroomError(
                        f"{file}: unknown placeholder {{{place}}};"
                        f"{nearest(place, places)} a template may contain {listed}"
                    )
                parts.append((literal, place))
        except ValueError as error:
            raise ShroomError(
                f"{file}: {error}; write placeholders in braces, such as {{{places[0]}}}, and "
                "double all other braces: {{ and }}"
            ) from error
        template = cls(tuple(parts))
        for place in needed:
            if not template.has(place):
                raise ShroomError(f"{file}: the template needs the placeholder {{{place}}}")
        return template

    def has(self, place: str) -> bool:
        """Return whether the template has a placeholder."""
        return any(place == other for _, other in self.parts)

    def fill(self, **texts: str) -> str:
        """Return the prompt; unpaired surrogates become question marks."""
        filled = "".join(text + (texts[place] if place else "") for text, place in self.parts)
        return filled.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class Prompt:
    """A template and its texts; ``context`` is truncated if the prompt is too long."""

    template: Template
    place: str
    context: str
    others: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return self.text(len(self.context))

    def text(self, length: int) -> str:
        """Return the prompt with the first ``length`` characters of the context."""
        return self.template.fill(**{self.place: self.context[:length]}, **dict(self.others))


@dataclass(frozen=True)
class TemplateKind:
    """The built-in templates of one kind, its variants (tasks, languages) and placeholders."""

    built_in: Mapping[str, Path]
    variants: tuple[str, ...]
    places: tuple[str, ...]
    needed: tuple[str, ...]

    def read(self, name: str) -> dict[str, Template]:
        """Return the template of each variant, by a built-in name, a file for all, or a folder."""
        path = self.built_in.get(name, Path(name).expanduser())
        if path.is_dir():
            return {variant: self._parsed(path / f"{variant}.txt") for variant in self.variants}
        if not path.exists():
            raise ShroomError(
                f"template {name}: no such file or folder;{nearest(name, self.built_in)} "
                f"the built-in templates are {', '.join(self.built_in)}"
            )
        return dict.fromkeys(self.variants, self._parsed(path))

    def _parsed(self, path: Path) -> Template:
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise ShroomError(
                f"{path}: no such file; a template folder must contain the files "
                + ", ".join(f"{variant}.txt" for variant in self.variants)
            ) from error
        except (OSError, ValueError) as error:
            raise ShroomError(f"{path}: cannot be read as UTF-8 text: {error}") from error
        # A file ends with a line break; a prompt that waits for the answer does not.
        return Template.parse(text.rstrip("\r\n"), str(path), self.places, self.needed)
