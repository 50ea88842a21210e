"""The judge: a language model is asked whether a generation is right, given the answer."""

from __future__ import annotations

from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shroom.annotate.base import Failure, normal
from shroom.annotate.scorers import verdicts
from shroom.annotate.scorers.prompting import Prompts
from shroom.annotate.scorers.slices import gathered, in_slices
from shroom.annotate.scorers.verdicts import Verdict
from shroom.core.problems import ShroomError, show
from shroom.detectors import settings
from shroom.detectors.judge.asking import Question as Request
from shroom.detectors.judge.asking import TooDear, answered, estimate
from shroom.detectors.judge.budget import Budget
from shroom.detectors.judge.cache import Cache, folder_of, key_of
from shroom.detectors.judge.detector import MODES
from shroom.detectors.judge.local import Local
from shroom.inference.endpoint.client import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from shroom.annotate.base import Scores, Work
    from shroom.annotate.scorers.prompting import Prompt
    from shroom.datasets.dreamcatcher.records import Question
    from shroom.detectors.judge.answers import Reply
    from shroom.inference.run import Run

#: How replies are read, by number: what was kept by another reading is asked for again.
_READING = "annotate 1"
#: After so many failures in a row there is no hope for the rest.
_HOPELESS = 50
#: The longest reply, by template: the word alone, or a reason with it.
_LONGEST = {"word": 8}
_LONGEST_REASON = 512


