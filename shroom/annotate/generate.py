"""Generate texts with a language model: answers and refusals to questions, or debate queries."""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

from msgspec import Meta

from shroom.annotate.generations import read_each
from shroom.annotate.words import CHINESE, ENGLISH, language_of
from shroom.core.json_reading import BROKEN
from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.core.problems import Problems, ShroomError, show
from shroom.datasets.dreamcatcher import NORMAL, UNCERTAIN
from shroom.datasets.queries import folded, is_debate_question
from shroom.detectors.judge.asking import Asking
from shroom.detectors.settings import Natural
from shroom.inference.language_model.model import Question, Template
from shroom.inference.run_settings import Run

_PROMPTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
#: The prompts of a refusal by language.
REFUSALS: dict[str, str] = _PROMPTS["refusals"]
#: The form of each example and the text around the examples, by the name of the prompt.
QUERIES: dict[str, dict[str, str]] = _PROMPTS["queries"]


class Item(NamedTuple):
    """A text to generate: its type, its prompt, and its number among texts of this prompt."""

    kind: str
    prompt: str
    number: int


@dataclass
class Answers:
    """The answers and refusals to generate for each question: their numbers and prompts."""

    normal: int = 5
    refusals: int = 5
    template: str = "{question}"
    refusal: str | None = None  # by default a prompt in the question's language

    def __post_init__(self) -> None:
        self._normal = _template("template", self.template)
        forms = {language: self.refusal or form for language, form in REFUSALS.items()}
        self._refusals = {it: _template("refusal", form) for it, form in forms.items()}

    def items(self, question: str) -> list[Item]:
        language = CHINESE if language_of([question]) == CHINESE else ENGLISH
        normal = self._normal.fill(question=question)
        refusal = self._refusals[language].fill(question=question)
        return [
            *(Item(NORMAL, normal, number) for number in range(self.normal)),
            *(Item(UNCERTAIN, refusal, number) for number in range(self.refusals)),
        ]


def _template(name: str, form: str) -> Template:
    return Template.parse(form, name, ("question",), ("question",))


@dataclass(eq=False, repr=False, kw_only=True)
class Generator(Asking):
    """Continues prompts with a model behind an endpoint or on this machine."""

    needs_model: ClassVar[str] = (
        "no model; specify a folder, or the name of a model at the endpoint or on the hub"
    )
    #: Fields that requests leave out, so that the server's defaults apply.
    unsent: ClassVar[tuple[str, ...]] = ()

    top_p: Annotated[float, Meta(ge=0.001, le=1)] | None = None
    seed: Natural = 0  # random seed of the sampling

    def __post_init__(self) -> None:
        super().__post_init__()
        sampling = self.sampling(0.8, 512, seed=self.seed, top_p=self.top_p)
        self._model = self.asked(sampling, unsent=self.unsent)

    def cost(self, items: Sequence[Item], run: Run) -> str:
        """Return a sentence about the number and the cost of the requests; none is sent."""
        if self.endpoint is None:
            return f"{counted(len(items), 'generation')} by a model on this machine, at no cost"
        return str(self._model.estimate(_questions(items), run)).partition("\n")[0]

    def generate(self, items: Sequence[Item], run: Run) -> Iterator[tuple[Item, str | ShroomError]]:
        """Yield each item with its text, which may be empty, or its error, as they arrive."""
        for place, reply in self._model.answers(_questions(items), run):
            yield items[place], reply if isinstance(reply, ShroomError) else reply.text.strip()


def _questions(items: Sequence[Item]) -> list[Question]:
    return [Question(item.prompt, item.number) for item in items]


def read_rows(*paths: Source, problems: Problems | None = None) -> list[dict[str, Any]]:
    """Return the rows of files, each of which has a question."""
    problems = Problems() if problems is None else problems

    def with_questions(file: str, rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
        for index, row in enumerate(rows):
            question = row.get("question") if isinstance(row, dict) else None
            if isinstance(question, str) and question.strip():
                yield row
            elif row is not BROKEN:
                expected = 'an object with a text under "question"'
                problems.add("key-missing", file, expected, show(row), index=index)

    return read_each(with_questions, "questions", paths, problems)


def with_generations(
    row: Mapping[str, Any], items: Sequence[Item], texts: Mapping[Item, str]
) -> dict[str, Any]:
    """Return a row with new generations appended, as far as there are texts for its items."""
    before = row.get("generation")
    added = [{"text": texts[item], "type": item.kind} for item in items if item in texts]
    return {**row, "generation": [*(before if isinstance(before, list) else []), *added]}


#: Decoration of a line in chats: list markers, labels, quotes, asterisks.
_MARK = re.compile(r"(?:[-•–]\s+|\d+[.)]\s+|(?:debate )?(?:question|query):)[*\s]*", re.IGNORECASE)
_AROUND = " *_`\"'“”‘’"


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
        self._prompt, self._examples, self._seed = QUERIES[prompt], examples, seed
        if len(self.seeds) < examples:
            raise ShroomError(
                f"each prompt needs {counted(examples, 'seed query')}, but only {len(self.seeds)} "
                "are distinct; lower --examples, or add seed queries"
            )

    def items(self, n: int) -> list[Item]:
        """Return the first n calls; calls with the same prompt have different numbers."""
        items, seen = [], Counter[str]()
        for call in range(n):
            # A string as seed gives the same draw in every version of Python.
            draw = random.Random(f"{self._seed} {call}")  # noqa: S311 - no secret
            queries = draw.sample(self.seeds, self._examples)
            lines = "\n".join(self._prompt["example"].format(query=query) for query in queries)
            prompt = self._prompt["template"].format(examples=lines)
            items.append(Item("query", prompt, seen[prompt]))
            seen[prompt] += 1
        return items


def first_line(answer: str) -> str:
    """Return the first line of an answer that is not blank, without decoration."""
    lines = (" ".join(line.split()) for line in answer.splitlines())
    line = next(filter(None, lines), "").strip(_AROUND)
    return _MARK.sub("", line, count=1).strip(_AROUND) if _MARK.match(line) else line


def generate(
    n: int, prompts: Prompts, ask: Callable[[Sequence[Item]], Mapping[Item, str]], patience: int
) -> tuple[list[str], int]:
    """Return n new queries, or fewer if ``patience`` calls in a row return none, and the calls."""
    queries: list[str] = []
    calls, barren, known = 0, 0, set(map(folded, prompts.seeds))
    while len(queries) < n and barren < patience:
        more = min(n - len(queries), patience - barren)  # as many as are needed at least
        items = prompts.items(calls + more)[calls:]
        answers = ask(items)
        for item in items:
            query = first_line(answers[item])
            calls += 1
            barren += 1
            if is_debate_question(query) and folded(query) not in known:
                queries.append(query)
                known.add(folded(query))
                barren = 0
    return queries, calls
