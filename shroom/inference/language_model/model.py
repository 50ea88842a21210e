"""The interface of language models: prompts, answers without thoughts, cost, and storage."""

from __future__ import annotations

import json
import math
import re
import string
import zlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from shroom.core.printing import counted
from shroom.core.problems import ShroomError, nearest, show
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


#: How vocabularies write blanks and line breaks at the start of a token.
BLANKS = "Ġ▁Ċĉ"
_TAG = r"(?:\w+:)?(?:think(?:ing)?|thought|reasoning)\|?[>\]▷]"
# A server that leaves out special tokens writes the channels of gpt-oss as plain words.
_CHANNEL = r"<\|channel\|>\s*final[^<]*<\|message\|>|(?<!\s)assistantfinal(?=\S)"
_END = rf"[<\[◁]\|?(?:/|END_){_TAG}|{_CHANNEL}"
_START = rf"[<\[◁]\|?(?:START_)?{_TAG}|<\|channel\|>"
#: The thought of a reasoning model, with its end; and the start of a thought.
_THOUGHT = re.compile(rf"^.*(?:{_END})", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(rf"[\s{BLANKS}]*(?:<\|start\|>assistant)?(?:{_START})", re.IGNORECASE)
_OPENED = re.compile(rf"(?:{_START})\s*$", re.IGNORECASE)
#: Errors raised by reading a response of an unexpected form.
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


class Step(NamedTuple):
    """A token of an answer with its log-probability, and the likeliest alternatives."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Reply(NamedTuple):
    """An answer without a thought before it; empty if the thought is unfinished."""

    # ``tokens`` are of input and output. ``unfinished``: a larger ``max_tokens`` would give more of
    # it.

    text: str
    steps: tuple[Step, ...] = ()
    tokens: tuple[int, int] | None = None
    unfinished: bool = False


def reply(
    text: str,
    steps: Sequence[Step] = (),
    tokens: tuple[int, int] | None = None,
    *,
    cut: bool = False,
) -> Reply:
    """Return the answer in a model's output, which may begin with thoughts."""
    start = _end_of_thought(text)
    first = _end_of_thought("".join(step.token for step in steps))
    if start is None or first is None:
        steps, cut = (), cut or start is None
    else:
        starts = accumulate((len(step.token) for step in steps), initial=0)
        steps = tuple(step for step, place in zip(steps, starts) if place >= first)
    return Reply("" if start is None else text[start:], tuple(steps), tokens, cut)


def _end_of_thought(text: str) -> int | None:
    """Return the place at which the answer begins; ``None`` if the thought is unfinished."""
    match = _THOUGHT.match(text)
    end = match.end() if match else 0
    return None if _OPEN.match(text, end) else end


def opened_thought(prompt: str) -> str:
    """Return the mark with which a prompt opens a thought; an empty text if it opens none."""
    match = _OPENED.search(prompt)
    return match[0] if match else ""


def bare(token: str) -> str:
    """Return a token in lower case, without blanks and punctuation around it."""
    return token.strip().strip(BLANKS).strip(" \t\r\n.,:;!?\"'`*_()[]“”{}，。：！").lower()


def reply_of(response: Any) -> Reply:
    """Return the answer in a response; it is unfinished if there is only a separate thought."""
    try:
        choice = response["choices"][0]
        message = choice.get("message") or {}
        text = str(message.get("content", choice.get("text")) or "")
        thought = message.get("reasoning_content") or message.get("reasoning")
    except _UNREADABLE as error:
        raise ShroomError(
            f"the response of the endpoint contains no answer: {show(response)}"
        ) from error
    if not text.strip():
        text = str(message.get("refusal") or (f"<think>{thought}" if thought else text))
    cut = choice.get("finish_reason") == "length"
    return reply(text, _steps(choice.get("logprobs") or {}), _usage(response), cut=cut)


def _steps(logprobs: dict[str, Any]) -> list[Step]:
    """Return the tokens of a response; none without log-probabilities."""
    pairs = itemgetter("token", "logprob")
    try:
        if content := logprobs.get("content"):
            return [_step(pairs(one), map(pairs, one.get("top_logprobs") or ())) for one in content]
        values = logprobs.get("token_logprobs") or ()
        rows = zip(logprobs["tokens"] if values else (), values)
        tops = logprobs.get("top_logprobs") or repeat(None)
        return [_step(row, (top or {}).items()) for row, top in zip(rows, tops)]
    except _UNREADABLE as error:
        raise ShroomError(
            "the log-probabilities in the endpoint's response cannot be read: "
            f"{show(logprobs, 120)}; use a server that returns finite numbers"
        ) from error


def _step(pair: tuple[Any, Any], top: Iterable[tuple[Any, Any]]) -> Step:
    pairs = []
    for name, value in [pair, *top]:
        number = float(value)
        if not isinstance(name, str) or math.isnan(number) or number == math.inf:
            raise ValueError("expected a token and a log-probability")
        pairs.append((name, max(number, -1e4)))  # servers write minus infinity in several ways
    return Step(*pairs[0], tuple(pairs[1:]))


def _usage(response: dict[str, Any]) -> tuple[int, int] | None:
    """Return the numbers of input and output tokens, if the server reports them."""
    usage = response.get("usage") or {}
    try:
        into, out = int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0)
    except _UNREADABLE:
        return None
    return (into, out) if min(into, out) >= 0 else None
