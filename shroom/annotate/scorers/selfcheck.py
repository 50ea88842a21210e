"""How well a generation agrees with the other ones of its question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from shroom.annotate.base import SLICE, Scorer, Scores, Work, normal, within
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import selfcheck, settings
from shroom.inference import hub
from shroom.inference.run_settings import Run

#: Which setting names the model of each method; ``None`` where it needs none.
_MODELS = {"ngram": None, "nli": "nli_model", "bertscore": "encoder"}


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
    >>> from shroom.annotate.base import Work
    >>> from shroom.datasets.dreamcatcher import Generation, Question
    >>> from shroom.inference.run_settings import RUN
    >>> texts = [Generation(text, "normal") for text in ("In Rome.", "In Rome.", "At sea!")]
    >>> work = [Work(Question("Where?", "In Rome.", None, tuple(texts)), (0, 1, 2))]
    >>> [round(fields["selfcheck_ngram_score"], 3) for _, _, fields in SelfCheck().score(work, RUN)]
    [0.697, 0.697, 0.612]
    """

    name = "selfcheck"
    uses_precision = True

    def __init__(
        self,
        methods: str | Sequence[str] = ("ngram",),
        nli_model: str | None = None,
        encoder: str | None = None,
        nli_revision: str | None = None,
        encoder_revision: str | None = None,
        n: int = 1,
        aggregate: Any = "average",
    ) -> None:
        chosen = [
            settings.one_of("methods", m, _MODELS) for m in settings.names("methods", methods)
        ]
        models = {"nli": (nli_model, nli_revision), "bertscore": (encoder, encoder_revision)}
        self._models = {method: models.get(method, (None, None)) for method in chosen}
        for method, (model, _) in self._models.items():
            if _MODELS[method] and not model:
                raise ShroomError(f"methods: {method} needs a model; give {_MODELS[method]}")
        self.fields = tuple(f"selfcheck_{method}_score" for method in self._models)
        self.n, self.aggregate = n, aggregate
        self._checks: dict[str, selfcheck.SelfCheck] = {}
        for method, (model, revision) in self._models.items():
            names: dict[str, Any] = {"variant": method, "model": model, "revision": revision}
            self._checks[method] = selfcheck.SelfCheck(**names, n=n, aggregate=aggregate)

    @cached_property
    def identity(self) -> str:
        """All that the scores depend on besides the question."""
        models = [
            f"{method} {hub.identity(model, revision) if model else f'{self.n} {self.aggregate}'}"
            for method, (model, revision) in self._models.items()
        ]
        return f"selfcheck {', '.join(models)}"

    def places(self, question: Question) -> tuple[int, ...]:
        """Return the places of the generations that claim something, where there are several."""
        places = normal(question)
        return places if len(places) > 1 else ()

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield the agreement of each generation with the others, by each method."""
        places = [(place, g) for place, item in enumerate(work) for g in item.pending]
        for start in range(0, len(places), SLICE):
            part = places[start : start + SLICE]
            texts = [work[place].question.generation[g].text for place, g in part]
            others = [_others(work[place].question, g) for place, g in part]
            inner = within(run, start, len(part), len(places))
            columns = [
                (1 - check.against(texts, others, inner)).tolist()
                for check in self._checks.values()
            ]
            run.report(start + len(part), len(places))
            for (place, generation), row in zip(part, zip(*columns)):
                yield place, generation, dict(zip(self.fields, row))


def _others(question: Question, place: int) -> tuple[str, ...]:
    return tuple(question.generation[other].text for other in normal(question) if other != place)
