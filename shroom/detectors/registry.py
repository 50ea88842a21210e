"""The detectors by name, each imported when it is used."""

from __future__ import annotations

from typing import Any

from shroom.core.problems import ShroomError, show
from shroom.core.registry import Entry, Registry
from shroom.detectors.base import Detector
from shroom.scoring.editions.edition import Edition

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
            "1 - cosine of two sentence embeddings; fitting adds a calibration by task",
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
            "agreement of the hypothesis with other samples of the same model",
            (),
            "",
            "--set samples=FILE: other samples for each datapoint",
        ),
        "unigram": Entry(
            "shroom.annotate.as_detectors:Unigram",
            "share of the reference's words that the hypothesis contains; a weak baseline; English "
            "needs [annotate] or --set language=other",
        ),
        "reward": Entry(
            "shroom.annotate.as_detectors:Reward",
            "the score of a reward model for the hypothesis as a reply to the source",
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
        instead = (
            f"use the {DEFAULTS[kind]} detector"
            if kind in DEFAULTS
            else "use a detector of your own"
        )
        instead += ", or specify the edition of the data with --edition"
        kinds = " or ".join(map(show, chosen.annotations))
        raise ShroomError(
            f"the {chosen.name} detector predicts {kinds} annotations, but {edition.name} has "
            f"{show(kind)} annotations; {instead}"
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
