"""Words and keywords of Chinese texts, by jieba."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
import warnings
from collections import Counter
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.annotate.words import Words
from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: How many keywords of a text can be found in it, and how many are counted.
KNOWN, COUNTED = 100, 20
#: A shorter word is not a keyword.
_SHORTEST = 2
#: What ``jieba.cut`` looks for words in; it takes all else character by character.
_RUN = re.compile(r"([\u4E00-\u9FD5a-zA-Z0-9+#&._%\-]+)")


class Chinese:
    """Words as ``jieba.cut`` finds them, keywords as ``jieba.analyse.extract_tags`` does.

    Parameters
    ----------
    dictionary : path, optional
        Words with their frequencies, in jieba's form; by default the one that comes with it.
    """

    def __init__(self, dictionary: Path | None = None) -> None:
        self._dictionary = dictionary

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
        # How a run of characters is cut does not depend on its neighbours, and many are repeated:
        # clauses of refusals, and names in the other generations.
        runs = filter(None, _RUN.split(text))
        tokens = [token for run in runs for token in cut(run, self._place, self.identity)]
        keywords = _keywords(tokens)
        return Words(tokens, set(keywords[:KNOWN]), keywords[:COUNTED])

    @cached_property
    def _place(self) -> Path:
        """Where the dictionary lies."""
        module = importlib.util.find_spec("jieba")
        if module is None or module.origin is None:
            raise _missing()
        return self._dictionary or Path(module.origin).with_name("dict.txt")


@lru_cache(maxsize=1 << 16)
def cut(run: str, dictionary: Path, same: str) -> tuple[str, ...]:
    """Return the words of a run of characters; what was asked of late is known."""
    return tuple(_tokenizer(dictionary, same).cut(run))


@lru_cache(maxsize=2)
def _tokenizer(dictionary: Path, same: str) -> Any:
    """Return a tokenizer of our own; jieba's common one is another program's to change.

    It does without jieba's cache, which lies where everyone can write, is known by its name and
    time alone, and is reported on stderr. ``same`` identifies the content of the dictionary.
    """
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
    return tokenizer


def _keywords(tokens: list[str]) -> list[str]:
    """Return the words that are long enough and no stop words, by TF-IDF; ties as they come."""
    table = _table()
    count = Counter(
        token
        for token in tokens
        if len(token.strip()) >= _SHORTEST and token.lower() not in table.stop_words
    )
    total = float(sum(count.values()))
    weight = {
        token: n * (table.idf_freq.get(token, table.median_idf) / total)
        for token, n in count.items()
    }
    return sorted(weight, key=weight.__getitem__, reverse=True)


@lru_cache(maxsize=1)
def _table() -> Any:
    """Return inverse document frequencies and stop words: jieba's own, whatever a program set."""
    analyse = _imported("jieba.analyse")
    with _without_warnings():
        return analyse.TFIDF()


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
