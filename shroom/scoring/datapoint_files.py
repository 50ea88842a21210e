"""Reading and writing datapoints in SHROOM's format."""

# Trial and val have ``ref``, ``model``, labels and no ``id``; test an ``id`` and no ``ref``.

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from shroom.core.datapoint import Datapoint, Label, Reference, Task
from shroom.core.json_writing import json_line
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, Stopped
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default, resolve
from shroom.scoring.in_memory import Data, as_source, row_of
from shroom.scoring.input_files import Document, documents_among_others
from shroom.scoring.item_values import is_missing
from shroom.scoring.kinds.base import Fault, Field, Fields, Read, kind_of
from shroom.scoring.kinds.binary import BINARY
from shroom.scoring.kinds.labelled_spans import LABELS
from shroom.scoring.kinds.span_values import hard_of, past_end, share_marked, soft_of, sum_of
from shroom.scoring.kinds.spans import HARD, SOFT
from shroom.scoring.row_reader import Reader
from shroom.scoring.rows import P, Role

_LABELS = {1: Label.HALLUCINATION, 0: Label.NOT_HALLUCINATION}
_AS_EMPTY = "a text (a missing value is read as an empty text)"


@dataclass(frozen=True)
class DataFile:
    """One file of data."""

    base: str
    datapoints: list[Datapoint]
    file: str = ""


def read(
    source: Data, problems: Problems | None = None, edition: Edition | Source | None = None
) -> list[Datapoint]:
    """Return the datapoints of a file, of all files of a folder or zip, or of rows in memory.

    Parameters
    ----------
    source : path or "-", rows or data frame
        A file (``.json``, ``.jsonl``, ``.csv`` or ``.tsv``, also gzipped), a folder, a zip, a pipe
        or rows; see :func:`shroom.scoring.in_memory.as_source`.
    problems : Problems, optional
        Collects warnings, for example about ``NaN`` instead of a text.
    edition : Edition, str or path, optional
        The shared task that defines the format; see :func:`shroom.scoring.check.check`.

    Raises
    ------
    InvalidInput
        If there are errors; it contains all problems.

    Examples
    --------
    >>> points = read("shroom/sample/val.model-aware.json")
    >>> len(points), points[0].task.name, points[0].p
    (60, 'PG', 1.0)
    """
    return [
        point for file in read_files(source, problems, edition=edition) for point in file.datapoints
    ]


def read_files(
    source: Data,
    problems: Problems | None = None,
    choose: Callable[[list[Document]], list[Document]] = list,
    edition: Edition | Source | None = None,
) -> list[DataFile]:
    """Return the data files of a source that ``choose`` selects; see :func:`read`."""
    problems = Problems() if problems is None else problems
    if isinstance(source, list) and source and all(isinstance(it, Datapoint) for it in source):
        return [DataFile("data", source, "data")]
    source = as_source(source, "data")
    edition, _ = resolve(edition, source)
    chosen = choose(documents_among_others(source, problems, edition))
    files = [*filter(None, (from_document(it, problems, edition) for it in chosen))]
    if problems.errors:
        raise InvalidInput(problems)
    return files


def from_document(
    document: Document, problems: Problems, edition: Edition | None = None
) -> DataFile | None:
    """Return the datapoints of a document; ``None`` if it cannot be read."""
    edition = edition or default()
    data = document.read_own(problems, edition)
    if data is None:
        return None
    try:
        items = document.iter_items(data, problems, edition.item)
        datapoints = from_items(items, document.file, problems, edition)
    except Stopped:
        return None
    return DataFile(document.base, datapoints, document.file)


def from_items(
    items: Iterable[Any], file: str, problems: Problems, edition: Edition | None = None
) -> list[Datapoint]:
    """Return the datapoints of rows in SHROOM's format; not usable if there are errors."""
    edition = edition or default()
    reader, fields = Reader(Role.DATA, file, problems, edition), _fields(edition)
    return [
        _datapoint(dict(reader.values(fields, row)), reader)
        for index, row in enumerate(edition.with_own_keys(items))
        if reader.begins(index, row)
    ]


