"""Whether a text is in a language that a model does not read, by script and common words."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from shroom.detectors.arrays import Datapoints
from shroom.detectors.base import Detector

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_LATIN = "LATIN"
#: The languages of each other script, as Unicode names its letters.
_SCRIPTS = {script: codes.split() for script, codes in _DATA["scripts"].items()}
_NOT_LATIN = {code for codes in _SCRIPTS.values() for code in codes}
_ENGLISH, _OTHERS, _SHARED, _PARTICLES = (frozenset(it.split()) for it in _DATA["words"].values())
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
    known = {code[:2] for code in languages}
    latin, letters = known - _NOT_LATIN, sum(scripts.values())
    expected = {script for script, codes in _SCRIPTS.items() if not known.isdisjoint(codes)}
    expected |= {_LATIN} if latin else set()
    if 2 * sum(scripts[script] for script in expected) < letters:
        return True
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
