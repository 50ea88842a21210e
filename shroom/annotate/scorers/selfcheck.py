"""How well a generation agrees with the other ones of its question."""

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
    """Compares each normal generation with the question's other normal ones.

    Adds for each method ``selfcheck_METHOD_score``, in [0, 1], which is 1 - p of the detector
    ``selfcheck`` with the other generations as samples, so that 1 is agreement:

    ``ngram``
        ln 32 / (x + ln 32), where x is the mean surprise of the generation's n-grams.
    ``nli``
        1 - the mean of C / (C + E), with each other generation as premise.
    ``bertscore``
        The mean over its sentences, and over the other generations, of the best F1 with a sentence.

    A question with one normal generation has nothing to compare and gets no scores.

    Parameters
    ----------
    methods : str or list of str
        Some of ``ngram``, ``nli`` and ``bertscore``.
    nli_model, encoder : str, optional
        The models of ``nli`` and of ``bertscore``: folders, or names on the hub.
    nli_revision, encoder_revision : str, optional
        A commit, tag or branch on the hub.
    n : int
        The order of the n-grams, from 1 to 9.
    aggregate : str
        ``average`` or ``max`` of the n-grams' surprise.

    References
    ----------
    Manakul, Liusie and Gales (2023), "SelfCheckGPT", section 5; see
    :class:`shroom.detectors.selfcheck.SelfCheck`.

    Examples
    --------
    >>> from shroom.annotate.run_scorers import score
    >>> from shroom.datasets.dreamcatcher import Generation, Question
    >>> texts = [Generation(text, "normal") for text in ("In Rome.", "In Rome.", "At sea!")]
    >>> result = score([Question("Where?", "In Rome.", None, tuple(texts))], [SelfCheck()])
    >>> scored = result.questions[0].generation
    >>> [round(each.extra["selfcheck_ngram_score"], 3) for each in scored]
    [0.697, 0.697, 0.612]
    """

    # 1 - p of the detector ``selfcheck`` with the other generations as samples: 1 is agreement.
    # Manakul, Liusie and Gales (2023), "SelfCheckGPT", section 5.

    name = "selfcheck"
    uses_precision = True
    methods: Names = ("ngram",)
    nli_model: Name | None = None
    encoder: Name | None = None
    nli_revision: Name | None = None
    encoder_revision: Name | None = None
    n: int = 1
    aggregate: str = "average"

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
                raise ShroomError(f"methods: {method} needs a model; give {setting}")
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
        """Return the places of the generations that claim something, where there are several."""
        places = normal(question)
        return places if len(places) > 1 else ()

    def item(self, question: Question, place: int) -> Item:
        """Return the generation, and the other ones."""
        others = [question.generation[other].text for other in normal(question) if other != place]
        return question.generation[place].text, tuple(others)

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the agreement of each generation with the others, by each method."""
        texts, others = map(list, zip(*items))
        columns = [(1 - check.against(texts, others, run)).tolist() for check in self._checks]
        return [dict(zip(self.fields, row)) for row in zip(*columns)]
