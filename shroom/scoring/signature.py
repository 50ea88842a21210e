"""Signatures: one line with everything that a score depends on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from shroom.core.version import __version__
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import digest
from shroom.scoring.kinds.base import kind_of
from shroom.scoring.rows import Rows


def signature(track: str, gold: Rows, align: str, edition: Edition, *more: str) -> str:
    """Return the signature of a score; ``align`` is ``id`` or ``order``."""
    return "|".join(
        (
            "shroom",
            f"v:{__version__}",
            f"edition:{'@'.join(filter(None, (edition.name, digest(edition))))}",
            *([f"track:{track}"] if track else []),
            f"n:{gold.n}",
            f"gold:{gold_hash(gold)}",
            f"align:{align}",
            kind_of(edition).signature,
            *more,
        )
    )


def joined(signatures: Iterable[str]) -> str:
    """Return one signature for several results; parts that differ are joined by ``+``."""
    return "|".join(_joined(column) for column in zip(*(text.split("|") for text in signatures)))


def _joined(column: tuple[str, ...]) -> str:
    key, colon, _ = column[0].partition(":")
    values = dict.fromkeys(part.partition(":")[2] for part in column)
    # Sizes belong to their tracks, so they are all listed; a common value is listed once.
    listed = values if len(values) == 1 else [part.partition(":")[2] for part in column]
    return key + colon + "+".join(listed)


def gold_hash(gold: Rows) -> str:
    """Return a hash of a gold's ids, labels and p; with ids, the order makes no difference."""
    digest = hashlib.sha256()
    if gold.ids is not None:
        ids = gold.ids[gold.order]
        is_integer = ids.dtype.kind == "i"
        digest.update(ids.astype("<i8").tobytes() if is_integer else "\n".join(ids).encode())
    digest.update(gold.digest())
    return digest.hexdigest()[:6]
