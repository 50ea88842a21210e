"""The interface of language models: prompts, their cost, and the storage of answers."""

from __future__ import annotations

import json
import string
import zlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from shroom.core.printing import counted
from shroom.core.problems import ShroomError, nearest
from shroom.inference.language_model.reply import Reply
from shroom.inference.store import Key, Store
from shroom.inference.tokenization import plain

#: The version of what is kept of an answer: answers of other versions are requested again.
_VERSION = 1
Of = TypeVar("Of")


@dataclass(frozen=True)
class Template:
    """The literal texts of a prompt, each with the placeholder after it."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def parse(cls, text: str, file: str, places: Sequence[str], needed: Sequence[str]) -> Template:
        """Return the template in a text with placeholders ``places``, some of them ``needed``."""
        try:
            fields = list(string.Formatter().parse(text))
        except ValueError as error:
            raise ShroomError(
                f"{file}: {error}; write placeholders in braces, such as {{{places[0]}}}, and "
                "double all other braces: {{ and }}"
            ) from error
        for _, place, form, conversion in fields:
            if place is not None and (place not in places or form or conversion):
                listed = ", ".join(f"{{{name}}}" for name in places)
                raise ShroomError(
                    f"{file}: unknown placeholder {{{place}}};{nearest(place, places)} a template "
                    f"may contain {listed}"
                )
        template = cls(tuple((literal, place) for literal, place, *_ in fields))
        for place in needed:
            if not template.has(place):
                raise ShroomError(f"{file}: the template needs the placeholder {{{place}}}")
        return template

    def has(self, place: str) -> bool:
        """Return whether the template has a placeholder."""
        return any(place == other for _, other in self.parts)

    def fill(self, **texts: str) -> str:
        """Return the prompt; unpaired surrogates become question marks."""
        return plain("".join(text + (texts[place] if place else "") for text, place in self.parts))


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
        return dict.fromkeys(self.variants, self._parsed(path))

    def _parsed(self, path: Path) -> Template:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ShroomError(
                f"template {path}: cannot be read as UTF-8 text: {error}; expected "
                f"{', '.join(self.built_in)}, a file or a folder"
            ) from error
        # A file ends with a line break; a prompt that waits for the answer does not.
        return Template.parse(text.rstrip("\r\n"), str(path), self.places, self.needed)


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled."""

    temperature: float = 0.0
    max_tokens: int = 512
    top_p: float | None = None
    seed: int = 0


class Question(NamedTuple):
    """A prompt, and the number of the answer if several are requested."""

    prompt: str
    number: int | None = None


def tokens_in(text: str) -> int:
    """Return an estimate of a text's tokens: a quarter of its bytes, in any script."""
    return -(-len(text.encode("utf-8", "replace")) // 4)


@dataclass(frozen=True)
class Estimate:
    """The requests of a run, its tokens (for output the maximum) and its maximum cost."""

    requests: int
    cached: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    prompt: str

    def __str__(self) -> str:
        requests = counted(self.requests, "request")
        cached = f"{counted(self.cached, 'more answer')} from the cache"
        up_to = f"an estimated cost of up to {self.cost:.4g}" if self.cost is not None else ""
        cost = up_to or "unknown cost (set price_in and price_out)"
        return (
            f"{requests} ({cached}), about {self.tokens_in} input tokens, at most "
            f"{self.tokens_out} output tokens, {cost}\n\n{self.prompt}"
        )


def in_order(answers: Generator[tuple[int, Reply | ShroomError]]) -> list[Reply]:
    """Return the answers of a model in the order of the questions; raise the first failure."""
    replies: dict[int, Reply] = {}
    with closing(answers):
        for place, reply in answers:
            if isinstance(reply, ShroomError):
                raise reply
            replies[place] = reply
    return [replies[place] for place in sorted(replies)]


def stored(stores: Iterable[Store], scope: str, keys: Iterable[Key]) -> dict[Key, Reply]:
    """Return the stored answers by key."""
    scope, replies, keys = f"reply {_VERSION} {scope}", {}, list(keys)
    for store in stores:
        values = store.get(scope, [key for key in keys if key not in replies])
        for key, value in values.items():
            replies[key] = msgspec.convert(json.loads(zlib.decompress(value)), Reply)
    return replies


def store(stores: Iterable[Store], scope: str, key: Key, reply: Reply) -> None:
    """Store an answer, unless it is empty for another reason than ``max_tokens``."""
    if not (reply.text.strip() or reply.unfinished):
        return
    value = zlib.compress(json.dumps(reply).encode())
    for one in stores:
        one.put(f"reply {_VERSION} {scope}", {key: value})


def places_of(items: Iterable[Of]) -> dict[Of, list[int]]:
    """Return the places of each distinct item."""
    places: dict[Of, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(item, []).append(place)
    return places
