"""Readers of data to corrupt: SHROOM's form, pairs of premise and hypothesis, dialogues."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shroom.core.datapoint import TASKS, Datapoint, Label, Reference, Task
from shroom.core.json_reading import BROKEN
from shroom.core.paths import Source
from shroom.core.problems import Problems, Stopped, show
from shroom.evaluation.corruption import wizard
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD
from shroom.scoring.data_set_forms import row_at
from shroom.scoring.datapoint_files import DataFile, read_files
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import CSV, Document
from shroom.scoring.item_values import p_in, problem_of_p
from shroom.scoring.rows import P

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
        for index, item in enumerate(items):
            if isinstance(item, dict):
                file.datapoints.append(_datapoint(item, index, document.file, problems))
                file.knowledge.append("")
            elif item is not BROKEN:
                problems.add("item-object", document.file, "an object", show(item), index=index)
    except Stopped:  # the reason is among the problems
        pass
    return file


def _datapoint(row: dict[str, Any], index: int, file: str, problems: Problems) -> Datapoint:
    """Return the datapoint of a pair, and report its problems."""

    def report(code: str, key: str, expected: str) -> None:
        problems.add(code, file, expected, show(row[key]), index=index, key=key)

    for key in (PREMISE, HYPOTHESIS):
        if key not in row:
            expected, keys = f'the key "{key}"', f"keys {show(list(row))}"
            problems.add("key-missing", file, expected, keys, index=index, key=key)
        elif not isinstance(row[key], str):
            report("text-string", key, "a text")
    p = None
    for key in (P, "p"):
        if p is None and row.get(key) is not None:
            problem, p = problem_of_p(row[key]), p_in(row[key])
            if problem is not None:
                report(problem[0], key, problem[1])
    label = None
    if p is not None:
        label = Label.HALLUCINATION if p > DEFAULT_THRESHOLD else Label.NOT_HALLUCINATION
    elif row.get("label") is not None:
        word = " ".join(str(row["label"]).lower().replace("_", " ").split())
        label = Label.NOT_HALLUCINATION if word in FAITHFUL else Label.HALLUCINATION
        p = float(label is Label.HALLUCINATION)
        if word not in FAITHFUL | UNFAITHFUL:
            report("label-value", "label", f"one of {', '.join(sorted(FAITHFUL | UNFAITHFUL))}")
    return Datapoint(
        hyp=str(row.get(HYPOTHESIS, "")),
        src=str(row.get(PREMISE, "")),
        tgt="",
        task=TASKS.get(str(row.get("task")), Task.TS),
        ref=Reference.SRC,
        label=label,
        p=p,
    )
