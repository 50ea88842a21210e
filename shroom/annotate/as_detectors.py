"""Scorers of generations as detectors: a datapoint is a question with one generation.

The question is the source, or the reference if there is no source; the answer is the reference, and
the generation is the hypothesis. Of the scorers that ``shroom annotate run`` has, ``nli``,
``similarity``, ``judge`` and ``selfcheck`` have detectors of their own; the others are here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.annotate.base import SCORERS, Failure, Scorer
from shroom.core.datapoint import Datapoint, Rule, premises
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher.records import NORMAL, Generation, Question
from shroom.detectors import settings
from shroom.detectors.base import Detector
from shroom.detectors.pairs import Pairs
from shroom.inference import hub
from shroom.inference.run_settings import RUN, Run
from shroom.learners.curves import sigmoid

Values = NDArray[np.float64]


class ScorerDetector(Detector):
    """p(Hallucination) from a score of which higher is better, by a falling map.

    Parameters
    ----------
    scorer : Scorer
        What scores.
    field : str
        Which of its fields counts.
    reference : str
        The reference rule: a value of :class:`shroom.core.datapoint.Rule`.
    threshold : float
        The label is Hallucination where p is greater.
    """

    name = ""

    def __init__(self, scorer: Scorer, field: str, reference: str, threshold: float) -> None:
        self.scorer, self.field = scorer, field
        self.rule = settings.rule(reference)
        self.threshold = settings.share("threshold", threshold)

    def p(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> Values:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1].

        Where either of two references may support the hypothesis, the one that does so better
        counts.

        Raises
        ------
        ShroomError
            Where a datapoint cannot be scored.
        """
        if not datapoints:
            return np.empty(0)
        pairs = Pairs.of(datapoints, rule=self.rule)
        owners = [datapoints[place] for place in pairs.owner.tolist()]
        items = []
        for point, (_, premise, _) in zip(owners, pairs.items):
            (question,) = premises(point, rule=Rule.SRC)
            generation = Generation(point.hyp, NORMAL)
            items.append(self.scorer.item(Question(question, premise, None, (generation,)), 0))
        found = dict(self.scorer.score(list(dict.fromkeys(items)), run))
        for point, item in zip(owners, items):
            if isinstance(failure := found[item], Failure):
                raise ShroomError(f"{self.name}: datapoint {point.name}: {failure.reason}")
        return pairs.best(self.p_from(np.array([found[item][self.field] for item in items])))

    def p_from(self, scores: Values) -> Values:
        """Return p(Hallucination) from scores in [0, 1]: what they lack to 1."""
        return np.asarray(1 - np.clip(scores, 0.0, 1.0))

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the texts that the hypothesis is compared with."""
        return premises(datapoint, rule=self.rule)

    @property
    def identity(self) -> str:
        """What identifies the scorer with its settings."""
        return self.scorer.identity


class Unigram(ScorerDetector):
    """p = 1 - the share of the reference's words that the hypothesis has.

    Parameters
    ----------
    language : str
        As for :class:`shroom.annotate.scorers.unigram.Unigram`.
    reference, threshold
        As for :class:`ScorerDetector`.

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> point = Datapoint(hyp="A small cat.", src="", tgt="A cat that is small.", task=Task.DM)
    >>> 0 < float(Unigram().p([point])[0]) < 1
    True
    """

    name = "unigram"

    def __init__(
        self, language: str = "auto", reference: str = "given", threshold: float = 0.5
    ) -> None:
        scorer = SCORERS.make("unigram", language=language)
        super().__init__(scorer, "unigram_overlap_with_answer_score", reference, threshold)


class Reward(ScorerDetector):
    """p = 1 / (1 + e^r) from a reward model's raw score r of the hypothesis as a reply.

    The order, and so rho, is that of the rewards. Reward models differ in their middle, so 0.5 is
    a convention: ``shroom calibrate`` finds a threshold, or a calibrator, on labelled data. The
    source is read, the reference is not.

    Parameters
    ----------
    model, revision, template : str, optional
        As for :class:`shroom.annotate.scorers.reward.Reward`.
    threshold : float
        As for :class:`ScorerDetector`.
    """

    name = "reward"

    def __init__(
        self,
        model: str | None = None,
        revision: str | None = None,
        template: str | None = None,
        threshold: float = 0.5,
    ) -> None:
        if model is None:
            raise ShroomError(
                "the detector reward needs --model: a folder or the hub's name of a reward model, "
                "such as OpenAssistant/reward-model-deberta-v3-base"
            )
        options = {"model": model, "revision": revision, "template": template}
        self.model, self.revision = model, revision
        super().__init__(SCORERS.make("reward", **options), "rm_score", "src", threshold)

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the reward model's card declares."""
        return hub.languages([self.model], [self.revision])

    def p_from(self, scores: Values) -> Values:
        """Return p(Hallucination) from raw rewards: any numbers."""
        return np.asarray(sigmoid(-scores))


class Probe(ScorerDetector):
    """p = 1 - p(a language model knows the answer), by its hidden state at the source.

    The hypothesis is not read: all hypotheses of a source have one p.

    Parameters
    ----------
    model : path
        What ``shroom annotate probe train`` has written.
    threshold : float
        As for :class:`ScorerDetector`.
    """

    name = "probe"

    def __init__(self, model: str | None = None, threshold: float = 0.5) -> None:
        if model is None:
            raise ShroomError(
                "the detector probe needs --model: the folder that 'shroom annotate probe train' "
                "wrote"
            )
        options: dict[str, Any] = {"probe": model}
        super().__init__(SCORERS.make("probe", **options), "probe_score", "src", threshold)
