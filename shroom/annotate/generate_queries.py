"""Generate debate queries from examples, as davinci-debate was made from its seeds."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from shroom.annotate.generate import Generator, Item
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.datasets.queries import folded, is_debate_question

#: The form of each example and the text around the examples, by the name of the prompt. The
#: source's prompt is quoted from davinci_debate/generate_questions.py of
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
#: Decoration of a line in chats: list markers, labels, quotes, asterisks.
_MARK = re.compile(r"(?:[-•–]\s+|\d+[.)]\s+|(?:debate )?(?:question|query):)[*\s]*", re.IGNORECASE)
_AROUND = " *_`\"'“”‘’"

EMPTY, NO_QUESTION, DUPLICATE = "empty", "not a debate question", "duplicate"
#: Reasons for dropping an answer.
REASONS = (DUPLICATE, NO_QUESTION, EMPTY)


class SourceGenerator(Generator):
    """Sends only the fields that the source's program sends with its prompt."""

    unsent: ClassVar[tuple[str, ...]] = ("temperature", "top_p", "seed")


class Prompts:
    """The calls and their prompts, which do not depend on answers."""

    # Each prompt shows distinct seed queries, drawn by the random seed and the number of the call.

    def __init__(
        self, seeds: Iterable[str], prompt: str = "kit", examples: int = 10, seed: int = 0
    ) -> None:
        # A line break in a seed would split it into two examples.
        self.seeds = list(dict.fromkeys(" ".join(text.split()) for text in seeds))
        self._example, self._template = PROMPTS[prompt]
        self._examples, self._seed = examples, seed
        if len(self.seeds) < examples:
            raise ShroomError(
                f"each prompt needs {counted(examples, 'seed query')}, but there "
                f"{'is' if len(self.seeds) == 1 else 'are'} only "
                f"{counted(len(self.seeds), 'distinct query')}; lower --examples, or "
                "add seed queries"
            )

    def items(self, n: int) -> list[Item]:
        """Return the first n calls; calls with the same prompt have different numbers."""
        items, seen = [], Counter[str]()
        for call in range(n):
            # A string as seed gives the same draw in every version of Python.
            draw = random.Random(f"{self._seed} {call}")  # noqa: S311 - no secret
            queries = draw.sample(self.seeds, self._examples)
            lines = "\n".join(self._example.format(query=query) for query in queries)
            prompt = self._template.format(examples=lines)
            items.append(Item("query", prompt, seen[prompt]))
            seen[prompt] += 1
        return items


def first_line(answer: str) -> str:
    """Return the first line of an answer that is not blank, without decoration."""
    lines = (" ".join(line.split()) for line in answer.splitlines())
    line = next(filter(None, lines), "").strip(_AROUND)
    return _MARK.sub("", line, count=1).strip(_AROUND) if _MARK.match(line) else line


@dataclass
class Queries:
    """The new queries, the number of calls, and the number of dropped answers by reason."""

    queries: list[str] = field(default_factory=list)
    calls: int = 0
    dropped: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(REASONS, 0)))


def generate(
    n: int, prompts: Prompts, ask: Callable[[Sequence[Item]], Mapping[Item, str]], patience: int
) -> Queries:
    """Return n new queries, or fewer if ``patience`` consecutive calls return none."""
    result, known, barren = Queries(), set(map(folded, prompts.seeds)), 0
    while len(result.queries) < n and barren < patience:
        more = min(n - len(result.queries), patience - barren)  # as many as are needed at least
        items = prompts.items(result.calls + more)[result.calls :]
        answers = ask(items)
        for item in items:
            query = first_line(answers[item])
            result.calls += 1
            barren += 1
            if not is_debate_question(query):
                result.dropped[NO_QUESTION if query else EMPTY] += 1
            elif folded(query) in known:
                result.dropped[DUPLICATE] += 1
            else:
                result.queries.append(query)
                known.add(folded(query))
                barren = 0
    return result
