"""The settings for fitting a cross-encoder, in a module that does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from shroom.detectors.settings import Count, Natural, Positive, Share


@dataclass(kw_only=True)
class Schedule:
    """How a model is trained.

    Attributes
    ----------
    epochs : int
        Number of passes over the examples.
    batch : int
        Number of examples in a step.
    rate : float
        Maximum learning rate of AdamW; the rate for the head is ten times as high.
    frozen : int
        Number of bottom layers that are frozen with the embeddings.
    bfloat16 : bool
        Whether matrices are multiplied in bfloat16, which takes half the time on processors that
        support it. The weights and their updates are always in float32.
    blend : float
        The share of the initial weights in the result; 0.5 gives the mean of the weights before and
        after training. Less of the earlier training is then lost (Wortsman et al. 2022, "Robust
        fine-tuning of zero-shot models").
    seed : int
        Random seed for the new head, the order of the examples, and dropout.
    """

    epochs: Count = 3
    batch: Count = 16
    rate: Positive = 2e-5
    frozen: Natural = 0
    bfloat16: bool = False
    blend: Share = 0.0
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0
