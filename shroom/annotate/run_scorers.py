"""Run scorers over questions, one after another, each generation once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Callable

import msgspec

from shroom.annotate.base import Failure, Item, Scorer, value_of, with_scores
from shroom.datasets.dreamcatcher import Question
from shroom.inference.run_settings import RUN, Run
from shroom.inference.store import Store


@dataclass(frozen=True)
class Failed:
    """A generation that a scorer could not score."""

    question: int
    generation: int
    scorer: str
    reason: str


@dataclass(frozen=True)
class ScoringResult:
    """The result of running scorers."""

    questions: list[Question]  # the questions in order, with the fields of all scorers
    computed: dict[str, int] = field(default_factory=dict)
    reused: dict[str, int] = field(default_factory=dict)
    failed: list[Failed] = field(default_factory=list)  # the generations that could not be scored


@dataclass(frozen=True)
class Work:
    """The generations that a scorer has to score."""

    scope: str  # everything that the scores depend on besides the items
    items: list[dict[int, Item]]  # of each question, the items by the places of its generations
    known: dict[Item, Mapping[str, Any]]  # the scores of an interrupted run by item

    @classmethod
    def of(
        cls, scorer: Scorer, questions: Sequence[Question], store: Store | None, run: Run
    ) -> Work:
        """Return the work on questions; a store has the scores of an interrupted run."""
        scope = f"annotate {scorer.identity}"
        if scorer.uses_precision:
            scope += f" {run.precision or 'float32'}"
        items = [
            {place: scorer.item(question, place) for place in scorer.places(question)}
            for question in questions
        ]
        every = [item for row in items for item in row.values()]
        found = store.get(scope, every) if store else {}
        return cls(scope, items, {key: msgspec.json.decode(it) for key, it in found.items()})

    @property
    def missing(self) -> list[Item]:
        """The items without scores, one for each generation."""
        return [item for row in self.items for item in row.values() if item not in self.known]

    @property
    def n_known(self) -> int:
        """The number of generations with scores."""
        return sum(item in self.known for row in self.items for item in row.values())


def score(
    questions: Sequence[Question],
    scorers: Sequence[Scorer],
    store: Store | None = None,
    run: Run = RUN,
    progress: Callable[[str], AbstractContextManager[Callable[..., None]]] = (
        lambda _name: nullcontext(lambda *_: None)
    ),
) -> ScoringResult:
    """Return the questions with the fields of all scorers, which run in the order given."""
    # A scorer sees the fields of earlier scorers; new scores are stored at once.
    result = ScoringResult(list(questions))
    for scorer in scorers:
        work = Work.of(scorer, result.questions, store, run)
        missing, reasons = work.missing, dict[Item, str]()
        todo = list(dict.fromkeys(missing))
        result.reused[scorer.name] = work.n_known
        if todo:
            with progress(scorer.name) as report:
                for done, (item, scores) in enumerate(scorer.score(todo, run), start=1):
                    report(done, len(todo))
                    if isinstance(scores, Failure):
                        reasons[item] = scores.reason
                        continue
                    work.known[item] = scores
                    if store:
                        store.put(work.scope, {item: msgspec.json.encode(scores)})
        result.computed[scorer.name] = sum(item in work.known for item in missing)
        for row, items in enumerate(work.items):
            generations = list(result.questions[row].generation)
            for place, item in items.items():
                # Fields that an earlier run added must not pass for the scores of this run.
                scores = {**dict.fromkeys(scorer.fields), **work.known.get(item, {})}
                generations[place] = with_scores(generations[place], scores)
                if item not in work.known:
                    reason = reasons.get(item, "the scorer returned nothing")
                    result.failed.append(Failed(row, place, scorer.name, reason))
            result.questions[row] = msgspec.structs.replace(
                result.questions[row], generation=tuple(generations)
            )
    return result


def is_finished(
    questions: Sequence[Question], scorers: Sequence[Scorer], output: Sequence[Question]
) -> bool:
    """Return whether an output has the same questions, with the fields of all scorers."""
    return len(questions) == len(output) and all(
        _texts(question) == _texts(written)
        and all(
            any(value_of(written.generation[place], name) is not None for name in scorer.fields)
            for scorer in scorers
            for place in scorer.places(question)
        )
        for question, written in zip(questions, output)
    )


def _texts(question: Question) -> list[Any]:
    generations = [[generation.text, generation.type] for generation in question.generation]
    return [question.question, question.answer, generations]
