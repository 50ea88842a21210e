"""The detectors by name, each imported when it is used, and recipes for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from shroom.core.problems import ShroomError, show
from shroom.core.registry import Entry, Registry
from shroom.detectors.base import Detector
from shroom.detectors.settings import Name, converted
from shroom.inference.run_settings import PRECISIONS
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.plain import read_plain

_TORCH = ("torch", "transformers")

#: The detectors by name, with descriptions that need no import.
REGISTRY = Registry(
    "detector",
    {
        "cross-encoder": Entry(
            "shroom.detectors.cross_encoder.detector:CrossEncoder",
            "the kit's own model, which reads reference and hypothesis together",
            ("onnxruntime", "tokenizers"),
            "onnx",
        ),
        "lexical": Entry(
            "shroom.detectors.lexical:Lexical",
            "surface overlap of hypothesis and reference; a weak baseline",
            ("sacrebleu",),
            "fit",
        ),
        "spans": Entry(
            "shroom.detectors.spans:Spans",
            "marks the words that annotators tend to mark; a weak baseline",
            ("scipy",),
            "fit",
        ),
        "similarity": Entry(
            "shroom.detectors.similarity:Similarity",
            "1 - cosine of two sentence embeddings; fitting adds a calibration for each task",
            (*_TORCH, "sentence_transformers"),
            "models",
            "--model: a sentence encoder, such as sentence-transformers/all-mpnet-base-v2",
        ),
        "nli": Entry(
            "shroom.detectors.nli:NLI",
            "an NLI model decides whether the reference entails the hypothesis",
            _TORCH,
            "models",
            "--model: an NLI model, such as cross-encoder/nli-deberta-v3-base",
        ),
        "judge": Entry(
            "shroom.detectors.judge.detector:Judge",
            "asks a language model whether the context supports the hypothesis",
            (),
            "",
            "--model; --set endpoint=URL, unless the model runs on this machine",
        ),
        "selfcheck": Entry(
            "shroom.detectors.selfcheck:SelfCheck",
            "agreement of the hypothesis with other samples from the model that wrote it",
            (),
            "",
            "--set samples=FILE: other samples for each datapoint",
        ),
        "unigram": Entry(
            "shroom.annotate.as_detectors:Unigram",
            "share of the reference's words that the hypothesis contains (a weak baseline); for "
            "English, install [annotate] or use --set language=other",
        ),
        "reward": Entry(
            "shroom.annotate.as_detectors:Reward",
            "the score that a reward model gives to the hypothesis as a reply to the source",
            _TORCH,
            "models",
            "--model: a reward model, such as OpenAssistant/reward-model-deberta-v3-base",
        ),
        "probe": Entry(
            "shroom.annotate.as_detectors:Probe",
            "a linear probe on a language model's hidden state after it has read the source",
            _TORCH,
            "models",
            "--model: a folder written by 'shroom annotate probe train'",
        ),
    },
    group="shroom.detectors",
    base="shroom.detectors.base:Detector",
)

#: The default detector for each kind of annotation.
DEFAULTS = {"binary": "cross-encoder", "spans": "spans", "labelled-spans": "spans"}
DEFAULT = DEFAULTS["binary"]


def check_annotation(chosen: Detector | type[Detector], edition: Edition) -> None:
    """Raise if a detector does not predict the edition's kind of annotation."""
    kind = edition.annotation.kind
    if kind not in chosen.annotations:
        other = f"the {DEFAULTS[kind]} detector" if kind in DEFAULTS else "a detector of your own"
        kinds = " or ".join(map(show, chosen.annotations))
        raise ShroomError(
            f"the {chosen.name} detector predicts {kinds} annotations, but {edition.name} has "
            f"{show(kind)} annotations; use {other}, or specify the edition of the data with "
            "--edition"
        )


def detector(name: str, /, **settings: Any) -> Detector:
    """Return a detector by its name.

    Parameters
    ----------
    name : str
        A name in the registry.
    **settings
        Arguments of the detector's class, such as ``model``.

    Raises
    ------
    ShroomError
        If there is no such detector or setting; the message suggests the nearest.

    Examples
    --------
    >>> detector("lexical").name
    'lexical'
    >>> detector("lexicle")
    Traceback (most recent call last):
    shroom.core.problems.UnknownName: no detector 'lexicle'; did you mean 'lexical'? ...
    """
    instance: Detector = REGISTRY.make(name, **settings)
    return instance


def class_of(name: str) -> type[Detector]:
    """Return a detector's class by its name in the registry."""
    kind: type[Detector] = REGISTRY.load(name)
    return kind


_PRECISION: Any = Literal[PRECISIONS] | None
Splits = Annotated[list[str], Meta(min_length=1, title='a list of splits, such as ["val", "test"]')]


@dataclass(frozen=True)
class Recipe:
    """A detector with settings, precision, and splits (by default, the splits of submissions)."""

    name: str
    detector: str
    settings: Mapping[str, Any]
    data: tuple[str, ...] = ()
    path: Path | None = None
    precision: str | None = None

    @classmethod
    def of(cls, name: str) -> Recipe:
        """Return the recipe in a TOML file, or a detector with its default settings."""
        if not name.endswith(".toml"):
            return cls(name, name, {})
        path = Path(name)
        table: dict[str, Any] = read_plain(path)
        try:
            chosen = REGISTRY.in_file(converted("detector", table.pop("detector", None), Name))
            data = converted("data", table.pop("data", None), Splits | None)
            precision = converted("precision", table.pop("precision", None), _PRECISION)
        except ShroomError as error:
            raise ShroomError(f"{path}: {error}") from error
        return cls(path.stem, chosen, table, tuple(data or ()), path, precision)

    def make(self, /, **settings: Any) -> Detector:
        """Return the detector; ``settings`` override those of the recipe."""
        try:
            return detector(self.detector, **{**self.settings, **settings})
        except ShroomError as error:
            if self.path is None:
                raise
            raise ShroomError(f"{self.path}: {error}") from error
