"""New debate queries from examples, as davinci-debate was made from its seeds.

One call after another shows a language model some of the seeds, until there are enough new queries
or no more come. Each call is logged, so that no answer is requested twice.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from shroom.core.json_writing import json_digest
from shroom.core.problems import ShroomError
from shroom.core.result_log import ResultLog
from shroom.datasets.queries.near_duplicates import REASONS, Screen
from shroom.inference.endpoint.answer import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from shroom.inference.endpoint.client import Endpoint

#: The form of each example and the text around the examples, by the name of the prompt.
#: That of the source is quoted from davinci_debate/generate_questions.py of
#: github.com/nelson-liu/evaluating-verifiability-in-generative-search-engines (MIT).
PROMPTS = {
    "kit": (
        "{query}",
        """\
Here are questions for debate, one on each line:

{examples}

Write one more question for debate, about another matter than any of these.
It has the word "should" and ends with a question mark.
Answer with the question alone, on one line.""",
    ),
    "source": (
        "Question: {query}",
        """\
An intelligent computer system is constructed. It is friendly and safe. \
The system generates debate questions that can be used to have interesting \
discussions between people. The questions the system came up with are:

{examples}
Question:""",
    ),
}
MODES = ("chat", "completion")


@dataclass(frozen=True)
class Settings:
    """All that answers and screening depend on, except the seeds.

    Attributes
    ----------
    model : str or None
        Name of the model at the endpoint; by default the server's own.
    prompt : str
        ``"kit"``, or ``"source"`` for the words that davinci-debate was made with.
    mode : str
        The kind of request: ``"chat"``, or ``"completion"``, which the source sent.
    examples : int
        Number of examples in a prompt.
    seed : int
        Seed of the examples, and of the server's sampling.
    threshold : float
        The ROUGE-L F from which a question is a near-duplicate, in (0, 1].
    temperature : float
        Sampling temperature of the model.
    max_tokens : int
        Maximum length of an answer.
    """

    model: str | None = None
    prompt: str = "kit"
    mode: str = "chat"
    examples: int = 10
    seed: int = 0
    threshold: float = 0.7
    temperature: float = 1.0
    max_tokens: int = 100


class Prompts:
    r"""The prompt of each call.

    Parameters
    ----------
    seeds : iterable of str
        The texts that examples are drawn from, without repetitions.
    settings : Settings
        The kind of prompt, the number of examples in it, and the seed of the draws, which depend on
        the number of the call as well.

    Raises
    ------
    ShroomError
        If there are fewer distinct seeds than examples.

    Examples
    --------
    >>> prompts = Prompts(["Should zoos close?", "Should art be free?"], Settings(examples=1))
    >>> print(prompts.of(0).split("\n")[2])
    Should art be free?
    """

    def __init__(self, seeds: Iterable[str], settings: Settings) -> None:
        # A line break in a seed would split it into two examples.
        self.seeds = list(dict.fromkeys(" ".join(text.split()) for text in seeds))
        self.settings = settings
        if len(self.seeds) < settings.examples:
            raise ShroomError(
                f"the seeds are {len(self.seeds)} distinct queries, and a prompt has "
                f"{settings.examples} examples; give fewer --examples, or more seeds"
            )

    @property
    def digest(self) -> str:
        """Digest of the words of the prompt and the seeds."""
        return json_digest([PROMPTS[self.settings.prompt], self.seeds])[:16]

    def of(self, call: int) -> str:
        """Return the prompt of a call, which does not depend on other calls."""
        example, template = PROMPTS[self.settings.prompt]
        # A string as seed gives the same draw in every version of Python.
        draw = random.Random(f"{self.settings.seed} {call}")  # noqa: S311 - no secret
        queries = draw.sample(self.seeds, self.settings.examples)
        return template.format(examples="\n".join(example.format(query=q) for q in queries))


class Log(ResultLog[int, str]):
    """The answer to each call by its number, and the query in it.

    Failed calls are logged for the user, and made again on resuming.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "queries.jsonl.log"
    >>> with Log(path, {"seed": 0}).open() as log:
    ...     log.add({"call": 0, "answer": "Should cats vote?"})
    >>> Log(path, {"seed": 0}, resume=True).read().known
    {0: 'Should cats vote?'}
    """

    kind: ClassVar[str] = "calls"

    def add(self, call: Mapping[str, Any]) -> None:
        """Store a call."""
        self.write(call)
        self.known.update(self.parse(call))

    @staticmethod
    def parse(record: Any) -> list[tuple[int, str]]:
        """Return the number and the answer of a call; nothing for a failed call."""
        if "error" in record:
            return []
        call, answer = record["call"], record["answer"]
        if not isinstance(call, int) or not isinstance(answer, str):
            raise TypeError("expected a call and its answer")
        return [(call, answer)]


@dataclass(frozen=True)
class Generation:
    """The result of a run.

    Attributes
    ----------
    queries : tuple of str
        The new queries, in their order.
    calls : int
        Number of answers, including those of earlier runs.
    dropped : dict of int
        Number of dropped answers, by reason.
    complete : bool
        Whether there are as many queries as requested.
    """

    queries: tuple[str, ...]
    calls: int
    dropped: dict[str, int]
    complete: bool


def generate(
    n: int,
    *,
    prompts: Prompts,
    endpoint: Endpoint,
    log: Log,
    patience: int,
    report: Callable[[int, int], object] = lambda *_: None,
) -> Generation:
    """Return n new queries, or fewer if ``patience`` calls in a row give none.

    The result of a call depends only on its answer and on the calls before it, so answers from the
    log and from the endpoint give the same queries.

    Parameters
    ----------
    n : int
        Number of queries.
    prompts : Prompts
        The prompts, with the settings of the run.
    endpoint : Endpoint
        Where requests are sent.
    log : Log
        An open log, whose answers are not requested again.
    patience : int
        Number of calls in a row that may give nothing new.
    report : callable
        Receives the numbers of queries and of calls after each call.

    Raises
    ------
    ShroomError
        If a request fails. The answers so far are in the log.
    """
    screen = Screen(prompts.seeds, threshold=prompts.settings.threshold)
    queries: list[str] = []
    dropped = Counter(dict.fromkeys(REASONS, 0))
    call = barren = 0
    while len(queries) < n and barren < patience:
        logged = call in log.known
        prompt = prompts.of(call)
        answer = log.known[call] if logged else _ask(call, prompt, prompts.settings, endpoint, log)
        screened = screen.judge(answer)
        if not logged:
            verdict = "dropped" if screened.why else "kept"
            line = {"call": call, "prompt": prompt, "answer": answer, "verdict": verdict}
            log.add({**line, **asdict(screened)})
        if screened.why:
            dropped[screened.why] += 1
            barren += 1
        else:
            queries.append(screened.query)
            barren = 0
        call += 1
        report(len(queries), call)
    return Generation(tuple(queries), call, dict(dropped), len(queries) == n)


def _ask(call: int, prompt: str, settings: Settings, endpoint: Endpoint, log: Log) -> str:
    """Return the endpoint's answer; log the error if there is none."""
    body = {
        **({} if settings.model is None else {"model": settings.model}),
        **endpoint.prompt(prompt),
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "seed": settings.seed + call,
    }
    try:
        return text_of(endpoint.ask(body))
    except ShroomError as error:
        log.add({"call": call, "prompt": prompt, "error": str(error)})
        raise
