"""Long texts as overlapping windows that a model can read, cut between sentences if possible."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

#: Returns the number of tokens of each distinct text.
Count = Callable[[Iterable[str]], dict[str, int]]
Span = tuple[int, int]

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
    if max(sizes) <= most:
        return sentences, sizes
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
