"""Checks of the items of a gold: ids, texts, labels, votes and spans."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Label, Reference
from shroom.core.printing import counted
from shroom.evaluation.gold_quality.findings import CHECKS, PLACES, Finding, at, of_rows
from shroom.evaluation.gold_quality.rows import GoldFile, annotation_keys
from shroom.evaluation.gold_quality.sharing import text_of
from shroom.evaluation.gold_quality.votes import (
    FORMS,
    annotators_of,
    characters,
    hard_spans,
    item_votes,
    number,
    probabilities,
    soft_spans,
)
from shroom.metrics import agreement
from shroom.scoring.column_checks import against_votes
from shroom.scoring.column_names import reworded
from shroom.scoring.item_values import id_in
from shroom.scoring.kinds.binary import read_votes
from shroom.scoring.kinds.span_values import other_unit, quotes, read_spans
from shroom.scoring.rows import LABELS, TEXTS, P, Rows

#: The distance of a probability from the share of the annotators up to which it counts as rounded.
_ROUNDED = 0.01
#: The codes of a gold for those of the reader of spans.
_CODES = {
    **dict.fromkeys(("span-value", "span-empty"), "span-value"),
    **dict.fromkeys(("p-number", "p-finite", "p-range"), "p-value"),
    "word-value": "label-value",
}


def findings(file: GoldFile) -> Iterator[Finding]:
    """Yield the problems of the reader of a file, and the findings in its rows."""
    for code in sorted(file.problems.codes):
        own = [problem for problem in file.problems if problem.code == code]
        kinds = dict.fromkeys(problem.expected for problem in own)
        places = tuple(f"item {problem.index}" for problem in own[:PLACES])
        about = f"{counted(len(own), 'row')} with format problems: expected {'; '.join(kinds)}"
        yield Finding(code, len(own), about, places)
    yield from _ids(file)
    yield from _texts(file)
    if file.is_annotated:
        yield from _keys(file)
        yield from _annotation(file)


def _groups(values: Sequence[Hashable]) -> list[list[int]]:
    """Return the places of each value that occurs more than once; ``None`` is ignored."""
    places: dict[Hashable, list[int]] = {}
    for place, value in enumerate(values):
        if value is not None:
            places.setdefault(value, []).append(place)
    return [group for group in places.values() if len(group) > 1]


def _differing(file: GoldFile, groups: Sequence[Sequence[int]]) -> int:
    """Return how many groups of rows have different answers."""
    answers = [answer(row, file) for row in file.rows]
    return sum(len({answers[place] for place in group}) > 1 for group in groups)


def answer(row: Mapping[str, Any], file: GoldFile) -> str:
    """Return the annotation of an item as JSON."""
    keys = ("label", P) if file.kind == "binary" else annotation_keys(file.edition)
    own = [row[key] for key in keys if key in row and key not in ("annotations", "raw_annots")]
    return json.dumps(own, sort_keys=True, default=str)


def _ids(file: GoldFile) -> Iterator[Finding]:
    ids = file.ids
    missing = [place for place, id_ in enumerate(ids) if id_ is None]
    if len(missing) < len(ids):
        yield from of_rows(
            file, "id-missing", missing, "{} without an id, although other items have ids"
        )
    item = file.edition.item
    given = [(place, id_) for place, id_ in enumerate(ids) if id_ is not None]
    wrong = [place for place, id_ in given if item.id and id_in(id_, item.id) is None]
    about = f"{{}} whose id is not {'an integer' if item.id == 'integer' else 'a string'}"
    yield from of_rows(file, "id-value", wrong, about, item.id_key)
    groups = _groups([None if id_ is None else (type(id_), id_) for id_ in ids])
    if groups:
        again = sum(len(group) - 1 for group in groups)
        about = (
            f"{counted(len(groups), 'id')} in more than one item ({counted(again, 'repetition')})"
        )
        if file.has_texts:
            other = sum(len({file.texts.rows[place] for place in group}) > 1 for group in groups)
            about += f"; ids with different texts: {other}"
        if file.is_annotated:
            about += f"; ids with different annotations: {_differing(file, groups)}"
        yield Finding("id-doubled", len(groups), about, at(file, [group[1] for group in groups]))


def _texts(file: GoldFile) -> Iterator[Finding]:
    if not file.has_texts:
        return
    texts = file.texts.rows
    empty = [place for place, (hyp, _, _) in enumerate(texts) if not hyp]
    yield from of_rows(file, "text-empty", empty, "{} with an empty output")
    empty = [place for place, (_, src, tgt) in enumerate(texts) if not (src or tgt)]
    if len(empty) < len(texts) or any("src" in row or "tgt" in row for row in file.rows):
        about = "{} with neither a source nor a target"
        yield from of_rows(file, "text-empty", empty, about)
    groups = _groups([row if any(row) else None for row in texts])
    if groups:
        again = sum(len(group) - 1 for group in groups)
        about = f"{counted(again, 'item')} with the same texts as an earlier item"
        if file.is_annotated:
            about += (
                f"; texts whose copies have different annotations: {_differing(file, groups)} of "
                f"{len(groups)}"
            )
        yield Finding("item-doubled", again, about, at(file, [group[1] for group in groups]))


def _keys(file: GoldFile) -> Iterator[Finding]:
    """Yield the edition's keys of ids and texts if no row has them; texts may be elsewhere."""
    item, has_data = file.edition.item, bool(file.edition.files.data)
    reads = {"id": (item.id_key,), "hyp": ("hyp",), "src": ("src", "tgt"), "tgt": ("tgt", "src")}
    for key, names in reads.items():
        is_named = key in item.keys and not (has_data and key in TEXTS)
        if is_named and not any(name in row for row in file.rows for name in names):
            about = f'{{}} without the key "{item.keys[key]}", which the edition specifies'
            yield from of_rows(file, "key-missing", range(len(file.rows)), about, names[0])


