"""What can be wrong with a submission: the codes, one problem, and the collection of them.

Every problem has a stable code from :data:`CODES`. A problem says where it is, what was expected,
what was found and how to mend it; the collection keeps the first few of each code and counts the
rest, so that a file with a million wrong lines costs no more than one with twenty.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

ERROR = "error"
WARNING = "warning"


class Code(NamedTuple):
    """What a code stands for: how grave it is, and how to mend it."""

    severity: str
    mend: str


#: Every code that the kit can give, in the order in which the documentation lists them.
CODES: dict[str, Code] = {
    # the container
    "file-unreadable": Code(ERROR, "check the path and its permissions"),
    "zip-broken": Code(ERROR, "make the zip again and compare its size after the upload"),
    "zip-encrypted": Code(ERROR, "make the zip again without a password"),
    "zip-method": Code(ERROR, "make the zip again with the ordinary method (deflate)"),
    "zip-nested": Code(ERROR, "zip the .json files themselves, not a zip of them"),
    "zip-members": Code(ERROR, "zip the prediction files only"),
    "too-large": Code(ERROR, "hand in the prediction files only, without the texts"),
    "absurd-ratio": Code(ERROR, "zip the prediction files only; this looks like a zip bomb"),
    "gzip-broken": Code(ERROR, "compress the file again, or hand it in uncompressed"),
    "no-file": Code(
        ERROR, "put the files into it; SHROOM's are {val,test}.model-{agnostic,aware}.json"
    ),
    "file-name": Code(ERROR, "rename it to {val,test}.model-{agnostic,aware}.json"),
    "file-twice": Code(ERROR, "keep one file for each track"),
    "file-ignored": Code(WARNING, "leave it out, or name it by itself"),
    "no-gold": Code(ERROR, "name the gold that has this split and track"),
    "run-record": Code(WARNING, "leave it out, or run shroom predict again"),
    # the bytes
    "not-utf8": Code(ERROR, "save the file as UTF-8"),
    "not-json": Code(ERROR, "write the file with a JSON library (json.dump)"),
    "not-csv": Code(ERROR, "write the file with a CSV library (csv.writer)"),
    "not-a-list": Code(ERROR, "write one JSON list with an object for each datapoint"),
    "empty": Code(ERROR, "write one object for each datapoint"),
    "other-form": Code(ERROR, "name files in SHROOM's form, or the command that takes this one"),
    # the items
    "item-object": Code(ERROR, "write one JSON object for each item"),
    "key-missing": Code(ERROR, "give every item the key, in CSV the column"),
    "key-unknown": Code(WARNING, "leave the key out (in SHROOM's form, check --fix does it)"),
    "key-doubled": Code(
        WARNING, "write each key once; the last counts (in SHROOM's form, check --fix keeps it)"
    ),
    "label-value": Code(
        ERROR, "write the label exactly so (in SHROOM's form, check --fix mends its case)"
    ),
    "span-value": Code(ERROR, "write each span in whole characters of the text"),
    "p-number": Code(
        ERROR, "write p as a JSON number (in SHROOM's form, check --fix mends strings)"
    ),
    "p-finite": Code(ERROR, "write a number between 0 and 1"),
    "p-range": Code(ERROR, "scale p into [0, 1]"),
    "id-missing": Code(ERROR, "copy the id of each datapoint from the data file"),
    "id-integer": Code(ERROR, "copy the id as the data file has it"),
    "id-string": Code(WARNING, "write the id as a number, without quotes (--fix does it)"),
    "id-doubled": Code(ERROR, "give each id once"),
    "value-finite": Code(WARNING, "write an empty string or leave the key out"),
    "text-string": Code(ERROR, "write the text as a JSON string"),
    "task-value": Code(ERROR, "write one of DM, MT, PG and TS"),
    "premise-missing": Code(ERROR, "give src or tgt a text, or leave the datapoint out"),
    "ref-value": Code(ERROR, "write src, tgt or either, or leave the key out"),
    # the items together
    "count": Code(ERROR, "predict each once, and nothing else"),
    "ids-missing": Code(ERROR, "predict every datapoint of the data file"),
    "id-unknown": Code(
        ERROR, "check that the file belongs to these data: split, track or language"
    ),
    "label-p": Code(
        WARNING, "check the threshold, and that p is that of Hallucination, or of being wrong"
    ),
    "label-constant": Code(WARNING, "check the threshold"),
    "p-constant": Code(WARNING, "give each item its own p: a constant has no rank correlation"),
    "p-inverted": Code(
        WARNING, "check that p is that of Hallucination, or of being wrong; else turn it (1 - p)"
    ),
    "in-sample": Code(WARNING, "score it on other items, or with predictions out of fold"),
    "order": Code(WARNING, "keep the order of the data file (--fix restores it)"),
    # the native forms of other data sets
    "row-dropped": Code(WARNING, "leave the row out, or mend it in the source"),
    "row-odd": Code(WARNING, "look at the row; it is used all the same"),
    "row-doubled": Code(WARNING, "keep one of the rows; both are used"),
    # the gold
    "swapped": Code(WARNING, "name the submission first and the gold last, unless they are"),
    "gold-unlabelled": Code(
        ERROR, "name a file whose items have labels: in SHROOM's form, label and p(Hallucination)"
    ),
    "label-votes": Code(WARNING, "see which is right in the gold; scores go by its label"),
    "p-votes": Code(WARNING, "see which is right in the gold; scores go by its p"),
    "gold-skipped": Code(WARNING, "to score it as well, name labelled gold for it"),
    # the organisers' 2024 program
    "official": Code(ERROR, "see the organisers' rules of 2024"),
    "splits-mixed": Code(ERROR, "name the gold of one split, or hand in one split"),
    "rho-undefined": Code(WARNING, "see p-constant; on the platforms rho is written as 0"),
    "track-missing": Code(WARNING, "hand in both tracks to be ranked on both"),
}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and where.

    ``index`` counts the items of a file from 0; ``id`` is the item's own. Both are ``None`` for
    what concerns a whole file.
    """

    code: str
    file: str
    expected: str
    found: str
    index: int | None = None
    id: int | str | None = None
    key: str | None = None

    @property
    def severity(self) -> str:
        """``"error"`` or ``"warning"``."""
        return CODES[self.code].severity

    @property
    def mend(self) -> str:
        """How to mend it."""
        return CODES[self.code].mend

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for json."""
        return {**asdict(self), "severity": self.severity, "mend": self.mend}

    @property
    def sentence(self) -> str:
        """All of it in one line, whatever its severity."""
        place = self.file
        if self.index is not None:
            place += f": item {self.index}"
            if self.id is not None:
                place += f" (id {self.id})"
        if self.key is not None:
            place += f": {self.key}"
        return printable(f"{place}: expected {self.expected}, got {self.found} [{self.code}]")

    def __str__(self) -> str:
        return f"{'warning: ' if self.severity == WARNING else ''}{self.sentence}"


class ShroomError(Exception):
    """A user's mistake, told in sentences; the command line prints it without a traceback."""


