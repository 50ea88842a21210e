"""Items to corrupt: their words, edits of their hypotheses, and how they are read."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from shroom.core.datapoint import Datapoint, pair
from shroom.core.paths import Source
from shroom.core.problems import Problems, show
from shroom.core.word_spans import spans
from shroom.evaluation.corruption.wordlists import words
from shroom.scoring.datapoint_files import read_files
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import Document

#: A longer text without any frequent English word is not taken as English.
_FEW = 6
#: The keys of a dialogue of Wizard of Wikipedia, the source of Conv-FEVER.
_DIALOGUE = frozenset({"chosen_topic", "dialog"})
#: The value if the wizard used no sentence.
_UNUSED = "no_passages_used"
#: The beginnings of words that follow "an".
_VOWEL = re.compile(
    r"(?!eu|one\b|once|uni(?!m)|us[aeiu]|ut[ei]|u\.|u[kns]\b)[aeiou]|hour|hono|hones|heir|8|1[18]\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Edit:
    start: int
    end: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        if text[self.start : self.end] != self.before:
            raise ValueError(f"expected {self.before!r} at character {self.start} of the text")
        return text[: self.start] + self.after + text[self.end :]


class Token(NamedTuple):
    """A word or a run of signs with its position; ``low`` is its lower-case form."""

    start: int
    end: int
    text: str
    low: str


def at(listed: Sequence[Token], place: int) -> Token:
    """Return the token at a place; an empty one before and after the text."""
    return listed[place] if 0 <= place < len(listed) else Token(-1, -1, "", "")


def tokens(text: str) -> list[Token]:
    return [
        Token(start, end, text[start:end], text[start:end].casefold().replace("’", "'"))
        for start, end in spans(text)
    ]


@dataclass(frozen=True)
class Item:
    """A datapoint and its tokens; edits may also use words from ``knowledge``."""

    point: Datapoint
    knowledge: str = ""
    #: The name of its file, and its position in the file.
    file: str = ""
    index: int = 0

    @property
    def hyp(self) -> str:
        return self.point.hyp

    @property
    def premise(self) -> str:
        """Everything that the hypothesis may be compared with."""
        return f"{self.point.src}\n{' '.join(self.point.tgts)}"

    @property
    def key(self) -> tuple[str, ...]:
        return (self.point.task.name, self.point.src, *self.point.tgts, self.hyp)

    @cached_property
    def tokens(self) -> list[Token]:
        return tokens(self.hyp)

    @cached_property
    def premise_tokens(self) -> list[Token]:
        return tokens(self.premise)

    @cached_property
    def first(self) -> int:
        """The place of the first token after a dictionary label in brackets, such as (rare)."""
        texts = [token.text for token in self.tokens]
        return texts.index(")") + 1 if texts[:1] == ["("] and ")" in texts else 0

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        return frozenset(token.low for token in [*self.tokens, *self.premise_tokens])

    @cached_property
    def content(self) -> frozenset[str]:
        return _content(self.tokens)

    @cached_property
    def premise_content(self) -> frozenset[str]:
        return _content(self.premise_tokens)

    @cached_property
    def premises(self) -> list[str]:
        """The texts that the hypothesis may be compared with, normalised."""
        return [normalised(text) for text in (self.point.src, *self.point.tgts) if text.strip()]

    @cached_property
    def is_english(self) -> bool:
        """Whether the hypothesis seems to be English by its script and frequent words."""
        latin = [char < "\u0250" for char in self.hyp if char.isalpha()]
        lows = [token.low for token in self.tokens if token.text[0].isalpha()]
        frequent = (words("function_words") | words("cardinals")) - words("shared_words")
        english = sum(low in frequent for low in lows)
        foreign = sum(low in words("foreign_words") for low in lows)
        is_latin, is_short = 2 * sum(latin) >= len(latin), len(lows) <= _FEW
        return is_latin and foreign <= english and (english > 0 or is_short)

    def replacing(self, place: int, end: int, after: str) -> Edit:
        """Return the edit from a token to ``end``; a preceding a or an is adapted to ``after``."""
        start, article = self.tokens[place].start, at(self.tokens, place - 1)
        fitting = "an" if _VOWEL.match(after) else "a"
        if article.low in ("a", "an") and article.low != fitting:
            after = like(fitting, article.text) + self.hyp[article.end : start] + after
            start = article.start
        return Edit(start, end, self.hyp[start:end], after)


@dataclass(frozen=True, eq=False)
class Pool:
    items: Sequence[Item]
    seed: int

    @cached_property
    def by_task(self) -> dict[str, list[Item]]:
        """The distinct items of each task, in random order."""
        by_key = {item.key: item for item in self.items}
        by_task: dict[str, list[Item]] = {}
        for key in draws(self.seed).sample(sorted(by_key), len(by_key)):
            by_task.setdefault(key[0], []).append(by_key[key])
        return by_task

    @cached_property
    def _faithful(self) -> set[tuple[str, str]]:
        return {(premise, normalised(item.hyp)) for item in self.items for premise in item.premises}

    def is_faithful(self, item: Item, hyp: str) -> bool:
        """Return whether a text is part of a premise, or a known faithful hypothesis for one."""
        text = normalised(hyp)
        return any(
            f" {text} " in f" {premise} " or (premise, text) in self._faithful
            for premise in item.premises
        )


def read(
    source: Source, problems: Problems | None = None, edition: Edition | Source | None = None
) -> list[Item]:
    """Return the items of a source in SHROOM's format, or with dialogues of Wizard of Wikipedia."""
    problems = Problems() if problems is None else problems
    files: dict[str, list[tuple[Datapoint, str]]] = {}

    def without_dialogues(documents: list[Document]) -> list[Document]:
        rest = []
        for document in documents:
            data = document.read(Problems())
            if data is None or not document.row_at(data, 0).keys() >= _DIALOGUE:
                rest.append(document)
            else:
                dialogues = enumerate(document.items(problems) or ())
                files[document.base] = [*_responses(dialogues, document.file, problems)]
        return rest

    for file in read_files(source, problems, without_dialogues, edition):
        files[file.base] = [(point, "") for point in file.datapoints]
    return [
        Item(point, knowledge, base, index)
        for base, points in sorted(files.items())
        for index, (point, knowledge) in enumerate(points)
    ]


