"""Combine several submissions into one, and report the figures of fitted weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import TASKS, Datapoint
from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.detectors.arrays import label_columns
from shroom.detectors.out_of_fold import TrainingItems
from shroom.learners.folds import linked
from shroom.learners.logistic import Floats, Words, log_odds
from shroom.metrics.classification import accuracy
from shroom.metrics.correlation import rho
from shroom.prediction.ensemble_methods import (
    FOLDS,
    METHODS,
    Combined,
    Flags,
    Training,
    Weighted,
    cross_validated,
)
from shroom.prediction.input_data import datapoints_by_file
from shroom.prediction.predictions import PredictionFile, Predictions
from shroom.prediction.submission_files import name_for
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.file_names import Name
from shroom.scoring.in_memory import Data, Submissions, as_source, as_sources
from shroom.scoring.in_sample import refuse
from shroom.scoring.rows import Rows
from shroom.scoring.tables import Row, Table, text

#: The method that fits weights.
LOGISTIC = "logistic"
#: What only the method that fits weights uses.
_TRAIN = "--train and --train-gold (in Python: train, train_gold)"


def ensemble(
    submissions: Submissions,
    *,
    method: str = "mean",
    train: Submissions = (),
    train_gold: Data | None = None,
    data: Data | None = None,
    edition: Edition | Source | None = None,
) -> Predictions:
    """Return several submissions combined into one.

    Parameters
    ----------
    submissions : sequence, or mapping by system
        Each a path, rows or a data frame; all have the same tracks.
    method : str
        ``mean`` of p, mean ``rank``, ``vote`` (share of labels), or ``logistic`` (fitted weights).
    train : sequence, or mapping by system
        For ``logistic``: each system's predictions on ``train_gold``, with the systems in the order
        of ``submissions``.
    train_gold : path, rows or data frame, optional
        For ``logistic``: labelled data to fit on.
    data : path, rows or data frame, optional
        The data that the submissions were made for. With these data, each task has its own
        intercept.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Returns
    -------
    Predictions
        For ``logistic``, the ``notes`` contain out-of-fold figures.

    Raises
    ------
    InvalidInput
        With every problem of every submission.
    ShroomError
        If the submissions have different tracks, if the arguments do not fit the method, or if
        the weights would be fitted on the predicted datapoints.

    Examples
    --------
    >>> import shroom
    >>> gold = "shroom/sample/val.model-aware.json"
    >>> both = ensemble({"gold": gold, "lexical": shroom.predict("lexical", gold)})
    >>> round(shroom.score(both, gold).results[0].rho, 3)
    0.938
    """
    sources = as_sources(submissions)
    trained_on = as_sources(train, "train")
    data = None if data is None else as_source(data, "data")
    train_gold = None if train_gold is None else as_source(train_gold, "train_gold")
    check_arguments(sources, method, trained_on, train_gold)
    own, _ = resolve(edition, data, train_gold)
    problems, notes = Problems(), list[str]()
    judged = read(sources, problems, own, data=data)
    if train_gold is not None:
        trained = read(trained_on, problems, own, gold=train_gold)
        combined = _weighted(trained, judged, notes)
    else:
        combined = [METHODS[method](members.p, members.label) for members in judged]
    files = [
        PredictionFile(
            name_for(members.name, "-", members.file, own),
            label_columns(*votes),
            members.against.ids,
            members.in_sample,
        )
        for members, votes in zip(judged, combined)
    ]
    return Predictions(files, maker="shroom ensemble", edition=own, notes=notes, warnings=problems)


def check_arguments(
    submissions: Sequence[Source], method: str, train: Sequence[Source], train_gold: Source | None
) -> None:
    """Raise an error if the arguments of :func:`ensemble` do not fit the method."""
    if method not in (*METHODS, LOGISTIC):
        raise ShroomError(f"no method '{method}'; choose from {', '.join((*METHODS, LOGISTIC))}")
    if method != LOGISTIC and (train or train_gold is not None):
        raise ShroomError(
            f"the method {method} does not use {_TRAIN}; omit both, or use {LOGISTIC}"
        )
    if method == LOGISTIC and (not train or train_gold is None):
        raise ShroomError(f"the method {LOGISTIC} needs {_TRAIN}; specify both")
    if not submissions or (train and len(train) != len(submissions)):
        raise ShroomError(
            f"expected at least one submission and, with {LOGISTIC}, as many training "
            f"submissions; got {counted(len(submissions), 'submission')} and "
            f"{counted(len(train), 'training submission')}"
        )


def _weighted(
    trained: Sequence[Members], judged: Sequence[Members], notes: list[str]
) -> list[Combined]:
    """Return the predictions of fitted weights for each track, and note their figures."""
    points = [point for members in trained for point in members.datapoints]
    _refuse_seen(points, trained, judged)
    with_tasks = all(members.datapoints for members in (*trained, *judged))
    n = sum(members.against.n for members in trained)
    data = Training(
        *_columns(trained, with_tasks=with_tasks),
        np.concatenate([members.against.p for members in trained]),
        np.concatenate([members.against.label == 1 for members in trained]),
        linked(points) if len(points) == n else np.arange(n),
    )
    data.refuse_too_little()
    notes += _figures(trained, cross_validated(data))
    fitted = Weighted.fit(data)
    limits = [f"Hallucination if p > {fitted.threshold:g}"]
    limits += [f"for the task {task}, if p > {it:g}" for task, it in fitted.thresholds.items()]
    notes.append("; ".join(limits))
    return [fitted.predict(*_columns([members], with_tasks=with_tasks)) for members in judged]


def _columns(members: Sequence[Members], *, with_tasks: bool) -> tuple[Floats, Words]:
    """Return the log-odds of p and the tasks of all tracks' datapoints; one task if unknown."""
    p = np.vstack([track.p for track in members])
    tasks = [next(iter(TASKS))] * len(p)
    if with_tasks:
        tasks = [point.task.like for track in members for point in track.datapoints]
    return log_odds(p), np.array(tasks, np.str_)


