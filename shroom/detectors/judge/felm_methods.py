"""A language model that is asked which of the numbered segments of a response are wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.detectors.judge.asking import Asking
from shroom.detectors.judge.budget import Estimate
from shroom.detectors.judge.prompts import SEGMENTS
from shroom.detectors.judge.service import Request
from shroom.detectors.judge.settings import (
    MOST_SAMPLES,
    BudgetSettings,
    EndpointSettings,
    PromptSettings,
    setting,
)
from shroom.inference.endpoint.answer import without_thought
from shroom.inference.run_settings import RUN, Run

#: FELM's methods, in the order of its page; ``cot-cons`` is ``cot`` with several samples.
METHODS = ("raw", "cot", "link", "content", "cot-cons")
#: Default number of samples of ``cot-cons``; FELM's program has no default.
_SAMPLES = 5
#: What a chat begins with, and what a prompt to a plain model ends with, as in FELM's program.
_SYSTEM = "You are a helpful assistant."
_START = "\nBelow are your outputs:\nAnswers:"


class Response(NamedTuple):
    """A response to be judged.

    Attributes
    ----------
    domain : str
        The domain, which decides on the prompt; an unknown one has that of world knowledge.
    question : str
        What the response answers.
    segments : sequence of str
        Its segments.
    links, passages : sequence of str
        The addresses of references, and texts of them.
    """

    domain: str
    question: str
    segments: Sequence[str]
    links: Sequence[str] = ()
    passages: Sequence[str] = ()


@dataclass(frozen=True)
class SegmentSettings(PromptSettings):
    """What is asked about segments, and how often.

    ``template`` is a name of :data:`~shroom.detectors.judge.prompts.SEGMENTS`, a file, or a folder
    with a file for each domain, by default that of the method. ``max_tokens`` is 100 by default,
    and ``temperature`` 0, or 0.9 with samples. No log-probabilities are requested.

    Attributes
    ----------
    method : str
        One of :data:`METHODS`.
    samples : int, optional
        Number of answers to each prompt, of which the majority counts; 5 for ``cot-cons``, else 1.
    """

    method: str = setting("raw", settings.one_of, METHODS)
    samples: int | None = setting(None, settings.integer, 1, MOST_SAMPLES)


class SegmentJudge(Asking[SegmentSettings]):
    """Asks a language model which segments of a response are wrong, as the authors of FELM did.

    All segments of a response are numbered in one prompt, and the answer is ``ALL_CORRECT`` or the
    numbers of the wrong ones. With ``mode="chat"`` the request and the reading of answers are those
    of FELM's program for GPT, with ``mode="completion"`` those for Vicuna. The settings are
    :class:`SegmentSettings`, see :class:`Asking`; a model behind an endpoint is required.

    Attributes
    ----------
    samples : int
        Number of answers to each prompt.

    References
    ----------
    Chen et al. (2023), *FELM: Benchmarking Factuality Evaluation of Large Language Models*,
    section 4, and their program.

    Examples
    --------
    >>> judge = SegmentJudge.from_settings(model="any", endpoint="http://localhost:8080/v1")
    >>> response = Response("wk", "How tall is Everest?", ["1. It is 8849 m high.", "2) In Asia."])
    >>> print(judge.dry_run([response]).prompt.split("inputs:")[-1].strip())
    Question: How tall is Everest?
    Segments: 1. It is 8849 m high.
    2. In Asia.
    """

    kind = SegmentSettings
    needs_model = (
        "judging segments needs a model behind an endpoint: give --model NAME and "
        "--set endpoint=URL"
    )

    def __init__(
        self,
        settings: SegmentSettings,
        endpoint: EndpointSettings | None = None,
        budget: BudgetSettings | None = None,
    ) -> None:
        super().__init__(settings, endpoint, budget)
        repeated = settings.method == "cot-cons"
        self.samples = settings.samples or (_SAMPLES if repeated else 1)
        body = settings.request(
            mode=settings.mode,
            temperature=0.9 if self.samples > 1 else 0.0,
            max_tokens=100,
            top_logprobs=None,
            samples=self.samples,
        )
        template = settings.template or ("cot" if repeated else settings.method)
        self._templates = SEGMENTS.read(template)
        self._chat = settings.mode != "completion"
        shorter = "take a method without references, such as raw"
        service = self.service(body, reading="segments 1", shorter=shorter)
        if service is None:
            raise ShroomError(self.needs_model)
        self._service = service

    def judge(
        self, responses: Sequence[Response], run: Run = RUN
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return the judgement on all segments of all responses, m in total.

        Responses with the same prompt share their answers.

        Returns
        -------
        wrong : array, shape [m]
            Whether a segment is wrong according to the majority of the samples, or the first
            sample where two halves disagree.
        p : array, shape [m]
            The share of samples according to which it is.
        """
        replies = iter(self._service.replies(self._requests(responses), run))
        wrong, p, unread = [np.empty(0, bool)], [np.empty(0)], []
        for response in responses:
            given = [next(replies) for _ in range(self.samples)]
            answers = [without_thought(reply.text) for reply in given]
            n = len(response.segments)
            flags = [wrong_segments(answer, n, chat=self._chat) for answer in answers]
            read = [any(f) or "_CORRECT" in a for f, a in zip(flags, answers)]
            unread += [reply.unfinished for reply, one in zip(given, read) if not one]
            share = np.mean(flags, axis=0)
            wrong.append(np.where(share == 0.5, flags[0], share > 0.5))
            p.append(share)
        if unread:
            advice = f"; {sum(unread)} of them are cut: give a larger max_tokens"
            run.note(
                f"{len(unread)} of {len(responses) * self.samples} answers name no segment and are "
                "not ALL_CORRECT; they count as that, as in FELM's program"
                + (advice if any(unread) else "")
            )
        return np.concatenate(wrong), np.concatenate(p)

    def dry_run(self, responses: Sequence[Response]) -> Estimate:
        """Return the requests and their cost, without sending them."""
        return self._service.estimate(self._requests(responses))

    def _requests(self, responses: Sequence[Response]) -> list[Request]:
        """Return the requests: for each response, one for each sample."""
        return [
            self._request(self._prompt(response), {} if self.samples == 1 else {"seed": seed})
            for response in responses
            for seed in range(self.samples)
        ]

    def _request(self, prompt: str, fields: dict[str, int]) -> Request:
        if not self._chat:
            return self._service.request(prompt + _START, **fields)
        roles = (("system", _SYSTEM), ("user", prompt))
        messages = [{"role": role, "content": text} for role, text in roles]
        return self._service.request(prompt, messages=messages, **fields)

    def _prompt(self, response: Response) -> str:
        # What comes before the first letter is cut off, as in FELM's program: it may be a number.
        segments = [re.sub("^[^a-zA-Z]*", "", segment) for segment in response.segments]
        template = self._templates.get(response.domain, self._templates["wk"])
        return template.fill(
            question=response.question,
            segments="".join(f"{n}. {text}\n" for n, text in enumerate(segments, 1)),
            links="".join(f"{link}\n" for link in response.links),
            passages="".join(f"{passage}\n" for passage in response.passages),
        )