def _annotation(file: GoldFile) -> Iterator[Finding]:
    if tasks := tuple(file.edition.tasks):
        other = file.where(lambda row: row.get("task", "") not in tasks)
        yield from of_rows(file, "task-value", other, "{} whose task is not in the edition", "task")
    if file.kind == "binary":
        words = (None, "", "both", *(side.value for side in Reference))
        other = file.where(lambda row: row.get("ref") not in words)
        about = '{} whose ref is not "src", "tgt" or "either"'
        yield from of_rows(file, "ref-value", other, about, "ref")
    bare = np.flatnonzero(~file.annotated)
    yield from of_rows(file, "unannotated", bare, "{} without an annotation")
    yield from _BY_KIND[file.kind](file)


def _binary(file: GoldFile) -> Iterator[Finding]:
    rows = file.rows
    label = np.array([number(row.get("label")) for row in rows], np.int8)
    p = probabilities(file)
    is_bare = [row.get("label") is None and row.get(P) is None for row in rows]
    bare, annotated = file.annotated & is_bare, file.annotated & np.invert(is_bare)
    words = [f'"{word}"' for word in file.edition.own_labels or LABELS]
    expected = " or ".join(words)
    label_key, p_key = (file.edition.item.keys.get(key, key) for key in ("label", P))
    about = f"{{}} with votes but no {label_key} and no {p_key}"
    fix = f"compute {label_key} and {p_key} from the votes"
    yield from of_rows(file, "label-value", np.flatnonzero(bare), about, fix=fix)
    for code, odd, what, key in (
        ("label-value", annotated & (label < 0), f"{label_key} is not {expected}", "label"),
        ("p-value", annotated & np.isnan(p), f"{p_key} is not a number in [0, 1]", P),
    ):
        yield from of_rows(file, code, np.flatnonzero(odd), f"{{}} whose {what}", key)
    wrong = file.where(lambda row: bool(read_votes(row.get("labels"))[1]))
    fix = f"write the votes as a list, such as [{', '.join(words)}]"
    for code, are_lists, about in (
        ("label-value", False, "{} whose votes are not a list"),
        ("vote-value", True, "{} with a vote that is neither a label nor missing"),
    ):
        some = [it for it in wrong if isinstance(rows[it]["labels"], (list, dict)) is are_lists]
        yield from of_rows(file, code, some, about, "labels", "" if are_lists else fix)
    yield from _other_votes(file)
    yield from _contradictions(file, label, p)
    so = "balanced accuracy and AUROC are undefined"
    yield from _one_class(label[label >= 0], label_key, so)
    yield from _one_class(p[~np.isnan(p)], p_key, "rho is undefined")


