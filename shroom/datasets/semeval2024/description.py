"""SHROOM by file and task: what the rows have, and what the annotators judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shroom.core.datapoint import Datapoint, Label
from shroom.core.problems import Problems
from shroom.datasets.collection import FileRecords
from shroom.datasets.contents import (
    ALL,
    Contents,
    Row,
    Table,
    counted,
    histogram,
    lengths,
    named,
    shares,
)
from shroom.metrics.agreement import AGREEMENT, MISSING
from shroom.metrics.intervals import Intervals
from shroom.scoring.column_checks import check_votes
from shroom.scoring.results import flat
from shroom.scoring.rows import P, Rows
from shroom.scoring.vote_estimates import estimated

_VOTE = {Label.HALLUCINATION: 1, Label.NOT_HALLUCINATION: 0}


def contents(files: Sequence[FileRecords], intervals: Intervals) -> Contents:
    """Return what the datapoints hold; intervals resample datapoints."""
    points: list[Datapoint] = [point for file in files for point in file.records]
    parts = [(name, *part) for name, points in named(files) for part in _parts(points)]
    voted = [(name, task, part) for name, task, part in parts if any(p.labels for p in part)]
    return Contents(
        labels={
            "label": counted(point.label and point.label.value for point in points),
            P: histogram(point.p for point in points),
        },
        lengths=lengths(
            {key: [getattr(point, key) for point in points] for key in ("hyp", "src", "tgt")}
        ),
        tables={
            "file": Table(
                "what the rows have, and how many are labelled Hallucination",
                ("file",),
                [{"file": name, **_row(points, intervals)} for name, points in named(files)],
            ),
            "task": Table(
                "the same by task",
                ("file", "task"),
                [
                    {"file": name, "task": task, **_row(part, intervals)}
                    for name, task, part in parts
                    if task != ALL
                ],
            ),
        },
        agreement=Table(
            "agreement of the annotators' votes",
            ("file", "task"),
            [
                {"file": name, "task": task, **_agreement(part, intervals)}
                for name, task, part in voted
            ],
        )
        if voted
        else None,
    )


def check(files: Sequence[FileRecords], problems: Problems) -> None:
    """Report files whose label or p is not what their votes say; see :func:`check_votes`."""
    for file in files:
        points: list[Datapoint] = file.records
        label = [-1 if point.label is None else _VOTE[point.label] for point in points]
        p = [np.nan if point.p is None else point.p for point in points]
        votes = [(point.labels.count(Label.HALLUCINATION), len(point.labels)) for point in points]
        columns = np.array(label, np.int8), np.array(p, np.float64)
        gold = Rows(file.file, len(points), *columns, votes=np.array(votes, np.intp))
        problems.extend(check_votes(gold))


def _parts(points: Sequence[Datapoint]) -> Iterator[tuple[str, Sequence[Datapoint]]]:
    """Yield all of a file, then its tasks."""
    yield ALL, points
    for task in sorted({point.task.name for point in points}):
        yield task, [point for point in points if point.task.name == task]


def _row(points: Sequence[Datapoint], intervals: Intervals) -> Row:
    labelled = np.array([point.label is not None for point in points])
    hallucinated = np.array([point.label is Label.HALLUCINATION for point in points])
    with_p = np.array([point.p is not None for point in points])
    p = np.array([point.p or 0.0 for point in points])
    return {
        "items": len(points),
        "labelled": int(labelled.sum()),
        "annotators": max((len(point.labels) for point in points), default=0),
        "hallucinated": int(hallucinated.sum()),
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
    judged = [[_VOTE[label] for label in point.labels] for point in points if point.labels]
    votes = np.full((len(judged), max(map(len, judged))), MISSING, np.int8)
    for row, labels in zip(votes, judged):
        row[: len(labels)] = labels
    estimates = estimated(AGREEMENT, votes, intervals)
    scores = {name: estimate.value for name, estimate in estimates.items()}
    return {
        "items": len(votes),
        "annotators": votes.shape[1],
        **flat(scores, {name: estimate.ci for name, estimate in estimates.items()}),
    }
