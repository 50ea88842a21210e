"""Pairs as ``[CLS] task: reference [SEP] hypothesis [SEP]``, in the encoder's own special tokens.

The side of each token is used as attention mask, as token type, and to pool each side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.inference.tokenization import plain

#: The sides of a token: padding, the reference, the hypothesis, and the special tokens of each.
PADDING, REF, HYP, REF_SPECIAL, HYP_SPECIAL = range(5)
#: Maximum number of tokens of a pair; those of SHROOM have 33 tokens on average.
MAX_TOKENS = 256
#: Number of texts that are encoded at a time: long ones take much memory.
_SLICE = 256


class Encoding:
    """Encodes pairs with a ``tokenizer.json`` in at most ``room`` tokens."""

    def __init__(self, path: str | Path, padding: int, room: int = MAX_TOKENS) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ShroomError(
                f"the cross-encoder needs tokenizers and onnxruntime: {install_hint('onnx')}"
            ) from error
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
        return {text: len(encoding) for text, encoding in zip(distinct, encoded)}

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
    sides, seen_hyp = [], False
    for part in sequence:
        seen_hyp = seen_hyp or part == 1
        special = HYP_SPECIAL if seen_hyp else REF_SPECIAL
        sides.append(special if part is None else (REF, HYP)[part])
    return sides


def _shortened(pair: NDArray[np.int64], room: int) -> NDArray[np.int64]:
    """Return a pair of at most ``room`` tokens; the reference is cut first."""
    for side in (REF, HYP):
        surplus = pair.shape[1] - room
        if surplus > 0:
            places = np.flatnonzero(pair[1] == side)
            pair = np.delete(pair, places[max(1, len(places) - surplus) :], axis=1)
    return pair
