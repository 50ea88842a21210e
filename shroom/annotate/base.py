"""The scorers by name, and their base class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from shroom.core.registry import Entry, Registry
from shroom.datasets.dreamcatcher import NORMAL, Generation, Question
from shroom.detectors.settings import convert_fields
from shroom.inference.run_settings import Run

_TORCH = ("torch", "transformers")
#: Number of items that are computed and yielded together: a killed run loses one slice.
SLICE = 128

#: The scorers by name.
SCORERS = Registry(
    "scorer",
    {
        "unigram": Entry(
            "shroom.annotate.scorers.unigram:Unigram",
            "share of the answer's words that a generation contains, and rarity of the "
            "generation's words",
        ),
        "similarity": Entry(
            "shroom.annotate.scorers.comparison:Similarity",
            "similarity of a generation to the answer and to the other generations",
        ),
        "nli": Entry(
            "shroom.annotate.scorers.comparison:NLI",
            "whether the answer entails or contradicts a generation",
            _TORCH,
            "models",
            "model: an NLI model",
        ),
        "selfcheck": Entry(
            "shroom.annotate.scorers.comparison:SelfCheck",
            "agreement of a generation with other generations for the same question",
        ),
        "probe": Entry(
            "shroom.annotate.scorers.probe:Probe",
            "a linear probe on a language model's hidden states",
            _TORCH,
            "models",
            "probe: a folder written by 'shroom annotate probe train'",
        ),
        "judge": Entry(
            "shroom.annotate.scorers.judge:Judge",
            "asks a language model whether a generation is right",
            (),
            "",
            "model, and endpoint for a model on another machine",
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
    """The reason why a generation has no scores; a resumed run tries again."""

    reason: str


#: The result for one generation: the fields that are added, or a failure.
Scores = Mapping[str, Any] | Failure
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

    def places(self, question: Question) -> tuple[int, ...]:
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
        by_length = sorted(items, key=lambda item: len(str(item)), reverse=True)
        for start in range(0, len(items), SLICE):
            part = by_length[start : start + SLICE]
            yield from zip(part, self.compute(part, within(run, start, len(part), len(items))))

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the scores of each item; the items have similar lengths."""
        raise NotImplementedError

    def cost(self, items: Sequence[Item]) -> str:
        """Return a sentence about the cost of a service; empty if no service is used."""
        del items
        return ""


def normal(question: Question) -> tuple[int, ...]:
    """Return the places of the normal generations, which are not refusals."""
    return tuple(
        place
        for place, generation in enumerate(question.generation)
        if generation.type in (NORMAL, None)
    )


def value_of(generation: Generation, name: str) -> Any:
    """Return a field of a generation, ``None`` if it has no field of that name."""
    return getattr(generation, name) if name in _KNOWN else generation.extra.get(name)


def with_scores(generation: Generation, scores: Mapping[str, Any]) -> Generation:
    """Return a generation with these fields, which replace the fields of an earlier run."""
    extra = {
        name: value
        for name, value in {**generation.extra, **scores}.items()
        if name not in scores or (name not in _KNOWN and value is not None)
    }
    named = {name: value for name, value in scores.items() if name in _KNOWN}
    return structs.replace(generation, **named, extra=extra)


_KNOWN = {*Generation.__struct_fields__} - {"extra", "text", "type"}


def within(run: Run, start: int, size: int, total: int) -> Run:
    """Return a run for a part of the items, which reports progress over all items."""

    def report(done: int, of: int) -> None:
        run.report(start + size * done // max(1, of), total)

    return replace(run, report=report)
