"""What is found in a gold: how grave it is, where it is, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.core.printing import counted
from shroom.core.problem_codes import CODES, ERROR, WARNING
from shroom.evaluation.gold_quality.rows import GoldFile
from shroom.scoring.result import Plain

#: How many places of a finding are named.
PLACES = 10


class Check(NamedTuple):
    severity: str
    fix: str


#: What a gold is checked for. Errors make a score undefined or wrong.
CHECKS: dict[str, Check] = {
    "id-doubled": Check(ERROR, "give each item an id of its own: rows cannot be aligned by it"),
    "id-missing": Check(ERROR, "give every item an id, or none"),
    "id-value": Check(ERROR, "write ids of the kind that the edition has"),
    "task-value": Check(ERROR, "name one of the edition's tasks; detectors refuse others"),
    "ref-value": Check(ERROR, "write src, tgt or either; detectors refuse other words"),
    "unannotated": Check(ERROR, "annotate the items, or leave them out of the gold"),
    "label-value": Check(ERROR, "write one of the labels of the edition"),
    "p-value": Check(ERROR, "write a number in [0, 1]"),
    "one-class": Check(ERROR, "add items of the other class, or leave the split unscored"),
    "label-p": Check(ERROR, "see which is right: the label should be the side of 1/2 of p"),
    "label-votes": Check(ERROR, "see which is right: the label should be the votes' majority"),
    "p-votes": Check(ERROR, "see which is right: p should be the share of the votes"),
    "vote-value": Check(WARNING, "write the label, or null for a missing vote; it is left out"),
    "span-value": Check(ERROR, "write whole characters: 0 <= start < end"),
    "span-outside": Check(ERROR, "let spans end within the text; check how characters are counted"),
    "span-text": Check(WARNING, "count characters: not UTF-16 units, and not bytes"),
    "hard-soft": Check(ERROR, "mark in hard_labels what soft_labels has above 1/2"),
    "span-votes": Check(WARNING, "check that the spans were made of these annotations"),
    "annotation-outside": Check(WARNING, "nothing is scored by it; correct the annotation"),
    "text-empty": Check(WARNING, "leave the item out: nobody can judge it"),
    "item-doubled": Check(WARNING, "keep one of the items: it counts twice in every score"),
    "shared": Check(WARNING, "leave the item out of one of the splits"),
    "shared-near": Check(WARNING, "look at the pair; leave the item out of one of the splits"),
    "shared-input": Check(WARNING, "keep items of one input in one split"),
    "shared-answer": Check(WARNING, "see which of the two files is right"),
    "shared-id": Check(WARNING, "give an item one id in all files, and no other item the same"),
    "unit-missing": Check(WARNING, "put the data file beside the gold, or the key into its rows"),
    "annotator-constant": Check(WARNING, "look at what this annotator did"),
    "annotator-random": Check(WARNING, "look at what this annotator did"),
}


@dataclass(frozen=True)
class Finding(Plain):
    """Something that is wrong with a gold: a code of CHECKS or of the data set's reader."""

    code: str
    count: int
    about: str
    places: tuple[str, ...] = ()
    keys = ("code", "count", "about", "places", "severity")

    @property
    def severity(self) -> str:
        return CHECKS[self.code].severity if self.code in CHECKS else CODES[self.code].severity

    @property
    def fix(self) -> str:
        return CHECKS[self.code].fix if self.code in CHECKS else CODES[self.code].fix

    @property
    def row(self) -> tuple[str, ...]:
        more = " …" if self.places and self.count > 5 else ""
        places = f"{', '.join(self.places[:5])}{more}"
        return (f"{self.about} [{self.code}]", places, self.severity, self.fix)

    @property
    def lines(self) -> list[str]:
        rest = self.count - len(self.places)
        more = f" and {rest} more" if rest > 0 else ""
        place = [f"    {', '.join(self.places[:5])}{more}"] if self.places else []
        return [f"  {self.severity}: {self.about} [{self.code}]", *place]


def at(file: GoldFile, rows: Sequence[int] | NDArray[np.intp]) -> tuple[str, ...]:
    """Return how the first few rows are named."""
    named = [(row, file.rows[row].get(file.edition.item.id_key)) for row in rows[:PLACES]]
    return tuple(
        f"item {row}" if id_ is None else f"item {row} (id {str(id_)[:60]})" for row, id_ in named
    )


def of_rows(
    file: GoldFile, code: str, rows: Sequence[int] | NDArray[np.intp], about: str
) -> Iterator[Finding]:
    """Yield a finding of rows, where there are any; ``{}`` stands for how many items they are."""
    if len(rows):
        rows = [int(row) for row in rows]
        yield Finding(
            code, len(rows), about.replace("{}", counted(len(rows), "item"), 1), at(file, rows)
        )


def is_probability(value: Any) -> bool:
    """Return whether a value is a number in [0, 1], give or take what rounding does."""
    is_number = type(value) in (int, float) and math.isfinite(value)
    return is_number and -1e-9 <= value <= 1 + 1e-9
