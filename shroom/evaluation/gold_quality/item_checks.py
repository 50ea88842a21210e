"""Checks of the items of a gold: ids, texts, labels, votes and spans."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Label, Reference
from shroom.core.printing import counted
from shroom.evaluation.gold_quality.findings import CHECKS, Finding
from shroom.evaluation.gold_quality.rows import (
    GoldFile,
    annotation_keys,
    annotators_of,
    characters,
    hard_spans,
    item_votes,
    probabilities,
    soft_spans,
)
from shroom.evaluation.gold_quality.sharing import text_of
from shroom.metrics.agreement import counted as votes_counted
from shroom.scoring.column_checks import against_votes
from shroom.scoring.item_values import id_in
from shroom.scoring.kinds.binary import read_votes
from shroom.scoring.kinds.span_values import (
    HardSpan,
    LabelledSpan,
    SoftSpan,
    other_unit,
    quotes,
    read_spans,
)
from shroom.scoring.rows import LABELS, TEXTS, P, Rows

#: The distance of a probability from the share of the annotators up to which it counts as rounded.
_ROUNDED = 0.01
#: The keys of spans by kind, and the form of the spans under each key.
_SPAN_KEYS = {"spans": ("soft_labels", "hard_labels"), "labelled-spans": ("labels",)}
_FORMS = {"soft_labels": SoftSpan, "hard_labels": HardSpan, "labels": LabelledSpan}
#: The codes of a gold for those of the reader of spans.
_CODES = {
    **dict.fromkeys(("span-value", "span-empty"), "span-value"),
    **dict.fromkeys(("p-number", "p-finite", "p-range"), "p-value"),
    "word-value": "label-value",
}


def findings(file: GoldFile) -> Iterator[Finding]:
    """Yield the findings in the rows of a file, also of no row."""
    checks = [_ids(file), _texts(file)]
    if file.is_annotated:
        checks += [_keys(file), _annotation(file), _BY_KIND[file.kind](file)]
    yield from chain(*checks)


def answer(row: Mapping[str, Any], file: GoldFile) -> str:
    """Return the annotation of an item as JSON."""
    keys = ("label", P) if file.kind == "binary" else annotation_keys(file.edition)
    own = [row[key] for key in keys if key in row and key not in ("annotations", "raw_annots")]
    return json.dumps(own, sort_keys=True, default=str)


def _groups(values: Sequence[Hashable]) -> list[list[int]]:
    """Return the places of each value that occurs more than once; ``None`` is ignored."""
    places: dict[Hashable, list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            places.setdefault(value, []).append(place)
    return [group for group in places.values() if len(group) > 1]


def _differing(groups: Sequence[Sequence[int]], values: Sequence[Hashable]) -> int:
    """Return how many groups of rows have different values."""
    return sum(len({values[place] for place in group}) > 1 for group in groups)


def _answers(file: GoldFile) -> list[str]:
    return [answer(row, file) for row in file.rows]


def _ids(file: GoldFile) -> Iterator[Finding]:
    ids, item = file.ids, file.edition.item
    missing = [id_ is None for id_ in ids]
    if not all(missing):
        yield file.finding("id-missing", missing, "without an id, although other items have ids")
    wrong = [id_ is not None and id_in(id_, item.id) is None for id_ in ids]
    about = f"whose id is not {'an integer' if item.id == 'integer' else 'a string'}"
    yield file.finding("id-value", wrong, about, item.id_key)
    if groups := _groups([None if id_ is None else (type(id_), id_) for id_ in ids]):
        again = counted(sum(map(len, groups)) - len(groups), "repetition")
        about = f"{counted(len(groups), 'id')} in more than one item ({again})"
        if file.has_texts:
            about += f"; ids with different texts: {_differing(groups, file.texts.rows)}"
        if file.is_annotated:
            about += f"; ids with different annotations: {_differing(groups, _answers(file))}"
        yield Finding("id-doubled", len(groups), about, file.places(it[1] for it in groups))


def _texts(file: GoldFile) -> Iterator[Finding]:
    if not file.has_texts:
        return
    texts = file.texts.rows
    yield file.finding("text-empty", [not hyp for hyp, _, _ in texts], "with an empty output")
    empty = [not (src or tgt) for _, src, tgt in texts]
    if not all(empty) or any("src" in row or "tgt" in row for row in file.rows):
        yield file.finding("text-empty", empty, "with neither a source nor a target")
    if groups := _groups([row if any(row) else None for row in texts]):
        again = sum(map(len, groups)) - len(groups)
        about = f"{counted(again, 'item')} with the same texts as an earlier item"
        if file.is_annotated:
            odd = f"{_differing(groups, _answers(file))} of {len(groups)}"
            about += f"; texts whose copies have different annotations: {odd}"
        yield Finding("item-doubled", again, about, file.places(it[1] for it in groups))


def _keys(file: GoldFile) -> Iterator[Finding]:
    """Yield the edition's keys of ids and texts if no row has them; texts may be elsewhere."""
    item, has_data = file.edition.item, bool(file.edition.files.data)
    reads = {"id": (item.id_key,), "hyp": ("hyp",), "src": ("src", "tgt"), "tgt": ("tgt", "src")}
    for key, names in reads.items():
        is_named = key in item.keys and not (has_data and key in TEXTS)
        if is_named and not any(name in row for row in file.rows for name in names):
            about = f'without the key "{item.keys[key]}", which the edition specifies'
            yield file.finding("key-missing", [True] * len(file.rows), about, names[0])


def _annotation(file: GoldFile) -> Iterator[Finding]:
    if tasks := tuple(file.edition.tasks):
        other = file.where(lambda row: row.get("task", "") not in tasks)
        yield file.finding("task-value", other, "whose task is not in the edition", "task")
    if file.kind == "binary":
        words = (None, "", "both", *(side.value for side in Reference))
        other = file.where(lambda row: row.get("ref") not in words)
        yield file.finding("ref-value", other, 'whose ref is not "src", "tgt" or "either"', "ref")
    yield file.finding("unannotated", ~file.annotated, "without an annotation")


def _binary(file: GoldFile) -> Iterator[Finding]:
    rows, p = file.rows, probabilities(file)
    label = np.array(read_votes([row.get("label") for row in rows])[0], np.int8)
    words = [f'"{word}"' for word in file.edition.own_labels or LABELS]
    label_key, p_key = map(file.edition.item.key, ("label", P))
    about = f"whose {label_key} is not {' or '.join(words)}"
    yield file.finding("label-value", file.annotated & (label < 0), about, "label")
    about = f"whose {p_key} is not a number in [0, 1]"
    yield file.finding("p-value", file.annotated & np.isnan(p), about, P)
    are_wrong = file.where(lambda row: bool(read_votes(row.get("labels"))[1]))
    are_lists = file.where(lambda row: isinstance(row.get("labels"), (list, dict)))
    fix = f"write the votes as a list, such as [{', '.join(words)}]"
    about = "whose votes are not a list"
    yield file.finding("label-value", are_wrong & ~are_lists, about, "labels", fix)
    about = "with a vote that is neither a label nor missing"
    yield file.finding("vote-value", are_wrong & are_lists, about, "labels")
    yield from _contradictions(file, label, p)
    so = "balanced accuracy and AUROC are undefined"
    yield from _one_class(label[label >= 0], label_key, so)
    yield from _one_class(p[~np.isnan(p)], p_key, "rho is undefined")


def _contradictions(file: GoldFile, label: NDArray[Any], p: NDArray[Any]) -> Iterator[Finding]:
    votes = item_votes(file)
    cast = None if votes is None else np.column_stack(votes_counted(votes.votes)[::-1])
    against_p = ((label == 1) & (p < 0.5)) | ((label == 0) & (p > 0.5))
    table = Rows(file.file, len(label), label, p, votes=cast)
    odd = {"label-p": np.flatnonzero(against_p), **against_votes(table)}
    usual = Label.HALLUCINATION.value
    flagged = next((f'"{word}"' for word in file.edition.own_labels), usual)
    for code, about in (
        ("label-p", "label contradicts p"),
        ("label-votes", "label differs from the majority vote"),
        ("p-votes", f"p differs from the share of votes for {flagged}"),
    ):
        is_odd = np.isin(np.arange(len(label)), odd.get(code, ()))
        fix = CHECKS[code].fix.replace(usual, flagged)
        yield file.finding(code, is_odd, f"whose {about}", fix=fix)


