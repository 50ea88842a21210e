"""Public files for participants: data without labels, and a sample submission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shroom.core.atomic_writing import encoded
from shroom.core.datapoint import Label
from shroom.core.json_writing import json_line
from shroom.core.problems import Problems, ShroomError, show
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import file_name
from shroom.scoring.input_files import Document
from shroom.scoring.rows import P

#: Documents by split and track.
Documents = Mapping[tuple[str, str], Document]
Row = Mapping[str, Any]
#: Rows by split and file name.
Files = dict[str, dict[str, list[Row]]]

#: The keys of public data, by the kit's names; all other keys of gold are left out.
DATA_KEYS = ("id", "hyp", "src", "tgt", "ref", "task", "model", "lang")
#: The keys of annotations by kind, in addition to those of aspects.
_ANNOTATION = {
    "binary": ("label", "labels", P),
    "aspects": ("label", "labels", "annotations"),
    "spans": ("soft_labels", "hard_labels", "labels", "raw_annots"),
    "labelled-spans": ("labels", "raw_annots", "spans"),
}


def public_files(
    documents: Documents, edition: Edition, problems: Problems, *, is_gold: bool
) -> tuple[Files, Files]:
    """Return rows of data without annotations, and made-up predictions for them."""
    pattern = edition.files.data or edition.predictions_pattern
    own = _ANNOTATION[edition.annotation.kind]
    aspects = [aspect.key for aspect in edition.annotation.aspects]
    annotation = [*own, *map(edition.item.key, own), *aspects]
    shown = {edition.item.key(key) for key in DATA_KEYS}
    shown |= {track.rows_have for track in edition.tracks}
    shown -= {"", *annotation}
    data: Files = {}
    sample: Files = {}
    for (split, track), document in documents.items():
        items = document.items(problems, edition.item)
        rows: list[Row] = [item for item in items or [] if isinstance(item, dict)]
        if is_gold:
            rows = [{key: row[key] for key in row if key in shown} for row in rows]
        for index, row in enumerate(rows):
            for key in annotation:
                if row.get(key) is not None:
                    raise ShroomError(
                        f"{document.file}: item {index}: expected data without annotations, got "
                        f"the key {show(key)}; remove it"
                    )
        # Several tracks may share a file of data.
        data.setdefault(split, {}).setdefault(file_name(pattern, split, track), []).extend(rows)
        predictions = [_made_up(row, index, edition) for index, row in enumerate(rows)]
        sample.setdefault(split, {})[edition.name_of(split, track).base] = predictions
    return data, sample


def _made_up(row: Row, index: int, edition: Edition) -> Row:
    annotation, is_yes, id_key = edition.annotation, index % 2 == 1, edition.item.id_key
    made_up = {id_key: row[id_key]} if id_key in row and edition.item.id != "none" else {}
    if annotation.kind == "binary":
        word = (Label.HALLUCINATION if is_yes else Label.NOT_HALLUCINATION).value
        named = edition.with_file_keys([{"label": word, P: 0.75 if is_yes else 0.25}])
        return made_up | dict(*named)
    if annotation.kind == "aspects":
        return made_up | {it.key: it.yes if is_yes else it.no for it in annotation.aspects}
    text = row.get(edition.item.key("hyp"))
    marked = is_yes and isinstance(text, str) and text
    spans = [{"start": 0, "end": 1, "prob": 0.75}] if marked else []
    if annotation.kind == "spans":
        return made_up | {"soft_labels": spans, "hard_labels": [[0, 1] for _ in spans]}
    label = annotation.labels[index // 2 % len(annotation.labels)]
    return made_up | {"labels": [{**span, "label": label} for span in spans]}


def written(files: Mapping[str, list[Row]]) -> dict[str, bytes]:
    return {
        name: encoded(name, "[\n" + ",\n".join(map(json_line, rows)) + "\n]\n")
        for name, rows in files.items()
    }
