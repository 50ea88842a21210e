"""From predictions to a submission: its rows, the name of its file, and its check."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from shroom.core.atomic_writing import encoded, names_a_file
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.detectors.arrays import label_columns
from shroom.scoring.check import check_documents
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.input_files import Document


def text_of(
    label: NDArray[Any], p: NDArray[Any], ids: NDArray[Any] | None, edition: Edition
) -> str:
    """Return predictions as the JSON list of a submission, one row per line."""
    columns: dict[str, list[Any]] = {} if ids is None else {edition.item.id_key: ids.tolist()}
    return json_list(columns | label_columns(label, p), edition)


def json_list(columns: Mapping[str, list[Any]], edition: Edition) -> str:
    """Return the rows as a JSON list, under the keys and in the words of the edition."""
    rows = edition.with_file_keys(dict(zip(columns, row)) for row in zip(*columns.values()))
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def list_of(lines: Iterable[bytes]) -> bytes:
    """Return JSON Lines as the JSON list that :func:`text_of` writes."""
    return b"[\n" + b"".join(lines).removesuffix(b"\n").replace(b"\n", b",\n") + b"\n]\n"


def name_for(name: Name | None, out: Source, data_name: str, edition: Edition) -> str:
    """Return the name of a file of predictions; a zip or a folder needs split and track."""
    if name is not None and name.split in edition.submitted:
        return edition.name_of(*name.key).base
    if str(out) == "-" or names_a_file(out):
        return "predictions.json"
    raise ShroomError(
        f"{out}: a zip or a folder needs names like {edition.expected_name(edition.submitted)}, "
        f"but the name {data_name} has no split and track; write a .json file, or rename the "
        "data file"
    )


def check_output(texts: Mapping[str, str], edition: Edition) -> None:
    """Check JSON lists by their names with the rules for submissions, before they are written."""
    problems = Problems()
    documents = [Document(name, name, encoded(name, text)) for name, text in texts.items()]
    if not check_documents(documents, problems=problems, edition=edition).ok:
        raise InvalidInput(problems)
