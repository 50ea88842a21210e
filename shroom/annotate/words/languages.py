"""Words of a text, in its language: Chinese by jieba, English by spaCy or by rules, others."""

from __future__ import annotations

import importlib
import importlib.util
import re
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from shroom.annotate.words import english
from shroom.annotate.words.base import Words
from shroom.core.word_spans import spans

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from shroom.annotate.words.base import Language

#: The languages that are told apart: by how their words are found.
LANGUAGES = CHINESE, ENGLISH, OTHER = "zh", "en", "other"

_HAN = r"\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LATIN = r"A-Za-z\xaa\xba\xc0-\u024f\u1e00-\u1eff\ufb00-\ufb06\uff21-\uff5a"
_KANA = r"\u3041-\u30ff\uff66-\uff9f"
#: What is counted for each language: a character where there are no blanks, else a word.
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
    """Return the way to find the words of a language.

    Parameters
    ----------
    name : str
        One of ``LANGUAGES``.
    dictionary : path, optional
        Of jieba, for Chinese; by default the one that comes with it.

    Examples
    --------
    >>> language("other").words("Ein Hund, zwei Hunde.").tokens
    ['ein', 'hund', 'zwei', 'hunde']
    """
    if name == CHINESE:
        from shroom.annotate.words.chinese import Chinese

        return Chinese(dictionary)
    return English() if name == ENGLISH else Other()


class English:
    """English: spaCy's tokenizer where it is installed, else rules close to it; lower-cased."""

    @cached_property
    def identity(self) -> str:
        """Which of the two, and its version."""
        return f"spacy {version('spacy')}" if self._has_spacy else english.VERSION

    def words(self, text: str) -> Words:
        """Return the words of a text; function words are no keywords."""
        if not self._has_spacy:
            tokens = [token.lower() for token in english.tokens(text)]
            keywords = [token for token in tokens if token not in english.FUNCTION_WORDS]
            return Words(tokens, set(tokens), keywords)
        found = [token for token in self._tokenizer(text) if not token.is_space]
        tokens = [token.lower_ for token in found]
        return Words(tokens, set(tokens), [token.lower_ for token in found if not token.is_stop])

    @cached_property
    def _has_spacy(self) -> bool:
        return importlib.util.find_spec("spacy") is not None

    @cached_property
    def _tokenizer(self) -> Any:
        return importlib.import_module("spacy").blank("en").tokenizer


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
