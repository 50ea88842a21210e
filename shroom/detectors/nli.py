"""The classic baseline of the field: an NLI model on reference and hypothesis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError, show
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.base import Detector
from shroom.detectors.pairs import Pairs, in_windows, parts_of
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
    """p(Hallucination) from NLI models that read the reference and the hypothesis.

    Parameters
    ----------
    model : str or list of str
        Sequence classifiers: folders, or names on the hub. If there are several models, their p is
        averaged.
    revision : str or list of str, optional
        A commit, tag or branch for each model.
    formula : str
        ``c/(c+e)``, which is 0.5 if both are 0, ``1-e`` or ``c``.
    entailment, contradiction, neutral : str, optional
        The name or the number of the class with this meaning, if the model's class names do not
        show it, as in a fact checker.
    reference : str
        Which text the hypothesis is compared with: a value of
        :class:`shroom.core.datapoint.Rule`.
    multilingual : bool
        Whether the models read the source language of a translation.
    threshold : float
        The label is Hallucination if p is greater.

    Notes
    -----
    The meanings of the classes follow from their names in the model's ``id2label``, unless you
    specify them. For a model with two classes, specify one of them. A single class is entailment,
    unless its name means contradiction. If there are two premises, the lower p counts.
    """

    name: ClassVar[str] = "nli"
    model: Names
    revision: Names | None = None
    formula: Formula = "c/(c+e)"
    reference: Rule = Rule.GIVEN
    multilingual: bool = False
    threshold: Share = 0.5
    entailment: Class | None = None
    contradiction: Class | None = None
    neutral: Class | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.revision and len(self.revision) != len(self.model):
            raise ShroomError(
                f"revision: expected one revision for each model ({len(self.model)}), got "
                f"{len(self.revision)}"
            )
        self._loaded: dict[tuple[str | None, str | None], list[_Classifier]] = {}

    @property
    def _revisions(self) -> Sequence[str | None]:
        return self.revision or (None,) * len(self.model)

    def p(self, datapoints: Datapoints, run: Run = RUN) -> Floats:
        pairs = Pairs.of(datapoints, self.premises)
        by_model = self._by_model(pairs.texts, run)
        p = [pairs.best(p_from(rows[:, 0], rows[:, 2], self.formula)) for rows in by_model]
        return np.asarray(np.mean(p, axis=0))

    @property
    def identity(self) -> str:
        return "+".join(map(hub.identity, self.model, self._revisions))

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the card of each model declares."""
        return hub.languages(self.model, self._revisions)

    def probabilities(self, pairs: Sequence[tuple[str, str]], run: Run = RUN) -> Floats:
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
        texts = [(plain(premise), plain(hyp)) for premise, hyp in pairs]
        return np.asarray(np.mean(self._by_model(texts, run), axis=0))

    def _by_model(self, pairs: Sequence[tuple[str, str]], run: Run) -> list[Floats]:
        key = (run.device, run.precision)
        if key not in self._loaded:
            models = zip(self.model, self._revisions)
            self._loaded[key] = [_Classifier(self, *model, run) for model in models]
        return [model.probabilities(pairs, run) for model in self._loaded[key]]


def p_from(entailment: Floats, contradiction: Floats, formula: Formula = "c/(c+e)") -> Floats:
    """Return p(Hallucination) from probabilities; C/(C+E) is 0.5 if both are 0."""
    if formula == "c":
        return contradiction
    if formula == "1-e":
        return 1 - entailment
    total = contradiction + entailment
    return np.where(total > 0, contradiction / np.where(total > 0, total, 1), 0.5)


def _shares(logits: Floats, problem: str) -> Floats:
    """Return the probabilities of the classes; for a single class, its p and 1 - p."""
    from scipy.special import expit, softmax

    if logits.shape[1] == 1:
        p = np.clip(logits, 0, 1) if problem == "regression" else expit(logits)
        return np.hstack((p, 1 - p))
    if problem == "multi_label_classification":
        return np.asarray(expit(logits))
    return np.asarray(softmax(logits, axis=1))


