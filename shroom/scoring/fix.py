"""Mending what is mechanical in a submission, and saying each thing that was done."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.atomic_writing import names_a_file, refuse_overwriting, write_files
from shroom.core.problems import Problems, ShroomError, Stopped
from shroom.scoring.check import Checked, check_documents
from shroom.scoring.documents import TABLES, Document, documents, documents_among_others
from shroom.scoring.file_choice import named
from shroom.scoring.file_names import Name
from shroom.scoring.item_fixes import Log, fixed
from shroom.scoring.item_values import id_in
from shroom.scoring.known_formats import refuse_another
from shroom.scoring.table import TEXTS

if TYPE_CHECKING:
    from shroom.core.paths import Source
    from shroom.scoring.align import Track
    from shroom.scoring.table import Table


#: Items of one file, which are held in memory all at once.
MAX_ITEMS = 1_500_000
#: More calls than lie between reading an item and writing it.
_STACK = 20


@dataclass
class Mended:
    """A submission after mending.

    Attributes
    ----------
    files : dict
        The new content of each file, by its name.
    done : list of str
        What was done, a line each.
    checked : Checked
        The verdict on the new content.
    """

    files: dict[str, str]
    done: list[str]
    checked: Checked


def mend(
    submission: Source,
    gold: Source | None = None,
    *,
    data: Source | None = None,
    limit: int | None = 20,
) -> Mended:
    """Return a submission with what has only one reading put right.

    That is: the spelling of keys, labels and file names, numbers and ids in strings, p in percent
    or with a decimal comma, label and p exchanged, and the order of the rows where ``gold`` or
    ``data`` tells it (see :func:`shroom.scoring.item_fixes.fixed`). What is missing or ambiguous
    stays so.

    Parameters
    ----------
    submission, gold, data : path
        As for :func:`shroom.scoring.check.check`.
    limit : int or None
        How many lines of each kind to keep.

    Returns
    -------
    Mended
        Nothing is written; see :func:`write`.
    """
    found = Problems(limit)
    log = Log(limit)
    held_against = gold if gold is not None else data
    mended = []
    every = documents(submission, found, submission=True)
    every = _renamed(every, held_against, log)
    kept = named(every, found)
    for document in every:
        told = found if document in kept else Problems()  # of the others the name is wrong
        items = _items(document, told, log)
        if items is not None:
            mended.append((document, fixed(items, document.file, log)))
    _reorder(mended, held_against, log, labelled=gold is not None)
    again = [_again(document, rows) for document, rows in mended]
    well_named = [new for new, (document, _) in zip(again, mended) if document in kept]
    checked = check_documents(well_named, gold, data=data, problems=found)
    return Mended(_files(again, checked), log.all(), checked)


def write(mended: Mended, out: Source, *inputs: Source | None) -> None:
    """Write a mended submission: as a zip, a folder or one file, as ``out`` names it.

    Raises
    ------
    ShroomError
        Where errors remain, or ``out`` would touch one of the ``inputs``.
    """
    path = Path(out)
    if os.fspath(out) != "-" and not names_a_file(path) and None in map(Name.parse, mended.files):
        raise ShroomError(
            f"{out}: a zip or a folder wants names like val.model-aware.json, and nothing tells "
            "split and track; name a .json file, or rename the submission"
        )
    real = Path(os.path.realpath(path))
    for read in inputs:
        folder = Path(os.path.realpath(read)) if read not in (None, "-") else None
        if folder and folder.is_dir() and (folder == real or folder in real.parents):
            raise ShroomError(f"{out}: lies in {read}, which is never touched; name another place")
    if not mended.files:
        raise ShroomError(f"{out}: not written, since nothing could be read")
    refuse_overwriting([path], inputs)
    if not mended.checked.ok:
        raise ShroomError(f"{out}: not written, since errors remain")
    if os.fspath(out).lower().endswith(TABLES):
        raise ShroomError(f"{out}: what is fixed is written as JSON; name a .json or .jsonl file")
    write_files(path, mended.files, inputs)


def _items(document: Document, problems: Problems, log: Log) -> list[Any] | None:
    """Return the items of a file all of which can be read; how a table is read is logged."""
    own = Problems()
    content = document.read(own)
    items: list[Any] = []
    if content is not None and not refuse_another(document, content, own):
        with suppress(Stopped):  # the reason is among the problems
            items += islice(document.each(content, own), MAX_ITEMS + 1)
    if len(items) > MAX_ITEMS:
        own.add("too-large", document.file, f"at most {MAX_ITEMS} items", "more")
    elif not all(map(_can_be_written, items)):
        own.add("not-json", document.file, "JSON", "brackets that nest too deeply")
    if own.errors:
        problems.extend(own)
        return None
    for problem in own:
        log.add(problem.code, document.file, problem.found)
    return items


def _can_be_written(item: Any) -> bool:
    """Return whether an item's brackets nest no deeper than :func:`_again` can write.

    It writes from deeper in the call stack than the item was read, hence the brackets around it.
    """
    if not isinstance(item, dict) or not any(isinstance(v, (list, dict)) for v in item.values()):
        return True
    around: Any = item
    for _ in range(_STACK):
        around = [around]
    try:
        json.JSONEncoder().encode(around)
    except RecursionError:
        return False
    return True


def _renamed(every: list[Document], held_against: Source | None, log: Log) -> list[Document]:
    """Return the files, those that spell their split and track otherwise under the right names."""
    against = [] if held_against is None else documents_among_others(held_against, Problems())
    names = [_name(document, against) for document in every]
    counts = Counter(None if name is None else name.base for name in names)
    new = []
    for document, name in zip(every, names):
        if name is None or counts[name.base] > 1 or name == _told(document):
            new.append(document)
            continue
        base = name.base.removesuffix(".json") + document.ending
        log.add("file-name", document.file, f"read as {name.base}")
        new.append(replace(document, base=base))
    return new


def _told(document: Document) -> Name | None:
    """Return what a file's name tells as it is; one that is named directly may have more words."""
    return (Name.parse if document.member else Name.guess)(document.base)


