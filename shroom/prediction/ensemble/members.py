"""The submissions of an ensemble, aligned with each other and with data or gold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.detectors.out_of_fold import TrainingItems
from shroom.learners.folds import linked
from shroom.learners.logistic import Floats
from shroom.prediction.input_data import datapoints_by_file
from shroom.scoring.align import AlignedPair
from shroom.scoring.check import check_documents
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.in_sample import refuse, with_in_sample
from shroom.scoring.input_files import documents
from shroom.scoring.rows import Rows


@dataclass(frozen=True, eq=False)
class Members:
    """All submissions' predictions for one track."""

    #: The split and track.
    name: Name
    #: The first submission's file.
    file: str
    #: The gold, the data, or the first submission; the rows are in its order.
    against: Rows
    #: p(Hallucination) of m submissions in their order: shape [n, m].
    p: Floats
    #: Whether their label is Hallucination: shape [n, m].
    label: NDArray[np.bool_]
    #: The datapoints of the data, if given.
    datapoints: list[Datapoint] | None
    #: The greatest number of items on which the detector of a submission was fitted.
    in_sample: int


def read(
    sources: Sequence[Source],
    problems: Problems,
    edition: Edition,
    *,
    gold: Source | None = None,
    data: Source | None = None,
) -> list[Members]:
    """Return the submissions by track, aligned with gold, data or the first submission."""
    against = sources[0] if gold is None and data is None else data
    submissions = [documents(source, problems, edition) for source in sources]
    if problems.errors:
        raise InvalidInput(problems)
    tracks = []
    for source, listed in zip(sources, submissions):
        checked = check_documents(listed, gold, data=against, problems=problems, edition=edition)
        checked.tracks = with_in_sample(checked.tracks, source, listed, checked.problems, edition)
        tracks.append({track.gold.file: track for track in checked.aligned})
    if gold is None and data is None:
        _refuse_more_tracks(sources[0], problems)
    if problems.errors:
        raise InvalidInput(problems)
    if gold is not None:
        refuse((track for by_file in tracks for track in by_file.values()), "weights")
    for source, by_file in zip(sources, tracks):
        if set(by_file) != set(tracks[0]):
            had, first = _listed(by_file), _listed(tracks[0])
            raise ShroomError(
                f"{source} has predictions for {had}, but {sources[0]} has predictions for "
                f"{first}; all submissions must have the same tracks"
            )
    texts = datapoints_by_file(
        gold if data is None else data, list(tracks[0]), edition, strict=data is not None
    )
    return [
        Members(
            track.name,
            track.predictions.file,
            track.gold,
            np.column_stack([np.clip(each.predictions.p[each.rows], 0, 1) for each in aligned]),
            np.column_stack([each.predictions.label[each.rows] == 1 for each in aligned]),
            texts.get(file),
            max(each.in_sample for each in aligned),
        )
        for file, track in tracks[0].items()
        for aligned in [[by_file[file] for by_file in tracks]]
    ]


def _refuse_more_tracks(first: Source, problems: Problems) -> None:
    """Refuse a track that the first submission lacks, because the others are aligned with it."""
    lacking = [problem for problem in problems if problem.code in ("no-gold", "gold-skipped")]
    if lacking and problems.errors == problems.count("no-gold"):
        raise ShroomError(
            f"{lacking[0].file} belongs to a track that {first} does not have; all submissions "
            "must have the same tracks"
        )


def _listed(tracks: dict[str, AlignedPair]) -> str:
    return ", ".join(str(track.name) for track in tracks.values()) or "no track"


def refuse_seen(trained: Sequence[Members], judged: Sequence[Members]) -> int:
    """Return how many datapoints are also in the training gold; refuse a track if half are."""
    seen = TrainingItems.of([point for track in trained for point in track.datapoints or []])
    again = 0
    for track in judged:
        same = any(
            track.p.shape == other.p.shape and np.array_equal(track.p, other.p) for other in trained
        )
        doubled = int(seen.contain(track.datapoints or []).sum())
        again += doubled
        if same or doubled * 2 >= max(track.against.n, 1):
            raise ShroomError(
                f"{track.file} contains datapoints that the weights would be fitted on, so its "
                "scores would be too optimistic; use submissions for other data (for the training "
                "gold, see the out-of-fold figures)"
            )
    return again


def groups(members: Sequence[Members]) -> NDArray[np.intp]:
    """Return the group of each datapoint of all tracks; datapoints that share a text have one."""
    points = [point for track in members for point in track.datapoints or []]
    has_texts = np.repeat(
        [track.datapoints is not None for track in members], [track.against.n for track in members]
    )
    group = len(points) + np.arange(len(has_texts))
    group[has_texts] = linked(points)
    return group
