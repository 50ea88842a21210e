"""Texts as a transformer reads them: their tokens, and long texts truncated or in windows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError, printable

#: Returns the number of tokens of each distinct text.
Count = Callable[[Iterable[str]], dict[str, int]]
Span = tuple[int, int]

#: Families that count their positions from the padding's id + 1, so that some are never used.
_OFFSET = re.compile(r".*roberta.*|camembert|data2vec-text|esm|ibert|longformer|luke|mpnet|xmod")
#: Maximum number of tokens if neither the tokenizer nor the configuration has a limit.
_DEFAULT_LENGTH = 512
#: The byte 0, which no text has, in vocabularies of bytes.
_NUL = ("Ā", "<0x00>")
#: The number of texts that are tokenized at a time.
_SLICE = 1000
#: Where a sentence ends: before the blanks after a stop, right after a stop of scripts that write
#: no blanks, and before a line end. A stop may be followed by what closes a quotation.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?…؟۔։।॥።။།៕])|(?<=[.!?…][\"'”’»)\]]))(?=\s)"
    r"|(?:(?<=[。！？｡])(?![」』”’）〉》])|(?<=[。！？｡][」』”’）〉》]))"
    r"|(?<=\S)(?=[^\S\n\r\v\f\x85\u2028\u2029]*[\n\r\v\f\x85\u2028\u2029])"
)
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
#: A sentence that is longer than a window is cut into parts of this share of a window, so that an
#: overlap of one part is useful.
_PARTS = 4


def plain(text: str) -> str:
    """Return the text, with a question mark for each lone surrogate, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text  # itself, since copies of all texts would double the memory of a large run


def in_chat(
    tokenizer: Any, name: str, turns: Sequence[tuple[str, str]], *, asks: bool, way_out: str
) -> str:
    """Return turns (role, text) in the chat template, which may raise any exception."""
    messages = [{"role": role, "content": text} for role, text in turns]
    try:
        return str(
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=asks)
        )
    except Exception as error:
        reason = printable(str(error).partition("\n")[0])
        raise ShroomError(f"{name}: the chat template fails ({reason}); {way_out}") from error


def longest(tokenizer: Any, config: Any) -> int:
    """Return the maximum number of tokens that a model reads at once."""
    positions = getattr(config, "max_position_embeddings", None) or 0
    if _OFFSET.fullmatch(config.model_type):
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    limits = (tokenizer.model_max_length, positions)
    # A huge number means that there is no limit.
    return min((int(n) for n in limits if 0 < n < 10**9), default=_DEFAULT_LENGTH)


def padded(tokenizer: Any, config: Any = None) -> Any:
    """Return a tokenizer that pads batches as its model expects."""
    # Causal classifiers score the last token that is not padding, or simply the last one, so the
    # padding must be neither the end token nor a token of any text.
    named = getattr(config, "pad_token_id", None)
    valid = named in range(len(tokenizer))
    padding = tokenizer.convert_ids_to_tokens(named) if valid else None  # None in a gap, too
    if padding is not None:
        tokenizer.pad_token = padding
    elif tokenizer.pad_token in (None, tokenizer.eos_token):
        unused = (*tokenizer.all_special_tokens, *_NUL, tokenizer.convert_ids_to_tokens(0))
        known = tokenizer.get_vocab().keys() - {tokenizer.eos_token}
        tokenizer.pad_token = next(token for token in unused if token in known)
    return tokenizer


