"""The words of a text, in its language: Chinese by jieba, English by spaCy, others by Unicode."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.core.word_spans import spans
from shroom.inference.tokenization import plain

CHINESE, ENGLISH, OTHER = "zh", "en", "other"

_HAN = r"\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LATIN = r"A-Za-z\xaa\xba\xc0-\u024f\u1e00-\u1eff\ufb00-\ufb06\uff21-\uff5a"
_KANA = r"\u3041-\u30ff\uff66-\uff9f"
#: Units of a language: characters if it is written without blanks, else words.
_UNITS = {
    CHINESE: re.compile(f"[{_HAN}]"),
    ENGLISH: re.compile(f"[{_LATIN}]+"),
    OTHER: re.compile(rf"[{_KANA}]|[^\W\d_{_HAN}{_LATIN}{_KANA}]+"),
}
#: A longer run without blanks is cut, because spaCy's time grows with the square of its length.
_LONGEST = 200
_LONG = re.compile(rf"(\S{{{_LONGEST}}})(?=\S)")
#: How many keywords of a text count as its vocabulary, and how many as its keywords.
KNOWN, COUNTED = 100, 20


class Words(NamedTuple):
    """The words of a text."""

    tokens: list[str]  # all tokens, in the order of the text
    vocabulary: Collection[str]  # the tokens that count as contained in the text
    keywords: list[str]  # the most informative tokens; in some languages with repeats


def language_of(texts: Iterable[str]) -> str:
    """Return the language of ``LANGUAGES`` whose script is most frequent in the texts."""
    # A Han character counts as much as a Latin word, so Latin names do not outweigh Chinese.
    count = dict.fromkeys(_UNITS, 0)
    for text in texts:
        for name, unit in _UNITS.items():
            count[name] += sum(1 for _ in unit.finditer(text))
    most = max(count, key=count.__getitem__)
    return most if count[most] else OTHER


def _english(text: str) -> Words:
    """Return spaCy's tokens, lower-cased; all but stop words are keywords, with repeats."""
    tokenizer = _spacy()
    document = [it for it in tokenizer(_LONG.sub(r"\1 ", plain(text))) if not it.is_space]
    tokens = [token.lower_ for token in document]
    return Words(tokens, set(tokens), [token.lower_ for token in document if not token.is_stop])


def _other(text: str) -> Words:
    """Return runs of letters and digits, lower-cased; all are keywords."""
    # In a script without blanks, each character is a word.
    pieces = (text[start:end].lower() for start, end in spans(text))
    tokens = [piece for piece in pieces if any(map(str.isalnum, piece))]
    return Words(tokens, set(tokens), tokens)


def _chinese(text: str) -> Words:
    """Return the words of ``jieba.cut``; keywords are by TF-IDF, without repeats."""
    tags = _jieba()
    keywords = tags.extract_tags(text, topK=KNOWN)
    return Words(list(tags.tokenizer.cut(text)), set(keywords), keywords[:COUNTED])


#: The function that returns the words of a text, by language.
LANGUAGES = {CHINESE: _chinese, ENGLISH: _english, OTHER: _other}


def versions() -> str:
    """Return the packages that find words; without one, only texts of its language fail."""
    names = ("jieba", "spacy")
    return ", ".join(f"{it} {version(it)}" for it in names if importlib.util.find_spec(it))


@cache
def _spacy() -> Any:
    with _needed("English texts need spaCy"):
        import spacy
    return spacy.blank("en").tokenizer


@cache
def _jieba() -> Any:
    """Return our own finder of words and keywords, independent of jieba's global one."""
    with _needed("Chinese texts need jieba"):
        from jieba import Tokenizer
        from jieba.analyse import TFIDF

        tags, tokenizer = TFIDF(), Tokenizer()
    # jieba's own cache is in a world-writable folder, and identified by name and time only.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    tags.tokenizer = tokenizer
    return tags


@contextmanager
def _needed(sentence: str) -> Iterator[None]:
    """Report a missing package; ignore warnings about jieba's source code and open files."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except ImportError as error:
        hint = f"{install_hint('annotate')}; or set language: other"
        raise ShroomError(f"{sentence}: {hint}") from error
