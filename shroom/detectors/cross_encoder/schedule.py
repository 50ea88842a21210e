"""The settings of fitting a cross-encoder; they are known without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from shroom.detectors.settings import Count, Natural, Positive, Share


@dataclass(kw_only=True)
class Schedule:
    """How a model learns.

    Attributes
    ----------
    epochs : int
        Number of passes over the examples.
    batch : int
        Number of examples in a step.
    rate : float
        Maximum learning rate of AdamW; that of the head is ten times as high.
    frozen : int
        Number of bottom layers that are frozen with the embeddings.
    bfloat16 : bool
        Whether matrices are multiplied in bfloat16, which takes half the time on a processor that
        has it. Weights and their updates are in float32 either way.
    blend : float
        The share of the weights from before the training in the result: 0.5 for the mean. What
        is learnt is then learnt in part, and less of what came before is lost (Wortsman et al.
        2022, "Robust fine-tuning of zero-shot models").
    seed : int
        Seed of a new head, of the order and of the dropout.
    """

    epochs: Count = 3
    batch: Count = 16
    rate: Positive = 2e-5
    frozen: Natural = 0
    bfloat16: bool = False
    blend: Share = 0.0
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0
