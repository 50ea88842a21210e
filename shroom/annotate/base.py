"""What a scorer and a ranker are, and the lazy registries of them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, Union

from shroom.core.registry import Entry, Registry
from shroom.datasets.dreamcatcher.records import NORMAL, Generation, Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shroom.inference.run import Run

_TORCH = ("torch", "transformers")

#: Each scorer's name, and what there is to know of it before it is imported.
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
            "probe: what 'shroom probe train' has written",
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

#: Each ranker's name, and what there is to know of it before it is imported.
RANKERS = Registry(
    "ranker",
    {
        "percentile": Entry(
            "shroom.annotate.rankers.percentile:Percentile",
            "by sums of scaled scores against the sums of their percentiles",
        ),
        "length": Entry(
            "shroom.annotate.rankers.length:Length",
            "by how much longer than the answer a generation is",
        ),
    },
)


@dataclass(frozen=True)
class Failure:
    """Why a generation has not been scored; another run tries again."""

    reason: str


#: What a scorer says of one generation: the fields that it adds, or why it cannot.
Scores = Union["Mapping[str, Any]", Failure]


@dataclass(frozen=True)
class Work:
    """A question, and which of its generations are to be scored.

    Attributes
    ----------
    question : Question
        With all its generations, and what scorers before have added to them.
    wanted : tuple of int
        Places of generations; the others are known from an interrupted run.
    """

    question: Question
    wanted: tuple[int, ...]


class Scorer(Protocol):
    """Scores generations.

    Attributes
    ----------
    name : str
        Its name in the registry.
    """

    name: str

    @property
    def fields(self) -> tuple[str, ...]:
        """What it adds to a generation."""
        ...

    @property
    def identity(self) -> str:
        """All that the scores depend on besides the question: settings, and models' weights."""
        ...

    def places(self, question: Question) -> tuple[int, ...]:
        """Return which of a question's generations it scores."""
        ...

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield ``(place of the work, place of the generation, scores)`` as they are made.

        Every generation that is wanted comes once, in any order. What has been yielded is kept
        when a run is killed, so it is yielded as soon as it is there.
        """
        ...


class Ranker(Protocol):
    """Sorts questions into categories, and makes rankings of their generations.

    Attributes
    ----------
    name : str
        Its name in the registry.
    """

    name: str

    def rank(self, questions: Sequence[Question]) -> Ranked:
        """Return the questions with their categories and rankings."""
        ...


@dataclass(frozen=True)
class Ranked:
    """What a ranker has made.

    Attributes
    ----------
    questions : list of Question
        With ``category`` and ``rank``, in their order; without where they could not be ranked.
    limits : dict of float
        The figures that decided, by name.
    notes : list of str
        What the user should know, each a sentence.
    """

    questions: list[Question]
    limits: dict[str, float]
    notes: list[str] = field(default_factory=list)


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
        place for place, each in enumerate(question.generation) if each.type in (NORMAL, None)
    )


def value_of(generation: Generation, name: str) -> Any:
    """Return a field of a generation, ``None`` where it has none of that name.

    Examples
    --------
    >>> generation = Generation("A.", NORMAL, rm_score=0.5, extra={"nli_score": 1})
    >>> [value_of(generation, name) for name in ("rm_score", "nli_score", "other")]
    [0.5, 1, None]
    """
    if name in _KNOWN:
        return getattr(generation, name)
    return generation.extra.get(name)


def without(generation: Generation, names: Sequence[str]) -> Generation:
    """Return a generation without these fields, such as those of an earlier run.

    Examples
    --------
    >>> without(Generation("A.", NORMAL, rm_score=0.5, extra={"a": 1, "b": 2}), ["rm_score", "a"])
    Generation(text='A.', type='normal', rm_score=None, ..., extra={'b': 2})
    """
    known: dict[str, Any] = dict.fromkeys(_KNOWN.intersection(names))
    rest = {name: value for name, value in generation.extra.items() if name not in names}
    return replace(generation, **known, extra=rest)


def with_scores(generation: Generation, scores: Mapping[str, Any]) -> Generation:
    """Return a generation with these fields added, or in the place of those of an earlier run.

    Examples
    --------
    >>> with_scores(Generation("A.", NORMAL), {"rm_score": 0.5, "nli_score": 1}).extra
    {'nli_score': 1}
    """
    known = {name: value for name, value in scores.items() if name in _KNOWN}
    other = {name: value for name, value in scores.items() if name not in _KNOWN}
    rest = {name: value for name, value in generation.extra.items() if name not in known}
    return replace(generation, **known, extra={**rest, **other})


_KNOWN = {each.name for each in fields(Generation)} - {"extra", "text", "type"}
