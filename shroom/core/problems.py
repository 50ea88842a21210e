"""Problems of a submission, and their collection."""

# Only the first problems of each code are stored; the rest are counted.

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Callable, ClassVar, NamedTuple, Union

from shroom.core.printing import counted, nearest, printable, shortened, show
from shroom.core.problem_codes import CODES, ERROR, WARNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["InvalidInput", "Problem", "Problems", "ShroomError", "nearest", "printable", "show"]

#: Reading a file stops after this many errors.
MAX_ERRORS = 100_000


@dataclass(frozen=True)
class Problem:
    """One problem and its place.

    ``index`` counts the items of a file from 0, and ``id`` is the id of the item; both are ``None``
    for problems of a whole file. ``line_number`` is the line of the item in a CSV file, from 1.
    ``found`` may be a function, which is called only if the problem is stored.
    """

    code: str
    file: str
    expected: str
    found: Union[str, Callable[[], str]]
    index: int | None = None
    id: int | str | None = None
    key: str | None = None
    line_number: int | None = None

    @property
    def severity(self) -> str:
        """``"error"`` or ``"warning"``."""
        return CODES[self.code].severity

    @property
    def fix(self) -> str:
        """How to fix it."""
        return CODES[self.code].fix

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, the severity and the fix as plain values."""
        return {**asdict(self), "severity": self.severity, "fix": self.fix}

    @property
    def sentence(self) -> str:
        """The problem as one line, without its severity."""
        return self._sentence("")

    def _sentence(self, count: str) -> str:
        place = self.file
        if self.index is not None:
            place += f": item {self.index}"
            more = [f"id {self.id}"] if self.id is not None else []
            more += [f"line {self.line_number}"] if self.line_number is not None else []
            place += f" ({', '.join(more)})" if more else ""
        if self.key is not None:
            place += f": {self.key}"
        value = f"{self.found}{count}"
        return printable(f"{place}: expected {self.expected}, got {value} [{self.code}]")

    def line(self, count: int = 1, files: int = 1) -> str:
        """Return the line of this problem for ``count`` problems in ``files`` files."""
        of = f" (the first of {count}{f', in {files} files' if files > 1 else ''})"
        warning = "warning: " if self.severity == WARNING else ""
        return warning + self._sentence(of if count > 1 else "")

    def __str__(self) -> str:
        return self.line()


class EachRow(NamedTuple):
    """The problems of many rows of a file with one code; ``at`` creates the problem of a row."""

    rows: NDArray[np.intp]
    at: Callable[[int], Problem]


class ShroomError(Exception):
    """A user's mistake, in full sentences, which the command line prints without a traceback."""


class UnknownName(ShroomError):  # noqa: N818 - as the others
    """An unknown name; the exit code is 2, as for other invalid options."""


class InvalidInput(ShroomError):  # noqa: N818 - it names the problem
    """The input has errors, which are in ``problems``."""

    def __init__(self, problems: Problems):
        super().__init__("\n".join(problems.lines()))
        self.problems = problems


class Stopped(InvalidInput):
    """Reading a file had to stop; the reason is among the problems."""


