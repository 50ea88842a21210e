"""What a probe learns from: questions that a model knows, and such that it does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher.records import ALL_RIGHT, ALL_WRONG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.datasets.dreamcatcher.records import Question


@dataclass(frozen=True)
class Labelled:
    """Distinct questions with labels.

    Attributes
    ----------
    questions : list of str, length n
        Without blanks around them.
    knows : array of bool, shape [n]
        True of those that are all-right, False of all-wrong.
    left_out : dict of int
        How many questions were left out, by why.
    """

    questions: list[str]
    knows: NDArray[np.bool_]
    left_out: dict[str, int]


def labelled(questions: Sequence[Question], least: int) -> Labelled:
    """Return the questions that a probe learns from, by their categories.

    Parameters
    ----------
    questions : sequence of Question
        With categories.
    least : int
        How many of either label there must be.

    Raises
    ------
    ShroomError
        Where there are fewer.

    Examples
    --------
    >>> from shroom.datasets.dreamcatcher.records import Question
    >>> said = [("A?", ALL_RIGHT), ("B?", ALL_WRONG), ("C?", "partial-right"), ("A?", ALL_RIGHT)]
    >>> found = labelled([Question(q, "", None, (), category) for q, category in said], least=1)
    >>> found.questions, found.knows.tolist(), found.left_out
    (['A?', 'B?'], [True, False], {'partial-right': 1, 'doubled': 1})
    """
    left_out: Counter[str] = Counter()
    said: dict[str, bool | None] = {}
    for question in questions:
        text, known = question.question.strip(), question.category in (ALL_RIGHT, ALL_WRONG)
        if not text:
            left_out["blank"] += 1
        elif not known:
            left_out[question.category or "without a category"] += 1
        elif text not in said:
            said[text] = question.category == ALL_RIGHT
        elif said[text] == (question.category == ALL_RIGHT):
            left_out["doubled"] += 1
        else:
            said[text] = None
            left_out["doubled with another category"] += 1
    kept = {text: knows for text, knows in said.items() if knows is not None}
    if len(kept) < len(said):
        left_out["doubled with another category"] += len(said) - len(kept)
    found = Labelled(list(kept), np.array(list(kept.values()), bool), dict(left_out))
    right = int(found.knows.sum())
    if min(right, len(kept) - right) < least:
        without = "; " + describe_left_out(left_out) if left_out else ""
        raise ShroomError(
            f"a probe needs at least {least} questions that are all-right and {least} that are "
            f"all-wrong; there are {right} and {len(kept) - right}{without}; 'shroom rank' gives "
            "categories"
        )
    return found


def describe_left_out(left_out: Mapping[str, int]) -> str:
    """Return what was left out, in words.

    Examples
    --------
    >>> describe_left_out({"partial-right": 4, "doubled": 1})
    'left out: 4 partial-right, 1 doubled'
    """
    return "left out: " + ", ".join(f"{n} {why}" for why, n in left_out.items())
