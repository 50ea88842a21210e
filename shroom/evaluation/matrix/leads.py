"""Which detector is best on each data set by AUROC, and by how much: the answer of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from shroom.metrics.base import Array, Floats, Metric
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.display.text import UNDEFINED, figure, in_words, within
from shroom.scoring.tables import Estimate

#: The AUROC of a detector that does not look at the texts.
_CHANCE = 0.5
_NONE = Estimate(None)


class Entry(NamedTuple):
    """A detector on a data set: its AUROC, and the metric of units with its statistics."""

    name: str
    auroc: Estimate
    metric: Metric
    statistics: Array


@dataclass(frozen=True)
class Lead:
    """The detectors on a data set with their AUROC, the best first, and the first two's difference.

    The difference is paired. Detectors that were fitted on items of the data set are not ranked.
    """

    dataset: str
    ranked: tuple[tuple[str, Estimate], ...]
    in_sample: tuple[str, ...]
    difference: Estimate = _NONE

    def sentence(self, how: Intervals) -> str:
        """Return the answer for the data set, which claims no more than the intervals show."""
        named = in_words(self.in_sample)
        seen = f"not ranked because of in-sample scores: {named}" if self.in_sample else ""
        if not self.ranked:
            return f"On {self.dataset}, no AUROC can be compared{f' ({seen})' if seen else ''}."
        (best, auroc), *others = self.ranked
        figures = "; ".join(filter(None, (f"AUROC {_shown(auroc, how)}", seen)))
        second = f"{others[0][0]} (difference {_shown(self.difference, how)})" if others else ""
        if auroc.ci is None:
            who = f"{best} is first ({figures})" if second else f"{best} has {figures}"
            answer = f"{who}; without an interval, nothing can be concluded"
        elif auroc.ci[0] <= _CHANCE:
            who = f"{best} is first, but" if second else f"{best} is"
            answer = f"{who} not shown to be better than chance ({figures})"
        elif not second:
            answer = f"{best} is better than chance ({figures})"
        elif self.difference.ci is not None and self.difference.ci[0] > 0:
            answer = f"{best} is best ({figures}), better than {second}"
        else:
            answer = f"{best} is first ({figures}), but not shown to be better than {second}"
        return f"On {self.dataset}, {answer}."


def lead(dataset: str, entries: Sequence[Entry], settings: Intervals) -> Lead:
    """Return the lead of the best of some detectors on a data set."""
    seen = tuple(it.name for it in entries if it.auroc.star)
    fair = [it for it in entries if not it.auroc.star and it.auroc.value is not None]
    fair.sort(key=lambda it: -(it.auroc.value or 0.0))
    ranked = tuple((it.name, it.auroc) for it in fair)
    if len(fair) < 2:
        return Lead(dataset, ranked, seen)
    one, other = fair[0].metric, fair[1].metric
    difference = replace(
        one,
        # The same weights, so that each resample draws the same units for both.
        score=lambda rows, weights: one.score(rows, weights) - other.score(rows, weights),
        influence=_influence(one, other),
        bounds=(-1.0, 1.0),
    )
    values, intervals = estimates([(difference, fair[0].statistics)], settings)
    return Lead(dataset, ranked, seen, Estimate(values[one.name], intervals[one.name]))


def _influence(one: Metric, other: Metric) -> Callable[[Array], Floats] | None:
    first, second = one.influence, other.influence
    if first is None or second is None:
        return None
    return lambda rows: first(rows) - second(rows)


def _shown(it: Estimate, how: Intervals) -> str:
    shown = UNDEFINED if it.value is None else figure(it.value)
    return ", ".join(filter(None, (shown, within(it.ci, how))))
