"""FELM's methods: ask a language model which numbered segments of a response are wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.detectors.arrays import Flags, Floats
from shroom.detectors.judge.asking import MOST_SAMPLES, Asking, longer_answers
from shroom.inference.language_model.model import Estimate, Question, TemplateKind, in_order
from shroom.inference.run_settings import RUN, Run

_FOLDER = Path(__file__).parent / "templates" / "felm"
#: The templates about numbered segments: the prompts of FELM, with a variant for each domain.
SEGMENTS = TemplateKind(
    {name: _FOLDER / name for name in ("raw", "cot", "link", "content")},
    variants=("wk", "science", "reasoning", "math"),
    places=("question", "segments", "links", "passages"),
    needed=("question", "segments"),
)
#: Default number of samples of ``cot-cons``; FELM's program has no default.
_SAMPLES = 5
#: What a chat begins with, and what a prompt to a plain model ends with, as in FELM's program.
_SYSTEM = "You are a helpful assistant."
_START = "\nBelow are your outputs:\nAnswers:"


class Response(NamedTuple):
    """A response to be judged; an unknown domain has the prompt of world knowledge."""

    domain: str
    question: str
    segments: Sequence[str]
    links: Sequence[str] = ()
    passages: Sequence[str] = ()


@dataclass(eq=False, repr=False, kw_only=True)
class SegmentJudge(Asking):
    """Asks which segments of a response are wrong, like FELM's program (Chen et al. 2023)."""

    # Chat mode is that for GPT, completion mode that for Vicuna. ``cot-cons`` is ``cot`` with
    # samples.

    needs_model: ClassVar[str] = (
        "to judge segments, use a model at an endpoint: specify --model NAME and --set endpoint=URL"
    )

    method: Literal["raw", "cot", "link", "content", "cot-cons"] = "raw"
    samples: Annotated[int, Meta(ge=1, le=MOST_SAMPLES)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.endpoint is None:
            raise ShroomError(self.needs_model)
        repeated = self.method == "cot-cons"
        self.n = self.samples or (_SAMPLES if repeated else 1)
        self._templates = SEGMENTS.read(self.template or ("cot" if repeated else self.method))
        self._chat = self.mode != "completion"
        self._model = self.asked(
            self.sampling(0.9 if self.n > 1 else 0.0, 100, self.n),
            system=_SYSTEM if self._chat else None,
        )

    def judge(self, responses: Sequence[Response], run: Run = RUN) -> tuple[Flags, Floats]:
        """Return whether most samples call each segment wrong, and the share of these samples."""
        replies = iter(in_order(self._model.answers(self._questions(responses), run)))
        wrong, p, unread = [np.empty(0, bool)], [np.empty(0)], []
        for response in responses:
            given = [next(replies) for _ in range(self.n)]
            n = len(response.segments)
            flags = [wrong_segments(reply.text, n, chat=self._chat) for reply in given]
            read = [any(f) or "_CORRECT" in reply.text for f, reply in zip(flags, given)]
            unread += [reply.unfinished for reply, one in zip(given, read) if not one]
            share = np.mean(flags, axis=0)
            wrong.append(np.where(share == 0.5, flags[0], share > 0.5))
            p.append(share)
        if unread:
            verb = "counts" if len(unread) == 1 else "count"
            run.note(
                f"{len(unread)} of {counted(len(responses) * self.n, 'answer')} {verb} as "
                "ALL_CORRECT, as in FELM's program, because the model named no segment"
                f"{longer_answers(unread)}"
            )
        return np.concatenate(wrong), np.concatenate(p)

    def dry_run(self, responses: Sequence[Response]) -> Estimate:
        """Return the requests and their cost, without sending them."""
        return self._model.estimate(self._questions(responses))

    def _questions(self, responses: Sequence[Response]) -> list[Question]:
        """Return the questions: for each response, one for each sample."""
        numbers = range(self.n) if self.n > 1 else [None]
        prompts = map(self._prompt, responses)
        return [Question(prompt, number) for prompt in prompts for number in numbers]

    def _prompt(self, response: Response) -> str:
        # What comes before the first letter is cut off, as in FELM's program: it may be a number.
        segments = [re.sub("^[^a-zA-Z]*", "", segment) for segment in response.segments]
        template = self._templates.get(response.domain, self._templates["wk"])
        filled = template.fill(
            question=response.question,
            segments="".join(f"{n}. {text}\n" for n, text in enumerate(segments, 1)),
            links="".join(f"{link}\n" for link in response.links),
            passages="".join(f"{passage}\n" for passage in response.passages),
        )
        return filled if self._chat else filled + _START


def wrong_segments(answer: str, n: int, *, chat: bool = True) -> Flags:
    """Return which segments an answer calls wrong, by the rules of FELM's program: shape [n]."""
    # In a chat, numbers after the first ``Answer:``; in a completion all numbers, and
    # ``ALL\_CORRECT`` has the backslash of Markdown. Numbers above n do not count, and 0 is the
    # last segment.
    wrong = np.zeros(n, bool)
    listed = answer.partition("Answer: ")[2] if chat else answer
    if ("ALL_CORRECT" if chat else r"ALL\_CORRECT") not in answer:
        numbers = [int(digits) for digits in re.findall(r"\d+", listed) if len(digits) < 9]
        wrong[[number - 1 for number in numbers if number <= n]] = True
    return wrong
