"""Reading items from CSV and TSV files, whose encoding and separator are detected.

The keys come from the header: as they are, in another spelling that can only mean one key (see
:func:`shroom.scoring.table.key_meant`), or as the user names them (see
:func:`shroom.scoring.column_names.naming`).
"""

from __future__ import annotations

import codecs
import csv
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

from shroom.core.json_reading import BROKEN, value_in
from shroom.core.problems import Problems, Stopped, show
from shroom.scoring.column_names import named_columns
from shroom.scoring.table import KEYS, P, key_meant

if TYPE_CHECKING:
    from shroom.scoring.editions.edition import Item

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
_REASONS = {"unexpected end of data": "a quotation mark that is never closed"}


class RowWithGaps(dict[Any, Any]):
    """A row some of whose cells are empty: their keys are left out, and remembered."""

    empty: tuple[str, ...] = ()


def iter_items(
    data: bytes, file: str, problems: Problems, form: Item | None = None
) -> Iterator[Any]:
    r"""Yield a table's rows as items, one by one.

    A cell of ``id``, ``p(Hallucination)`` or ``labels`` becomes the number or list that it holds,
    and stays a text where it holds none. Empty cells of these and of ``label`` are left out. A
    record that does not fit the header leaves :data:`shroom.core.json_reading.BROKEN` in its place.

    Parameters
    ----------
    data : bytes
        CSV or TSV: in UTF-8, in UTF-16 with a byte order mark, else taken for cp1252.
    file : str
        Name of the file in messages.
    problems : Problems
        Gets ``not-csv``, ``not-utf8``, ``empty``, ``too-large``, the warnings ``encoding`` and
        ``column-name``, and the line of each item.
    form : Item, optional
        The form of a row: its keys, and whether a cell of ``id`` stays the text that it is.

    Raises
    ------
    Stopped
        If the rest cannot be read; the reason is among the problems.

    Examples
    --------
    >>> from shroom.core.problems import Problems
    >>> problems = Problems()
    >>> list(iter_items(b"ID\tLabel\tprob\n7\tNot Hallucination\t0.25\n", "a.tsv", problems))
    [{'id': 7, 'label': 'Not Hallucination', 'p(Hallucination)': 0.25}]
    """
    text = _text(data, file, problems)
    limit, empty = csv.field_size_limit(MAX_CELL), True
    try:
        own = form.keys if form else {}
        separator, header = _form(text, own.values())
        columns = _columns(header, file, problems, own.values())
        if columns is None:
            raise Stopped(problems)
        readers = {**_CELLS, "id": _stripped} if form and form.id == "string" else _CELLS
        renamed = {own.get(str(key), key): value_of for key, value_of in readers.items()}
        readers = {**readers, **dict.fromkeys(own.values(), str), **renamed}
        ends_within = 0 if text.endswith(("\n", "\r")) else text.count("\n") + 1
        records = _records(text, separator)
        for item in _items(records, columns, file, problems, readers, ends_within):
            empty = False
            yield item
    except csv.Error as error:
        problems.add("not-csv", file, "CSV", str(error))
        raise Stopped(problems) from error
    finally:
        csv.field_size_limit(limit)
    if empty:
        problems.add("empty", file, "a line for each item", "only a header")
        raise Stopped(problems)


def columns_of(head: bytes) -> list[str]:
    r"""Return the keys in the header of a table, from the beginning of the file.

    Examples
    --------
    >>> columns_of(b"ID;Label;p;note\n1;Hallucination")
    ['id', 'label', 'p(Hallucination)', 'note']
    """
    try:
        header = _form(_decoded(head, "replace"))[1]
    except csv.Error:
        return []
    return [named_columns().get(name) or key_meant(name) or name for name in header]


def _decoded(data: bytes, errors: str = "strict") -> str:
    """Return the text, which is in UTF-8 unless it has another byte order mark."""
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if utf16 else "utf-8-sig", errors)


