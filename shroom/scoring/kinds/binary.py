"""A binary label with p(Hallucination), as in SHROOM."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.agreement import MISSING
from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO
from shroom.scoring.column_checks import check_columns, check_pair_direction
from shroom.scoring.editions.edition import Edition
from shroom.scoring.item_values import label_meant, p_in, p_meant, problem_of_p, word_meant
from shroom.scoring.kinds.base import Columns, Fault, Field, Fields, Kind, Read
from shroom.scoring.metric_registry import METRICS, metric
from shroom.scoring.rows import LABELS, P, Role, Rows

_RANKING = (ACCURACY, RHO)


def read_votes(value: Any, own: Iterable[str] = LABELS) -> Read:
    """Return the votes in a row's ``labels``: 1 for Hallucination, 0 for not, -1 for none.

    ``labels`` is a list, or an object with the vote of each annotator. Messages name the two
    ``own`` words of an edition.
    """
    if value is None or value != value:  # NaN
        return (), ()
    labels = [*value.values()] if isinstance(value, dict) else value
    is_list = isinstance(labels, list)
    words = labels if is_list else ()
    votes = [LABELS.get(it, MISSING) if isinstance(it, str) else MISSING for it in words]
    if is_list and all(it in (None, *LABELS) for it in words):
        return votes, ()
    expected = " and ".join(f'"{word}"' for word in own)
    fault = Fault("label-value", f"a list of {expected} (null for a missing vote)", value)
    return votes, (fault,)


def _valid_votes(value: Any) -> Read:
    """Return the votes; no votes if any of them is invalid."""
    votes, faults = read_votes(value)
    return () if faults else votes, ()


def _label(expected: str, value: Any) -> Read:
    if type(value) is str and value in LABELS:
        return LABELS[value], ()
    meant = label_meant(value) if isinstance(value, str) else None
    return LABELS.get(meant, -1), (Fault("label-value", expected, value),)


def read_p(value: Any) -> Read:
    """Return p, ``nan`` if it is not a number in [0, 1]."""
    if type(value) is float and 0 <= value <= 1:
        return value, ()
    p, problem = p_in(value), problem_of_p(value)
    return math.nan if p is None else p, (Fault(*problem, value),) if problem else ()


def _fields(edition: Edition, role: Role) -> list[Fields]:
    expected = " or ".join(f'"{word}"' for word in edition.file_labels.values())
    answer = Field("label", partial(_label, expected), -1), Field(P, read_p, math.nan)
    votes = Field("labels", _valid_votes, (), is_needed=False)
    return [Fields(answer), *([Fields((votes,))] if role is Role.GOLD else [])]


def arrays(columns: dict[str, Any], _edition: Edition) -> dict[str, Any]:
    """Return the arrays of a table."""
    label, p = np.array(columns["label"], np.int8), np.array(columns[P], np.float64)
    votes = None
    if "labels" in columns:
        counts = [(it.count(1), len(it) - it.count(MISSING)) for it in columns["labels"]]
        votes = np.array(counts, np.intp).reshape(-1, 2)
    labelled = bool(np.any((label >= 0) & ~np.isnan(p)))
    return {"label": label, "p": p, "votes": votes, "labelled": labelled}


def _columns(predictions: Rows, rows: NDArray[Any], gold: Rows) -> Columns:
    return predictions.label[rows], predictions.p[rows], gold.label, gold.p


def _trivial(gold: Rows, _edition: Edition) -> dict[str, tuple[Any, Any]]:
    flagged = 2 * np.sum(gold.label == 1) > gold.n
    zeros, constant = np.zeros_like(gold.label), np.zeros(gold.n)
    return {
        "majority label": (zeros + flagged, constant),
        "constant p": (zeros, constant),
        "gold label as p": (gold.label, gold.label),
    }


def _meant(key: str, value: Any, edition: Edition) -> Any:
    if key == "label":
        word = word_meant(value, edition.own_labels)
        return edition.own_labels.get(word) if word is not value else label_meant(value)
    if key == "labels" and (value is None or value != value):  # NaN
        return []
    return p_meant(value) if key == P else value


#: Hallucination or not, with the probability of it. Accuracy compares labels with the annotators'
#: majority; rho is Spearman's rank correlation of p(Hallucination) with the annotators' proportion
#: (Mickus et al. 2024, section 4).
BINARY = Kind(
    signature="rho:spearman.avg",
    labels=f'"label" and "{P}"',
    fields=_fields,
    arrays=arrays,
    columns=_columns,
    metric_names=lambda _: tuple(name for name, it in METRICS.items() if not it.package),
    metric=lambda name, _: metric(name),
    defaults=lambda _: tuple(metric.name for metric in _RANKING),
    trivial=_trivial,
    floor_metrics=_RANKING,
    meant=_meant,
    check_predictions=lambda table, _: check_columns(table),
    check_pair=check_pair_direction,
)
