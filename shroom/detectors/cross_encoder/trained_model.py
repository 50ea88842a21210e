"""A cross-encoder that was just trained: the network in torch, with what it reads text by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shroom.detectors.cross_encoder.training import probabilities
from shroom.detectors.out_of_fold import TrainingItems

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from shroom.core.datapoint import Rule
    from shroom.detectors.cross_encoder.encoding import Encoding
    from shroom.detectors.cross_encoder.pair_model import PairModel
    from shroom.inference.run_settings import Run


@dataclass
class TrainedModel:
    """A model in torch, which computes in float32.

    Attributes
    ----------
    model : PairModel
        The network.
    tokenizer : path
        The file of its tokenizer.
    device : str
        Where it computes.
    """

    model: PairModel
    encoding: Encoding
    tokenizer: Path
    device: str
    rule: Rule
    threshold: float = 0.5
    training_items: TrainingItems = field(default_factory=TrainingItems)
    weights: str = "as fitted"
    workers: int = 1

    def precision(self, run: Run) -> str:
        """Return what it computes in."""
        del run
        return "float32"

    def probabilities(
        self, batch: NDArray[np.int64], precision: str = "float32"
    ) -> NDArray[np.float32]:
        """Return p(Hallucination) of a batch of ids and sides: shape [batch]."""
        del precision
        return probabilities(self.model, batch, self.device)

    def content(self) -> None:
        """Return ``None``: p of a model that has no file is not cached."""
