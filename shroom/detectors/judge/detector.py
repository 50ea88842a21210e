"""The judge: a language model that is asked whether the context supports the hypothesis."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.judge.local import Local
from shroom.detectors.judge.prompting import Prompter
from shroom.detectors.judge.prompts import SUPPORT
from shroom.detectors.judge.remote import READING, Remote
from shroom.detectors.judge.service import Service
from shroom.detectors.judge.settings import (
    BudgetSettings,
    Configurable,
    ContextSettings,
    EndpointSettings,
    ScoringSettings,
)
from shroom.detectors.judge.shots import Shots
from shroom.inference.run_settings import RUN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.detectors.judge.budget import Estimate
    from shroom.detectors.judge.prompting import Prompts
    from shroom.inference.run_settings import Run


class Judge(Configurable, Detector):
    """A language model that is asked whether the context supports the hypothesis.

    p is that of "no" against "yes" as first token if the model gives log-probabilities. Otherwise
    it is 0 or 1 as answered, or the share of "no" among ``samples`` answers. An answer that is
    neither has p = 0.5. If either of two contexts may support a hypothesis, the model is asked
    about both, and the lesser p counts.

    Recipes and the command line give the settings of all groups by name, see
    :meth:`from_settings`.

    Parameters
    ----------
    prompt : ContextSettings
        Which model is asked, and for what. Without an endpoint, the model is a causal model on the
        hub or in a folder.
    endpoint : EndpointSettings, optional
        Where requests are sent.
    budget : BudgetSettings, optional
        What they may cost.
    scoring : ScoringSettings, optional
        How p is computed.

    Raises
    ------
    ShroomError
        If the settings contradict each other.

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

    groups = (ContextSettings, EndpointSettings, BudgetSettings, ScoringSettings)

    def __init__(
        self,
        prompt: ContextSettings,
        endpoint: EndpointSettings | None = None,
        budget: BudgetSettings | None = None,
        scoring: ScoringSettings | None = None,
    ) -> None:
        if prompt.model is None:
            raise ShroomError(
                "the detector judge needs --model: the name of one that the endpoint serves "
                "(--set endpoint=URL), or a causal model on the hub or in a folder"
            )
        self.prompt, self.scoring = prompt, scoring or ScoringSettings()
        self.threshold = self.scoring.threshold
        self.labels_itself = self.scoring.official
        endpoint = endpoint or EndpointSettings()
        official = self.scoring.official
        mode = prompt.mode or ("completion" if official else None)
        template = prompt.template or _default_template(mode, official=official)
        self._prompter = Prompter(SUPPORT.read(template), prompt, official)
        self._check_shots(template)
        self._check_together(endpoint)
        self._asked: Local | Remote
        if endpoint.endpoint is None:
            self._asked = Local(prompt.model, prompt.revision, mode, official=official)
            return
        service = Service(
            prompt,
            endpoint,
            budget or BudgetSettings(),
            self._request(mode),
            mode=mode or "chat",
            reading=READING,
            shorter="lower context_chars",
        )
        self._asked = Remote(service, self.scoring)

    def predict(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.float64]:
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
        prompts = self._prompts(datapoints)
        self._note(prompts, run)
        judgements = self._asked.judgements(prompts.prompts, run)
        neither = sum(judgement.p is None for judgement in judgements)
        if neither:
            run.note(
                f"{neither} of {len(judgements)} answers are neither yes nor no; p is 0.5 there"
            )
        values = [0.5 if judgement.p is None else judgement.p for judgement in judgements]
        p = prompts.pairs.best(np.array(values, np.float64))
        if not self.scoring.official:
            return p, self.labels(p, datapoints, run)
        chance = random.Random(self.scoring.seed)  # noqa: S311 - as the organisers do
        words = [judgement.word for judgement in judgements]
        return p, np.array([chance.randint(0, 1) if w is None else w == "no" for w in words], bool)

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the contexts of a hypothesis, one or two, before they are cut."""
        return self._prompter.contexts(datapoint)

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
        return self._asked.estimate(self._prompts(datapoints).prompts)

    def _prompts(self, datapoints: Sequence[Datapoint]) -> Prompts:
        if self.prompt.shots and self._prompter.shots is None:
            from shroom.scoring.datapoint_files import read

            source = str(self.prompt.examples)
            if not Path(source).exists():
                raise ShroomError(f"examples {source}: there is no such file or folder")
            shots = Shots(read(source), self.prompt.shots, self.scoring.seed, source)
            self._prompter = replace(self._prompter, shots=shots)
        return self._prompter.prompts(datapoints)

    def _note(self, prompts: Prompts, run: Run) -> None:
        """Note the contexts that were cut, and prompts with too few examples."""
        if prompts.cut:
            most = self.prompt.context_chars
            run.note(
                f"{prompts.cut} contexts are longer than {most} characters and were cut to that"
            )
        if prompts.few:
            tasks = ", ".join(f"{task}: {n}" for task, n in sorted(Counter(prompts.few).items()))
            run.note(
                f"{self.prompt.examples} has too few other datapoints of the task to give "
                f"{self.prompt.shots} examples to each ({tasks}); those get fewer"
            )

    def _request(self, mode: str | None) -> dict[str, Any]:
        """Return the fields of every request."""
        official, samples = self.scoring.official, self.scoring.samples
        body = self.prompt.request(
            mode=mode,
            temperature=0.7 if samples else 0.0,
            max_tokens=16 if official else 8,
            top_logprobs=None if samples else 1 if official else 5 if mode == "completion" else 20,
        )
        if official and mode == "completion":
            # The default of llama-cpp-python at the time; p does not depend on it, the answer may.
            body["extra_body"] = {"repeat_penalty": 1.1}
        if samples > 1 and not body["temperature"]:
            raise ShroomError("samples at temperature 0 are all alike; give a temperature above 0")
        return body

    def _check_shots(self, template: str) -> None:
        if not self.prompt.shots:
            return
        if self.prompt.examples is None:
            raise ShroomError(
                "shots needs labelled data: name them in examples, such as a val file"
            )
        if not all(t.has("examples") for t in self._prompter.templates.values()):
            raise ShroomError(
                f"the template {template} has no place for {{examples}}, which shots needs"
            )

    def _check_together(self, endpoint: EndpointSettings) -> None:
        """Refuse settings that contradict each other."""
        if self.scoring.official and self.scoring.samples:
            raise ShroomError("the official baseline does not sample; leave samples out")
        if self.scoring.official and self.prompt.reference is Rule.BOTH:
            raise ShroomError(
                'the official baseline takes a label from one context; reference = "both" gives '
                "two, so leave reference out, or give src or tgt"
            )
        if endpoint.endpoint is None and self.scoring.samples:
            raise ShroomError(
                "samples is for endpoints; a model on this machine gives its probabilities"
            )


def _default_template(mode: str | None, *, official: bool) -> str:
    if not official:
        return "support"
    return "official" if mode == "completion" else "official-chat"
