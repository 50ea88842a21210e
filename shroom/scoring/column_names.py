"""Names of columns, JSON keys and labels that users and editions choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from shroom.core.datapoint import Label
from shroom.core.problems import ShroomError, nearest, show
from shroom.scoring.item_values import word_in
from shroom.scoring.rows import KEYS, LABELS, P

#: The files of an edition have the kit's own keys.
NO_KEYS: Mapping[str, str] = MappingProxyType({})

#: Examples, for messages to users of Python.
_COLUMNS, _LABELS = '{"p": "score"}', '["refuted", "supported"]'
#: The condition of :func:`are_two_labels` in words.
TWO_LABELS = "two words, the first for Hallucination"


def are_two_labels(words: Sequence[str]) -> bool:
    """Return whether there are two different words, and not the kit's labels in reverse."""
    own = [word_in(label.value) for label in Label]
    read = [word_in(word) for word in words]
    exchanged = [word for word, label in zip(read, own) if word in own and word != label]
    return len(read) == len({*read} - {""}) == len(own) and not exchanged


@dataclass(frozen=True)
class Names:
    """The user's names of columns and labels; the kit's names are accepted as well."""

    #: The kit's keys by the user's columns or keys of JSON.
    columns: Mapping[str, str] = field(default_factory=dict)
    #: The kit's labels by the user's words.
    words: Mapping[str, str] = field(default_factory=dict)
    #: The user's words as they were given, for messages.
    labels: tuple[str, ...] = ()

    @property
    def shown(self) -> dict[str, str]:
        """The user's columns by the kit's keys, for messages."""
        return {key: column for column, key in self.columns.items()}

    @classmethod
    def of(
        cls, columns: Mapping[str, str] | None = None, labels: Sequence[str] | None = None
    ) -> Names:
        """Return the names for a column per key, and for a word per label."""
        columns = columns or {}
        is_dict = isinstance(columns, Mapping)
        if not is_dict or not all(isinstance(column, str) for column in columns.values()):
            raise ShroomError(f"columns: expected a dict such as {_COLUMNS}, got {show(columns)}")
        is_list = isinstance(labels, Sequence) and not isinstance(labels, (str, bytes))
        if labels is not None and not is_list:
            raise ShroomError(f"labels: expected a list such as {_LABELS}, got {show(labels)}")
        named = {column: P if key == "p" else key for key, column in columns.items()}
        unknown = [key for key in columns if key not in ("p", *KEYS)]
        if unknown:
            keys = ("p", *(key for key in KEYS if key != P))
            hint = nearest(str(unknown[0]).lower(), keys)
            listed = f"the keys are {', '.join(keys)}"
            raise ShroomError(f"columns: there is no key '{unknown[0]}';{hint} {listed}")
        if len(set(named.values())) < len(columns):
            raise ShroomError("columns: map each key to one column, and each column to one key")
        if labels is not None and not are_two_labels(labels):
            raise ShroomError(f"labels: expected {TWO_LABELS}, such as refuted,supported")
        words = dict(zip(map(word_in, labels or ()), LABELS))
        return cls(named, words, tuple(labels or ()))

    def renamed(self, items: Iterable[Any], keys: Mapping[str, str] = NO_KEYS) -> Iterable[Any]:
        """Return items with the kit's keys and labels instead of the user's."""
        if not self.columns and not self.words:
            return items
        own = tuple(keys.get(key, key) for key in ("label", "labels"))
        return (reworded(it, self.columns, self.words, word_in, own) for it in items)


#: No other names than the kit's.
NO_NAMES = Names()


def reworded(
    item: Any,
    keys: Mapping[str, str],
    words: Mapping[str, str],
    spelled: Callable[[Any], str] = str,
    labels: tuple[str, ...] = ("label", "labels"),
) -> Any:
    """Return an item with keys renamed (these take precedence) and ``labels`` reworded."""
    if not isinstance(item, dict):
        return item
    new = copy(item)  # which may remember its doubled keys
    if not keys.keys().isdisjoint(item):
        taken = {keys[key] for key in item if key in keys}
        new.clear()
        new |= {keys.get(k, k): v for k, v in item.items() if k in keys or k not in taken}
    for key in new.keys() & set(labels) if words else ():
        value = new[key]
        if isinstance(value, list):
            new[key] = [_reworded(word, words, spelled) for word in value]
        elif isinstance(value, dict):  # the vote of each annotator
            new[key] = {name: _reworded(word, words, spelled) for name, word in value.items()}
        else:
            new[key] = _reworded(value, words, spelled)
    return new


def _reworded(word: Any, words: Mapping[str, str], spelled: Callable[[Any], str]) -> Any:
    """Return the replacement of a word, which may be a number."""
    return words.get(spelled(word), word) if isinstance(word, (str, int, float)) else word


class OwnNames:
    """The names of keys and labels in the files of an edition, which inherits this."""

    #: Of an edition: the form of a row, and what is annotated.
    item: Any
    annotation: Any

    @property
    def own_labels(self) -> dict[str, str]:
        """The kit's labels by the words in the files; empty if they are the same."""
        words = self.annotation.labels if self.annotation.kind == "binary" else ()
        return dict(zip(words, LABELS))

    @property
    def file_labels(self) -> dict[str, str]:
        """The words in the files by the kit's labels."""
        return dict(zip(LABELS, self.own_labels or LABELS))

    def with_own_keys(self, items: Iterable[Any]) -> Iterable[Any]:
        """Return items with the kit's keys (except for ids) and labels instead of the files'."""
        keys = {theirs: ours for ours, theirs in self.item.keys.items() if ours != "id"}
        words = self.own_labels
        return (reworded(item, keys, words) for item in items) if keys or words else items

    def with_file_keys(self, items: Iterable[Any]) -> Iterable[Any]:
        """Return items with the files' keys and labels, the reverse of :meth:`with_own_keys`."""
        keys = {ours: theirs for ours, theirs in self.item.keys.items() if ours != "id"}
        words = self.file_labels
        return (reworded(reworded(item, {}, words), keys, {}) for item in items)
