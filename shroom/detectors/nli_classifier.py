"""A sequence classifier as an NLI model: the meaning of its classes, and their probabilities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from shroom.core.problems import ShroomError, show
from shroom.detectors.windowed_pairs import Windowed, Windows, best_rows, parts_of
from shroom.inference.precision import softmax
from shroom.inference.sequence_classifier import SequenceClassifier
from shroom.inference.tokenization import PairReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from shroom.inference.run_settings import Run

_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(3)
_MEANING = {
    **dict.fromkeys(["entailment", "entail", "entails", "entailed"], _ENTAILMENT),
    **dict.fromkeys(["neutral"], _NEUTRAL),
    **dict.fromkeys(
        ["contradiction", "contradict", "contradicts", "contradicted", "contradictory"],
        _CONTRADICTION,
    ),
}
#: Of two classes: whatever is not entailed counts as contradicted.
_NOT_ENTAILED = frozenset(("notentailment", "notentailed", "nonentailment", "noentailment"))


def columns(name: str, id2label: Mapping[int, str]) -> tuple[int, int | None, int]:
    """Return where a model has entailment, neutral (if at all) and contradiction.

    Parameters
    ----------
    name : str
        How a message names the model.
    id2label : mapping
        The name of each class, as in the model's configuration.

    Raises
    ------
    ShroomError
        If the names do not show it.

    Examples
    --------
    >>> columns("a model", {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"})
    (2, 1, 0)
    >>> columns("a model", {0: "entailment", 1: "not_entailment"})
    (0, None, 1)
    """
    labels = {place: re.sub(r"[\W_]+", "", str(label)).lower() for place, label in id2label.items()}
    meant = {
        place: _CONTRADICTION
        if len(labels) == 2 and label in _NOT_ENTAILED
        else _MEANING.get(label)
        for place, label in labels.items()
    }
    found = {meaning: int(place) for place, meaning in meant.items()}
    if None in found or len(found) < len(labels) or not {_ENTAILMENT, _CONTRADICTION} <= set(found):
        listed = ", ".join(show(str(label)) for _, label in sorted(id2label.items()))
        raise ShroomError(
            f"{name}: the names of its classes ({listed}) do not tell which is entailment and "
            "which contradiction; they must be entailment, contradiction and perhaps neutral, or "
            "entailment and not_entailment. If it is an NLI model, write the names into id2label "
            "of config.json in its folder, in the order that its card tells, such as: "
            '{"0": "contradiction", "1": "neutral", "2": "entailment"}'
        )
    return found[_ENTAILMENT], found.get(_NEUTRAL), found[_CONTRADICTION]


class Classifier:
    """One NLI model on a device.

    Parameters
    ----------
    name, revision : str
        As :class:`shroom.inference.sequence_classifier.SequenceClassifier` takes them.
    run : Run
        Its device and precision.
    windows : Windows
        How a premise is read that is too long.
    """

    def __init__(self, name: str, revision: str | None, run: Run, windows: Windows) -> None:
        self._model = SequenceClassifier("nli", name, revision, run)
        self._columns = columns(name, self._model.config.id2label)
        self._name, self._windows = name, windows
        self._reader = PairReader(self._model.tokenizer, self._model.room)

    def probabilities(self, pairs: list[tuple[str, str]], run: Run) -> NDArray[np.float64]:
        """Return the probabilities of entailment, neutral, contradiction: shape [n, 3].

        The texts of the pairs, at least one, must be such that UTF-8 can write them.
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
        entailment, neutral, contradiction = self._columns
        if logits.shape[1] != len(self._model.config.id2label):
            raise ShroomError(
                f"{self._name}: gives {logits.shape[1]} numbers for a pair, and its config.json "
                f"names {len(self._model.config.id2label)} classes"
            )
        found = softmax(logits)
        middle = np.zeros(len(found)) if neutral is None else found[:, neutral]
        rows = np.column_stack((found[:, entailment], middle, found[:, contradiction]))
        return best_rows(rows, read, self._windows)

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
