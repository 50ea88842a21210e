"""The scorers by name, their base class, and the work that a run gives them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Callable, TypeVar, Union

from msgspec import structs

from shroom.core.registry import Entry, Registry
from shroom.datasets.dreamcatcher import NORMAL, Generation, Question
from shroom.inference.run_settings import Run

_TORCH = ("torch", "transformers")
#: Number of items that are computed before they are yielded: a killed run loses one slice.
SLICE = 128
Item = TypeVar("Item", bound="Hashable")
Value = TypeVar("Value")

#: The scorers by name.
SCORERS = Registry(
    "scorer",
    {
        "unigram": Entry(
            "shroom.annotate.scorers.unigram:Unigram",
            "how many of the answer's words a generation has, and how rare its own are",
        ),
        "similarity": Entry(
            "shroom.annotate.scorers.similarity:Similarity",
            "how similar a generation is to the answer, and to the other generations",
        ),
        "nli": Entry(
            "shroom.annotate.scorers.nli:NLI",
            "whether the answer entails a generation, and contradicts it",
            _TORCH,
            "models",
            "model: an NLI model",
        ),
        "selfcheck": Entry(
            "shroom.annotate.scorers.selfcheck:SelfCheck",
            "how well a generation agrees with the other ones",
        ),
        "probe": Entry(
            "shroom.annotate.scorers.probe:Probe",
            "a linear probe on a language model's hidden states",
            _TORCH,
            "models",
            "probe: what 'shroom annotate probe train' has written",
        ),
        "judge": Entry(
            "shroom.annotate.scorers.judge:Judge",
            "a language model is asked whether a generation is right",
            (),
            "",
            "model, and endpoint unless the model is a local one",
        ),
        "reward": Entry(
            "shroom.annotate.scorers.reward:Reward",
            "a reward model's raw score",
            _TORCH,
            "models",
            "model: a reward model",
        ),
    },
)


@dataclass(frozen=True)
class Failure:
    """The reason why a generation has not been scored; another run tries again."""

    reason: str


#: The result for one generation: the fields that are added, or a failure.
Scores = Union["Mapping[str, Any]", Failure]


@dataclass(frozen=True)
class Work:
    """A question, and which of its generations are to be scored.

    Attributes
    ----------
    question : Question
        A question with all its generations, and the fields that earlier scorers have added.
    pending : tuple of int
        Places of generations; the other ones are known from an interrupted run.
    """

    question: Question
    pending: tuple[int, ...]


class Scorer:
    """Scores generations; base of all scorers.

    Attributes
    ----------
    name : str
        The name in the registry.
    fields : tuple of str
        The fields that it adds to a generation.
    uses_precision : bool
        Whether scores depend on the precision of the run, as those of classifiers do.
    """

    name = ""
    fields: tuple[str, ...] = ()
    uses_precision = False

    @property
    def identity(self) -> str:
        """All that the scores depend on besides the question: settings, and models' weights."""
        raise NotImplementedError

    def places(self, question: Question) -> tuple[int, ...]:
        """Return the places of the generations that it scores: those that claim something."""
        return normal(question)

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield ``(place of the work, place of the generation, scores)`` as they are made.

        Each wanted generation is yielded once, in any order, as soon as its scores are computed:
        what has been yielded is kept when a run is killed.
        """
        raise NotImplementedError

    def cost(self, work: Sequence[Work]) -> str:
        """Return a sentence on what a service would charge for the work; empty if none does."""
        del work
        return ""


def normal(question: Question) -> tuple[int, ...]:
    """Return the places of the generations that claim something; refusals do not.

    Examples
    --------
    >>> question = Question("Q?", "A", None, (Generation("A.", NORMAL), Generation("I do not know.",
    ...     "uncertainty"), Generation("B.", None)))
    >>> normal(question)
    (0, 2)
    """
    return tuple(
        place
        for place, generation in enumerate(question.generation)
        if generation.type in (NORMAL, None)
    )


def value_of(generation: Generation, name: str) -> Any:
    """Return a field of a generation, ``None`` if it has no field of that name.

    Examples
    --------
    >>> generation = Generation("A.", NORMAL, rm_score=0.5, extra={"nli_score": 1})
    >>> [value_of(generation, name) for name in ("rm_score", "nli_score", "other")]
    [0.5, 1, None]
    """
    if name in _KNOWN:
        return getattr(generation, name)
    return generation.extra.get(name)


def scores_in(generation: Generation) -> dict[str, float]:
    """Return the fields of a generation that are numbers.

    Examples
    --------
    >>> scores_in(Generation("A.", NORMAL, rm_score=0.5, extra={"words": 3, "good": True}))
    {'rm_score': 0.5, 'words': 3}
    """
    return {
        name: value
        for name, value in (*structs.asdict(generation).items(), *generation.extra.items())
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def without(generation: Generation, names: Sequence[str]) -> Generation:
    """Return a generation without these fields, such as those of an earlier run.

    Examples
    --------
    >>> without(Generation("A.", NORMAL, rm_score=0.5, extra={"a": 1, "b": 2}), ["rm_score", "a"])
    Generation(text='A.', type='normal', rm_score=None, ..., extra={'b': 2})
    """
    emptied: dict[str, Any] = dict.fromkeys(_KNOWN.intersection(names))
    rest = {name: value for name, value in generation.extra.items() if name not in names}
    return structs.replace(generation, **emptied, extra=rest)


def with_scores(generation: Generation, scores: Mapping[str, Any]) -> Generation:
    """Return a generation with these fields added, or in the place of those of an earlier run.

    Examples
    --------
    >>> with_scores(Generation("A.", NORMAL), {"rm_score": 0.5, "nli_score": 1}).extra
    {'nli_score': 1}
    """
    named = {name: value for name, value in scores.items() if name in _KNOWN}
    other = {name: value for name, value in scores.items() if name not in _KNOWN}
    rest = {name: value for name, value in generation.extra.items() if name not in named}
    return structs.replace(generation, **named, extra={**rest, **other})


_KNOWN = {*Generation.__struct_fields__} - {"extra", "text", "type"}


def in_slices(
    items: Sequence[tuple[Item, int, int]],
    compute: Callable[[list[Item], Run], Sequence[Value]],
    run: Run,
    *,
    length: Callable[[Item], int],
) -> Iterator[tuple[int, int, Value]]:
    """Yield ``(place of the work, place of the generation, value)``, the longest items first.

    Equal items are computed once.

    ``items`` come with the places of their work and generation; ``length`` is about how long one
    is.

    Examples
    --------
    >>> from shroom.inference.run_settings import RUN
    >>> items = [("a", 0, 0), ("bcd", 0, 1), ("a", 1, 0)]
    >>> list(in_slices(items, lambda texts, run: [len(t) for t in texts], RUN, length=len))
    [(0, 1, 3), (0, 0, 1), (1, 0, 1)]
    """
    owners = gathered(items)
    distinct = sorted(owners, key=length, reverse=True)
    for start in range(0, len(distinct), SLICE):
        part = distinct[start : start + SLICE]
        values = compute(part, within(run, start, len(part), len(distinct)))
        for item, value in zip(part, values):
            for place, generation in owners[item]:
                yield place, generation, value


def within(run: Run, start: int, size: int, total: int) -> Run:
    """Return a run for some of all items, whose report shows the progress among all.

    Examples
    --------
    >>> from shroom.inference.run_settings import Run
    >>> within(Run(report=print), start=10, size=5, total=20).report(50, 100)
    12 20
    """

    def report(done: int, of: int) -> None:
        run.report(start + size * done // max(1, of), total)

    return replace(run, report=report)


def gathered(items: Sequence[tuple[Item, int, int]]) -> dict[Item, list[tuple[int, int]]]:
    """Return the places of each distinct item, from ``(item, place of the work, generation)``.

    Examples
    --------
    >>> gathered([("a", 0, 0), ("b", 0, 1), ("a", 1, 0)])
    {'a': [(0, 0), (1, 0)], 'b': [(0, 1)]}
    """
    owners: dict[Item, list[tuple[int, int]]] = {}
    for item, place, generation in items:
        owners.setdefault(item, []).append((place, generation))
    return owners
