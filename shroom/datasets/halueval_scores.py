"""Scores of judgements of HaluEval's texts, such as the authors' program writes.

``judgement`` is ``Yes`` if hallucinated, ``No``, or ``failed!``, which counts as the wrong one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets.collection import Collection, items_of
from shroom.datasets.halueval import NAME, Article, Dialogue, Question, Reply, native_rows
from shroom.datasets.native_scores import (
    NativeResult,
    by_unit,
    objects,
    report_missing,
    result,
    signature,
    sliced,
)
from shroom.datasets.report import Report
from shroom.metrics.classification import CORRECT, F1, PRECISION, RECALL, counts, of_counts
from shroom.metrics.intervals import Intervals, Scored
from shroom.scoring.input_files import documents

_JUDGEMENTS = {"Yes": True, "No": False, "failed!": None}
METRICS = (
    of_counts("accuracy", CORRECT, about="the share of texts that are judged correctly"),
    *(
        of_counts(name, ratio, about=f"the {name} of hallucinated texts")
        for name, ratio in (("f1", F1), ("precision", PRECISION), ("recall", RECALL))
    ),
)
_KEYS = {kind.task: (*kind.inputs, kind.output) for kind in (Question, Dialogue, Article, Reply)}


#: By task and texts, the places of the rows of the gold, and whether each text is wrong.
_Gold = dict[tuple[str, ...], list[tuple[int, bool]]]


def _find(
    item: dict[str, Any], gold: _Gold, report: Report
) -> tuple[tuple[str, ...], list[int], bool] | None:
    """Return the task and texts of a row, its places and its verdict; unknown rows are reported."""
    task = next((task for task, keys in _KEYS.items() if item.keys() >= {*keys}), None)
    if task is None:
        expected = "the keys of the task, of the input and of the text"
        report.add("key-missing", None, expected, f"keys {show(list(item))}")
        return None
    texts = task, *(item[key] for key in _KEYS[task])
    found = gold.get(texts) if all(isinstance(text, str) for text in texts) else None
    if found is None:
        report.add("id-unknown", _KEYS[task][-1], "a text that the gold contains for this input")
        return None
    verdicts = {wrong for _, wrong in found}
    said = item.get("ground_truth") == "Yes"  # decides only if both texts are the same
    return texts, [place for place, _ in found], said if said in verdicts else not said


def score(
    predictions: Source, gold: Collection[Any], intervals: Intervals, problems: Problems
) -> NativeResult:
    """Return the scores of judgements, overall and by task; intervals draw rows of the gold."""
    # Each row of the gold has at least one judgement: the authors judge one of its two texts.
    known: _Gold = {}
    for place, record in enumerate(gold.records):
        for row, wrong in native_rows(record):
            known.setdefault((record.task, *row.values()), []).append((place, wrong))
    judged, times = set[int](), Counter[tuple[Any, ...]]()
    rows: list[tuple[str, int, bool, bool]] = []  # task, row of the gold, flagged, wrong
    files = [*items_of(documents(predictions, problems), problems, by_content=True)]
    for file, items in files:
        for item, report in objects(file, items, problems, "ID"):
            found = _find(item, known, report)
            value = item.get("judgement")
            if not isinstance(value, str) or value not in _JUDGEMENTS:
                expected = " or ".join(map(show, _JUDGEMENTS))
                report.add("word-value", "judgement", expected)
            elif found is not None:
                (task, *_), places, wrong = found
                times[found[0], wrong] += 1
                if times[found[0], wrong] > len(places):
                    expected, got = "one judgement for each text", "another judgement of this text"
                    report.add("id-doubled", _KEYS[task][-1], expected, got)
                flagged = _JUDGEMENTS[value]
                rows.append((task, places[0], not wrong if flagged is None else flagged, wrong))
                judged.update(places)
    if files:
        missing = [f"row {place}" for place in range(len(gold.records)) if place not in judged]
        expected = f"a judgement for each of {len(gold.records)} rows of {', '.join(gold.files)}"
        report_missing(missing, expected, predictions, problems, "judgement")
    if problems.errors:
        raise InvalidInput(problems)
    tasks, units, verdicts, truth = (np.array(column) for column in zip(*rows))

    def of(verdicts: Any, mask: Any = slice(None)) -> Scored:
        confusion = counts(verdicts, truth)[mask]
        return by_unit([(metric, confusion) for metric in METRICS], units[mask].tolist())

    everything = np.ones(len(rows), bool)
    return result(
        NAME,
        {"n": len({*units.tolist()}), "texts": len(rows)},
        of(verdicts),
        (of(everything), of(~everything)),
        intervals,
        slices={
            "task": sliced(tasks.tolist(), lambda mask: of(verdicts, mask), intervals, "texts")
        },
        signature=signature(NAME, "texts", known.items()),
    )
