"""Finding the documents in a source: a file, a folder, a zip or a pipe."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from shroom.core import archives, json_reading
from shroom.core.archives import Selection
from shroom.core.json_reading import BROKEN, MAX_ITEM, value_in
from shroom.core.paths import Source
from shroom.core.problems import Problems, Stopped, show
from shroom.scoring import csv_files
from shroom.scoring.column_names import NO_KEYS, NO_NAMES, Names
from shroom.scoring.data_set_forms import another_form
from shroom.scoring.editions.edition import Edition, Item
from shroom.scoring.editions.files import default
from shroom.scoring.file_names import without_slips
from shroom.scoring.in_memory import InMemory
from shroom.scoring.rows import P, Role

#: The number of first bytes of a table that contain the header.
HEAD = 1 << 16
#: The first line with text, if it may be an object.
_FIRST_OBJECT = re.compile(rb"[\xef\xbb\xbf \t\r\n]*(\{[^\n]{0,%d})" % MAX_ITEM)

#: The name of a pipe in messages.
PIPE = "<stdin>"

#: Endings of the names of JSON and of CSV files.
JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
CSV = (".csv", ".csv.gz")
#: Endings of the names of tables that are read in SHROOM's format.
TABLES = (*CSV, ".tsv", ".tsv.gz")


@dataclass(frozen=True)
class Document:
    """One file of predictions or data."""

    #: Its name in messages.
    file: str
    #: Its own name, without the folders.
    base: str
    content: bytes | Path
    #: Whether it was found in a folder or a zip, rather than named directly.
    member: bool = False
    #: The maximum number of uncompressed bytes.
    most: int = archives.MAX_DATA
    names: Names = NO_NAMES

    @property
    def ending(self) -> str:
        """The ending of its name, in lower case; empty if it is not supported."""
        base = without_slips(self.base.lower())
        endings = (end for end in (*JSON, *TABLES, ".gz") if base.endswith(end))
        return max(endings, key=len, default="")

    def form(self, data: bytes) -> Literal["table", "lines", "list"]:
        """Return the form of a document by its name or, without an ending, its first line."""
        if self.ending in TABLES:
            return "table"
        if self.ending in JSON:
            return "lines" if self.ending.startswith(".jsonl") else "list"
        head = data[:HEAD]
        if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] not in (b"", b"[", b"{"):
            columns = csv_files.columns_of(head, self.names.columns)
            if len(columns) > 1 and {"label", P, "hyp"}.intersection(columns):
                return "table"
        first = _FIRST_OBJECT.match(data)
        is_object = first and value_in(first[1].decode("utf-8", "replace")) is not BROKEN
        return "lines" if is_object else "list"

    def items(self, problems: Problems, form: Item | None = None) -> list[Any] | None:
        """Return all items; report unreadable items and return ``None``."""
        data = self.read(problems)
        try:
            return None if data is None else list(self.iter_items(data, problems, form))
        except Stopped:
            return None

    def iter_items(
        self, data: bytes, problems: Problems, form: Item | None = None
    ) -> Iterator[Any]:
        """Yield the items in what :meth:`read` returns: a JSON list, JSON Lines or a table."""
        form_of_data = self.form(data)
        if form_of_data == "table":
            items = csv_files.iter_items(data, self.file, problems, form, self.names.columns)
        else:
            items = json_reading.iter_items(
                data, self.file, problems, lines=form_of_data == "lines"
            )
        return iter(self.names.renamed(items, form.keys if form else NO_KEYS))

    def read(self, problems: Problems) -> bytes | None:
        """Return the uncompressed bytes; report an unreadable file and return ``None``."""
        if self.base.endswith(".toml"):
            problems.add("no-file", self.file, "the folder or file with the items", "an edition")
            return None
        data = self.packed(problems)
        try:
            if data is not None and data[:2] == b"\x1f\x8b":
                data = archives.gunzipped(data, self.most)
            if data and (form := archives.format_of(data)):
                raise archives.other_format(form)
        except archives.Refused as refused:
            refused.report(self.file, problems)
            return None
        return data

    def read_own(self, problems: Problems, edition: Edition) -> bytes | None:
        """Return the bytes like :meth:`read`; report a file of another data set as well."""
        data = self.read(problems)
        if not data or not edition.reads_own_form:
            return data
        # The first two rows must have that form, so that an odd first row does not count.
        other, second = another_form(self.row_at(data, 0)), self.row_at(data, 1)
        if other is None or (second and another_form(second) != other):
            return data
        problems.add("other-form", self.file, "SHROOM's format", other)
        return None

    def row_at(self, data: bytes, place: int) -> dict[str, Any]:
        """Return a row, counted from 0; an empty row if it cannot be read."""
        if self.form(data) == "table":
            return dict.fromkeys(csv_files.columns_of(data[:HEAD], self.names.columns))
        objects = _objects(data[:MAX_ITEM].decode("utf-8-sig", "replace"))
        return dict(next(islice(self.names.renamed(objects), place, None), {}))

    def names_in(self, data: bytes, role: Role) -> Names:
        """Return the user's names if the document uses them; gold may use the kit's names."""
        if role is Role.PREDICTIONS:
            return self.names
        keys = replace(self, names=NO_NAMES).row_at(data, 0) if self.names.columns else ()
        return NO_NAMES if self.names.columns.keys().isdisjoint(keys) else self.names

    def packed(self, problems: Problems) -> bytes | None:
        """Return the bytes, not decompressed; report an unreadable file and return ``None``."""
        try:
            return self.content if isinstance(self.content, bytes) else self.content.read_bytes()
        except OSError as error:
            problems.add("file-unreadable", self.file, "a file", error.strerror or "none")
            return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list or of lines, as far as they can be read."""
    start = text.find("{")
    while start >= 0:
        try:
            row, end = json.JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            return
        yield row
        start = text.find("{", end)


