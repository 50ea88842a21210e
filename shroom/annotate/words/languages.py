"""Words of a text, in its language: Chinese by jieba, English by spaCy, others by Unicode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shroom.annotate.words.base import Words
from shroom.core.word_spans import spans

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from shroom.annotate.words.base import Language

#: The languages that are distinguished, since their words are found in different ways.
LANGUAGES = CHINESE, ENGLISH, OTHER = "zh", "en", "other"

_HAN = r"\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LATIN = r"A-Za-z\xaa\xba\xc0-\u024f\u1e00-\u1eff\ufb00-\ufb06\uff21-\uff5a"
_KANA = r"\u3041-\u30ff\uff66-\uff9f"
#: What counts as one unit of a language: a character where there are no blanks, else a word.
_UNITS = {
    CHINESE: re.compile(f"[{_HAN}]"),
    ENGLISH: re.compile(f"[{_LATIN}]+"),
    OTHER: re.compile(rf"[{_KANA}]|[^\W\d_{_HAN}{_LATIN}{_KANA}]+"),
}


def language_of(texts: Iterable[str]) -> str:
    """Return which of ``LANGUAGES`` texts are in, by the script that most of them is written in.

    A Han character counts as much as a Latin word, so that a few Latin names make no Chinese text
    English. Every language in Latin script counts as English.

    Examples
    --------
    >>> texts = ("OpenAI 发布了 GPT-4", "What does 你好 mean?", "ねこだ", "7")
    >>> [language_of([text]) for text in texts]
    ['zh', 'en', 'other', 'other']
    """
    count = dict.fromkeys(LANGUAGES, 0)
    for text in texts:
        for name, unit in _UNITS.items():
            count[name] += sum(1 for _ in unit.finditer(text))
    most = max(LANGUAGES, key=count.__getitem__)
    return most if count[most] else OTHER


def language(name: str, dictionary: Path | None = None) -> Language:
    """Return what finds the words of a language.

    Parameters
    ----------
    name : str
        One of ``LANGUAGES``.
    dictionary : path, optional
        jieba's dictionary, for Chinese; by default the one that comes with jieba.

    Examples
    --------
    >>> language("other").words("Ein Hund, zwei Hunde.").tokens
    ['ein', 'hund', 'zwei', 'hunde']
    """
    if name == CHINESE:
        from shroom.annotate.words.chinese import Chinese

        return Chinese(dictionary)
    if name == ENGLISH:
        from shroom.annotate.words.english import English

        return English()
    return Other()


class Other:
    """Any language, by Unicode: runs of letters and digits, lower-cased; all are keywords.

    In a script without blanks, each character is a word.
    """

    identity = "unicode 1"

    def words(self, text: str) -> Words:
        """Return the words of a text."""
        pieces = (text[start:end].lower() for start, end in spans(text))
        tokens = [piece for piece in pieces if any(map(str.isalnum, piece))]
        return Words(tokens, set(tokens), tokens)
