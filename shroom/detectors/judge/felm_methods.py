"""A language model that is asked which of the numbered segments of a response are wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.detectors.judge.asking import MOST_SAMPLES, Asking
from shroom.inference.language_model.budget import Estimate
from shroom.inference.language_model.model import Question
from shroom.inference.language_model.prompts import TemplateKind
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


@dataclass(eq=False, repr=False, kw_only=True)
class SegmentJudge(Asking):
    """Asks a language model which segments of a response are wrong, as the authors of FELM did.

    All segments of a response are numbered in one prompt, and the answer is ``ALL_CORRECT`` or the
    numbers of the wrong ones. With ``mode="chat"`` the request and the reading of answers are those
    of FELM's program for GPT, with ``mode="completion"`` those for Vicuna. A model behind an
    endpoint is required. ``template`` is a name of :data:`SEGMENTS`, a file, or a folder with a
    file for each domain, by default that of the method. ``max_tokens`` is 100 by default, and
    ``temperature`` 0, or 0.9 with samples. No log-probabilities are requested. For the other
    settings, see :class:`~shroom.detectors.judge.asking.Asking`.

    Parameters
    ----------
    method : str
        One of FELM's methods; ``cot-cons`` is ``cot`` with several samples.
    samples : int, optional
        Number of answers to each prompt, of which the majority counts; 5 for ``cot-cons``, else 1.

    References
    ----------
    Chen et al. (2023), *FELM: Benchmarking Factuality Evaluation of Large Language Models*,
    section 4, and their program.

    Examples
    --------
    >>> judge = SegmentJudge(model="any", endpoint="http://localhost:8080/v1")
    >>> response = Response("wk", "How tall is Everest?", ["1. It is 8849 m high.", "2) In Asia."])
    >>> print(judge.dry_run([response]).prompt.split("inputs:")[-1].strip())
    Question: How tall is Everest?
    Segments: 1. It is 8849 m high.
    2. In Asia.
    """

    needs_model: ClassVar[str] = (
        "judging segments needs a model behind an endpoint: give --model NAME and "
        "--set endpoint=URL"
    )

    method: Literal["raw", "cot", "link", "content", "cot-cons"] = "raw"
    samples: Annotated[int, Meta(ge=1, le=MOST_SAMPLES)] | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if self.endpoint is None:
            raise ShroomError(self.needs_model)
        repeated = self.method == "cot-cons"
        self.n = self.samples or (_SAMPLES if repeated else 1)
        self._templates = SEGMENTS.read(self.template or ("cot" if repeated else self.method))
        self._chat = self.mode != "completion"
        self._model = self.asked(
            self.sampling(0.9 if self.n > 1 else 0.0, 100, self.n),
            shorter="take a method without references, such as raw",
            system=_SYSTEM if self._chat else None,
        )

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
        replies = iter(self._model.ask(self._questions(responses), run))
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
            advice = f"; {sum(unread)} of them are cut: give a larger max_tokens"
            run.note(
                f"{len(unread)} of {len(responses) * self.n} answers name no segment and are "
                "not ALL_CORRECT; they count as that, as in FELM's program"
                + (advice if any(unread) else "")
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
