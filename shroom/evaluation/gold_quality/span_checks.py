"""Checks of the spans of a gold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shroom.evaluation.gold_quality.findings import Finding, of_rows
from shroom.evaluation.gold_quality.rows import GoldFile
from shroom.evaluation.gold_quality.sharing import text_of
from shroom.evaluation.gold_quality.votes import (
    FORMS,
    annotators_of,
    characters,
    hard_spans,
    soft_spans,
)
from shroom.scoring.kinds.span_values import other_unit, quotes, read_spans

#: The distance of a probability from the share of the annotators up to which it counts as rounded.
_ROUNDED = 0.01
#: The codes of a gold for those of the reader of spans.
_CODES = {
    **dict.fromkeys(("span-value", "span-empty"), "span-value"),
    **dict.fromkeys(("p-number", "p-finite", "p-range"), "p-value"),
    "word-value": "label-value",
}


def check_spans(file: GoldFile) -> Iterator[Finding]:
    """Yield the findings in the spans of a file, and contradictions with its annotators."""
    keys = ("soft_labels", "hard_labels") if file.kind == "spans" else ("labels",)
    labels = file.edition.annotation.labels
    wrong = {
        "span-value": "whose start or end is not a whole number",
        "p-value": "whose probability is not a number in [0, 1]",
        "span-outside": "that end outside the text",
        "label-value": f"whose label is not one of {', '.join(labels)}",
        "span-text": "whose text differs from the characters at their offsets",
    }
    bad: dict[str, list[int]] = {code: [] for code in wrong}
    got = dict[str, str]()
    marked = []
    for place, (row, is_annotated) in enumerate(zip(file.rows, file.annotated)):
        values = {key: row[key] for key in keys if row.get(key) is not None}
        read = {key: read_spans(value, FORMS[key], labels) for key, value in values.items()}
        faults = {_CODES.get(it.code, ""): it for _, own in read.values() for it in own}
        got = {code: f"; got {it.form(it.value)}" for code, it in faults.items()} | got
        codes = {*faults}
        hyp = text_of(row, "hyp")
        whole = [span for spans, _ in read.values() for span in spans or ()]
        if isinstance(row.get("hyp"), str) and any(span.end > len(hyp) for span in whole):
            codes.add("span-outside")
        if hyp and any(other_unit(hyp, quote) is not None for quote in quotes(row)):
            codes.add("span-text")
        for code in codes - {""}:
            bad[code].append(place)
        if is_annotated:
            marked.append(any(values.values()))
    for code, what in wrong.items():
        yield from of_rows(file, code, bad[code], f"{{}} with spans {what}{got.get(code, '')}")
    if len(marked) > 1 and not any(marked):
        about = "no item has a span, so a system that marks nothing gets a perfect score"
        yield Finding("one-class", len(marked), about)
    if file.kind == "spans":
        about = "{} whose hard labels do not match the characters with a probability above 1/2"
        yield from of_rows(file, "hard-soft", file.where(_hard_differ_from_soft), about)
    yield from _span_votes(file)


def _hard_differ_from_soft(row: Mapping[str, Any]) -> bool:
    if not all(isinstance(row.get(key), list) for key in ("soft_labels", "hard_labels")):
        return False
    length = len(text_of(row, "hyp"))
    soft, hard = soft_spans(row), hard_spans(row["hard_labels"])
    return bool(np.any((characters(hard, length) > 0) != (characters(soft, length) > 0.5)))


def _span_votes(file: GoldFile) -> Iterator[Finding]:
    """Yield contradictions with the annotators, ignoring blanks and punctuation."""
    odd, outside = [], []
    for place in np.flatnonzero(file.annotated).tolist():
        row = file.rows[place]
        people, text = annotators_of(row, file.kind), text_of(row, "hyp")
        if not people:
            continue
        if file.kind == "spans":
            if any(end > len(text) for spans in people.values() for _, end in spans):
                outside.append(place)
            share = np.mean([characters(own, len(text)) for own in people.values()], axis=0)
            letters = np.array([character.isalnum() for character in text], bool)
            soft = characters(soft_spans(row), len(text))
            if np.any(np.abs(share - soft)[letters] > _ROUNDED):
                odd.append(place)
        elif bool(row.get("labels")) != any(people.values()):
            odd.append(place)
    are_spans = file.kind == "spans"
    what = "share of annotators who marked each character" if are_spans else "annotations"
    yield from of_rows(file, "span-votes", odd, f"{{}} with spans that contradict the {what}")
    about = "{} with an annotation past the end of the text"
    yield from of_rows(file, "annotation-outside", outside, about)
