"""Texts as a transformer reads them: how long they are, and what is cut where they are too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Families that count their positions from the padding's id + 1, so that some are never used.
_OFFSET = frozenset(
    {
        *("camembert", "data2vec-text", "esm", "ibert", "longformer", "luke", "mpnet", "roberta"),
        *("roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod"),
    }
)
#: What is read of a text where a model does not tell.
_USUAL = 512
#: How many texts are tokenized at a time.
_SLICE = 1000


def plain(text: str) -> str:
    r"""Return a text that can be written as UTF-8, which a lone surrogate cannot.

    Examples
    --------
    >>> plain("caf\u00e9 \ud800")
    'café ?'
    """
    return text.encode("utf-8", "replace").decode()


def longest(tokenizer: Any, config: Any) -> int:
    """Return the most tokens, special ones included, that a model reads at once.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        Its ``model_max_length`` counts, where it is set.
    config : configuration of transformers
        Its ``max_position_embeddings`` counts, less those that RoBERTa and its kin never use.

    Examples
    --------
    >>> from types import SimpleNamespace as Made
    >>> longest(Made(model_max_length=10**30), Made(model_type="roberta", pad_token_id=1,
    ...     max_position_embeddings=514))
    512
    """
    known = []
    if 0 < tokenizer.model_max_length < 10**9:  # a huge number says that it is not known
        known.append(int(tokenizer.model_max_length))
    positions = getattr(config, "max_position_embeddings", None) or 0
    if config.model_type in _OFFSET:
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    if positions > 0:
        known.append(int(positions))
    return min(known, default=_USUAL)


def counts(tokenizer: Any, texts: Iterable[str]) -> dict[str, int]:
    """Return how many tokens each distinct text has, without special ones."""
    distinct = list(dict.fromkeys(texts))
    found: dict[str, int] = {}
    for start in range(0, len(distinct), _SLICE):
        part = distinct[start : start + _SLICE]
        ids = tokenizer(
            part,
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        found.update(zip(part, map(len, ids)))
    return found


class PairReader:
    """How pairs become a model's input: the first text is cut before the second.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        A text is only ever text to it: ``</s>`` in one is no end.
    room : int
        The most tokens of a pair, its ``special`` ones included.
    """

    def __init__(self, tokenizer: Any, room: int) -> None:
        tokenizer.split_special_tokens = True
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        self._tokenizer = tokenizer
        self.room = room
        self.special = int(tokenizer.num_special_tokens_to_add(pair=True))
        self._count: dict[str, int] = {}

    def count(self, texts: Iterable[str]) -> dict[str, int]:
        """Return how many tokens each distinct text has, without special ones."""
        return counts(self._tokenizer, texts)

    def lengths(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """Return the tokens of each pair before anything is cut."""
        self._count = self.count(text for pair in pairs for text in pair)
        return [self._length(pair) for pair in pairs]

    def batch(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """Return the tensors of some of the pairs that ``lengths`` was given."""
        ones, others = map(list, zip(*pairs))
        if not self._tokenizer.is_fast:  # it does not tell which text a token is of
            ways = {"truncation": True, "max_length": self.room, "padding": True}
            return self._tokenizer(ones, others, return_tensors="pt", verbose=False, **ways)
        encoded = self._tokenizer(ones, others, verbose=False)
        rows = []
        for row, pair in enumerate(pairs):
            given = {key: values[row] for key, values in encoded.items()}
            if self._length(pair) > self.room:
                kept = self._kept(pair, encoded, row)
                given = {key: [values[place] for place in kept] for key, values in given.items()}
            rows.append(given)
        return self._tokenizer.pad(rows, return_tensors="pt", verbose=False)

    def cuts_second(self, pair: tuple[str, str]) -> bool:
        """Return whether the second text has to be cut too."""
        return self._shares(pair)[1] < self._count[pair[1]]

    def _length(self, pair: tuple[str, str]) -> int:
        return self._count[pair[0]] + self._count[pair[1]] + self.special

    def _shares(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Return how many tokens of each text are kept: all of the second where that can be."""
        one, other = (self._count[text] for text in pair)
        free = self.room - self.special
        if min(one, 1) + other > free:
            other = free - min(one, free // 2)
        return min(one, free - other), other

    def _kept(self, pair: tuple[str, str], encoded: Any, row: int) -> list[int]:
        """Return the places of the tokens that are kept of a pair.

        The library's own truncation makes an encoding of all that is left over, and of two long
        texts of every piece with every other: memory would not suffice.
        """
        left = dict(enumerate(self._shares(pair)))
        kept = []
        for place, part in enumerate(encoded.sequence_ids(row)):
            if part is not None:
                left[part] -= 1
            if part is None or left[part] >= 0:
                kept.append(place)
        return kept
