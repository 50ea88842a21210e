"""Tables of factual consistency by file, model and decoding, and how far repeated judgements agree.

Of the crowd's files every dialogue has a dozen or two of responses, so intervals are resampled by
dialogue. In the expert file no two rows share a dialogue, and that is the same as by row.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.agreement import AGREEMENT, MISSING, one
from shroom.metrics.bootstrap import percentile_interval, resamples
from shroom.metrics.intervals import USUAL, estimates
from shroom.metrics.pooled_ratio import ratio, sums

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from shroom.datasets.factual_consistency.records import Response
    from shroom.metrics.intervals import Interval, Intervals

MEAN_CORRECTNESS = ratio(
    "mean_correctness",
    about="the mean of the correctness of the responses that have one",
    formula="sum of correctness / responses with a correctness in [0, 1]",
)
HALLUCINATED_SHARE = ratio(
    "hallucinated_share",
    higher_is_better=False,
    about="how many of the judged responses have a hallucination",
    formula="Hallucination = Yes / Hallucination = Yes or No",
)
VERIFIABLE_SHARE = ratio(
    "verifiable_share",
    about="how many of the responses can be checked at all",
    formula="Verifiable = y / Verifiable = y or n",
)
#: By what the tables are, one after the other. Files are never pooled: their annotators differ.
GROUPINGS = (
    ("file",),
    ("file", "model_type"),
    ("file", "decoding"),
    ("file", "model_type", "decoding"),
)
_FIGURES = ("krippendorff_alpha", "pairwise_agreement", "unanimous")


@dataclass(frozen=True)
class Consistency:
    """How consistent the responses of one group are.

    Attributes
    ----------
    group : dict of str
        What the group has in common, by field.
    rows, verifiable, judged, hallucinated : int
        How many responses; how many of them can be checked, were judged, were judged Yes.
    dialogues : int
        How many dialogues they belong to, which is what is resampled.
    scores : dict of float or None
        ``mean_correctness``, ``hallucinated_share`` and ``verifiable_share``.
    intervals : dict of tuple or None
        Of each score.
    mean_as_given : float or None
        The mean of the correctness with the values that are out of range.
    """

    group: dict[str, str]
    rows: int
    verifiable: int
    judged: int
    hallucinated: int
    dialogues: int
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]
    mean_as_given: float | None

    @property
    def resampled(self) -> str:
        """``dialogue``, or ``row`` where no two rows share one."""
        return "row" if self.dialogues == self.rows else "dialogue"

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for json; keys of other groups are ``None``."""
        keys = ("file", "model_type", "decoding")
        return {
            **{key: self.group.get(key) for key in keys},
            **self.group,
            "rows": self.rows,
            "verifiable": self.verifiable,
            "judged": self.judged,
            "hallucinated": self.hallucinated,
            "dialogues": self.dialogues,
            "resampled": self.resampled,
            **self.scores,
            "mean_correctness_as_given": self.mean_as_given,
            "interval": {
                name: None if found is None else list(found)
                for name, found in self.intervals.items()
            },
        }


