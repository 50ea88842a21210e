"""Dialogues of Wizard of Wikipedia, the source of Conv-FEVER."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from shroom.core.datapoint import Datapoint, pair
from shroom.core.problems import Problems, show

#: The keys by which a dialogue is recognised.
KEYS = frozenset({"chosen_topic", "dialog"})
#: The value if the wizard used no sentence.
_UNUSED = "no_passages_used"


def responses(
    dialogues: Iterable[Any], file: str, problems: Problems
) -> Iterator[tuple[Datapoint, str]]:
    """Yield each response of a wizard as a faithful datapoint, with the dialogue's knowledge."""
    for index, dialogue in enumerate(dialogues):
        turns = dialogue.get("dialog") if isinstance(dialogue, dict) else None
        if not isinstance(turns, list) or not all(map(_is_turn, turns)):
            expected, actual = "a dialogue with a list of turns, each with its text", show(dialogue)
            problems.add("item-object", file, expected, actual, index=index, key="dialog")
            continue
        passages = [turn.get("retrieved_passages") for turn in turns]
        knowledge = "\n".join(_texts([dialogue.get("chosen_topic_passage"), passages]))
        for place, turn in enumerate(turns):
            checked = (text for text in _texts(turn.get("checked_sentence")) if text != _UNUSED)
            sentence = next(checked, "")
            if "wizard" in str(turn.get("speaker")).lower() and sentence:
                before = [earlier["text"] for earlier in turns[:place]]
                premise = "\n".join([sentence, *before])
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
