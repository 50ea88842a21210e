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
from shroom.documents import Document, documents
from shroom.problems import Problems, ShroomError, printable, show
from shroom.rows import id_in, label_in, number_in
from shroom.submission import Name
from shroom.table import KEYS, TOLERANCE, P
from shroom.writing import names_a_file, refuse_overwriting, write_files

if TYPE_CHECKING:
    from shroom.documents import Source
    from shroom.table import Table


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
    for document in documents(submission, found):
        content = document.read(found)
        if content is None:
            continue
        lines = document.is_lines(content)
        items = decode.items(bytes(content), document.file, found, lines=lines)
        if items is None or any(item is decode.BROKEN for item in items):
            continue
        rows = [_mend_item(index, item, document.file, log) for index, item in enumerate(items)]
        mended.append((document, rows))
    _reorder(mended, held_against, log, labelled=gold is not None)
    again = [
        Document(document.file, _new_name(document), _dump(rows).encode(), member=document.member)
        for document, rows in mended
    ]
    checked = check_documents(again, gold, data=data, problems=found)
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
        table = _table_for(document, rows, held_against, labelled=labelled)
        if table is None or not all(isinstance(row, dict) for row in rows):
            continue
        keys, wanted = _keys(rows, table)
        if keys == wanted or Counter(keys) != Counter(wanted):
            continue
        queues: dict[Any, list[Any]] = {}
        for key, row in zip(keys, rows):
            queues.setdefault(key, []).append(row)
        alike = sum(any(row != queue[0] for row in queue) for queue in queues.values())
        mended[place] = (document, [queues[key].pop(0) for key in wanted])
        log.add("order", document.file, f"put {len(rows)} rows into the order of {held_against}")
        if alike:
            text = f"{alike} groups of rows with equal texts kept their order among themselves"
            log.add("order", document.file, text)


def _table_for(
    document: Document, rows: list[Any], held_against: Source, *, labelled: bool
) -> Table | None:
    """Return the gold's or the data's rows for a file of the submission."""
    again = [Document(document.file, document.base, _dump(rows).encode(), member=document.member)]
    gold, data = (held_against, None) if labelled else (None, held_against)
    checked = check_documents(again, gold, data=data, problems=Problems())
    return checked.tracks[0].gold if checked.tracks else None


def _keys(rows: list[dict[str, Any]], table: Table) -> tuple[list[Any], list[Any]]:
    """Return what tells the rows of the predictions and those of the gold, of the same kind."""
    if table.ids is not None:
        return [id_in(row.get("id")) for row in rows], list(table.ids.tolist())
    keys = [key for key in ("hyp", "src") if all(isinstance(row.get(key), str) for row in rows)]
    texts = table.texts or []
    wanted = [tuple(dict(zip(("hyp", "src"), text))[key] for key in keys) for text in texts]
    return [tuple(row[key] for key in keys) for row in rows], wanted


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


def _new_name(document: Document) -> str:
    base = document.base.removesuffix(".gz")
    base = base.removesuffix(".jsonl").removesuffix(".json") if "." in base else base
    return f"{base.strip('<>')}.json"


def _dump(rows: list[Any]) -> str:
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"
