"""Datapoints as pairs of premise and hypothesis, and long premises as windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Callable, Generic, Literal, TypeVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, premises
from shroom.detectors.cross_encoder.encoding import Encoding
from shroom.inference.text_windows import beginning, windows
from shroom.inference.tokenization import PairReader, plain

Item = TypeVar("Item", bound="tuple[Any, ...]")

#: The settings for reading long premises: see :class:`Windows`.
Aggregate = Literal["max", "mean", "first"]
Overlap = Annotated[int, Meta(ge=0, le=100)]
#: The ways to aggregate the values of a premise's windows, with the words for a note.
AGGREGATES = {
    "max": "p comes from the window that best supports the hypothesis",
    "mean": "p is the mean over the windows",
    "first": "the end of the premise was not read",
}
#: Minimum share of a model's input for the premise, however long the hypothesis is.
_PREMISE_SHARE = 1 / 4


@dataclass(frozen=True)
class Pairs:
    """The pairs (task, premise, hypothesis), and the index of the datapoint of each."""

    items: list[tuple[str, str, str]]
    owner: NDArray[np.intp]
    n: int

    @classmethod
    def of(
        cls,
        datapoints: Sequence[Datapoint],
        premises: Callable[[Datapoint], Sequence[str]] = premises,
    ) -> Pairs:
        """Return the pairs of each datapoint and its premises, in order."""
        items, owner = [], []
        for place, point in enumerate(datapoints):
            for premise in premises(point):
                items.append((point.task.like, premise, point.hyp))
                owner.append(place)
        return cls(items, np.array(owner, np.intp), len(datapoints))

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The pairs without their tasks, as a model can read them."""
        return [(plain(premise), plain(hyp)) for _, premise, hyp in self.items]

    def best(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the lowest p of each datapoint over its premises: shape [n]."""
        least = np.full(self.n, np.inf)
        np.minimum.at(least, self.owner, p)
        return least

    def places_of_best(self, p: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the place of each datapoint's first pair with the lowest p: shape [n]."""
        order = np.lexsort((p, self.owner))
        return np.asarray(order[np.searchsorted(self.owner[order], np.arange(self.n))])


@dataclass(frozen=True)
class Windows:
    """How to read a long premise, and how many sentences neighbouring windows share."""

    aggregate: str = "max"
    overlap: int = 1

    @property
    def cut(self) -> bool:
        """Whether a long premise is truncated instead of split."""
        return self.aggregate == "first"

    def folded(self, p: NDArray[np.float64], read: Windowed[Any]) -> NDArray[np.float64]:
        """Return one value for each pair from the values of its windows."""
        return read.mean(p) if self.aggregate == "mean" else read.least(p)


@dataclass(frozen=True)
class Windowed(Generic[Item]):
    """The inputs of a model: pairs that fit, and the windows of the other pairs."""

    # ``starts`` has the place of each pair's first item; then come numbers: of premises that were
    # split, of their windows, and of hypotheses that were cut.

    items: Sequence[Item]
    starts: NDArray[np.intp]
    split: int
    windows: int
    cut: int

    @classmethod
    def of(
        cls, pairs: Sequence[Item], fits: NDArray[np.bool_], parts: Callable[[Item], list[Item]]
    ) -> Windowed[Item]:
        """Return the items for pairs, with the hypothesis last; ``parts`` splits a pair."""
        if fits.all():
            return cls(pairs, np.arange(len(pairs)), 0, 0, 0)
        windows_of = {pair: parts(pair) for pair, fit in zip(pairs, fits) if not fit}
        by_pair = [windows_of.get(pair, [pair]) for pair in pairs]
        sizes = [len(items) for items in by_pair]
        return cls(
            [item for items in by_pair for item in items],
            np.cumsum([0, *sizes[:-1]], dtype=np.intp)[: len(pairs)],
            sum(size > 1 for size in sizes),
            sum(size for size in sizes if size > 1),
            sum(items[0][-1] != pair[-1] for items, pair in zip(by_pair, pairs)),
        )

    def least(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the least value of each pair's items; for rows, in each column."""
        return np.asarray(np.minimum.reduceat(values, self.starts))

    def greatest(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the greatest value of each pair's items; for rows, in each column."""
        return np.asarray(np.maximum.reduceat(values, self.starts))

    def mean(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean value of each pair's items; for rows, in each column."""
        sizes = np.diff(np.append(self.starts, len(self.items)))
        sums = np.add.reduceat(values, self.starts)
        return np.asarray(sums / sizes.reshape(-1, *[1] * (values.ndim - 1)))

    def notes(self, name: str, room: int, options: Windows) -> list[str]:
        """Return notes on the pairs that did not fit into a model's ``room`` tokens."""
        sentences, total, rule = [], len(self.starts), AGGREGATES[options.aggregate]
        if self.split:
            sentences.append(
                f"{self.split} of {total} premises had to be split into {self.windows} windows, "
                f"because {name} reads at most {room} tokens; {rule}"
            )
        if self.cut:
            sentences.append(
                f"{self.cut} of {total} hypotheses had to be truncated: {name} reads at most "
                f"{room} tokens, and at least a quarter of these tokens are reserved for "
                "the premise"
            )
        return sentences


def parts_of(
    premise: str, hyp: str, reader: PairReader | Encoding, options: Windows, prefix: str = ""
) -> tuple[list[str], str]:
    """Return the windows of a premise, and the hypothesis, truncated if it leaves no room."""
    free = reader.room - reader.special
    needed = reader.count([prefix + premise])[prefix + premise]
    most = free - min(needed, max(1, int(free * _PREMISE_SHARE)))
    if reader.count([hyp])[hyp] > most:
        hyp = beginning(hyp, most, reader.count)
    room = free - reader.count([hyp])[hyp]
    if needed <= room:
        return [premise], hyp
    return windows(premise, room, reader.count, overlap=options.overlap, prefix=prefix), hyp


def best_rows(
    rows: NDArray[np.float64], read: Windowed[Any], options: Windows
) -> NDArray[np.float64]:
    """Return a row (entailment, neutral, contradiction) for each pair from its windows' rows."""
    # A premise entails a hypothesis if one of its windows does. It contradicts the hypothesis if
    # one window does and no other supports it, so C is at most 1 - E. In an unrelated window, E and
    # C are random, so the window with the greatest E could hide a contradiction in another one.
    if not read.split:
        return rows
    if options.aggregate == "mean":
        return read.mean(rows)
    entailment, _, contradiction = read.greatest(rows).T
    contradiction = np.minimum(contradiction, 1 - entailment)
    neutral = np.maximum(1 - entailment - contradiction, 0)
    combined = np.column_stack((entailment, neutral, contradiction))
    single = np.diff(np.append(read.starts, len(read.items))) == 1
    combined[single] = rows[read.starts[single]]
    return combined
