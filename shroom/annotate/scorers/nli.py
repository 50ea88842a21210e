"""Whether the answer entails a generation, and contradicts it, by an NLI model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from shroom.annotate.base import Scorer, Scores, Work, in_slices
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import nli, settings
from shroom.inference.run_settings import Run


class NLI(Scorer):
    """Compares each normal generation with the answer.

    The premise is the answer, with the question before it; the hypothesis is the generation. Adds
    ``nli_entailment_score`` and ``nli_contradiction_score``, the model's probabilities, in [0, 1].

    Parameters
    ----------
    model : str or list of str
        Folders or names on the hub of sequence classifiers; of several, the mean counts.
    revision : str or list of str, optional
        A commit, tag or branch of each.
    question : bool
        Whether the premise begins with the question, since an answer is often only a name.
    """

    name = "nli"
    fields = ("nli_entailment_score", "nli_contradiction_score")
    uses_precision = True

    def __init__(
        self,
        model: str | Sequence[str] | None = None,
        revision: str | Sequence[str] | None = None,
        question: bool = True,  # noqa: FBT001, FBT002 - a setting, given by its name
    ) -> None:
        if model is None:
            raise ShroomError(
                "nli needs a model: a folder or the hub's name of an NLI model, such as "
                "MoritzLaurer/mDeBERTa-v3-base-mnli-xnli"
            )
        revisions = None if revision is None else settings.names("revision", revision)
        self._models = nli.NLI(settings.names("model", model), revisions)
        self.question = settings.flag("question", question)

    @cached_property
    def identity(self) -> str:
        """All that the scores depend on besides the question."""
        return f"nli {self._models.identity} {self.question}"

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield the two probabilities of each generation."""
        items = [
            ((self._premise(item.question), item.question.generation[g].text), place, g)
            for place, item in enumerate(work)
            for g in item.pending
        ]
        yield from in_slices(items, self._probabilities, run, length=lambda p: sum(map(len, p)))

    def _premise(self, question: Question) -> str:
        return f"{question.question} {question.answer}" if self.question else question.answer

    def _probabilities(self, pairs: list[tuple[str, str]], run: Run) -> list[Scores]:
        columns = self._models.probabilities(pairs, run)[:, [0, 2]]
        return [dict(zip(self.fields, row)) for row in columns.tolist()]
