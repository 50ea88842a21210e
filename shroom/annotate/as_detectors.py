"""Scorers of generations as detectors: a datapoint is a question with one generation.

The question is the source, the answer the reference, and the generation the hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shroom.annotate.base import SCORERS, Scorer
from shroom.core.datapoint import Datapoint, Rule, premises
from shroom.core.problems import ShroomError
from shroom.core.registry import settings_of
from shroom.datasets.dreamcatcher import NORMAL, Generation, Question
from shroom.detectors.base import Detector
from shroom.detectors.pairs import Pairs
from shroom.detectors.settings import File, Name, Share, Text
from shroom.inference import hub
from shroom.inference.run_settings import RUN, Run
from shroom.learners.logistic import sigmoid

Values = NDArray[np.float64]


class ScorerDetector(Detector):
    """p(Hallucination) from a score that is higher for better texts."""

    scorer: Scorer
    field: ClassVar[str]  # the field of the scorer that p is computed from

    def __post_init__(self) -> None:
        super().__post_init__()
        names = settings_of(SCORERS.load(self.name))
        given = {name: value for name, value in self.settings().items() if name in names}
        self.scorer = SCORERS.make(self.name, **given)

    def settings(self) -> dict[str, Any]:
        """Return the settings, some of which are those of the scorer."""
        return self.get_params()

    def p(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Values:
        if not datapoints:
            return np.empty(0)
        pairs = Pairs.of(datapoints, self.premises)
        owners = [datapoints[place] for place in pairs.owner.tolist()]
        items = []
        for point, (_, premise, _) in zip(owners, pairs.items):
            question, *_ = premises(point, rule=Rule.SRC)
            asked = Question(question, premise, None, (Generation(point.hyp, NORMAL),))
            items.append(self.scorer.item(asked, 0))
        scores_of = dict(self.scorer.score(list(dict.fromkeys(items)), run))
        values = []
        for point, item in zip(owners, items):
            scores = scores_of[item]
            if isinstance(scores, ShroomError):
                raise ShroomError(f"{self.name}: datapoint {point.name}: {scores}")
            values.append(scores[self.field])
        return pairs.best(self.p_from(np.array(values)))

    def p_from(self, scores: Values) -> Values:
        """Return p(Hallucination) from scores in [0, 1]: 1 minus the score."""
        return np.asarray(1 - np.clip(scores, 0.0, 1.0))

    @property
    def identity(self) -> str:
        return self.scorer.identity


@dataclass(eq=False, repr=False)
class Unigram(ScorerDetector):
    """p = 1 - the share of the reference's words that the hypothesis contains."""

    name: ClassVar[str] = "unigram"
    field: ClassVar[str] = "unigram_overlap_with_answer_score"
    language: str = "auto"  # as for :class:`shroom.annotate.scorers.unigram.Unigram`
    reference: Rule = Rule.GIVEN
    threshold: Share = 0.5  # the label is Hallucination if p is greater


@dataclass(eq=False, repr=False)
class Reward(ScorerDetector):
    """p = 1 / (1 + e^r) from a reward model's raw score r of the hypothesis as a reply."""

    # Only the order of rewards has a meaning; models differ in their zero, so 0.5 is a convention.

    name: ClassVar[str] = "reward"
    field: ClassVar[str] = "rm_score"
    reference = Rule.SRC
    model: Name  # as for :class:`shroom.annotate.scorers.reward.Reward`
    revision: Name | None = None
    template: Text | None = None
    threshold: Share = 0.5  # the label is Hallucination if p is greater

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the reward model's card declares."""
        return hub.languages([self.model], [self.revision])

    def p_from(self, scores: Values) -> Values:
        return np.asarray(sigmoid(-scores))


@dataclass(eq=False, repr=False)
class Probe(ScorerDetector):
    """p = 1 - p(a language model knows the answer), by its hidden state at the source."""

    # The hypothesis is not read: all hypotheses of a source have the same p.

    name: ClassVar[str] = "probe"
    field: ClassVar[str] = "probe_score"
    reference = Rule.SRC
    model: File  # a folder written by ``shroom annotate probe train``
    threshold: Share = 0.5  # the label is Hallucination if p is greater

    def settings(self) -> dict[str, Any]:
        return {"probe": self.model}
