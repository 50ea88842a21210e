"""Scores of predictions in a data set's native form, by its native metrics."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shroom.core.json_reading import BROKEN, report_doubled
from shroom.core.paths import Source
from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.core.version import __version__
from shroom.datasets.collection import Collection, Report, items_in
from shroom.datasets.registry import data_set
from shroom.metrics.base import Array, Metric
from shroom.metrics.classification import F1, PRECISION, RECALL, counts, of_counts
from shroom.metrics.cluster_bootstrap import places, sums
from shroom.metrics.intervals import DEFAULT_INTERVALS, NO_INTERVALS, Intervals, Scored, estimates
from shroom.scoring.display.text import confidence, doubts, how_made, shortened
from shroom.scoring.input_files import documents
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
        """Return the scores next to the floors, and the slices."""
        (result,) = self.results
        counts = ", ".join(f"{name} {count}" for name, count in result.counts.items())
        floors = [score_cells(floor, {}) for floor in result.floors.values()]
        rows = [
            (name, cell, *(floor.get(name, "") for floor in floors))
            for name, cell in result.parts[""][1].items()
        ]
        notes = [self.signature]
        if self.intervals.resamples:
            drawn = f"{self.intervals.resamples} bootstrap resamples"
            notes += [how_made(self.intervals, drawn), *doubts(result.intervals.items())]
        return [
            Table(f"{result.track}: {counts}"),
            Table(heads=("", "score", *result.floors), rows=rows, ci=confidence(self.intervals)),
            *(_slices(result, key, slices) for key, slices in result.slices.items()),
            Table(notes=notes),
        ]

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
        if problem.severity == ERROR or problem.code in ("row-value", "row-object"):
            problems.add(**vars(problem))
    if gold is None:
        raise InvalidInput(problems)
    if not gold.records:
        problems.add("gold-unlabelled", ", ".join(gold.files), "labelled rows", "no usable rows")
    return gold


@dataclass
class Predictions:
    """The rows of files with predictions, which are compared with the gold."""

    source: Source
    gold: Collection[Any]
    problems: Problems
    key: str  # of an id

    @cached_property
    def files(self) -> list[tuple[str, list[Any]]]:
        """The name and the items of each readable file."""
        listed = documents(self.source, self.problems)
        read = [(document.file, items_in(document, self.problems)) for document in listed]
        return [(file, items) for file, items in read if items is not None]

    def rows(self) -> Iterator[tuple[dict[str, Any], Report]]:
        """Yield each object with the report of its row; other values are reported."""
        for file, items in self.files:
            report = Report(file, self.problems)
            for item in report.rows(items, self.key):
                if isinstance(item, dict):
                    report_doubled(item, file, self.problems, **report.place)
                    yield item, report
                elif item is not BROKEN:
                    report.add("item-object", None, "an object", show(item))

    def with_records(
        self, known: Mapping[str, R]
    ) -> Iterator[tuple[dict[str, Any], R | None, Report]]:
        """Yield each row with the record of its id, and its report; wrong ids are reported."""
        seen, key = set[Any](), self.key
        for item, report in self.rows():
            row_id = str(item[key]) if key in item else None
            if row_id is None:
                report.add_missing(f'"{key}"')
            elif row_id not in known:
                report.add("id-unknown", key, f"an {key} of {', '.join(self.gold.files)}")
            elif row_id in seen:
                report.add("id-doubled", key, f"a unique {key}", f"{row_id} again")
            seen.add(row_id)
            yield item, None if row_id is None else known.get(row_id), report

    def refuse_incomplete(self, missing: Sequence[str], expected: str, key: str = "") -> None:
        """Report the rows of the gold without predictions; raise an error if there is any."""
        if self.files and missing:  # without a readable file, the file is the error
            first = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            found = f"{len(missing)} missing: {first}"
            self.problems.add("ids-missing", str(self.source), expected, found, key=key or self.key)
        if self.problems.errors:
            raise InvalidInput(self.problems)


def confusions(
    flagged: Array, wrong: Array, thing: NDArray[np.intp], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return TP, FP, FN and TN of the parts of each of n things, and of the things: [n, 4].

    The parts may be the segments of responses. A thing is wrong or flagged if any of its parts is;
    ``thing`` is the number of each part's thing.
    """
    cell = 3 - 2 * np.equal(flagged, 1) - np.equal(wrong, 1)
    of_parts = np.bincount(4 * thing + cell, minlength=4 * n).reshape(n, 4)
    is_flagged, is_wrong = of_parts[:, :2].sum(axis=1) > 0, of_parts[:, :3:2].sum(axis=1) > 0
    return of_parts, counts(is_flagged, is_wrong)


