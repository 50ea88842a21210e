"""Scoring exactly by the rules of the organisers' 2024 format checker and scorer."""

# Their scorer may refuse a submission that their checker accepts.

from __future__ import annotations

import json
import math
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.archives import too_large
from shroom.core.datapoint import Label
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.metrics.correlation import rho
from shroom.scoring.editions.files import built_in
from shroom.scoring.file_choice import gold_named
from shroom.scoring.in_sample import in_sample_items
from shroom.scoring.input_files import Document, documents
from shroom.scoring.result import signature
from shroom.scoring.results import Score, TrackScore
from shroom.scoring.row_reader import read_rows
from shroom.scoring.rows import LABELS, P, Role, Rows

_COUNTS = {
    "test.model-aware.json": 1500,
    "test.model-agnostic.json": 1500,
    "val.model-aware.json": 501,
    "val.model-agnostic.json": 499,
}
_edition = partial(built_in, "semeval2024")
#: The largest file in bytes, which is decoded at once; files have at most 1,500 items.
MAX_BYTES = 1 << 24


def refuse_other(edition: str) -> None:
    """Raise :class:`ShroomError` unless the edition or data set has these rules."""
    if edition != _edition().name:
        raise ShroomError(
            f"--official works only with {_edition().name}, but the edition is {edition}; "
            "remove --official"
        )


def check(submission: Source) -> Problems:
    """Return the reasons why the organisers' format checker would reject a submission."""
    problems = Problems()
    for document, items in _read(submission, problems):
        count = _COUNTS[document.base]
        if len(items) != count:
            problems.add("official", document.file, f"{count} items", f"{len(items)}")
        try:
            sorted(item["id"] for item in items if "id" in item and _is_test(document))
        except TypeError:
            problems.add("official", document.file, "ids that Python can sort", "a mix of types")
    return problems


def score(submission: Source, gold: Source) -> Score:
    """Return the scores of the organisers' program; raise an error if it would have failed."""
    problems, results = Problems(), []
    golds = documents(gold, problems, _edition())
    read = _read(submission, problems)
    in_sample = in_sample_items(submission, [it for it, _ in read], problems, _edition())
    for document, items in read:
        table = _gold_for(document, golds, problems)
        result = None if table is None else _score_file(document, items, table, problems)
        if result is not None:
            count = min(result.n, in_sample.get(document.file, 0))
            results.append(replace(result, in_sample=count))
    if problems.errors:
        raise InvalidInput(problems)
    return Score(sorted(results, key=lambda result: result.track, reverse=True), list(problems))


def scores_txt(score: Score) -> str:
    """Return the scores as the program wrote them: only submitted tracks, no space, ``nan``."""
    lines = []
    for result in score.results:
        short = result.track.removeprefix("model-")
        lines.append(f"{short}_acc:{result.accuracy!r}\n")
        lines.append(f"{short}_rho:{math.nan if result.rho is None else result.rho!r}\n")
    return "".join(lines)


def _read(submission: Source, problems: Problems) -> list[tuple[Document, list[dict[str, Any]]]]:
    """Return the files that both programs accept, with their items."""
    listed = documents(submission, problems, _edition(), junk=True, submission=True)
    if problems.errors:
        return []
    if not 1 <= len(listed) <= 2:
        problems.add("official", str(submission), "one or two .json files", f"{len(listed)}")
    prefix = "val." if any(document.base.startswith("val.") for document in listed) else "test."
    names = [name for name in _COUNTS if name.startswith(prefix)]
    read = []
    for document in listed:
        if document.base not in names:
            expected = f"the name {' or '.join(names)}"
            problems.add("official", document.file, expected, f'"{document.base}"')
        elif (items := _items(document, problems)) is not None:
            read.append((document, items))
    return read


