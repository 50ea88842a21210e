"""Reading items from CSV and TSV files, whose encoding and separator are detected."""

from __future__ import annotations

import codecs
import csv
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from shroom.core.json_reading import BROKEN, Reading, value_in
from shroom.core.printing import counted
from shroom.core.problems import Problems, show
from shroom.scoring.column_names import NO_KEYS
from shroom.scoring.editions.edition import Item
from shroom.scoring.rows import KEYS, P, key_meant, renames

#: Bytes of one file.
MAX_BYTES = 100 << 20
#: Characters of one cell, and lines and separators of one file.
MAX_CELL, MAX_LINES, MAX_CELLS = 1 << 24, 1_250_000, 10_000_000
_SEPARATORS = (",", ";", "\t")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
#: The line by which Excel is told the separator.
_SEP = re.compile(r'"?sep=([^\r\n])"?(?:\r\n|\r|\n)', re.IGNORECASE)
_NUMBER = re.compile(
    r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE | re.ASCII
)


class RowWithGaps(dict[Any, Any]):
    """A row with empty cells, whose keys are omitted from it, and stored in ``empty``."""

    empty: tuple[str, ...] = ()


def iter_items(
    data: bytes,
    file: str,
    problems: Problems,
    form: Item | None = None,
    named: Mapping[str, str] = NO_KEYS,
) -> Iterator[Any]:
    """Yield the rows as items; :data:`~shroom.core.json_reading.BROKEN` for malformed rows."""
    limit, reader = csv.field_size_limit(MAX_CELL), _Reader(file, problems, form, named)
    try:
        yield from reader.some(reader.items(data), "one item per line", "only a header")
    except csv.Error as error:
        reader.stop("not-csv", "CSV", str(error))
    finally:
        csv.field_size_limit(limit)


def columns_of(head: bytes, named: Mapping[str, str] = NO_KEYS) -> list[str]:
    """Return the keys in the header of a table, from the beginning of the file."""
    try:
        header = _form(_decoded(head, "replace"), named)[1]
    except csv.Error:
        return []
    return [named.get(name) or key_meant(name) or name for name in header]


def _decoded(data: bytes, errors: str = "strict") -> str:
    """Return the text, in UTF-8 unless it has the byte order mark of UTF-16."""
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if utf16 else "utf-8-sig", errors)