def _name(document: Document, against: list[Document]) -> Name | None:
    """Return the split and track of a file: by its name or, if that tells nothing, by its ids."""
    told = _told(document)
    if told is not None or (len(against) == 1 and not document.member):
        return told  # one file serves for one that is named directly, whatever they are called
    name = Name.meant(document.base)
    if name is not None:
        return name
    own = _ids(document)
    fitting = [Name.parse(each.base) for each in against if own and _ids(each) == own]
    return fitting[0] if len(fitting) == 1 else None


def _ids(document: Document) -> set[int | None] | None:
    """Return the ids of a file's items; ``None`` where not every item has one."""
    data = document.read(Problems())
    items = None if data is None else document.items(data, Problems())
    rows = fixed(items or [], document.file, Log(0))
    ids = {id_in(row.get("id")) if isinstance(row, dict) else None for row in rows}
    return None if None in ids else ids


def _reorder(
    mended: list[tuple[Document, list[Any]]],
    held_against: Source | None,
    log: Log,
    *,
    labelled: bool,
) -> None:
    """Put rows into the order of the gold or the data, where ids or texts tell it."""
    if held_against is None:
        return
    for place, (document, rows) in enumerate(mended):
        track = _track_for(document, rows, held_against, labelled=labelled)
        if not track or not track.gold or not all(isinstance(row, dict) for row in rows):
            continue
        keys, wanted, order = _keys(rows, track.gold, numbered=track.predictions.numbered)
        if keys == wanted or Counter(keys) != Counter(wanted):
            continue
        queues: dict[Any, list[Any]] = {}
        for key, row in zip(keys, rows):
            queues.setdefault(key, []).append(row)
        alike = sum(any(row != queue[0] for row in queue) for queue in queues.values())
        mended[place] = (document, [queues[key].pop(0) for key in wanted])
        log.add("order", document.file, f"put {len(rows)} rows into the order of {order}")
        if alike:
            text = f"{alike} groups of rows with equal texts kept their order among themselves"
            log.add("order", document.file, text)


def _track_for(
    document: Document, rows: list[Any], held_against: Source, *, labelled: bool
) -> Track | None:
    """Return a file of the submission beside its gold or data."""
    gold, data = (held_against, None) if labelled else (None, held_against)
    again = _again(document, rows)
    checked = check_documents([again], gold, data=data, problems=Problems())
    return checked.tracks[0] if checked.tracks else None


def _keys(
    rows: list[dict[str, Any]], table: Table, *, numbered: bool
) -> tuple[list[Any], list[Any], str]:
    """Return what tells the rows apart, as they are and as they should be, and what tells that."""
    ids = [id_in(row.get("id")) for row in rows]
    if table.ids is not None:
        return ids, list(table.ids.tolist()), table.file
    texts = [dict(zip(TEXTS, text)) for text in table.texts or ()]
    keys = [
        key
        for key in TEXTS
        if all(isinstance(row.get(key), str) for row in rows) and any(text[key] for text in texts)
    ]
    if keys:
        said = [tuple(row[key] for key in keys) for row in rows]
        return said, [tuple(text[key] for key in keys) for text in texts], table.file
    return ids, sorted(ids) if numbered else ids, "their ids"


def _files(mended: list[Document], checked: Checked) -> dict[str, str]:
    """Return the new files by name; of one that told no track, the track that it was taken for."""
    files: dict[str, str] = {}
    for document in mended:
        name = document.base
        if len(mended) == 1 and checked.tracks and checked.tracks[0].name.split:
            name = checked.tracks[0].name.base
        if name in files:  # two files for one track are for the participant to choose from
            name = f"{len(files) + 1}/{name}"
        assert isinstance(document.content, bytes)  # noqa: S101 - as they were made
        files[name] = document.content.decode()
    return files


def _again(document: Document, rows: list[Any]) -> Document:
    """Return a file of the submission with new rows, as a JSON list."""
    stem = document.base[: len(document.base) - len(document.ending)].strip("<>")
    text = "[\n" + ",\n".join(map(json.JSONEncoder().encode, rows)) + "\n]\n"
    return Document(document.file, f"{stem}.json", text.encode(), member=document.member)
