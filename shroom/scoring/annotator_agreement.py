"""The agreement of the annotators of a gold, and the scores of one annotator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.metrics.agreement import AGREEMENT, MISSING, Votes
from shroom.metrics.correlation import RHO, levels
from shroom.metrics.human_ceiling import CEILING
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.display.text import confidence, doubts, figure, how_made, in_words, within
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.in_memory import Data, as_source
from shroom.scoring.result import Plain, Result, joined, signature
from shroom.scoring.rows import Group
from shroom.scoring.tables import Estimate, Row, Table
from shroom.scoring.votes import Voted, estimated, read_votes

_FIGURES = {**AGREEMENT, **CEILING}
_OF_ALL = (*AGREEMENT, "binary_p_ceiling")
#: The columns of both tables (the second has one annotator's scores), and those with intervals.
_COLUMNS = {
    "krippendorff_alpha": "alpha",
    "fleiss_kappa": "kappa",
    "pairwise_agreement": "pairwise",
    "unanimous": "unanimous",
    "human_accuracy": "human accuracy",
    "human_rho": "human rho",
    "human_label_accuracy": "against label",
    "binary_p_ceiling": "label as p",
}
_ENDS = ("krippendorff_alpha", "human_accuracy", "human_rho", "binary_p_ceiling")
_LEGEND = (
    (
        "human accuracy and rho: the mean over annotators, each compared with the others (a tie "
        "counts as 1/2)"
    ),
    "against label: one annotator against the majority of all annotators (that annotator included)",
    (
        "label as p: rho if the gold label is used as p; compare it with systems whose p is "
        "always 0 or 1"
    ),
)


@dataclass(frozen=True)
class Figures(Plain):
    """The figures of one gold, or of one task in it."""

    n: int
    #: The largest number of votes on one item.
    annotators: int
    #: The figures of all annotators together, and those of one annotator.
    agreement: Mapping[str, Estimate]
    human_ceiling: Mapping[str, Estimate]
    #: Why figures are undefined, by their names in JSON.
    undefined: Mapping[str, str]
    keys = ("n", "annotators", "**agreement", "undefined", "human_ceiling")
    columns = ("n", "annotators", "**estimates")

    def __repr__(self) -> str:
        return f"Figures({self.n} items, alpha {self.estimates['krippendorff_alpha']})"

    def __getitem__(self, name: str) -> Estimate:
        """Return a figure by its name."""
        return self.estimates[name]

    @property
    def estimates(self) -> dict[str, Estimate]:
        """All figures by name."""
        human = {f"human_{name}": one for name, one in self.human_ceiling.items()}
        return {**self.agreement, **human}


@dataclass(frozen=True)
class GoldAgreement(Plain):
    """The agreement of one gold file, as a whole and by task."""

    file: str
    split: str
    track: str
    whole: Figures
    by_task: dict[str, Figures]
    signature: str
    keys = ("file", "split", "track", "**whole", "by_task", "signature")
    columns = keys[:3]

    def __repr__(self) -> str:
        return f"GoldAgreement({self.title}: {self.whole!r})"

    @property
    def title(self) -> str:
        """The split and track, or the file's name if it has no split."""
        return f"{self.split} {self.track}".rstrip() if self.split else self.file

    @property
    def parts(self) -> dict[str, Figures]:
        """The figures of all items together (these have no name) and of each task."""
        return {"": self.whole, **{f"task {task}": it for task, it in self.by_task.items()}}


