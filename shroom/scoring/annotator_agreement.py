"""Agreement of the annotators of a gold file, and the score of a human on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from shroom.metrics.agreement import AGREEMENT, MISSING, Share, bootstrap_votes, value_of
from shroom.metrics.bootstrap import bootstrap
from shroom.metrics.correlation import RHO, levels
from shroom.metrics.human_ceiling import CEILING
from shroom.metrics.intervals import FEWEST, Intervals, resampled_interval, wilson_interval
from shroom.scoring.display.text import confidence, doubts, how_made
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import named
from shroom.scoring.in_memory import Data, as_source
from shroom.scoring.result import Result, bounds
from shroom.scoring.signature import joined, signature
from shroom.scoring.table import Group
from shroom.scoring.tables import Estimate, Row, Table
from shroom.scoring.votes import Voted, read_votes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from shroom.core.paths import Source
    from shroom.metrics.agreement import Figure
    from shroom.metrics.bootstrap import Floats

    Votes = NDArray[np.int8]

_FIGURES = {**AGREEMENT, **CEILING}
_AGREEMENT = ("", "n", "annotators", "alpha", "kappa", "pairwise", "unanimous")
_CEILING = ("", "human accuracy", "human rho", "against label", "label as p")
_LEGEND = (
    (
        "human accuracy and rho: one annotator, left out and compared with the others "
        "(a tie counts 1/2)"
    ),
    "against label: one annotator against the majority of all, their own vote included",
    "label as p: rho of the gold's label used as p, the ceiling of a p that is 0 or 1",
)


@dataclass(frozen=True)
class HumanCeiling:
    """The scores of one annotator: compared with the others, or with the label."""

    accuracy: Estimate
    rho: Estimate
    label_accuracy: Estimate


@dataclass(frozen=True)
class Figures:
    """The figures of one gold, or of one task in it.

    Attributes
    ----------
    n : int
        The number of items with votes.
    annotators : int
        The greatest number of votes that an item has.
    krippendorff_alpha, fleiss_kappa, pairwise_agreement, unanimous : Estimate
        See :mod:`shroom.metrics.agreement`.
    human_ceiling : HumanCeiling
        See :mod:`shroom.metrics.human_ceiling`.
    binary_p_ceiling : Estimate
        rho of the gold's label, used as p, with the gold's p: about as far as p of 0 and 1 alone
        can go.
    undefined : dict of str
        Why figures are undefined, by the names that they have in JSON.
    """

    n: int
    annotators: int
    krippendorff_alpha: Estimate
    fleiss_kappa: Estimate
    pairwise_agreement: Estimate
    unanimous: Estimate
    human_ceiling: HumanCeiling
    binary_p_ceiling: Estimate
    undefined: Mapping[str, str]

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The figures by name, those of the human ceiling as ``human_accuracy`` and so on."""
        human = {f"human_{name}": figure for name, figure in vars(self.human_ceiling).items()}
        own = {name: it for name, it in vars(self).items() if isinstance(it, Estimate)}
        return {**own, **human}

    def record(self) -> dict[str, Any]:
        """Return the figures and the ends of their intervals as one row."""
        row: dict[str, Any] = {"n": self.n, "annotators": self.annotators}
        for name, figure in self.estimates.items():
            row |= {name: figure.value, **bounds(name, figure.ci)}
        return row

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: each figure and its ``_ci``, and why some are ``undefined``."""
        own = {name: it for name, it in vars(self).items() if isinstance(it, Estimate)}
        return {
            "n": self.n,
            "annotators": self.annotators,
            **_plain(own),
            "undefined": dict(self.undefined),
            "human_ceiling": _plain(vars(self.human_ceiling)),
        }

    def rows(self, name: str) -> tuple[Row, Row]:
        """Return the cells of the agreement, and those of the human ceiling."""
        shares = (self.fleiss_kappa, self.pairwise_agreement, self.unanimous)
        human = self.human_ceiling
        return (
            (name, self.n, self.annotators, self.krippendorff_alpha, *(it[0] for it in shares)),
            (name, human.accuracy, human.rho, human.label_accuracy[0], self.binary_p_ceiling),
        )


def _plain(figures: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return estimates as values and intervals."""
    values: dict[str, Any] = {}
    for name, figure in figures.items():
        ci = None if figure.ci is None else list(figure.ci)
        values |= {name: figure.value, f"{name}_ci": ci}
    return values


