"""The scorers by name, and their base class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs

from shroom.core.problems import ShroomError
from shroom.core.registry import Entry, Registry
from shroom.datasets.dreamcatcher import NORMAL, Generation, Question
from shroom.detectors.settings import convert_fields
from shroom.inference.run_settings import Run

T = TypeVar("T")
#: Number of items that are computed and yielded together: a killed run loses one slice.
SLICE = 128

_ROOM = "shroom.annotate.scorers"
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
