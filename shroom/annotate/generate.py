"""Generating texts with a language model: answers and refusals to each question, or queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from shroom.annotate.base import Failure
from shroom.annotate.scorers.judge import until_hopeless
from shroom.annotate.words import CHINESE, language_of
from shroom.core.json_writing import json_digest
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, show
from shroom.core.result_log import ResultLog
from shroom.datasets.collection import items_of
from shroom.datasets.dreamcatcher import NORMAL, UNCERTAIN
from shroom.detectors import settings
from shroom.detectors.judge.asking import Asking
from shroom.detectors.judge.local import WITHOUT_TEMPLATE, loaded
from shroom.detectors.judge.prompts import Template
from shroom.detectors.judge.service import Service
from shroom.detectors.judge.settings import (
    BudgetSettings,
    EndpointSettings,
    PromptSettings,
    setting,
)
from shroom.inference import hub
from shroom.inference.endpoint.answer import opened_thought, without_thought
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import in_chat

#: Version of the code that reads replies: those that were read by another are requested again.
_READING = "generate 1"
#: The prompt of a refusal: to a question in Chinese, and to any other.
REFUSALS = {
    True: "{question}\n\n假设你缺乏回答这个问题所需的知识。"
    "请简短地回答说你不知道或不确定，不要给出答案。",
    False: "{question}\n\nSuppose that you lack the knowledge to answer this. Reply briefly that "
    "you do not know or are not sure, and give no answer.",
}
#: How many texts a model on this machine makes at a time.
_BATCH = 16


@dataclass(frozen=True)
class SamplingSettings(PromptSettings):
    """How texts are sampled: ``temperature`` is 0.8 and ``max_tokens`` 512 by default.

    Attributes
    ----------
    top_p : float
        Sample only from the most probable tokens that have this probability together.
    seed : int
        Seed of the sampling.
    """

    top_p: float | None = setting(None, settings.number, 0.001, 1)
    seed: int = setting(0, settings.integer)


class Item(NamedTuple):
    """A wanted text: its type, its prompt, and its number among those of the same prompt."""

    kind: str
    prompt: str
    number: int


class Answers:
    """The answers and refusals that are wanted for each question.

    Parameters
    ----------
    normal, refusals : int
        Number of answers and of refusals to each question.
    template : str
        Prompt of an answer, with ``{question}``.
    refusal : str, optional
        Prompt of a refusal, with ``{question}``; by default ``REFUSALS``, in Chinese if the
        question is in Chinese.

    Examples
    --------
    >>> for item in Answers(normal=2, refusals=1).items("Who?"):
    ...     print(item.kind, item.number, item.prompt.split(chr(10))[0])
    normal 0 Who?
    normal 1 Who?
    uncertainty 0 Who?
    """

    def __init__(
        self,
        normal: int = 5,
        refusals: int = 5,
        template: str = "{question}",
        refusal: str | None = None,
    ) -> None:
        self._n = {NORMAL: normal, UNCERTAIN: refusals}
        self._normal = _template("template", template)
        self._refusals = {
            chinese: _template("refusal", refusal or form) for chinese, form in REFUSALS.items()
        }

    def items(self, question: str) -> list[Item]:
        """Return the generations that are wanted for a question."""
        refusal = self._refusals[language_of([question]) == CHINESE]
        return [
            Item(kind, template.fill(question=question), number)
            for kind, template in ((NORMAL, self._normal), (UNCERTAIN, refusal))
            for number in range(self._n[kind])
        ]


class Texts(ResultLog[str, Mapping[str, Any]]):
    """The generations that a run has made so far."""

    kind: ClassVar[str] = "generations"

    def add(self, key: str, fields: Mapping[str, Any]) -> None:
        """Store the fields of a generation."""
        self.write([key, fields])
        self.known[key] = fields

    @staticmethod
    def parse(record: Any) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the key and the fields of a generation."""
        key, fields = record
        if not isinstance(fields, Mapping):
            raise TypeError("expected fields")
        return [(str(key), fields)]


