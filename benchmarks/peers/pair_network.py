"""The network of the shipped model as a classifier of transformers, so that its peers can load it.

Importing this module registers the class: ``AutoModelForSequenceClassification`` finds it for the
folders that ``pair_models.py`` writes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification, MPNetConfig, MPNetModel
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.models.mpnet.modeling_mpnet import MPNetPreTrainedModel

from shroom.detectors.cross_encoder.encoding import HYP, PADDING, REF, REF_SPECIAL
from shroom.detectors.cross_encoder.pair_model import HIDDEN, PairModel


class PairConfig(MPNetConfig):  # type: ignore[misc, unused-ignore]
    """The encoder's sizes; what follows from them is the head."""

    model_type = "mpnet-pair"


class _Network(PairModel):
    """The pair model with an encoder that is made from its sizes, to be filled with weights."""

    def __init__(self, config: PairConfig) -> None:
        nn.Module.__init__(self)
        self.encoder = MPNetModel(config, add_pooling_layer=False)
        self.head = nn.Sequential(
            nn.Linear(3 * config.hidden_size, HIDDEN),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(HIDDEN, 1),
        )
        self.scale = nn.Parameter(torch.tensor(0.0))
        self.bias = nn.Parameter(torch.tensor(0.0))


class PairForSequenceClassification(MPNetPreTrainedModel):  # type: ignore[misc, unused-ignore]
    """Two logits, 0 and z, so that their softmax gives p(Hallucination) = sigmoid(z)."""

    config_class = PairConfig

    def __init__(self, config: PairConfig) -> None:
        super().__init__(config)
        self.model = _Network(config)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Return the logits, shape [batch, 2], of ``<s> task: reference </s></s> hyp </s>``."""
        z = self.model(input_ids, self.sides(input_ids, attention_mask))
        return SequenceClassifierOutput(logits=torch.stack((torch.zeros_like(z), z), dim=-1))

    def sides(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return which side each token is of; an encoder without token types needs no more."""
        end = ids == self.config.eos_token_id
        ends = end.long().cumsum(1)
        ref = (ends == 0) & (ids != self.config.bos_token_id)
        hyp = (ends == 2) & ~end
        sides = torch.where(ref, REF, torch.where(hyp, HYP, REF_SPECIAL))
        return sides if mask is None else torch.where(mask.bool(), sides, PADDING)


AutoConfig.register(PairConfig.model_type, PairConfig)
AutoModelForSequenceClassification.register(PairConfig, PairForSequenceClassification)
