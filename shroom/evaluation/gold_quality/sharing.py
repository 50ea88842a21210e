"""Items in two splits: with the same texts, nearly the same texts, or the same input.

Candidates are found by MinHash and compared by Jaccard similarity. Of the pairs at the threshold,
2 in 1000 are missed.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.util import find_spec
from typing import Any

from shroom.core.extras import require
from shroom.scoring.item_values import normalised
from shroom.scoring.result import Plain

#: The Jaccard similarity from which two texts are nearly the same.
NEAR = 0.8
#: Characters of a shingle.
_SHINGLE = 5
#: Bands and rows of the hash table: a pair at ``NEAR`` is found with 99.8%.
_BANDS, _ROWS = 21, 6


def text_of(row: Mapping[str, Any], key: str) -> str:
    """Return a text of a row, empty if there is none."""
    value = row.get(key)
    return value if isinstance(value, str) else ""


class Texts:
    """The normalised texts of a split, and the index that finds near duplicates."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = [
            tuple(normalised(text_of(row, key)) for key in ("hyp", "src", "tgt")) for row in rows
        ]

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The output of each item and its reference: the target, or the source without one."""
        return [(hyp, tgt or src) for hyp, src, tgt in self.rows]

    @cached_property
    def inputs(self) -> list[tuple[str, str]]:
        return [(src, tgt) for _, src, tgt in self.rows]

    @cached_property
    def sketches(self) -> list[Any]:
        from datasketch import MinHash

        shingled = [[*_shingles("h", hyp), *_shingles("r", ref)] for hyp, ref in self.pairs]
        size = _BANDS * _ROWS
        return list(MinHash.generator(shingled, num_perm=size, hashfunc=lambda value: value))

    @cached_property
    def index(self) -> Any:
        from datasketch import MinHashLSH

        index = MinHashLSH(num_perm=_BANDS * _ROWS, params=(_BANDS, _ROWS))
        for place, sketch in enumerate(self.sketches):
            index.insert(place, sketch, check_duplication=False)
        return index


@dataclass(frozen=True)
class Shared(Plain):
    """The items of a split that are also in another split, each with its place there."""

    file: str
    exact: dict[int, int]
    near: dict[int, int] | None
    inputs: dict[int, int]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, and the pairs of the same and nearly the same items."""
        found = {"exact": self.exact, "near": self.near, "inputs": self.inputs}
        counts = {name: None if pairs is None else len(pairs) for name, pairs in found.items()}
        near = None if self.near is None else [*map(list, self.near.items())]
        pairs = {"exact": [*map(list, self.exact.items())], "near": near}
        return {"file": self.file, **counts, "pairs": pairs}


def can_look_for_near() -> bool:
    return find_spec("datasketch") is not None


def shared(own: Texts, other: Texts, file: str, *, near: bool = True) -> Shared:
    """Return the items of a split that are also in another split."""
    exact, inputs = _same(own.pairs, other.pairs), _same(own.inputs, other.inputs)
    close = _near(own, other, set(exact)) if near else None
    taken = {*exact, *(close or ())}
    inputs = {place: there for place, there in inputs.items() if place not in taken}
    return Shared(file, exact, close, inputs)


def _filled(pairs: Sequence[tuple[str, str]]) -> list[tuple[int, tuple[str, str]]]:
    return [(place, pair) for place, pair in enumerate(pairs) if any(pair)]


def _same(own: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]]) -> dict[int, int]:
    first = {pair: place for place, pair in reversed(_filled(other))}
    return {place: first[pair] for place, pair in _filled(own) if pair in first}


def _near(own: Texts, other: Texts, without: set[int]) -> dict[int, int]:
    """Return the nearest item of the other split for each item that has a near duplicate."""
    require("data", "datasketch")
    best: dict[int, tuple[float, int]] = {}
    for there, sketch in enumerate(other.sketches):
        if not all(other.pairs[there]):
            continue
        for place in own.index.query(sketch):
            if place in without or not all(own.pairs[place]):
                continue
            # Both sides must be near; then their union is near, too.
            value = _likeness(own.pairs[place], other.pairs[there])
            if value >= NEAR and value > best.get(place, (0.0, 0))[0]:
                best[place] = value, there
    return {place: there for place, (_, there) in sorted(best.items())}


def _likeness(pair: tuple[str, str], other: tuple[str, str]) -> float:
    """Return the lower similarity of outputs and references; 0 if that of outputs is too low."""
    of_outputs = jaccard(pair[0], other[0])
    return min(of_outputs, jaccard(pair[1], other[1])) if of_outputs >= NEAR else 0.0


def jaccard(one: str, other: str) -> float:
    """Return the Jaccard similarity of the sets of runs of five characters of two texts."""
    if one == other:
        return 1.0
    a, b = (_shingles("", text) for text in (one, other))
    return len(a & b) / len(a | b)


@lru_cache(maxsize=1 << 12)
def _shingles(mark: str, text: str) -> frozenset[int]:
    """Return the runs of characters of a text as numbers, the same on every machine."""
    runs = max(1, len(text) - _SHINGLE + 1)
    shingles = (mark + text[start : start + _SHINGLE] for start in range(runs))
    return frozenset(zlib.crc32(shingle.encode("utf-8", "replace")) for shingle in shingles)
