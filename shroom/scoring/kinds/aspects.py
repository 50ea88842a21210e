"""Questions about an item that are answered with yes or no, as in SHROOM-CAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.aspect_metrics import METRICS, of_aspect
from shroom.scoring.column_checks import check_doubled
from shroom.scoring.item_values import word_in
from shroom.scoring.kinds.base import Columns, Kind, scores_of
from shroom.scoring.kinds.rows import Rows
from shroom.scoring.table import Role, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shroom.core.problems import Problems
    from shroom.metrics.base import Metric
    from shroom.scoring.editions.edition import Aspect, Edition


#: Other words for yes and no.
_ANSWERS = {
    **dict.fromkeys(("yes", "y", "true", "1"), True),
    **dict.fromkeys(("no", "n", "false", "0"), False),
}


@dataclass(eq=False)
class AspectTable(Table):
    """The rows of a file of answers.

    The label has a column for each aspect: 1 for yes, 0 for no, -1 where it is unknown; p is not
    used.

    Attributes
    ----------
    aspects : tuple of Aspect
        The aspects of the columns.
    """

    aspects: tuple[Aspect, ...] = ()

    @property
    def labelled(self) -> bool:
        """Whether any row has an answer."""
        return bool(np.any(self.label >= 0))

    def digest(self) -> bytes:
        """Return what identifies the annotation: the answers in the order of the ids."""
        return self.label[self.order].astype("<i1").tobytes()


class Aspects(Kind):
    """One or more aspects of an item, each answered with yes or no."""

    signature = "f1:macro"
    labels = "an answer for each aspect"

    def tabulate(
        self, items: Iterable[Any], role: Role, file: str, problems: Problems, edition: Edition
    ) -> AspectTable:
        aspects = edition.annotation.aspects
        rows = Rows(role, file, problems, edition, *(aspect.key for aspect in aspects))
        items = list(items)
        is_labelled = role is Role.PREDICTIONS or (
            role is Role.GOLD
            and any(isinstance(i, dict) and any(a.key in i for a in aspects) for i in items)
        )
        label = np.full((len(items), len(aspects)), -1, np.int8)
        for index, item in rows.objects(items):
            if item is not None and is_labelled:
                label[index] = [_answer(rows, index, item, aspect) for aspect in aspects]
        ids, has_id = rows.finish()
        p = np.full(len(items), np.nan)
        groups = rows.groups()
        return AspectTable(file, len(items), label, p, ids, has_id, groups=groups, aspects=aspects)

    def metric_names(self, edition: Edition) -> tuple[str, ...]:
        aspects = edition.annotation.aspects
        return tuple(f"{aspect.name}_{metric}" for metric in METRICS for aspect in aspects)

    def metric(self, name: str, edition: Edition) -> Metric:
        if name not in self.metric_names(edition):
            raise self.unknown_metric(name, edition)
        names = [aspect.name for aspect in edition.annotation.aspects]
        aspect, _, metric = name.rpartition("_")
        return of_aspect(metric, aspect, names.index(aspect))

    def defaults(self, edition: Edition) -> tuple[str, ...]:
        return tuple(f"{aspect.name}_f1" for aspect in edition.annotation.aspects)

    def columns(self, predictions: Table, rows: NDArray[Any], gold: Table) -> Columns:
        return predictions.label[rows], None, gold.label, None

    def floors(
        self, gold: Table, metrics: Iterable[Metric], edition: Edition
    ) -> dict[str, dict[str, float | None]]:
        floors: dict[str, Columns] = {}
        for value, word in ((1, "yes"), (0, "no")):
            words = {getattr(aspect, word) for aspect in edition.annotation.aspects}
            name = f"all {words.pop() if len(words) == 1 else word}"
            floors[name] = np.full_like(gold.label, value), None, gold.label, None
        return scores_of(floors, metrics)

    def meant(self, key: str, value: Any, edition: Edition) -> Any:
        aspect = next((it for it in edition.annotation.aspects if it.key == key), None)
        if aspect is None or value in (aspect.yes, aspect.no):
            return value
        meant = {word: aspect.yes if is_yes else aspect.no for word, is_yes in _ANSWERS.items()}
        meant |= {word_in(aspect.no): aspect.no, word_in(aspect.yes): aspect.yes}
        return meant.get(word_in(value), value)

    def check_columns(self, table: Table, problems: Problems) -> None:
        check_doubled(table, problems)
        assert isinstance(table, AspectTable)  # noqa: S101 - for mypy
        for column, aspect in enumerate(table.aspects):
            answers = set(table.label[:, column].tolist())
            if table.n > 1 and len(answers) == 1 and answers <= {0, 1}:
                description = f'"{aspect.yes if answers == {1} else aspect.no}" on every item'
                place = {"key": aspect.key}
                problems.add("label-constant", table.file, "both answers", description, **place)


def _answer(rows: Rows, index: int, item: dict[str, Any], aspect: Aspect) -> int:
    """Return a row's answer about one aspect; -1, which is reported, where it has none."""
    if aspect.key not in item:
        rows.report_missing_key(index, aspect.key, item)
        return -1
    value = item[aspect.key]
    if isinstance(value, str) and value in (aspect.yes, aspect.no):
        return int(value == aspect.yes)
    rows.report("word-value", index, f'"{aspect.yes}" or "{aspect.no}"', value, key=aspect.key)
    return -1


ASPECTS = Aspects()
