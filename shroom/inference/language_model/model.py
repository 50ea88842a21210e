"""The interface of language models, and the storage of their answers."""

from __future__ import annotations

import json
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import msgspec

from shroom.core.problems import ShroomError
from shroom.inference.language_model.budget import Estimate
from shroom.inference.language_model.prompts import Prompt
from shroom.inference.language_model.reply import Reply
from shroom.inference.run_settings import RUN, Run
from shroom.inference.store import Key, Store

#: The version of what is kept of an answer: answers of other versions are requested again.
_VERSION = 1
Of = TypeVar("Of")


@dataclass(frozen=True)
class Sampling:
    """How answers are sampled."""

    temperature: float = 0.0
    max_tokens: int = 512
    top_p: float | None = None
    seed: int = 0


class Question(NamedTuple):
    """A prompt, and the number of the answer if several are requested."""

    prompt: Prompt | str
    number: int | None = None


class Model:
    """A language model. Answers are stored as they arrive, so that none is requested twice."""

    def answers(
        self, questions: Sequence[Question], run: Run = RUN
    ) -> Generator[tuple[int, Reply | ShroomError]]:
        """Yield the place of each question with its answer or failure, stored answers first."""
        raise NotImplementedError

    def estimate(self, questions: Sequence[Question], run: Run = RUN) -> Estimate:
        """Return the requests for answers and their cost, without sending them."""
        raise NotImplementedError

    @property
    def identity(self) -> str:
        """A text that identifies the weights, as far as they are known."""
        raise NotImplementedError

    def ask(self, questions: Sequence[Question], run: Run = RUN) -> list[Reply]:
        """Return the answers in order; raise the first failure. The answers so far are stored."""
        replies: dict[int, Reply] = {}
        with closing(self.answers(questions, run)) as answers:
            for place, reply in answers:
                if isinstance(reply, ShroomError):
                    raise reply
                replies[place] = reply
        return [replies[place] for place in range(len(questions))]


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
