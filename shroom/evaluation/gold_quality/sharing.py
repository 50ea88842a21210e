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
        #: The output of each item and its reference: the target, or the source without one.
        self.pairs = [(hyp, tgt or src) for hyp, src, tgt in self.rows]
        self.inputs = [(src, tgt) for _, src, tgt in self.rows]

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
        exact = [*map(list, self.exact.items())]
        near = None if self.near is None else [*map(list, self.near.items())]
        counts = {"exact": len(exact), "near": None if near is None else len(near)}
        pairs = {"exact": exact, "near": near}
        return {"file": self.file, **counts, "inputs": len(self.inputs), "pairs": pairs}


def can_look_for_near() -> bool:
    return find_spec("datasketch") is not None


def shared(own: Texts, other: Texts, file: str, *, near: bool = True) -> Shared:
    """Return the items of a split that are also in another split."""
    exact = _same(own.pairs, other.pairs)
    close = _near(own, other, exact) if near else None
    inputs = _same(own.inputs, other.inputs)
    taken = {*exact, *(close or ())}
    inputs = {place: there for place, there in inputs.items() if place not in taken}
    return Shared(file, exact, close, inputs)


def _same(own: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]]) -> dict[int, int]:
    first = {pair: there for there, pair in reversed([*enumerate(other)])}
    return {place: first[pair] for place, pair in enumerate(own) if any(pair) and pair in first}


def _near(own: Texts, other: Texts, exact: Mapping[int, int]) -> dict[int, int]:
    """Return the nearest item of the other split for each item that has a near duplicate."""
    require("data", "datasketch")
    best: dict[int, tuple[float, int]] = {}
    for there, (sketch, pair) in enumerate(zip(other.sketches, other.pairs)):
        for place in own.index.query(sketch) if all(pair) else ():
            if place in exact or not all(own.pairs[place]):
                continue
            # Both sides must be near; then their union is near, too.
            likeness = jaccard(own.pairs[place][0], pair[0])
            if likeness >= NEAR:
                likeness = min(likeness, jaccard(own.pairs[place][1], pair[1]))
            if likeness >= NEAR and likeness > best.get(place, (0.0, 0))[0]:
                best[place] = likeness, there
    return {place: there for place, (_, there) in sorted(best.items())}


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
