"""Mending what is mechanical in a submission, and saying each thing that was done."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom import decode
from shroom.check import Checked, check_documents
from shroom.datasets.forms import refuse_another
from shroom.documents import JSON, TABLES, Document, documents
from shroom.problems import Problems, ShroomError, printable, show
from shroom.rows import id_in, label_in, number_in
from shroom.submission import Name, named
from shroom.table import KEYS, TEXTS, TOLERANCE, P
from shroom.writing import names_a_file, refuse_overwriting, write_files

if TYPE_CHECKING:
    from shroom.align import Track
    from shroom.documents import Source


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


@dataclass
class _Log:
    """The lines of what was done, the first ``limit`` of each kind."""

    limit: int | None
    lines: list[str] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kind: str, file: str, text: str) -> None:
        self.counts[file, kind] += 1
        if self.limit is None or self.counts[file, kind] <= self.limit:
            self.lines.append(f"mended: {printable(file)}: {text} [{kind}]")

    def all(self) -> list[str]:
        rest = [
            f"mended: {printable(file)}: and {count - self.limit} more [{kind}]"
            for (file, kind), count in self.counts.items()
            if self.limit is not None and count > self.limit
        ]
        return self.lines + rest


def mend(
    submission: Source,
    gold: Source | None = None,
    *,
    data: Source | None = None,
    limit: int | None = 20,
) -> Mended:
    """Return a submission with numbers out of their strings, labels in their case, and so on.

    Mended are: numbers and ids in strings, the case of labels, unknown keys, and the order of
    the rows where ``gold`` or ``data`` tells it. Nothing is guessed: what is missing stays so.

    Parameters
    ----------
    submission, gold, data : path
        As for :func:`shroom.check.check`.
    limit : int or None
        How many lines of each kind to keep.

    Returns
    -------
    Mended
        Nothing is written; see :func:`write`.
    """
    found = Problems(limit)
    log = _Log(limit)
    held_against = gold if gold is not None else data
    mended = []
    every = documents(submission, found)
    kept = named(every, found)
    for document in every:
        told = found if document in kept else Problems()  # of the others the name is wrong
        content = document.read(told)
        if content is None or refuse_another(document, content, told):
            continue
        items = document.items(content, told)
        if items is None or any(item is decode.BROKEN for item in items):
            continue
        rows = [_mend_item(index, item, document.file, log) for index, item in enumerate(items)]
        mended.append((document, rows))
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
        Where ``out`` would touch one of the ``inputs``, or exists while errors remain.
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
    if path.exists() and not mended.checked.ok:
        raise ShroomError(f"{out}: exists and is not overwritten, since errors remain")
    write_files(path, mended.files, inputs)


def _mend_item(index: int, item: Any, file: str, log: _Log) -> Any:
    if not isinstance(item, dict):
        return item
    new = {}
    if isinstance(item, decode.Doubled):
        keys = " and ".join(map(show, item.keys_doubled))
        log.add("key-doubled", file, f"item {index}: kept the last {keys}")
    for key, value in item.items():
        if key not in KEYS:
            log.add("key-unknown", file, f"item {index}: left out {show(key)}")
            continue
        better = _mend_value(key, value)
        if better is not value:
            kinds = {"id": "id-string", "label": "label-value", P: "p-number"}
            kind = kinds.get(key, "value-finite")
            log.add(kind, file, f"item {index}: {key}: {show(value)} became {show(better)}")
        new[key] = better
    return new


def _mend_value(key: str, value: Any) -> Any:
    if key == "id" and isinstance(value, str):
        number = id_in(value)
        return value if number is None else number
    if key == "label":
        label = label_in(value)
        return value if label is None or label.value == value else label.value
    if isinstance(value, float) and not math.isfinite(value) and key not in ("id", "label", P):
        return ""
    if key == P and isinstance(value, str):
        p = number_in(value)
        if p is not None and math.isfinite(p) and -TOLERANCE <= p <= 1 + TOLERANCE:
            return p
    return value


def _reorder(
    mended: list[tuple[Document, list[Any]]],
    held_against: Source | None,
    log: _Log,
    *,
    labelled: bool,
) -> None:
    """Put rows into the order of the gold or the data, where ids or texts tell it."""
    if held_against is None:
        return
    for place, (document, rows) in enumerate(mended):
        track = _track_for(document, rows, held_against, labelled=labelled)
        if track is None or not all(isinstance(row, dict) for row in rows):
            continue
        keys, wanted, order = _keys(rows, track)
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


def _keys(rows: list[dict[str, Any]], track: Track) -> tuple[list[Any], list[Any], str]:
    """Return what tells the rows apart, as they are and as they should be, and what tells that."""
    ids, table = [id_in(row.get("id")) for row in rows], track.gold
    assert table is not None  # noqa: S101 - for mypy; it was held against one
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
    return ids, sorted(ids) if track.predictions.numbered else ids, "their ids"


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
    low = document.base.lower()
    endings = [end for end in (*JSON, *TABLES, ".gz") if low.endswith(end)]
    longest = max(endings, key=len, default="")
    text = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"
    name = f"{document.base[: len(low) - len(longest)].strip('<>')}.json"
    return Document(document.file, name, text.encode(), member=document.member)
