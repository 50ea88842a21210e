"""A file's rows as columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

P = "p(Hallucination)"
#: Keys that a submission may have; most repeat the data.
KEYS = ("id", "label", P, "hyp", "src", "tgt", "ref", "task", "model", "labels")
#: The columns by which scores can be sliced.
GROUPS = ("task", "model", "ref")
TEXTS = ("hyp", "src", "tgt")
#: Other spellings of p, in lower case and without punctuation.
_P_SPELLED = (
    *("p", "prob", "probability", "phal", "phall", "probhallucination", "hallucinationprob"),
    *("probabilityhallucination", "probabilityofhallucination", "hallucinationprobability"),
)
_SPELLED = {
    **{re.sub(r"[\W_]", "", key).lower(): key for key in KEYS},
    **dict.fromkeys(_P_SPELLED, P),
}


def key_meant(name: str, own: Collection[str] = ()) -> str | None:
    """Return the key that a name can only mean, in whatever spelling; ``None`` where it is unknown.

    A name like ``score`` may be many things, and is not recognised, unless it is among the ``own``
    keys of an edition, which go first.

    Examples
    --------
    >>> key_meant(" P (hallucination)"), key_meant("prob"), key_meant("ID"), key_meant("score")
    ('p(Hallucination)', 'p(Hallucination)', 'id', None)
    >>> key_meant("UID", ["uid"]), key_meant("Prob", ["uid", "prob"])
    ('uid', 'prob')
    """
    if len(name) >= 100:
        return None
    plain = _without_marks(name)
    return next((key for key in own if _without_marks(key) == plain), _SPELLED.get(plain))


def _without_marks(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


class Role(Enum):
    """The role of a file, which determines the keys that its rows need."""

    PREDICTIONS = "predictions"
    GOLD = "gold"
    DATA = "data"


@dataclass(frozen=True)
class Group:
    """A column of words, as the distinct words and each row's place among them.

    Examples
    --------
    >>> Group.of(["MT", "DM", "MT"])
    Group(words=['DM', 'MT'], place=array([1, 0, 1]))
    """

    words: list[str]
    place: NDArray[np.intp]

    @classmethod
    def of(cls, values: Sequence[Hashable]) -> Group:
        """Return the words of a column, sorted; any other value counts as the empty word."""
        word = {value: value if isinstance(value, str) else "" for value in set(values)}
        words = sorted(set(word.values()))
        number = {word: place for place, word in enumerate(words)}
        place = {value: number[text] for value, text in word.items()}
        return cls(words, np.fromiter(map(place.__getitem__, values), np.intp, len(values)))


@dataclass(eq=False)
class Table:
    """The rows of one file as columns.

    Attributes
    ----------
    file : str
        Name of the file in messages.
    n : int
        The number of rows.
    label : array of int8, shape [n]
        1 for Hallucination, 0 for Not Hallucination, -1 where it is unknown.
    p : array of float, shape [n]
        ``nan`` where it is unknown.
    ids : array of int64 or str, shape [n], or None
        ``None`` where no row has an id.
    has_id : array of bool, shape [n], or None
        Where some rows lack a usable id, which ones have one.
    texts : list of tuple, length [n], or None
        ``(hyp, src, tgt)`` of each row, where they are needed to check the order.
    groups : dict of Group
        Those of ``task``, ``model`` and ``ref`` that the rows have, and further keys to slice by.
    votes : array of int, shape [n, 2], or None
        How many of a row's ``labels`` say Hallucination, and how many there are; ``None`` where no
        row has labels.
    keys : tuple of str
        All keys of the rows, where there are further ones to slice by.
    """

    file: str
    n: int
    label: NDArray[np.int8]
    p: NDArray[np.float64]
    ids: NDArray[Any] | None = None
    has_id: NDArray[np.bool_] | None = None
    texts: Sequence[tuple[str | None, ...]] | None = None
    groups: dict[str, Group] = field(default_factory=dict)
    votes: NDArray[np.intp] | None = None
    keys: tuple[str, ...] = ()

    def digest(self) -> bytes:
        """Return what identifies the annotation: labels and p, in the order of the ids."""
        order = self.order
        label = self.label[order].astype("<i1").tobytes()
        return label + (self.p[order] + 0.0).astype("<f8").tobytes()  # -0.0 becomes 0.0

    @property
    def order(self) -> NDArray[np.intp]:
        """The rows in the order of their ids, or as they are."""
        return np.arange(self.n) if self.ids is None else np.argsort(self.ids, kind="stable")

    @property
    def labelled(self) -> bool:
        """Whether any row has a label and a p."""
        return bool(np.any((self.label >= 0) & ~np.isnan(self.p)))

    @property
    def numbered(self) -> bool:
        """Whether every row has an id and these are consecutive numbers, in whatever order."""
        if self.ids is None or self.has_id is not None or self.ids.dtype.kind != "i":
            return False
        return np.array_equal(np.sort(self.ids), int(self.ids.min()) + np.arange(self.n))

    def id_at(self, row: int) -> int | str | None:
        """Return the id of a row, where it has one."""
        if self.ids is None or (self.has_id is not None and not self.has_id[row]):
            return None
        place: int | str = self.ids[row].item()
        return place
