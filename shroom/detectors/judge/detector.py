"""The judge: asks a language model whether the context supports the hypothesis."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, zip_longest
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from shroom.core.datapoint import TASKS, Datapoint, Label, Rule, Task, premises
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.detectors.arrays import Datapoints, Flags, Floats
from shroom.detectors.base import Detector
from shroom.detectors.judge.asking import MOST_SAMPLES, Asking, longer_answers
from shroom.detectors.judge.verdicts import (
    Judgement,
    from_samples,
    judgement,
    official,
    verdict_of,
)
from shroom.detectors.pairs import Pairs
from shroom.detectors.settings import Count, File, Natural, Share
from shroom.inference import hub
from shroom.inference.language_model.model import Estimate, Question, Reply, TemplateKind, in_order
from shroom.inference.run_settings import RUN, Run
from shroom.scoring.datapoint_files import read

#: The default of llama-cpp-python at the time; p does not depend on it, the answer may.
_PENALTY = {"extra_body": {"repeat_penalty": 1.1}}
_FOLDER = Path(__file__).parent / "templates"
#: The detector's templates, with a variant for each task.
SUPPORT = TemplateKind(
    {
        "support": _FOLDER / "support",
        "official": _FOLDER / "official.txt",
        "official-chat": _FOLDER / "official-chat.txt",
    },
    variants=tuple(TASKS),
    places=("context", "sentence", "task", "examples"),
    needed=("context", "sentence"),
)


@dataclass(eq=False, repr=False, kw_only=True)
class Judge(Asking, Detector):
    """Asks a language model whether the context supports the hypothesis.

    If the model returns log-probabilities, p is the probability of "no" relative to "yes".
    Otherwise, p is 0 or 1, or the share of "no" among ``samples`` answers. An answer that is
    neither yes nor no has p = 0.5. If there are two contexts, the model is asked about both, and
    the lower p is used. For other settings, see :class:`~shroom.detectors.judge.asking.Asking`.

    Parameters
    ----------
    shots : int
        Number of labelled examples before the question.
    examples : path, optional
        Labelled data to draw examples from.
    multilingual : bool
        Whether the source of a translation may be the context.
    context_chars : int
        Maximum number of characters of a context.
    reference : str
        Which text is the context: a value of :class:`shroom.core.datapoint.Rule`.
    scoring : str
        ``"probability"``, or ``"official"`` for the organisers' baseline, with its template, mode
        and arithmetic. The context is then the source for PG, and the target for other tasks.
    samples : int
        If positive, p is the share of "no" among this number of answers; at most 100.
    seed : int
        Random seed for examples, samples, and the random labels of the official baseline.
    threshold : float
        The label is Hallucination if p is greater.

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
        "the detector 'judge' needs --model: specify the name of a model behind an endpoint "
        "(with --set endpoint=URL), or a causal model on the hub or in a folder"
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
        super().__post_init__()
        self.labels_itself = official = self.scoring == "official"
        mode = self.mode or ("completion" if official else None)
        usual = "official" if mode == "completion" else "official-chat"
        template = self.template or (usual if official else "support")
        self._templates = SUPPORT.read(template)
        has_place = all(one.has("examples") for one in self._templates.values())
        if self.shots and not (self.examples and has_place):
            raise ShroomError(
                "the setting 'shots' needs labelled data, such as val, in the setting 'examples', "
                f"and {{examples}} in the template {template}"
            )
        if self.samples and (official or self.endpoint is None):
            raise ShroomError(
                "the setting 'samples' needs an endpoint and scoring = \"probability\"; a model on "
                "this machine returns probabilities"
            )
        temperature, tokens = 0.7 if self.samples else 0.0, 16 if official else 8
        logprobs = 1 if official else 5 if mode == "completion" else 20
        self._model = self.asked(
            self.sampling(temperature, tokens, self.samples, self.seed),
            mode,
            words=("yes", "no"),
            logprobs=None if self.samples else logprobs,
            more=_PENALTY if official and mode == "completion" else {},
        )

    def p(self, datapoints: Datapoints, run: Run = RUN) -> Floats:
        return self.decide(datapoints, run)[0]

    def decide(self, datapoints: Datapoints, run: Run = RUN) -> tuple[Floats, Flags]:
        if not datapoints:
            return np.empty(0), np.empty(0, bool)
        questions, pairs = self._questions(datapoints, run)
        replies = in_order(self._model.answers(questions, run))
        judgements = self._judgements(replies)
        self._note(judgements, replies, run)
        values = np.array([0.5 if one.p is None else one.p for one in judgements])
        p = pairs.best(values)
        if not self.labels_itself:
            return p, self.labels(p)
        chance = random.Random(self.seed)  # noqa: S311 - as the organisers do
        words = [judgements[place].word for place in pairs.places_of_best(values)]
        return p, np.array([chance.randint(0, 1) if w is None else w == "no" for w in words], bool)

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the contexts of a hypothesis, one or two, before they are cut."""
        rule = self.reference
        if self.labels_itself and rule is Rule.GIVEN:
            rule = Rule.SRC if datapoint.task == Task.PG else Rule.TGT
        return premises(datapoint, multilingual=self.multilingual, rule=rule)

    def prompts(self, datapoints: Datapoints, run: Run = RUN) -> tuple[list[str], Pairs]:
        """Return a prompt for each pair of a hypothesis and a context, and the pairs."""
        pairs, most = Pairs.of(datapoints, self.premises), self.context_chars
        texts = ["".join(map(self._example, self.shots_of(point))) for point in datapoints]
        prompts = []
        for place, (task, context, hyp) in zip(pairs.owner.tolist(), pairs.items):
            filled = self._templates[task].fill(
                context=context[:most],
                sentence=hyp,
                task=datapoints[place].task.name,
                examples=texts[place],
            )
            prompts.append(filled)
        cut = sum(len(context) > most for _, context, _ in pairs.items)
        if cut:
            contexts = counted(cut, "context")
            run.note(f"{contexts} had to be truncated to {most} characters (context_chars)")
        return prompts, pairs

    def _example(self, point: Datapoint) -> str:
        """Return an example as text, with a blank line after it."""
        context = self.premises(point)[0][: self.context_chars]
        answer = "no" if point.label is Label.HALLUCINATION else "yes"
        return f"Context: {context}\nSentence: {point.hyp}\nAnswer: {answer}\n\n"

    @property
    def identity(self) -> str:
        return self._model.identity

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the card of a model on this machine declares."""
        return () if self.endpoint else hub.languages([str(self.model)], [self.revision])

    def dry_run(self, datapoints: Datapoints) -> Estimate:
        return self._model.estimate(self._questions(datapoints)[0])

    def _questions(self, datapoints: Datapoints, run: Run = RUN) -> tuple[list[Question], Pairs]:
        """Return the questions: one for each pair, or for each sample of each pair."""
        prompts, pairs = self.prompts(datapoints, run)
        numbers = range(self.samples) if self.samples else [None]
        return [Question(prompt, number) for prompt in prompts for number in numbers], pairs

    def shots_of(self, datapoint: Datapoint) -> list[Datapoint]:
        """Return examples of the same task with other hypotheses, balanced over labels."""
        if not self.shots:
            return []
        hyp = datapoint.hyp.strip()
        others = (one for one in self._examples[datapoint.task.like] if one.hyp.strip() != hyp)
        return list(islice(others, self.shots))

    @cached_property
    def _examples(self) -> dict[str, list[Datapoint]]:
        """The labelled datapoints of ``examples`` by task, in the order of prompts."""
        # A task has one order, so that its prompts have the same beginning, which a server can
        # cache.
        labelled = [point for point in read(str(self.examples)) if point.label is not None]
        if not labelled:
            raise ShroomError(
                f"{self.examples}: no labelled datapoints to use as examples; specify a trial or "
                "val file"
            )
        return {
            task: _order([point for point in labelled if point.task.like == task], task, self.seed)
            for task in TASKS
        }

    def _judgements(self, replies: Sequence[Reply]) -> list[Judgement]:
        """Return the judgement on each pair."""
        if self.samples:
            starts = range(0, len(replies), self.samples)
            return [from_samples(replies[start : start + self.samples]) for start in starts]
        if self.labels_itself:
            return [official(reply) for reply in replies]
        return [judgement(reply, exact=self.endpoint is None) for reply in replies]

    def _note(self, judgements: Sequence[Judgement], replies: Sequence[Reply], run: Run) -> None:
        """Note how many answers are neither yes nor no, and whether they have no probabilities."""
        neither = [judgement.unfinished for judgement in judgements if judgement.p is None]
        if neither:
            run.note(
                f"p is 0.5 for {len(neither)} of {counted(len(judgements), 'answer')}, because the "
                f"model said neither yes nor no{longer_answers(neither)}"
            )
        verdicts = [reply for reply in replies if verdict_of(reply.text)]
        asked = self.endpoint and not (self.samples or self.labels_itself)
        if asked and verdicts and not any(reply.steps for reply in verdicts):
            run.note(
                f"{self.endpoint} returns no log-probabilities, so every p is 0 or 1; samples = 10 "
                "gives finer values, but sends ten times as many requests"
            )


def _order(points: Datapoints, task: str, seed: int) -> list[Datapoint]:
    """Return the datapoints of a task, alternating between the labels while both last."""
    # A string as seed gives the same draw in every version of Python.
    draw = random.Random(f"{seed} {task}")  # noqa: S311 - no secret
    sides = [[point for point in points if point.label is label] for label in Label]
    for side in sides:
        draw.shuffle(side)
    draw.shuffle(sides)
    return [point for pair in zip_longest(*sides) for point in pair if point is not None]
