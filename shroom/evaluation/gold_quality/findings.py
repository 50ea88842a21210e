"""The findings of a gold check: severity, places and how to correct them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.core.printing import counted, show
from shroom.core.problem_codes import CODES, ERROR, WARNING
from shroom.evaluation.gold_quality.rows import GoldFile
from shroom.scoring.result import Plain

#: How many places of a finding are named.
PLACES = 10


class Check(NamedTuple):
    severity: str
    fix: str


#: The checks of a gold. Errors make a score undefined or wrong.
CHECKS: dict[str, Check] = {
    "id-doubled": Check(
        ERROR, "give each item a unique id; predictions cannot be matched by a repeated id"
    ),
    "id-missing": Check(ERROR, "add ids to all items, or remove all ids"),
    "id-value": Check(ERROR, "use the type of id that the edition requires"),
    "task-value": Check(ERROR, "use one of the edition's tasks; detectors reject other tasks"),
    "ref-value": Check(ERROR, 'use "src", "tgt" or "either"; detectors reject other values'),
    "key-missing": Check(ERROR, "correct the key in the rows, or under [item] in the edition"),
    "unannotated": Check(ERROR, "annotate these items, or remove them from the gold"),
    "label-value": Check(ERROR, "use one of the edition's labels"),
    "p-value": Check(ERROR, "write a number in [0, 1]"),
    "one-class": Check(ERROR, "add items of the other class, or do not score this split"),
    "label-p": Check(
        ERROR, "correct the label or p: the label must be Hallucination if p is above 1/2"
    ),
    "label-votes": Check(
        ERROR, "correct the label or the votes: the label must be that of the majority"
    ),
    "p-votes": Check(
        ERROR, "correct p or the votes: p must be the share of votes for Hallucination"
    ),
    "vote-value": Check(
        WARNING, "write a label, or null for a missing vote; other values are ignored"
    ),
    "span-value": Check(ERROR, "write whole numbers with 0 <= start < end"),
    "span-outside": Check(
        ERROR, "correct spans that end outside the text; check how characters are counted"
    ),
    "span-text": Check(WARNING, "count characters, not UTF-16 code units or bytes"),
    "hard-soft": Check(
        ERROR, "hard_labels must mark exactly the characters with a probability above 1/2"
    ),
    "span-votes": Check(WARNING, "check that the spans were computed from these annotations"),
    "annotation-outside": Check(WARNING, "correct the annotation; it is not used in scoring"),
    "text-empty": Check(WARNING, "remove the item; nobody can judge it"),
    "item-doubled": Check(
        WARNING, "remove one of the two items; otherwise, both count in every score"
    ),
    "shared": Check(WARNING, "remove the item from one of the splits"),
    "shared-near": Check(WARNING, "check the pair, and remove the item from one of the splits"),
    "shared-input": Check(WARNING, "put all items with the same input into one split"),
    "shared-answer": Check(WARNING, "find out which of the two files is right"),
    "shared-id": Check(
        WARNING, "give an item the same id in all files, and different items different ids"
    ),
    "unit-missing": Check(
        WARNING, "put the data file next to the gold file, or add the key to the gold rows"
    ),
    "annotator-constant": Check(WARNING, "check this annotator's work"),
    "annotator-random": Check(WARNING, "check this annotator's work"),
}


@dataclass(frozen=True)
class Finding(Plain):
    """One finding; the code is one of CHECKS, or one of the data set's reader."""

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
        rest = self.count - len(self.places[:5])
        more = f" and {rest} more" if rest > 0 else ""
        place = [f"    {', '.join(self.places[:5])}{more}"] if self.places else []
        return [f"  {self.severity}: {self.about} [{self.code}]", *place, f"    to fix: {self.fix}"]


def at(file: GoldFile, rows: Sequence[int] | NDArray[np.intp]) -> tuple[str, ...]:
    """Return the names of the first few rows."""
    named = [(row, file.rows[row].get(file.edition.item.id_key)) for row in rows[:PLACES]]
    return tuple(
        f"item {row}" if id_ is None else f"item {row} (id {str(id_)[:60]})" for row, id_ in named
    )


def of_rows(
    file: GoldFile, code: str, rows: Sequence[int] | NDArray[np.intp], about: str, key: str = ""
) -> Iterator[Finding]:
    """Yield a finding if there are rows; ``{}`` in its text is the number of items.

    The text ends with the first row's value under ``key``, or with its keys.
    """
    if len(rows):
        rows = [int(row) for row in rows]
        if key:
            name = file.edition.item.key(key)
            (row,) = file.edition.with_file_keys([file.rows[rows[0]]])
            got = show(row[name]) if name in row else f"keys {show([*row], width=200)}"
            about = f"{about}; got {got}"
        yield Finding(
            code, len(rows), about.replace("{}", counted(len(rows), "item"), 1), at(file, rows)
        )