@dataclass(frozen=True)
class GoldAgreement:
    """The agreement of one gold file, whole and by task."""

    file: str
    split: str
    track: str
    whole: Figures
    by_task: dict[str, Figures]
    signature: str

    @property
    def title(self) -> str:
        """Split and track; the file's name where that has no split."""
        return f"{self.split} {self.track}" if self.split else self.file

    @property
    def parts(self) -> dict[str, Figures]:
        """The figures of all items, without a name, and of each task."""
        return {"": self.whole, **{f"task {task}": it for task, it in self.by_task.items()}}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for json."""
        return {
            "file": self.file,
            "split": self.split,
            "track": self.track,
            **self.whole.to_dict(),
            "by_task": {task: figures.to_dict() for task, figures in self.by_task.items()},
            "signature": self.signature,
        }


@dataclass(frozen=True, repr=False)
class Agreement(Result):
    """The agreement of all files of a gold, how the intervals were made, and the warnings."""

    results: list[GoldAgreement]
    intervals: Intervals
    warnings: list[str] = field(default_factory=list)
    panels_by = "shroom.report.result_plots:of_agreement"

    def __repr__(self) -> str:
        alphas = ((gold.title, gold.whole.krippendorff_alpha.value) for gold in self.results)
        parts = (
            f"{title}: alpha {'undefined' if a is None else round(a, 3)}" for title, a in alphas
        )
        return f"Agreement({'; '.join(parts)})"

    def tables(self) -> list[Table]:
        """Return the annotators' agreement, the human ceiling, and what is undefined."""
        agreement, ceiling = list[Optional[Row]](), list[Optional[Row]]()
        undefined, shown = list[str](), list[tuple[str, Any]]()
        for gold in self.results:
            for name, figures in gold.parts.items():
                rows = figures.rows(f"  {name}" if name else gold.title)
                agreement += [rows[0]] if name else [None, rows[0]]
                ceiling += [rows[1]] if name else [None, rows[1]]
                place = f"{gold.title} {name}".rstrip()
                shown += [(f"{place}, {it}", one.ci) for it, one in figures.estimates.items()]
                undefined += [
                    f"{place}: {figure} is undefined: {why}"
                    for figure, why in figures.undefined.items()
                ]
        how, ci = self.intervals, confidence(self.intervals)
        notes = [gold.signature for gold in self.results]
        if how.resamples:
            notes += [how_made(how, f"{how.resamples} resamples"), *doubts(shown)]
        return [
            Table(heads=_AGREEMENT, rows=agreement[1:], ci=ci),
            Table(heads=_CEILING, rows=ceiling[1:], ci=ci),
            Table(notes=[*_LEGEND, *undefined]),
            Table(notes=notes),
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each file, whole and by task."""
        return [
            {"file": gold.file, "split": gold.split, "track": gold.track, "task": task, **of_part}
            for gold in self.results
            for task, figures in (("", gold.whole), *gold.by_task.items())
            for of_part in (figures.record(),)
        ]

    @property
    def signature(self) -> str:
        """The signature of all results; parts that differ are joined by ``+``."""
        return joined(result.signature for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for json; a single result is repeated at the top level."""
        results = [result.to_dict() for result in self.results]
        return {
            **(results[0] if len(results) == 1 else {}),
            "signature": self.signature,
            "results": results,
            **self.intervals.to_dict(),
            "warnings": self.warnings,
        }


def agreement(
    gold: Data,
    intervals: Intervals | None = None,
    edition: Edition | Source | None = None,
) -> Agreement:
    """Return how far the annotators of a gold agree, and what a human would score on it.

    Parameters
    ----------
    gold : path or "-", rows or data frame
        A file, a folder, a zip, a pipe or rows; see :func:`shroom.scoring.votes.read_votes`.
    intervals : Intervals, optional
        Settings of the intervals. Those of figures that are not shares are percentiles of a
        bootstrap over the items, whatever its ``method``.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Raises
    ------
    ShroomError
        If the gold cannot be read or has no votes.

    Examples
    --------
    >>> result = agreement("shroom/sample/val.model-aware.json", Intervals(resamples=0))
    >>> round(result.results[0].whole.pairwise_agreement.value, 3)
    0.73
    """
    settings = replace(intervals or Intervals(), method="percentile")
    gold = as_source(gold, "gold")
    edition = named(edition, gold)
    voted, warnings = read_votes(gold, edition)
    return Agreement([_of_file(file, settings, edition) for file in voted], settings, warnings)


def _of_file(file: Voted, intervals: Intervals, edition: Edition) -> GoldAgreement:
    gold, rows = file.gold, file.judged
    task = gold.groups.get("task", Group([], np.zeros(0, np.intp)))
    by_task = {
        word: chosen
        for place, word in enumerate(task.words)
        if word and len(chosen := rows[task.place[rows] == place])
    }
    return GoldAgreement(
        file=file.file,
        split=file.name.split,
        track=file.name.track,
        whole=_figures(file, rows, intervals),
        by_task={word: _figures(file, chosen, intervals) for word, chosen in by_task.items()},
        signature=signature(file.name.track, gold, "order" if gold.ids is None else "id", edition),
    )


def _figures(file: Voted, rows: NDArray[np.intp], intervals: Intervals) -> Figures:
    votes, label, p = file.votes[rows], file.gold.label[rows], file.gold.p[rows]
    estimates = estimated(_FIGURES, votes, intervals)
    of_label = np.column_stack((levels(label), levels(p)))
    # The same seed and number of items give the same draws.
    count = _resamples(votes, intervals)
    drawn = bootstrap(RHO, of_label, count, intervals.seed) if count else np.empty(0)
    estimates["binary_p_ceiling"] = _estimate(RHO(of_label), drawn, intervals)
    reasons = _reasons(votes)
    undefined = {
        f"human_ceiling.{name}" if name in CEILING else name: reasons[name]
        for name in (*AGREEMENT, "binary_p_ceiling", *CEILING)
        if estimates[name].value is None
    }
    return Figures(
        n=len(rows),
        annotators=int((votes != MISSING).sum(axis=1).max()),
        human_ceiling=HumanCeiling(**{name: estimates.pop(name) for name in CEILING}),
        undefined=undefined,
        **estimates,
    )


def estimated(
    figures: Mapping[str, Figure], votes: Votes, intervals: Intervals
) -> dict[str, Estimate]:
    """Return figures of votes, each with its interval: of items, not of votes."""
    drawn = bootstrap_votes(figures, votes, _resamples(votes, intervals), intervals.seed)
    estimates = {}
    for name, figure in figures.items():
        value = value_of(figure, votes)
        parts = np.column_stack(figure.parts(votes)) if isinstance(figure, Share) else None
        defined = None if np.isnan(value) else value
        estimates[name] = _estimate(defined, drawn[name], intervals, parts)
    return estimates


def _resamples(votes: Votes, intervals: Intervals) -> int:
    return intervals.resamples if len(votes) >= FEWEST else 0


def _estimate(
    value: float | None, drawn: Floats, intervals: Intervals, parts: Floats | None = None
) -> Estimate:
    if value is None or not len(drawn):
        return Estimate(value)
    if parts is None:
        return Estimate(value, resampled_interval(drawn, intervals.confidence))
    return Estimate(value, wilson_interval(parts, intervals.confidence))


def _reasons(votes: Votes) -> dict[str, str]:
    """Return for each figure why it is undefined, should it be so."""
    number = (votes != MISSING).sum(axis=1)
    least, most = int(number.min()), int(number.max())
    same = "all votes are the same, so that no disagreement could be expected by chance"
    alone = "no item has two votes"
    chance = alone if most < 2 else same
    uneven = f"items have from {least} to {most} votes, and it needs as many for each"
    constant = "each annotator, or the others, voted the same on all items"
    return {
        **dict.fromkeys(_FIGURES, alone),
        "krippendorff_alpha": chance,
        "fleiss_kappa": uneven if least < most else chance,
        "rho": alone if most < 2 else constant,
        "binary_p_ceiling": "the gold's label or p is the same on all items",
    }
