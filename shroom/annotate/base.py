"""The scorers by name, their base class, and how they are run over questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import structs

from shroom.core.problems import ShroomError
from shroom.core.registry import Entry, Registry
from shroom.datasets.dreamcatcher import NORMAL, Generation, Question
from shroom.detectors.settings import convert_fields
from shroom.inference.run_settings import RUN, Run
from shroom.inference.store import Store

T = TypeVar("T")
#: Number of items that are computed and yielded together: a killed run loses one slice.
SLICE = 128

_ROOM = "shroom.annotate"
#: The scorers by name.
SCORERS = Registry(
    "scorer",
    {
        "unigram": Entry(f"{_ROOM}.unigram:Unigram"),
        "similarity": Entry(f"{_ROOM}.comparison:Similarity"),
        "nli": Entry(f"{_ROOM}.comparison:NLI", also="model: an NLI model"),
        "selfcheck": Entry(f"{_ROOM}.comparison:SelfCheck"),
        "probe": Entry(
            f"{_ROOM}.probe:Probe", also="probe: a folder written by 'shroom annotate probe train'"
        ),
        "judge": Entry(f"{_ROOM}.judge:Judge"),
        "reward": Entry(f"{_ROOM}.reward:Reward", also="model: a reward model"),
    },
)

#: The result for one generation: the fields that are added, or why there are none.
Scores = Mapping[str, Any] | ShroomError
#: Everything that a generation's scores depend on except the scorer: tuples of texts, numbers.
Item = Any


class Scorer:
    """Base class of scorers, which score generations.

    A subclass is a dataclass, and its fields are the settings. It defines :attr:`identity`, and
    either :meth:`compute` or :meth:`score`.

    Attributes
    ----------
    name : str
        The name in the registry.
    fields : tuple of str
        The fields that the scorer adds to a generation.
    uses_precision : bool
        Whether the scores depend on the precision of the run, as a classifier's scores do.
    """

    name: str = ""
    fields: tuple[str, ...] = ()
    uses_precision: bool = False

    def __post_init__(self) -> None:
        """Convert the settings to the types of the fields."""
        convert_fields(self)

    @property
    def identity(self) -> str:
        """A text that changes if the settings or the weights of a model change."""
        raise NotImplementedError

    def places(self, question: Question) -> Sequence[int]:
        """Return the places of the generations to score; by default, the normal generations."""
        return normal(question)

    def item(self, question: Question, place: int) -> Item:
        """Return the texts that a generation's scores depend on; equal items are scored once."""
        # By default, these are all texts of the question.
        generations = tuple((each.text, each.type) for each in question.generation)
        return question.question, question.answer, generations, place

    def score(self, items: Sequence[Item], run: Run) -> Iterator[tuple[Item, Scores]]:
        """Yield each item with its scores in any order, as soon as the scores are computed."""
        # Scores that have been yielded survive a killed run.
        for part, within in slices(items, lambda item: len(str(item)), run):
            yield from zip(part, self.compute(part, within))

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the scores of each item; the items have similar lengths."""
        raise NotImplementedError

    def cost(self, items: Sequence[Item]) -> str:
        """Return a sentence about the cost of a service; empty if no service is used."""
        del items
        return ""


def slices(
    items: Sequence[T], length: Callable[[T], int], run: Run
) -> Iterator[tuple[Sequence[T], Run]]:
    """Yield slices, the longest items first, each with a run that reports on all items."""
    by_length = sorted(items, key=length, reverse=True)
    for start in range(0, len(items), SLICE):
        part = by_length[start : start + SLICE]

        def report(done: int, of: int, start: int = start, size: int = len(part)) -> None:
            run.report(start + size * done // max(1, of), len(items))

        yield part, replace(run, report=report)


def normal(question: Question) -> list[int]:
    """Return the places of the normal generations, which are not refusals."""
    return [place for place, it in enumerate(question.generation) if is_normal(it)]


def is_normal(generation: Generation) -> bool:
    """Return whether a generation is an answer, not a refusal."""
    return generation.type in (NORMAL, None)


_KNOWN = {*Generation.__struct_fields__} - {"extra", "text", "type"}


def value_of(generation: Generation, name: str) -> Any:
    """Return a field of a generation, ``None`` if it has no field of that name."""
    return getattr(generation, name) if name in _KNOWN else generation.extra.get(name)


def with_scores(generation: Generation, scores: Mapping[str, Any]) -> Generation:
    """Return a generation with these fields, which replace the fields of an earlier run."""
    named = {name: value for name, value in scores.items() if name in _KNOWN}
    extra = {
        name: value
        for name, value in {**generation.extra, **scores}.items()
        if name not in scores or (name not in _KNOWN and value is not None)
    }
    return structs.replace(generation, **named, extra=extra)


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
            result.questions[row] = structs.replace(result.questions[row], generation=tuple(scored))
    return result
