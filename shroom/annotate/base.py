"""The interfaces of scorers and rankers, and their lazy registries."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, Union

from shroom.core.registry import Entry, Registry
from shroom.datasets.dreamcatcher.records import NORMAL, Generation, Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shroom.inference.run_settings import Run

_TORCH = ("torch", "transformers")

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

#: The rankers by name.
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
    wanted : tuple of int
        Places of generations; the other ones are known from an interrupted run.
    """

    question: Question
    wanted: tuple[int, ...]


class Scorer(Protocol):
    """Scores generations.

    Attributes
    ----------
    name : str
        The name in the registry.
    """

    name: str

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it adds to a generation."""
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

        Each wanted generation is yielded once, in any order, as soon as its scores are computed:
        what has been yielded is kept when a run is killed.
        """
        ...


class Ranker(Protocol):
    """Sorts questions into categories, and makes rankings of their generations.

    Attributes
    ----------
    name : str
        The name in the registry.
    """

    name: str

    def rank(self, questions: Sequence[Question]) -> Ranked:
        """Return the questions with their categories and rankings."""
        ...


@dataclass(frozen=True)
class Ranked:
    """The result of a ranker.

    Attributes
    ----------
    questions : list of Question
        With ``category`` and ``rank``, in their order; without where they could not be ranked.
    limits : dict of float
        The limits that decided, by name.
    notes : list of str
        Notes for the user, each a sentence.
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