class Generator(Asking[SamplingSettings]):
    """Continues prompts by a model behind an endpoint or on this machine.

    The settings are :class:`SamplingSettings`; see
    :class:`~shroom.detectors.judge.asking.Asking`.
    """

    kind = SamplingSettings
    needs_model = "model: is missing; name one of the endpoint, the hub, or a folder"
    #: Fields that requests do not have, so that the server's own values hold.
    unsent: tuple[str, ...] = ()

    def __init__(
        self,
        settings: SamplingSettings,
        endpoint: EndpointSettings | None = None,
        budget: BudgetSettings | None = None,
    ) -> None:
        super().__init__(settings, endpoint, budget)
        self._body = settings.request(
            mode=settings.mode, temperature=0.8, max_tokens=512, top_logprobs=None
        )
        if settings.top_p is not None:
            self._body["top_p"] = settings.top_p
        self._service = self.service(self._body, reading=_READING, shorter="give shorter prompts")

    @property
    def spent(self) -> float | None:
        """The cost of the requests so far; ``None`` without an endpoint or without prices."""
        return self._service.budget.spent if self._service and self.budget.priced else None

    @cached_property
    def identity(self) -> str:
        """Everything that the generations depend on besides their prompts."""
        if self._service:
            return self._service.key({**self._body, "seed": self.settings.seed})
        model = hub.identity(str(self.settings.model), self.settings.revision)
        return f"{model} {self.settings.mode} {self._body} {self.settings.seed}"

    def key(self, item: Item) -> str:
        """Return what identifies a generation in the log."""
        return json_digest([self.identity, *item])[:32]

    def cost(self, items: Sequence[Item]) -> str:
        """Return a sentence on the requests for generations, without sending them."""
        if self._service is None:
            return f"{len(items)} generations by a model on this machine, which only take time"
        requests = [self._request(self._service, item) for item in items]
        return str(self._service.estimate(requests)).partition("\n")[0]

    def generate(self, items: Sequence[Item], run: Run) -> Iterator[tuple[Item, str | Failure]]:
        """Yield each text as it is made, which may be empty, or the reason for its failure."""
        if self._service:
            owners: dict[str, list[Item]] = {}
            requests = {item: self._request(self._service, item) for item in items}
            for item, request in requests.items():
                owners.setdefault(request.key, []).append(item)
            for key, reply in until_hopeless(self._service, list(requests.values()), run):
                text = reply if isinstance(reply, Failure) else without_thought(reply.text).strip()
                yield from ((item, text) for item in owners[key])
        elif items:
            model = _Local(self.settings, self._body, run)
            numbers: dict[tuple[str, str], list[Item]] = {}
            for item in items:
                numbers.setdefault(item[:2], []).append(item)
            done = 0
            for (_, prompt), pending in numbers.items():
                # Always from the first on: what a resumed run makes does not depend on the kill.
                texts = model.texts(prompt, max(item.number for item in pending) + 1)
                yield from ((item, texts[item.number]) for item in pending)
                done += len(pending)
                run.report(done, len(items))

    def _request(self, service: Service, item: Item) -> Any:
        request = service.request(item.prompt, seed=self.settings.seed + item.number)
        sent = {key: value for key, value in request.body.items() if key not in self.unsent}
        return request._replace(body=sent)


class _Local:
    """A causal model on this machine that continues prompts."""

    def __init__(self, sampling: SamplingSettings, body: Mapping[str, Any], run: Run) -> None:
        self._name, self._body, self._seed = str(sampling.model), body, sampling.seed
        self._tokenizer, self._model, mode, self._room = loaded(
            self._name, sampling.revision, sampling.mode, run.device
        )
        self._chat = mode == "chat"

    def texts(self, prompt: str, n: int) -> list[str]:
        """Return n continuations; the same prompt and seed give the same ones."""
        import torch

        if self._chat:
            turns = [("user", prompt)]
            prompt = in_chat(
                self._tokenizer, self._name, turns, asks=True, way_out=WITHOUT_TEMPLATE
            )
        ids = self._tokenizer(prompt, add_special_tokens=not self._chat)["input_ids"]
        longest = min(self._body["max_tokens"], self._room - 1)
        start = torch.tensor([ids[-(self._room - longest) :]], device=self._model.device)
        temperature, top_p = self._body["temperature"], self._body.get("top_p", 1.0)
        sampling: dict[str, Any] = {"do_sample": temperature > 0}
        if temperature:
            sampling |= {"temperature": temperature, "top_p": top_p, "top_k": 0}
        texts: list[str] = []
        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(int(json_digest([self._seed, prompt])[:8], 16))
            for first in range(0, n, _BATCH):
                rows = self._model.generate(
                    input_ids=start,
                    attention_mask=torch.ones_like(start),
                    max_new_tokens=longest,
                    num_return_sequences=min(_BATCH, n - first),
                    pad_token_id=self._tokenizer.pad_token_id,
                    **sampling,
                )
                new = rows[:, start.shape[1] :]
                texts += self._tokenizer.batch_decode(new, skip_special_tokens=True)
        opened = opened_thought(prompt) if self._chat else ""
        return [without_thought(opened + text).strip() for text in texts]


def read_rows(*paths: Source, problems: Problems | None = None) -> list[dict[str, Any]]:
    """Return the rows of files, each of which has a question.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors, or no question at all.
    """
    problems = Problems() if problems is None else problems
    questions: list[dict[str, Any]] = []
    for document, rows in items_of(paths, problems):
        for index, row in enumerate(rows):
            question = row.get("question") if isinstance(row, dict) else None
            if isinstance(question, str) and question.strip():
                questions.append(row)
            else:
                expected = 'an object with the key "question", a text'
                problems.add("key-missing", document.file, expected, show(row), index=index)
    if not questions and not problems.errors:
        problems.add("empty", ", ".join(map(str, paths)), "questions", "none")
    if problems.errors:
        raise InvalidInput(problems)
    return questions


def with_generations(
    row: Mapping[str, Any], items: Sequence[Item], texts: Sequence[str | None]
) -> dict[str, Any]:
    """Return a row with generations after those that it has; ``None`` marks a missing one.

    Examples
    --------
    >>> with_generations({"question": "Who?"}, [Item("normal", "Who?", 0)], ["Ada."])
    {'question': 'Who?', 'generation': [{'text': 'Ada.', 'type': 'normal'}]}
    """
    before = row.get("generation")
    added = [{"text": text, "type": item.kind} for item, text in zip(items, texts) if text]
    return {**row, "generation": [*(before if isinstance(before, list) else []), *added]}


def _template(name: str, form: str) -> Template:
    return Template.parse(form, name, ("question",), ("question",))
