"""The findings of a gold check: severity, places and how to correct them."""

from __future__ import annotations

from dataclasses import dataclass

from shroom.core.problem_codes import ERROR, WARNING, Code
from shroom.scoring.result import Plain

#: How many places of a finding are stored, and how many of them are shown.
PLACES, _SHOWN = 10, 5

_ERRORS = {
    "id-doubled": "give each item a unique id; predictions cannot be matched by a repeated id",
    "id-missing": "add ids to all items, or remove all ids",
    "id-value": "use the type of id that the edition requires",
    "task-value": "use one of the edition's tasks; detectors reject other tasks",
    "ref-value": 'use "src", "tgt" or "either"; detectors reject other values',
    "key-missing": "correct the key in the rows, or under [item] in the edition",
    "unannotated": "annotate these items, or remove them from the gold",
    "label-value": "use one of the edition's labels, or set [annotation] labels in the edition",
    "p-value": "write a number in [0, 1]",
    "one-class": "add items of the other class, or do not score this split",
    "label-p": "correct the label or p: the label must be Hallucination if p is above 1/2",
    "label-votes": "correct the label or the votes: the label must be that of the majority",
    "p-votes": "correct p or the votes: p must be the share of votes for Hallucination",
    "span-value": "write whole numbers with 0 <= start < end",
    "span-outside": "each span must end within the text; check how characters are counted",
    "hard-soft": "hard_labels must mark exactly the characters with a probability above 1/2",
}
_WARNINGS = {
    "vote-value": "write a label, or null for a missing vote; other values are ignored",
    "span-text": "count characters, not UTF-16 code units or bytes",
    "span-votes": "check that the spans were computed from these annotations",
    "annotation-outside": "correct the annotation; the scores stay the same",
    "text-empty": "remove the item; nobody can judge it",
    "item-doubled": "remove one of the two items; otherwise, both count in every score",
    "shared": "remove the item from one of the splits",
    "shared-near": "check the pair, and remove the item from one of the splits",
    "shared-input": "put all items with the same input into one split",
    "shared-answer": "find out which of the two files is right",
    "annotator-constant": "check this annotator's work",
    "annotator-random": "check this annotator's work",
}
#: The checks of a gold. Errors make a score undefined or wrong.
CHECKS = {
    **{code: Code(ERROR, fix) for code, fix in _ERRORS.items()},
    **{code: Code(WARNING, fix) for code, fix in _WARNINGS.items()},
}


@dataclass(frozen=True)
class Finding(Plain):
    """One finding; the code is one of CHECKS."""

    code: str
    count: int
    about: str
    places: tuple[str, ...] = ()
    #: How to correct it, if not as usual for its code.
    own_fix: str = ""
    keys = ("code", "count", "about", "places", "severity")

    @property
    def severity(self) -> str:
        return CHECKS[self.code].severity

    @property
    def fix(self) -> str:
        return self.own_fix or CHECKS[self.code].fix

    @property
    def lines(self) -> list[str]:
        rest = self.count - min(len(self.places), _SHOWN)
        more = f" and {rest} more" if rest else ""
        place = [f"    {', '.join(self.places[:_SHOWN])}{more}"] if self.places else []
        return [f"  {self.severity}: {self.about} [{self.code}]", *place, f"    to fix: {self.fix}"]
