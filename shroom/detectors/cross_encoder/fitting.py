"""Fitting the cross-encoder: from any encoder to a folder that runs without torch."""

from __future__ import annotations

import hashlib
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from shroom.core.atomic_writing import write_atomically
from shroom.core.datapoint import Rule, premises
from shroom.core.paths import cache_folder
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.cross_encoder.pair_model import PairModel, TrainedModel
from shroom.detectors.cross_encoder.schedule import Schedule
from shroom.detectors.pairs import MAX_TOKENS, Encoding, Pairs
from shroom.inference import hub
from shroom.inference.tokenization import longest
from shroom.learners.folds import even_splits

#: Steps between two checkpoints.
SAVED_EVERY = 100
#: Number of batches within which examples are sorted by length. More batches save padding; fewer
#: batches keep the order random.
_WINDOW = 50
_WARM_UP = 0.06


class Example(NamedTuple):
    """A pair of texts with its target, p(Hallucination)."""

    task: str
    ref: str
    hyp: str
    p: float


class Progress(NamedTuple):
    """The progress of training, for display."""

    step: int
    steps: int
    loss: float


def train(
    model: PairModel,
    encoding: Encoding,
    examples: Sequence[Example],
    schedule: Schedule,
    *,
    device: str = "cpu",
    report: Callable[[Progress], None] | None = None,
    checkpoint: Path | None = None,
) -> None:
    """Train a model in place, with soft labels; afterwards it is on the CPU."""
    # The rate rises for the first 6% of the steps and falls linearly to a twentieth. Every
    # ``SAVED_EVERY`` steps the state goes to ``checkpoint``, from which training resumes.
    torch.manual_seed(schedule.seed)
    before = {name: value.clone() for name, value in model.cpu().state_dict().items()}
    model.to(device).train()
    model.freeze(schedule.frozen)
    pairs, _ = encoding([example[:3] for example in examples])
    targets = torch.tensor([example.p for example in examples], dtype=torch.float32)
    plan = _plan([pair.shape[1] for pair in pairs], schedule)
    optimizer = torch.optim.AdamW(list(model.groups(schedule.rate)), fused=True)
    fall = torch.optim.lr_scheduler.LambdaLR(optimizer, _line(len(plan)))
    parts = {"model": model, "optimizer": optimizer, "fall": fall}
    start = _resumed(parts, checkpoint) if checkpoint and checkpoint.is_file() else 0
    mean = 0.0
    for step in range(start, len(plan)):
        batch = torch.from_numpy(encoding.batch([pairs[i] for i in plan[step]])).to(device)
        with torch.autocast(device.partition(":")[0], torch.bfloat16, enabled=schedule.bfloat16):
            logits = model(batch)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            logits.float(), targets[plan[step]].to(device)
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        fall.step()
        mean = loss.item() if not mean else 0.97 * mean + 0.03 * loss.item()
        if report:
            report(Progress(step + 1, len(plan), mean))
        if checkpoint and (step + 1) % SAVED_EVERY == 0:
            _save(parts, step + 1, checkpoint)
    after = model.cpu().eval().state_dict()
    model.load_state_dict(
        {name: value.lerp(before[name], schedule.blend) for name, value in after.items()}
    )
    if checkpoint:
        checkpoint.unlink(missing_ok=True)


def _plan(lengths: Sequence[int], schedule: Schedule) -> list[list[int]]:
    """Return the batches of all epochs: every example once in each, sorted by similar length."""
    chance = random.Random(schedule.seed)  # noqa: S311 - an order, not a secret
    plan = []
    for _ in range(schedule.epochs):
        order = list(range(len(lengths)))
        chance.shuffle(order)
        windows = _parts(order, schedule.batch * _WINDOW)
        by_length = [sorted(window, key=lengths.__getitem__) for window in windows]
        epoch = [batch for window in by_length for batch in _parts(window, schedule.batch)]
        chance.shuffle(epoch)
        plan += epoch
    return plan


def _parts(items: list[int], size: int) -> list[list[int]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


def _line(steps: int) -> Callable[[int], float]:
    warm = max(1, round(_WARM_UP * steps))
    return lambda step: min(1.0, (step + 1) / warm) * max(0.05, 1 - step / steps)


def _save(parts: dict[str, Any], step: int, path: Path) -> None:
    """Write the complete state of a run, so that it can be resumed with the same result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state: dict[str, Any] = {name: part.state_dict() for name, part in parts.items()}
    fresh = path.with_suffix(".new")
    torch.save({**state, "step": step, "chance": torch.get_rng_state()}, fresh)
    fresh.replace(path)


def _resumed(parts: dict[str, Any], path: Path) -> int:
    """Restore the state of a run, and return the step to continue from."""
    state = torch.load(path, map_location="cpu", weights_only=True)
    for name, part in parts.items():
        part.load_state_dict(state[name])
    torch.set_rng_state(state["chance"])
    return int(state["step"])


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
        self._start = hub.identity(self.encoder, self.revision)
        self.tokenizer = self.work / f"{_digest(self._start)}.tokenizer.json"
        write_atomically(self.tokenizer, tokenizer.backend_tokenizer.to_str())
        padding = int(tokenizer.pad_token_id or 0)
        room = longest(tokenizer, hub.config(self.encoder, self.revision))
        self.encoding = Encoding(self.tokenizer, padding, min(MAX_TOKENS, room))

    def model(self) -> PairModel:
        """Return the model before training."""
        torch.manual_seed(self.schedule.seed)  # a new head begins with random weights
        return PairModel(self.encoder, self.revision)

    def fit(self, datapoints: Datapoints, p: Floats) -> TrainedModel:
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

    def cross_validated(self, datapoints: Datapoints, p: Floats, folds: int) -> Floats:
        """Return the cross-validated p of each datapoint; finished folds are stored."""
        pairs = self._pairs(datapoints)
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

    def _pairs(self, datapoints: Datapoints) -> Pairs:
        return Pairs.of(datapoints, partial(premises, rule=self.rule))

    def _examples(self, datapoints: Datapoints, p: Floats) -> list[Example]:
        pairs = self._pairs(datapoints)
        return [Example(*item, share) for item, share in zip(pairs.items, p[pairs.owner].tolist())]

    def _key(self, examples: list[Example]) -> str:
        return _digest([self._start, self.rule.value, asdict(self.schedule), examples])


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
