"""The kit's own detector: a small encoder that reads reference and hypothesis together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Rule
from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.cross_encoder.model_folder import loaded
from shroom.detectors.cross_encoder.schedule import Schedule
from shroom.detectors.fitted import Fitted, FittedDetector
from shroom.detectors.out_of_fold import TrainingItems
from shroom.detectors.pairs import Pairs, in_windows, parts_of
from shroom.detectors.settings import File, Name, Share
from shroom.inference.compute import compute
from shroom.inference.run_settings import Run

MODEL = Path(__file__).parent.parent.parent / "models" / "cross-encoder"


@dataclass(eq=False, repr=False)
class CrossEncoder(Schedule, FittedDetector):
    """p(Hallucination) from an encoder that reads the hypothesis together with its reference.

    Parameters
    ----------
    model : path, optional
        The folder of a fitted model; by default, the model that ships with the kit.
    reference : str, optional
        Which text the hypothesis is compared with: a value of
        :class:`~shroom.core.datapoint.Rule`; by default, the rule that was used in fitting.
    threshold : float, optional
        The label is Hallucination if p is greater; by default, the fitted threshold.
    encoder, revision : optional
        The encoder to start fitting from: a folder, or a name on the hub with its revision.
    epochs, batch, rate, frozen, bfloat16, blend, seed : optional
        How to fit: see :class:`~shroom.detectors.cross_encoder.schedule.Schedule`.

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> faithful = Datapoint(hyp="The cat is asleep.", src="", tgt="The cat sleeps.", task=Task.MT)
    >>> invented = Datapoint(hyp="The dog barks.", src="", tgt="The cat sleeps.", task=Task.MT)
    >>> low, high = CrossEncoder().p([faithful, invented])
    >>> bool(low < 0.3 < 0.7 < high)
    True
    """

    name: ClassVar[str] = "cross-encoder"
    start_setting: ClassVar[str] = "encoder"
    model: File | None = None
    _: KW_ONLY
    reference: Rule | None = None
    threshold: Share | None = None
    encoder: Name | None = None
    revision: Name | None = None

    @property
    def _model(self) -> Any:
        return self._fitted().model

    def _load(self) -> Fitted:
        return loaded(Path(self.model or MODEL))

    @property
    def training_items(self) -> TrainingItems:
        """The training items; their out-of-fold p are valid only for the fitted reference rule."""
        items = self._fitted().items
        valid = self.rule is self._model.rule
        return items if valid else TrainingItems(dict.fromkeys(items.answers))

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """English for the model that ships with the kit; unknown for others."""
        return ("en",) if getattr(self._model, "folder", None) == MODEL else ()

    @property
    def rule(self) -> Rule:
        return self.reference or self._model.rule

    @property
    def identity(self) -> str:
        return f"{self.name} {self._fitted().digest}"

    def _p(self, datapoints: Datapoints, run: Run) -> Floats:
        model, pairs = self._model, Pairs.of(datapoints, self.premises)
        encoding, precision = model.encoding, model.precision(run)
        distinct = list(dict.fromkeys(pairs.items))
        arrays, cut = encoding(distinct)
        encoded, is_cut = dict(zip(distinct, arrays)), dict(zip(distinct, cut))
        fits = np.array([not is_cut[item] for item in pairs.items])
        limit = f"the cross-encoder reads at most {encoding.room} tokens"
        read = in_windows(pairs.items, fits, partial(parts_of, encoding), limit, run)
        new = [item for item in dict.fromkeys(read.items) if item not in encoded]
        encoded.update(zip(new, encoding(new)[0]))

        def work(batch: list[tuple[str, str, str]]) -> NDArray[np.float32]:
            inputs = encoding.batch([encoded[item] for item in batch])
            return np.asarray(model.probabilities(inputs, precision))

        p = compute(
            read.items,
            work,
            lengths=[encoded[item].shape[1] for item in read.items],
            scope=model.content,
            precision=precision,
            run=run,
            workers=model.workers,
        )
        return pairs.best(read.lowest(p[:, 0]))

    def _fit(self, datapoints: Datapoints, p: Floats, run: Run) -> None:
        del run
        self._state = Fitted(self._fitting().fit(datapoints, p))

    def out_of_fold(self, datapoints: Datapoints, p: Floats, folds: int) -> Floats:
        return np.asarray(self._fitting().cross_validated(datapoints, p, folds))

    def save(self, path: str | Path, **about: Any) -> None:
        from shroom.detectors.cross_encoder.pair_model import save

        name = str(self.encoder)
        encoder = Path(name).name if Path(name).is_dir() else name
        start = {"encoder": encoder, "revision": self.revision}
        recipe = {**start, **self._schedule, "reference": self.rule.value}
        state = replace(self._fitted(), threshold=self.threshold_)
        save(Path(path), state, {"recipe": recipe, **about})

    @property
    def _schedule(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(Schedule)}

    def _fitting(self) -> Any:
        """Return the fit that the settings describe; this imports torch."""
        require("models", "torch", "transformers")
        from shroom.detectors.cross_encoder.fitting import Fitting

        if not self.encoder:
            raise ShroomError(
                "fitting the cross-encoder needs an encoder to start from: specify --model, or "
                'add a line such as encoder = "sentence-transformers/all-mpnet-base-v2" to the '
                "recipe"
            )
        schedule, rule = Schedule(**self._schedule), self.reference or Rule.GIVEN
        return Fitting(self.encoder, self.revision, schedule, rule, report=self.report)
