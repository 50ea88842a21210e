"""The names that a user gives to columns, keys of JSON and labels, in place of the kit's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from typing import Any

from shroom.core.datapoint import Label
from shroom.core.problems import ShroomError
from shroom.scoring.item_values import word_in
from shroom.scoring.rows import KEYS, P

#: The kit's keys by the columns that the user has named, and its labels by the user's words.
_NAMED: ContextVar[tuple[Mapping[str, str], Mapping[str, str]]] = ContextVar(
    "names", default=({}, {})
)


#: What :func:`are_two_labels` asks for.
TWO_LABELS = "two words, the one for Hallucination first"


def are_two_labels(words: Sequence[str]) -> bool:
    """Return whether there are two words for the kit's labels, which are not exchanged."""
    own = [word_in(label.value) for label in Label]
    read = [word_in(word) for word in words]
    exchanged = [word for word, label in zip(read, own) if word in own and word != label]
    return len(read) == len({*read} - {""}) == len(own) and not exchanged


@contextmanager
def naming(
    columns: Mapping[str, str] | None = None, labels: Sequence[str] | None = None
) -> Iterator[None]:
    """Read predictions and gold by the columns, keys of JSON and labels that the user has named.

    Parameters
    ----------
    columns : mapping, optional
        The name of the column for each of the kit's keys; ``p`` is short for that of p. A table
        without a column of that name is read by its own names, with a warning, and so is an
        object without such a key, silently.
    labels : sequence of two str, optional
        The words for Hallucination and for Not Hallucination; these are understood as well.

    Raises
    ------
    ShroomError
        If a key is unknown, a column is named for two, or there are not two labels.

    Examples
    --------
    >>> with naming({"p": "score"}, ["refuted", "supported"]):
    ...     renamed({"label": "refuted", "score": 0.75})
    {'label': 'Hallucination', 'p(Hallucination)': 0.75}
    """
    named = {column: P if key == "p" else key for key, column in (columns or {}).items()}
    unknown = [key for key in columns or () if key not in ("p", *KEYS)]
    if unknown:
        raise ShroomError(f"'{unknown[0]}' is not one of p, {', '.join(KEYS)}")
    if len(set(named.values())) < len(columns or ()):
        raise ShroomError("columns: a key or a column is named twice")
    words = dict(zip(map(word_in, labels or ()), (label.value for label in Label)))
    if labels is not None and not are_two_labels(labels):
        raise ShroomError(f"labels: expected {TWO_LABELS}, such as refuted,supported")
    keys_before, words_before = _NAMED.get()
    token = _NAMED.set(
        (keys_before if columns is None else named, words_before if labels is None else words)
    )
    try:
        yield
    finally:
        _NAMED.reset(token)


def named_columns() -> Mapping[str, str]:
    """Return the kit's key for each column or key of JSON that the user has named."""
    return _NAMED.get()[0]


def renamed(item: Any) -> Any:
    """Return an item under the kit's keys and labels in place of those that the user has named."""
    keys, words = _NAMED.get()
    return reworded(item, keys, words, word_in) if keys or words else item


def all_renamed(items: Iterable[Any]) -> Iterator[Any]:
    """Return items as :func:`renamed` returns each of them."""
    return map(renamed, items) if any(_NAMED.get()) else iter(items)


def reworded(
    item: Any,
    keys: Mapping[str, str],
    words: Mapping[str, str],
    spelled: Callable[[Any], str] = str,
) -> Any:
    """Return an item under other keys, then with other words as ``label`` and in ``labels``.

    A key that is renamed goes before another one of the same name. A word is looked up as
    ``spelled`` returns it.

    Examples
    --------
    >>> reworded({"verdict": "refuted", "label": 3}, {"verdict": "label"}, {"refuted": "no"})
    {'label': 'no'}
    """
    if not isinstance(item, dict):
        return item
    new = copy(item)  # which may remember its doubled keys
    if not keys.keys().isdisjoint(item):
        taken = {keys[key] for key in item if key in keys}
        kept = {key: keys.get(key, key) for key in item if key in keys or key not in taken}
        new.clear()
        new.update({name: item[key] for key, name in kept.items()})
    for key in {"label", "labels"} & new.keys() if words else ():
        value = new[key]
        if isinstance(value, list):
            new[key] = [_reworded(word, words, spelled) for word in value]
        else:
            new[key] = _reworded(value, words, spelled)
    return new


def _reworded(word: Any, words: Mapping[str, str], spelled: Callable[[Any], str]) -> Any:
    """Return another word for a word, which may be a number."""
    return words.get(spelled(word), word) if isinstance(word, (str, int, float)) else word


class OwnNames:
    """The names of keys and labels in the files of an edition, which is a subclass."""

    #: Of an edition: the form of a row, and what is annotated.
    item: Any
    annotation: Any

    @property
    def own_labels(self) -> dict[str, str]:
        """The kit's labels by the files' words for them; empty where they are the same."""
        words = self.annotation.labels if self.annotation.kind == "binary" else ()
        return dict(zip(words, (label.value for label in Label)))

    def with_own_keys(self, items: Iterable[Any]) -> Iterable[Any]:
        """Return items under the kit's own keys (but that of ids) and labels, not the files'."""
        keys = {theirs: ours for ours, theirs in self.item.keys.items() if ours != "id"}
        words, named = self.own_labels, _NAMED.get()[1]
        if keys or words:
            items = (reworded(item, keys, words) for item in items)
        # The label that the user's words are for may only now have its name.
        return (reworded(item, {}, named, word_in) for item in items) if keys and named else items

    def with_file_keys(self, items: Iterable[Any]) -> Iterable[Any]:
        """Return items under the files' keys and labels: the reverse of :meth:`with_own_keys`."""
        keys = {ours: theirs for ours, theirs in self.item.keys.items() if ours != "id"}
        words = {ours: theirs for theirs, ours in self.own_labels.items()}
        return (reworded(reworded(item, {}, words), keys, {}) for item in items)
