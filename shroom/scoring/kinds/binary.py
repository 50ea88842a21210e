"""A binary label with p(Hallucination), as in SHROOM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO
from shroom.scoring.align import AlignedTrack
from shroom.scoring.column_checks import (
    check_columns,
    check_direction,
    check_own_direction,
    check_votes,
)
from shroom.scoring.explaining_reader import tabulate
from shroom.scoring.item_values import label_meant, p_meant, word_meant
from shroom.scoring.kinds.base import Columns, Kind
from shroom.scoring.table import P, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shroom.core.problems import Problems
    from shroom.metrics.base import Metric
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.table import Role


_RANKING = {"accuracy": ACCURACY, "rho": RHO}


class Binary(Kind):
    """Hallucination or not, with the probability of it.

    Accuracy compares labels with the annotators' majority; rho is Spearman's rank correlation of
    p(Hallucination) with the annotators' proportion (Mickus et al. 2024, section 4).
    """

    signature = "rho:spearman.avg"
    labels = f'"label" and "{P}"'

    def tabulate(
        self, items: Iterable[Any], role: Role, file: str, problems: Problems, edition: Edition
    ) -> Table:
        return tabulate(items, role, file, problems, edition)

    def metric_names(self, edition: Edition) -> tuple[str, ...]:
        from shroom.scoring.metric_registry import METRICS

        del edition
        return tuple(name for name, entry in METRICS.items() if not entry.package)

    def metric(self, name: str, edition: Edition) -> Metric:
        del edition
        from shroom.scoring.metric_registry import metric

        return metric(name)

    def ranking(self, edition: Edition) -> tuple[Metric, ...]:
        # These two are not looked up among those of other packages, which takes a while.
        names = edition.metrics or self.defaults(edition)
        return tuple(_RANKING.get(name) or self.metric(name, edition) for name in names)

    def defaults(self, edition: Edition) -> tuple[str, ...]:
        del edition
        return tuple(_RANKING)

    def columns(self, predictions: Table, rows: NDArray[Any], gold: Table) -> Columns:
        return predictions.label[rows], predictions.p[rows], gold.label, gold.p

    def floors(
        self, gold: Table, metrics: Iterable[Metric], edition: Edition
    ) -> dict[str, dict[str, float | None]]:
        del metrics, edition
        flagged = int(np.sum(gold.label == 1))
        rest = gold.n - flagged
        by_label = RHO(RHO.statistics(gold.label, gold.label, gold.label, gold.p))
        return {
            "majority label": {"accuracy": max(flagged, rest) / gold.n, "rho": None},
            "constant p": {"accuracy": rest / gold.n, "rho": None},
            "gold label as p": {"accuracy": 1.0, "rho": by_label},
        }

    def meant(self, key: str, value: Any, edition: Edition) -> Any:
        if key == "label":
            word = word_meant(value, edition.own_labels)
            return edition.own_labels.get(word) if word is not value else label_meant(value)
        if key == "labels" and (value is None or value != value):  # NaN
            return []
        return p_meant(value) if key == P else value

    def check_columns(self, table: Table, problems: Problems) -> None:
        check_columns(table, problems)

    def check_aligned(self, track: Any, problems: Problems) -> None:
        gold_errs = track.gold and problems.count("label-against-p", track.gold.file)
        if isinstance(track, AlignedTrack) and not gold_errs:
            check_direction(track.predictions, track.columns, problems)
        else:
            check_own_direction(track.predictions, problems)

    def check_gold(self, gold: Table, problems: Problems) -> None:
        check_own_direction(gold, problems)

    def check_votes(self, gold: Table, problems: Problems) -> None:
        check_votes(gold, problems)


BINARY = Binary()
