"""Scores of predictions in a data set's native form, by its native metrics."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shroom.core.json_reading import BROKEN, report_doubled
from shroom.core.paths import Source
from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.core.version import __version__
from shroom.datasets.collection import Collection, Report
from shroom.datasets.registry import data_set
from shroom.metrics.base import Metric
from shroom.metrics.classification import F1, PRECISION, RECALL, of_counts
from shroom.metrics.cluster_bootstrap import places, sums
from shroom.metrics.intervals import (
    DEFAULT_INTERVALS,
    NO_INTERVALS,
    Intervals,
    Scored,
    estimates,
)
from shroom.scoring.display.text import confidence, doubts, how_made, shortened
from shroom.scoring.result import Result, rounded
from shroom.scoring.results import TrackScore, flat, records_of
from shroom.scoring.tables import Estimate, Row, Table, score_cells

R = TypeVar("R")

#: By data set with a native form of predictions, the module with its native metrics.
SCORED = {
    "felm": "shroom.datasets.felm_scores",
    "halueval": "shroom.datasets.halueval",
    "ragtruth": "shroom.datasets.ragtruth",
}
#: Maximum slices shown as columns, and maximum characters of a slice's name.
_MOST, _LONGEST = 8, 40


@dataclass(frozen=True)
class NativeResult(TrackScore):
    """The scores of a data set; the track is its name."""

    # ``counts`` has the numbers of scored things; ``n`` is the number of resampled units.

    counts: dict[str, int] = field(default_factory=dict)
    confusion: dict[str, int] = field(default_factory=dict)
    keys = (  # type: ignore[assignment]  # another number of names
        *("dataset", "**counts", "**confusion", "**whole", "**by", "floors", "signature"),
    )

    @property
    def dataset(self) -> str:
        """The data set."""
        return self.track

    @property
    def by(self) -> dict[str, Any]:
        """The slices as in JSON."""
        return {f"by_{key}": slices for key, slices in self.slices.items()}


@dataclass(frozen=True, repr=False)
class NativeScore(Result):
    """The scores of predictions, the warnings, and the settings of the intervals."""

    results: list[NativeResult]
    warnings: Problems
    intervals: Intervals
    keys = ("signature", "results", "**intervals", "warnings")

    def __repr__(self) -> str:
        parts = (f"{r.track} {rounded(r.scores)}" for r in self.results)
        return f"NativeScore({'; '.join(parts)})"

    def tables(self) -> list[Table]:
        """Return each result's scores next to the floors, and its slices."""
        tables = []
        for result in self.results:
            counts = ", ".join(f"{name} {count}" for name, count in result.counts.items())
            floors = [score_cells(floor, {}) for floor in result.floors.values()]
            tables += [
                Table(f"{result.track}: {counts}"),
                Table(
                    heads=("", "score", *result.floors),
                    rows=[
                        (name, cell, *(floor.get(name, "") for floor in floors))
                        for name, cell in result.parts[""][1].items()
                    ],
                    ci=confidence(self.intervals),
                ),
                *(_slices(result, key, slices) for key, slices in result.slices.items()),
            ]
        notes = [self.signature]
        if self.intervals.resamples:
            drawn = f"{self.intervals.resamples} bootstrap resamples"
            notes.append(how_made(self.intervals, drawn))
            notes += doubts(pair for result in self.results for pair in result.intervals.items())
        return [*tables, Table(notes=notes)]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each result, each floor and each slice."""
        return records_of(self.results)

    @property
    def signature(self) -> str:
        """The signature of the result."""
        return self.results[0].signature


def _slices(result: NativeResult, key: str, slices: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a column for each slice; if the columns do not fit, a row for each slice."""
    parts = list(slices.values())
    names = [name for name in (*result.counts, *result.scores) if name in parts[0]]
    rows: list[Row] = [(key, *(shortened(value, _LONGEST) for value in slices))]
    for name in names:
        figure = int if name in result.counts else Estimate
        rows.append((name, *(figure(part[name]) for part in parts)))
    head, *rows = zip(*rows) if len(slices) > _MOST else rows
    return Table(heads=[str(cell) for cell in head], rows=rows)


def score(
    name: str, predictions: Source, gold: Source, intervals: Intervals = DEFAULT_INTERVALS
) -> NativeScore:
    """Return the scores of predictions in a data set's native form."""
    if name not in SCORED:
        raise ShroomError(
            f"{name} has no prediction format of its own, unlike {', '.join(SCORED)}; run "
            f"'shroom datasets convert {name} {gold} -o gold.json', and score a submission in "
            "SHROOM's format against gold.json"
        )
    problems = Problems()
    collection = _gold(name, gold, problems)
    scores = importlib.import_module(SCORED[name])
    result = scores.score(predictions, collection, intervals, problems)
    return NativeScore([result], problems, intervals)


