"""The data sets by name, each imported when it is asked for."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.documents import CSV, JSON, documents_among_others, is_pipe
from shroom.problems import Problems, ShroomError, nearest, printable

if TYPE_CHECKING:
    from shroom.datasets.data_set import DataSet
    from shroom.documents import Document, Source


@dataclass(frozen=True)
class Entry:
    """Where a data set is, and how its files can be told from others.

    Attributes
    ----------
    module : str
        Of this package; it has a ``DATA_SET``.
    forms : tuple of frozenset
        The keys of each kind of row that it has. A row that has all keys of one is of this data
        set, unless it is of one that is listed earlier.
    """

    module: str
    forms: tuple[frozenset[str], ...]


def _entry(module: str, *forms: str) -> Entry:
    return Entry(module, tuple(frozenset(form.split()) for form in forms))


#: The data sets, in the order in which a form is looked for: the more telling keys first.
DATA_SETS = {
    "semeval2024": _entry("semeval2024", "hyp task"),
    "mushroom2025": _entry("mushroom2025", "model_output_text"),
    "felm": _entry("felm", "segmented_response"),
    "verifiability": _entry(
        "verifiability", "attribution_label", "statements_to_citation_texts", "annotation citations"
    ),
    "factual_consistency": _entry("factual_consistency", "model_type decoding knowledge response"),
    "dreamcatcher": _entry("dreamcatcher", "question answer generation", "query preference"),
    "queries": _entry("queries", "prompt_text", "query"),
}


def data_set(name: str) -> DataSet:
    """Return the data set of a name.

    Raises
    ------
    ShroomError
        Where there is none of that name.

    Examples
    --------
    >>> data_set("felm").licence
    'CC BY-NC-SA 4.0'
    """
    if name not in DATA_SETS:
        known = list(DATA_SETS)
        near, listed = nearest(name.lower(), known), ", ".join(known)
        raise ShroomError(f"no data set '{printable(name)}';{near} the data sets are {listed}")
    found: DataSet = importlib.import_module(f"shroom.datasets.{DATA_SETS[name].module}").DATA_SET
    return found


def guess(source: Source) -> str | None:
    """Return the name of the data set that a file, a folder or a zip is of, by its first row.

    Of several files the first that is told by its form decides. A pipe, which can be read only
    once, is not looked at.

    Examples
    --------
    >>> guess("shroom/sample")
    'semeval2024'
    """
    if is_pipe(source):
        return None
    for document in documents_among_others(source, Problems(), endings=JSON + CSV):
        name = form_of(first_keys(document))
        if name is not None:
            return name
    return None


def refuse_another(name: str, source: Source) -> None:
    """Refuse a path that has files of another data set, and none of the one that was named.

    Raises
    ------
    ShroomError
        With the name of the other one.
    """
    other = guess(source)
    if other in (name, None):
        return
    found = documents_among_others(source, Problems(), endings=JSON + CSV)
    if all(form_of(first_keys(document)) != name for document in found):
        where = printable(os.fspath(source))
        raise ShroomError(
            f"{where}: this has the form of {other}, not of {name}; "
            f"see 'shroom datasets describe {other} {where}'"
        )


def form_of(keys: frozenset[str]) -> str | None:
    """Return the name of the data set whose rows have such keys.

    Examples
    --------
    >>> form_of(frozenset({"index", "segmented_response", "labels"})), form_of(frozenset("ab"))
    ('felm', None)
    """
    for name, entry in DATA_SETS.items():
        if any(form <= keys for form in entry.forms):
            return name
    return None


def first_keys(document: Document) -> frozenset[str]:
    """Return the keys of a document's first row, or a CSV's columns; none if unreadable."""
    data = document.read(Problems())
    if data is None:
        return frozenset()
    if document.base.lower().endswith(CSV):
        head = bytes(data[:_HEAD]).decode("utf-8-sig", "replace")
        return frozenset(next(csv.reader(io.StringIO(head, newline="")), []))
    size = _HEAD
    while True:
        row = _first_object(bytes(data[:size]).decode("utf-8-sig", "replace"))
        if row is not None or size >= len(data):
            return frozenset(row or ())
        size *= 16


#: How much of a file is looked at first; a longer row takes more.
_HEAD = 1 << 16


def _first_object(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    if start < 0:
        return None
    try:
        row = json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
