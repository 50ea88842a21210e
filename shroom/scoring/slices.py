"""Slices of the scores by the gold's values, the annotators' agreement, and the texts.

The data of the task name no language, so a text is known by its script: the writing system that
most of its letters are of.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import UnknownName, printable
from shroom.metrics.correlation import levels
from shroom.scoring.table import GROUPS, Group, Table

#: Default keys to slice scores by.
SLICES = (*GROUPS, "agreement")
#: Further keys, for gold that was read with its texts.
MORE_SLICES = ("length", "script", "lang")
#: The slice of the items without a value for a key.
NONE = "none"

#: With more annotators, p would slice the items too finely.
MAX_VOTES = 10

# The first word of a letter's name is its script's, but for these.
_SCRIPTS = {
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
    "CANADIAN": "Canadian Syllabics",
    "HENTAIGANA": "Hiragana",
    "PHAGS": "Phags-Pa",
    "NKO": "NKo",
}
# Of these, the first two.
_TWO_WORDS = {"OLD", "NEW", "TAI", "OL", "MEETEI", "LINEAR"}
# And these are letters of no script.
_NO_SCRIPT = {"", "MODIFIER", "VEDIC", "VERTICAL", "CARON", "ROMAN", "MASU", "TURNED", "EULER"}
_KANA = {"Hiragana", "Katakana"}


def slice_keys(by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the keys to slice by: one, or several.

    Raises
    ------
    UnknownName
        If one is neither of ``SLICES`` nor of ``MORE_SLICES``.

    Examples
    --------
    >>> slice_keys("task"), slice_keys(["task", "length"])
    (('task',), ('task', 'length'))
    """
    keys = (by,) if isinstance(by, str) else tuple(by)
    names = (*SLICES, *MORE_SLICES)
    for key in keys:
        if key not in names:
            raise UnknownName(
                f"no key '{printable(str(key))}' to slice by; there are {', '.join(names)}"
            )
    return keys


def needs_texts(by: Sequence[str]) -> bool:
    """Return whether the gold must be read with its texts to slice by these keys."""
    return any(key in MORE_SLICES for key in by)


def group_of(gold: Table, key: str) -> Group | None:
    """Return what a key slices the items into; ``None`` where the gold does not have it."""
    if key in _BY_TEXTS:
        return _BY_TEXTS[key](gold)
    if key == "agreement":
        return agreement(gold)
    group = gold.groups.get(key)
    return group if group and any(group.words) else None


def missing(gold: Table, asked: Sequence[str]) -> list[str]:
    """Return a sentence for each key by which the items were to be sliced and cannot be."""
    why = {
        "length": "no item has hyp",
        "script": "no item has src",
        "lang": "no item has src_lang or lang",
        "agreement": f"p(Hallucination) is not the share of up to {MAX_VOTES} votes on every item",
    }
    return [
        f"{printable(gold.file)}: {why.get(key, f'no item has {key}')}, so there are no slices by "
        f"{key}"
        for key in asked
        if group_of(gold, key) is None
    ]


def agreement(gold: Table) -> Group | None:
    """Return the items by the share of annotators on the majority's side: 1.0 is unanimous.

    Each p must be a share of up to ``MAX_VOTES`` votes, to the two or three digits that it has.
    Any other p, such as a model's or a share of characters, has a value of its own for each item.

    Returns
    -------
    Group or None
        ``None`` where p is something else.

    Examples
    --------
    >>> from shroom.scoring.table import Table
    >>> labels = np.array([1, 0, 0])
    >>> agreement(Table("votes", 3, labels, np.array([0.67, 0.25, 0.0]))).words
    ['0.67', '0.75', '1.0']
    >>> agreement(Table("a model", 3, labels, np.array([0.97, 0.312, 0.04]))) is None
    True
    """
    if gold.p.dtype.kind != "f" or np.isnan(gold.p).any():
        return None
    shares = np.maximum(gold.p, 1 - gold.p).round(3)
    place = levels(shares)
    distinct = np.empty(int(place.max()) + 1)
    distinct[place] = shares
    votes = np.arange(1, MAX_VOTES + 1)
    counts = np.outer(distinct, votes)
    nearest = np.min(np.abs(counts.round() - counts) / votes, axis=1)
    rounding = np.where(distinct == distinct.round(2), 0.005, 0.0005)
    if np.any(nearest > rounding + 1e-9):
        return None
    return Group([repr(share) for share in distinct.tolist()], place)