def _one_class(values: NDArray[Any], what: str, so: str) -> Iterator[Finding]:
    if len(values) > 1 and len(np.unique(values)) == 1:
        about = f"{what} is the same on all {len(values)} items: {so}"
        yield Finding("one-class", len(values), about)


def _aspects(file: GoldFile) -> Iterator[Finding]:
    for aspect in file.edition.annotation.aspects:
        key, allowed = aspect.key, (aspect.yes, aspect.no)
        answers = [row.get(key) for row in file.rows]
        odd = file.annotated & [answer not in allowed for answer in answers]
        about = f'whose {key} is not "{aspect.yes}" or "{aspect.no}"'
        yield file.finding("label-value", odd, about, key)
        valid = np.array([answer == aspect.yes for answer in answers if answer in allowed])
        yield from _one_class(valid, key, "the F1 of the other answer is undefined")


def _spans(file: GoldFile) -> Iterator[Finding]:
    """Yield the findings in the spans of a file, and contradictions with its annotators."""
    labels, keys = file.edition.annotation.labels, _SPAN_KEYS[file.kind]
    share = "annotations"
    if file.kind == "spans":
        share = "share of annotators who marked each character"
    faults = [_span_faults(row, file.kind, labels) for row in file.rows]
    for code, about in (
        ("span-value", "with spans whose start or end is not a whole number"),
        ("p-value", "with spans whose probability is not a number in [0, 1]"),
        ("span-outside", "with spans that end outside the text"),
        ("label-value", f"with spans whose label is not one of {', '.join(labels)}"),
        ("span-text", "with spans whose text differs from the characters at their offsets"),
        (
            "hard-soft",
            "whose hard labels differ from the set of characters with a probability above 1/2",
        ),
        ("span-votes", f"with spans that contradict the {share}"),
        ("annotation-outside", "with an annotation past the end of the text"),
    ):
        yield file.finding(code, [code in own for own in faults], about)
    annotated = [row for row, is_annotated in zip(file.rows, file.annotated) if is_annotated]
    if len(annotated) > 1 and not any(row.get(key) for row in annotated for key in keys):
        about = "no item has a span, so a system that marks nothing gets a perfect score"
        yield Finding("one-class", len(annotated), about)


def _span_faults(row: Mapping[str, Any], kind: str, labels: Sequence[str]) -> set[str]:
    """Return the codes of what is wrong with the spans of a row."""
    given = {key: row[key] for key in _SPAN_KEYS[kind] if row.get(key) is not None}
    read = [read_spans(value, _FORMS[key], labels) for key, value in given.items()]
    faults = {_CODES[it.code] for _, own in read for it in own if it.code in _CODES}
    hyp = text_of(row, "hyp")
    ends = [span.end for spans, _ in read for span in spans or ()]
    if isinstance(row.get("hyp"), str) and max(ends, default=0) > len(hyp):
        faults.add("span-outside")
    if hyp and any(other_unit(hyp, quote) is not None for quote in quotes(row)):
        faults.add("span-text")
    return faults | {*_span_contradictions(row, kind, hyp)}


def _span_contradictions(row: Mapping[str, Any], kind: str, hyp: str) -> Iterator[str]:
    """Yield the codes of contradictions in a row, ignoring blanks and punctuation."""
    people = annotators_of(row, kind)
    if kind == "labelled-spans":
        if people and bool(row.get("labels")) != any(people.values()):
            yield "span-votes"
        return
    soft = characters(soft_spans(row), len(hyp))
    if all(isinstance(row.get(key), list) for key in _SPAN_KEYS[kind]):
        hard = characters(hard_spans(row["hard_labels"]), len(hyp))
        if np.any((hard > 0) != (soft > 0.5)):
            yield "hard-soft"
    if people:
        share = np.mean([characters(own, len(hyp)) for own in people.values()], axis=0)
        letters = np.array([character.isalnum() for character in hyp], bool)
        if np.any(np.abs(share - soft)[letters] > _ROUNDED):
            yield "span-votes"
        if any(end > len(hyp) for spans in people.values() for _, end in spans):
            yield "annotation-outside"


_BY_KIND = {"binary": _binary, "aspects": _aspects, "spans": _spans, "labelled-spans": _spans}