def check(name: str, predictions: Source, gold: Source) -> Problems:
    """Return all problems of predictions; without errors, :func:`score` scores them."""
    try:
        return score(name, predictions, gold, NO_INTERVALS).warnings
    except InvalidInput as error:
        return error.problems


def _gold(name: str, source: Source, problems: Problems) -> Collection[Any]:
    """Return the gold, and report its problems that affect scores."""
    of_gold = Problems(limit=None)
    gold = None
    with suppress(InvalidInput):
        gold = data_set(name).read(source, problems=of_gold)
    for problem in of_gold:
        if problem.severity == ERROR or problem.code == "row-value":
            problems.add(**vars(problem))
    if gold is None:
        raise InvalidInput(problems)
    if not gold.records:
        problems.add("gold-unlabelled", ", ".join(gold.files), "labelled rows", "no usable rows")
    return gold


def objects(
    files: Iterable[tuple[str, Sequence[Any]]], problems: Problems, id_key: str
) -> Iterator[tuple[dict[str, Any], Report]]:
    """Yield each object of files with the report of its row; other values are reported."""
    for file, items in files:
        report = Report(file, problems)
        for index, item in enumerate(items):
            report.start(index, item, id_key)
            if isinstance(item, dict):
                report_doubled(item, file, problems, **report.place)
                yield item, report
            elif item is not BROKEN:
                report.add("item-object", None, "an object", show(item))
            report.finish()
        report.end(len(items))


def gold_record(
    item: Mapping[str, Any],
    key: str,
    known: Mapping[str, R],
    seen: Container[str],
    gold: Collection[Any],
    report: Report,
) -> R | None:
    """Return the record of a row's id; a wrong id is reported."""
    if key not in item:
        report.add_missing(f'"{key}"')
        return None
    row_id = str(item[key])
    if row_id not in known:
        report.add("id-unknown", key, f"an {key} of {', '.join(gold.files)}")
    elif row_id in seen:
        report.add("id-doubled", key, f"a unique {key}", f"{row_id} again")
    return known.get(row_id)


def refuse_incomplete(
    files: Sequence[Any],
    missing: Sequence[str],
    expected: str,
    source: Source,
    problems: Problems,
    key: str,
) -> None:
    """Report the rows of the gold that have no prediction, and raise an error if there is any."""
    if files and missing:  # without a readable file, the file is the error
        first = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        found = f"{len(missing)} missing: {first}"
        problems.add("ids-missing", str(source), expected, found, key=key)
    if problems.errors:
        raise InvalidInput(problems)


def sliced(
    columns: Mapping[str, ArrayLike],
    of: Callable[[NDArray[np.bool_]], Scored],
    intervals: Intervals,
    items: str,
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the scores of each value of columns; ``of`` scores the items selected by a mask."""
    # ``n`` is the number of units; the number of items has the name ``items``.
    slices: dict[str, dict[str, dict[str, Any]]] = {}
    for key, values in columns.items():
        listed, slices[key] = np.asarray(values, np.str_), {}
        for value in dict.fromkeys(listed.tolist()):
            scored = of(listed == value)
            counts = {"n": len(scored[0][1]), items: int(np.count_nonzero(listed == value))}
            slices[key][value] = {**counts, **flat(*estimates(scored, intervals))}
    return slices


def f1_metrics(prefix: str, things: str) -> list[Metric]:
    """Return F1, precision and recall of hallucinated things; see :func:`of_counts`."""
    return [
        of_counts(f"{prefix}{name}", ratio, about=f"the {name} of hallucinated {things}")
        for name, ratio in (("f1", F1), ("precision", PRECISION), ("recall", RECALL))
    ]


def by_unit(scored: Scored, units: Sequence[Hashable]) -> Scored:
    """Return metrics of counts with the sums of each unit, so that resamples draw units."""
    unit = places(units)
    return [(metric, sums(statistics, unit)) for metric, statistics in scored]


def result(
    name: str,
    counts: Mapping[str, int],
    scored: Scored,
    floors: tuple[Scored, Scored],
    intervals: Intervals,
    **more: Any,
) -> NativeResult:
    """Return the result of a data set; ``n`` in ``counts`` is the number of units."""
    # The floors flag everything, and nothing.
    scores, bounds = estimates(scored, intervals)
    of_floors = {
        floor: {metric.name: metric(rows) for metric, rows in listed}
        for floor, listed in zip(("flag everything", "flag nothing"), floors)
    }
    n = counts["n"]
    return NativeResult(name, "", n, scores, bounds, floors=of_floors, counts=dict(counts), **more)


def signature(name: str, align: str, rows: Iterable[Any]) -> str:
    """Return the signature of a score; the order of the gold's rows does not matter."""
    lines = sorted(json.dumps(row) for row in rows)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:6]
    return f"shroom|v:{__version__}|edition:{name}|align:{align}|n:{len(lines)}|gold:{digest}"
