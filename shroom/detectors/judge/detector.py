"""The judge: its settings, and p(Hallucination) from what is answered."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.detectors.base import Detector
from shroom.detectors.judge.budget import Budget, Estimate
from shroom.detectors.judge.cache import folder_of
from shroom.detectors.judge.local import Local
from shroom.detectors.judge.prompting import Context, Prompter
from shroom.detectors.judge.prompts import templates
from shroom.detectors.judge.remote import Remote
from shroom.detectors.judge.shots import Shots
from shroom.inference.endpoint.client import Endpoint
from shroom.inference.run import RUN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.detectors.judge.prompting import Prompts
    from shroom.inference.run import Run

SCORINGS = ("probability", "official")
MODES = ("chat", "completion")
#: The most answers that are sampled of one prompt.
MOST_SAMPLES = 100


class Judge(Detector):
    """A language model asked whether the context supports the hypothesis.

    p is that of "no" against "yes" as first token, where the model gives log-probabilities; else
    it is 0 or 1 as answered, or the share of "no" among ``samples`` answers. What is neither has
    p = 0.5. Where either of two contexts may support a hypothesis, both are asked about, and the
    lesser p counts.

    Parameters
    ----------
    model : str
        The name that the endpoint knows; without an endpoint, a causal model on the hub or in a
        folder.
    endpoint : str, optional
        The URL of an OpenAI-compatible API, such as ``http://localhost:8080/v1``.
    revision : str, optional
        Of a model on the hub. With an endpoint it only tells cached answers apart.
    template : str, optional
        ``"support"``, ``"official"``, a file, or a folder with one file for each task.
    shots : int
        How many labelled examples stand before the question.
    examples : path, optional
        The labelled data that they are drawn from.
    seed : int
        Of the draw of examples, of samples, and of the labels that the official baseline gives
        by chance.
    samples : int
        With n > 0, p comes from n sampled answers; at most 100.
    temperature : float, optional
        0 by default, and 0.7 for samples.
    max_tokens : int, optional
        The longest answer: 8 by default, and 16 for ``scoring="official"``.
    top_logprobs : int, optional
        How many alternatives of a token are asked for.
    mode : str, optional
        ``"chat"`` or ``"completion"``; by default a chat, unless the model has no chat template.
    scoring : str
        ``"probability"``, or ``"official"``: the baseline of the organisers, with its context (the
        source for PG, else the target), template, mode and arithmetic. It asks about one context.
    multilingual : bool
        Whether the source of a translation may be the context.
    context_chars : int
        The most characters of a context.
    concurrency, retries : int
        Requests at once, and how often each is tried again.
    timeout : float
        Seconds that a server may be silent.
    price_in, price_out : float, optional
        For a million tokens.
    max_cost : float, optional
        Nothing is asked that might make all cost more than this.
    cache : path or bool, optional
        The folder of answers; ``False`` keeps none.
    api_key_env : str
        The environment variable that holds the key.
    reference : str
        A value of :class:`shroom.core.datapoint.Rule`.
    threshold : float
        The label is Hallucination where p is greater.

    Raises
    ------
    ShroomError
        Where a setting is wrong.

    References
    ----------
    The question is that of SelfCheckGPT with prompts (Manakul et al. 2023), from which the
    organisers' baseline is derived (Mickus et al. 2024).

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> judge = Judge(model="any", endpoint="http://localhost:8080/v1", template="official-chat")
    >>> point = Datapoint(hyp="A pet.", src="", tgt="A cat.", task=Task.DM)
    >>> print(judge.dry_run([point]).prompt)
    Context: A cat.
    Sentence: A pet.
    Is the Sentence supported by the Context above? Answer using ONLY yes or no:
    """

    name = "judge"

    def __init__(
        self,
        *,
        model: str | None = None,
        endpoint: str | None = None,
        revision: str | None = None,
        template: str | None = None,
        shots: int = 0,
        examples: str | Path | None = None,
        seed: int = 0,
        samples: int = 0,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_logprobs: int | None = None,
        mode: str | None = None,
        scoring: str = "probability",
        multilingual: bool = False,
        context_chars: int = 20_000,
        concurrency: int = 8,
        retries: int = 5,
        timeout: float = 60.0,
        price_in: float | None = None,
        price_out: float | None = None,
        max_cost: float | None = None,
        cache: str | Path | bool | None = None,
        api_key_env: str = "OPENAI_API_KEY",
        reference: str = Rule.GIVEN.value,
        threshold: float = 0.5,
    ) -> None:
        if model is None:
            raise ShroomError(
                "the detector judge needs --model: the name of one that the endpoint serves "
                "(--set endpoint=URL), or a causal model on the hub or in a folder"
            )
        self.model = settings.text("model", model)
        self.threshold = settings.share("threshold", threshold)
        self.official = settings.one_of("scoring", scoring, SCORINGS) == "official"
        self.labels_itself = self.official
        self.seed = settings.whole("seed", seed)
        mode = None if mode is None else settings.one_of("mode", mode, MODES)
        mode = mode or ("completion" if self.official else None)
        rule = settings.rule(reference)
        multilingual = settings.flag("multilingual", multilingual)
        template = settings.text(
            "template", self._default_template(mode) if template is None else template
        )
        self._prompter = Prompter(
            templates(template),
            Context(rule, multilingual, self.official),
            settings.whole("context_chars", context_chars, 1),
        )
        self._shots, self._examples = settings.whole("shots", shots), examples
        self._check_shots(template)
        revision = None if revision is None else settings.text("revision", revision)
        samples = settings.whole("samples", samples, 0, MOST_SAMPLES)
        self.budget = Budget.of(price_in, price_out, max_cost)
        self._check_together(endpoint, samples, rule)
        self._asked: Local | Remote
        if endpoint is None:
            self._asked = Local(self.model, revision, mode, official=self.official)
            return
        self._asked = Remote(
            Endpoint(
                settings.text("endpoint", endpoint),
                mode=mode or "chat",
                key_env=settings.text("api_key_env", api_key_env),
                timeout=settings.number("timeout", timeout, 0.001, 86_400),
                retries=settings.whole("retries", retries, 0, 100),
            ),
            {
                "model": self.model,
                **self._drawn(temperature, samples, max_tokens),
                **({} if samples else self._logprobs(top_logprobs, chat=mode != "completion")),
            },
            version=revision,
            samples=samples,
            seed=self.seed,
            official=self.official,
            budget=self.budget,
            folder=folder_of(cache),
            concurrency=settings.whole("concurrency", concurrency, 1, 256),
        )

    def predict(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.float64]:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1].

        Raises
        ------
        ShroomError
            Where the model cannot be had or asked; what is answered until then is kept.
        """
        return self.decide(datapoints, run)[0]

    def decide(
        self, datapoints: Sequence[Datapoint], run: Run = RUN
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return p(Hallucination) and whether the label is Hallucination: two arrays, shape [n].

        The label is that of the threshold, but for ``scoring="official"``: there it is what was
        answered, whatever p, and what was neither yes nor no gets a label by chance.
        """
        if not datapoints:
            return np.empty(0), np.empty(0, bool)
        prompts = self._prompts(datapoints)
        self._tell(prompts, run)
        verdicts = self._asked.verdicts(prompts.made, run)
        neither = sum(verdict.p is None for verdict in verdicts)
        if neither:
            run.note(f"{neither} of {len(verdicts)} answers are neither yes nor no; p is 0.5 there")
        each = [0.5 if verdict.p is None else verdict.p for verdict in verdicts]
        p = prompts.pairs.best(np.array(each, np.float64))
        if not self.official:
            return p, self.labels(p, datapoints, run)
        chance = random.Random(self.seed)  # noqa: S311 - the organisers' way, and no secret
        words = [verdict.word for verdict in verdicts]
        return p, np.array([chance.randint(0, 1) if w is None else w == "no" for w in words], bool)

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return what the hypothesis is held against: one context or two, before they are cut."""
        return self._prompter.context.of(datapoint)

    @property
    def identity(self) -> str:
        """What tells the weights from others: with an endpoint the model's name, as it is called.

        Examples
        --------
        >>> Judge(model="any", endpoint="http://localhost:8080/v1").identity
        'any'
        """
        return self._asked.identity

    def dry_run(self, datapoints: Sequence[Datapoint]) -> Estimate:
        """Return what a prediction would ask for, without asking."""
        return self._asked.estimate(self._prompts(datapoints).made)

    def _prompts(self, datapoints: Sequence[Datapoint]) -> Prompts:
        if self._shots and self._prompter.shots is None:
            from shroom.scoring.datapoint_files import read

            source = str(self._examples)
            if not Path(source).exists():
                raise ShroomError(f"examples {source}: there is no such file or folder")
            shots = Shots(read(source), self._shots, self.seed, source)
            self._prompter = Prompter(
                self._prompter.templates,
                self._prompter.context,
                self._prompter.context_chars,
                shots,
            )
        return self._prompter.prompts(datapoints)

    def _tell(self, prompts: Prompts, run: Run) -> None:
        """Tell what was cut, and whether examples are wanting."""
        if prompts.cut:
            most = self._prompter.context_chars
            run.note(
                f"{prompts.cut} contexts are longer than {most} characters and were cut to that"
            )
        if prompts.few:
            tasks = ", ".join(f"{task}: {n}" for task, n in sorted(Counter(prompts.few).items()))
            run.note(
                f"{self._examples} has too few other datapoints of the task to give {self._shots} "
                f"examples to each ({tasks}); those get fewer"
            )

    def _default_template(self, mode: str | None) -> str:
        if not self.official:
            return "support"
        return "official" if mode == "completion" else "official-chat"

    def _drawn(self, temperature: Any, samples: int, max_tokens: Any) -> dict[str, Any]:
        """Return how answers are drawn, and how long they may be."""
        warmth = (0.7 if samples else 0.0) if temperature is None else temperature
        longest = (16 if self.official else 8) if max_tokens is None else max_tokens
        found = {
            "temperature": settings.number("temperature", warmth, 0, 2),
            "max_tokens": settings.whole("max_tokens", longest, 1),
        }
        if samples > 1 and not found["temperature"]:
            raise ShroomError("samples at temperature 0 are all alike; give a temperature above 0")
        return found

    def _logprobs(self, top_logprobs: Any, *, chat: bool) -> dict[str, Any]:
        """Return how many alternatives of a token are asked for."""
        default = 1 if self.official else 20 if chat else 5
        wanted = settings.whole("top_logprobs", default if top_logprobs is None else top_logprobs)
        return {"logprobs": True, "top_logprobs": wanted} if chat else {"logprobs": wanted}

    def _check_shots(self, template: str) -> None:
        if not self._shots:
            return
        if self._examples is None:
            raise ShroomError(
                "shots wants labelled data: name them in examples, such as a val file"
            )
        if not all(t.has("examples") for t in self._prompter.templates.values()):
            raise ShroomError(
                f"the template {template} has no place for {{examples}}, which shots wants"
            )

    def _check_together(self, endpoint: str | None, samples: int, rule: Rule) -> None:
        """Refuse settings that do not go together."""
        if self.official and samples:
            raise ShroomError("the official baseline does not sample; leave samples out")
        if self.official and rule is Rule.BOTH:
            raise ShroomError(
                'the official baseline takes a label from one context; reference = "both" gives '
                "two, so leave reference out, or give src or tgt"
            )
        if endpoint is None and samples:
            raise ShroomError(
                "samples is for endpoints; a model on this machine gives its probabilities"
            )
