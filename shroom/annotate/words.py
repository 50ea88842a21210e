"""The words of a text, in its language: Chinese by jieba, English by spaCy, others by Unicode."""

from __future__ import annotations

import importlib
import importlib.util
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Protocol

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.core.word_spans import spans
from shroom.inference.tokenization import plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

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
#: A longer run without blanks is cut, as spaCy's time grows with the square of its length.
_LONGEST = 200
_LONG = re.compile(rf"(\S{{{_LONGEST}}})(?=\S)")


@dataclass(frozen=True)
class Words:
    """The words of a text.

    Attributes
    ----------
    tokens : list of str
        All tokens, in the order of the text.
    known : collection of str
        The tokens that the text counts as containing, when another text's tokens are looked up.
    keywords : list of str
        The tokens that say what the text is about; some languages keep repeats.
    """

    tokens: list[str]
    known: Collection[str]
    keywords: list[str]


class Language(Protocol):
    """Finds the words of texts in one language; ``identity`` is the library and its version."""

    @property
    def identity(self) -> str: ...  # noqa: D102

    def words(self, text: str) -> Words: ...  # noqa: D102


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
    """Return the object that finds the words of a language.

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
        from shroom.annotate.chinese_words import Chinese

        return Chinese(dictionary)
    return English() if name == ENGLISH else Other()


class English:
    """The tokens of spaCy's blank English pipeline, lower-cased and without white space.

    Examples
    --------
    >>> words = English().words("It's Dr. Who's show; don't!")
    >>> words.tokens
    ['it', "'s", 'dr.', 'who', "'s", 'show', ';', 'do', "n't", '!']
    >>> words.keywords
    ['dr.', ';', '!']
    """

    @cached_property
    def identity(self) -> str:
        """The version of spaCy."""
        if importlib.util.find_spec("spacy") is None:
            return "no spacy"  # which matters once a text is English
        return f"spacy {version('spacy')}"

    def words(self, text: str) -> Words:
        """Return the words of a text; keywords are those that are not stop words, with repeats.

        Raises
        ------
        ShroomError
            Where spaCy is not installed.
        """
        document = [t for t in self._tokenizer(_LONG.sub(r"\1 ", plain(text))) if not t.is_space]
        tokens = [token.lower_ for token in document]
        return Words(tokens, set(tokens), [token.lower_ for token in document if not token.is_stop])

    @cached_property
    def _tokenizer(self) -> Any:
        try:
            spacy = importlib.import_module("spacy")
        except ImportError as error:
            hint = install_hint("annotate")
            message = f"English texts need spaCy: {hint}; or set language: other"
            raise ShroomError(message) from error
        return spacy.blank("en").tokenizer


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