@dataclass(frozen=True)
class Repeats:
    """How far judgements of one and the same response agree.

    The files have the annotators' mean and verdict, not their votes. But different models and
    decodings often said the same to the same dialogue. The source does not say so, but these must
    have been judged anew, as about a fifth of them differ.

    Attributes
    ----------
    file : str
        The file's name without its ending.
    judgement : str
        ``hallucination`` or ``verifiable``.
    items : int
        How many responses were judged more than once.
    judgements : int
        How often they were judged, all together.
    scores : dict of float or None
        ``krippendorff_alpha``, ``pairwise_agreement`` and ``unanimous``.
    intervals : dict of tuple or None
        Of each score, resampled by dialogue.
    """

    file: str
    judgement: str
    items: int
    judgements: int
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for json."""
        return {
            "file": self.file,
            "judgement": self.judgement,
            "items": self.items,
            "judgements": self.judgements,
            **self.scores,
            "interval": {
                name: None if found is None else list(found)
                for name, found in self.intervals.items()
            },
        }


def tables(
    responses: Iterable[Response],
    groupings: Sequence[Sequence[str]] = GROUPINGS,
    how: Intervals = USUAL,
    *,
    verifiable_only: bool = False,
) -> list[Consistency]:
    """Return the tables: a row for each group of each grouping.

    Parameters
    ----------
    responses : iterable of Response
        Of one or more files.
    groupings : sequence of sequences of str
        By which fields; ``()`` for all responses together.
    how : Intervals
        How intervals are made.
    verifiable_only : bool
        Whether correctness and hallucinations count only in rows that are verifiable. In the
        crowd's files that is the same; the experts judged other rows as well.
    """
    rows = list(responses)
    found = []
    for fields in groupings:
        groups: dict[tuple[str, ...], list[Response]] = defaultdict(list)
        for row in rows:
            groups[tuple(str(getattr(row, field)) for field in fields)].append(row)
        for key in sorted(groups):
            group = dict(zip(fields, key))
            found.append(_consistency(group, groups[key], how, verifiable_only=verifiable_only))
    return found


def agreement(responses: Iterable[Response], how: Intervals = USUAL) -> list[Repeats]:
    """Return how far repeated judgements agree, in each file that has any.

    Of each response to a dialogue, given the same knowledge, every model and decoding counts once.
    """
    files: dict[str, list[Response]] = defaultdict(list)
    for row in responses:
        files[row.file].append(row)
    return [
        repeats
        for file, rows in sorted(files.items())
        for judgement in ("hallucination", "verifiable")
        if (repeats := _repeats(file, judgement, rows, how)) is not None
    ]


def _consistency(
    group: dict[str, str], rows: list[Response], how: Intervals, *, verifiable_only: bool
) -> Consistency:
    counted = np.array([row.verifiable is True or not verifiable_only for row in rows])
    correctness = _column([row.correctness for row in rows], counted)
    given = _column([row.given_correctness for row in rows], counted)
    hallucination = _column([row.hallucination for row in rows], counted)
    verifiable = _column([row.verifiable for row in rows], np.ones(len(rows), bool))
    units = _numbered([row.dialogue for row in rows])
    scored = [
        (metric, sums(_part_and_whole(column), units))
        for metric, column in (
            (MEAN_CORRECTNESS, correctness),
            (HALLUCINATED_SHARE, hallucination),
            (VERIFIABLE_SHARE, verifiable),
        )
    ]
    scores, intervals = estimates(scored, how)
    there = given[~np.isnan(given)]
    return Consistency(
        group,
        rows=len(rows),
        verifiable=int(np.nansum(verifiable)),
        judged=int(np.count_nonzero(~np.isnan(hallucination))),
        hallucinated=int(np.nansum(hallucination)),
        dialogues=len(set(units.tolist())),
        scores=scores,
        intervals=intervals,
        mean_as_given=float(there.mean()) if len(there) else None,
    )


def _column(values: Sequence[float | bool | None], counted: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the values, ``nan`` for none and for what does not count."""
    column = np.array([np.nan if value is None else float(value) for value in values])
    return np.where(counted, column, np.nan)


def _part_and_whole(column: NDArray[Any]) -> NDArray[Any]:
    return np.stack([np.nan_to_num(column), ~np.isnan(column)], axis=1)


def _numbered(names: Sequence[Hashable]) -> NDArray[np.intp]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.intp)


def _repeats(file: str, judgement: str, rows: Sequence[Response], how: Intervals) -> Repeats | None:
    items: dict[tuple[Hashable, str, str], dict[tuple[str, str], int]] = defaultdict(dict)
    for row in rows:
        vote = getattr(row, judgement)
        if vote is not None:
            said = items[row.dialogue, row.knowledge, row.response]
            said.setdefault((row.model_type, row.decoding), int(vote))
    repeated = {item: list(said.values()) for item, said in items.items() if len(said) > 1}
    if not repeated:
        return None
    votes = np.full((len(repeated), max(map(len, repeated.values()))), MISSING, np.int8)
    for row_of_votes, said_of_item in zip(votes, repeated.values()):
        row_of_votes[: len(said_of_item)] = said_of_item
    dialogues = _numbered([item[0] for item in repeated])
    scores: dict[str, float | None] = {}
    intervals: dict[str, Interval | None] = {}
    for name in _FIGURES:
        value = one(AGREEMENT[name], votes)
        scores[name] = None if np.isnan(value) else value
        intervals[name] = None
        if how.resamples and scores[name] is not None and dialogues.max() > 0:
            drawn = resamples(int(dialogues.max()) + 1, how.resamples, how.seed)
            parts = [AGREEMENT[name](votes, weights[:, dialogues]) for weights in drawn]
            intervals[name] = percentile_interval(np.concatenate(parts), how.confidence)
    return Repeats(file, judgement, len(votes), int((votes != MISSING).sum()), scores, intervals)
