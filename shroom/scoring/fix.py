"""Fixing unambiguous mistakes in a submission, with a log of the changes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from shroom.core import frame_json
from shroom.core.atomic_writing import check_targets, names_a_file, write_files
from shroom.core.paths import Source, is_inside
from shroom.core.printing import counted
from shroom.core.problems import Problem, Problems, ShroomError, Stopped
from shroom.scoring.align import restored_order
from shroom.scoring.check import check_documents, sources_of
from shroom.scoring.column_names import Names
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.file_choice import well_named
from shroom.scoring.file_names import Name, without_slips
from shroom.scoring.in_memory import Data
from shroom.scoring.input_files import TABLES, Document, documents, documents_among_others
from shroom.scoring.item_fixes import Log, fix_items
from shroom.scoring.item_values import id_in
from shroom.scoring.verdict import Checked

#: The codes of problems that can sometimes be fixed.
FIXABLE = {
    *("file-name", "encoding", "not-a-list", "item-object", "column-name", "value-finite"),
    *("key-missing", "key-unknown", "key-doubled", "label-value", "word-value", "span-value"),
    *("p-number", "p-finite", "p-range", "order", "order-texts"),
    *("id-missing", "id-integer", "id-value", "id-string"),
}


@dataclass
class FixedSubmission:
    """A submission after fixing."""

    #: The new content of each file, by its name.
    files: dict[str, str]
    changes: list[str]
    #: The check of the new content, with the places in the original files.
    checked: Checked
    #: Why nothing can be written; empty if it can.
    obstacle: str


def fix_submission(
    submission: Data,
    gold: Data | None = None,
    *,
    data: Data | None = None,
    edition: Edition | Source | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] | None = None,
) -> FixedSubmission:
    """Return a submission with all unambiguous mistakes fixed; nothing is written."""
    names = Names.of(columns, labels)
    submission, gold, data = sources_of(submission, gold, data, names)
    problems, log = Problems(), Log(None if Problems.show_all else 3)
    reference = gold if gold is not None else data
    edition, _ = resolve(edition, reference)
    all_documents = documents(submission, problems, edition, submission=True, names=names)
    candidates = []
    if reference is not None:
        candidates = documents_among_others(reference, Problems(), edition, names=names)
    all_documents = _renamed(all_documents, candidates, log, edition)
    chosen = well_named(all_documents, problems, edition)
    fixed, as_they_are = [], []
    for document in all_documents:
        # For the other files, only the wrong name is reported.
        items = _items(document, problems if document in chosen else Problems(), log, edition)
        if items is not None:
            fixed.append((document, fix_items(items, document.file, log, edition)))
        elif document in chosen:
            as_they_are.append(document)

    def verdict() -> tuple[list[Document], Checked]:
        files = [_with_rows(document, rows, edition) for document, rows in fixed]
        to_check = [file for file, (document, _) in zip(files, fixed) if document in chosen]
        own = Problems()
        own.extend(problems)
        to_check += as_they_are
        return files, check_documents(
            to_check, gold, data=data, problems=own, edition=edition, names=names
        )

    files, checked = verdict()
    obstacle = ""
    if reference is not None and checked.problems.errors == checked.problems.count("order-texts"):
        orders, obstacle = _reorder(fixed, checked, log)
        if orders:
            files, checked = verdict()
            checked.problems = checked.problems.replaced(partial(_as_handed_in, orders, problems))
    obstacle = obstacle or ("" if checked.ok else "errors remain")
    return FixedSubmission(_contents(files, checked), log.all(), checked, obstacle)


def _as_handed_in(
    orders: Mapping[str, Sequence[int]], problems: Problems, problem: Problem
) -> Problem:
    """Return a problem of a sorted file with the place before sorting."""
    if problem.index is None or problem.file not in orders:
        return problem
    index, lines = orders[problem.file][problem.index], problems.line_numbers.get(problem.file)
    return replace(problem, index=index, line_number=lines[index] if lines else None)


def write(fixed: FixedSubmission, out: Source, *inputs: Source | None) -> None:
    """Write a fixed submission to ``out``, unless there is an obstacle."""
    path, edition = Path(out), fixed.checked.edition
    if os.fspath(out) != "-" and not names_a_file(path) and None in map(edition.parse, fixed.files):
        example = edition.name_of(edition.submitted[0], edition.track_names[-1]).base
        raise ShroomError(
            f"{out}: files in a zip or a folder need names like {example}, but the split and track "
            "are unknown; write to a .json file, or rename the submission"
        )
    for source in inputs:
        if source not in (None, "-") and Path(source).is_dir() and is_inside(path, source):
            raise ShroomError(
                f"{out} is inside the input {source}, which is never changed; use another location"
            )
    check_targets([path], inputs, folders=True)
    if fixed.obstacle:
        raise ShroomError(f"{out} was not written, because {fixed.obstacle}")
    if os.fspath(out).lower().endswith(TABLES):
        raise ShroomError(f"{out}: fixed files are written as JSON; use a .json or .jsonl file")
    write_files(path, fixed.files, inputs)


def _items(document: Document, problems: Problems, log: Log, edition: Edition) -> list[Any] | None:
    """Return the items of a file if all are readable, and log how a table is read."""
    document_problems = Problems()
    content = document.read_own(document_problems, edition)
    items: list[Any] = []
    if content is not None:
        with suppress(Stopped):  # the reason is among the problems
            items += document.iter_items(content, document_problems, edition.item)
        if document_problems.codes == {"not-a-list"}:
            rows = frame_json.rows_of(content.decode("utf-8-sig"), edition.item.id_key)
            if rows is not None:
                text = f"read {counted(len(rows), 'row')} of {frame_json.FRAME}"
                log.add("not-a-list", document.file, text)
                items, document_problems = list(document.names.renamed(rows)), Problems()
    if document_problems.errors:
        return None
    for problem in document_problems:
        log.add(problem.code, document.file, str(problem.found))
    problems.line_numbers.update(document_problems.line_numbers)
    return items


def _renamed(
    all_documents: list[Document], candidates: list[Document], log: Log, edition: Edition
) -> list[Document]:
    """Return the files, with corrected names if split and track are spelled differently."""
    names_meant = []
    for document in all_documents:
        name = (edition.parse if document.member else edition.guess)(document.base)
        # One file serves for one that is named directly, whatever they are called.
        is_served = len(candidates) == 1 and not document.member
        meant = name if name or is_served else _name_meant(document, candidates, edition)
        names_meant.append((name, meant))
    counts = Counter(meant and meant.base for _, meant in names_meant)
    renamed = []
    for document, (name, meant) in zip(all_documents, names_meant):
        if meant is not None and counts[meant.base] == 1 and meant != name:
            log.add("file-name", document.file, f"read as {meant.base}")
            base = PurePosixPath(meant.base).stem + document.ending
            renamed.append(replace(document, base=base))
        else:
            renamed.append(document)
    return renamed


def _name_meant(document: Document, candidates: list[Document], edition: Edition) -> Name | None:
    """Return the unambiguous split and track of a file, by its name or its ids."""
    name = edition.meant(document.base)
    ids = None if name is not None else _ids(document, edition)
    if not ids:
        return name
    fitting = [edition.parse(it.base) for it in candidates if _ids(it, edition) == ids]
    return fitting[0] if len(fitting) == 1 else None


def _ids(document: Document, edition: Edition) -> set[Any] | None:
    """Return the ids of a file's items; ``None`` if an item has none."""
    item = edition.item
    rows = fix_items(document.items(Problems(), item) or [], document.file, Log(0), edition)
    ids = {id_in(row.get(item.id_key), item.id) if isinstance(row, dict) else None for row in rows}
    return None if None in ids else ids