@dataclass(frozen=True)
class Judged:
    """Metrics with statistics of the same rows, such as responses.

    ``sizes`` is how many things, such as segments, each row has. Resamples draw ``units``, which
    are sums of rows; by default, each row is a unit.
    """

    scored: Scored
    things: str
    sizes: NDArray[Any]
    units: NDArray[np.intp] | None = None

    def part(self, mask: Any = slice(None)) -> tuple[dict[str, int], Scored]:
        """Return the numbers of units (n) and things of the masked rows, and their metrics."""
        scored = [(metric, statistics[mask]) for metric, statistics in self.scored]
        if self.units is not None:
            unit = places(self.units[mask].tolist())
            scored = [(metric, sums(statistics, unit)) for metric, statistics in scored]
        return {"n": len(scored[0][1]), self.things: int(self.sizes[mask].sum())}, scored

    def figures(self, mask: NDArray[np.bool_], intervals: Intervals) -> dict[str, Any]:
        """Return the numbers and the scores of the masked rows."""
        numbers, scored = self.part(mask)
        return {**numbers, **flat(*estimates(scored, intervals))}


Slices = dict[str, dict[str, dict[str, Any]]]


def sliced(
    judged: Judged,
    columns: Mapping[str, ArrayLike],
    intervals: Intervals,
    more: Callable[[NDArray[np.bool_]], dict[str, int]] = lambda _: {},
) -> Slices:
    """Return the figures of the rows with each value of columns, and ``more`` of them."""
    slices: Slices = {}
    for key, values in columns.items():
        listed = np.asarray(values, np.str_)
        masks = {value: listed == value for value in dict.fromkeys(listed.tolist())}
        slices[key] = {
            value: {**judged.figures(mask, intervals), **more(mask)}
            for value, mask in masks.items()
        }
    return slices


def f1_metrics(prefix: str, things: str) -> list[Metric]:
    """Return F1, precision and recall of hallucinated things; see :func:`of_counts`."""
    return [
        of_counts(f"{prefix}{name}", ratio, about=f"the {name} of hallucinated {things}")
        for name, ratio in (("f1", F1), ("precision", PRECISION), ("recall", RECALL))
    ]


def result(
    name: str,
    judged: Judged,
    floors: tuple[Scored, Scored],
    intervals: Intervals,
    slices: Slices,
    **more: Any,
) -> NativeResult:
    """Return the result of a data set; the floors flag everything, and nothing."""
    numbers, scored = judged.part()
    of_floors = {
        floor: {metric.name: metric(statistics) for metric, statistics in metrics}
        for floor, metrics in zip(("flag everything", "flag nothing"), floors)
    }
    whole = estimates(scored, intervals)
    more |= {"slices": slices, "floors": of_floors, "counts": numbers}
    return NativeResult(name, "", numbers["n"], *whole, **more)


def signature(name: str, align: str, rows: Iterable[Any]) -> str:
    """Return the signature of a score; the order of the gold's rows does not matter."""
    lines = sorted(json.dumps(row) for row in rows)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:6]
    return f"shroom|v:{__version__}|edition:{name}|align:{align}|n:{len(lines)}|gold:{digest}"