class InvalidInput(ShroomError):  # noqa: N818 - it names what is the matter
    """The input has errors; ``problems`` holds every one of them."""

    def __init__(self, problems: Problems):
        super().__init__("\n".join(problems.lines()))
        self.problems = problems


@dataclass
class Problems:
    r"""The problems of a submission: the first ``limit`` of each code, and the count of all.

    Examples
    --------
    >>> problems = Problems(limit=1)
    >>> for index in range(3):
    ...     problems.add("p-number", "a.json", "a number", '"0.5"', index=index)
    >>> problems.errors
    3
    >>> print(*problems.lines(), sep="\n")
    a.json: item 0: expected a number, got "0.5" [p-number]
    a.json: and 2 more [p-number]
      to mend [p-number]: write p as a JSON number (in SHROOM's form, check --fix mends strings)
    """

    limit: int | None = 20
    _kept: dict[str, list[Problem]] = field(default_factory=dict)
    _count: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, code: str, file: str, expected: str, found: str, **place: Any) -> None:
        """Add one problem; ``place`` may give ``index``, ``id`` and ``key``."""
        kept = self._kept.setdefault(code, [])
        self._count[code, file] = self._count.get((code, file), 0) + 1
        if self.limit is None or len(kept) < self.limit:
            kept.append(Problem(code, file, expected, found, **place))

    def add_rows(
        self,
        code: str,
        file: str,
        rows: NDArray[np.intp],
        problem: Callable[[int], dict[str, Any]],
    ) -> None:
        """Add a problem for each of ``rows``, asking ``problem`` only for those that are kept."""
        shown = rows if self.limit is None else rows[: self.limit]
        for row in shown.tolist():
            self.add(code, file, index=row, **problem(row))
        if len(rows):
            self._count[code, file] += len(rows) - len(shown)

    def extend(self, other: Problems) -> None:
        """Add the problems of another check; what concerns a file that both have read, once."""
        for code, problems in other._kept.items():
            kept = self._kept.setdefault(code, [])
            fresh = [problem for problem in problems if problem not in kept]
            kept += fresh if self.limit is None else fresh[: max(0, self.limit - len(kept))]
        for place, count in other._count.items():
            self._count[place] = max(count, self._count.get(place, 0))

    def count(self, code: str, file: str | None = None) -> int:
        """Return how many problems have this code, in one file or in all."""
        return sum(
            count
            for (name, place), count in self._count.items()
            if name == code and file in (None, place)
        )

    @property
    def codes(self) -> set[str]:
        """The codes of all problems."""
        return set(self._kept)

    @property
    def errors(self) -> int:
        """How many of them are errors."""
        return self._total(ERROR)

    @property
    def warnings(self) -> int:
        """How many of them are warnings."""
        return self._total(WARNING)

    def _total(self, severity: str) -> int:
        return sum(n for (code, _), n in self._count.items() if CODES[code].severity == severity)

    def __iter__(self) -> Iterator[Problem]:
        for code in self._ordered():
            yield from self._kept[code]

    def _ordered(self) -> Iterable[str]:
        """Return the codes: errors before warnings, else as they were found."""
        return sorted(self._kept, key=lambda code: CODES[code].severity)

    def lines(self) -> Iterator[str]:
        """Yield the problems as lines, each code with the count of its rest and its mend."""
        for code in self._ordered():
            kept = self._kept[code]
            yield from map(str, kept)
            rest = self.count(code) - len(kept)
            if rest:
                files = [file for name, file in self._count if name == code]
                where = printable(files[0]) if len(files) == 1 else f"{len(files)} files"
                warning = "warning: " if CODES[code].severity == WARNING else ""
                yield f"{warning}{where}: and {rest} more [{code}]"
            yield f"  to mend [{code}]: {CODES[code].mend}"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict, the counts and the problems that were kept, for json."""
        counts = {code: self.count(code) for code in self._kept}
        return {
            "ok": not self.errors,
            "errors": self.errors,
            "warnings": self.warnings,
            "counts": counts,
            "problems": [problem.to_dict() for problem in self],
        }


def show(value: object, width: int = 60) -> str:
    r"""Return a JSON value as it may be printed: on one line, not too long, without control codes.

    Examples
    --------
    >>> print(show("0.5"), show(float("nan")), show("\x1b[31m"), show([1] * 100, width=12))
    "0.5" NaN "\u001b[31m" [1, 1, 1, 1,…
    """
    try:
        text = printable(json.dumps(value, ensure_ascii=False, default=repr))
    except RecursionError:
        text = "brackets that nest too deeply"
    if len(text) <= width:
        return text
    return text[:width] + ('…"' if text.startswith('"') else "…")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` did you mean '...'?``, or nothing where nothing is near.

    Examples
    --------
    >>> nearest("lexicle", ["lexical", "nli"])
    " did you mean 'lexical'?"
    """
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f" did you mean '{near[0]}'?" if near else ""


def printable(text: str) -> str:
    """Return the text with everything that could steer a terminal written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
