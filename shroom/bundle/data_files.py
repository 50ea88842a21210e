"""The data of a bundle: gold, data without labels, and a sample submission."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from shroom.core.atomic_writing import encoded, zipped
from shroom.core.datapoint import Label
from shroom.core.json_writing import json_line
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.scoring.check import check_documents
from shroom.scoring.column_checks import check_doubled, check_votes
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_choice import latest
from shroom.scoring.file_names import file_name
from shroom.scoring.input_files import Document, documents_among_others
from shroom.scoring.row_reader import read_rows
from shroom.scoring.rows import P, Role

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


def labelled(gold: Source, problems: Problems, edition: Edition) -> Documents:
    """Return the labelled files of a gold, in the order of the edition."""
    listed = _documents(gold, Role.GOLD, problems, edition)
    files = {}
    for place in product(edition.submitted, edition.track_names):
        document = listed.get(place)
        table = read_rows(document, Role.GOLD, problems, edition) if document else None
        if document and table is not None and table.labelled:
            problems.extend(check_doubled(table))
            problems.extend(check_votes(table))
            files[place] = document
        elif document is None or table is not None:
            expected = f"gold for {edition.name_of(*place)}"
            got = f"rows without labels in {document.base}" if document else "none"
            problems.add("gold-skipped", str(gold), expected, got)
    if problems.errors:
        raise InvalidInput(problems)
    if not files:
        pattern = edition.expected_name(edition.submitted, "gold")
        raise ShroomError(f"{gold} contains no labelled file named {pattern}")
    return files


def unlabelled(data: Source, gold: Documents, problems: Problems, edition: Edition) -> Documents:
    listed = _documents(data, Role.DATA, problems, edition)
    if problems.errors:
        raise InvalidInput(problems)
    for place in gold:
        if place not in listed:
            wanted = edition.name_of(*place)
            raise ShroomError(
                f"{data} contains no data for {wanted}; add the data, or remove the corresponding "
                "gold"
            )
    return {place: listed[place] for place in gold}


def _documents(source: Source, role: Role, problems: Problems, edition: Edition) -> Documents:
    return latest(documents_among_others(source, problems, edition), problems, edition, role)


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


def check_sample(sample: Files, gold: Source, edition: Edition) -> None:
    """Raise :class:`InvalidInput` if the items of the public data differ from the gold's."""
    for files in sample.values():
        documents = [
            Document(f"the public data, {name}", name, content, member=True)
            for name, content in written(files).items()
        ]
        check_documents(documents, gold, problems=Problems(), edition=edition).raise_for_errors()


def reference_zips(gold: Documents, data: Source, edition: Edition) -> dict[str, bytes]:
    """Return the gold of each split, and the data if it may contain the units of rows."""
    has_units = edition.item.unit and edition.files.data
    beside = _documents(data, Role.DATA, Problems(), edition) if has_units else {}
    by_split: dict[str, dict[str, bytes]] = {split: {} for split, _ in gold}
    for (split, _), document in (*beside.items(), *gold.items()):
        if split in by_split:
            base = document.base.removesuffix(".gz")
            by_split[split][base] = document.read(Problems()) or b""
    return {f"reference_data_{split}.zip": zipped(files) for split, files in by_split.items()}
