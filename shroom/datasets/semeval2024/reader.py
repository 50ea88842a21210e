"""SHROOM, SemEval-2024 Task 6, as a data set among others."""

from __future__ import annotations

from collections.abc import Iterable

from shroom.core.datapoint import Datapoint
from shroom.core.paths import Source
from shroom.core.problems import Problems
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection, FileRecords
from shroom.scoring.datapoint_files import read_files

NAME = "semeval2024"


def collection(*paths: Source, problems: Problems | None = None) -> Collection[Datapoint]:
    """Return the datapoints of files, folders or zips as a collection."""
    problems = Problems() if problems is None else problems
    files = [file for path in paths for file in read_files(path, problems)]
    return Collection(
        NAME, [FileRecords(file.file, file.datapoints, 0) for file in files], problems
    )


def _judged(points: Iterable[Datapoint]) -> list[Datapoint]:
    return [point for point in points if point.p is not None]


#: As the kit's commands use it.
DATA_SET = DataSet(
    NAME,
    licence="CC BY-SA 4.0 (as stated on the hub)",
    about="outputs of models for definitions, translation and paraphrase, judged by 3 or 5 people",
    source=(
        "T. Mickus et al. (2024), SemEval-2024 Task 6: SHROOM, a Shared-task on Hallucinations "
        "and Related Observable Overgeneration Mistakes"
    ),
    read=collection,
    ending=".json",
    views={
        "labelled": View.of_records(
            "outputs against what they should say; p is the votes' share", _judged
        )
    },
)