def _figures(trained: Sequence[Members], predictions: Combined) -> list[str]:
    """Return the lines of a table: the ensemble's scores, and those of the best submission.

    The best submission is chosen for each score on the items that it is scored on.
    """
    rows = list[Row]()
    ends = np.cumsum([members.against.n for members in trained])[:-1]
    labels, p = np.split(predictions.label, ends), np.split(predictions.p, ends)
    for members, label, p_here in zip(trained, labels, p):
        gold = members.against
        best = np.fmax.reduce([_scores(*each, gold) for each in zip(members.label.T, members.p.T)])
        own = _scores(label, p_here, gold)
        for name, n, scores in ((str(members.name), gold.n, own), ("  best submission", "", best)):
            rows.append((name, n, *(None if math.isnan(it) else float(it) for it in scores)))
    heads = f"out of fold ({FOLDS} folds)", "n", "accuracy", "rho"
    return text([Table(heads=heads, rows=rows)]).splitlines()


def _scores(label: Flags, p: Floats, gold: Rows) -> tuple[float, float]:
    return accuracy(label, gold.label == 1), rho(p, gold.p)


@dataclass(frozen=True, eq=False)
class Members:
    """All submissions' predictions for one track: m submissions in their order, n items."""

    name: Name  # the split and track
    file: str  # the first submission's file
    against: Rows  # the gold, the data, or the first submission; the rows are in its order
    p: Floats  # p(Hallucination): shape [n, m]
    label: NDArray[np.bool_]  # whether the label is Hallucination: shape [n, m]
    datapoints: list[Datapoint]  # empty if their texts are unknown
    in_sample: int  # the greatest number of items on which the detector of a submission was fitted


def read(
    sources: Sequence[Source],
    problems: Problems,
    edition: Edition,
    *,
    gold: Source | None = None,
    data: Source | None = None,
) -> list[Members]:
    """Return the submissions by track, aligned with gold, data or the first submission."""
    alone = gold is None and data is None
    tracks = []
    for source in sources:
        checked = check(source, gold, data=sources[0] if alone else data, edition=edition)
        problems.extend(checked.problems)
        tracks.append({track.gold.file: track for track in checked.aligned})
    more = [problem for problem in problems if problem.code in ("no-gold", "gold-skipped")]
    if alone and more and problems.errors == problems.count("no-gold"):
        raise ShroomError(
            f"{more[0].file} belongs to a track that {sources[0]} does not have; all submissions "
            "must have the same tracks"
        )
    if problems.errors:
        raise InvalidInput(problems)
    if gold is not None:
        refuse((track for by_file in tracks for track in by_file.values()), "weights")
    names = [", ".join(str(track.name) for track in it.values()) or "no track" for it in tracks]
    for source, by_file, listed in zip(sources, tracks, names):
        if by_file.keys() != tracks[0].keys():
            raise ShroomError(
                f"{source} has predictions for {listed}, but {sources[0]} has predictions for "
                f"{names[0]}; all submissions must have the same tracks"
            )
    points = datapoints_by_file(
        gold if data is None else data, tracks[0], edition, strict=data is not None
    )
    return [
        Members(
            track.name,
            track.predictions.file,
            track.gold,
            np.column_stack([np.clip(each.predictions.p[each.rows], 0, 1) for each in aligned]),
            np.column_stack([each.predictions.label[each.rows] == 1 for each in aligned]),
            points.get(file, []),
            max(each.in_sample for each in aligned),
        )
        for file, track in tracks[0].items()
        for aligned in [[by_file[file] for by_file in tracks]]
    ]


def _refuse_seen(
    points: Sequence[Datapoint], trained: Sequence[Members], judged: Sequence[Members]
) -> None:
    """Raise an error if half of a track's datapoints, or its p, are those of the training gold."""
    items = TrainingItems.of(points)
    for track in judged:
        is_same = any(np.array_equal(track.p, other.p) for other in trained)
        if is_same or items.contain(track.datapoints).sum() * 2 >= track.against.n:
            raise ShroomError(
                f"{track.file} contains datapoints of the training gold, so its scores would be "
                "too optimistic; use submissions for other data (for the training "
                "gold, see the out-of-fold figures)"
            )
