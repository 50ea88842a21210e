"""Texts as a transformer reads them: how long they are, and what is cut where they are too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

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


def in_chat(
    tokenizer: Any, name: str, turns: Sequence[tuple[str, str]], *, asks: bool, way_out: str
) -> str:
    """Return a conversation as the tokenizer's chat template writes it.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        One with a chat template.
    name : str
        The model's, for messages.
    turns : sequence of (str, str)
        Each turn's role and text.
    asks : bool
        Whether the model's turn is opened at the end.
    way_out : str
        What to give where the template fails.

    Raises
    ------
    ShroomError
        Where the template fails: it is a program, and can raise anything.
    """
    messages = [{"role": role, "content": text} for role, text in turns]
    more = {"add_generation_prompt": True} if asks else {}
    try:
        return str(tokenizer.apply_chat_template(messages, tokenize=False, **more))
    except Exception as error:
        reason = printable(str(error).partition("\n")[0])
        raise ShroomError(f"{name}: its chat template fails ({reason}); {way_out}") from error


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


def padded(tokenizer: Any, config: Any = None) -> Any:
    """Return a tokenizer that fills up batches with what its model takes for padding.

    A causal classifier has its score at the last token that is not padding. Where it does not name
    the padding, that is the last token whatever it is, so that the padding must end no text.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        Is changed.
    config : config of transformers, optional
        Of its model; behind a mask it does not matter what the padding is.
    """
    named = getattr(config, "pad_token_id", None)
    known = named is not None and 0 <= named < len(tokenizer)
    own = tokenizer.convert_ids_to_tokens(named) if known else None  # None in a gap, too
    if own is not None:
        tokenizer.pad_token = own
    elif tokenizer.pad_token in (None, tokenizer.eos_token):
        others = (tokenizer.bos_token, tokenizer.unk_token, tokenizer.eos_token)
        found = next((token for token in others if token is not None), None)
        tokenizer.pad_token = found or str(tokenizer.convert_ids_to_tokens(0))
    return tokenizer


def encoded(tokenizer: Any, texts: Iterable[str]) -> dict[str, NDArray[np.int32]]:
    """Return the ids of each distinct text's tokens, without special ones."""
    distinct = list(dict.fromkeys(texts))
    found: dict[str, NDArray[np.int32]] = {}
    for start in range(0, len(distinct), _SLICE):
        part = distinct[start : start + _SLICE]
        rows = tokenizer(
            part,
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        found.update((text, np.array(ids, np.int32)) for text, ids in zip(part, rows))
    return found


def counts(tokenizer: Any, texts: Iterable[str]) -> dict[str, int]:
    """Return how many tokens each distinct text has, without special ones."""
    return {text: len(ids) for text, ids in encoded(tokenizer, texts).items()}


class PairReader:
    """How pairs become a model's input: the first text is cut before the second.

    Each text is tokenized once, however often it occurs; a pair is put together from its texts as
    the tokenizer itself does it for pairs in a batch.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        A text is only ever text to it: ``</s>`` in one does not end it.
    room : int
        The most tokens of a pair, its ``special`` ones included.
    """

    def __init__(self, tokenizer: Any, room: int) -> None:
        tokenizer.split_special_tokens = True
        self._tokenizer = tokenizer
        self._frame = _Frame(tokenizer)
        self.room = room
        self.special = self._frame.special
        self._ids: dict[str, NDArray[np.int32]] = {}

    def count(self, texts: Iterable[str]) -> dict[str, int]:
        """Return how many tokens each distinct text has, without special ones."""
        return counts(self._tokenizer, texts)

    def lengths(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """Return the tokens of each pair before anything is cut."""
        texts = dict.fromkeys(text for pair in pairs for text in pair)
        new = encoded(self._tokenizer, (text for text in texts if text not in self._ids))
        self._ids = {text: new[text] if text in new else self._ids[text] for text in texts}
        return [self._length(pair) for pair in pairs]

    def batch(self, pairs: Sequence[tuple[str, str]]) -> dict[str, NDArray[np.int64]]:
        """Return the arrays, each of shape [pairs, tokens], of pairs that ``lengths`` was given."""
        return self._frame.batch([self._kept(pair) for pair in pairs])

    def cuts_second(self, pair: tuple[str, str]) -> bool:
        """Return whether the second text has to be cut too."""
        return self._shares(pair)[1] < len(self._ids[pair[1]])

    def _length(self, pair: tuple[str, str]) -> int:
        return len(self._ids[pair[0]]) + len(self._ids[pair[1]]) + self.special

    def _shares(self, pair: tuple[str, str]) -> tuple[int, int]:
        """Return how many tokens of each text are kept: all of the second where that can be."""
        one, other = (len(self._ids[text]) for text in pair)
        free = self.room - self.special
        if min(one, 1) + other > free:
            other = free - min(one, free // 2)
        return min(one, free - other), other

    def _kept(self, pair: tuple[str, str]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        one, other = self._shares(pair)
        return self._ids[pair[0]][:one], self._ids[pair[1]][:other]


class _Frame:
    """Where a tokenizer puts its special tokens around two texts, and how it fills up a batch."""

    def __init__(self, tokenizer: Any) -> None:
        one, other = (
            tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in "ab"
        )
        pair = tokenizer("a", "b", verbose=False)
        ids = pair["input_ids"]
        if not (one and other):
            raise ShroomError("the tokenizer has no tokens for the letters a and b")
        first = _place(ids, one, 0)
        second = _place(ids, other, first + len(one))
        spans = (0, first), (first + len(one), second), (second + len(other), len(ids))
        self._special = [np.array(ids[start:stop], np.int32) for start, stop in spans]
        self.special = sum(map(len, self._special))
        self._left = tokenizer.padding_side == "left"
        self._padding = {"input_ids": tokenizer.pad_token_id or 0, "attention_mask": 0}
        self._with_mask = "attention_mask" in pair
        # What an array of token types has in each of the five parts of a pair.
        self._types: tuple[NDArray[np.int32], ...] = ()
        if "token_type_ids" in pair:
            types = pair["token_type_ids"]
            self._padding["token_type_ids"] = tokenizer.pad_token_type_id
            before, between, after = (np.array(types[a:b], np.int32) for a, b in spans)
            texts = (np.int32(types[place]) for place in (first, second))
            self._types = (before, np.array(next(texts)), between, np.array(next(texts)), after)

    def batch(
        self, texts: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]
    ) -> dict[str, NDArray[np.int64]]:
        """Return the arrays of pairs of ids, filled up to the longest."""
        before, between, after = self._special
        rows = [np.concatenate((before, one, between, other, after)) for one, other in texts]
        made = {"input_ids": self._filled("input_ids", rows)}
        if self._with_mask:
            ones = [np.ones(len(row), np.int32) for row in rows]
            made["attention_mask"] = self._filled("attention_mask", ones)
        if self._types:
            types = [np.concatenate(self._types_of(len(a), len(b))) for a, b in texts]
            made["token_type_ids"] = self._filled("token_type_ids", types)
        return made

    def _types_of(self, one: int, other: int) -> list[NDArray[np.int32]]:
        before, first, between, second, after = self._types
        return [before, np.repeat(first, one), between, np.repeat(second, other), after]

    def _filled(self, key: str, rows: Sequence[NDArray[np.int32]]) -> NDArray[np.int64]:
        longest = max(map(len, rows))
        filled = np.full((len(rows), longest), self._padding[key], np.int64)
        for place, row in enumerate(rows):
            filled[place, slice(-len(row), None) if self._left else slice(len(row))] = row
        return filled


def _place(ids: Sequence[int], part: Sequence[int], start: int) -> int:
    """Return where ``part`` is in ``ids``, from ``start`` on."""
    for place in range(start, len(ids) - len(part) + 1):
        if ids[place : place + len(part)] == part:
            return place
    raise ShroomError("the tokenizer reads a text otherwise in a pair than alone")