def length(gold: Table) -> Group | None:
    """Return the items by thirds of the length of ``hyp``, in characters (code points).

    The cuts are those between two lengths that come nearest to a third and to two thirds of the
    items, so equal lengths are never apart, and there may be fewer than three slices.

    Parameters
    ----------
    gold : Table
        Read with its texts.

    Returns
    -------
    Group or None
        Its words have the least and the greatest length, the shortest slice first; ``None`` where
        no item has a ``hyp``.
    """
    lengths = np.array([-1 if hyp is None else len(hyp) for hyp, _ in gold.texts or ()])
    has_text = lengths >= 0
    if not has_text.any():
        return None
    bins = thirds(lengths[has_text])
    words = [
        _between(int(part.min()), int(part.max()))
        for part in (lengths[has_text][bins == place] for place in range(int(bins.max()) + 1))
    ]
    place = np.full(gold.n, len(words))
    place[has_text] = bins
    return Group(words if has_text.all() else [*words, NONE], place)


def thirds(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return which third each value belongs to, equal values to the same.

    Examples
    --------
    >>> thirds([5, 1, 9, 2, 7, 3]).tolist(), thirds([4, 4, 4, 8]).tolist(), thirds([6, 6]).tolist()
    ([1, 0, 2, 0, 2, 1], [0, 0, 0, 1], [0, 0])
    """
    level = levels(np.asarray(values))
    below = np.cumsum(np.bincount(level))[:-1]  # how many items each possible cut leaves below
    if not len(below):
        return level
    cuts = {int(np.argmin(np.abs(3 * below - k * len(level)))) for k in (1, 2)}
    return np.searchsorted(np.array(sorted(cuts)), level).astype(np.int64)


def _between(low: int, high: int) -> str:
    if low == high:
        return f"{low} character{'' if low == 1 else 's'}"
    return f"{low}–{high} characters"


def script(gold: Table) -> Group | None:
    """Return the items by the script of ``src``; ``None`` where no item has a ``src``."""
    if all(src is None for _, src in gold.texts or ()):
        return None
    return Group.of([script_of(src or "") for _, src in gold.texts or ()])


def lang(gold: Table) -> Group | None:
    """Return the items by the language of ``src``; ``None`` where no item has it."""
    group = gold.groups.get("lang")
    if group is None or not any(group.words):
        return None
    return Group.of([group.words[place] or NONE for place in group.place.tolist()])


def script_of(text: str) -> str:
    """Return the script that most letters of a text are of, by the names that Unicode gives them.

    Japanese is written in three scripts: where a text has kana, its Han letters count with them,
    as ``Japanese``. Of equally many, the script that comes first in the text is returned; of no
    letters at all, ``none``.

    References
    ----------
    Unicode Standard Annex #24, "Unicode Script Property"; ISO 15924 (``Jpan``).

    Examples
    --------
    >>> [script_of(text) for text in ("Sonne", "солнце sun", "太阳", "太陽が昇る", "42 !")]
    ['Latin', 'Cyrillic', 'Han', 'Japanese', 'none']
    """
    if text.isascii():
        return "Latin" if re.search("[A-Za-z]", text) else NONE
    counts: Counter[str] = Counter()
    # Full-width, ornamental and other such forms of a letter become the letter.
    for letter, times in Counter(unicodedata.normalize("NFKC", text)).items():
        if letter.isalpha():
            counts[_script(letter)] += times
    del counts[""]
    if _KANA & counts.keys():
        for part in (*_KANA, "Han"):
            counts["Japanese"] += counts.pop(part, 0)
    return max(counts, key=counts.__getitem__, default=NONE)


@lru_cache(1 << 14)
def _script(letter: str) -> str:
    words = re.split("[ -]", unicodedata.name(letter, ""))
    if words[0] in _NO_SCRIPT:
        return ""
    if words[0] in _TWO_WORDS:
        return " ".join(words[:2]).title()
    return _SCRIPTS.get(words[0], words[0].title())


_BY_TEXTS = {"length": length, "script": script, "lang": lang}
