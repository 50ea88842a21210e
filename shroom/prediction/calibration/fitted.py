"""A calibrator and a threshold, and the gold that they were fitted on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shroom.scoring.signature import gold_hash

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shroom.learners.calibrators import Calibrator
    from shroom.scoring.table import Table

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A calibrator and a threshold, and what they were fitted on.

    Attributes
    ----------
    calibrator : Calibrator
        From p to the annotators' proportion.
    threshold : float
        The label is Hallucination where the calibrated p is greater.
    n : int
        The number of items.
    gold : str
        Their gold's hash; see :func:`shroom.scoring.signature.gold_hash`.
    rows : str
        Their gold's hash whatever its order; see :func:`rows_hash`.
    """

    calibrator: Calibrator
    threshold: float
    n: int
    gold: str
    rows: str

    def __call__(self, p: Floats) -> tuple[NDArray[np.bool_], Floats]:
        """Return the labels, True for Hallucination, and the calibrated p."""
        calibrated = self.calibrator(p)
        return calibrated > self.threshold, calibrated

    def was_fitted_on(self, gold: Table) -> bool:
        """Whether a gold is the one that was fitted on, under whatever name and in any order."""
        return gold_hash(gold) == self.gold or rows_hash(gold) == self.rows


def rows_hash(gold: Table) -> str:
    """Return hexadecimal digits that identify a gold, whatever the order of its rows.

    They depend on ids, labels and p, and on the texts where they have been read.
    """
    ids = [None] * gold.n if gold.ids is None else gold.ids.tolist()
    texts = [None] * gold.n if gold.texts is None else gold.texts
    rows = zip(ids, gold.label.tolist(), (gold.p + 0.0).tolist(), texts)
    digests = sorted(hashlib.sha256(repr(row).encode()).digest() for row in rows)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:12]