def _responses(
    dialogues: Iterable[tuple[int, Any]], file: str, problems: Problems
) -> Iterator[tuple[Datapoint, str]]:
    """Yield each response of a wizard as a faithful datapoint, with the dialogue's knowledge."""
    for index, dialogue in dialogues:
        turns = dialogue.get("dialog") if isinstance(dialogue, dict) else None
        if not isinstance(turns, list) or not all(map(_is_turn, turns)):
            expected, actual = "a dialogue with a list of turns, each with its text", show(dialogue)
            problems.add("item-object", file, expected, actual, index=index, key="dialog")
            continue
        passages = [turn.get("retrieved_passages") for turn in turns]
        knowledge = "\n".join(_texts([dialogue.get("chosen_topic_passage"), passages]))
        for place, turn in enumerate(turns):
            checked = [text for text in _texts(turn.get("checked_sentence")) if text != _UNUSED]
            if "wizard" in str(turn.get("speaker")).lower() and checked and checked[0]:
                premise = "\n".join([checked[0], *(earlier["text"] for earlier in turns[:place])])
                yield pair(premise, turn["text"], 0.0, "human"), knowledge


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("text"), str)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value, which may be lists and objects inside each other."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _content(listed: Sequence[Token]) -> frozenset[str]:
    lows = {token.low for token in listed if token.low[0].isalnum()}
    return frozenset(lows - words("function_words"))


def draws(*key: object) -> random.Random:
    """Return a generator of random numbers that depend only on the key."""
    return random.Random(ascii(key))  # noqa: S311 - reproducible, and not a secret


def normalised(text: str) -> str:
    return " ".join(text.casefold().split())


def like(word: str, model: str) -> str:
    """Return a word with the capitals of another word."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