def _fields(edition: Edition) -> Fields:
    """Return the fields of a datapoint, and of its annotation."""
    kind, is_task_needed = kind_of(edition), bool(edition.tasks)
    fields = [
        Field("hyp", _text, ""),
        Field("task", partial(_task, edition), edition.task("") or Task.TS, is_task_needed),
        *(Field(key, _text, "", is_needed=False) for key in ("src", "model")),
        Field("ref", _ref, is_needed=False),
        Field("tgt", _tgts, ("",), is_needed=False),
        Field(LABELS, _labels, (), is_needed=False),
        *(it._replace(is_needed=False) for it in BINARY.fields(edition, Role.DATA)[0].fields),
    ]
    marks = kind.fields(edition, Role.DATA)[0].fields if kind.marks_texts else ()
    own = [it for it in fields if it.key not in [mark.key for mark in marks]]
    own += [it._replace(read=partial(_unless_null, it.read), is_needed=False) for it in marks]
    return Fields(tuple(own))


def _datapoint(values: dict[str, Any], reader: Reader) -> Datapoint:
    """Return a datapoint; if texts are marked, its label and p are computed from the spans."""
    soft, hard, marked = values.get(SOFT), values.get(HARD), None
    label, p, labels = values["label"], values[P], values[LABELS]
    if reader.edition.annotation.kind == "labelled-spans":
        for fault in past_end(labels, values["hyp"]):
            reader.report(fault, LABELS + fault.part)
        soft, labels = None if labels is None else sum_of(labels), ()
    if soft is not None or hard is not None:
        marked = soft_of(hard or ()) if soft is None else soft
        p = share_marked(hard_of(marked) if hard is None else hard, len(values["hyp"]))
        label = int(p > 0.5)
    tgt, *others = values["tgt"]
    return Datapoint(
        **{key: values[key] for key in ("hyp", "src", "task", "ref", "model")},
        tgt=tgt,
        id=reader.id,
        labels=labels,
        label=_LABELS.get(label),
        p=None if math.isnan(p) else p,
        spans=marked,
        other_tgts=tuple(others),
    )


def _text(value: Any, form: str = "a text") -> Read:
    if isinstance(value, str):
        return value, ()
    is_empty = is_missing(value)
    problem = ("value-finite", _AS_EMPTY) if is_empty else ("text-string", form)
    return "", (Fault(*problem, value),)


def _tgts(value: Any) -> Read:
    """Return the targets that are not blank, or one empty target."""
    if not isinstance(value, (list, tuple)):
        text, faults = _text(value, "a text or a list of texts")
        return (text,), faults
    faults = [
        Fault("text-string", "a text", text, f"[{place}]")
        for place, text in enumerate(value)
        if not isinstance(text, str)
    ]
    return [text for text in value if isinstance(text, str) and text.strip()] or [""], faults


def _task(edition: Edition, value: Any) -> Read:
    if is_missing(value) and not edition.tasks:
        return edition.task(""), _text(value)[1]
    task = edition.task(value) if isinstance(value, str) else None
    names = " or ".join(f'"{name}"' for name in edition.tasks) or "a text"
    return task or Task.TS, () if task else (Fault("task-value", names, value),)


def _ref(value: Any) -> Read:
    if not value or is_missing(value):
        return None, _text(value)[1] if is_missing(value) else ()
    try:
        return Reference(value), ()
    except ValueError:
        return None, (Fault("ref-value", '"src", "tgt" or "either"', value),)


def _labels(value: Any) -> Read:
    try:
        return tuple(map(Label, value.values() if isinstance(value, dict) else value)), ()
    except (TypeError, ValueError):
        return (), (Fault("label-value", "a list of labels", value),)


def _unless_null(read: Callable[[Any], Read], value: Any) -> Read:
    return (None, ()) if value is None else read(value)


def write(datapoints: Iterable[Datapoint]) -> str:
    """Return datapoints as a JSON list in SHROOM's format, one per line."""
    rows = (json_line(row_of(point)) for point in datapoints)
    return "[\n" + ",\n".join(rows) + "\n]\n"
