"""The data set that a file is of, recognised by the keys of its first rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from shroom.core.problems import Problems
from shroom.scoring.column_names import renamed
from shroom.scoring.csv_files import columns_of
from shroom.scoring.input_files import Document, heads
from shroom.scoring.table import P

#: Keys of SHROOM's format: a row of data, gold or predictions has at least one of them.
_OWN = frozenset(("hyp", "label", P))


@dataclass(frozen=True)
class Entry:
    """The form by which the files of a data set are recognised.

    Attributes
    ----------
    forms : tuple of frozenset
        The keys of each kind of row that it has. A row that has all keys of one is of this data
        set, unless it is of one that is listed earlier.
    command : str
        What takes its files, or makes SHROOM's of them.
    predictions : dict of tuple
        Predictions for it have the key, and a list under one of the others.
    """

    forms: tuple[frozenset[str], ...]
    command: str
    predictions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _entry(name: str, *forms: str, command: str = "", **predictions: tuple[str, ...]) -> Entry:
    command = command or f"'shroom datasets convert {name}' makes SHROOM's of it"
    if predictions:
        command = f"'shroom score' compares predictions of that form with it, and {command}"
    return Entry(tuple(frozenset(form.split()) for form in forms), command, predictions)


#: The data sets, in the order in which a form is looked for: the more specific keys first.
DATA_SETS = {
    "semeval2024": _entry("semeval2024", "hyp task"),
    "mushroom2025": _entry("mushroom2025", "model_output_text", id=("soft_labels", "hard_labels")),
    "felm": _entry(
        "felm",
        "segmented_response",
        command="'shroom predict judge FILE' judges its segments, and 'shroom datasets convert "
        "felm' makes SHROOM's of it for other detectors",
        index=("labels", "p"),
    ),
    "verifiability": _entry(
        "verifiability",
        "attribution_label",
        "statements_to_citation_texts",
        "annotation citations",
        "source_supports_statement",
    ),
    "factual_consistency": _entry("factual_consistency", "model_type decoding knowledge response"),
    "dreamcatcher": _entry("dreamcatcher", "question answer generation", "query preference"),
    "queries": _entry(
        "queries", "prompt_text", "query", command="'shroom datasets describe queries' takes it"
    ),
}


def refuse_another(document: Document, data: bytes, problems: Problems) -> bool:
    """Report a file whose form is that of another data set than SHROOM; return whether it is.

    Its first two rows have to be of that form, so that one odd row does not hide what it has.

    Parameters
    ----------
    document : Document
        A file to read in SHROOM's format.
    data : bytes
        Its content, decompressed.
    problems : Problems
        Gets one ``other-form`` for the whole file.
    """
    other = _another(row_at(document, data, 0))
    if other is None:
        return False
    second = row_at(document, data, 1)
    if second and _another(second) != other:
        return False
    problems.add("other-form", document.file, "SHROOM's form", other)
    return True


def _another(row: Mapping[str, Any]) -> str | None:
    """Return what a row is of, in words; ``None`` where that is SHROOM or nothing that is known."""
    if row.keys() & _OWN:
        return None
    of_data, of_predictions = form_of(row.keys()), _predictions_for(row)
    if of_data is not None:
        return f"that of {of_data} ({DATA_SETS[of_data].command})"
    if of_predictions is not None:
        gold = f"with gold of {of_predictions}"
        return f"predictions for {of_predictions} ('shroom check --gold' takes them, {gold})"
    return None


def form_of(keys: Iterable[str]) -> str | None:
    """Return the name of the data set whose rows have such keys.

    Examples
    --------
    >>> form_of({"index", "segmented_response", "labels"}), form_of("ab")
    ('felm', None)
    """
    for name, entry in DATA_SETS.items():
        if any(form.issubset(keys) for form in entry.forms):
            return name
    return None


def _predictions_for(row: Mapping[str, Any]) -> str | None:
    for name, entry in DATA_SETS.items():
        for key, lists in entry.predictions.items():
            if key in row and any(_is_predictions(row.get(name)) for name in lists):
                return name
    return None


def _is_predictions(value: Any) -> bool:
    """Return whether a value may be a list of predictions; SHROOM's votes are lists of texts."""
    return isinstance(value, list) and not any(isinstance(item, str) for item in value)


def row_at(document: Document, data: bytes, place: int) -> Mapping[str, Any]:
    """Return a document's row at a place from 0; an empty one where it cannot be read.

    Every row of a table is its columns.
    """
    if document.is_table(data):
        return dict.fromkeys(columns_of(next(heads(data))))
    for head in heads(data):
        objects = _objects(head.decode("utf-8-sig", "replace"))
        row = next(islice(objects, place, None), None)
        if row is not None:
            return dict(renamed(row))
    return {}


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
