"""The agreement of a generation with the other generations of its question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from shroom.annotate.base import Item, Scorer, Scores, normal
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import selfcheck
from shroom.detectors.settings import Name, Names, converted
from shroom.inference import hub
from shroom.inference.run_settings import Run

Method = Literal["ngram", "nli", "bertscore"]


@dataclass(eq=False)
class SelfCheck(Scorer):
    """Compares each normal generation with the question's other normal ones."""

    # 1 - p of the detector ``selfcheck`` with the other generations as samples: 1 is agreement.
    # Manakul, Liusie and Gales (2023), "SelfCheckGPT", section 5.
    # A single normal generation has no others to agree with, and gets no scores.

    name = "selfcheck"
    uses_precision = True
    methods: Names = ("ngram",)  # some of ``ngram``, ``nli`` and ``bertscore``
    nli_model: Name | None = None
    encoder: Name | None = None
    nli_revision: Name | None = None  # A commit, tag or branch on the hub
    encoder_revision: Name | None = None
    n: int = 1  # the order of the n-grams, from 1 to 9
    aggregate: str = "average"  # ``average`` or ``max`` of the n-grams' surprise

    def __post_init__(self) -> None:
        """Check the settings, and make a detector of each method."""
        super().__post_init__()
        for method in self.methods:
            converted("methods", method, Method)
        self._models = {
            "ngram": (None, None),
            "nli": (self.nli_model, self.nli_revision),
            "bertscore": (self.encoder, self.encoder_revision),
        }
        for method, setting in (("nli", "nli_model"), ("bertscore", "encoder")):
            if method in self.methods and getattr(self, setting) is None:
                raise ShroomError(f"methods: {method} needs a model; set {setting}")
        self.fields = tuple(f"selfcheck_{method}_score" for method in self.methods)
        self._checks = []
        for method in self.methods:
            model, revision = self._models[method]
            settings: dict[str, Any] = {"variant": method, "model": model, "revision": revision}
            settings |= {"n": self.n, "aggregate": self.aggregate}
            self._checks.append(selfcheck.SelfCheck(**settings))

    @cached_property
    def identity(self) -> str:
        """All that the scores depend on besides the item."""
        models = [
            f"{method} {hub.identity(model, revision) if model else f'{self.n} {self.aggregate}'}"
            for method, (model, revision) in self._models.items()
            if method in self.methods
        ]
        return f"selfcheck {', '.join(models)}"

    def places(self, question: Question) -> tuple[int, ...]:
        """Return the places of the normal generations if there are several."""
        places = normal(question)
        return places if len(places) > 1 else ()

    def item(self, question: Question, place: int) -> Item:
        """Return the generation and the others."""
        others = [question.generation[other].text for other in normal(question) if other != place]
        return question.generation[place].text, tuple(others)

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the agreement of each generation with the others, by each method."""
        texts, others = map(list, zip(*items))
        columns = [(1 - check.against(texts, others, run)).tolist() for check in self._checks]
        return [dict(zip(self.fields, row)) for row in zip(*columns)]
