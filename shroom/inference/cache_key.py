"""The keys under which a model's values are stored, for the rest of a run and for later ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from shroom.core.json_writing import json_digest
from shroom.core.version import __version__

#: Part of every key of the cache: entries of another form are not found.
_FORM = 2


@dataclass(frozen=True)
class CacheKey:
    """Everything that a model's values depend on besides the item.

    Attributes
    ----------
    model : str
        The model and the form of its input, as far as they can be named without reading the
        weights: valid on this machine, while the model's files stay as they are.
    content : callable or None
        Returns the same by content, valid at any time on any machine: a digest of the weights, the
        device, the versions of libraries. ``None``, or a callable that returns ``None``, if that
        is not known: the values are not stored beyond the run. It is called only if there is a
        cache, as reading the weights takes time.
    precision : str
        The number format that the model computes in.

    Examples
    --------
    >>> key = CacheKey("a model", content=lambda: "9f2c1a onnxruntime 1.20")
    >>> [len(digest) for digest in key.cache_keys([("a premise", "a hypothesis")])]
    [16]
    >>> CacheKey("a model").cache_keys([("a premise", "a hypothesis")])
    []
    """

    model: str
    content: Callable[[], str | None] | None = None
    precision: str = "float32"

    def journal_keys(self, items: Iterable[tuple[Any, ...]]) -> list[str]:
        """Return the key of each item within a run that may be resumed."""
        return [json_digest([self.model, self.precision, item])[:32] for item in items]

    def cache_keys(self, items: Sequence[tuple[Any, ...]]) -> list[bytes]:
        """Return the key of each item in the cache; none where the content is not known."""
        content = self.content() if self.content else None
        if content is None:
            return []
        depends = [_FORM, __version__, content, self.precision]
        return [bytes.fromhex(json_digest([*depends, item])[:32]) for item in items]


def files_digest(paths: Iterable[Path]) -> str:
    """Return a digest of files' names and contents."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = hashlib.sha256()
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                content.update(block)
        digest.update(f"{path.name} {content.hexdigest()}\n".encode())
    return digest.hexdigest()


def library_versions(*modules: str) -> str:
    """Return the names and versions of the libraries that compute a value."""
    return " ".join(f"{name} {import_module(name).__version__}" for name in modules)
