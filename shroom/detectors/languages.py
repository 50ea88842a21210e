"""Whether a text is in a language that a model does not read, by script and common words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache

from shroom.detectors.arrays import Datapoints
from shroom.detectors.base import Detector

#: The scripts of languages, as Unicode names their letters; every other language has Latin ones.
_SCRIPTS = {
    **dict.fromkeys(("ru", "uk", "be", "bg", "sr", "mk", "kk", "mn"), ("CYRILLIC",)),
    **dict.fromkeys(("ar", "fa", "ur", "ps"), ("ARABIC",)),
    **dict.fromkeys(("hi", "mr", "ne", "sa"), ("DEVANAGARI",)),
    **dict.fromkeys(("bn", "as"), ("BENGALI",)),
    "gu": ("GUJARATI",),
    "pa": ("GURMUKHI",),
    "ta": ("TAMIL",),
    "te": ("TELUGU",),
    "kn": ("KANNADA",),
    "ml": ("MALAYALAM",),
    "si": ("SINHALA",),
    "th": ("THAI",),
    "el": ("GREEK",),
    "he": ("HEBREW",),
    "hy": ("ARMENIAN",),
    "ka": ("GEORGIAN",),
    "zh": ("CJK",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ko": ("HANGUL", "CJK"),
}
_LATIN = "LATIN"
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
    # English words that other languages have, too
    "shared": "a i in on no so me an was as for at do to he or has will his all over",
    # also parts of names, or English words
    "particles": """
        de la le el los las del di da du des von van der den das die un en al y e o lo""",
}
_ENGLISH, _OTHERS, _SHARED, _PARTICLES = (frozenset(words.split()) for words in _COMMON.values())
_WORD = re.compile(r"[^\W\d_]+")
#: Maximum number of characters to read of a text.
_READ = 2000


def foreign_items(detector: Detector, datapoints: Datapoints) -> int:
    """Return the number of datapoints with a text that is in none of a detector's languages."""
    languages = detector.languages
    if not languages:
        return 0
    return sum(
        any(is_foreign(text, languages) for text in (point.hyp, *detector.premises(point)))
        for point in datapoints
    )


def is_foreign(text: str, languages: Collection[str]) -> bool:
    """Return whether a text is in none of the languages, given by their codes; short texts pass."""
    # By script; English is told from other Latin languages by function words, if only one is
    # expected.
    text = text[:_READ]
    scripts = Counter(filter(None, map(_script, text)))
    expected = {script for code in languages for script in _SCRIPTS.get(code[:2], (_LATIN,))}
    letters = sum(scripts.values())
    if 2 * sum(scripts[script] for script in expected) < letters:
        return True
    latin = {code[:2] for code in languages if code[:2] not in _SCRIPTS}
    if 2 * scripts[_LATIN] < letters or ("en" in latin and len(latin) > 1):
        return False
    words = _WORD.findall(text.lower())
    english = sum(word in _ENGLISH for word in words)
    # A word with an accent is worth two.
    others = sum(2 - word.isascii() for word in words if word in _OTHERS)
    if "en" not in latin:
        return english >= 2 and english > others
    if others:
        others += sum(word in _PARTICLES for word in words)
    accents = sum(_script(letter) == _LATIN and not letter.isascii() for letter in text)
    only_shared = all(word in _SHARED for word in words if word in _ENGLISH)
    accented = only_shared and accents >= 2 and accents >= 0.04 * letters
    return len(words) > 3 and (accented or (others >= 2 and others > english))


@lru_cache(maxsize=1 << 16)
def _script(letter: str) -> str:
    """Return the script of a letter, as Unicode names it; an empty text for other characters."""
    if letter.isascii():
        return _LATIN if letter.isalpha() else ""
    return unicodedata.name(letter, "").partition(" ")[0] if letter.isalpha() else ""
