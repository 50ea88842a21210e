"""The judge: a language model that is asked whether the context supports the hypothesis."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Rule, Task, premises
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.judge.answers import Judgement, from_samples, judgement, mass, official
from shroom.detectors.judge.asking import MOST_SAMPLES, Asking
from shroom.detectors.judge.prompting import SUPPORT, Shots, block
from shroom.detectors.judge.verdicts import verdict_of
from shroom.detectors.pairs import Pairs
from shroom.detectors.settings import Count, File, Natural, Share
from shroom.inference import hub
from shroom.inference.language_model.budget import Estimate
from shroom.inference.language_model.model import Question
from shroom.inference.language_model.prompts import Prompt
from shroom.inference.language_model.reply import Reply
from shroom.inference.run_settings import RUN, Run

#: The default of llama-cpp-python at the time; p does not depend on it, the answer may.
_PENALTY = {"extra_body": {"repeat_penalty": 1.1}}
#: Below this probability of yes and no together, the model may not follow the template.
_LOW = 0.01


@dataclass(eq=False, repr=False, kw_only=True)
class Judge(Asking, Detector):
    """A language model that is asked whether the context supports the hypothesis.

    p is that of "no" against "yes" as first token if the model gives log-probabilities. Otherwise
    it is 0 or 1 as answered, or the share of "no" among ``samples`` answers. An answer that is
    neither has p = 0.5. If either of two contexts may support a hypothesis, the model is asked
    about both, and the lesser p counts. For the other settings, see
    :class:`~shroom.detectors.judge.asking.Asking`.

    Parameters
    ----------
    shots : int
        Number of labelled examples before the question.
    examples : path, optional
        Labelled data that the examples are drawn from.
    multilingual : bool
        Whether the source of a translation may be the context.
    context_chars : int
        Maximum number of characters of a context.
    reference : str
        A value of :class:`shroom.core.datapoint.Rule`.
    scoring : str
        ``"probability"``, or ``"official"``: the baseline of the organisers, with its context (the
        source for PG, else the target), template, mode and arithmetic. It uses one context.
    samples : int
        If positive, p comes from so many sampled answers; at most 100.
    seed : int
        Seed of the examples, the samples, and the random labels of the official baseline.
    threshold : float
        The label is Hallucination where p is greater.

    References
    ----------
    The question is that of SelfCheckGPT with prompts (Manakul et al. 2023), the source of the
    organisers' baseline (Mickus et al. 2024).

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> url = "http://localhost:8080/v1"
    >>> judge = Judge(model="any", template="official-chat", endpoint=url)
    >>> point = Datapoint(hyp="A pet.", src="", tgt="A cat.", task=Task.DM)
    >>> print(judge.dry_run([point]).prompt)
    Context: A cat.
    Sentence: A pet.
    Is the Sentence supported by the Context above? Answer using ONLY yes or no:
    """

    name: ClassVar[str] = "judge"
    needs_model: ClassVar[str] = (
        "the detector judge needs --model: the name of one that the endpoint serves "
        "(--set endpoint=URL), or a causal model on the hub or in a folder"
    )

    shots: Natural = 0
    examples: File | None = None
    multilingual: bool = False
    context_chars: Count = 20_000
    reference: Rule = Rule.GIVEN
    scoring: Literal["probability", "official"] = "probability"
    samples: Annotated[int, Meta(ge=0, le=MOST_SAMPLES)] = 0
    seed: Natural = 0
    threshold: Share = 0.5

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self.labels_itself = official = self.scoring == "official"
        mode, default = self.mode, "support"
        if official:
            mode = mode or "completion"
            default = "official" if mode == "completion" else "official-chat"
        template, completes = self.template or default, mode == "completion"
        self._templates = SUPPORT.read(template)
        self._check_together(template)
        temperature, tokens = 0.7 if self.samples else 0.0, 16 if official else 8
        logprobs = 1 if official else 5 if completes else 20
        logprobs = logprobs if self.top_logprobs is None else self.top_logprobs
        self._model = self.asked(
            self.sampling(temperature, tokens, self.samples, self.seed),
            mode,
            shorter="lower context_chars",
            words=("yes", "no"),
            logprobs=None if self.samples else logprobs,
            more=_PENALTY if official and completes else {},
        )

    def p(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.float64]:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1].

        Raises
        ------
        ShroomError
            If the model cannot be loaded or requested. The answers so far are kept.
        """
        return self.decide(datapoints, run)[0]

    def decide(
        self, datapoints: Sequence[Datapoint], run: Run = RUN
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return p(Hallucination) and whether the label is Hallucination: two arrays, shape [n].

        The label follows from the threshold. With ``scoring="official"``, it is that of the answer
        whatever p is, and random for an answer that is neither yes nor no.
        """
        if not datapoints:
            return np.empty(0), np.empty(0, bool)
        questions, pairs = self._questions(datapoints, run)
        replies = self._model.ask(questions, run)
        judgements = self._judgements(replies)
        self._note(judgements, replies, run)
        values = np.array([0.5 if one.p is None else one.p for one in judgements])
        p = pairs.best(values)
        if not self.labels_itself:
            return p, self.labels(p, datapoints, run)
        chance = random.Random(self.seed)  # noqa: S311 - as the organisers do
        words = [judgements[place].word for place in pairs.places_of_best(values)]
        return p, np.array([chance.randint(0, 1) if w is None else w == "no" for w in words], bool)

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the contexts of a hypothesis, one or two, before they are cut."""
        rule = self.reference
        if self.labels_itself and rule is Rule.GIVEN:
            rule = Rule.SRC if datapoint.task == Task.PG else Rule.TGT
        return premises(datapoint, multilingual=self.multilingual, rule=rule)

    def prompts(
        self, datapoints: Sequence[Datapoint], run: Run = RUN
    ) -> tuple[list[Prompt], Pairs]:
        """Return a prompt for each pair of a hypothesis and a context, and the pairs.

        Contexts that were cut, and prompts with too few examples, are noted.
        """
        prompts, items, owners, most = [], [], [], self.context_chars
        few = Counter[str]()
        for place, point in enumerate(datapoints):
            task = point.task.like
            examples = self._shots.of(point) if self._shots else []
            few[task] += len(examples) < self.shots
            text = block(examples, lambda example: self.premises(example)[0][:most])
            others = (("sentence", point.hyp), ("task", point.task.name), ("examples", text))
            for context in self.premises(point):
                prompts.append(Prompt(self._templates[task], "context", context[:most], others))
                items.append((task, context, point.hyp))
                owners.append(place)
        cut = sum(len(context) > most for _, context, _ in items)
        if cut:
            run.note(f"{cut} contexts are longer than {most} characters and were cut to that")
        if few.total():
            tasks = ", ".join(f"{task}: {n}" for task, n in sorted(few.items()) if n)
            run.note(
                f"{self.examples} has too few other datapoints of the task to give {self.shots} "
                f"examples to each ({tasks}); those get fewer"
            )
        return prompts, Pairs(items, np.array(owners, np.intp), len(datapoints))

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the card of a model on this machine declares."""
        return () if self.endpoint else hub.languages([str(self.model)], [self.revision])

    @property
    def identity(self) -> str:
        """Identity of the weights; with an endpoint, the name of the model.

        Examples
        --------
        >>> Judge(model="any", endpoint="http://localhost:8080/v1").identity
        'any'
        """
        return self._model.identity

    def dry_run(self, datapoints: Sequence[Datapoint]) -> Estimate:
        """Return the requests of a prediction and their cost, without sending them."""
        return self._model.estimate(self._questions(datapoints)[0])

    def _questions(
        self, datapoints: Sequence[Datapoint], run: Run = RUN
    ) -> tuple[list[Question], Pairs]:
        """Return the questions: one for each pair, or one for each sample of each."""
        prompts, pairs = self.prompts(datapoints, run)
        numbers = range(self.samples) if self.samples else [None]
        return [Question(prompt, number) for prompt in prompts for number in numbers], pairs

    @cached_property
    def _shots(self) -> Shots | None:
        return Shots(str(self.examples), self.shots, self.seed) if self.shots else None

    def _judgements(self, replies: Sequence[Reply]) -> list[Judgement]:
        """Return the judgement on each pair."""
        if self.samples:
            starts = range(0, len(replies), self.samples)
            return [from_samples(replies[start : start + self.samples]) for start in starts]
        if self.labels_itself:
            return [official(reply) for reply in replies]
        return [judgement(reply, exact=self.endpoint is None) for reply in replies]

    def _note(self, judgements: Sequence[Judgement], replies: Sequence[Reply], run: Run) -> None:
        """Note what p does not tell: answers that are neither, or have no probabilities."""
        neither = [judgement for judgement in judgements if judgement.p is None]
        if neither:
            unfinished = sum(judgement.unfinished for judgement in neither)
            advice = f"; {unfinished} of them are cut: give a larger max_tokens"
            run.note(
                f"{len(neither)} of {len(judgements)} answers are neither yes nor no; p is 0.5 "
                "there" + (advice if unfinished else "")
            )
        if self.samples or self.labels_itself:
            return
        answered = [bool(verdict_of(reply.text)) for reply in replies]
        if self.endpoint is None:
            low = sum(0 < mass(r) < _LOW for r, verdict in zip(replies, answered) if not verdict)
            if low:
                run.note(
                    f"in {low} of {len(replies)} answers yes and no have less than 1 % of the "
                    "first token's probability; the model may not follow the template"
                )
        elif any(answered) and not any(r.steps for r, one in zip(replies, answered) if one):
            run.note(
                f"{self.endpoint} gives no log-probabilities, so p is 0 or 1, as answered; "
                "samples = 10 gives finer values for ten times the requests"
            )

    def _check_together(self, template: str) -> None:
        """Refuse settings that contradict each other."""
        if self.shots and self.examples is None:
            raise ShroomError(
                "shots needs labelled data: name them in examples, such as a val file"
            )
        if self.shots and not all(t.has("examples") for t in self._templates.values()):
            raise ShroomError(
                f"the template {template} has no place for {{examples}}, which shots needs"
            )
        if self.labels_itself and self.samples:
            raise ShroomError("the official baseline does not sample; leave samples out")
        if self.labels_itself and self.reference is Rule.BOTH:
            raise ShroomError(
                'the official baseline takes a label from one context; reference = "both" gives '
                "two, so leave reference out, or give src or tgt"
            )
        if self.endpoint is None and self.samples:
            raise ShroomError(
                "samples is for endpoints; a model on this machine gives its probabilities"
            )
