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

#: Languages with different ways of finding words.
LANGUAGES = CHINESE, ENGLISH, OTHER = "zh", "en", "other"

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
_NO_JIEBA = "Chinese texts need jieba"
#: How many keywords of a text count as its vocabulary, and how many as its keywords.
KNOWN, COUNTED = 100, 20


@dataclass(frozen=True)
class Words:
    """The words of a text."""

    tokens: list[str]  # all tokens, in the order of the text
    # The tokens that count as contained in the text.
    vocabulary: Collection[str]
    keywords: list[str]  # the most informative tokens; in some languages with repeats


def language_of(texts: Iterable[str]) -> str:
    """Return the language of ``LANGUAGES`` whose script is most frequent in the texts."""
    # A Han character counts as much as a Latin word, so Latin names do not outweigh Chinese.
    count = dict.fromkeys(LANGUAGES, 0)
    for text in texts:
        for name, unit in _UNITS.items():
            count[name] += sum(1 for _ in unit.finditer(text))
    most = max(LANGUAGES, key=count.__getitem__)
    return most if count[most] else OTHER


def language(name: str, dictionary: str | Path | None = None) -> Language:
    """Return the object that finds the words of a language."""
    if name == CHINESE:
        return Chinese(dictionary)
    return English() if name == ENGLISH else Other()


class English:
    """The tokens of spaCy's blank English pipeline, lower-cased and without white space."""

    @cached_property
    def identity(self) -> str:
        return _installed("spacy")

    def words(self, text: str) -> Words:
        """Return the words of a text; keywords are all words except stop words, with repeats."""
        document = [t for t in self._tokenizer(_LONG.sub(r"\1 ", plain(text))) if not t.is_space]
        tokens = [token.lower_ for token in document]
        return Words(tokens, set(tokens), [token.lower_ for token in document if not token.is_stop])

    @cached_property
    def _tokenizer(self) -> Any:
        return _imported("spacy", "English texts need spaCy").blank("en").tokenizer


class Other:
    """Any language, by Unicode: runs of letters and digits, lower-cased; all are keywords."""

    # In a script without blanks, each character is a word.

    identity = "unicode 1"

    def words(self, text: str) -> Words:
        pieces = (text[start:end].lower() for start, end in spans(text))
        tokens = [piece for piece in pieces if any(map(str.isalnum, piece))]
        return Words(tokens, set(tokens), tokens)


class Chinese:
    """Words as ``jieba.cut`` finds them, keywords as ``jieba.analyse.extract_tags`` does."""

    def __init__(self, dictionary: str | Path | None = None) -> None:
        self._dictionary = dictionary

    @cached_property
    def identity(self) -> str:
        """The version of jieba, and a digest of the dictionary."""
        name = _installed("jieba")
        return name if name.startswith("no ") else f"{name} {self._content[1]}"

    def words(self, text: str) -> Words:
        """Return the words of a text; keywords are by TF-IDF, without repeats, the best first."""
        tags = _tags(*self._content)
        keywords = tags.extract_tags(text, topK=KNOWN)
        return Words(tags.tokenizer.cut(text), set(keywords), keywords[:COUNTED])

    @cached_property
    def _content(self) -> tuple[Path, str]:
        """The dictionary's path, and a digest of its content."""
        module = _imported("jieba", _NO_JIEBA)
        path = Path(self._dictionary or Path(module.__file__).with_name("dict.txt"))
        try:
            return path, hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        except OSError as error:
            raise ShroomError(f"dictionary: {path}: {error.strerror}") from error


Language = English | Chinese | Other


@lru_cache(maxsize=2)
def _tags(dictionary: Path, digest: str) -> Any:
    """Return our own finder of words and keywords, independent of jieba's global one."""
    # jieba's own cache is in a world-writable folder, and identified by name and time only.
    del digest  # another content needs another finder
    tokenizer = _imported("jieba", _NO_JIEBA).Tokenizer()
    try:
        tokenizer.FREQ, tokenizer.total = _frequencies(tokenizer, dictionary)
    except ValueError as error:
        match = re.search(r"at Line (\d+)", str(error))
        line = f"line {match[1]}: " if match else ""
        raise ShroomError(
            f"dictionary: {dictionary}: {line}expected a word and its frequency on each line, in "
            "UTF-8, such as 北京 34488"
        ) from error
    tokenizer.initialized = True
    analyse = _imported("jieba.analyse", _NO_JIEBA)
    with _without_warnings():
        tags = analyse.TFIDF()
    cut = tokenizer.cut
    # The words of a text are needed twice: as its tokens, and for its keywords.
    tokenizer.cut = lru_cache(maxsize=1)(lambda text: list(cut(text)))
    tags.tokenizer = tokenizer
    return tags


def _frequencies(tokenizer: Any, dictionary: Path) -> tuple[dict[str, int], int]:
    """Return the frequencies of words and their sum; raise ValueError if they are unusable."""
    with dictionary.open("rb") as stream:
        frequencies, total = tokenizer.gen_pfdict(stream)
    if min(frequencies.values(), default=0) < 0 or not total:
        raise ValueError("no word is frequent")
    return frequencies, total


def _installed(name: str) -> str:
    """Return a package's name and version; without it, only texts of its language fail."""
    return f"{name} {version(name)}" if importlib.util.find_spec(name) else f"no {name}"


def _imported(name: str, needed: str) -> Any:
    try:
        with _without_warnings():
            return importlib.import_module(name)
    except ImportError as error:
        way_out = f"{install_hint('annotate')}; or set language: other"
        raise ShroomError(f"{needed}: {way_out}") from error


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Ignore warnings about jieba's source code and the files that it leaves open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
