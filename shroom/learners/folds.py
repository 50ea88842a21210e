"""Cross-validation: groups of datapoints, folds of groups, and predictions out of fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, by_reference
from shroom.core.extras import require
from shroom.core.problems import ShroomError

Places = NDArray[np.intp]
T = TypeVar("T")
#: The places to fit on and the places to predict, of one fold.
Split = tuple[Places, Places]


def out_of_fold(
    predict: Callable[[Places, Places], Iterable[T]], splits: Iterable[Split]
) -> list[T]:
    """Return the prediction for each item from a model that was fitted on the other folds."""
    predicted: dict[int, T] = {}
    for train, test in splits:
        predicted.update(zip(test.tolist(), predict(train, test)))
    return [predicted[place] for place in sorted(predicted)]


def linked(datapoints: Sequence[Datapoint]) -> Places:
    """Return each datapoint's group, linked by hypotheses and targets (else sources)."""
    require("fit", "scipy")
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends: list[tuple[str, str]] = []  # the texts are nodes, and each datapoint is an edge
    single, starts = by_reference(datapoints)
    for point in single:
        hyp = ("hyp", point.hyp.strip())
        reference = point.tgt.strip() or point.src.strip()
        ends += [hyp, ("reference", reference) if reference else hyp]
    number = {text: place for place, text in enumerate(dict.fromkeys(ends))}
    edges = np.array([number[text] for text in ends], np.intp).reshape(-1, 2)
    graph = coo_array((np.ones(len(edges)), tuple(edges.T)), shape=(len(number), len(number)))
    _, group = connected_components(graph, directed=False)
    return np.asarray(group[edges[starts, 0]], np.intp)


def random_splits(groups: NDArray[Any], folds: int, seed: int = 0) -> list[Split]:
    """Return random folds that keep groups together, at most one fold for each group."""
    names, number = np.unique(groups, return_inverse=True)
    folds = min(folds, len(names))
    fold = (np.random.default_rng(seed).permutation(len(names)) % folds)[number.ravel()]
    return [(np.flatnonzero(fold != it), np.flatnonzero(fold == it)) for it in range(folds)]


def even_splits(datapoints: Sequence[Datapoint], folds: int) -> list[Split]:
    """Return folds of similar size (GroupKFold); :func:`linked` datapoints are in one fold."""
    require("fit", "scikit-learn")
    from sklearn.model_selection import GroupKFold

    groups = linked(datapoints)
    n = len(np.unique(groups))
    if n < 2:
        raise ShroomError(
            "cross-validation needs at least two groups of datapoints, but all datapoints are "
            "linked by shared hypotheses or targets; add other data"
        )
    return list(GroupKFold(min(folds, n)).split(groups, groups, groups))
