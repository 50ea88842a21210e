"""The rows of a gold of any edition, with the kit's own keys, and the votes in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.json_reading import BROKEN
from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError, printable, show
from shroom.evaluation.gold_quality.findings import PLACES, Finding
from shroom.evaluation.gold_quality.sharing import Texts, text_of
from shroom.metrics.agreement import MISSING
from shroom.metrics.base import Floats
from shroom.metrics.leave_one_out import NamedVotes
from shroom.scoring.data_set_forms import another_form, form_of
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import NAMES, built_in
from shroom.scoring.input_files import JSON, TABLES, Document, documents_among_others
from shroom.scoring.item_values import problem_of_p
from shroom.scoring.kinds.base import kind_of
from shroom.scoring.kinds.span_values import HardSpan, SoftSpan, read_spans
from shroom.scoring.kinds.spans import ANNOTATIONS
from shroom.scoring.rows import P, Role
from shroom.scoring.votes import by_annotator, named

#: Whether each row is odd.
Odd = Sequence[bool] | NDArray[Any]


def annotation_keys(edition: Edition) -> tuple[str, ...]:
    """Return the keys of an annotation; an annotated row has at least one of them."""
    kind = kind_of(edition)
    keys = [key for group in kind.fields(edition, Role.GOLD) for key in group.keys]
    return (*keys, *(key for key in kind.keys if key == ANNOTATIONS))


def _fits(row: Mapping[str, Any], edition: Edition) -> bool:
    """Return whether a row has the output or the annotation of an edition."""
    is_answered = edition.annotation.kind == "aspects" and row.keys() >= {*annotation_keys(edition)}
    return is_answered or edition.item.key("hyp") in row


@dataclass(eq=False)
class GoldFile:
    file: str
    edition: Edition
    rows: list[dict[str, Any]]

    @property
    def kind(self) -> str:
        return self.edition.annotation.kind

    @property
    def name(self) -> str:
        return PurePath(self.file).name

    @property
    def place(self) -> str:
        return str(Path(self.file).absolute())

    @property
    def split_and_track(self) -> tuple[str, str]:
        """The split and track in its name, empty if it has none."""
        name = self.edition.guess(self.name)
        return ("", "") if name is None else name.key

    @property
    def has_texts(self) -> bool:
        return any("hyp" in row for row in self.rows)

    @cached_property
    def ids(self) -> list[Hashable]:
        """The id of each row; ``None`` without a valid id."""
        ids = (row.get(self.edition.item.id_key) for row in self.rows)
        return [id_ if type(id_) in (int, str) and id_ != "" else None for id_ in ids]

    @cached_property
    def texts(self) -> Texts:
        return Texts(self.rows)

    @cached_property
    def annotated(self) -> NDArray[np.bool_]:
        """Whether each row has a value under a key of the annotation."""
        keys = annotation_keys(self.edition)
        return self.where(lambda row: any(row.get(key) is not None for key in keys))

    @property
    def is_annotated(self) -> bool:
        return bool(self.annotated.any())

    def where(self, test: Callable[[dict[str, Any]], bool]) -> NDArray[np.bool_]:
        return np.array([test(row) for row in self.rows], bool)

    def places(self, rows: Iterable[int]) -> tuple[str, ...]:
        """Return the first of some rows as findings name them."""
        ids = [(row, self.rows[row].get(self.edition.item.id_key)) for row in [*rows][:PLACES]]
        return tuple(
            f"item {row}" if id_ is None else f"item {row} (id {str(id_)[:60]})" for row, id_ in ids
        )

    def finding(self, code: str, is_odd: Odd, about: str, key: str = "", fix: str = "") -> Finding:
        """Return a finding about the rows that are odd; its text begins with their number.

        The text ends with the first row's value under ``key``, or with its keys.
        """
        rows = np.flatnonzero(is_odd).tolist()
        if rows and key:
            name = self.edition.item.key(key)
            (row,) = self.edition.with_file_keys([self.rows[rows[0]]])
            got = show(row[name]) if name in row else f"keys {show([*row], width=200)}"
            about = f"{about}; got {got}"
        about = f"{counted(len(rows), 'item')} {about}"
        return Finding(code, len(rows), about, self.places(rows), fix)


def read_gold(source: Source, edition: Edition | None, problems: Problems) -> list[GoldFile]:
    """Return the files of a gold with their rows, each read by its edition."""
    documents = documents_among_others(source, problems, endings=(*JSON, *TABLES))
    read = [_read(document, edition, problems) for document in documents]
    files = [file for file in read if file is not None]
    if problems.errors:
        raise InvalidInput(problems)
    if not files:
        raise ShroomError(
            f"{printable(str(source))}: no file has the format of an edition; "
            "specify the edition with --edition"
        )
    return _with_texts(files)


def _read(document: Document, edition: Edition | None, problems: Problems) -> GoldFile | None:
    """Return the rows of a document; ``None`` if it is not gold."""
    if (data := document.read(problems)) is None:
        return None
    first = document.row_at(data, 0)
    if not first and not document.member:
        document.items(problems)  # reports why there is no first row
        return None
    fitting = edition or next((it for it in map(built_in, NAMES) if _fits(first, it)), None)
    found, code = f"keys {show(sorted(first))}", "key-missing"
    if edition is None and form_of(first) not in NAMES and (other := another_form(first)):
        fitting, found, code = None, other, "other-form"
    if first and fitting is not None:
        own = Problems()
        file = GoldFile(document.file, fitting, _rows(document, fitting, own))
        roles = (Role.GOLD, Role.DATA)
        if not document.member or any(fitting.parse(document.base, role) for role in roles):
            problems.extend(own)
            return file
        # Labels without texts in a folder may as well be predictions.
        if file.has_texts and not own.errors:
            return file
        found = "labels without texts, or an unreadable file, with an unknown name"
    form = edition.name if edition else "an edition (with its [item] keys)"
    code = "file-ignored" if document.member else code
    problems.add(code, document.file, f"rows in the format of {form}", found)
    return None


def _rows(document: Document, edition: Edition, problems: Problems) -> list[dict[str, Any]]:
    items = [*edition.with_own_keys(document.items(problems, edition.item) or ())]
    for index, item in enumerate(items):
        if not isinstance(item, dict) and item is not BROKEN:  # which is reported
            problems.add("item-object", document.file, "an object", show(item), index=index)
    return [item for item in items if isinstance(item, dict)]


def _with_texts(files: Sequence[GoldFile]) -> list[GoldFile]:
    """Return the files; labels get the texts of the data file with the most common ids."""
    lenders = [file for file in files if file.has_texts and not file.is_annotated]
    chosen = [None if file.has_texts else _lender(file, lenders) for file in files]
    merged = [file if it is None else _joined(file, it) for file, it in zip(files, chosen)]
    used = {lender.file for lender in chosen if lender is not None}
    return [file for file in merged if file.file not in used]


def _lender(file: GoldFile, lenders: Sequence[GoldFile]) -> GoldFile | None:
    ids = {*file.ids} - {None}
    common = {it: len(ids.intersection(it.ids)) for it in lenders if not ids.isdisjoint(it.ids)}
    alike = {it: it.split_and_track == file.split_and_track for it in common}
    return max(common, key=lambda it: (common[it], alike[it]), default=None)


def _joined(file: GoldFile, lender: GoldFile) -> GoldFile:
    texts = lender.rows
    if file.ids != lender.ids:  # the same ids may occur more than once
        by_id = dict(reversed([*zip(lender.ids, lender.rows)]))
        texts = [{} if id_ is None else by_id.get(id_, {}) for id_ in file.ids]
    rows = [{**text, **row} for text, row in zip(texts, file.rows)]
    return replace(file, rows=rows)


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
