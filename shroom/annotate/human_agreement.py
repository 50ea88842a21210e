"""Human judgements of generations, and how well scores and rankings agree with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct, field, structs
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.datasets import records
from shroom.datasets.collection import Report
from shroom.datasets.dreamcatcher import Generation, Question, datapoints
from shroom.datasets.fields import Rule
from shroom.datasets.records import Form
from shroom.learners.folds import Places, out_of_fold
from shroom.metrics.classification import ACCURACY, COHEN_KAPPA
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.correlation import RHO
from shroom.metrics.discrimination import AUROC
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.scoring.display.text import doubts, figure, how_made, within
from shroom.scoring.result import Result, Scored
from shroom.scoring.rows import P
from shroom.scoring.tables import Estimate, Row, Table, score_cells

#: p(Hallucination) by question and text.
Judgements = Mapping[tuple[str, str], float]

#: The p of a label.
LABELS = {"Hallucination": 1.0, "Not Hallucination": 0.0}
#: Number of folds; thresholds are chosen on the questions of the other folds.
FOLDS = 5
#: The AUROC of a score that has nothing to do with the judgements.
CHANCE = 0.5
_METRICS = ("rho", "auroc", "accuracy", "cohen_kappa")


@dataclass(frozen=True)
class Agreement(Scored):
    """How well one score, or the ranker, agrees with people."""

    score: str  # the name of a field, or ``category``
    n: int
    # ``right`` if more of the score is better, ``wrong`` if it is worse, by its rho.
    direction: str
    # Accuracy and kappa are at a threshold chosen out of fold; intervals are by question.
    estimates: dict[str, Estimate]
    keys = ("score", "n", "direction", "**estimates")


@dataclass(frozen=True, repr=False)
class Agreements(Result):
    """How well each score and the ranker agree with people."""

    scores: list[Agreement]  # one for each field, then ``category`` if there is one
    judged: int
    wrong: int
    unknown: int
    how: Intervals  # how intervals were made
    keys = ("scores", "judged", "wrong", "unknown", "**how")

    @property
    def verdict(self) -> str:
        """Which scores agree with people better than chance, and which one does best."""
        lows = {it.score: ci[0] for it in self.scores if (ci := it.intervals.get("auroc"))}
        if not lows:
            return "The agreement with people cannot be judged: no AUROC has a confidence interval."
        n, above = len(lows), sum(low > CHANCE for low in lows.values())
        measured = (it for it in self.scores if it.score in lows)
        # Of those that agree, if any does.
        best = max(measured, key=lambda it: (lows[it.score] > CHANCE, it.scores["auroc"] or 0.0))
        agree = f"{counted(n, 'score')} {'agrees' if above == 1 else 'agree'}"
        many = f" No correction is made for {n} comparisons." if n > 1 else ""
        return (
            f"{above} of {agree} with people significantly better than chance. The best score, "
            f"{best.score}, has an AUROC of {figure(best.scores['auroc'])} "
            f"({within(best.intervals['auroc'], self.how)}) on {counted(best.n, 'generation')}."
            f"{many}"
        )

    def tables(self) -> list[Table]:
        """Return how well each score agrees with people, and how to read the table."""
        rows: list[Row] = [
            (row.score, row.n, row.direction, *(row.estimates.get(it) for it in _METRICS))
            for row in self.scores
        ]
        majority = max(self.wrong, self.judged - self.wrong) / max(self.judged, 1)
        are = "is" if self.wrong == 1 else "are"
        wrong = f"{self.wrong} of {counted(self.judged, 'judged generation')} {are} wrong"
        notes = [
            f"{wrong}, so the accuracy of the majority label is {majority:.3f}",
            "the thresholds for accuracy and kappa are cross-validated by question",
        ]
        if self.how.resamples:
            made = how_made(self.how, f"{self.how.resamples} resamples of questions")
            notes.append(f"{100 * self.how.confidence:.12g}% {made}")
            notes += doubts(
                (f"{row.score}, {it}", cell.ci)
                for row in self.scores
                for it, cell in row.estimates.items()
            )
        if self.unknown:
            notes.append(f"judgements without a matching generation: {self.unknown}")
        return [Table(heads=("", "n", "higher is", *_METRICS), rows=rows), Table(notes=notes)]


class Judgement(Struct, frozen=True):
    """A human judgement of a generation as in SHROOM: p(Hallucination), or a label."""

    question: str
    text: str
    label: Any = None
    p: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Rule(code="p-range", expected="a number (in [0, 1])"),
    ] = field(name=P, default=None)


def _check(judgement: Judgement, report: Report) -> None:
    if judgement.p is None and judgement.label not in list(LABELS):
        report.add("label-value", "label", " or ".join(f'"{label}"' for label in LABELS))


_KEY = ("question", "text")
FORM = Form({"": Judgement}, check=_check, same=attrgetter(*_KEY))


def read_judgements(*paths: Source, problems: Problems | None = None) -> Judgements:
    """Return human judgements of generations."""
    problems = Problems() if problems is None else problems
    collection = records.read("judgements", FORM, *paths, problems=problems)
    if collection.dropped:  # rows that are not judgements are reported as warnings
        raise InvalidInput(problems)
    rows = collection.records
    p = [LABELS[row.label] if row.p is None else row.p for row in rows]
    # The first of repeated judgements counts.
    return dict(zip(map(attrgetter(*_KEY), reversed(rows)), reversed(p)))


def agreement(
    questions: Sequence[Question], judgements: Judgements, how: Intervals = DEFAULT_INTERVALS
) -> Agreements:
    """Return how well scores and categories agree with judgements."""
    places = judged(questions, judgements)
    texts = [(questions[row].question, questions[row].generation[it].text) for row, it in places]
    p, unit = np.array([judgements[it] for it in texts]), np.array([row for row, _ in places])
    columns: dict[str, NDArray[np.float64]] = {}
    for n, (row, place) in enumerate(places):
        for name, value in scores_in(questions[row].generation[place]).items():
            columns.setdefault(name, np.full(len(places), np.nan))[n] = value
    if any(question.category is not None for question in questions):
        points = [datapoints([question], refusals=True) for question in questions]
        # By categories and rankings; None becomes nan.
        columns["category"] = np.array([points[row][place].p for row, place in places], float)
    scores = []
    for name, values in columns.items():
        if len(there := np.flatnonzero(~np.isnan(values))):
            scores.append(_agreement(name, values[there], p[there], unit[there], how))
    unknown = len(judgements) - len(set(texts))
    return Agreements(scores, len(places), int((p > 0.5).sum()), unknown, how)


def scores_in(generation: Generation) -> dict[str, float]:
    """Return the fields of a generation that are numbers."""
    return {
        name: value
        for name, value in (*structs.asdict(generation).items(), *generation.extra.items())
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def judged(questions: Sequence[Question], judgements: Judgements) -> list[tuple[int, int]]:
    """Return the places of the judged generations: ``(question, generation)``."""
    places = [
        (row, place)
        for row, question in enumerate(questions)
        for place, generation in enumerate(question.generation)
        if (question.question, generation.text) in judgements
    ]
    if not places:
        raise ShroomError(
            "no judgement has the same question and text as a generation; check that the two "
            "files belong together"
        )
    return places


def _agreement(
    name: str, values: NDArray[Any], p: NDArray[Any], row: NDArray[Any], how: Intervals
) -> Agreement:
    unit = np.unique(row, return_inverse=True)[1]
    wrong = p > 0.5
    sign = 1 if (RHO(RHO.statistics(wrong, values, wrong, p)) or 0) >= 0 else -1
    flagged, metrics = wrong, [RHO, AUROC]
    if name == "category" or unit.any():  # thresholds are chosen on other questions
        flagged = values > 0.5 if name == "category" else _flagged(values, wrong, unit % FOLDS)
        metrics += [ACCURACY, COHEN_KAPPA]
    scored = [
        clustered(metric, metric.statistics(flagged, sign * values, wrong, p), unit)
        for metric in metrics
    ]
    direction = "wrong" if sign > 0 else "right"
    cells = score_cells(*estimates(scored, how))
    return Agreement(name, len(p), direction, cells)


def _flagged(
    values: NDArray[Any], wrong: NDArray[np.bool_], fold: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return labels by the most accurate threshold on the other folds."""
    from sklearn.model_selection import PredefinedSplit

    def predict(train: Places, test: Places) -> list[bool]:
        distinct, place = np.unique(values[train], return_inverse=True)
        limits = np.append((distinct[:-1] + distinct[1:]) / 2, np.inf)
        # The number of right labels for each limit, if values above the limit are flagged.
        gains = np.bincount(place, np.where(wrong[train], -1, 1))
        right = wrong[train].sum() + np.cumsum(gains)
        if right.max() >= len(train) - right.min():
            return list(values[test] > limits[right.argmax()])
        return list(values[test] <= limits[right.argmin()])

    return np.array(out_of_fold(predict, PredefinedSplit(fold).split()))