@dataclass(frozen=True, repr=False)
class Agreement(Result):
    """The agreement of all files of a gold, how the intervals were made, and the warnings."""

    results: list[GoldAgreement]
    intervals: Intervals
    warnings: list[str] = field(default_factory=list)
    keys = ("**only", "signature", "results", "**intervals", "warnings")

    def __repr__(self) -> str:
        alphas = (f"{it.title}: alpha {it.whole['krippendorff_alpha']}" for it in self.results)
        return f"Agreement({'; '.join(alphas)})"

    @property
    def verdict(self) -> str:
        """Whether the annotators agree beyond chance, and what one of them would score."""
        several = len(self.results) > 1
        return " ".join(
            f"On {gold.title}, {said[0].lower()}{said[1:]}." if several else f"{said}."
            for gold in self.results
            for said in (self._agreement(gold.whole),)
        )

    def _agreement(self, whole: Figures) -> str:
        alpha, ci = whole["krippendorff_alpha"], whole["krippendorff_alpha"].ci
        human = {name: it.value for name, it in whole.human_ceiling.items()}
        person = [
            f"{figure(human[it])} in {it}" for it in ("accuracy", "rho") if human[it] is not None
        ]
        scores = ""
        if person:
            scores = f". On average, an annotator scores {in_words(person)} against the others"
        if alpha.value is None:
            why = whole.undefined["krippendorff_alpha"]
            return f"Agreement beyond chance is undefined: {why}{scores}"
        which = "The annotators' agreement is"
        if ci is not None:
            which = "The annotators agree more than expected by chance:"
            if ci[0] <= 0:
                which = "There is no evidence of agreement beyond chance:"
        shown = ", ".join(filter(None, (within(ci, self.intervals), "0 is chance, 1 is perfect")))
        return f"{which} alpha {figure(alpha.value)} ({shown}){scores}"

    def tables(self) -> list[Table]:
        """Return the annotators' agreement, one annotator's scores, and the undefined figures."""
        rows, undefined, ends = list[Optional[Row]](), list[str](), list[tuple[str, Any]]()
        for gold in self.results:
            rows.append(None)
            for name, part in gold.parts.items():
                head, place = f"  {name}" if name else gold.title, f"{gold.title} {name}".rstrip()
                cells = (part[it] if it in _ENDS else Estimate(part[it].value) for it in _COLUMNS)
                rows.append((head, part.n, part.annotators, *cells))
                reasons = part.undefined.items()
                undefined += [f"{place}: {it} is undefined: {why}" for it, why in reasons]
                ends += [(f"{place}, {it}", one.ci) for it, one in part.estimates.items()]
        how, ci = self.intervals, confidence(self.intervals)
        heads = ("", "n", "annotators", *_COLUMNS.values())
        notes = [gold.signature for gold in self.results]
        if how.resamples:
            notes += [how_made(how, f"{how.resamples} resamples"), *doubts(ends)]
        scores = [row and (row[0], *row[7:]) for row in rows[1:]]
        return [
            Table(heads=heads[:7], rows=[row and row[:7] for row in rows[1:]], ci=ci),
            Table(heads=("", *heads[7:]), rows=scores, ci=ci),
            Table(notes=[*_LEGEND, *undefined]),
            Table(notes=notes),
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each file as a whole, and a row for each of its tasks."""
        return [
            {**gold.record(), "task": task, **figures.record()}
            for gold in self.results
            for task, figures in (("", gold.whole), *gold.by_task.items())
        ]

    @property
    def signature(self) -> str:
        """The signature of all results; parts that differ are joined by ``+``."""
        return joined(result.signature for result in self.results)

    @property
    def only(self) -> dict[str, Any]:
        """If there is only one result, its values, which JSON repeats at the top level."""
        return self.results[0].to_dict() if len(self.results) == 1 else {}


def agreement(
    gold: Data, intervals: Intervals | None = None, edition: Edition | Source | None = None
) -> Agreement:
    """Return how well the annotators of a gold agree, and how one annotator would score.

    Parameters
    ----------
    gold : path or "-", rows or data frame
        A file, a folder, a zip, a pipe or rows; see :func:`shroom.scoring.votes.read_votes`.
    intervals : Intervals, optional
        Settings of the intervals. Shares have Wilson intervals. All other figures have percentile
        intervals, and ``method`` is ignored.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Raises
    ------
    ShroomError
        If the gold cannot be read or has no votes.

    Examples
    --------
    >>> result = agreement("shroom/sample/val.model-aware.json", Intervals(resamples=0))
    >>> round(result.results[0].whole["pairwise_agreement"].value, 3)
    0.73
    """
    settings = replace(intervals or Intervals(), method="percentile")
    gold = as_source(gold, "gold")
    edition, _ = resolve(edition, gold)
    voted, warnings = read_votes(gold, edition)
    return Agreement([_of_file(file, settings, edition) for file in voted], settings, warnings)


def _of_file(file: Voted, intervals: Intervals, edition: Edition) -> GoldAgreement:
    gold, rows = file.gold, file.judged
    task = gold.groups.get("task", Group([], np.zeros(0, np.intp)))
    by_task = {
        word: _figures(file, chosen, intervals)
        for place, word in enumerate(task.words)
        if word and len(chosen := rows[task.place[rows] == place])
    }
    return GoldAgreement(
        file=file.file,
        split=file.name.split,
        track=file.name.track,
        whole=_figures(file, rows, intervals),
        by_task=by_task,
        signature=signature(file.name.track, gold, "order" if gold.ids is None else "id", edition),
    )


def _figures(file: Voted, rows: NDArray[np.intp], intervals: Intervals) -> Figures:
    votes, label, p = file.votes[rows], file.gold.label[rows], file.gold.p[rows]
    found = estimated(_FIGURES, votes, intervals)
    # The same seed and number of items give the same draws.
    of_label = replace(RHO, influence=None), np.column_stack((levels(label), levels(p)))
    scores, ends = estimates([of_label], intervals)
    found["binary_p_ceiling"] = Estimate(scores["rho"], ends["rho"])
    reasons = _reasons(votes)
    return Figures(
        n=len(rows),
        annotators=int((votes != MISSING).sum(axis=1).max()),
        agreement={name: found[name] for name in _OF_ALL},
        human_ceiling={name: found[name] for name in CEILING},
        undefined={
            f"human_ceiling.{name}" if name in CEILING else name: reasons[name]
            for name in (*_OF_ALL, *CEILING)
            if found[name].value is None
        },
    )


def _reasons(votes: Votes) -> dict[str, str]:
    """Return the reason why each figure would be undefined."""
    number = (votes != MISSING).sum(axis=1)
    least, most = int(number.min()), int(number.max())
    same = "all votes are the same, so no disagreement is expected by chance"
    alone = "no item has two votes"
    chance = alone if most < 2 else same
    uneven = f"items have {least} to {most} votes, but kappa requires equal numbers of votes"
    constant = "for each annotator, their own votes or the votes of the others are constant"
    return {
        **dict.fromkeys(_FIGURES, alone),
        "krippendorff_alpha": chance,
        "fleiss_kappa": uneven if least < most else chance,
        "rho": alone if most < 2 else constant,
        "binary_p_ceiling": "all items have the same gold label or the same gold p",
    }
