"""Scores of predictions in a data set's own form."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, ClassVar, TypeVar

from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.registry import Entry, Registry
from shroom.core.version import __version__
from shroom.metrics.intervals import DEFAULT_INTERVALS, NO_INTERVALS, Intervals, estimates
from shroom.scoring.results import flat, records_of
from shroom.scoring.signature import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shroom.core.paths import Source
    from shroom.metrics.intervals import Interval, Scored

R = TypeVar("R")


@dataclass(frozen=True)
class NativeResult:
    """The scores of one part of a data set, such as the answers in one language.

    Attributes
    ----------
    dataset : str
        Its name.
    part : dict of str
        What identifies the part, such as ``{"lang": "DE"}``; empty if there is only one.
    counts : dict of int
        Numbers of what was scored; ``n`` is that of the units, which are resampled.
    scores : dict of float or None
        By metric; ``None`` where it is undefined.
    intervals : dict of tuple or None
        By metric; ``None`` if not requested or undefined.
    slices : dict
        By key and word: counts, scores and intervals of a slice.
    floors : dict
        The scores of trivial systems on the same gold.
    signature : str
        Identifies what was measured, so that only comparable scores are compared.
    """

    dataset: str
    part: dict[str, str]
    counts: dict[str, int]
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]
    slices: dict[str, dict[str, dict[str, Any]]]
    floors: dict[str, dict[str, float | None]]
    signature: str
    split: ClassVar[str] = ""
    in_sample: ClassVar[int] = 0

    @property
    def track(self) -> str:
        """The data set and its part, in the place of a track's name."""
        return " ".join((self.dataset, *self.part.values()))

    @property
    def n(self) -> int:
        """The number of units."""
        return self.counts["n"]

    @property
    def whole(self) -> dict[str, Any]:
        """The scores and their intervals, in the form of a slice."""
        return flat(self.scores, self.intervals)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for json; slices are named ``by_`` what they are by."""
        return {
            "dataset": self.dataset,
            **self.part,
            **self.counts,
            **self.whole,
            **{f"by_{key}": slices for key, slices in self.slices.items()},
            "floors": self.floors,
            "signature": self.signature,
        }


@dataclass(frozen=True)
class NativeScore:
    """The scores of predictions, the warnings, and the settings of the intervals."""

    results: list[NativeResult]
    problems: Problems
    intervals: Intervals
    #: No mean over the results ranks.
    mean: ClassVar[Mapping[str, float | None]] = {}

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each result, each trivial system and each slice."""
        return records_of(self.results)

    @property
    def signature(self) -> str:
        """The signature of all results; parts that differ are joined by ``+``."""
        return joined(result.signature for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json; floats in full, undefined as ``None``."""
        return {
            "signature": self.signature,
            "results": [result.to_dict() for result in self.results],
            **self.intervals.to_dict(),
            "warnings": [problem.sentence for problem in self.problems],
        }


def read_gold(read: Callable[[Problems], R], problems: Problems, *keys: str) -> R:
    """Return the gold as ``read`` reads it, and the problems in it that affect scores.

    ``shroom datasets describe`` reports the others.

    Parameters
    ----------
    read : callable
        Reads the gold, reporting everything odd to the problems that it is given.
    problems : Problems
        Receives errors, rows that were not used, and what is odd at ``keys``.
    *keys : str
        Beginnings of the keys that scores depend on.

    Raises
    ------
    InvalidInput
        With ``problems``, where there are errors.
    """
    of_gold = Problems(limit=None)
    gold = None
    with suppress(InvalidInput):
        gold = read(of_gold)
    for problem in of_gold:
        unusable = problem.severity == ERROR or problem.code == "row-dropped"
        if unusable or (problem.key or "").startswith(keys):
            problems.add(**vars(problem))
    if gold is None:
        raise InvalidInput(problems)
    return gold


def part_of(counts: Mapping[str, int], scored: Scored, how: Intervals) -> dict[str, Any]:
    """Return the counts, scores and intervals of a slice."""
    return {**counts, **flat(*estimates(scored, how))}


def point_scores(scored: Scored) -> dict[str, float | None]:
    """Return scores without intervals, as those of trivial systems are."""
    return {metric.name: metric(statistics) for metric, statistics in scored}


def signature(dataset: str, n: int, gold: Iterable[Any], *more: str) -> str:
    """Return the signature of a score; the gold's part depends on ids and labels alone.

    Parameters
    ----------
    dataset : str
        Its name.
    n : int
        How many units were scored.
    gold : iterable
        For each unit its id and its labels, as plain values; their order does not matter.
    *more : str
        Further parts, such as ``lang:DE``.

    Examples
    --------
    >>> one, two = ("0", [True]), ("1", [False, True])
    >>> signature("felm", 2, [one, two]) == signature("felm", 2, [two, one])
    True
    """
    rows = sorted(json.dumps(row) for row in gold)
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:6]
    parts = (f"v:{__version__}", f"edition:{dataset}", *more, f"n:{n}", f"gold:{digest}")
    return "|".join(("shroom", *parts))


#: Their functions ``score``.
SCORED = Registry("data set", {"felm": Entry("shroom.datasets.felm.scores:score")})


def score(
    name: str,
    predictions: Source,
    gold: Source,
    how: Intervals = DEFAULT_INTERVALS,
) -> NativeScore:
    """Return the scores of predictions in a data set's own form.

    Parameters
    ----------
    name : str
        The data set's.
    predictions, gold : path
        Each a file, a folder or a zip; one of them may be ``"-"`` for a pipe.
    how : Intervals
        How to make intervals.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    ShroomError
        Where the data set has no form of predictions.
    """
    if name not in SCORED:
        raise ShroomError(
            f"{name} has no predictions of a form of its own, as {' and '.join(SCORED)} has; "
            f"'shroom datasets convert {name} {gold} -o gold.json' makes SHROOM's gold of it, "
            f"for submissions in SHROOM's form"
        )
    result: NativeScore = SCORED.load(name)(predictions, gold, how)
    return result


def check(name: str, predictions: Source, gold: Source) -> Problems:
    """Return everything that is wrong with predictions: what this passes, :func:`score` scores."""
    try:
        return score(name, predictions, gold, NO_INTERVALS).problems
    except InvalidInput as error:
        return error.problems
