"""The judge: a language model that is asked whether the context supports the hypothesis."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Rule
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.judge import answers
from shroom.detectors.judge.answers import Judgement
from shroom.detectors.judge.asking import Asking
from shroom.detectors.judge.budget import Estimate
from shroom.detectors.judge.local import Local
from shroom.detectors.judge.prompting import Prompter
from shroom.detectors.judge.prompts import SUPPORT, Prompt
from shroom.detectors.judge.responses import Reply
from shroom.detectors.judge.service import Request, Service
from shroom.detectors.judge.settings import BudgetSettings, ContextSettings, EndpointSettings
from shroom.detectors.judge.verdicts import verdict_of
from shroom.inference import hub
from shroom.inference.run_settings import RUN, Run

#: Version of :mod:`verdicts`: replies that were read by another version are requested again.
READING = 3


class Judge(Asking[ContextSettings], Detector):
    """A language model that is asked whether the context supports the hypothesis.

    p is that of "no" against "yes" as first token if the model gives log-probabilities. Otherwise
    it is 0 or 1 as answered, or the share of "no" among ``samples`` answers. An answer that is
    neither has p = 0.5. If either of two contexts may support a hypothesis, the model is asked
    about both, and the lesser p counts. The settings are :class:`ContextSettings`; see
    :class:`Asking`.

    References
    ----------
    The question is that of SelfCheckGPT with prompts (Manakul et al. 2023), the source of the
    organisers' baseline (Mickus et al. 2024).

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> prompt = ContextSettings(model="any", template="official-chat")
    >>> judge = Judge(prompt, EndpointSettings("http://localhost:8080/v1"))
    >>> point = Datapoint(hyp="A pet.", src="", tgt="A cat.", task=Task.DM)
    >>> print(judge.dry_run([point]).prompt)
    Context: A cat.
    Sentence: A pet.
    Is the Sentence supported by the Context above? Answer using ONLY yes or no:
    """

    name = "judge"
    kind = ContextSettings
    needs_model = (
        "the detector judge needs --model: the name of one that the endpoint serves "
        "(--set endpoint=URL), or a causal model on the hub or in a folder"
    )

    def __init__(
        self,
        settings: ContextSettings,
        endpoint: EndpointSettings | None = None,
        budget: BudgetSettings | None = None,
    ) -> None:
        super().__init__(settings, endpoint, budget)
        self.threshold = settings.threshold
        self.labels_itself = official = settings.official
        mode = settings.mode or ("completion" if official else None)
        template = settings.template or _default_template(mode, official=official)
        self._prompter = Prompter(SUPPORT.read(template), settings)
        self._check_shots(template)
        self._check_together()
        body = self._request(mode)
        service = self.service(body, mode=mode, reading=READING, shorter="lower context_chars")
        self._asked: Local | _Remote
        if service:
            self._asked = _Remote(service, settings)
        else:
            self._asked = Local(
                self.model,
                settings.revision,
                mode,
                max_tokens=body["max_tokens"],
                official=official,
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
        prompts, pairs = self._prompter.prompts(datapoints, run)
        judgements = self._asked.judgements(prompts, run)
        neither = sum(judgement.p is None for judgement in judgements)
        if neither:
            unfinished = sum(judgement.unfinished for judgement in judgements)
            advice = f"; {unfinished} of them are cut: give a larger max_tokens"
            run.note(
                f"{neither} of {len(judgements)} answers are neither yes nor no; p is 0.5 there"
                + (advice if unfinished else "")
            )
        values = [0.5 if judgement.p is None else judgement.p for judgement in judgements]
        p = pairs.best(np.array(values, np.float64))
        if not self.settings.official:
            return p, self.labels(p, datapoints, run)
        chance = random.Random(self.settings.seed)  # noqa: S311 - as the organisers do
        words = [judgement.word for judgement in judgements]
        return p, np.array([chance.randint(0, 1) if w is None else w == "no" for w in words], bool)

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the contexts of a hypothesis, one or two, before they are cut."""
        return self._prompter.contexts(datapoint)

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the card of a model on this machine declares."""
        return (
            hub.languages([self.model], [self.settings.revision])
            if isinstance(self._asked, Local)
            else ()
        )

    @property
    def identity(self) -> str:
        """Identity of the weights; with an endpoint, the name of the model.

        Examples
        --------
        >>> Judge.from_settings(model="any", endpoint="http://localhost:8080/v1").identity
        'any'
        """
        return self._asked.identity

    def dry_run(self, datapoints: Sequence[Datapoint]) -> Estimate:
        """Return the requests of a prediction and their cost, without sending them."""
        return self._asked.estimate(self._prompter.prompts(datapoints)[0])

    def _request(self, mode: str | None) -> dict[str, Any]:
        """Return the fields of every request."""
        official, samples = self.settings.official, self.settings.samples
        body = self.settings.request(
            mode=mode,
            temperature=0.7 if samples else 0.0,
            max_tokens=16 if official else 8,
            top_logprobs=None if samples else 1 if official else 5 if mode == "completion" else 20,
            samples=samples,
        )
        if official and mode == "completion":
            # The default of llama-cpp-python at the time; p does not depend on it, the answer may.
            body["extra_body"] = {"repeat_penalty": 1.1}
        return body

    def _check_shots(self, template: str) -> None:
        if not self.settings.shots:
            return
        if self.settings.examples is None:
            raise ShroomError(
                "shots needs labelled data: name them in examples, such as a val file"
            )
        if not all(t.has("examples") for t in self._prompter.templates.values()):
            raise ShroomError(
                f"the template {template} has no place for {{examples}}, which shots needs"
            )

    def _check_together(self) -> None:
        """Refuse settings that contradict each other."""
        if self.settings.official and self.settings.samples:
            raise ShroomError("the official baseline does not sample; leave samples out")
        if self.settings.official and self.settings.reference is Rule.BOTH:
            raise ShroomError(
                'the official baseline takes a label from one context; reference = "both" gives '
                "two, so leave reference out, or give src or tgt"
            )
        if self.endpoint.endpoint is None and self.settings.samples:
            raise ShroomError(
                "samples is for endpoints; a model on this machine gives its probabilities"
            )


class _Remote:
    """Computes p(Hallucination) of prompts by a model behind an endpoint."""

    def __init__(self, service: Service, settings: ContextSettings) -> None:
        self.service, self.settings = service, settings

    @property
    def identity(self) -> str:
        """The model's name and revision; a server does not report its weights."""
        return "@".join(filter(None, (str(self.service.body["model"]), self.service.revision)))

    def judgements(self, prompts: Sequence[Prompt], run: Run) -> list[Judgement]:
        replies = self.service.replies(self._requests(prompts), run)
        if samples := self.settings.samples:
            starts = range(0, len(replies), samples)
            return [answers.from_samples(replies[at : at + samples]) for at in starts]
        if self.settings.official:
            return [
                Judgement(answers.official(r), answers.official_word(r.text), r.unfinished)
                for r in replies
            ]
        self._note(replies, run)
        return [answers.from_reply(reply) for reply in replies]

    def estimate(self, prompts: Sequence[Prompt]) -> Estimate:
        return self.service.estimate(self._requests(prompts))

    def _note(self, replies: Sequence[Reply], run: Run) -> None:
        """Note that the server gives no log-probabilities."""
        # An unfinished thought has no first token, whether or not the server gives probabilities.
        answered = [reply for reply in replies if verdict_of(reply.text)]
        if answered and all(reply.first is None for reply in answered):
            run.note(
                f"{self.service.endpoint.url} gives no log-probabilities, so p is 0 or 1, as "
                "answered; samples = 10 gives finer values for ten times the requests"
            )

    def _requests(self, prompts: Sequence[Prompt]) -> list[Request]:
        """Return the requests for prompts: one for each, or one for each sample of each."""
        if not self.settings.samples:
            return [self.service.request(str(prompt)) for prompt in prompts]
        seeds = range(self.settings.seed, self.settings.seed + self.settings.samples)
        return [self.service.request(str(p), seed=seed) for p in prompts for seed in seeds]


def _default_template(mode: str | None, *, official: bool) -> str:
    if not official:
        return "support"
    return "official" if mode == "completion" else "official-chat"
