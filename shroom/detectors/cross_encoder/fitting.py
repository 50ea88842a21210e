"""Fitting the cross-encoder: stages, from any encoder to a folder that runs without torch.

A stage learns from corpora, from a teacher's p of unlabelled datapoints or, if it names neither,
from the labelled datapoints. The stages before the first of the last kind do not depend on labels
of the task, so they are run once and stored, for all folds of a cross-validation and for the final
model.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.atomic_writing import write_atomically
from shroom.core.datapoint import Rule
from shroom.core.paths import cache_folder, data_folder
from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.encoding import MAX_TOKENS, Encoding
from shroom.detectors.cross_encoder.examples import general_examples, labelled, located
from shroom.detectors.cross_encoder.pair_model import PairModel, TrainedModel
from shroom.detectors.cross_encoder.training import STAGES, Example, Progress, Stage, train
from shroom.detectors.out_of_fold import splits
from shroom.detectors.pairs import Pairs
from shroom.detectors.recipe import detector_from
from shroom.inference import hub
from shroom.inference.tokenization import longest

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
        write_atomically(self.tokenizer, tokenizer.backend_tokenizer.to_str())
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
        for stage, file in zip(self.plan[done:general], files[done + 1 :]):
            examples = general_examples(stage, self._data, self.seed, self.rule)
            self._train(model, stage, examples, file)
        return model

    def fit(self, datapoints: Sequence[Datapoint], p: NDArray[np.float64]) -> TrainedModel:
        """Return the model after all stages.

        Parameters
        ----------
        datapoints : sequence of Datapoint
            Labelled ones.
        p : array, shape [n]
            The annotators' proportions.
        """
        examples = labelled(datapoints, p, self.rule)
        digest = hashlib.sha256(json.dumps(examples).encode()).hexdigest()[:12]
        key = f"{self._key(len(self.plan))}-{digest}"
        model = self.model()
        files = []
        for stage in [stage for stage in self.plan if not stage.is_general]:
            files.append(self.work / f"{key}-{stage.name}.safetensors")
            self._train(model, stage, examples, files[-1])
        for file in files:
            file.unlink()
        return TrainedModel(model, self.encoding, self.tokenizer, str(self.device), self.rule)

    def cross_validated(
        self, datapoints: Sequence[Datapoint], p: NDArray[np.float64], folds: int
    ) -> NDArray[np.float64]:
        """Return the p of each datapoint from the model that is fitted on the other folds.

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
        pairs = Pairs.of(datapoints, rule=self.rule)
        judged = np.empty(len(pairs.items))
        key = hashlib.sha256(json.dumps(labelled(datapoints, p, self.rule)).encode())
        for fold, (fit, test) in enumerate(splits(datapoints, folds)):
            name = f"{self._key(len(self.plan))}-{key.hexdigest()[:12]}-{fold}of{folds}.npy"
            file = self.work / name
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

    def _train(
        self, model: PairModel, stage: Stage, examples: Sequence[Example], file: Path
    ) -> None:
        """Train a model and store it, or load it if it is stored; resume an interrupted run."""
        import safetensors.torch

        if file.is_file():
            safetensors.torch.load_model(model, str(file))
            return
        before = {name: value.clone() for name, value in model.state_dict().items()}
        train(
            model,
            self.encoding,
            examples,
            stage,
            seed=self.seed,
            device=str(self.device),
            report=self.report,
            checkpoint=file.with_suffix(".checkpoint"),
        )
        after = model.cpu().state_dict()
        model.load_state_dict(
            {name: value.lerp(before[name], stage.blend) for name, value in after.items()}
        )
        fresh = file.with_suffix(".new")
        safetensors.torch.save_model(model, str(fresh))
        fresh.replace(file)

    def _inputs(self, stage: Stage) -> list[Any]:
        """Return the identities of the files of a stage and of its teacher."""
        names = [table["file"] for table in stage.corpora] + list(stage.unlabelled)
        there = [path for path in (located(self._data, name) for name in names) if path.is_file()]
        files = [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in there]
        teacher = detector_from(stage.teacher).identity if stage.teacher else ""
        return [files, teacher]

    def _key(self, stages: int) -> str:
        """Return a name for the state after some stages, which depends on the recipe only."""
        plan = zip(self.stages[:stages], self.plan)
        done = [[dict(table), self._inputs(stage)] for table, stage in plan]
        about = [hub.identity(self.encoder, self.revision), self.seed, self.rule.value, done]
        return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]