@dataclass(repr=False)
class Problems:
    r"""The problems of a submission: the first ``limit`` of each code, and all counts.

    Of each code, at most three errors (or one warning) are printed. With ``show_all``, which the
    option ``--all`` sets for the whole process, all problems are stored and printed.

    Examples
    --------
    >>> problems = Problems(limit=1)
    >>> wrong = (Problem("p-number", "a.json", "a number", '"0.5"', index) for index in range(3))
    >>> problems.extend(wrong)
    >>> problems.errors
    3
    >>> print(*problems.lines(), sep="\n")
    a.json: item 0: expected a number, got "0.5" [p-number]
    a.json: 2 more problems [p-number]
      to fix [p-number]: write p as a plain number such as 0.75
    """

    limit: int | None = 20
    _kept: dict[str, list[Problem]] = field(default_factory=dict)
    _count: Counter[tuple[str, str]] = field(default_factory=Counter)
    #: The first line of each item in a CSV file, by file.
    line_numbers: dict[str, Sequence[int]] = field(default_factory=dict)
    _errors: Counter[str] = field(default_factory=Counter)
    show_all: ClassVar[bool] = False

    def extend(self, found: Problems | Iterable[Problem | EachRow]) -> None:
        """Add the problems of a check, or of another collection.

        A problem that is in both collections is counted once.

        Raises
        ------
        Stopped
            If a file has too many errors; ``too-many`` is added.
        """
        if isinstance(found, Problems):
            self._include(found)
            return
        for problem in found:
            if isinstance(problem, Problem):
                self.add(**vars(problem))
                continue
            shown = problem.rows[: self._most].tolist()
            for row in shown:
                self.add(**vars(problem.at(row)))
            if len(problem.rows) > len(shown):
                first = problem.at(int(problem.rows[0]))
                self._count[first.code, first.file] += len(problem.rows) - len(shown)

    def add(
        self, code: str, file: str, expected: str, found: str | Callable[[], str], **place: Any
    ) -> None:
        """Add one problem, given by the fields of :class:`Problem`; see :meth:`extend`."""
        if self._has_room(code):
            index, lines = place.get("index"), self.line_numbers.get(file, ())
            if index is not None and index < len(lines) and place.get("line_number") is None:
                place["line_number"] = lines[index]
            parts = file, expected, found() if callable(found) else found
            short = {name: shortened(value) for name, value in place.items()}
            self._kept.setdefault(code, []).append(Problem(code, *map(shortened, parts), **short))
        self._count[code, file] += 1
        if CODES[code].severity == ERROR:
            self._errors[file] += 1
            if self._errors[file] == MAX_ERRORS:
                expected = f"fewer than {MAX_ERRORS} errors in a file"
                self.add("too-many", file, expected, "more; the rest of the file was not checked")
                raise Stopped(self)

    @property
    def _most(self) -> int | None:
        """The maximum number of stored problems per code."""
        return None if self.show_all else self.limit

    def _has_room(self, code: str) -> bool:
        """Return whether another problem of a code can be stored."""
        return self._most is None or len(self._kept.get(code, ())) < self._most

    def _include(self, other: Problems) -> None:
        for code, problems in other._kept.items():
            own = self._kept.setdefault(code, [])
            for problem in problems:
                if problem not in own and self._has_room(code):
                    own.append(problem)
        self._count |= other._count  # the larger count of each place
        self.line_numbers.update(other.line_numbers)

    def replaced(self, change: Callable[[Problem], Problem | None]) -> Problems:
        """Return the problems changed by ``change``, which drops a problem by ``None``."""
        changed = {code: [*filter(None, map(change, own))] for code, own in self._kept.items()}
        kept = {code: problems for code, problems in changed.items() if problems}
        counts = Counter({place: n for place, n in self._count.items() if place[0] in kept})
        return replace(self, _kept=kept, _count=counts)

    def count(self, code: str, file: str | None = None) -> int:
        """Return the number of problems with this code, in one file or in all files."""
        counts = self._count.items()
        return sum(n for (own, place), n in counts if own == code and file in (None, place))

    @property
    def codes(self) -> set[str]:
        """The codes of all problems."""
        return set(self._kept)

    @property
    def errors(self) -> int:
        """The number of errors."""
        return self._total(ERROR)

    @property
    def warnings(self) -> int:
        """The number of warnings."""
        return self._total(WARNING)

    def _total(self, severity: str) -> int:
        return sum(n for (code, _), n in self._count.items() if CODES[code].severity == severity)

    def __iter__(self) -> Iterator[Problem]:
        for code in self._ordered():
            yield from self._kept[code]

    def _ordered(self) -> Iterable[str]:
        """Return the codes, errors before warnings."""
        return sorted(self._kept, key=lambda code: CODES[code].severity)

    def lines(self) -> Iterator[str]:
        """Yield the problems as lines; each code ends with the count of the rest, and the fix.

        The warnings of a code share one line, with the first place and their number.
        """
        for code in self._ordered():
            problems, count = self._shown(code), self.count(code)
            files = [file for own, file in self._count if own == code]
            if CODES[code].severity == WARNING and not self.show_all:
                yield problems[0].line(count, len(files))
            else:
                yield from map(str, problems)
                if count > len(problems):
                    place = printable(*files) if len(files) == 1 else f"{len(files)} files"
                    warning = "warning: " if CODES[code].severity == WARNING else ""
                    rest = counted(count - len(problems), "more problem")
                    yield f"{warning}{place}: {rest} [{code}]"
            yield f"  to fix [{code}]: {CODES[code].fix}"

    def _shown(self, code: str) -> list[Problem]:
        """Return the problems of a code that are printed."""
        most = None if self.show_all else 3 if CODES[code].severity == ERROR else 1
        return self._kept[code][:most]

    @property
    def unshown(self) -> int:
        """The number of warnings that :meth:`lines` does not print."""
        codes = [code for code in self._kept if CODES[code].severity == WARNING]
        return sum(self.count(code) - len(self._shown(code)) for code in codes)

    def verdict(self, valid: str) -> str:
        """Return whether the input is valid, in one line with its content and the counts."""
        counts = f"{counted(self.errors, 'error')}, {counted(self.warnings, 'warning')}"
        return f"not valid: {counts}" if self.errors else f"valid: {valid}; {counts}"

    def __repr__(self) -> str:
        counts = ", ".join(f"{code} {self.count(code)}" for code in self._ordered())
        return f"Problems(errors: {self.errors}, warnings: {self.warnings}; {counts or 'none'})"

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and the stored problems as plain values, for JSON."""
        return {
            "ok": not self.errors,
            "errors": self.errors,
            "warnings": self.warnings,
            "counts": {code: self.count(code) for code in self._kept},
            "problems": [problem.to_dict() for problem in self],
        }
