"""The kit's own detector: reference and hypothesis read together by a small encoder.

What ships runs with onnxruntime and tokenizers alone. Training needs torch and transformers, and
lives in the modules beside this one, which are imported when something is fitted.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.datapoint import Rule, premises
from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.detectors.cross_encoder.encoding import Encoding
from shroom.detectors.cross_encoder.model_folder import (
    ABOUT,
    FORMAT,
    GRAPH,
    INTEGERS,
    TOKENIZER,
    TRAINING_ITEMS,
    opened,
)
from shroom.detectors.fitted import FittedDetector
from shroom.detectors.pairs import Pairs
from shroom.detectors.training_items import UNREADABLE, TrainingItems
from shroom.detectors.windowed_pairs import Windowed, Windows, parts_of
from shroom.inference.machine import threads
from shroom.inference.result_cache import digest_of, versions
from shroom.inference.run import over

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.inference.run import Run

    _Pair = tuple[str, str, str]

MODEL = Path(__file__).parent.parent.parent / "models" / "cross-encoder"
#: Precisions that stand for the integers of that folder.
_INTEGERS = ("auto", "int8")
#: Several threads want the model at once.
_LOADING = Lock()


class CrossEncoder(FittedDetector):
    """p(Hallucination) of a hypothesis from reading it together with its reference.

    Parameters
    ----------
    model : path, optional
        The folder of a fitted model; by default the one that ships with the kit.
    reference : str, optional
        A value of :class:`~shroom.core.datapoint.Rule`: what the hypothesis is held against; by
        default what the model was fitted with.
    threshold : float, optional
        By default the one that was fitted.
    windows, overlap
        How a reference is read that is too long: see
        :class:`shroom.detectors.windowed_pairs.Windows`.
    encoder, revision, seed, stages : optional
        For fitting only: see :class:`~shroom.detectors.cross_encoder.detector.fitting.Fitting`.

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> faithful = Datapoint(hyp="The cat is asleep.", src="", tgt="The cat sleeps.", task=Task.MT)
    >>> invented = Datapoint(hyp="The dog barks.", src="", tgt="The cat sleeps.", task=Task.MT)
    >>> low, high = CrossEncoder().predict([faithful, invented])
    >>> bool(low < 0.3 < 0.7 < high)
    True
    """

    name = "cross-encoder"
    start_setting = "encoder"

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        reference: str | None = None,
        threshold: float | None = None,
        windows: str = "max",
        overlap: int = 1,
        encoder: str | None = None,
        revision: str | None = None,
        seed: int = 0,
        stages: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self.folder = MODEL if model is None else Path(str(model))
        self._reference = None if reference is None else settings.rule(reference)
        self._threshold = None if threshold is None else settings.share("threshold", threshold)
        self.windows = Windows.of(windows, overlap)
        self.recipe: dict[str, Any] = {
            "encoder": encoder,
            "revision": revision,
            "seed": settings.whole("seed", seed, 0, 2**32 - 1),
            "stages": stages,
        }
        self._trained: Any = None

    @property
    def fitted_threshold(self) -> float:
        """The threshold that results from fitting."""
        return float(self._about["threshold"])

    def _predict(self, datapoints: Sequence[Datapoint], run: Run) -> NDArray[np.float64]:
        pairs = Pairs.of(datapoints, rule=self.rule)
        if run.device not in (None, "cpu") and self._trained is None:
            run.note("the cross-encoder runs on the CPU, whatever the device")
        floats = self._in_floats(run)
        read, encoded = self._read(pairs.items, run)

        def work(batch: list[tuple[str, str, str]]) -> NDArray[np.float32]:
            arrays = self._encoding.batch([encoded[item] for item in batch])
            return self._probabilities(arrays, floats=floats)

        lengths = [encoded[item].shape[1] for item in read.items]
        p = over(
            read.items,
            work,
            lengths=lengths,
            scope=f"{self.identity} float32" if floats else self.identity,
            run=run,
            address=lambda: self._address(floats=floats),
            workers=threads() if self._trained is None else 1,
            precision="float32" if floats else "int8",
            bounds=(0, 1),
        )
        return pairs.best(self.windows.folded(p[:, 0], read))

    def fit(self, datapoints: Sequence[Datapoint], p: NDArray[np.float64]) -> CrossEncoder:
        """Fit a model on the annotators' proportions, by the recipe's stages."""
        self._adopt(self._fitting().fit(datapoints, p))
        return self

    def out_of_fold(
        self, datapoints: Sequence[Datapoint], p: NDArray[np.float64], folds: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return p and thresholds of datapoints from models fitted on the other folds.

        :meth:`fit` will stop after the number of epochs that gives the highest rho.
        """
        found, self.recipe["stop"] = self._fitting().cross_validated(datapoints, p, folds)
        threshold = 0.5 if self._threshold is None else self._threshold
        return found, np.full(len(p), threshold)

    def save(self, path: str | Path, **about: Any) -> None:
        """Write the fitted model as a folder, with a card; ``about`` says where it comes from."""
        from shroom.detectors.cross_encoder.saving import save

        if self._trained is None:
            raise ShroomError("the cross-encoder has not been fitted, so there is nothing to save")
        begun = str(self.recipe["encoder"])
        encoder = Path(begun).name if Path(begun).is_dir() else begun
        recipe = {**self.recipe, "encoder": encoder, "reference": self.rule.value}
        content = {**self._about, "recipe": recipe, **about}
        save(Path(path), self._trained, content, self._items)

    def remember(self, items: TrainingItems) -> None:
        """Note which items the model was fitted on, and their out-of-fold p."""
        self._items = items

    @property
    def training_items(self) -> TrainingItems:
        """The items that it was fitted on; their p hold for the reference of the fit alone."""
        if self._reference in (None, self._fitted_rule):
            return self._items
        return self._items.without_answers()

    def _fitting(self) -> Any:
        """Return the recipe as it is carried out; it needs torch, which nothing before does."""
        try:
            from shroom.detectors.cross_encoder.fitting import STAGES, Fitting
        except ImportError as error:
            raise ShroomError(
                f"fitting the cross-encoder needs torch and transformers: {install_hint('models')}"
            ) from error
        if not self.recipe["encoder"]:
            raise ShroomError(
                "fitting the cross-encoder needs an encoder to begin from: name one in a recipe "
                '(encoder = "sentence-transformers/all-mpnet-base-v2") or with --model'
            )
        about = {**self.recipe, "stages": self.recipe["stages"] or STAGES}
        fitting = Fitting(**about, rule=self._reference or Rule.GIVEN, report=self.report)
        self.device = fitting.device
        return fitting

    def _adopt(self, trained: Any) -> None:
        """Predict with a model in torch from now on."""
        self._trained = trained
        limit = 0.5 if self._threshold is None else self._threshold
        self._about = {
            "threshold": limit,
            "weights": "as fitted",
            "recipe": {"reference": (self._reference or Rule.GIVEN).value},
        }
        self._encoding = trained.encoding
        self._items = TrainingItems()

    def _read(
        self, pairs: list[_Pair], run: Run
    ) -> tuple[Windowed[_Pair], dict[_Pair, NDArray[np.int64]]]:
        """Return what the model is given instead of pairs, and the arrays of each of it."""
        encoding = self._encoding
        distinct = list(dict.fromkeys(pairs))
        arrays, cut = encoding(distinct)
        encoded = dict(zip(distinct, arrays))
        if cut and self.windows.cut:
            run.note(
                f"{cut} of {len(distinct)} pairs have over {encoding.room} tokens: the end of the "
                "reference was not read"
            )
        # What was cut fills the room, as may what was not, which is its own only window.
        whole = not cut or self.windows.cut
        fits = [whole or encoded[pair].shape[1] < encoding.room for pair in pairs]
        read = Windowed.of(pairs, fits, self._parts)
        for note in read.notes("the cross-encoder", encoding.room, self.windows):
            run.note(note)
        new = [item for item in dict.fromkeys(read.items) if item not in encoded]
        encoded.update(zip(new, encoding(new)[0]))
        return read, encoded

    def _parts(self, pair: _Pair) -> list[_Pair]:
        task, ref, hyp = pair
        refs, hyp = parts_of(ref, hyp, self._encoding, self.windows, prefix=f"{task}: ")
        return [(task, ref, hyp) for ref in refs]

    def _in_floats(self, run: Run) -> bool:
        """Return whether a run multiplies floats, as a model that was fitted here always does."""
        if run.precision not in (None, "float32", *_INTEGERS):
            raise ShroomError(
                f"precision: expected float32, or {' or '.join(_INTEGERS)} for the integers that "
                f"the cross-encoder is stored in, got {run.precision}"
            )
        if run.precision == "auto" and self._trained is None:
            run.note("the cross-encoder's precision auto is int8, the integers of its file")
        return self._trained is not None or run.precision == "float32"

    def _address(self, *, floats: bool = False) -> str | None:
        """Return what p depends on beside the texts; ``None`` of a model that was fitted here."""
        if self._trained is not None:
            return None
        about = f"{self._content} float32" if floats else self._content
        return f"{self.name} {about} {versions('onnxruntime', 'tokenizers')}"

    @cached_property
    def _content(self) -> str:
        return digest_of(self.folder / name for name in (GRAPH, INTEGERS, TOKENIZER, ABOUT))

    def _probabilities(
        self, batch: NDArray[np.int64], *, floats: bool = False
    ) -> NDArray[np.float32]:
        if self._trained is not None:
            return np.asarray(self._trained.probabilities(batch))
        with _LOADING:
            runtime = self._session_in_floats if floats else self._session
        return np.asarray(runtime.run(None, {"pairs": batch})[0])

    @property
    def rule(self) -> Rule:
        """How the reference is chosen."""
        return self._reference or self._fitted_rule

    @property
    def _fitted_rule(self) -> Rule:
        return settings.rule(self._about.get("recipe", {}).get("reference", Rule.GIVEN.value))

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return what the hypothesis is held against."""
        return premises(datapoint, rule=self.rule)

    @property
    def identity(self) -> str:
        """What tells this model's weights from others'."""
        return f"{self.name} {self._about['weights']}"

    @cached_property
    def _about(self) -> dict[str, Any]:
        path = self.folder / ABOUT
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            if about["format"] != FORMAT:
                raise ShroomError(
                    f"{path}: of format {about['format']}, and this kit reads {FORMAT}"
                )
            for key in ("integers", "padding", "room", "weights"):
                about[key]
            return {**about, "threshold": float(about["threshold"])}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ShroomError(
                f"{self.folder}: not a model of the cross-encoder ({error}); make one with: "
                "shroom fit cross-encoder DATA -o MODEL"
            ) from error

    @cached_property
    def _items(self) -> TrainingItems:
        path = self.folder / TRAINING_ITEMS
        try:
            return TrainingItems.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except UNREADABLE as error:
            raise ShroomError(
                f"{path}: does not list the items that the model was fitted on ({error}); copy the "
                "whole folder that shroom fit cross-encoder has written"
            ) from error

    @cached_property
    def _encoding(self) -> Encoding:
        path = self.folder / TOKENIZER
        if not path.is_file():
            raise ShroomError(f"{self.folder}: has no {TOKENIZER}, so it cannot read text")
        return Encoding(path, self._about["padding"], self._about["room"])

    @cached_property
    def _session(self) -> Any:
        return opened(self.folder, self._about["integers"])

    @cached_property
    def _session_in_floats(self) -> Any:
        return opened(self.folder, self._about["integers"], floats=True)