class Judge:
    """Asks a language model whether a generation is right.

    Adds ``gpt_judgement``, the verdict as it was given; ``gpt_judgement_score``, 1 for right and 0
    for wrong; where the model gives log-probabilities, ``gpt_judgement_p_right``, in [0, 1]: the
    probability of right among right and wrong; and ``gpt_judgement_reason``, where it gives one.
    Refusals are not asked about.

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
        ``"reason"`` (the default with an endpoint) asks for a reason and a verdict as JSON,
        ``"word"`` (the default without) for yes or no; or a file, or a folder with ``zh.txt`` and
        ``en.txt``. A local model says yes or no, whatever the template.
    mode : str, optional
        ``"chat"`` or ``"completion"``; by default a chat, unless the model has no chat template.
    temperature : float
        Of the endpoint's model.
    max_tokens : int, optional
        The longest reply: 512 by default, and 8 for ``template="word"``.
    top_logprobs : int
        How many alternatives of a token are asked for; with 0 no log-probabilities are.
    generation_chars : int
        The most characters of a generation.
    concurrency, retries : int
        Requests at once, and how often each is tried again.
    per_minute : float, optional
        The most requests in a minute.
    timeout : float
        Seconds that a server may be silent.
    price_in, price_out : float, optional
        For a million tokens.
    max_cost : float, optional
        Nothing is asked that might make all cost more than this.
    cache : path or bool, optional
        The folder of answers; ``False`` keeps none beyond the run's own log.
    api_key_env : str
        The environment variable that holds the key.

    Raises
    ------
    ShroomError
        Where a setting is wrong.

    References
    ----------
    Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449, and their program,
    which asks one model for a reason and a verdict as JSON.
    """

    name = "judge"
    fields = (
        "gpt_judgement",
        "gpt_judgement_score",
        "gpt_judgement_p_right",
        "gpt_judgement_reason",
    )

    def __init__(
        self,
        *,
        model: str | None = None,
        endpoint: str | None = None,
        revision: str | None = None,
        template: str | None = None,
        mode: str | None = None,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        top_logprobs: int = 5,
        generation_chars: int = 4000,
        concurrency: int = 8,
        retries: int = 5,
        per_minute: float | None = None,
        timeout: float = 60.0,
        price_in: float | None = None,
        price_out: float | None = None,
        max_cost: float | None = None,
        cache: str | Path | bool | None = None,
        api_key_env: str = "OPENAI_API_KEY",
    ) -> None:
        if model is None:
            raise ShroomError(
                "judge needs a model: the name of one that the endpoint serves, or a causal model "
                "on the hub or in a folder"
            )
        self.model = settings.text("model", model)
        self.revision = None if revision is None else settings.text("revision", revision)
        self.mode = None if mode is None else settings.one_of("mode", mode, MODES)
        default = "word" if endpoint is None else "reason"
        chosen = default if template is None else settings.text("template", template)
        if endpoint is None and chosen == "reason":
            raise ShroomError(
                'template: "reason" needs an endpoint; a model on this machine says yes or no, so '
                'give "word" or a template that asks for that'
            )
        self.prompts = Prompts(chosen, settings.whole("generation_chars", generation_chars, 1))
        self.budget = Budget.of(price_in, price_out, max_cost)
        longest = _LONGEST.get(chosen, _LONGEST_REASON) if max_tokens is None else max_tokens
        top = settings.whole("top_logprobs", top_logprobs, 0, 20)
        self._body: dict[str, Any] = {
            "model": self.model,
            "temperature": settings.number("temperature", temperature, 0, 2),
            "max_tokens": settings.whole("max_tokens", longest, 1),
            **(_logprobs(top, chat=self.mode != "completion") if top else {}),
        }
        self.concurrency = settings.whole("concurrency", concurrency, 1, 256)
        self._folder = folder_of(cache)
        self._local = Local(self.model, self.revision, self.mode, cut="generations")
        self._endpoint = endpoint and Endpoint(
            settings.text("endpoint", endpoint),
            mode=self.mode or "chat",
            key_env=settings.text("api_key_env", api_key_env),
            timeout=settings.number("timeout", timeout, 0.001, 86_400),
            retries=settings.whole("retries", retries, 0, 100),
            per_minute=None
            if per_minute is None
            else settings.number("per_minute", per_minute, 1e-3),
            shorter="lower generation_chars",
        )

    @cached_property
    def identity(self) -> str:
        """All that the scores depend on besides the question."""
        if not self._endpoint:
            return f"judge {self._local.identity} {self.mode} {self.prompts.identity}"
        about = key_of(_READING, self._endpoint.url, self.revision, self._body)
        return f"judge {about} {self.prompts.identity}"

    def places(self, question: Question) -> tuple[int, ...]:
        """Return the places of the generations that claim something."""
        return normal(question)

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield the verdict on each generation, or why there is none, as it comes.

        What is the same for the model, a generation that comes again, is asked once.
        """
        wanted = [(each, place, g) for place, each in enumerate(work) for g in each.wanted]
        most = self.prompts.most
        cut = sum(len(each.question.generation[g].text) > most for each, _, g in wanted)
        if cut:
            run.note(f"{cut} generations were cut to {most} characters for the judge")
        owners = gathered([(self.prompts.of(each, g), place, g) for each, place, g in wanted])
        if self._endpoint:
            yield from self._asked(self._endpoint, owners, run)
        else:
            yield from in_slices(owners, self._locally, run, length=lambda p: len(p.context))

    def cost(self, work: Sequence[Work]) -> str:
        """Return in a sentence what scoring would ask for; nothing is asked."""
        prompts = [self.prompts.of(each, place) for each in work for place in each.wanted]
        if not self._endpoint:
            found = self._local.estimate(prompts)
            return f"{found.requests} prompts to a model on this machine, which cost time alone"
        requests = [self._request(self._endpoint, prompt) for prompt in prompts]
        found = estimate(requests, self._cache(self._endpoint), self.budget)
        return str(found).partition("\n")[0]

    def _locally(self, prompts: list[Prompt], run: Run) -> list[Scores]:
        found: list[Scores] = []
        for said in self._local.verdicts(prompts, run):
            assert said.p is not None  # noqa: S101 - only the official baseline has none
            right = said.p < 0.5
            found.append(_scores(Verdict("yes" if right else "no", right), 1 - said.p))
        return found

    def _asked(
        self, endpoint: Endpoint, owners: dict[Prompt, list[tuple[int, int]]], run: Run
    ) -> Iterator[tuple[int, int, Scores]]:
        """Yield what the endpoint says, and at the end why the rest was not asked."""
        requests = {prompt: self._request(endpoint, prompt) for prompt in owners}
        left = {requests[prompt].key: places for prompt, places in owners.items()}
        before, failing, why = len(endpoint.concessions), 0, ""
        replies = answered(
            list(requests.values()),
            endpoint,
            self._cache(endpoint),
            self.budget,
            concurrency=self.concurrency,
            run=run,
            read=verdicts.reply_of,
        )
        try:
            with closing(replies):
                for key, reply in replies:
                    scores = _read(reply, kept=self._folder is not None)
                    for place, generation in left.pop(key):
                        yield place, generation, scores
                    failing = failing + 1 if isinstance(reply, ShroomError) else 0
                    if failing == _HOPELESS:
                        why = f"not asked, since {failing} requests in a row failed: {reply}"
                        break
        except TooDear as error:
            why = str(error)
        for refused in endpoint.concessions[before:]:
            run.note(f"{endpoint.url} does not take {refused}: it was asked without")
        for places in left.values():
            for place, generation in places:
                yield place, generation, Failure(why)

    def _request(self, endpoint: Endpoint, prompt: Prompt) -> Request:
        text = str(prompt)
        body = {**self._body, **endpoint.prompt(text)}
        return Request(key_of(_READING, endpoint.url, self.revision, body), text, body)

    def _cache(self, endpoint: Endpoint) -> Cache:
        return Cache(self._folder, f"{endpoint.url} {self.model}")


def _logprobs(top: int, *, chat: bool) -> dict[str, Any]:
    return {"logprobs": True, "top_logprobs": top} if chat else {"logprobs": top}


def _read(reply: Reply | ShroomError, *, kept: bool) -> Scores:
    """Return the scores of a reply, or why it has none."""
    if isinstance(reply, ShroomError):
        return Failure(str(reply))
    verdict = verdicts.verdict_of(reply.text)
    if verdict is None:
        said = f"the model said neither right nor wrong: {show(reply.text, 120)}"
        paid = "is paid for and kept" if kept else "is paid for, and again with --resume"
        return Failure(
            f"{said}; the reply {paid}, so give another template, or a higher max_tokens where it "
            "was cut"
        )
    return _scores(verdict, verdicts.p_right(reply.verdict))


def _scores(verdict: Verdict, p: float | None) -> dict[str, Any]:
    more = {"gpt_judgement_p_right": p, "gpt_judgement_reason": verdict.reason}
    return {
        "gpt_judgement": verdict.word,
        "gpt_judgement_score": int(verdict.right),
        **{name: value for name, value in more.items() if value is not None},
    }
