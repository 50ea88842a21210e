"""What participants may download: data without labels, and a sample of predictions for them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shroom.core.atomic_writing import encoded
from shroom.core.datapoint import Label
from shroom.core.problems import Problems, ShroomError, show
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import file_name
from shroom.scoring.input_files import Document
from shroom.scoring.table import P

Rows = list[dict[str, Any]]

#: The keys of data by the kit's own names; every other key of gold is left out.
DATA_KEYS = ("id", "hyp", "src", "tgt", "ref", "task", "model", "lang")
#: The keys of what annotators say, by the kind of annotation, besides those of the aspects.
_ANNOTATION = {
    "binary": ("label", "labels", P),
    "aspects": ("label", "labels", "annotations"),
    "spans": ("soft_labels", "hard_labels", "labels", "raw_annots"),
    "labelled-spans": ("labels", "raw_annots", "spans"),
}
#: The end of a marked span in a sample, in characters.
_SAMPLE_END = 1


@dataclass(frozen=True)
class PublicData:
    """Data without labels, by split and track, and a sample of predictions for them."""

    edition: Edition
    rows: Mapping[tuple[str, str], Rows]

    @classmethod
    def of(
        cls,
        files: Mapping[tuple[str, str], Document],
        edition: Edition,
        problems: Problems,
        *,
        stripped: bool,
    ) -> PublicData:
        """Return the data of files.

        Parameters
        ----------
        files : dict of Document
            The files by split and track.
        edition : Edition
            Their edition.
        problems : Problems
            Gets what is wrong with them.
        stripped : bool
            Whether they are gold, and all but the keys of data are left out.

        Raises
        ------
        ShroomError
            If other files have an annotation.
        """
        rows = {}
        for place, document in files.items():
            data = document.read(problems)
            items = document.items(data, problems, edition.item) if data is not None else None
            read = [item for item in items or [] if isinstance(item, dict)]
            rows[place] = without_labels(read, edition) if stripped else read
            check_unlabelled(rows[place], document.file, edition)
        return cls(edition, rows)

    def files(self, split: str) -> dict[str, bytes]:
        """Return the files of a split by name."""
        by_name: dict[str, Rows] = {}
        for place, rows in self.rows.items():
            if place[0] == split:
                by_name.setdefault(self.name(*place), []).extend(rows)  # one file for all tracks
        return {name: written(name, rows) for name, rows in by_name.items()}

    def name(self, split: str, track: str) -> str:
        """Return the name of a file of data."""
        pattern = self.edition.files.data or self.edition.predictions_pattern
        return file_name(pattern, split, track)

    def sample(self, split: str) -> dict[str, Rows]:
        """Return made-up predictions for a split, by file name."""
        return {
            self.edition.name_of(*place).base: sample_rows(rows, self.edition)
            for place, rows in self.rows.items()
            if place[0] == split
        }

    @property
    def submissions(self) -> list[str]:
        """The names of the files that are handed in."""
        return [self.edition.name_of(*place).base for place in self.rows]

    @property
    def sizes(self) -> dict[str, int]:
        """The number of items of each file."""
        sizes = Counter[str]()
        for place, rows in self.rows.items():
            sizes[self.name(*place)] += len(rows)
        return sizes

    @property
    def keys(self) -> list[str]:
        """The keys of the rows."""
        return list(
            dict.fromkeys(key for rows in self.rows.values() for row in rows for key in row)
        )


def data_keys(edition: Edition) -> list[str]:
    """Return the keys of data in the files of an edition."""
    keys = [edition.item.keys.get(key, key) for key in DATA_KEYS]
    return [*keys, *(track.rows_have for track in edition.tracks if track.rows_have)]


def without_labels(rows: Rows, edition: Edition) -> Rows:
    """Return the rows of gold with the keys of data alone."""
    keys = data_keys(edition)
    hidden = set(annotation_keys(edition))
    return [{key: row[key] for key in row if key in keys and key not in hidden} for row in rows]


def annotation_keys(edition: Edition) -> tuple[str, ...]:
    """Return the keys of annotations in the files of an edition."""
    own = _ANNOTATION[edition.annotation.kind]
    named = (edition.item.keys.get(key, key) for key in own)
    return (*own, *named, *(aspect.key for aspect in edition.annotation.aspects))


def check_unlabelled(rows: Rows, file: str, edition: Edition) -> None:
    """Raise :class:`ShroomError` if rows that participants will see have an annotation."""
    for index, row in enumerate(rows):
        for key in annotation_keys(edition):
            if row.get(key) is not None:
                raise ShroomError(
                    f"{file}: item {index}: expected data without annotations, got the key "
                    f"{show(key)}; leave it out"
                )


def sample_rows(rows: Rows, edition: Edition) -> Rows:
    """Return valid predictions for rows of data, which are made up.

    Examples
    --------
    >>> from shroom.scoring.editions.files import built_in
    >>> sample_rows([{"hyp": "a"}], built_in("semeval2024"))
    [{'label': 'Not Hallucination', 'p(Hallucination)': 0.25}]
    """
    id_key = edition.item.id_key
    return [
        {
            **({id_key: row[id_key]} if id_key in row and edition.item.id != "none" else {}),
            **_made_up(row, index, edition),
        }
        for index, row in enumerate(rows)
    ]


def _made_up(row: Mapping[str, Any], index: int, edition: Edition) -> dict[str, Any]:
    annotation, is_yes = edition.annotation, index % 2 == 1
    if annotation.kind == "binary":
        word = (Label.HALLUCINATION if is_yes else Label.NOT_HALLUCINATION).value
        made_up = {"label": word, P: 0.75 if is_yes else 0.25}
        return dict(*edition.with_file_keys([made_up]))
    if annotation.kind == "aspects":
        return {aspect.key: aspect.yes if is_yes else aspect.no for aspect in annotation.aspects}
    text = row.get(edition.item.keys.get("hyp", "hyp"))
    marked = is_yes and isinstance(text, str) and len(text) >= _SAMPLE_END
    span = {"start": 0, "end": _SAMPLE_END, "prob": 0.75}
    if annotation.kind == "spans":
        hard = [[0, _SAMPLE_END]] if marked else []
        return {"soft_labels": [span] if marked else [], "hard_labels": hard}
    label = annotation.labels[index // 2 % len(annotation.labels)]
    return {"labels": [{**span, "label": label}] if marked else []}


def written(name: str, rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as a JSON file, or as JSON Lines where its name ends so."""
    lines = (json.dumps(_finite(row), ensure_ascii=False) for row in rows)
    return encoded(name, "[\n" + ",\n".join(lines) + "\n]\n")


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without NaN, which is not JSON."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }
