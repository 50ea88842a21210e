"""Readers of data to corrupt: SHROOM's form, pairs of premise and hypothesis, dialogues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from shroom.core.datapoint import TASKS, Datapoint, Task, pair
from shroom.core.paths import Source
from shroom.core.problems import Problems, Stopped, show
from shroom.evaluation.corruption.items import Item
from shroom.scoring.datapoint_files import read_files
from shroom.scoring.editions import edition as editions
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import CSV, Document
from shroom.scoring.kinds.base import Fault, Field, Fields, Read
from shroom.scoring.kinds.binary import read_p
from shroom.scoring.row_reader import Reader
from shroom.scoring.rows import P, Role

PREMISE, HYPOTHESIS = "premise", "hypothesis"
_FAITHFUL = "not hallucination", "entailment", "paraphrase", "supported", "faithful"
_UNFAITHFUL = (
    *("hallucination", "contradiction", "neutral"),
    *("not entailment", "not supported", "unfaithful"),
)
#: p by the label of a pair, in lower case with blanks for underscores; other labels are errors.
_P_BY_LABEL = {**dict.fromkeys(_FAITHFUL, 0.0), **dict.fromkeys(_UNFAITHFUL, 1.0)}
_LABELS = f"one of {', '.join(sorted(_P_BY_LABEL))}"


#: A datapoint, and what else its dialogue tells.
_Point = tuple[Datapoint, str]


def read(
    source: Source, problems: Problems | None = None, edition: Edition | Source | None = None
) -> list[Item]:
    """Return the items of a source, each of its files read in its own form."""
    problems = Problems() if problems is None else problems
    files: list[tuple[str, list[_Point]]] = []

    def others(documents: list[Document]) -> list[Document]:
        listed = [(document, _read(document, problems)) for document in documents]
        files.extend((document.base, points) for document, points in listed if points is not None)
        return [document for document, points in listed if points is None]

    in_own_form = read_files(source, problems, others, edition)
    files[:0] = [(file.base, [(point, "") for point in file.datapoints]) for file in in_own_form]
    return [
        Item(point, knowledge, base, index)
        for base, points in sorted(files, key=lambda file: file[0])
        for index, (point, knowledge) in enumerate(points)
    ]


def _read(document: Document, problems: Problems) -> list[_Point] | None:
    """Return pairs or dialogues with the knowledge of each; ``None`` for a file of another form."""
    data = document.read(Problems())
    row = {} if data is None else document.row_at(data, 0)
    are_pairs = "hyp" not in row and (HYPOTHESIS in row or document.ending in CSV)
    if data is None or not (are_pairs or row.keys() >= _DIALOGUE):
        return None
    points: list[_Point] = []
    with suppress(Stopped):  # the reason is among the problems
        rows = enumerate(document.iter_items(data, problems))
        points.extend((_pairs if are_pairs else _responses)(rows, document.file, problems))
    return points


#: The keys of annotations; the first one with a value counts.
_ANNOTATIONS = (P, "p", "label")
#: The form of pairs, whose ids are not used.
_PAIRS = Edition("pairs", "Pairs", 0, item=editions.Item(id="none"))


def _pairs(rows: Iterable[tuple[int, Any]], file: str, problems: Problems) -> Iterator[_Point]:
    """Yield each pair of premise and hypothesis as a datapoint, without knowledge."""
    reader = Reader(Role.DATA, file, problems, _PAIRS)
    for index, row in rows:
        if reader.begins(index, row):
            label = next((key for key in _ANNOTATIONS if row.get(key) is not None), "")
            used = {key: it for key, it in row.items() if key == label or key not in _ANNOTATIONS}
            values = dict(reader.values(_FIELDS, used))
            point = pair(values[PREMISE], values[HYPOTHESIS], values.get(label))
            yield replace(point, task=values["task"]), ""


def _text(value: Any) -> Read:
    return str(value), () if isinstance(value, str) else (Fault("text-string", "a text", value),)


def _label(value: Any) -> Read:
    """Return p by a label in any spelling."""
    word = " ".join(str(value).lower().replace("_", " ").split())
    faults = () if word in _P_BY_LABEL else (Fault("label-value", _LABELS, value),)
    return _P_BY_LABEL.get(word), faults


#: The fields of a pair.
_FIELDS = Fields(
    (
        *(Field(key, _text, "") for key in (PREMISE, HYPOTHESIS)),
        *(Field(key, read_p, is_needed=False) for key in (P, "p")),
        Field("label", _label, is_needed=False),
        Field("task", lambda it: (TASKS.get(str(it), Task.TS), ()), Task.TS, is_needed=False),
    )
)
#: The keys of a dialogue of Wizard of Wikipedia, the source of Conv-FEVER.
_DIALOGUE = frozenset({"chosen_topic", "dialog"})
#: The value if the wizard used no sentence.
_UNUSED = "no_passages_used"


def _responses(rows: Iterable[tuple[int, Any]], file: str, problems: Problems) -> Iterator[_Point]:
    """Yield each response of a wizard as a faithful datapoint, with the dialogue's knowledge."""
    for index, dialogue in rows:
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
