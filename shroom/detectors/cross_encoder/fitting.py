"""Fitting the cross-encoder: from any encoder to a folder that runs without torch."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shroom.core.atomic_writing import write_atomically
from shroom.core.datapoint import Datapoint, Rule
from shroom.core.paths import cache_folder
from shroom.detectors.cross_encoder.encoding import MAX_TOKENS, Encoding
from shroom.detectors.cross_encoder.pair_model import PairModel, TrainedModel
from shroom.detectors.cross_encoder.schedule import Schedule
from shroom.detectors.cross_encoder.training import Example, Progress, train
from shroom.detectors.pairs import Pairs
from shroom.inference import hub
from shroom.inference.tokenization import longest
from shroom.learners.folds import even_splits


@dataclass
class Fitting:
    """One fit of the cross-encoder."""

    # ``work`` is the folder of stored results.

    encoder: str
    revision: str | None = None
    schedule: Schedule = field(default_factory=Schedule)
    rule: Rule = Rule.GIVEN
    device: str | None = None
    work: Path = field(default_factory=lambda: cache_folder("training"))
    report: Callable[[Progress], None] | None = None

    def __post_init__(self) -> None:
        self.device = self.device or hub.best_device()
        tokenizer = hub.tokenizer(self.encoder, self.revision)
        self.work.mkdir(parents=True, exist_ok=True)
        start = hub.identity(self.encoder, self.revision)
        self.tokenizer = self.work / f"{_digest(start)}.tokenizer.json"
        write_atomically(self.tokenizer, tokenizer.backend_tokenizer.to_str())
        self.padding = int(tokenizer.pad_token_id or 0)
        room = longest(tokenizer, hub.config(self.encoder, self.revision))
        self.encoding = Encoding(self.tokenizer, self.padding, min(MAX_TOKENS, room))
        self._start = start

    def model(self) -> PairModel:
        """Return the model before training."""
        import torch

        torch.manual_seed(self.schedule.seed)  # a new head begins with random weights
        return PairModel(self.encoder, self.revision)

    def fit(self, datapoints: Sequence[Datapoint], p: NDArray[np.float64]) -> TrainedModel:
        """Return the trained model."""
        examples = self._examples(datapoints, p)
        model, device = self.model(), str(self.device)
        train(
            model,
            self.encoding,
            examples,
            self.schedule,
            device=device,
            report=self.report,
            checkpoint=self.work / f"{self._key(examples)}.checkpoint",
        )
        return TrainedModel(model, self.encoding, self.tokenizer, device, self.rule)

    def cross_validated(
        self, datapoints: Sequence[Datapoint], p: NDArray[np.float64], folds: int
    ) -> NDArray[np.float64]:
        """Return p of each datapoint from a model of the other folds; finished ones are kept."""
        pairs = Pairs.of(datapoints, rule=self.rule)
        judged = np.empty(len(pairs.items))
        key = self._key(self._examples(datapoints, p))
        for fold, (fit, test) in enumerate(even_splits(datapoints, folds)):
            file = self.work / f"{key}-{fold}of{folds}.npy"
            unseen = np.isin(pairs.owner, test)
            if not file.is_file():
                trained = self.fit([datapoints[i] for i in fit], p[fit])
                arrays, _ = self.encoding([i for i, asked in zip(pairs.items, unseen) if asked])
                batches = (self.encoding.batch([array]) for array in arrays)
                buffer = io.BytesIO()
                np.save(buffer, [float(trained.probabilities(batch)[0]) for batch in batches])
                write_atomically(file, buffer.getvalue())
            judged[unseen] = np.load(file, allow_pickle=False)
        return pairs.best(judged)

    def _examples(self, datapoints: Sequence[Datapoint], p: NDArray[np.float64]) -> list[Example]:
        pairs = Pairs.of(datapoints, rule=self.rule)
        return [Example(*item, float(p[owner])) for item, owner in zip(pairs.items, pairs.owner)]

    def _key(self, examples: list[Example]) -> str:
        return _digest([self._start, self.rule.value, asdict(self.schedule), examples])


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