def wrong_segments(answer: str, n: int, *, chat: bool = True) -> NDArray[np.bool_]:
    r"""Return which segments an answer calls wrong: shape [n].

    The rules are those of FELM's program, to the letter. In a chat, the numbers count that follow
    the first ``Answer:``, unless the answer contains ``ALL_CORRECT``. In a completion, all numbers
    of the text count, unless it contains ``ALL\_CORRECT``, with the backslash of Markdown. Numbers
    above n do not count, and 0 is the last segment.

    Examples
    --------
    >>> wrong_segments("Thought: In 2, 7 is wrong.\nAnswer: 2, 3", 4).tolist()
    [False, True, True, False]
    >>> wrong_segments("Answer: ALL_CORRECT", 2).tolist(), wrong_segments("2, I think", 2).tolist()
    ([False, False], [False, False])
    >>> wrong_segments(" 1,2", 2, chat=False).tolist()
    [True, True]
    """
    wrong = np.zeros(n, bool)
    listed = answer.partition("Answer: ")[2] if chat else answer
    if ("ALL_CORRECT" if chat else r"ALL\_CORRECT") not in answer:
        numbers = [int(digits) for digits in re.findall(r"\d+", listed) if len(digits) < 9]
        wrong[[number - 1 for number in numbers if number <= n]] = True
    return wrong