def _form(text: str, named: Collection[str], own: Collection[str] = ()) -> tuple[str, list[str]]:
    """Return the separator and the names of the columns."""
    # The line ``sep=;`` decides; without it, the most known column names, then the most columns.
    forms, errors = [], []
    marked, known = _SEP.match(text), {*named, *own}
    for separator in marked[1] if marked else _SEPARATORS:
        try:
            header = next((cells for _, cells in _records(text, separator)), [])
        except csv.Error as error:
            errors.append(error)
            continue
        names = [cell.strip() for cell in header]
        recognised = sum(name in known or key_meant(name, own) is not None for name in names)
        forms.append((recognised, len(names), separator, names))
    if not forms:
        raise errors[0]
    return max(forms, key=lambda form: form[:2])[2:]


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line number and the cells of each record, without blank lines."""
    if text.count(separator) > MAX_CELLS:
        raise csv.Error(f"more than {MAX_CELLS} separators")
    # Not splitlines(): it would also split at U+0085 and U+2028, which may stand in a cell.
    named = _SEP.match(text)
    lines = (match[0] for match in _LINE.finditer(text, named.end() if named else 0))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    first = line = 2 if named else 1
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield line, cells
            line = reader.line_num + first
    except csv.Error as error:
        is_open = str(error) == "unexpected end of data"
        reason = "an unclosed quotation mark" if is_open else str(error)
        raise csv.Error(f"{reason}, in the record that begins at line {line}") from error


class _Reader(Reading):
    """A table that is being read."""

    def __init__(
        self, file: str, problems: Problems, form: Item | None, named: Mapping[str, str]
    ) -> None:
        super().__init__(file, problems)
        self.named = named
        #: The kit's own keys by those that the edition has named.
        self.own = {theirs: ours for ours, theirs in form.keys.items()} if form else {}
        self.cells = {**_CELLS, "id": _stripped} if form and form.id == "string" else _CELLS

    def text(self, data: bytes) -> str:
        if len(data) > MAX_BYTES:
            expected = f"at most {MAX_BYTES >> 20} MiB of CSV (JSON files may be larger)"
            self.stop("too-large", expected, f"{len(data)} bytes")
        try:
            text = _decoded(data)
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            found = f"byte 0x{data[error.start]:02x} at line {line}"
            others = set(re.findall(r"[^\x00-\x7f\ufffd]", data.decode("utf-8", "replace")))
            if error.encoding.startswith("utf-16") or others:
                self.stop("not-utf8", error.encoding.upper(), found)
            text = data.decode("cp1252", "replace")
            found += " (the file is read as cp1252)"
            self.problems.add("encoding", self.file, "UTF-8", found)
        if max(text.count("\n"), text.count("\r")) > MAX_LINES:
            self.stop("too-large", f"at most {MAX_LINES} lines of CSV", "more")
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            utf16 = " (this looks like UTF-16)" if "\0" in text[:4] else ""
            self.stop("not-csv", "text", f"a NUL character at line {line}{utf16}")
        return text

    def items(self, data: bytes) -> Iterator[Any]:
        text = self.text(data)
        separator, header = _form(text, self.named, self.own)
        columns = self.columns(header)
        readers = [(key, self.cells.get(self.own.get(key or "", key), str)) for key in columns]
        # The line that has no end, if there is one.
        ends_within = 0 if text.endswith(("\n", "\r")) else text.count("\n") + 1
        records, lines = _records(text, separator), array("L")
        next(records)  # the header
        self.problems.line_numbers[self.file] = lines
        for index, (line, cells) in enumerate(records):
            lines.append(line)
            if len(cells) > len(columns) and not any(cells[len(columns) :]):
                del cells[len(columns) :]  # a spreadsheet's empty ones
            if len(cells) != len(columns):
                expected = f"{counted(len(columns), 'cell')}, as in the header"
                cut = " (the file ends here, so it may be cut off)" * (line == ends_within)
                self.problems.add("not-csv", self.file, expected, f"{len(cells)}{cut}", index=index)
                yield BROKEN
                continue
            values = [(key, read(cell)) for (key, read), cell in zip(readers, cells)]
            item = {key: value for key, value in values if value is not None and key is not None}
            if len(item) < len(values):
                item = RowWithGaps(item)
                item.empty = tuple(key for key, value in values if value is None and key)
            yield item

    def columns(self, header: list[str]) -> list[str | None]:
        """Return the key of each column; ``None`` if the user has chosen another column for it."""
        if not header:
            self.stop("empty", "a header, then one item per line", "an empty file")
        again = [(name, count) for name, count in Counter(header).items() if count > 1 and name]
        if again:
            found = " and ".join(f"{show(name)} {count} times" for name, count in again[:5])
            self.stop("not-csv", "each column once", found)
        named = self.named
        lacking = [name for name in named if name not in header]
        if lacking:
            columns = "column" if len(lacking) == 1 else "columns"
            expected = f"your {columns} {', '.join(map(show, lacking))}"
            found = f"{show(header)} (the names in the header are used instead)"
            self.problems.add("column-name", self.file, expected, found)
        chosen = {name: key for name, key in named.items() if name in header}
        keys: dict[str, str | None] = dict(zip(header, header))
        taken = {*chosen.values()}
        keys |= dict.fromkeys(taken.intersection(header) - self.own.keys())
        new = renames(header, self.own).items()
        keys |= {name: key for name, key in new if key not in taken and name not in self.own}
        keys |= chosen
        known = {*KEYS, *self.own}
        if known.isdisjoint(keys.values()):
            self.stop("key-missing", f'a header with "label" and "{P}"', show(header))
        read = [(k, n) for n, k in keys.items() if k in known and k != n and n not in named]
        if read:
            found = ", ".join(f"{show(name)} (read as {show(key)})" for key, name in read)
            self.problems.add("column-name", self.file, "the kit's column names", found)
        return [keys[name] for name in header]


def _stripped(cell: str) -> str | None:
    return cell.strip() or None


def _integer(cell: str) -> int | str | None:
    text = cell.strip()
    if text.isascii() and len(text) < 40 and text.removeprefix("-").isdigit():
        return int(text)
    return text or None


def _number(cell: str) -> float | str | None:
    text = cell.strip()
    return float(text) if _NUMBER.fullmatch(text) else text or None


def list_in(cell: str) -> Any:
    """Return a list in the notation of JSON or Python; any other cell as text."""
    text = cell.strip()
    written = (text, text.replace("'", '"').replace("None", "null"))
    values = (value for value in map(value_in, written) if value is not BROKEN)
    return next(values, text or None)


_CELLS: dict[str | None, Callable[[str], Any]] = {
    "": _stripped,  # such as a column of row numbers, or one that a separator too many makes
    "id": _integer,
    "label": _stripped,
    "labels": list_in,
    "hard_labels": _stripped,  # of a row that only has the other ones
    "soft_labels": _stripped,
    P: _number,
}
