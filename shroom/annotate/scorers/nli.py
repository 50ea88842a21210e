"""Whether the answer entails a generation, and whether it contradicts it, by an NLI model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shroom.annotate.base import Item, Scorer, Scores
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import nli
from shroom.detectors.settings import Names
from shroom.inference.run_settings import Run


@dataclass(eq=False)
class NLI(Scorer):
    """Compares each normal generation with the answer."""

    # The premise is the answer, after the question if so set, because an answer may be a mere name.

    name = "nli"
    fields = ("nli_entailment_score", "nli_contradiction_score")
    uses_precision = True
    model: Names  # sequence classifiers: folders or names on the hub; their mean counts
    revision: Names | None = None  # A commit, tag or branch of each
    question: bool = True

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._detector = nli.NLI(self.model, self.revision)

    @cached_property
    def identity(self) -> str:
        """All that the scores depend on besides the item."""
        return f"nli {self._detector.identity} {self.question}"

    def item(self, question: Question, place: int) -> Item:
        """Return the premise and the hypothesis."""
        before = f"{question.question} " if self.question else ""
        return before + question.answer, question.generation[place].text

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the two probabilities of each pair."""
        columns = self._detector.probabilities(items, run)[:, [0, 2]]
        return [dict(zip(self.fields, row)) for row in columns.tolist()]
