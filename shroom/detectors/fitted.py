"""What a fitted detector remembers: which files it has learnt, without keeping their text."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.datapoint import Datapoint

#: What reading a file can end in that is no model of ours.
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def fingerprint(datapoints: Sequence[Datapoint]) -> str:
    """Return a digest of the hypotheses, to know a file again without keeping its text."""
    digest = hashlib.sha256()
    for point in datapoints:
        digest.update(point.hyp.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()[:16]
