"""The result of a check: the problems and the tracks of a submission."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problem, Problems
from shroom.scoring.align import AlignedPair, Pair
from shroom.scoring.editions.edition import Edition
from shroom.scoring.result import Result
from shroom.scoring.tables import Table

#: The description of a valid submission without any predictions.
NOTHING = "no predictions"


def problem_table(problems: Iterable[Problem], title: str = "") -> Table:
    """Return problems and how to fix them."""
    rows = [(problem.sentence, problem.fix) for problem in problems]
    return Table(title, ("problem", "how to fix it"), rows, left=2)


@dataclass(repr=False)
class Checked(Result):
    """The result of a check: the problems, and the readable tracks.

    Attributes
    ----------
    problems : Problems
        Errors and warnings, with their places.
    tracks : list of Pair
        The predictions, aligned with the gold if there is one.
    edition : Edition
        The shared task by whose rules the submission was checked.
    """

    problems: Problems
    tracks: list[Pair]
    edition: Edition
    keys_of_none = (*(it.name for it in fields(Problem)), "severity", "fix")

    def __repr__(self) -> str:
        return f"Checked({self.verdict})"

    def __bool__(self) -> bool:
        return self.ok

    @property
    def verdict(self) -> str:
        """Whether the submission is valid, its tracks, and the counts of errors and warnings."""
        return self.problems.verdict(", ".join(map(self._described, self.tracks)) or NOTHING)

    def _described(self, track: Pair) -> str:
        """Return a track with its size, and how it was recognised."""
        names = {it.name: it.rows_have for it in self.edition.tracks if it.rows_have}
        key = next(iter(names.values()), "")
        size = counted(track.predictions.n, "item")
        if isinstance(track, AlignedPair) and not track.is_order_shown:
            size += ", aligned by order only"
        if track.name.split or not key:
            return f"{str(track.name) or 'the file'} ({size})"
        if track.name.track not in names and not isinstance(track, AlignedPair):
            return f"the file ({size}; track unknown)"
        which = "each item names" if track.name.track in names else "no item names"
        return f"{track.name} ({size}; track guessed, because {which} a {key})"

    def tables(self) -> list[Table]:
        """Return the stored problems, and how to fix each."""
        return [problem_table(self.problems)]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each stored problem, with its place and how to fix it."""
        return [problem.to_dict() for problem in self.problems]

    def to_dict(self) -> dict[str, Any]:
        """Return the stored problems and all counts as plain values, for JSON."""
        return self.problems.to_dict()

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return not self.problems.errors

    @property
    def aligned(self) -> list[AlignedPair]:
        """The tracks that are aligned with gold: all of them if there is gold and no errors."""
        return [track for track in self.tracks if isinstance(track, AlignedPair)]

    @property
    def by_order(self) -> list[str]:
        """The files whose alignment neither ids nor texts confirm."""
        return [it.predictions.file for it in self.aligned if not it.is_order_shown]

    def raise_for_errors(self) -> None:
        """Raise :class:`InvalidInput` if there are errors."""
        if not self.ok:
            raise InvalidInput(self.problems)