def _reorder(
    fixed: list[tuple[Document, list[Any]]], checked: Checked, log: Log
) -> tuple[dict[str, list[int]], str]:
    """Sort rows in the order of the gold or data; return the old order, and any obstacle."""
    orders, obstacle = dict[str, list[int]](), ""
    for place, (document, rows) in enumerate(fixed):
        tracks = [track for track in checked.tracks if track.predictions.file == document.file]
        if len(tracks) != 1 or tracks[0].gold is None or tracks[0].gold.n != len(rows):
            continue
        gold = tracks[0].gold
        order, source, doubt = restored_order(tracks[0].predictions, gold, rows)
        is_moved = any(checked.problems.count(it, document.file) for it in ("order", "order-texts"))
        if doubt and is_moved:
            obstacle = f"{document.file} is not in the order of {gold.file}, and {doubt}"
        if doubt or order == sorted(order):
            continue
        orders[document.file] = order
        fixed[place] = (document, [rows[row] for row in order])
        log.add("order", document.file, f"put {len(rows)} rows into the order of {source}")
    return orders, obstacle


def _contents(documents: list[Document], checked: Checked) -> dict[str, str]:
    """Return the new files by name; a file without a track is named after its gold."""
    contents: dict[str, str] = {}
    for document in documents:
        name = document.base
        if len(documents) == 1 and checked.tracks and checked.tracks[0].name.split:
            name = checked.tracks[0].name.base
        if name in contents:  # two files for one track are for the participant to choose from
            name = f"{len(contents) + 1}/{name}"
        contents[name] = bytes(document.read(Problems()) or b"").decode()
    return contents


def _with_rows(document: Document, rows: list[Any], edition: Edition) -> Document:
    """Return a file of the submission with new rows, as JSON Lines or a list like the edition's."""
    name = without_slips(document.base)
    stem = name[: len(name) - len(document.ending)].strip("<>")
    encoded = list(map(json.JSONEncoder().encode, rows))
    is_lines = edition.predictions_pattern.endswith(".jsonl")
    text = "\n".join(encoded) + "\n" if is_lines else "[\n" + ",\n".join(encoded) + "\n]\n"
    base = f"{stem}.jsonl" if is_lines else f"{stem}.json"
    return Document(document.file, base, text.encode(), member=document.member)
