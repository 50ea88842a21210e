"""Questions about an item that are answered with yes or no, as in SHROOM-CAP."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Metric
from shroom.metrics.classification import ASPECT_METRICS, of_aspect
from shroom.scoring.editions.edition import Aspect, Edition
from shroom.scoring.item_values import word_in
from shroom.scoring.kinds.base import Columns, Fault, Field, Fields, Found, Kind, Read, named
from shroom.scoring.rows import Role, Rows

#: Other words for yes and no.
_YES, _NO = ("yes", "y", "true", "1"), ("no", "n", "false", "0")


def _answer(aspect: Aspect, value: Any) -> Read:
    if isinstance(value, str) and value in (aspect.yes, aspect.no):
        return int(value == aspect.yes), ()
    return -1, (Fault("word-value", f'"{aspect.yes}" or "{aspect.no}"', value),)


def _fields(edition: Edition, _role: Role) -> list[Fields]:
    answers = (Field(it.key, partial(_answer, it), -1) for it in edition.annotation.aspects)
    return [Fields(tuple(answers))]


def _arrays(columns: dict[str, list[Any]], edition: Edition) -> dict[str, Any]:
    answers = [columns[aspect.key] for aspect in edition.annotation.aspects]
    label = np.array(answers, np.int8).T
    return {"label": label, "labelled": bool(np.any(label >= 0))}


def _columns(predictions: Rows, rows: NDArray[Any], gold: Rows) -> Columns:
    return predictions.label[rows], None, gold.label, None


def _metrics(edition: Edition) -> dict[str, Metric]:
    return {
        f"{aspect.name}_{metric}": of_aspect(metric, aspect.name, column)
        for metric in ASPECT_METRICS
        for column, aspect in enumerate(edition.annotation.aspects)
    }


def _trivial(gold: Rows, edition: Edition) -> dict[str, tuple[Any, Any]]:
    systems = {}
    for value, word in ((1, "yes"), (0, "no")):
        words = {getattr(aspect, word) for aspect in edition.annotation.aspects}
        name = f"all {words.pop() if len(words) == 1 else word}"
        systems[name] = np.full_like(gold.label, value), None
    return systems


def _meant(key: str, value: Any, edition: Edition) -> Any:
    aspect = next((it for it in edition.annotation.aspects if it.key == key), None)
    if aspect is None or value in (aspect.yes, aspect.no):
        return value
    meant = {**dict.fromkeys(_YES, aspect.yes), **dict.fromkeys(_NO, aspect.no)}
    meant |= {word_in(aspect.no): aspect.no, word_in(aspect.yes): aspect.yes}
    return meant.get(word_in(value), value)


def _check(table: Rows, edition: Edition) -> Found:
    for column, aspect in zip(table.label.T, edition.annotation.aspects):
        answers = set(column.tolist())
        if table.n > 1 and len(answers) == 1 and answers <= {0, 1}:
            found = f'"{aspect.yes if answers == {1} else aspect.no}" in every item'
            yield table.problem("label-constant", "both answers", found, key=aspect.key)


#: One or more aspects of an item, each answered with yes or no.
ASPECTS = Kind(
    signature="f1:macro",
    labels="an answer for each aspect",
    fields=_fields,
    arrays=_arrays,
    columns=_columns,
    metric_names=lambda edition: tuple(_metrics(edition)),
    metric=lambda name, edition: named(_metrics(edition), name, edition),
    defaults=lambda edition: tuple(f"{aspect.name}_f1" for aspect in edition.annotation.aspects),
    trivial=_trivial,
    meant=_meant,
    check_predictions=_check,
)
