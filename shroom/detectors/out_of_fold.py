"""The out-of-fold p of a fitted detector for its training items."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from shroom.core.datapoint import Datapoint, by_reference
from shroom.core.problems import ShroomError
from shroom.detectors.arrays import Datapoints, Flags, Floats

#: Decimal places of p in submissions, and so of stored p.
DECIMALS = 6
#: The errors that a damaged model file can raise while it is read.
UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError),
    *(ArithmeticError, RecursionError),
)


@contextmanager
def reading(path: Path, what: str, advice: str) -> Iterator[None]:
    """Report an error of reading a model as ``path`` that is not ``what``, with advice."""
    try:
        yield
    except (ShroomError, *UNREADABLE) as error:
        raise ShroomError(f"{path} is not {what} ({_reason(error)}); {advice}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    is_known = isinstance(error, (ShroomError, ValueError))
    return str(error) if is_known else "the JSON does not describe a model"


def fingerprints(point: Datapoint) -> list[str]:
    """Return the :func:`fingerprint` of an item with each of its targets."""
    return [fingerprint(one) for one in by_reference([point])[0]]


def fingerprint(point: Datapoint) -> str:
    """Return 16 hexadecimal digits that identify an item by hypothesis and target (else source)."""
    # The source of one item has several wordings in SHROOM's files.
    texts = point.hyp.strip(), point.tgt.strip() or point.src.strip()
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class TrainingItems:
    """The items on which a detector was fitted, by fingerprint, without their texts."""

    #: The out-of-fold p of each item; ``None`` without cross-validation.
    answers: Mapping[str, float | None] = field(default_factory=dict)

    @classmethod
    def of(cls, datapoints: Datapoints, p: Floats | None = None) -> TrainingItems:
        """Return the items of a training set, with their out-of-fold p if it is known."""
        answers = [None] * len(datapoints) if p is None else np.round(p, DECIMALS).tolist()
        # Items of the same texts are in one fold, and so have one answer.
        items = zip(datapoints, answers)
        return cls({key: answer for point, answer in items for key in fingerprints(point)})

    @classmethod
    def from_dict(cls, content: Any) -> TrainingItems:
        """Return the items of a model file; raise one of ``UNREADABLE`` for anything else."""
        answers = {str(key): None if p is None else float(p) for key, p in content.items()}
        if not all(p is None or 0 <= p <= 1 for p in answers.values()):
            raise ValueError("an out-of-fold p is not a number from 0 to 1")
        return cls(answers)

    @property
    def digest(self) -> str:
        """A digest of the items and their answers, in hexadecimal digits."""
        text = json.dumps(self.answers, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def contain(self, datapoints: Datapoints) -> Flags:
        """Return which datapoints are training items: shape [n]."""
        if not self.answers:
            return np.zeros(len(datapoints), bool)
        known = (any(key in self.answers for key in fingerprints(point)) for point in datapoints)
        return np.fromiter(known, bool)

    def out_of_fold(self, datapoints: Datapoints) -> Floats:
        """Return the out-of-fold p of each datapoint, or NaN: shape [n]."""
        p = np.full(len(datapoints), math.nan)
        for place, point in enumerate(datapoints if self.answers else ()):
            # Of several targets, the lowest p counts; an unknown one makes it NaN.
            stored = [self.answers.get(key) for key in fingerprints(point)]
            p[place] = np.array(stored, np.float64).min()
        return p