def is_pipe(source: Source) -> bool:
    """Return whether a source can be read only once: ``"-"`` or a named pipe."""
    path = Path(source)
    return os.fspath(source) == "-" or (path.exists() and not path.is_file() and not path.is_dir())


def documents(
    source: Source,
    problems: Problems,
    edition: Edition | None = None,
    *,
    junk: bool = False,
    endings: tuple[str, ...] = JSON,
    submission: bool = False,
    among_others: bool = False,
    names: Names = NO_NAMES,
) -> list[Document]:
    """Return the documents in a file, a folder, a zip or a pipe (``-``), by name."""
    edition = edition or default()
    own = (edition.files.predictions, edition.files.gold)
    kinds = dict.fromkeys((endings[0], *(Path(it).suffix for it in own if it.endswith(TABLES))))
    most = archives.MAX_BYTES if submission else archives.MAX_DATA

    def is_document(name: str) -> bool:
        if not junk:
            name = without_slips(name)
        low = name.lower()
        if low.endswith(endings) or junk or not low.endswith(TABLES):
            return low.endswith(endings)
        if among_others:
            return edition.parse(name) is not None
        return (edition.meant(name) or edition.parse(name, Role.GOLD)) is not None

    selection = Selection(
        f"a {' or '.join(kinds)} file", most, is_document, junk, others=among_others
    )
    if isinstance(source, InMemory):
        above = f"{source.name}/" if source.is_folder else ""
        return [
            Document(f"{above}{name}", name, data, source.is_folder, most, names)
            for name, data in source.files.items()
        ]
    is_stdin = os.fspath(source) == "-"
    file = PIPE if is_stdin else str(source)
    try:
        content, is_container = _opened(source, most)
    except OSError as error:
        expected = "a pipe" if is_stdin else "a file"
        problems.add("file-unreadable", file, expected, error.strerror or "no file")
        return []
    if isinstance(content, bytes) and len(content) > most:
        archives.too_large(most).report(file, problems)
        return []
    if not is_container:
        base = content.name if isinstance(content, Path) else PIPE
        return [Document(file, base, content, most=most, names=names)]
    container = io.BytesIO(content) if isinstance(content, bytes) else content
    members = archives.members(container, file, problems, selection)
    return [Document(*member, member=True, most=most, names=names) for member in members]


def _opened(source: Source, most: int) -> tuple[Path | bytes, bool]:
    """Return the path or the content of a pipe, and whether it is a folder or a zip."""
    path = Path(source)
    if os.fspath(source) == "-":
        if sys.stdin is None:
            raise OSError(errno.EBADF, "none")
        data = sys.stdin.buffer.read(most + 1)
    elif path.is_dir():
        return path, True
    elif path.is_file():
        with path.open("rb") as stream:
            return path, stream.read(2) == b"PK" or path.suffix.lower() == ".zip"
    elif not stat.S_ISFIFO(path.stat().st_mode):
        raise OSError(errno.EINVAL, "a device", str(path))
    else:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    return data, data.startswith(b"PK")


def documents_among_others(
    source: Source,
    problems: Problems,
    edition: Edition | None = None,
    *,
    endings: tuple[str, ...] = JSON,
    names: Names = NO_NAMES,
) -> list[Document]:
    """Return the documents of gold or data, one for each track; other files are ignored."""
    listed = documents(source, problems, edition, endings=endings, among_others=True, names=names)
    bases = {document.base for document in listed}
    for index, document in enumerate(listed):
        if (base := without_slips(document.base)) not in bases:
            listed[index] = replace(document, base=base)
    if edition is None:
        return listed
    return [part for document in listed for part in _by_track(document, edition, problems)]


def _by_track(document: Document, edition: Edition, problems: Problems) -> Iterator[Document]:
    """Yield a file for each track in the rows; the file itself if its name has a track."""
    parsed = (edition.parse_all_tracks(document.base, role) for role in (Role.GOLD, Role.DATA))
    name = next(filter(None, parsed), None)
    items = None if name is None else document.items(Problems(), edition.item)
    if name is None or items is None or BROKEN in items:  # which is reported when it is read
        yield document
        return
    key = edition.item.keys.get("lang", "lang")
    spelled = {track.lower(): track for track in edition.track_names}
    rows: dict[str, list[Any]] = {track: [] for track in edition.track_names}
    expected = f"one of {', '.join(rows)}"
    if not any(isinstance(item, dict) and key in item for item in items):
        problems.add("key-missing", document.file, expected, "no item with this key", key=key)
        return
    for index, item in enumerate(items):
        value = item.get(key) if isinstance(item, dict) else None
        track = spelled.get(str(value).lower())
        if track is not None:
            rows[track].append(item)
        else:
            problems.add("row-track", document.file, expected, show(value), index=index, key=key)
    version = f".v{name.version}" if name.version > 1 else ""
    for track, own in rows.items():
        if own:
            file = f"{document.file} ({track})"
            base = f"{Path(edition.name_of(name.split, track).base).stem}{version}.jsonl"
            content = "".join(json.dumps(row) + "\n" for row in own).encode()
            yield replace(document, file=file, base=base, content=content)