def counts(tokenizer: Any, texts: Iterable[str]) -> dict[str, int]:
    """Return the number of tokens of each distinct text, without special tokens."""
    options = {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
    number = dict.fromkeys(texts, 0)
    distinct = list(number)
    for start in range(0, len(distinct), _SLICE):
        part = distinct[start : start + _SLICE]
        ids = tokenizer(part, add_special_tokens=False, **options)["input_ids"]
        number.update(zip(part, map(len, ids)))
    return number


class PairReader:
    """Turns pairs of texts into a model's input; the first text is truncated before the second."""

    # Texts are tokenized twice, first to sort the pairs by length and then in their batch: the
    # tokens of a large run need more memory than its texts.

    def __init__(self, tokenizer: Any, room: int) -> None:
        tokenizer.split_special_tokens = True
        self._tokenizer, self.room = tokenizer, room
        self._lock = Lock()
        self.special = int(tokenizer.num_special_tokens_to_add(pair=True))

    def count(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the number of tokens of each distinct text, without special tokens."""
        return counts(self._tokenizer, texts)

    def lengths(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.int32]:
        """Return the number of tokens of each pair before anything is cut: shape [n]."""
        number = self.count(text for pair in pairs for text in pair)
        return np.array([number[a] + number[b] + self.special for a, b in pairs], np.int32)

    def batch(self, pairs: Sequence[tuple[str, str]]) -> Mapping[str, NDArray[np.int64]]:
        """Return the model's input for pairs: arrays of shape [pairs, tokens] by name."""
        with self._lock:  # each call sets options of the tokenizer, which threads share
            arrays = self._arrays(pairs)
            if arrays["input_ids"].shape[1] > self.room:
                arrays = self._arrays([self._shortened(pair) for pair in pairs])
        return arrays

    def _arrays(self, pairs: Iterable[tuple[str, str]]) -> Mapping[str, NDArray[np.int64]]:
        first, second = map(list, zip(*pairs))
        arrays: Mapping[str, NDArray[np.int64]] = self._tokenizer(
            first, second, padding=True, return_tensors="np", verbose=False
        )
        return arrays

    def _shortened(self, pair: tuple[str, str]) -> tuple[str, str]:
        """Return a pair that fits, with all of the second text if possible."""
        first, second = pair
        n, m = map(self.count(pair).__getitem__, pair)
        free = self.room - self.special
        if n + m <= free:
            return pair
        if min(n, 1) + m > free:
            second = beginning(second, free - min(n, free // 2), self.count)
        return beginning(first, free - self.count([second])[second], self.count), second


def sentence_spans(text: str) -> list[Span]:
    """Return the spans of sentences, which cover the text; abbreviations end sentences, too."""
    return _between(0, len(text), [match.start() for match in _SENTENCE_END.finditer(text)])


def windows(text: str, room: int, count: Count, *, overlap: int = 1, prefix: str = "") -> list[str]:
    """Return the texts of a text's windows, each with ``prefix`` of at most ``room`` tokens."""
    # Any ``overlap + 1`` neighbouring sentences that fit are together in one window. A sentence
    # that does not fit is cut at words, and a word that does not between characters.
    parts = (text[start:end].strip() for start, end in spans(text, room, count, overlap, prefix))
    return list(filter(None, parts)) or [""]


def spans(text: str, room: int, count: Count, overlap: int, prefix: str = "") -> list[Span]:
    """Return the spans of :func:`windows`, which takes the same arguments."""
    most = max(1, room - count([prefix])[prefix])
    while True:
        pieces, sizes = _pieces(text, most, count)
        spans = _windows(pieces, sizes, most, overlap)
        inputs = [prefix + text[start:end].strip() for start, end in spans]
        surplus = max(count(inputs).values()) - room
        if surplus <= 0 or most == 1:
            return spans
        # A tokenizer may make more of sentences together than of each: leave it more room.
        most = max(1, most - surplus)


def beginning(text: str, room: int, count: Count) -> str:
    """Return as much of a text's start as fits into ``room`` tokens."""
    # A longer start may have fewer tokens, so the places that are tried decide the result.
    fits, beyond = 0, len(text) + 1
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        if count([text[:middle]])[text[:middle]] <= room:
            fits = middle
        else:
            beyond = middle
    return text[:fits]


def _windows(pieces: Sequence[Span], sizes: Sequence[int], most: int, overlap: int) -> list[Span]:
    """Return the spans of as few windows as possible, each of at most ``most`` tokens."""
    before = [0, *accumulate(sizes)]

    def end(first: int) -> int:
        return max(bisect_right(before, before[first] + most) - 1, first + 1)

    spans, first = [], 0
    while True:
        last = end(first)
        spans.append((pieces[first][0], pieces[last - 1][1]))
        if last >= len(pieces):
            return spans
        earliest = max(last - overlap, first + 1)
        first = next(
            place for place in range(earliest, last + 1) if place == last or end(place) > last
        )


def _pieces(text: str, most: int, count: Count) -> tuple[list[Span], list[int]]:
    """Return the spans of a text's sentences, long ones in parts, and the tokens of each."""
    sentences = sentence_spans(text)
    sizes = _sizes(text, sentences, count)
    pieces = [
        part
        for span, size in zip(sentences, sizes)
        for part in ([span] if size <= most else _parts(text, span, most, count))
    ]
    return pieces, _sizes(text, pieces, count)


def _parts(text: str, span: Span, most: int, count: Count) -> list[Span]:
    """Return the spans of a long sentence's parts, each of a share of ``most`` tokens or fewer."""
    share = max(1, most // _PARTS)
    words = _between(*span, [match.start() for match in _WORD_END.finditer(text, *span)])
    while True:
        sizes = _sizes(text, words, count)
        if not any(size > share and end - start > 1 for (start, end), size in zip(words, sizes)):
            return _windows(words, sizes, share, 0)
        words = [
            half
            for (start, end), size in zip(words, sizes)
            for half in _between(start, end, [(start + end) // 2] if size > share else [])
        ]


def _sizes(text: str, spans: Sequence[Span], count: Count) -> list[int]:
    """Return the number of tokens of each span, at least 1 so that blank windows end."""
    texts = [text[start:end] for start, end in spans]
    counts = count(texts)
    return [max(1, counts[text]) for text in texts]


def _between(start: int, end: int, places: Iterable[int]) -> list[Span]:
    """Return the spans between sorted places and the two ends."""
    inside = [place for place in dict.fromkeys(places) if start < place < end]
    bounds = [start, *inside, end]
    return list(zip(bounds, bounds[1:]))
