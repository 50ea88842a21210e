"""Which class of a sequence classifier means entailment, neutral and contradiction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shroom.core.problems import ShroomError, show

CLASSES = ("entailment", "neutral", "contradiction")
_ENTAILMENT, _NEUTRAL, _CONTRADICTION = range(3)
_ENDS = frozenset((_ENTAILMENT, _CONTRADICTION))
#: Names of classes, in lower case, without blanks and signs.
_MEANING = {
    **dict.fromkeys(["entailment", "entail", "entails", "entailed"], _ENTAILMENT),
    "neutral": _NEUTRAL,
    **dict.fromkeys(
        ["contradiction", "contradict", "contradicts", "contradicted", "contradictory"],
        _CONTRADICTION,
    ),
}
#: Names of the second of two classes: what is not entailed counts as contradicted.
_NOT_ENTAILED = frozenset(("notentailment", "notentailed", "nonentailment", "noentailment"))
_NONE: Mapping[str, str] = MappingProxyType({})


def columns(
    name: str, labels: Mapping[int, str], given: Mapping[str, str] = _NONE
) -> tuple[int, int | None, int]:
    """Return the columns of entailment, neutral (or ``None``) and contradiction of a model."""
    # ``given`` has the name or number of a class by its meaning. A single class is entailment
    # unless it means contradiction; its opposite is the second column.
    names = [_bare(labels[place]) for place in sorted(labels)]
    listed = ", ".join(show(str(labels[place])) for place in sorted(labels))
    places: dict[int | None, int] = {}
    for meaning, label in given.items():
        place = str(names.index(_bare(label)) if _bare(label) in names else label)
        if place not in map(str, range(len(names))) or int(place) in places.values():
            raise ShroomError(
                f"{meaning}: {show(label)} is not another class of {name}; its classes are {listed}"
            )
        places[CLASSES.index(meaning)] = int(place)
    others = [place for place in range(len(names)) if place not in places.values()]
    if len(names) == 1:
        contradicts = places.get(_CONTRADICTION) == 0 or _MEANING.get(names[0]) == _CONTRADICTION
        return (1, None, 0) if contradicts and _ENTAILMENT not in places else (0, None, 1)
    if len(names) == 2 and len(_ENDS & set(places)) == 1:
        (opposite,) = _ENDS - set(places)
        places[opposite] = others[0]
    elif not set(places) >= _ENDS:
        in_two = dict.fromkeys(_NOT_ENTAILED, _CONTRADICTION) if len(names) == 2 else {}
        meanings = {**_MEANING, **in_two}
        places = {**{meanings.get(names[place]): place for place in others}, **places}
        if None in places or len(places) < len(names) or not set(places) >= _ENDS:
            raise ShroomError(
                f"{name}: the names of its classes ({listed}) do not show which is entailment and "
                "which contradiction. Give them, as in --set entailment=SUPPORTS and --set "
                "contradiction=REFUTES; or, if it is an NLI model, write entailment, contradiction "
                "and perhaps neutral into id2label of config.json in its folder, in the order of "
                'its card, such as: {"0": "contradiction", "1": "neutral", "2": "entailment"}'
            )
    return places[_ENTAILMENT], places.get(_NEUTRAL), places[_CONTRADICTION]


def labels_of(name: str, config: Any) -> dict[int, str]:
    """Return the names of classes by number; refuse tables that contradict each other."""
    labels: dict[int, str] = config.id2label
    numbers = {_bare(label): number for label, number in (config.label2id or {}).items()}
    for number, label in labels.items():
        other = numbers.get(_bare(label), number)
        if str(other) != str(number):
            raise ShroomError(
                f"{name}: config.json contradicts itself: {show(str(label))} is class {number} in "
                f"id2label and class {other} in label2id; correct the one that differs from the "
                "model's card"
            )
    return labels


def _bare(label: object) -> str:
    """Return a class's name in lower case, without blanks and signs."""
    return re.sub(r"[\W_]+", "", str(label)).lower()
