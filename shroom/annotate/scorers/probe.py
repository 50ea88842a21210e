"""The knowledge probe: p that a model knows an answer, from a hidden state."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from shroom.annotate.base import Failure
from shroom.annotate.probe.saved_probe import CHECK, SavedProbe, identity
from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.inference.batching import batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shroom.annotate.base import Scores, Work
    from shroom.annotate.probe.hidden_states import Reader
    from shroom.datasets.dreamcatcher.records import Question
    from shroom.inference.run_settings import Run

_FIELD = "probe_score"


class Probe:
    """Gives all generations of a question p(the model knows the answer), by a trained probe.

    Parameters
    ----------
    probe : str
        The folder that ``shroom probe train`` wrote.
    model : str, optional
        The language model, where it no longer is where it was in training.

    References
    ----------
    Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449, section 3: linear
    probes on hidden states.
    """

    name = "probe"

    def __init__(self, probe: str | None = None, model: str | None = None) -> None:
        if probe is None:
            raise ShroomError(
                "probe needs a probe: the folder that 'shroom probe train' has written"
            )
        self._folder = settings.path("probe", probe)
        self._model = None if model is None else settings.names("model", model)[0]
        self._saved = SavedProbe.load(self._folder)
        self._site = replace(self._saved.site, head=None)

    @property
    def fields(self) -> tuple[str, ...]:
        """What it adds to a generation."""
        return (_FIELD,)

    @cached_property
    def identity(self) -> str:
        """The probe's numbers and settings, which know the model's answer to a check question."""
        return f"{self.name} {identity(self._folder)}"

    def places(self, question: Question) -> tuple[int, ...]:
        """Return all generations: they share the value of their question."""
        return tuple(range(len(question.generation)))

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield the question's p for each generation, batch after batch.

        Raises
        ------
        ShroomError
            Where the model cannot be had, or is not that of the probe.
        """
        todo = [place for place, each in enumerate(work) if each.wanted]
        blank = [place for place in todo if not work[place].question.question.strip()]
        for place in blank:
            for generation in work[place].wanted:
                yield place, generation, Failure("the question is blank")
        rest = [place for place in todo if place not in set(blank)]
        if not rest:
            return
        quiet = replace(run.bare(), note=run.note)
        reader = self._reader(quiet)
        frame, site = self._saved.frame, self._site
        given = {place: reader.ids(frame, work[place].question.question) for place in rest}
        rest.sort(key=lambda place: len(given[place]), reverse=True)
        for batch in batches([len(given[place]) for place in rest], run.tokens):
            here = [rest[row] for row in batch]
            states = reader.states([given[place] for place in here], [site], quiet)[site]
            for place, value in zip(here, self._saved.p(states).tolist()):
                for generation in work[place].wanted:
                    yield place, generation, {_FIELD: value}
            run.report(batch.stop, len(rest))

    def _reader(self, run: Run) -> Reader:
        """Return the model, having looked whether it is that of the probe."""
        from shroom.annotate.probe.hidden_states import Reader

        saved = self._saved
        name = self._model or saved.model
        reader = Reader(name, None if self._model else saved.revision, run.device)
        saved.refuse_another(reader.check(reader.ids(saved.frame, CHECK), run), name)
        return reader
