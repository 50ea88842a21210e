"""The columns of a fitted ensemble: log odds of its submissions, and measures of the texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shroom.core.datapoint import premises
from shroom.core.problems import ShroomError
from shroom.detectors.lexical import length_ratio, shared_words
from shroom.learners.curves import clipped_log_odds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.prediction.ensemble.members import Members

    Values = NDArray[np.float64]
    Words = NDArray[np.str_]


class Columns:
    """The columns of a model: log odds of submissions and, with the data, measures of the texts.

    Each submission has the log odds of p and, if all its rows have them, of p(Contr) and p(Entl).
    A column that is constant on the training data, or equals another, is left out. Datapoints with
    texts have the F1 of the distinct words of hypothesis and reference, and the log ratio of their
    lengths in characters; with two references, the one that shares more words counts.

    Parameters
    ----------
    trained : sequence of Members
        The training data.
    judged : sequence of Members
        The data to predict, with the same submissions.
    """

    def __init__(self, trained: Sequence[Members], judged: Sequence[Members]) -> None:
        everywhere = [*trained, *judged]
        count = len(trained[0].of)
        self.with_nli = [all(track.of[m].nli for track in everywhere) for m in range(count)]
        self.with_texts = all(track.datapoints is not None for track in everywhere)
        p = self._probabilities(trained)
        self.clip = [resolution(column) for column in p.T]
        self.places = distinct(self._log_odds(p))
        if not self.places:
            raise ShroomError(
                "every submission has the same p for all training items, so there is nothing to "
                "weigh; name others"
            )

    def of(self, members: Sequence[Members]) -> Values:
        """Return the columns of all tracks' datapoints: shape [n, k]."""
        values = self._log_odds(self._probabilities(members))[:, self.places]
        if not self.with_texts:
            return values
        points = [point for track in members for point in track.datapoints or []]
        return np.hstack([values, measures(points)])

    def tasks(self, members: Sequence[Members]) -> Words:
        """Return the tasks of all tracks' datapoints; empty texts if the texts are unknown."""
        if not self.with_texts:
            return np.repeat("", sum(track.against.n for track in members))
        words = [point.task.like for track in members for point in track.datapoints or []]
        return np.array(words, np.str_)

    def _probabilities(self, members: Sequence[Members]) -> Values:
        tracks = []
        for track in members:
            columns = []
            for member, with_nli in zip(track.of, self.with_nli):
                columns += [member.p, *(member.nli or () if with_nli else ())]
            tracks.append(np.column_stack(columns))
        return np.vstack(tracks)

    def _log_odds(self, columns: Values) -> Values:
        return np.column_stack([clipped_log_odds(p, clip) for p, clip in zip(columns.T, self.clip)])


def distinct(values: Values) -> list[int]:
    """Return the places of the columns that differ within themselves and from those before.

    Examples
    --------
    >>> distinct(np.array([[1.0, 2.0, 3.0, 1.0], [2.0, 2.0, 5.0, 2.0]]))
    [0, 2]
    """
    places: list[int] = []
    for place, column in enumerate(values.T):
        is_repeated = any(np.array_equal(column, values[:, before]) for before in places)
        if np.ptp(column) > 0 and not is_repeated:
            places.append(place)
    return places


def measures(datapoints: Sequence[Datapoint]) -> Values:
    """Return the F1 of distinct words and the log ratio of lengths of each datapoint: [n, 2].

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> measures([Datapoint(hyp="a big cat", src="", tgt="a cat", task=Task.DM)]).round(2)
    array([[0.8 , 0.51]])
    """
    values = [max(_measures(point.hyp, text) for text in premises(point)) for point in datapoints]
    return np.array(values, np.float64).reshape(-1, 2)


def _measures(hyp: str, premise: str) -> tuple[float, float]:
    common, of_hyp, of_premise = shared_words(hyp, premise)
    return 2 * common / max(1, of_hyp + of_premise), length_ratio(hyp, premise)


def resolution(p: Values) -> float:
    """Return half the distance of the values from 0 and 1, without those that are 0 or 1.

    It is between 1e-6 and 0.01, and 0.01 if there are only zeros and ones.

    Examples
    --------
    >>> resolution(np.array([0.0, 0.004, 0.5, 1.0])), resolution(np.array([0.0, 1.0]))
    (0.002, 0.01)
    """
    inner = p[(p > 0) & (p < 1)]
    nearest = float(np.minimum(inner, 1 - inner).min()) if len(inner) else 1.0
    return min(max(nearest / 2, 1e-6), 1e-2)
