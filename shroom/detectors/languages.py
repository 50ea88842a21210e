"""Whether a text is in another language than English, by its script and common words."""

from __future__ import annotations

import re
import unicodedata

from shroom.detectors.arrays import Datapoints
from shroom.detectors.base import Detector

_COMMON = {
    "English": """
        the of and to a in is that for it as was with be by on not he i this are or his from at
        which but have an had they you were their one all we can her has there been if more when
        will would who so no she other its may these what them than some him time into only could
        do any my now such like our over me your how""",
    # of languages in Latin letters; English does not have them
    "others": """
        und ist nicht ein eine einen einem einer mit für auf dem sich auch wird wurde sind zu im bei
        nach oder aber durch hat dass et est une dans pour qui que sur avec pas les sont cette ses
        aux il elle était été es una por para se su como fue más sus pero è che gli nel della sono
        stato os em uma não é com seu foi mais och att det som är på för av till har inte med ett og
        er til ikke ja sekä ei ovat oli hän että myös joka jotka mutta kun kuin tai sen vuonna ollut
        ve bir bu için ile jest się nie na że je že jsou byl amb els és però eta izan dira het een
        niet zijn wordt yang adalah dengan untuk este și care az egy hogy nem à au où là sí él""",
    # also parts of names, or English words
    "particles": """
        de la le el los las del di da du des von van der den das die un en al y e o lo""",
}
_ENGLISH, _OTHERS, _PARTICLES = (frozenset(words.split()) for words in _COMMON.values())
_WORD = re.compile(r"[^\W\d_]+")


def foreign_items(detector: Detector, datapoints: Datapoints) -> int:
    """Return the number of datapoints with a foreign text, if a detector reads only English."""
    if detector.languages != ("en",):
        return 0
    return sum(any(map(is_foreign, (point.hyp, *detector.premises(point)))) for point in datapoints)


def is_foreign(text: str) -> bool:
    """Return whether a text is in another language than English; short texts pass."""
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(map(_is_latin, letters)) < len(letters):
        return True
    words = _WORD.findall(text.lower())
    # A word with an accent is worth two.
    others = sum(2 - word.isascii() for word in words if word in _OTHERS)
    if others:
        others += sum(word in _PARTICLES for word in words)
    english = sum(word in _ENGLISH for word in words)
    return len(words) > 3 and others >= 2 and others > english


def _is_latin(letter: str) -> bool:
    return letter.isascii() or unicodedata.name(letter, "").startswith("LATIN")
