"""Votes on characters, from the spans that several annotators marked in the same texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shroom.metrics.agreement import MISSING, one
from shroom.metrics.bootstrap import percentile_interval, resamples
from shroom.metrics.span_arrays import Cells, Spans
from shroom.metrics.span_metrics import everything

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.metrics.agreement import Figure
    from shroom.metrics.bootstrap import Interval


@dataclass(frozen=True, eq=False)
class CharacterVotes:
    """How the annotators of n texts voted on their characters.

    Characters of one text on which as many voted and marked alike are one row: the figures of
    agreement do not depend on who voted how.

    Attributes
    ----------
    votes : array of int8, shape [m, k]
        1 for marked, 0 for not marked, -1 where there is no vote.
    text : array of int, shape [m]
        Which text the characters of a row are of, in [0, n).
    size : array, shape [m]
        How many characters they are.
    n : int
        How many texts there are.
    """

    votes: NDArray[np.int8]
    text: NDArray[np.int64]
    size: NDArray[np.float64]
    n: int

    @classmethod
    def of(
        cls, sides: Sequence[Spans], annotators: Sequence[int] | NDArray[np.int64]
    ) -> CharacterVotes:
        """Return the votes of spans.

        Parameters
        ----------
        sides : sequence of k Spans
            What the first annotator of each text marked, the second one, and so on.
        annotators : n integers
            How many each text has, up to k.

        Examples
        --------
        >>> sides = [Spans.of([[(0, 2)]], [5]), Spans.of([[(0, 3)]], [5])]
        >>> found = CharacterVotes.of(sides, [2])
        >>> found.votes.tolist(), found.size.tolist()
        ([[0, 0], [0, 1], [1, 1]], [2.0, 1.0, 2.0])
        """
        within = [side.within() for side in sides]
        lengths = within[0].lengths
        cells = Cells(*within, everything(lengths))
        there = np.asarray(annotators)[cells.text]
        voted = [
            np.where(place < there, cells.marked(side), MISSING)
            for place, side in enumerate(within)
        ]
        rows = np.column_stack((cells.text, np.sort(np.column_stack(voted), axis=1)))
        rows, size = rows[cells.length > 0], cells.length[cells.length > 0]
        alike, place = np.unique(rows, axis=0, return_inverse=True)
        sizes = np.bincount(place.ravel(), size, len(alike)).astype(np.float64)
        return cls(alike[:, 1:].astype(np.int8), alike[:, 0], sizes, len(lengths))

    def figure(self, figure: Figure) -> float | None:
        """Return a figure of agreement in which every character is an item."""
        value = one(figure, self.votes, self.size)
        return None if np.isnan(value) else value

    def interval(self, figure: Figure, count: int, seed: int, confidence: float) -> Interval | None:
        """Return its percentile interval over resamples of whole texts."""
        if not count or self.n < 2 or self.figure(figure) is None:
            return None
        drawn = [
            figure(self.votes, weights[:, self.text] * self.size)
            for weights in resamples(self.n, count, seed)
        ]
        return percentile_interval(np.concatenate(drawn), confidence)
