"""Datapoints as pairs of premise and hypothesis, their tokens, and long premises as windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, premises
from shroom.core.extras import require
from shroom.detectors.arrays import Datapoints, Flags, Floats
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import PairReader, beginning, plain, windows

Item = TypeVar("Item", bound="tuple[Any, ...]")

#: Minimum share of a model's input for the premise, however long the hypothesis is.
_PREMISE_SHARE = 1 / 4
#: The sides of a token: padding, the reference, the hypothesis, and the special tokens of each.
PADDING, REF, HYP, REF_SPECIAL, HYP_SPECIAL = range(5)
#: Maximum number of tokens of a pair; those of SHROOM have 33 tokens on average.
MAX_TOKENS = 256
#: Number of texts that are encoded at a time: long ones take much memory.
_SLICE = 256


@dataclass(frozen=True)
class Pairs:
    """The pairs (task, premise, hypothesis), and the index of the datapoint of each."""

    items: list[tuple[str, str, str]]
    owner: NDArray[np.intp]

    @classmethod
    def of(
        cls, datapoints: Datapoints, premises: Callable[[Datapoint], Sequence[str]] = premises
    ) -> Pairs:
        """Return the pairs of each datapoint and its premises, in order."""
        texts = list(map(premises, datapoints))
        items = [
            (point.task.like, premise, point.hyp)
            for point, of_point in zip(datapoints, texts)
            for premise in of_point
        ]
        owner = np.repeat(np.arange(len(texts)), list(map(len, texts)))
        return cls(items, owner)

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The pairs without their tasks, as a model can read them."""
        return [(plain(premise), plain(hyp)) for _, premise, hyp in self.items]

    def best(self, p: Floats) -> Floats:
        """Return the lowest p of each datapoint over its premises: shape [n]."""
        return p[self.places_of_best(p)]

    def places_of_best(self, p: Floats) -> NDArray[np.intp]:
        """Return the place of each datapoint's first pair with the lowest p: shape [n]."""
        order = np.lexsort((p, self.owner))
        return np.asarray(order[np.searchsorted(self.owner[order], np.arange(self.owner[-1] + 1))])