class _Classifier:
    """An NLI model on a device, which reads long premises in windows."""

    def __init__(self, detector: NLI, name: str, revision: str | None, run: Run) -> None:
        given = {meaning: getattr(detector, meaning) for meaning in CLASSES}
        classes = {meaning: str(label) for meaning, label in given.items() if label is not None}
        self._model = classifier.load("nli", name, revision, run)
        self._columns = columns(name, labels_of(name, self._model.config), classes)
        self._name = name
        self._reader = PairReader(self._model.tokenizer, self._model.room)

    def probabilities(self, pairs: Sequence[tuple[str, str]], run: Run) -> Floats:
        """Return the probabilities of entailment, neutral, contradiction: shape [n, 3]."""
        room, lengths = self._reader.room, self._reader.lengths(pairs)
        parts = partial(parts_of, self._reader)
        limit = f"{self._name} reads at most {room} tokens"
        read = in_windows(pairs, lengths <= room, parts, limit, run)
        if read.items is not pairs:
            lengths = self._reader.lengths(read.items)
        shortened = np.minimum(lengths, room)
        logits = self._model.logits(read.items, shortened, self._reader.batch, "nli", run)
        classes = len(self._model.config.id2label)
        if logits.shape[1] != classes:
            raise ShroomError(
                f"{self._name}: the model returns {logits.shape[1]} numbers for a pair, but its "
                f"config.json has {classes} classes"
            )
        shares = _shares(logits, str(self._model.config.problem_type))
        empty = np.zeros(len(shares))  # of a model without the class neutral
        rows = [empty if place is None else shares[:, place] for place in self._columns]
        return read.best_rows(np.column_stack(rows))


CLASSES = ("entailment", "neutral", "contradiction")
#: The meanings of names of classes, in lower case, without blanks and signs.
_MEANING = {
    **dict.fromkeys(("entailment", "entail", "entails", "entailed"), "entailment"),
    "neutral": "neutral",
    **dict.fromkeys(("contradiction", "contradict", "contradicts"), "contradiction"),
    **dict.fromkeys(("contradicted", "contradictory"), "contradiction"),
}
#: Names of the second of two classes: what is not entailed counts as contradicted.
_NOT_ENTAILED = ("notentailment", "notentailed", "nonentailment", "noentailment")


def columns(
    name: str, labels: Mapping[int, str], given: Mapping[str, str]
) -> tuple[int, int | None, int]:
    """Return the columns of entailment, neutral (or ``None``) and contradiction of a model."""
    # ``given`` has the name or number of a class by its meaning. A single class is entailment
    # unless it means contradiction; its opposite is the second column.
    names = [_bare(labels[place]) for place in sorted(labels)]
    listed = ", ".join(show(str(labels[place])) for place in sorted(labels))
    places: dict[str | None, int] = {}
    for meaning, label in given.items():
        place = str(names.index(_bare(label)) if _bare(label) in names else label)
        if place not in map(str, range(len(names))) or int(place) in places.values():
            raise ShroomError(
                f"{meaning}: expected a class of {name} that no other meaning has, got "
                f"{show(label)}; the classes are {listed}"
            )
        places[meaning] = int(place)
    others = [place for place in range(len(names)) if place not in places.values()]
    ends = {"entailment", "contradiction"}
    opposite = ends - set(places)
    if len(names) == 1:
        contradicts = "contradiction" in places or _MEANING.get(names[0]) == "contradiction"
        return (1, None, 0) if contradicts and "entailment" not in places else (0, None, 1)
    if len(names) == 2 and len(opposite) == 1:
        places[opposite.pop()] = others[0]
    elif opposite:
        in_two = dict.fromkeys(_NOT_ENTAILED, "contradiction") if len(names) == 2 else {}
        places |= {{**_MEANING, **in_two}.get(names[place]): place for place in others}
        if None in places or len(places) < len(names) or not ends <= set(places):
            raise ShroomError(
                f"{name}: its class names ({listed}) do not show which class is entailment and "
                "which is contradiction. Specify both, as in --set entailment=SUPPORTS --set "
                "contradiction=REFUTES, or correct id2label in config.json according to the model "
                'card, such as {"0": "contradiction", "1": "neutral", "2": "entailment"}'
            )
    return places["entailment"], places.get("neutral"), places["contradiction"]


def labels_of(name: str, config: Any) -> dict[int, str]:
    """Return the names of classes by number; raise if id2label and label2id disagree."""
    labels: dict[int, str] = config.id2label
    numbers = {_bare(label): number for label, number in (config.label2id or {}).items()}
    for number, label in labels.items():
        other = numbers.get(_bare(label), number)
        if str(other) != str(number):
            raise ShroomError(
                f"{name}: config.json contradicts itself: {show(str(label))} is class {number} in "
                f"id2label and class {other} in label2id; correct it according to the model card"
            )
    return labels


def _bare(label: object) -> str:
    """Return a class's name in lower case, without blanks and signs."""
    return re.sub(r"[\W_]+", "", str(label)).lower()
