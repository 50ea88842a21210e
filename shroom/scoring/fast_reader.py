"""Fast reading of a file without problems into columns.

msgspec decodes and validates typed rows about ten times faster than the standard library. Where
it refuses anything, or where there would be something to say, :func:`table` returns ``None`` and
the slow path reads again and explains. What it accepts, the slow path accepts without a word.
"""

from __future__ import annotations

import codecs
import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType, field
from numpy.typing import NDArray

from shroom.core.datapoint import TASKS
from shroom.scoring.item_values import TOLERANCE
from shroom.scoring.table import GROUPS, Group, P, Role, Table

#: How many items are held before they become rows.
_PART = 1000

_Label = Literal["Hallucination", "Not Hallucination"]
_LABELS = {"Hallucination": 1, "Not Hallucination": 0}
_P = Annotated[float, Meta(ge=-TOLERANCE, le=1 + TOLERANCE)]
_Id = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
_Text = Union[str, UnsetType]
# Known words are decoded without making a string for each row; others are left to the slow path.
if TYPE_CHECKING:
    _Task = str
else:
    _Task = Literal[tuple(TASKS)]
_Ref = Literal["src", "tgt", "either", ""]


class _Prediction(Struct, forbid_unknown_fields=True, gc=False):
    label: _Label
    p: _P = field(name=P)
    id: Union[_Id, UnsetType] = UNSET  # evaluated on Python 3.9


class _Gold(Struct, gc=False):
    label: _Label
    p: _P = field(name=P)
    id: Union[_Id, UnsetType] = UNSET
    ref: Union[_Ref, UnsetType] = UNSET
    task: Union[_Task, UnsetType] = UNSET
    model: _Text = UNSET
    labels: Union[list[Union[_Label, None]], UnsetType] = UNSET


class _GoldWithTexts(_Gold, gc=False):
    hyp: _Text = UNSET
    src: _Text = UNSET
    tgt: _Text = UNSET


class _Data(Struct, gc=False):
    id: Union[_Id, UnsetType] = UNSET
    hyp: _Text = UNSET
    src: _Text = UNSET
    tgt: _Text = UNSET


def table(
    data: bytes, role: Role, file: str, *, lines: bool = False, texts: bool = False
) -> Table | None:
    """Return the columns of a file in which nothing is wrong, else ``None``.

    Parameters
    ----------
    data : bytes
        A JSON list, or JSON Lines.
    role : Role
        Role that the file is read in.
    file : str
        Name of the file in messages.
    lines : bool
        Whether it is JSON Lines.
    texts : bool
        Whether the gold's texts are needed, to check the order by them.
    """
    if role is Role.PREDICTIONS and _has_long_string(data):
        return None
    with _collector_paused():
        rows = _rows(data, _row_type(role, texts=texts), lines=lines)
        columns = _columns(rows, role, file) if rows else None
    if columns is None or (role is Role.PREDICTIONS and _has_doubled_keys(data, columns)):
        return None
    return columns


def from_items(items: Iterable[Any], role: Role, file: str, *, texts: bool = False) -> Table | None:
    """Return the columns of a file's items in which nothing is wrong, else ``None``.

    Parameters
    ----------
    items : iterable
        The items, of any type.
    role, file, texts
        As for :func:`table`.
    """
    rest = iter(items)
    rows: list[Struct] = []
    row_type = _row_type(role, texts=texts)
    try:
        while part := list(islice(rest, _PART)):
            rows += msgspec.convert(part, list[row_type])  # type: ignore[valid-type]
    except (msgspec.ValidationError, RecursionError):
        return None
    return _columns(rows, role, file) if rows else None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the search for cycles of references: rows have none, and it takes 40% of decoding."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _row_type(role: Role, *, texts: bool) -> type[Struct]:
    if role is Role.GOLD:
        return _GoldWithTexts if texts else _Gold
    return _Prediction if role is Role.PREDICTIONS else _Data


def _rows(data: bytes, row_type: type[Struct], *, lines: bool) -> list[Any] | None:
    if data[:3] == codecs.BOM_UTF8:
        data = data[3:]
    if not _is_utf8(data):
        return None
    try:
        if lines:  # decode_lines() would take an object that spreads over several of them
            decoder = msgspec.json.Decoder(row_type)
            return [decoder.decode(line) for line in data.split(b"\n") if line.strip()]
        return msgspec.json.Decoder(list[row_type]).decode(data)  # type: ignore[valid-type]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _has_long_string(data: bytes, block: int = 1 << 20) -> bool:
    """Return whether there may be a string of two blocks or more, or else an escape.

    msgspec puts the whole of a string that it refuses into its message.
    """
    for start in range(0, len(data), block):
        part = data[start : start + block]
        if b"\\" in part or (len(part) == block and b'"' not in part):
            return True
    return False


def _has_doubled_keys(data: bytes, predictions: Table, block: int = 1 << 20) -> bool:
    """Return whether there are more quotation marks than keys and labels take.

    A key that comes again overwrites the first in silence. No value but the label's is a string
    here, and that holds no quotation mark of its own.
    """
    expected = (6 if predictions.ids is None else 8) * predictions.n
    characters = np.frombuffer(data, np.uint8)
    parts = (characters[at : at + block] for at in range(0, len(characters), block))
    return sum(int(np.count_nonzero(part == ord('"'))) for part in parts) > expected


def _is_utf8(data: bytes, chunk: int = 1 << 20) -> bool:
    """Return whether the bytes are UTF-8, since msgspec does not look into what it skips."""
    if len(data) == 0 or np.frombuffer(data, np.uint8).max() < 0x80:
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    try:
        for start in range(0, len(data), chunk):
            decoder.decode(view[start : start + chunk])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _columns(rows: list[Any], role: Role, file: str) -> Table | None:
    n = len(rows)
    try:
        ids = np.fromiter(map(attrgetter("id"), rows), np.int64, n)
    except TypeError:
        if any(row.id is not UNSET for row in rows):
            return None
        ids = None
    texts: list[tuple[str | None, ...]] | None = None
    if hasattr(rows[0], "hyp"):
        texts = [(_none(row.hyp), _none(row.src), _none(row.tgt)) for row in rows]
    if role is Role.DATA:
        return Table(file, n, np.full(n, -1, np.int8), np.full(n, np.nan), ids=ids, texts=texts)
    label = np.fromiter(map(_LABELS.__getitem__, map(attrgetter("label"), rows)), np.int8, n)
    p = np.fromiter(map(attrgetter("p"), rows), np.float64, n)
    keys = () if role is Role.PREDICTIONS else GROUPS
    groups = {key: Group.of(list(map(attrgetter(key), rows))) for key in keys}
    votes = None if role is Role.PREDICTIONS else _votes([row.labels for row in rows])
    return Table(file, n, label, p, ids=ids, texts=texts, groups=groups, votes=votes)


def _votes(labels: list[Any]) -> NDArray[np.intp] | None:
    """Return how many of each row's labels say Hallucination, and how many there are."""
    if all(row_labels is UNSET for row_labels in labels):
        return None
    rows = [() if row_labels is UNSET else row_labels for row_labels in labels]
    counts = (
        np.fromiter((row_labels.count("Hallucination") for row_labels in rows), np.intp, len(rows)),
        np.fromiter(
            (len(row_labels) - row_labels.count(None) for row_labels in rows), np.intp, len(rows)
        ),
    )
    return np.column_stack(counts)


def _none(value: Any) -> Any:
    return None if value is UNSET else value
