"""Readers of data to corrupt: SHROOM's form, pairs of premise and hypothesis, dialogues."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from shroom.core.datapoint import TASKS, Datapoint, Task, pair
from shroom.core.paths import Source
from shroom.core.problems import Problems, Stopped
from shroom.evaluation.corruption import wizard
from shroom.scoring.data_set_forms import row_at
from shroom.scoring.datapoint_files import DataFile, read_files
from shroom.scoring.editions.edition import Edition, Item
from shroom.scoring.input_files import CSV, Document
from shroom.scoring.kinds.base import Fault, Field, Fields, Read
from shroom.scoring.kinds.binary import read_p
from shroom.scoring.row_reader import Reader
from shroom.scoring.rows import P, Role

PREMISE, HYPOTHESIS = "premise", "hypothesis"
#: Labels of pairs, in lower case with blanks for underscores; other labels are errors.
FAITHFUL = frozenset({"not hallucination", "entailment", "paraphrase", "supported", "faithful"})
UNFAITHFUL = frozenset(
    ["hallucination", "contradiction", "neutral", "not entailment", "not supported", "unfaithful"]
)


@dataclass(frozen=True)
class InputFile(DataFile):
    """One file of datapoints, with the passages that were retrieved for each dialogue."""

    knowledge: list[str] = field(default_factory=list)


def read(
    source: Source, problems: Problems | None = None, edition: Edition | Source | None = None
) -> list[InputFile]:
    """Return the files of a source, each read in its own form."""
    problems = Problems() if problems is None else problems
    input_files: list[InputFile] = []

    def others(documents: list[Document]) -> list[Document]:
        """Read the documents with pairs or dialogues, and return the others."""
        read_here = {id(document): _read(document, problems) for document in documents}
        input_files.extend(file for file in read_here.values() if file is not None)
        return [document for document in documents if read_here[id(document)] is None]

    rest = [
        InputFile(file.base, file.datapoints, knowledge=[""] * len(file.datapoints))
        for file in read_files(source, problems, others, edition)
    ]
    return sorted(rest + input_files, key=lambda file: file.base)


def _read(document: Document, problems: Problems) -> InputFile | None:
    """Return a file of pairs or dialogues, or ``None`` for a file of another form."""
    data = document.read(Problems())
    row = {} if data is None else row_at(document, data, 0)
    of_pairs = "hyp" not in row and (HYPOTHESIS in row or document.ending in CSV)
    if data is None or not (of_pairs or row.keys() >= wizard.KEYS):
        return None
    file = InputFile(document.base, [])
    try:
        items = document.iter_items(data, problems)
        if not of_pairs:
            for point, knowledge in wizard.responses(items, document.file, problems):
                file.datapoints.append(point)
                file.knowledge.append(knowledge)
            return file
        reader = Reader(Role.DATA, document.file, problems, _PAIRS)
        for index, row in enumerate(items):
            if reader.begins(index, row):
                own = next((key for key in _ANNOTATIONS if row.get(key) is not None), "")
                used = {k: it for k, it in row.items() if k == own or k not in _ANNOTATIONS}
                file.datapoints.append(_datapoint(dict(reader.values(_FIELDS, used))))
                file.knowledge.append("")
    except Stopped:  # the reason is among the problems
        pass
    return file


def _text(value: Any) -> Read:
    return str(value), () if isinstance(value, str) else (Fault("text-string", "a text", value),)


def _label(value: Any) -> Read:
    """Return p by a label in any spelling."""
    word, known = " ".join(str(value).lower().replace("_", " ").split()), FAITHFUL | UNFAITHFUL
    expected = f"one of {', '.join(sorted(known))}"
    return float(word in UNFAITHFUL), () if word in known else (
        Fault("label-value", expected, value),
    )


#: The keys of annotations; the first one with a value counts.
_ANNOTATIONS = (P, "p", "label")
#: The form of pairs, whose ids are not used.
_PAIRS = Edition("pairs", "Pairs", 0, item=Item(id="none"))
#: The fields of a pair.
_FIELDS = Fields(
    (
        *(Field(key, _text, "") for key in (PREMISE, HYPOTHESIS)),
        *(Field(key, read_p, is_needed=False) for key in (P, "p")),
        Field("label", _label, is_needed=False),
        Field("task", lambda it: (TASKS.get(str(it), Task.TS), ()), Task.TS, is_needed=False),
    )
)


def _datapoint(values: dict[str, Any]) -> Datapoint:
    p = next((values[key] for key in _ANNOTATIONS if values[key] is not None), None)
    return replace(pair(values[PREMISE], values[HYPOTHESIS], p), task=values["task"])
