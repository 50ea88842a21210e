"""Scores of predictions for Mu-SHROOM: IoU and rho of each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import InvalidInput, Problems
from shroom.datasets.mushroom2025 import reader as mushroom2025
from shroom.datasets.mushroom2025.predictions import align_files
from shroom.datasets.native_scores import NativeResult, NativeScore, read_gold, signature, whole
from shroom.metrics.intervals import USUAL, Intervals, estimates
from shroom.metrics.span_metrics import FLOORS, Marks, scored

if TYPE_CHECKING:
    from shroom.core.paths import Source
    from shroom.datasets.mushroom2025.predictions import Aligned


#: What a gold row is scored by.
_SCORED = ("model_output_text", "soft_labels", "hard_labels")


def score(
    predictions: Source, gold: Source, how: Intervals = USUAL, limit: int | None = 20
) -> NativeScore:
    """Return the scores of marked spans for each gold file with predictions.

    See ``native_scores.score``; intervals resample answers.
    """
    problems = Problems(limit)
    golds = read_gold(
        lambda found: mushroom2025.read_files(gold, problems=found, strict=True), problems, *_SCORED
    )
    if not any(file.records for file in golds):
        expected = "answers of language models, with labels"
        problems.add("gold-unlabelled", str(gold), expected, "none that can be used")
        raise InvalidInput(problems)
    aligned = align_files(golds, predictions, problems=problems)
    return NativeScore([_result(one, how) for one in aligned], problems, how)


def _result(aligned: Aligned, how: Intervals) -> NativeResult:
    n = len(aligned.records)
    lang = "+".join(sorted({record.lang for record in aligned.records}))
    split = "+".join(sorted({str(record.id).partition("-")[0] for record in aligned.records}))
    scores, intervals = estimates(scored(aligned.predicted, aligned.gold), how)
    lengths = aligned.gold.hard.lengths.tolist()
    floors = {
        name: whole(scored(Marks.alike(floor(lengths)), aligned.gold))
        for name, floor in FLOORS.items()
    }
    labels = ((record.id, record.soft, record.hard) for record in aligned.records)
    parts = (f"lang:{lang}", "align:id", "rho:characters.spearman.avg")
    return NativeResult(
        mushroom2025.NAME,
        part={"lang": lang, "split": split},
        counts={"n": n},
        scores=scores,
        intervals=intervals,
        slices={},
        floors=floors,
        signature=signature(mushroom2025.NAME, n, labels, *parts),
    )
