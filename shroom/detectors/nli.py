"""The classic baseline of the field: an NLI model on reference and hypothesis.

The premise is the side that carries the meaning, the hypothesis is ``hyp``. By default
p(Hallucination) is C/(C+E), so that the probability of neutral does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Rule
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.nli_classes import CLASSES, columns, labels_of
from shroom.detectors.pairs import Aggregate, Overlap, Pairs, Windowed, Windows, best_rows, parts_of
from shroom.detectors.settings import Names, Share
from shroom.inference import classifier, hub
from shroom.inference.run_settings import RUN, Run
from shroom.inference.tokenization import PairReader, plain

#: How p(Hallucination) follows from E(ntailment) and C(ontradiction).
Formula = Literal["c/(c+e)", "1-e", "c"]
#: A class of a model, by its name or its number.
Class = Annotated[Annotated[str, Meta(pattern=r"\S")] | int, Meta(title="a class")]


@dataclass(eq=False, repr=False)
class NLI(Detector):
    """p(Hallucination) from one NLI model or several that read reference and hypothesis.

    Parameters
    ----------
    model : str or list of str
        Folders or names on the hub of sequence classifiers; the p of several are averaged.
    revision : str or list of str, optional
        A commit, tag or branch of each.
    formula : str
        ``c/(c+e)``, which is 0.5 where both are 0, ``1-e`` or ``c``.
    entailment, contradiction, neutral : str, optional
        The class that means so, by its name or its number: for any sequence classifier, such as one
        that verifies claims.
    reference : str
        With what the hypothesis is compared: a value of :class:`shroom.core.datapoint.Rule`.
    multilingual : bool
        Whether the models read the source language of a translation.
    threshold : float
        The label is Hallucination where p is greater.
    windows, overlap
        How to read a premise that is too long for a model: see
        :class:`shroom.detectors.pairs.Windows`.

    Notes
    -----
    The meaning of the classes follows from their names in the model's ``id2label``, unless it is
    given. Of two classes, one is enough; the logit of a single class is that of entailment, unless
    its name says otherwise. If either of two sides may support the hypothesis, the better support
    counts.
    """

    name: ClassVar[str] = "nli"
    model: Names
    revision: Names | None = None
    formula: Formula = "c/(c+e)"
    reference: Rule = Rule.GIVEN
    multilingual: bool = False
    threshold: Share = 0.5
    windows: Aggregate = "max"
    overlap: Overlap = 1
    entailment: Class | None = None
    contradiction: Class | None = None
    neutral: Class | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.revision and len(self.revision) != len(self.model):
            raise ShroomError(
                f"revision: {len(self.revision)} for {len(self.model)} models; give each its own"
            )
        self._loaded: dict[tuple[str | None, str | None], list[_Classifier]] = {}

    @property
    def _revisions(self) -> Sequence[str | None]:
        return self.revision or (None,) * len(self.model)

    def p(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.float64]:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1]."""
        if not datapoints:
            return np.empty(0)
        pairs = Pairs.of(datapoints, rule=self.rule, multilingual=self.multilingual)
        by_model = self._by_model([(premise, hyp) for _, premise, hyp in pairs.items], run)
        p = [pairs.best(p_from(rows[:, 0], rows[:, 2], self.formula)) for rows in by_model]
        return np.asarray(np.mean(p, axis=0))

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the card of each model declares."""
        return hub.languages(self.model, self._revisions)

    @property
    def identity(self) -> str:
        """The identities of the models' weights.

        Examples
        --------
        >>> NLI(["a/model", "b/model"], ["v1", "v2"]).identity
        'a/model@v1+b/model@v2'
        """
        return "+".join(map(hub.identity, self.model, self._revisions))

    def probabilities(
        self, pairs: Sequence[tuple[str, str]], run: Run = RUN
    ) -> NDArray[np.float64]:
        """Return the models' mean probabilities for pairs of premise and hypothesis.

        Parameters
        ----------
        pairs : sequence of (premise, hypothesis), length n
            Any two texts.
        run : Run
            Settings of the run.

        Returns
        -------
        array, shape [n, 3]
            The probabilities of entailment, neutral and contradiction, in this order.
        """
        if not pairs:
            return np.empty((0, 3))
        return np.asarray(np.mean(self._by_model(pairs, run), axis=0))

    def _by_model(self, pairs: Sequence[tuple[str, str]], run: Run) -> list[NDArray[np.float64]]:
        key = (run.device, run.precision)
        if key not in self._loaded:
            windows = Windows(self.windows, self.overlap)
            given = {name: getattr(self, name) for name in CLASSES}
            classes = {name: str(label) for name, label in given.items() if label is not None}
            self._loaded[key] = [
                _Classifier(*model, run, windows, classes)
                for model in zip(self.model, self._revisions)
            ]
        texts = [(plain(premise), plain(hyp)) for premise, hyp in pairs]
        return [model.probabilities(texts, run) for model in self._loaded[key]]


def p_from(
    entailment: NDArray[np.float64],
    contradiction: NDArray[np.float64],
    formula: Formula = "c/(c+e)",
) -> NDArray[np.float64]:
    """Return p(Hallucination) from an NLI model's probabilities.

    C/(C+E) is 0.5 where both are 0.

    Examples
    --------
    >>> p_from(np.array([0.25, 0.0]), np.array([0.75, 0.0]))
    array([0.75, 0.5 ])
    """
    if formula == "c":
        return contradiction
    if formula == "1-e":
        return 1 - entailment
    total = contradiction + entailment
    return np.where(total > 0, contradiction / np.where(total > 0, total, 1), 0.5)


def _shares(logits: NDArray[np.float64], problem: str) -> NDArray[np.float64]:
    """Return the probabilities of classes; of a single one, those of it and of its opposite."""
    from scipy.special import expit, softmax

    if logits.shape[1] == 1:
        p = np.clip(logits, 0, 1) if problem == "regression" else expit(logits)
        return np.hstack((p, 1 - p))
    if problem == "multi_label_classification":
        return np.asarray(expit(logits))
    return np.asarray(softmax(logits, axis=1))


class _Classifier:
    """One NLI model on a device, with the windows in which it reads a premise that is too long."""

    def __init__(
        self,
        name: str,
        revision: str | None,
        run: Run,
        windows: Windows,
        classes: Mapping[str, str],
    ) -> None:
        self._model = classifier.load("nli", name, revision, run)
        self._columns = columns(name, labels_of(name, self._model.config), classes)
        self._name, self._windows = name, windows
        self._reader = PairReader(self._model.tokenizer, self._model.room)

    def probabilities(self, pairs: list[tuple[str, str]], run: Run) -> NDArray[np.float64]:
        """Return the probabilities of entailment, neutral, contradiction: shape [n, 3].

        UTF-8 must be able to represent the texts of the pairs, of which there is at least one.
        """
        room = self._reader.room
        lengths = self._reader.lengths(pairs)
        if self._windows.cut:
            self._note_cuts(pairs, lengths, run)
        fits = [self._windows.cut or length <= room for length in lengths]
        read = Windowed.of(pairs, fits, self._parts)
        for note in read.notes(self._name, room, self._windows):
            run.note(note)
        if not all(fits):
            lengths = self._reader.lengths(read.items)
        shortened = [min(length, room) for length in lengths]
        logits = self._model.logits(read.items, shortened, self._reader.batch, "nli", run)
        if logits.shape[1] != len(self._model.config.id2label):
            raise ShroomError(
                f"{self._name}: gives {logits.shape[1]} numbers for a pair, and its config.json "
                f"names {len(self._model.config.id2label)} classes"
            )
        shares = _shares(logits, str(self._model.config.problem_type))
        empty = np.zeros(len(shares))  # of a model without the class neutral
        rows = [empty if place is None else shares[:, place] for place in self._columns]
        return best_rows(np.column_stack(rows), read, self._windows)

    def _parts(self, pair: tuple[str, str]) -> list[tuple[str, str]]:
        premises, hyp = parts_of(*pair, self._reader, self._windows)
        return [(premise, hyp) for premise in premises]

    def _note_cuts(self, pairs: list[tuple[str, str]], lengths: list[int], run: Run) -> None:
        long = [pair for pair, length in zip(pairs, lengths) if length > self._reader.room]
        if not long:
            return
        hyps = sum(map(self._reader.cuts_second, long))
        also = f", {hyps} of them with the hypothesis" if hyps else ""
        run.note(
            f"{len(long)} of {len(pairs)} premises were cut{also}: {self._name} reads at most "
            f"{self._reader.room} tokens of both together"
        )
