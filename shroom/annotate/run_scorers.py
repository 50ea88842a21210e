"""Run scorers over questions, one after another, each generation once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

import msgspec

from shroom.annotate.base import Item, Scorer, with_scores
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Question
from shroom.inference.run_settings import RUN, Run
from shroom.inference.store import Store


class Failed(NamedTuple):
    """A generation that a scorer could not score."""

    question: int
    generation: int
    scorer: str
    reason: str


@dataclass(frozen=True)
class ScoringResult:
    """The result of running scorers."""

    questions: list[Question]  # the questions in order, with the fields of all scorers
    computed: Counter[str] = field(default_factory=Counter)  # the numbers of scores, by scorer
    reused: Counter[str] = field(default_factory=Counter)
    failed: list[Failed] = field(default_factory=list)  # the generations that could not be scored


@dataclass(frozen=True)
class Work:
    """The generations that a scorer has to score."""

    scope: str  # everything that the scores depend on besides the items
    items: dict[tuple[int, int], Item]  # by the places of a question and its generation
    known: dict[Item, Mapping[str, Any]]  # the scores of an interrupted run by item

    @classmethod
    def of(
        cls, scorer: Scorer, questions: Sequence[Question], store: Store | None, run: Run
    ) -> Work:
        """Return the work on questions; a store has the scores of an interrupted run."""
        precision = f" {run.precision or 'float32'}" if scorer.uses_precision else ""
        scope = f"annotate {scorer.identity}{precision}"
        items = {
            (row, place): scorer.item(question, place)
            for row, question in enumerate(questions)
            for place in scorer.places(question)
        }
        found = store.get(scope, items.values()) if store else {}
        return cls(scope, items, {key: msgspec.json.decode(it) for key, it in found.items()})

    @property
    def missing(self) -> list[Item]:
        """The items without scores, one for each generation."""
        return [item for item in self.items.values() if item not in self.known]

    @property
    def n_known(self) -> int:
        """The number of generations with scores."""
        return len(self.items) - len(self.missing)


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
        work, reasons = Work.of(scorer, result.questions, store, run), dict[Item, str]()
        known = work.n_known
        if todo := list(dict.fromkeys(work.missing)):
            with progress(scorer.name) as report:
                for done, (item, scores) in enumerate(scorer.score(todo, run), start=1):
                    report(done, len(todo))
                    if isinstance(scores, ShroomError):
                        reasons[item] = str(scores)
                        continue
                    work.known[item] = scores
                    if store:
                        store.put(work.scope, {item: msgspec.json.encode(scores)})
        result.reused[scorer.name] += known
        result.computed[scorer.name] += work.n_known - known
        generations = [[*question.generation] for question in result.questions]
        for (row, place), item in work.items.items():
            # Fields that an earlier run added must not pass for the scores of this run.
            scores = {**dict.fromkeys(scorer.fields), **work.known.get(item, {})}
            generations[row][place] = with_scores(generations[row][place], scores)
            if item not in work.known:
                reason = reasons.get(item, "the scorer returned nothing")
                result.failed.append(Failed(row, place, scorer.name, reason))
        for row, scored in enumerate(generations):
            result.questions[row] = msgspec.structs.replace(
                result.questions[row], generation=tuple(scored)
            )
    return result
