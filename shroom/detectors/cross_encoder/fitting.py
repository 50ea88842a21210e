"""Fitting the cross-encoder: stages, from any encoder to a folder that runs without torch.

A stage learns from corpora, from a teacher's p of unlabelled datapoints or, if it names neither,
from the labelled datapoints. The stages before the first of the last kind do not depend on labels
of the task, so they are run once and stored, for all folds of a cross-validation and for the final
model.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.atomic_writing import write_atomically
from shroom.core.datapoint import Rule
from shroom.core.paths import cache_folder, data_folder
from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.encoding import MAX_TOKENS, Encoding
from shroom.detectors.cross_encoder.examples import general_examples, labelled
from shroom.detectors.cross_encoder.pair_model import PairModel, TrainedModel
from shroom.detectors.cross_encoder.training import STAGES, Example, Progress, Stage, train
from shroom.detectors.out_of_fold import splits
from shroom.detectors.pairs import Pairs
from shroom.detectors.recipe import detector_from
from shroom.inference import hub
from shroom.inference.tokenization import longest
from shroom.metrics.correlation import rho

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint


@dataclass
class Fitting:
    """One fit of the cross-encoder by a recipe.

    Attributes
    ----------
    encoder, revision : str
        The initial weights: a folder, or a name on the hub.
    seed : int
        Seed of orders, draws and dropout.
    stages : sequence of mapping
        See :class:`Stage`.
    rule : Rule
        With what hypotheses are compared.
    device : str or None
        By default the fastest available.
    stop : int or None
        Number of epochs of the last stage, if fewer than in its schedule.
    data, work : path
        The folder of the corpora, by default ``SHROOM_DATA``, and the folder of stored results.
    report : callable
        Called with the name of a stage and a ``Progress``.
    """

    encoder: str
    revision: str | None = None
    seed: int = 0
    stages: Sequence[Mapping[str, Any]] = STAGES
    rule: Rule = Rule.GIVEN
    device: str | None = None
    stop: int | None = None
    data: Path | None = None
    work: Path = field(default_factory=lambda: cache_folder("training"))
    report: Callable[[str, Progress], None] | None = None

    def __post_init__(self) -> None:
        self.plan = [Stage.of(table) for table in self.stages]
        general = [stage.is_general for stage in self.plan]
        if all(general) or general != sorted(general, reverse=True):
            raise ShroomError(
                "stages: those with corpora or a teacher come first, and at least one without, "
                "which learns from the labelled datapoints, comes last"
            )
        self.device = self.device or hub.best_device()
        tokenizer = hub.tokenizer(self.encoder, self.revision)
        self.work.mkdir(parents=True, exist_ok=True)
        self.tokenizer = self.work / f"{self._key(0)}.tokenizer.json"
        self.tokenizer.write_text(tokenizer.backend_tokenizer.to_str(), encoding="utf-8")
        self.padding = int(tokenizer.pad_token_id or 0)
        room = longest(tokenizer, hub.config(self.encoder, self.revision))
        self.encoding = Encoding(self.tokenizer, self.padding, min(MAX_TOKENS, room))

    @property
    def _data(self) -> Path:
        return self.data or data_folder()

    def model(self) -> PairModel:
        """Return the model after all stages without labelled datapoints, trained or stored."""
        import safetensors.torch
        import torch

        torch.manual_seed(self.seed)  # the head begins with random weights
        model = PairModel(self.encoder, self.revision)
        general = sum(stage.is_general for stage in self.plan)
        files = [self.work / f"{self._key(stages)}.safetensors" for stages in range(general + 1)]
        done = max((n for n in range(1, general + 1) if files[n].is_file()), default=0)
        if done:
            safetensors.torch.load_model(model, str(files[done]))
        for place, stage in enumerate(self.plan[done:general], done):
            examples = general_examples(stage, self._data, self.seed, self.rule)
            self._train(model, stage, examples, self._key(place + 1))
            fresh = files[place + 1].with_suffix(".new")
            safetensors.torch.save_model(model.cpu(), str(fresh))
            fresh.replace(files[place + 1])
        return model

    def fit(
        self,
        datapoints: Sequence[Datapoint],
        p: NDArray[np.float64],
        after_epoch: Callable[[TrainedModel, int], None] | None = None,
    ) -> TrainedModel:
        """Return the model after all stages.

        Parameters
        ----------
        datapoints : sequence of Datapoint
            Labelled ones.
        p : array, shape [n]
            The annotators' proportions.
        after_epoch : callable, optional
            Called with the model and the number of finished epochs of the last stage.
        """
        trained = TrainedModel(
            self.model(), self.encoding, self.tokenizer, str(self.device), self.rule
        )
        examples = labelled(datapoints, p, self.rule)
        digest = hashlib.sha256(json.dumps(examples).encode()).hexdigest()[:12]
        for stage in [stage for stage in self.plan if not stage.is_general]:
            last = stage is self.plan[-1]
            notify = functools.partial(after_epoch, trained) if after_epoch and last else None
            # A run that is evaluated after each epoch cannot resume in the middle of one.
            key = None if notify else f"{self._key(len(self.plan))}-{digest}-{stage.name}"
            stop = self.stop if last else None
            self._train(trained.model, stage, examples, key, after_epoch=notify, stop=stop)
        return trained

    def cross_validated(
        self, datapoints: Sequence[Datapoint], p: NDArray[np.float64], folds: int
    ) -> tuple[NDArray[np.float64], int]:
        """Return the p of each datapoint out of fold, and the best number of epochs.

        Folds that an interrupted run has finished are not computed again.

        Raises
        ------
        ShroomError
            If the teacher of a stage was fitted on labels, so that no fold would be unseen.
        """
        for stage in self.plan:
            if stage.teacher and detector_from(stage.teacher).training_items.answers:
                raise ShroomError(
                    f"stage {stage.name}: the teacher was fitted on labelled data, so no fold is "
                    "unseen: fit with --folds 0, or take a teacher that has seen none"
                )
        epochs = self.plan[-1].epochs
        pairs = Pairs.of(datapoints, rule=self.rule)
        by_epoch = np.empty((epochs, len(pairs.items)))
        key = hashlib.sha256(json.dumps(labelled(datapoints, p, self.rule)).encode())
        for fold, (fit, test) in enumerate(splits(datapoints, folds)):
            name = f"{self._key(len(self.plan))}-{key.hexdigest()[:12]}-{fold}of{folds}.npy"
            file = self.work / name
            unseen = np.isin(pairs.owner, test)
            if not file.is_file():
                items = [item for item, judged in zip(pairs.items, unseen) if judged]
                buffer = io.BytesIO()
                np.save(buffer, self._fold([datapoints[i] for i in fit], p[fit], items))
                write_atomically(file, buffer.getvalue())
            by_epoch[:, unseen] = np.load(file, allow_pickle=False)
        judged = [pairs.best(row) for row in by_epoch]
        best = int(np.argmax([rho(row, p) for row in judged]))
        return judged[best], best + 1

    def _fold(
        self,
        datapoints: Sequence[Datapoint],
        p: NDArray[np.float64],
        items: Sequence[tuple[str, str, str]],
    ) -> NDArray[np.float64]:
        """Return p of pairs after each epoch of other datapoints: shape [epochs, pairs]."""
        arrays, _ = self.encoding(items)
        rows: list[list[float]] = []

        def judge(trained: TrainedModel, _: int) -> None:
            batches = (self.encoding.batch([array]) for array in arrays)
            rows.append([float(trained.probabilities(batch)[0]) for batch in batches])

        self.fit(datapoints, p, judge)
        return np.array(rows)

    def _train(
        self,
        model: PairModel,
        stage: Stage,
        examples: Sequence[Example],
        key: str | None,
        **more: Any,
    ) -> None:
        """Train a model; with a key, an interrupted run is resumed."""
        train(
            model,
            self.encoding,
            examples,
            stage,
            seed=self.seed,
            device=str(self.device),
            report=self.report,
            checkpoint=self.work / f"{key}.checkpoint" if key else None,
            **more,
        )

    def _inputs(self, stage: Stage) -> list[Any]:
        """Return the identities of the files of a stage and of its teacher."""
        names = [table["file"] for table in stage.corpora] + list(stage.unlabelled)
        there = [self._data / name for name in names if (self._data / name).is_file()]
        files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in there]
        teacher = detector_from(stage.teacher).identity if stage.teacher else ""
        return [files, teacher]

    def _key(self, stages: int) -> str:
        """Return a name for the state after some stages, which depends on the recipe only."""
        done = [[asdict(stage), self._inputs(stage)] for stage in self.plan[:stages]]
        about = [hub.identity(self.encoder, self.revision), self.seed, self.rule.value, done]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]
