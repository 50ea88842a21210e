"""Checks of the items of a gold: ids, texts, labels and votes."""

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
from shroom.evaluation.gold_quality.sharing import Shared
from shroom.evaluation.gold_quality.span_checks import check_spans
from shroom.evaluation.gold_quality.votes import counts, item_votes, number, probabilities
from shroom.scoring.column_checks import against_votes
from shroom.scoring.item_values import id_in
from shroom.scoring.rows import LABELS, TEXTS, P, Rows


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
    answers = [_answer(row, file) for row in file.rows]
    return sum(len({answers[place] for place in group}) > 1 for group in groups)


def _answer(row: Mapping[str, Any], file: GoldFile) -> str:
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
        about = f"{counted(len(groups), 'id')} used more than once ({counted(again, 'repetition')})"
        if file.has_texts:
            other = sum(len({file.texts.rows[place] for place in group}) > 1 for group in groups)
            about += f"; ids with different texts: {other}"
        if file.is_annotated:
            about += f"; ids with different annotations: {_differing(file, groups)}"
        yield Finding("id-doubled", len(groups), about, at(file, [group[1] for group in groups]))


def contradictions(
    file: GoldFile, other: GoldFile, shared: Shared, *, is_one_split: bool
) -> Iterator[Finding]:
    """Yield contradictions with another file: answers to the same item, and ids."""
    if file.is_annotated and other.is_annotated and file.edition.name == other.edition.name:
        odd = [
            own
            for own, there in shared.exact.items()
            if _answer(file.rows[own], file) != _answer(other.rows[there], other)
        ]
        about = f"{{}} with a different annotation in {other.name}"
        yield from of_rows(file, "shared-answer", odd, about)
    if is_one_split:
        odd = [own for own, there in shared.exact.items() if file.ids[own] != other.ids[there]]
        yield from of_rows(file, "shared-id", odd, f"{{}} with a different id in {other.name}")
    if file.edition.item.id == "string":
        theirs = dict(zip(other.ids, other.rows))
        odd = [
            place
            for place, (id_, row) in enumerate(zip(file.ids, file.rows))
            if id_ is not None and _differs(row, theirs.get(id_, {}))
        ]
        yield from of_rows(
            file, "shared-id", odd, f"{{}} with an id that belongs to another item in {other.name}"
        )


def _differs(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return any(row[key] != other[key] for key in TEXTS if key in row and key in other)


def _texts(file: GoldFile) -> Iterator[Finding]:
    if not file.has_texts:
        return
    texts = file.texts.rows
    empty = [place for place, (hyp, _, _) in enumerate(texts) if not hyp]
    yield from of_rows(file, "text-empty", empty, "{} with an empty output")
    empty = [place for place, (_, src, tgt) in enumerate(texts) if not (src or tgt)]
    if len(empty) < len(texts):
        yield from of_rows(file, "text-empty", empty, "{} with nothing to compare the output with")
    groups = _groups([row if any(row) else None for row in texts])
    if groups:
        again = sum(len(group) - 1 for group in groups)
        about = f"{counted(again, 'item')} with the same texts as an earlier item"
        if file.is_annotated:
            about += (
                f"; texts with different annotations: {_differing(file, groups)} of {len(groups)}"
            )
        yield Finding("item-doubled", again, about, at(file, [group[1] for group in groups]))


def _keys(file: GoldFile) -> Iterator[Finding]:
    """Yield the edition's keys of ids and outputs if no row has them; outputs may be elsewhere."""
    item, has_data = file.edition.item, bool(file.edition.files.data)
    for key, read in (("id", item.id_key), ("hyp", "hyp")):
        is_named = key in item.keys and not (key == "hyp" and has_data)
        if is_named and not any(read in row for row in file.rows):
            about = f'{{}} without the key "{item.keys[key]}", which the edition names'
            yield from of_rows(file, "key-missing", range(len(file.rows)), about, read)


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
    expected = " or ".join(f'"{word}"' for word in file.edition.own_labels or LABELS)
    label_key, p_key = (file.edition.item.keys.get(key, key) for key in ("label", P))
    about = f"{{}} with votes but no {label_key} and no {p_key}"
    fix = f"compute {label_key} and {p_key} from the votes"
    yield from of_rows(file, "label-value", np.flatnonzero(bare), about, fix=fix)
    for code, odd, what, key in (
        ("label-value", annotated & (label < 0), f"{label_key} is not {expected}", "label"),
        ("p-value", annotated & np.isnan(p), f"{p_key} is not a number in [0, 1]", P),
    ):
        yield from of_rows(file, code, np.flatnonzero(odd), f"{{}} whose {what}", key)
    odd_votes = file.where(lambda row: not _are_votes(row.get("labels")))
    about = "{} with a vote that is neither a label nor missing"
    yield from of_rows(file, "vote-value", odd_votes, about, "labels")
    yield from _contradictions(file, label, p)
    so = "balanced accuracy and AUROC are undefined"
    yield from _one_class(label[label >= 0], label_key, so)
    yield from _one_class(p[~np.isnan(p)], p_key, "rho is undefined")


def _contradictions(file: GoldFile, label: NDArray[Any], p: NDArray[Any]) -> Iterator[Finding]:
    """Yield contradictions between label, p and votes, in the words of the edition."""
    votes = item_votes(file)
    cast = None if votes is None else np.column_stack(counts(votes.votes))
    against_p = ((label == 1) & (p < 0.5)) | ((label == 0) & (p > 0.5))
    table = Rows(file.file, len(label), label, p, votes=cast)
    usual = Label.HALLUCINATION.value
    flagged = next(iter(file.edition.own_labels), usual)
    what = {
        "label-p": "label contradicts p",
        "label-votes": "label differs from the majority vote",
        "p-votes": f"p differs from the share of votes for {flagged}",
    }
    is_clear = (label >= 0) & (p != 0.5)
    for code, odd in {"label-p": np.flatnonzero(against_p), **against_votes(table)}.items():
        about, fix = f"{{}} whose {what[code]}", CHECKS[code].fix.replace(usual, flagged)
        are_all = is_clear[odd].sum() > 1 and not np.delete(is_clear, odd).any()
        if are_all and file.edition.own_labels:
            about += "; this concerns all items whose p is not 1/2, so check the order of the "
            about += "labels in the edition"
        yield from of_rows(file, code, odd, about, fix=fix)


def _are_votes(value: Any) -> bool:
    """Return whether a value is a list of votes, or an object with the vote of each annotator."""
    votes = list(value.values()) if isinstance(value, dict) else value
    words = (None, *LABELS)
    return votes is None or (isinstance(votes, list) and all(vote in words for vote in votes))


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


_BY_KIND = {
    "binary": _binary,
    "aspects": _aspects,
    "spans": check_spans,
    "labelled-spans": check_spans,
}
