"""The examples of a stage: pairs to learn from, with the p(Hallucination) of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.corpora import Corpus, mixture, normalised
from shroom.detectors.cross_encoder.training import Example
from shroom.detectors.pairs import Pairs
from shroom.detectors.recipe import detector_from
from shroom.inference.run_settings import RUN
from shroom.scoring.datapoint_files import read, read_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint, Rule
    from shroom.detectors.cross_encoder.stages import Stage


def labelled(datapoints: Sequence[Datapoint], p: NDArray[np.float64], rule: Rule) -> list[Example]:
    """Return an example for each pair of datapoints with the annotators' proportions p."""
    pairs = Pairs.of(datapoints, rule=rule)
    return [Example(*item, float(p[owner])) for item, owner in zip(pairs.items, pairs.owner)]


def general_examples(stage: Stage, data: Path, seed: int, rule: Rule) -> list[Example]:
    """Return the examples of a stage that needs no labelled datapoint.

    Parameters
    ----------
    stage : Stage
        One with corpora or a teacher.
    data : path
        The data folder.
    seed : int
        Decides draws and orders.
    rule : Rule
        How references are chosen.

    Raises
    ------
    ShroomError
        If there is nothing to learn from.
    """
    examples: list[Example] = []
    if stage.corpora:
        corpora = [Corpus.of(table) for table in stage.corpora]
        examples += mixture(corpora, data, seed, _texts_of_the_task(data))
    if stage.teacher:
        examples += _taught(stage, data, seed, rule)
    if not examples:
        raise ShroomError(f"stage {stage.name}: there is no pair to learn from")
    return examples[: stage.n]


def _texts_of_the_task(data: Path) -> set[str]:
    """Return all texts of trial, val and test, which no corpus may reveal."""
    folder = data / "semeval2024"
    if not folder.is_dir():  # nobody can evaluate the model on it either
        return set()
    files = read_files(
        folder, choose=lambda found: [file for file in found if "train" not in file.base]
    )
    texts = {
        normalised(text)
        for file in files
        for point in file.datapoints
        for text in (point.src, point.tgt, point.hyp)
    }
    # Short ones are common phrases, which reveal nothing.
    return {text for text in texts if text.count(" ") >= 3}


def _taught(stage: Stage, data: Path, seed: int, rule: Rule) -> list[Example]:
    """Return unlabelled pairs with the teacher's p."""
    teacher = detector_from(stage.teacher)
    points = [point for name in stage.unlabelled for point in read(data / name)]
    drawn = np.random.default_rng(seed).permutation(len(points))[: stage.n]
    usable = [points[i] for i in drawn if points[i].src.strip() or points[i].tgt.strip()]
    return labelled(usable, teacher.predict(usable, RUN), rule)
