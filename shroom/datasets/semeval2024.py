"""SHROOM, SemEval-2024 Task 6, as a data set among others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shroom.core.datapoint import Datapoint, Label
from shroom.core.paths import Source
from shroom.core.problems import Problem, Problems
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection, FileRecords
from shroom.datasets.summary import Groups, Row, Summary, fields, shares
from shroom.metrics.agreement import AGREEMENT, padded
from shroom.metrics.intervals import Intervals
from shroom.scoring.column_checks import check_votes
from shroom.scoring.datapoint_files import read_files
from shroom.scoring.results import flat
from shroom.scoring.rows import P, Rows
from shroom.scoring.votes import estimated

NAME = "semeval2024"
_VOTE = {Label.HALLUCINATION: 1, Label.NOT_HALLUCINATION: 0}


def read(*paths: Source, problems: Problems | None = None) -> Collection[Datapoint]:
    """Return the datapoints of files, folders or zips as a collection."""
    problems = Problems() if problems is None else problems
    files = [file for path in paths for file in read_files(path, problems)]
    for file in files:
        problems.extend(_against_votes(file.file, file.datapoints))
    return Collection(NAME, [FileRecords(file.file, file.datapoints) for file in files], problems)


def _against_votes(file: str, points: Sequence[Datapoint]) -> Iterator[Problem]:
    """Yield labels and p that contradict the votes; see :func:`check_votes`."""
    label = [-1 if point.label is None else _VOTE[point.label] for point in points]
    p = [np.nan if point.p is None else point.p for point in points]
    votes = [(point.labels.count(Label.HALLUCINATION), len(point.labels)) for point in points]
    columns = np.array(label, np.int8), np.array(p, np.float64)
    return check_votes(Rows(file, len(points), *columns, votes=np.array(votes, np.intp)))


def _figures(points: Sequence[Datapoint], intervals: Intervals) -> Row:
    labelled = [point.label is not None for point in points]
    hallucinated = [point.label is Label.HALLUCINATION for point in points]
    p, with_p = [point.p or 0.0 for point in points], [point.p is not None for point in points]
    return {
        "items": len(points),
        "labelled": sum(labelled),
        "annotators": max((len(point.labels) for point in points), default=0),
        "hallucinated": sum(hallucinated),
        **shares(
            {"hallucinated_share": (hallucinated, labelled), "mean_p": (p, with_p)}, intervals
        ),
        "with_id": sum(point.id is not None for point in points),
        "with_ref": sum(point.ref is not None for point in points),
        "with_model": sum(bool(point.model) for point in points),
        "without_src": sum(not point.src for point in points),
        "without_tgt": sum(not point.tgt for point in points),
    }


def _agreement(points: Sequence[Datapoint], intervals: Intervals) -> Row:
    votes = padded([[_VOTE[label] for label in point.labels] for point in points])
    cells = estimated(AGREEMENT, votes, intervals)
    scores = {name: cell.value for name, cell in cells.items()}
    figures = flat(scores, {name: cell.ci for name, cell in cells.items()})
    return {"items": len(votes), "annotators": votes.shape[1], **figures}


_BY_TASK = {"task": lambda point: point.task.name}

DATA_SET = DataSet(
    NAME,
    licence="CC BY-SA 4.0 (as stated on the hub)",
    about="outputs for definition modelling, translation and paraphrase, with 3 or 5 votes each",
    source=(
        "T. Mickus et al. (2024), SemEval-2024 Task 6: SHROOM, a Shared-task on Hallucinations "
        "and Related Observable Overgeneration Mistakes"
    ),
    read=read,
    ending=".json",
    summary=Summary(
        labels={
            "label": lambda point: [point.label and point.label.value],
            P: lambda point: [point.p],
        },
        texts=fields("hyp", "src", "tgt"),
        tables={
            "file": Groups(
                "contents of the rows, and the share labelled Hallucination", _figures, by_file=True
            ),
            "task": Groups(
                "by task: contents of the rows, and the share labelled Hallucination",
                _figures,
                _BY_TASK,
                by_file=True,
            ),
        },
        agreement=Groups(
            "agreement of the annotators' votes",
            _agreement,
            _BY_TASK,
            by_file=True,
            only=lambda point: bool(point.labels),
            total=True,
        ),
    ),
    views={
        "labelled": View(
            "outputs compared with source or target; p is the share of votes for Hallucination",
            lambda point: [point],
        )
    },
)