def _text(data: bytes, file: str, problems: Problems) -> str:
    if len(data) > MAX_BYTES:
        expected = f"at most {MAX_BYTES >> 20} MiB of CSV (JSON may be larger)"
        problems.add("too-large", file, expected, f"{len(data)} bytes")
        raise Stopped(problems)
    try:
        text = _decoded(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        description = f"byte 0x{data[error.start]:02x} at line {line}"
        if error.encoding.startswith("utf-16") or _is_utf8_in_part(data):
            problems.add("not-utf8", file, error.encoding.upper(), description)
            raise Stopped(problems) from error
        try:
            text, encoding = data.decode("cp1252"), "cp1252"
        except UnicodeDecodeError:
            text, encoding = data.decode("latin-1"), "latin-1"
        problems.add("encoding", file, "UTF-8", f"{description} (the file is read as {encoding})")
    if max(text.count("\n"), text.count("\r")) > MAX_LINES:
        problems.add("too-large", file, f"at most {MAX_LINES} lines of CSV", "more")
    elif "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        utf16 = " (this looks like UTF-16)" if "\0" in text[:4] else ""
        problems.add("not-csv", file, "text", f"a NUL character at line {line}{utf16}")
    else:
        return text
    raise Stopped(problems)


def _is_utf8_in_part(data: bytes) -> bool:
    """Return whether bytes that are not UTF-8 hold characters that are, besides ASCII."""
    return bool(set(re.findall(r"[^\x00-\x7f]", data.decode("utf-8", "replace"))) - {"\ufffd"})


def _form(text: str, own: Collection[str] = ()) -> tuple[str, list[str]]:
    """Return the separator, and the names of the columns; none of an empty table.

    The separator is the one that a first line ``sep=;`` names, else the one that gives most known
    column names, then most columns.

    Raises
    ------
    csv.Error
        Where none of them separates the header.
    """
    forms, errors = [], []
    named = _SEP.match(text)
    for separator in named[1] if named else _SEPARATORS:
        try:
            if text.count(separator) > MAX_CELLS:
                raise csv.Error(f"more than {MAX_CELLS} separators")  # noqa: TRY301
            header = next((cells for _, cells in _records(text, separator)), [])
        except csv.Error as error:
            errors.append(error)
            continue
        names = [cell.strip() for cell in header]
        known = {*named_columns(), *own}
        recognised = sum(name in known or key_meant(name, own) is not None for name in names)
        forms.append((recognised, len(names), separator, names))
    if not forms:
        raise errors[0]
    return max(forms, key=lambda form: form[:2])[2:]


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record begins, and its cells; blank lines are passed over."""
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
        reason = _REASONS.get(str(error), str(error))
        raise csv.Error(f"{reason} in the record that begins at line {line}") from error


def _columns(
    header: list[str], file: str, problems: Problems, own: Collection[str]
) -> list[str | None] | None:
    """Return the key of each column; ``None`` if the user has named another column for the key.

    ``own`` are the keys that the edition has named.
    """
    named, counts = named_columns(), Counter(header)
    if not header:
        problems.add("empty", file, "a header, and a line for each item", "an empty file")
        return None
    again = [name for name, count in counts.items() if count > 1 and name]
    if again:
        description = " and ".join(f"{show(name)} {counts[name]} times" for name in again[:5])
        problems.add("not-csv", file, "each column once", description)
        return None
    lacking = [name for name in named if name not in header]
    if lacking:
        expected = f"the columns of --columns: {', '.join(map(show, lacking))}"
        description = f"{show(header)} (read by their own names)"
        problems.add("column-name", file, expected, description)
    named_keys = {key for name, key in named.items() if name in header}
    spelled = Counter(key_meant(name, own) for name in header)
    keys: list[str | None] = []
    for name in header:
        key = key_meant(name, own)
        alone = key is not None and (spelled[key] == 1 or name == key)
        if name in named:
            keys.append(named[name])
        elif name in own:
            keys.append(name)
        elif key in named_keys:
            keys.append(None if name == key else name)
        else:
            keys.append(key if alone else name)
    known = {*KEYS, *own}
    if not set(keys) & known:
        expected = (
            f'a header that names "label" and "{P}" (or name yours by --columns of check and score)'
        )
        problems.add("not-csv", file, expected, show(header))
        return None
    read = [(k, n) for k, n in zip(keys, header) if k in known and k != n and n not in named]
    if read:
        expected = f"the columns {', '.join(show(key) for key, _ in read)}"
        description = f"{', '.join(show(name) for _, name in read)} (read as these)"
        problems.add("column-name", file, expected, description)
    return keys


def _items(
    records: Iterator[tuple[int, list[str]]],
    columns: list[str | None],
    file: str,
    problems: Problems,
    readers: dict[str | None, Callable[[str], Any]],
    ends_within: int,
) -> Iterator[Any]:
    """Yield the items; ``ends_within`` is the line that has no end, where there is one."""
    cells_of = [(key, readers.get(key, str)) for key in columns]
    next(records)  # the header
    lines = array("L")
    problems.number_lines(file, lines)
    for index, (line, cells) in enumerate(records):
        lines.append(line)
        if len(cells) > len(columns) and not any(cells[len(columns) :]):
            del cells[len(columns) :]  # a spreadsheet's empty ones
        if len(cells) != len(columns):
            expected = f"{len(columns)} cells, as the header has"
            cut_off = " (the file ends here: it may be cut off)" if line == ends_within else ""
            problems.add("not-csv", file, expected, f"{len(cells)}{cut_off}", index=index)
            yield BROKEN
            continue
        values = [(key, value_of(cell)) for (key, value_of), cell in zip(cells_of, cells)]
        item = {key: value for key, value in values if value is not None and key is not None}
        if len(item) < len(values):
            item = RowWithGaps(item)
            item.empty = tuple(key for key, value in values if value is None and key)
        yield item


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
    """Return a list, in the quotation marks of JSON or of Python, or else the text."""
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