def _other_votes(file: GoldFile) -> Iterator[Finding]:
    """Yield the keys that have votes if no row has the edition's key of votes."""
    row = reworded(file.rows[0], {}, file.edition.own_labels, labels=tuple(file.rows[0]))
    for key, value in row.items():
        votes, faults = read_votes(value)
        if (
            {0, 1}.intersection(votes)
            and not faults
            and not any("labels" in other for other in file.rows)
        ):
            about = f'{{}} with votes under the key "{key}", which is ignored'
            fix = f'set keys = {{labels = "{key}"}} under [item] in the edition, or rename the key'
            places = [place for place, other in enumerate(file.rows) if key in other]
            yield from of_rows(file, "vote-value", places, about, fix=fix)


def _contradictions(file: GoldFile, label: NDArray[Any], p: NDArray[Any]) -> Iterator[Finding]:
    votes = item_votes(file)
    cast = None if votes is None else np.column_stack(agreement.counted(votes.votes)[::-1])
    against_p = ((label == 1) & (p < 0.5)) | ((label == 0) & (p > 0.5))
    table = Rows(file.file, len(label), label, p, votes=cast)
    usual = Label.HALLUCINATION.value
    flagged = next((f'"{word}"' for word in file.edition.own_labels), usual)
    what = {
        "label-p": "label contradicts p",
        "label-votes": "label differs from the majority vote",
        "p-votes": f"p differs from the share of votes for {flagged}",
    }
    is_clear = (label >= 0) & (p != 0.5)
    contradictions = {"label-p": np.flatnonzero(against_p), **against_votes(table)}
    # Another order of the edition's labels exchanges labels and votes alike.
    may_be_exchanged = file.edition.own_labels and not len(contradictions.get("label-votes", ()))
    for code, odd in contradictions.items():
        about, fix = f"{{}} whose {what[code]}", CHECKS[code].fix.replace(usual, flagged)
        are_all = is_clear[odd].sum() > 1 and not np.delete(is_clear, odd).any()
        if are_all and may_be_exchanged:
            about += "; this concerns all items whose p is not 1/2, so check the order of the "
            about += "labels in the edition"
        yield from of_rows(file, code, odd, about, fix=fix)


def _one_class(values: NDArray[Any], what: str, so: str) -> Iterator[Finding]:
    if len(values) > 1 and len(np.unique(values)) == 1:
        about = f"{what} is the same on all {len(values)} items: {so}"
        yield Finding("one-class", len(values), about)


def _aspects(file: GoldFile) -> Iterator[Finding]:
    for aspect in file.edition.annotation.aspects:
        answers = [row.get(aspect.key) for row in file.rows]
        allowed = (aspect.yes, aspect.no)
        odd = file.annotated & [answer not in allowed for answer in answers]
        about = f'{{}} whose {aspect.key} is not "{aspect.yes}" or "{aspect.no}"'
        yield from of_rows(file, "label-value", np.flatnonzero(odd), about, aspect.key)
        valid = np.array([answer == aspect.yes for answer in answers if answer in allowed])
        so = "the F1 of the other answer is undefined"
        yield from _one_class(valid, aspect.key, so)


def _spans(file: GoldFile) -> Iterator[Finding]:
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
        about = (
            "{} whose hard labels differ from the set of characters with a probability above 1/2"
        )
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


_BY_KIND = {
    "binary": _binary,
    "aspects": _aspects,
    "spans": _spans,
    "labelled-spans": _spans,
}
