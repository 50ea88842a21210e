"""The annotators' votes in the rows of a gold, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from shroom.evaluation.gold_quality.rows import GoldFile
from shroom.evaluation.gold_quality.sharing import text_of
from shroom.metrics.agreement import MISSING
from shroom.metrics.base import Floats
from shroom.metrics.leave_one_out import NamedVotes
from shroom.scoring.item_values import problem_of_p
from shroom.scoring.kinds.span_values import HardSpan, SoftSpan, read_spans
from shroom.scoring.rows import P
from shroom.scoring.votes import by_annotator, named


def are_of_people(file: GoldFile) -> bool:
    """Return whether votes have the names of annotators; in a list they only have positions."""
    return file.kind != "binary" or any(isinstance(row.get("labels"), dict) for row in file.rows)


def item_votes(file: GoldFile) -> NamedVotes | None:
    """Return the votes on whole items, if any; a marked span counts as a yes to its text."""
    if file.kind == "binary":
        cast = [named(row.get("labels")) for row in file.rows]
    else:
        people = [annotators_of(row, file.kind) for row in file.rows]
        cast = [{name: int(bool(it)) for name, it in own.items()} for own in people]
    names, votes = by_annotator(cast)
    return NamedVotes.of_items(votes, names) if (votes != MISSING).any() else None


def probabilities(file: GoldFile) -> Floats:
    """Return the p of each row, ``nan`` unless it is a number in [0, 1]."""
    values = (row.get(P) for row in file.rows)
    return np.array([np.nan if problem_of_p(value) else value for value in values], float)


def annotators_of(row: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the marks of each annotator of a text: spans, or the marked text."""
    value = row.get("annotations" if kind == "spans" else "raw_annots")
    people = value if isinstance(value, dict) else {}
    if kind == "spans":
        return {str(name): hard_spans(marked) for name, marked in people.items()}
    texts = {str(name): str(marked or "") for name, marked in people.items()}
    return {name: text.replace("|", "").strip() for name, text in texts.items()}


def hard_spans(value: Any) -> Sequence[HardSpan]:
    """Return spans without probabilities, none if any is malformed."""
    return read_spans(value, HardSpan)[0] or ()


def soft_spans(row: Mapping[str, Any]) -> Sequence[SoftSpan]:
    """Return the spans of ``soft_labels``, none if any is malformed."""
    return read_spans(row.get("soft_labels"), SoftSpan)[0] or ()


def characters(spans: Sequence[HardSpan] | Sequence[SoftSpan], length: int) -> Floats:
    """Return the probability of each character; the last of overlapping spans counts."""
    values = np.zeros(length)
    for start, end, *prob in spans:
        values[start:end] = prob or 1.0
    return values


def named_votes(file: GoldFile) -> NamedVotes | None:
    """Return the votes with a column for each annotator: on items, or on characters of texts."""
    if file.kind != "spans":
        return item_votes(file)
    people = [annotators_of(row, file.kind) for row in file.rows]
    names = sorted({*chain(*people)})
    votes, text, size = [], [], []
    for place, (row, marked) in enumerate(zip(file.rows, people)):
        length = len(text_of(row, "hyp"))
        ends = {min(end, length) for spans in marked.values() for span in spans for end in span}
        cuts = sorted({0, length, *ends})
        for start, end in zip(cuts, cuts[1:]):
            yes = {it: any(a <= start and end <= b for a, b in own) for it, own in marked.items()}
            votes.append([yes.get(name, MISSING) for name in names])
            text.append(place)
            size.append(end - start)
    if not names or not votes:
        return None
    places, sizes = np.array(text, np.intp), np.array(size, float)
    return NamedVotes(names, np.array(votes, np.int8), places, sizes)