class Encoding:
    """Encodes pairs for the cross-encoder, in the special tokens of a ``tokenizer.json``.

    An input of at most ``room`` tokens is ``[CLS] task: reference [SEP] hypothesis [SEP]``.
    """

    # The side of each token is used as attention mask, as token type, and to pool each side.

    def __init__(self, path: str | Path, padding: int, room: int = MAX_TOKENS) -> None:
        require("onnx", "onnxruntime", "tokenizers")
        from tokenizers import Tokenizer

        self._tokenizer: Any = Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # "</s>" in a text does not end it
        self.padding, self.room = padding, room
        self.special = int(self._tokenizer.num_special_tokens_to_add(is_pair=True))

    def __call__(
        self, items: Sequence[tuple[str, str, str]]
    ) -> tuple[list[NDArray[np.int64]], list[bool]]:
        """Return ids and sides, [2, tokens], of each item, and whether it is truncated."""
        texts = [(f"{task}: {plain(ref)}", plain(hyp)) for task, ref, hyp in items]
        arrays, cut = [], []
        for encoding in self._encoded(texts):
            pair = np.array([encoding.ids, _sides(encoding.sequence_ids)], np.int64)
            cut.append(pair.shape[1] > self.room)
            arrays.append(_shortened(pair, self.room))
        return arrays, cut

    def count(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the number of tokens of each distinct text, without special tokens."""
        distinct = list(dict.fromkeys(texts))
        encoded = self._encoded(list(map(plain, distinct)), add_special_tokens=False)
        return dict(zip(distinct, map(len, encoded)))

    def _encoded(self, texts: Sequence[Any], **more: Any) -> Iterator[Any]:
        """Yield the encoding of each text or pair, a slice at a time."""
        for start in range(0, len(texts), _SLICE):
            yield from self._tokenizer.encode_batch(texts[start : start + _SLICE], **more)

    def batch(self, pairs: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return pairs as one array, padded to the longest: shape [2, batch, tokens]."""
        longest = max(pair.shape[1] for pair in pairs)
        filled = np.full((2, len(pairs), longest), PADDING, np.int64)
        filled[0] = self.padding
        for place, pair in enumerate(pairs):
            filled[:, place, : pair.shape[1]] = pair
        return filled


def _sides(sequence: list[int | None]) -> list[int]:
    """Return the side of each token from the sequence to which the tokenizer assigns it."""
    hyp = sequence.index(1) if 1 in sequence else len(sequence)
    special = [REF_SPECIAL] * hyp + [HYP_SPECIAL] * (len(sequence) - hyp)
    return [side if part is None else (REF, HYP)[part] for part, side in zip(sequence, special)]


def _shortened(pair: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """Return a pair of at most ``room`` tokens; the reference is cut first."""
    for side in (REF, HYP):
        surplus = pair.shape[1] - room
        if surplus > 0:
            places = np.flatnonzero(pair[1] == side)
            pair = np.delete(pair, places[max(1, len(places) - surplus) :], axis=1)
    return pair


@dataclass(frozen=True)
class Windowed(Generic[Item]):
    """The inputs of a model, and the place of each pair's first input."""

    items: Sequence[Item]
    starts: NDArray[np.intp]

    def lowest(self, p: Floats) -> Floats:
        """Return the lowest p of each pair over its windows."""
        return np.asarray(np.minimum.reduceat(p, self.starts))

    def best_rows(self, rows: Floats) -> Floats:
        """Return a row (entailment, neutral, contradiction) for each pair from its windows'."""
        # A premise entails a hypothesis if one of its windows does. It contradicts the hypothesis
        # if one window does and no other supports it, so C is at most 1 - E. In an unrelated
        # window, E and C are random, so the window with the greatest E could hide a contradiction
        # in another one.
        entailment, _, contradiction = np.maximum.reduceat(rows, self.starts).T
        contradiction = np.minimum(contradiction, 1 - entailment)
        neutral = np.maximum(1 - entailment - contradiction, 0)
        combined = np.column_stack((entailment, neutral, contradiction))
        sizes = np.diff(np.append(self.starts, len(rows)))
        return np.where((sizes == 1)[:, None], rows[self.starts], combined)


def in_windows(
    pairs: Sequence[Item],
    fits: Flags,
    parts: Callable[[Item], list[Item]],
    limit: str,
    run: Run,
) -> Windowed[Item]:
    """Return the inputs for pairs, with the hypothesis last; ``parts`` splits a pair.

    Notes count the pairs that do not fit into the model, with its ``limit``.
    """
    n = len(pairs)
    if fits.all():
        return Windowed(pairs, np.arange(n))
    windows_of = {pair: parts(pair) for pair, fit in zip(pairs, fits) if not fit}
    by_pair = [windows_of.get(pair, [pair]) for pair in pairs]
    sizes = np.array(list(map(len, by_pair)))
    if split := int((sizes > 1).sum()):
        run.note(
            f"{split} of {n} premises had to be split into {sizes[sizes > 1].sum()} windows, "
            f"because {limit}; p comes from the window that best supports the hypothesis"
        )
    if cut := sum(items[0][-1] != pair[-1] for items, pair in zip(by_pair, pairs)):
        run.note(
            f"{cut} of {n} hypotheses had to be truncated: {limit}, and at least a quarter of "
            "these tokens are reserved for the premise"
        )
    return Windowed([item for items in by_pair for item in items], np.cumsum(sizes) - sizes)


def parts_of(reader: PairReader | Encoding, pair: Item) -> list[Item]:
    """Return a pair with each window of its premise; a task before it is read with every window.

    The hypothesis is truncated if it leaves no room.
    """
    *task, premise, hyp = pair
    prefix, free = "".join(f"{name}: " for name in task), reader.room - reader.special
    needed = reader.count([prefix + premise])[prefix + premise]
    most = free - min(needed, max(1, int(free * _PREMISE_SHARE)))
    if reader.count([hyp])[hyp] > most:
        hyp = beginning(hyp, most, reader.count)
    room = free - reader.count([hyp])[hyp]
    texts = windows(premise, room, reader.count, prefix=prefix) if needed > room else [premise]
    return [(*task, text, hyp) for text in texts]  # type: ignore[misc]
