"""The words of a text, in its language: Chinese by jieba, English by spaCy, others by Unicode."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.core.word_spans import spans
from shroom.inference.tokenization import plain

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
#: How many keywords of a text can be found in it, and how many are counted.
KNOWN, COUNTED = 100, 20


@dataclass(frozen=True)
class Words:
    """The words of a text.

    Attributes
    ----------
    tokens : list of str
        All tokens, in the order of the text.
    vocabulary : collection of str
        The tokens that the text counts as containing, when another text's tokens are looked up.
    keywords : list of str
        The tokens that say what the text is about; some languages keep repeats.
    """

    tokens: list[str]
    # The tokens that the text counts as containing, when another's are looked up.
    vocabulary: Collection[str]
    keywords: list[str]


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
    # A Han character counts as much as a Latin word, so a few names make no Chinese text English.
    count = dict.fromkeys(LANGUAGES, 0)
    for text in texts:
        for name, unit in _UNITS.items():
            count[name] += sum(1 for _ in unit.finditer(text))
    most = max(LANGUAGES, key=count.__getitem__)
    return most if count[most] else OTHER


def language(name: str, dictionary: str | Path | None = None) -> Language:
    """Return the object that finds the words of a language.

    Examples
    --------
    >>> language("other").words("Ein Hund, zwei Hunde.").tokens
    ['ein', 'hund', 'zwei', 'hunde']
    """
    if name == CHINESE:
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


class Chinese:
    """Words as ``jieba.cut`` finds them, keywords as ``jieba.analyse.extract_tags`` does."""

    def __init__(self, dictionary: str | Path | None = None) -> None:
        self._dictionary = dictionary and Path(dictionary)

    @cached_property
    def identity(self) -> str:
        """The version of jieba, and a digest of the dictionary.

        Raises
        ------
        ShroomError
            Where the dictionary cannot be read.
        """
        if importlib.util.find_spec("jieba") is None:
            return "no jieba"  # which matters once a text is Chinese
        try:
            content = self._place.read_bytes()
        except OSError as error:
            raise _unreadable(self._place, error) from error
        return f"jieba {version('jieba')} {hashlib.sha256(content).hexdigest()[:12]}"

    def words(self, text: str) -> Words:
        """Return the words of a text; keywords are by TF-IDF, without repeats, the best first."""
        tags = _tags(self._place, self.identity)
        keywords = tags.extract_tags(text, topK=KNOWN)
        return Words(tags.tokenizer.cut(text), set(keywords), keywords[:COUNTED])

    @cached_property
    def _place(self) -> Path:
        """Path of the dictionary."""
        module = importlib.util.find_spec("jieba")
        if module is None or module.origin is None:
            raise _missing()
        return self._dictionary or Path(module.origin).with_name("dict.txt")


Language = English | Chinese | Other


@lru_cache(maxsize=2)
def _tags(dictionary: Path, same: str) -> Any:
    """Return what finds words and keywords: our own, whatever another program does with jieba's.

    It does not use jieba's cache, which is in a folder where everyone can write, is recognised
    only by its name and time, and is reported on stderr. ``same`` identifies the content of the
    dictionary.
    """
    # jieba's own cache is in a folder where everyone can write, and known by name and time only.
    # ``same`` identifies the content of the dictionary.
    del same
    tokenizer = _imported("jieba").Tokenizer()
    try:
        with dictionary.open("rb") as stream:
            tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(stream)
    except (OSError, ValueError) as error:
        raise _unreadable(dictionary, error) from error
    if min(tokenizer.FREQ.values(), default=0) < 0 or not tokenizer.total:
        raise _unreadable(dictionary)
    tokenizer.initialized = True
    analyse = _imported("jieba.analyse")
    with _without_warnings():
        tags = analyse.TFIDF()
    cut = tokenizer.cut
    # The words of a text are needed twice: as its tokens, and for its keywords.
    tokenizer.cut = lru_cache(maxsize=1)(lambda text: list(cut(text)))
    tags.tokenizer = tokenizer
    return tags


def _imported(name: str) -> Any:
    try:
        with _without_warnings():
            return importlib.import_module(name)
    except ImportError as error:
        raise _missing() from error


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Drop what Python says of jieba's source, and of files that it leaves open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _unreadable(dictionary: Path, error: OSError | ValueError | None = None) -> ShroomError:
    if isinstance(error, OSError):
        return ShroomError(f"dictionary: {dictionary}: {error.strerror}")
    match = re.search(r"at Line (\d+)", str(error))
    line = f"line {match[1]}: " if match else ""
    return ShroomError(
        f"dictionary: {dictionary}: {line}expected in each line a word and how frequent it is, in "
        "UTF-8, such as: 北京 34488"
    )


def _missing() -> ShroomError:
    return ShroomError(
        f"Chinese texts need jieba: {install_hint('annotate')}; or set language: other"
    )
