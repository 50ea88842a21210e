"""The judge: a language model that is asked whether a generation is right, given the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shroom.annotate.base import Failure, Item, Scorer, Scores
from shroom.annotate.words import CHINESE, ENGLISH, language_of
from shroom.core.problems import ShroomError, show
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import settings
from shroom.detectors.judge.answers import share_at
from shroom.detectors.judge.asking import Asking
from shroom.detectors.judge.local import Local
from shroom.detectors.judge.prompts import Prompt, TemplateKind
from shroom.detectors.judge.responses import Reply
from shroom.detectors.judge.service import BudgetExhausted, Request, Service
from shroom.detectors.judge.settings import (
    BudgetSettings,
    EndpointSettings,
    PromptSettings,
    setting,
)
from shroom.detectors.judge.verdicts import Verdict, side_of, verdict_of
from shroom.inference.run_settings import Run

#: Version of the code that reads replies: those that were read by another are requested again.
_READING = "annotate 2"
#: After so many failures in a row, no further requests are sent.
_HOPELESS = 50
#: Maximum length of a reply in tokens: the word alone, or a reason with it.
_LONGEST_WORD, _LONGEST_REASON = 8, 512

_FOLDER = Path(__file__).parent / "templates"
_PLACES = ("question", "answer", "generation")
#: The scorer's templates, with a variant for each language.
TEMPLATES = TemplateKind(
    {name: _FOLDER / name for name in ("reason", "word")}, (CHINESE, ENGLISH), _PLACES, _PLACES
)


@dataclass(frozen=True)
class GenerationSettings(PromptSettings):
    """The question of the scorer: whether a generation is right.

    ``template`` is ``"reason"`` (the default with an endpoint), which asks for a reason and a
    verdict as JSON; ``"word"`` (the default without), which asks for yes or no; a file; or a folder
    with ``zh.txt`` and ``en.txt``. A model on this machine answers yes or no to any template.
    ``max_tokens`` is 512 by default, and 8 for ``template="word"``. Without ``top_logprobs``, no
    log-probabilities are requested.

    Attributes
    ----------
    generation_chars : int
        Maximum number of characters of a generation.
    """

    top_logprobs: int | None = setting(5, settings.integer, 0, 20)
    generation_chars: int = setting(4000, settings.integer, 1)


class Judge(Asking[GenerationSettings], Scorer):
    """Asks a language model whether a generation is right.

    Adds ``gpt_judgement``, the verdict as it was given; ``gpt_judgement_score``, 1 for right and 0
    for wrong; if the model gives log-probabilities, ``gpt_judgement_p_right``, in [0, 1]: the
    probability of right among right and wrong; and ``gpt_judgement_reason``, if it gives one.
    The model is not asked about refusals. The settings are :class:`GenerationSettings`, see
    :class:`~shroom.detectors.judge.asking.Asking`.

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
    kind = GenerationSettings
    needs_model = (
        "judge needs a model: the name of one that the endpoint serves, or a causal model on the "
        "hub or in a folder"
    )

    def __init__(
        self,
        settings: GenerationSettings,
        endpoint: EndpointSettings | None = None,
        budget: BudgetSettings | None = None,
    ) -> None:
        super().__init__(settings, endpoint, budget)
        local = self.endpoint.endpoint is None
        template = settings.template or ("word" if local else "reason")
        if local and template == "reason":
            raise ShroomError(
                'template: "reason" needs an endpoint; a model on this machine says yes or no, so '
                'give "word" or a template that asks for that'
            )
        self._templates, self._longest = TEMPLATES.read(template), settings.generation_chars
        body = settings.request(
            mode=settings.mode,
            temperature=0.0,
            max_tokens=_LONGEST_WORD if template == "word" else _LONGEST_REASON,
            top_logprobs=settings.top_logprobs or None,
        )
        self._local = Local(
            self.model,
            settings.revision,
            settings.mode,
            max_tokens=body["max_tokens"],
            cut="generations",
        )
        self._service = self.service(body, reading=_READING, shorter="lower generation_chars")

    @cached_property
    def identity(self) -> str:
        """All that the scores depend on besides the question."""
        parts = repr([template.parts for template in self._templates.values()])
        prompts = f"{hashlib.sha256(parts.encode()).hexdigest()[:12]} {self._longest}"
        if self._service is None:
            return f"judge {self._local.identity} {self._local.mode} {prompts}"
        return f"judge {self._service.key(self._service.body)} {prompts}"

    def prompt(self, question: str, answer: str, generation: str) -> Prompt:
        """Return the prompt about a generation, in the language of its question."""
        template = self._templates[CHINESE if language_of([question]) == CHINESE else ENGLISH]
        others = (("question", question), ("answer", answer))
        return Prompt(template, "generation", generation[: self._longest], others)

    def item(self, question: Question, place: int) -> Item:
        """Return the texts of the prompt."""
        return question.question, question.answer, question.generation[place].text

    def score(self, items: Sequence[Item], run: Run) -> Iterator[tuple[Item, Scores]]:
        """Yield the verdict on each generation, or the reason for its failure, as it arrives."""
        cut = sum(len(generation) > self._longest for _, _, generation in items)
        if cut:
            run.note(f"{cut} generations were cut to {self._longest} characters for the judge")
        if self._service:
            yield from self._asked(self._service, items, run)
        else:
            yield from super().score(items, run)

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the verdicts of a model on this machine."""
        scores: list[Scores] = []
        for answer in self._local.judgements([self.prompt(*item) for item in items], run):
            if answer.p is None:
                way_out = "a larger max_tokens" if answer.unfinished else "another template"
                scores.append(Failure(f"the model said neither yes nor no; give {way_out}"))
            else:
                right = answer.p < 0.5
                scores.append(_scores(Verdict("yes" if right else "no", right), 1 - answer.p))
        return scores

    def cost(self, items: Sequence[Item]) -> str:
        """Return a sentence on the requests that scoring would send, without sending them."""
        prompts = [self.prompt(*item) for item in items]
        if self._service is None:
            estimate = self._local.estimate(prompts)
            return f"{estimate.requests} prompts to a model on this machine, which only take time"
        requests = [self._service.request(str(prompt)) for prompt in prompts]
        return str(self._service.estimate(requests)).partition("\n")[0]

    def _asked(
        self, service: Service, items: Sequence[Item], run: Run
    ) -> Iterator[tuple[Item, Scores]]:
        """Yield the scores of the replies as they arrive; equal prompts share one request."""
        requests: dict[str, Request] = {}
        alike: dict[str, list[Item]] = {}
        for item in items:
            request = service.request(str(self.prompt(*item)))
            requests[request.key] = request
            alike.setdefault(request.key, []).append(item)
        for key, reply in until_hopeless(service, list(requests.values()), run):
            stored = service.settings.folder is not None
            scores = reply if isinstance(reply, Failure) else _read(reply, stored=stored)
            for item in alike[key]:
                yield item, scores


def until_hopeless(
    service: Service, requests: Sequence[Request], run: Run
) -> Iterator[tuple[str, Reply | Failure]]:
    """Yield the key and the reply of each distinct request, or the reason for its failure.

    After many failures in a row, or where the maximum cost would be exceeded, nothing more is sent.
    """
    left = dict.fromkeys(request.key for request in requests)
    failing, why = 0, ""
    try:
        with closing(service.answered(requests, run)) as replies:
            for key, reply in replies:
                del left[key]
                failed = isinstance(reply, ShroomError)
                yield key, Failure(str(reply)) if isinstance(reply, ShroomError) else reply
                failing = failing + 1 if failed else 0
                if failing == _HOPELESS:
                    why = f"not asked, since {failing} requests in a row failed: {reply}"
                    break
    except BudgetExhausted as error:
        why = str(error)
    yield from ((key, Failure(why)) for key in left)


def _read(reply: Reply, *, stored: bool) -> Scores:
    """Return the scores of a reply, or the reason for its failure."""
    verdict = verdict_of(reply.text)
    if verdict is None:
        paid = "is paid for and kept" if stored else "is paid for, and again with --resume"
        return Failure(
            f"the model said neither right nor wrong: {show(reply.text, 120)}; the reply {paid}, "
            "so give " + ("a larger max_tokens" if reply.unfinished else "another template")
        )
    return _scores(verdict, share_at(reply.verdict, side_of))


def _scores(verdict: Verdict, p: float | None) -> dict[str, Any]:
    more = {"gpt_judgement_p_right": p, "gpt_judgement_reason": verdict.reason}
    return {
        "gpt_judgement": verdict.word,
        "gpt_judgement_score": int(verdict.right),
        **{name: value for name, value in more.items() if value is not None},
    }
