"""The detectors by name, each imported when it is used."""

from __future__ import annotations

from typing import Any

from shroom.core.problems import ShroomError
from shroom.core.registry import Entry, Registry
from shroom.detectors.base import Detector
from shroom.scoring.editions.edition import Edition

_TORCH = ("torch", "transformers")

#: The detectors by name, with what is known about them before they are imported.
REGISTRY = Registry(
    "detector",
    {
        "cross-encoder": Entry(
            "shroom.detectors.cross_encoder.detector:CrossEncoder",
            "the kit's own model: reference and hypothesis read together",
            ("onnxruntime", "tokenizers"),
            "onnx",
        ),
        "lexical": Entry(
            "shroom.detectors.lexical:Lexical",
            "overlap of hypothesis and reference at the surface; a floor",
            ("sacrebleu",),
            "fit",
        ),
        "spans": Entry(
            "shroom.detectors.spans:Spans",
            "spans of words that annotators tend to mark, as in Mu-SHROOM; a floor",
            ("scipy",),
            "fit",
        ),
        "similarity": Entry(
            "shroom.detectors.similarity:Similarity",
            "1 - cosine of sentence embeddings, calibrated for each task",
            (*_TORCH, "sentence_transformers"),
            "models",
            "--model: a sentence encoder, such as sentence-transformers/all-mpnet-base-v2",
        ),
        "nli": Entry(
            "shroom.detectors.nli:NLI",
            "whether the reference entails the hypothesis, by any NLI model",
            _TORCH,
            "models",
            "--model: an NLI model, such as cross-encoder/nli-deberta-v3-base",
        ),
        "judge": Entry(
            "shroom.detectors.judge.detector:Judge",
            "a language model is asked whether the context supports the hypothesis",
            (),
            "",
            "--model, and --set endpoint=URL unless the model is a local one",
        ),
        "selfcheck": Entry(
            "shroom.detectors.selfcheck:SelfCheck",
            "how well the hypothesis agrees with sampled alternatives",
            (),
            "",
            "--set samples=FILE: alternatives of each hypothesis",
        ),
        "unigram": Entry(
            "shroom.annotate.as_detectors:Unigram",
            "how many of the reference's words the hypothesis has; a floor (needs [annotate])",
        ),
        "reward": Entry(
            "shroom.annotate.as_detectors:Reward",
            "a reward model's score of the hypothesis as a reply to the source",
            _TORCH,
            "models",
            "--model: a reward model, such as OpenAssistant/reward-model-deberta-v3-base",
        ),
        "probe": Entry(
            "shroom.annotate.as_detectors:Probe",
            "a linear probe on a language model's hidden state at the source",
            _TORCH,
            "models",
            "--model: what shroom annotate probe train has written",
        ),
    },
    group="shroom.detectors",
    base="shroom.detectors.base:Detector",
)

#: The default detector of each kind of annotation that one predicts.
DEFAULTS = {"binary": "cross-encoder", "spans": "spans", "labelled-spans": "spans"}
DEFAULT = DEFAULTS["binary"]


def check_annotation(chosen: Detector | type[Detector], edition: Edition) -> None:
    """Refuse a detector that predicts another kind of annotation than the edition has."""
    kind = edition.annotation.kind
    if kind not in chosen.annotations:
        instead = f"use {DEFAULTS[kind]}" if kind in DEFAULTS else "no detector of the kit is"
        instead += ", or name the edition that the data are of (--edition)"
        raise ShroomError(
            f"{edition.name}: its annotation is {kind}, and the detector {chosen.name} is for "
            f"{' or '.join(chosen.annotations)}; {instead}"
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
