"""The judge: a language model decides whether a generation is right, given the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Meta

from shroom.annotate.base import Item, Scorer, Scores, slices
from shroom.annotate.words import CHINESE, ENGLISH, language_of
from shroom.core.json_writing import json_digest
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, show
from shroom.datasets.dreamcatcher import Question as Asked
from shroom.detectors.judge.asking import Asking
from shroom.detectors.judge.verdicts import (
    judgement,
    share_at,
    side_of,
    step_of_verdict,
    verdict_of,
)
from shroom.inference.language_model.model import Question, Reply, TemplateKind
from shroom.inference.run_settings import Run

_FOLDER = Path(__file__).parent / "templates"
_PLACES = ("question", "answer", "generation")
#: The scorer's templates, with a variant for each language.
TEMPLATES = TemplateKind(
    {name: _FOLDER / name for name in ("reason", "word")}, (CHINESE, ENGLISH), _PLACES, _PLACES
)


@dataclass(eq=False, repr=False, kw_only=True)
class Judge(Asking, Scorer):
    """Asks a language model whether a generation is right."""

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449: their program asks
    # one model for a reason and a verdict as JSON, as the template ``reason`` does.

    name = "judge"
    fields = (
        "gpt_judgement",
        "gpt_judgement_score",
        "gpt_judgement_p_right",
        "gpt_judgement_reason",
    )
    needs_model: ClassVar[str] = (
        "the scorer 'judge' needs a model: specify the name of a model at the endpoint, or a "
        "causal model on the hub or in a folder"
    )

    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        local = self.endpoint is None
        template = self.template or ("word" if local else "reason")
        if local and template == "reason":
            raise ShroomError(
                'template: "reason" needs an endpoint; for a model on this machine use "word", or '
                "a template that asks for yes or no"
            )
        self._templates = TEMPLATES.read(template)
        self._model = self.asked(
            self.sampling(0.0, 8 if template == "word" else 512),
            logprobs=self.top_logprobs or None,
            words=("yes", "no"),
        )

    @cached_property
    def identity(self) -> str:
        templates = [template.parts for template in self._templates.values()]
        about = (self.endpoint, self.mode, self.temperature, self.max_tokens, self.top_logprobs)
        return f"judge {self._model.identity} {json_digest([*about, templates])}"

    def item(self, question: Asked, place: int) -> Item:
        return question.question, question.answer, question.generation[place].text

    def score(self, items: Sequence[Item], run: Run) -> Iterator[tuple[Item, Scores]]:
        """Yield the verdict on each generation, or the reason for its failure, as it arrives."""
        local = self.endpoint is None
        parts = slices(items, lambda item: len(str(item)), run) if local else [(items, run)]
        for part, within in parts:
            for place, reply in self._model.answers(self._questions(part), within):
                scores = reply if isinstance(reply, ShroomError) else _scores(reply, local=local)
                yield part[place], scores

    def cost(self, items: Sequence[Item]) -> str:
        """Return a sentence about the number and the cost of the requests; none is sent."""
        estimate = self._model.estimate(self._questions(items))
        if self.endpoint is None:
            return f"{counted(estimate.requests, 'prompt')} to a model on this machine, at no cost"
        return str(estimate).partition("\n")[0]

    def _questions(self, items: Sequence[Item]) -> list[Question]:
        """Return the prompts for items, each in the language of its question."""
        questions = []
        for question, answer, generation in items:
            template = self._templates[CHINESE if language_of([question]) == CHINESE else ENGLISH]
            filled = template.fill(question=question, answer=answer, generation=generation)
            questions.append(Question(filled))
        return questions


def _scores(reply: Reply, *, local: bool) -> Scores:
    """Return the scores of a reply, or why there are none."""
    p_wrong = judgement(reply, exact=True).p if local else None
    if p_wrong is not None:
        word, right = ("yes", 1) if p_wrong < 0.5 else ("no", 0)
        return dict(zip(Judge.fields, (word, right, 1 - p_wrong)))
    verdict = verdict_of(reply.text)
    if verdict is None:
        change = "a larger max_tokens" if reply.unfinished else "another template"
        return ShroomError(
            f'the reply says neither "right" nor "wrong": {show(reply.text, 120)}; run again '
            f"with --resume and {change}"
        )
    p = share_at(step_of_verdict(reply), side_of)
    scores = dict(zip(Judge.fields, (verdict.word, int(verdict.right), p, verdict.reason)))
    return {name: value for name, value in scores.items() if value is not None}
