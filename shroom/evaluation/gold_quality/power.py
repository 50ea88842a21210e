"""The smallest difference that a test on a gold detects; see shroom.metrics.power."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shroom.evaluation.gold_quality.rows import GoldFile
from shroom.evaluation.gold_quality.sharing import text_of
from shroom.evaluation.gold_quality.votes import (
    annotators_of,
    item_votes,
    probabilities,
    soft_spans,
)
from shroom.metrics import power
from shroom.metrics.agreement import MISSING, counted
from shroom.metrics.paired_tests import detectable_difference
from shroom.metrics.span_arrays import Spans
from shroom.metrics.span_metrics import iou, rho
from shroom.scoring.rows import P
from shroom.scoring.tables import Estimate, Row

#: The assumptions on how two systems differ.
AS_ANNOTATORS = "the systems differ as much as two annotators do"
_AS_ASSUMED = f"the systems differ on {power.DIFFER:.0%} of the items"


@dataclass(frozen=True)
class Detectable:
    """The smallest difference in one metric that a test at 5% detects in 4 of 5 cases."""

    metric: str
    n: int
    assumption: str
    difference: float | None
    ideal: float | None = None
    differ: float | None = None
    undefined: str = ""

    @property
    def row(self) -> Row:
        differ = "" if self.differ is None else f"{self.differ:.0%}"
        return (self.metric, Estimate(self.difference), Estimate(self.ideal), differ)

    def at(self, differ: float) -> float | None:
        """Return the difference if the systems differ on another share of the items."""
        if self.difference is None or not self.differ:
            return None
        return self.difference * math.sqrt(differ / self.differ)


def detectable(file: GoldFile) -> list[Detectable]:
    return list(_BY_KIND[file.kind](file))


def _of(
    metric: str,
    n: int,
    spread: float,
    assumption: str,
    *,
    why: str,
    factor: float | None = None,
    differ: float | None = None,
) -> Detectable:
    if spread == 0:
        why = "the annotators never differ, so nothing is known about how systems differ"
    if spread == 0 or not math.isfinite(spread):
        return Detectable(metric, n, assumption, None, undefined=why)
    least = detectable_difference(spread)
    ideal = least / factor if factor is not None and factor > 0 else None
    return Detectable(metric, n, assumption, least, ideal, differ)


def _binary(file: GoldFile) -> Iterator[Detectable]:
    labelled = np.array([row.get("label") is not None for row in file.rows])
    n, votes = int(labelled.sum()), item_votes(file)
    keys = {key: file.edition.item.key(key) for key in ("label", P)}
    why = "no item has two votes" if n else f"no item has a {keys['label']}"
    if votes is None:
        spread = power.spread_of_accuracy(n)
        yield _of("accuracy", n, spread, _AS_ASSUMED, why=why, differ=power.DIFFER)
        return
    cast, p = votes.votes[labelled], probabilities(file)[labelled]
    total, yes = counted(cast)
    noise = power.noise(yes, total)
    spread = power.spread_by_annotators(np.where(cast == MISSING, math.nan, cast))
    factors = (None, None) if noise is None else (noise.of_accuracy, noise.of_rho)
    differ = spread**2 * n
    yield _of("accuracy", n, spread, AS_ANNOTATORS, why=why, factor=factors[0], differ=differ)
    spread = power.spread_of_rho(cast, p)
    why = "rho is undefined for all pairs of annotators"
    if np.isnan(p).all():
        why = f"no item has both {keys['label']} and {keys[P]}"
    yield _of("rho", n, spread, AS_ANNOTATORS, factor=factors[1], why=why)


def _aspects(file: GoldFile) -> Iterator[Detectable]:
    for aspect in file.edition.annotation.aspects:
        answers = [row.get(aspect.key) for row in file.rows]
        yes, no = answers.count(aspect.yes), answers.count(aspect.no)
        spread = power.spread_of_macro_f1(yes, no)
        assumption = f"{_AS_ASSUMED} and mislabel {power.WRONG:.0%} of each class"
        why = f"{aspect.key} has only one class"
        name = f"{aspect.name}_f1"
        yield _of(name, yes + no, spread, assumption, differ=power.DIFFER, why=why)


def _spans(file: GoldFile) -> Iterator[Detectable]:
    n = int(file.annotated.sum())
    lengths = [len(text_of(row, "hyp")) for row in file.rows]
    soft = [soft_spans(row) for row in file.rows]
    hard = [[span for span in spans if span[2] > 0.5] for spans in soft]
    people = [[*annotators_of(row, file.kind).values()] for row in file.rows]
    number = np.array([*map(len, people)])
    why = "no text has spans from two annotators"
    for metric, value, marked in (("iou", iou, hard), ("rho", rho, soft)):
        gold = Spans.of(marked, lengths)
        values = np.full((len(people), max(number.max(), 1)), math.nan)
        for place in range(number.max()):  # the first annotator of each text, the second one, …
            side = Spans.of([own[place] if place < len(own) else [] for own in people], lengths)
            values[:, place] = np.where(number > place, value(side, gold), math.nan)
        yield _of(metric, n, power.spread_by_annotators(values), AS_ANNOTATORS, why=why)


def _labelled_spans(file: GoldFile) -> Iterator[Detectable]:
    n, votes = int(file.annotated.sum()), item_votes(file)
    why = "the annotators' spans have no offsets, so an annotator cannot be scored like a system"
    for metric in ("cor", "cor_lbl", "iou"):
        yield _of(metric, n, math.nan, AS_ANNOTATORS, why=why)
    spread = math.nan
    if votes is not None:
        spread = power.spread_by_annotators(np.where(votes.votes == MISSING, math.nan, votes.votes))
    why = "no text has two annotators"
    yield _of("detection_accuracy", n, spread, AS_ANNOTATORS, differ=spread**2 * n, why=why)


_BY_KIND = {
    "binary": _binary,
    "aspects": _aspects,
    "spans": _spans,
    "labelled-spans": _labelled_spans,
}