def _items(document: Document, problems: Problems) -> list[dict[str, Any]] | None:
    data = document.packed(problems)
    if data is None:
        return None
    if len(data) > MAX_BYTES:
        too_large(MAX_BYTES).report(document.file, problems)
        return None
    try:
        items = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        problems.add("official", document.file, "JSON that json.load accepts", str(error))
        return None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        problems.add("official", document.file, "a list of objects", show(items))
        return None
    keys = ("label", P, "id") if _is_test(document) else ("label", P)
    labels = " or ".join(f'"{label}"' for label in LABELS)
    for index, item in enumerate(items):
        for key in keys:
            if key not in item:
                problems.add("official", document.file, f'the key "{key}"', "none", index=index)
        if "label" in item and item["label"] not in [*LABELS]:
            problems.add("official", document.file, labels, show(item["label"]), index=index)
    return items


def _is_test(document: Document) -> bool:
    return document.base.startswith("test.")


def _gold_for(document: Document, golds: list[Document], problems: Problems) -> Rows | None:
    is_single = not any(it.member for it in golds)
    name = _edition().parse(document.base)
    gold = gold_named(golds, document, name, problems, _edition(), is_single=is_single)
    if gold is None:
        problems.add("no-gold", document.file, f"gold named {document.base}", "none")
        return None
    table = read_rows(gold, Role.GOLD, problems, _edition())
    if table is not None and not table.labelled:
        problems.add("gold-unlabelled", gold.file, f'"label" and "{P}"', "rows without labels")
        return None
    return table


def _score_file(
    document: Document, items: list[dict[str, Any]], gold: Rows, problems: Problems
) -> TrackScore | None:
    if len(items) != gold.n:
        problems.add("official", document.file, f"{gold.n} items", f"{len(items)}")
        return None
    if any("label" not in item or P not in item for item in items):  # already reported
        return None
    before, order, align = problems.errors, np.arange(gold.n), "order"
    if _is_test(document):
        items, order, align = *_sorted_by_id(document, items, gold, problems), "id"
    x = _ranked_as([item[P] for item in items], document, problems)
    if problems.errors > before or x is None:
        return None
    split, track, _ = document.base.split(".")
    labels = np.array([item["label"] == Label.HALLUCINATION.value for item in items])
    has_nan = x.dtype.kind == "f" and bool(np.isnan(x).any())
    correlation = math.nan if has_nan else rho(x, gold.p[order])
    if math.isnan(correlation):
        constant = "a constant" if len(set(x.tolist())) < 2 else "gold with a constant p"
        value = "NaN" if has_nan else constant
        problems.add("rho-undefined", document.base, "p that varies and contains no NaN", value)
    return TrackScore(
        track=track,
        split=split,
        n=gold.n,
        scores={
            "accuracy": int(np.sum(labels == (gold.label[order] == 1))) / gold.n,
            "rho": None if math.isnan(correlation) else correlation,
        },
        intervals={"accuracy": None, "rho": None},
        signature=signature(track, gold, align, _edition(), "rules:official2024"),
    )


def _sorted_by_id(
    document: Document, items: list[dict[str, Any]], gold: Rows, problems: Problems
) -> tuple[list[dict[str, Any]], NDArray[np.intp]]:
    if gold.ids is None:
        problems.add("official", gold.file, "gold with ids for the test split", "none")
        return items, np.arange(gold.n)
    order = np.argsort(gold.ids, kind="stable")
    try:
        keyed = sorted(((int(item["id"]), item) for item in items), key=lambda pair: pair[0])
    except (KeyError, TypeError, ValueError, OverflowError):
        problems.add("official", document.file, "ids that int() accepts", "other values")
        return items, order
    if [number for number, _ in keyed] != gold.ids[order].tolist():
        problems.add("official", document.file, f"the ids of {gold.file}", "other ids")
    return [item for _, item in keyed], order


def _ranked_as(values: list[Any], document: Document, problems: Problems) -> Any:
    """Return p as numpy converts it: to numbers, or to strings if any value is a string."""
    with suppress(ValueError):  # for lists of different lengths
        column = np.asarray(values)
        if column.ndim == 1 and column.dtype.kind in "biufU":
            return column
    problems.add("official", document.file, "p that can be ranked", "null, lists or other values")
    return None
