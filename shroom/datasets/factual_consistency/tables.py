"""Tables of factual consistency by file, model and decoding: means, correlations, agreement.

In the crowd's files every dialogue has a dozen or two of responses, so intervals are resampled by
dialogue. In the expert file no two rows share a dialogue, and that is the same as by row.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.agreement import AGREEMENT, MISSING
from shroom.metrics.bootstrap import percentile_interval, resamples
from shroom.metrics.cluster_bootstrap import places, ratio, sums
from shroom.metrics.correlation import RHO, levels
from shroom.metrics.intervals import DEFAULT_INTERVALS, estimates
from shroom.scoring.results import flat

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.datasets.factual_consistency.records import Response
    from shroom.metrics.intervals import Interval, Intervals

    Row = dict[str, Any]
    #: The value of a figure for each row of weights [b, n]; ``nan`` where it is undefined.
    Figure = Callable[[NDArray[Any]], NDArray[Any]]

MEAN_CORRECTNESS = ratio(
    "mean_correctness",
    about="the mean of the correctness of the responses that have one",
    formula="sum of correctness / responses with a correctness in [0, 1]",
)
HALLUCINATED_SHARE = ratio(
    "hallucinated_share",
    higher_is_better=False,
    about="how many of the judged responses have a hallucination",
    formula="Hallucination = Yes / Hallucination = Yes or No",
)
VERIFIABLE_SHARE = ratio(
    "verifiable_share",
    about="how many of the responses can be checked at all",
    formula="Verifiable = y / Verifiable = y or n",
)
#: The fields of each table. Files are never pooled: their annotators differ.
GROUPINGS = (
    ("file",),
    ("file", "model_type"),
    ("file", "decoding"),
    ("file", "model_type", "decoding"),
)
#: The judgements and settings that are correlated.
JUDGEMENTS = ("correctness", "hallucination", "verifiable")
#: The sizes of GPT-2 in their order, for the correlation of a judgement with the size.
SIZES = ("GPT2-small", "GPT2-medium", "GPT2-large", "GPT2-xlarge")
#: With less variance than that, a column is constant but for rounding.
_LEAST_VARIANCE = 1e-12
_AGREEMENT = ("krippendorff_alpha", "pairwise_agreement", "unanimous")


def tables(
    responses: Iterable[Response],
    groupings: Sequence[Sequence[str]] = GROUPINGS,
    how: Intervals = DEFAULT_INTERVALS,
    *,
    verifiable_only: bool = False,
) -> list[Row]:
    """Return the tables: a row for each group of each grouping.

    Parameters
    ----------
    responses : iterable of Response
        Of one or more files.
    groupings : sequence of sequences of str
        The fields of each table; ``()`` for all responses together.
    how : Intervals
        How intervals are made.
    verifiable_only : bool
        Whether correctness and hallucinations count only in rows that are verifiable. In the
        crowd's files that is the same; the experts judged other rows as well.

    Returns
    -------
    list of dict
        The fields of the group; ``rows``, ``verifiable``, ``judged``, ``hallucinated`` and
        ``dialogues``, the last of which are resampled; ``mean_correctness``,
        ``hallucinated_share`` and ``verifiable_share``, each also with its ``_ci``; and
        ``mean_correctness_as_given``, which counts the values that are out of range.

    Examples
    --------
    >>> from shroom.datasets.factual_consistency.records import Response
    >>> response = Response("gt", 1, None, "GPT2-small", "DBS", "A: Pho? <br>", "Pho is a soup.",
    ...     "It is a cake.", 0.25, True, True)
    >>> row = tables([response], [("file",)])[0]
    >>> row["file"], row["rows"], row["mean_correctness"], row["hallucinated_share"]
    ('gt', 1, 0.25, 1.0)
    """
    records = list(responses)
    return [
        {**group, **_consistency(members, how, verifiable_only=verifiable_only)}
        for fields in groupings
        for group, members in _groups(records, fields)
    ]


def correlations(
    responses: Iterable[Response],
    groupings: Sequence[Sequence[str]] = GROUPINGS,
    how: Intervals = DEFAULT_INTERVALS,
) -> list[Row]:
    """Return how the judgements go together, and how they go with the size of the model.

    Parameters
    ----------
    responses : iterable of Response
        Of one or more files.
    groupings : sequence of sequences of str
        The fields of each table; ``()`` for all responses together.
    how : Intervals
        How intervals are made: dialogues are resampled.

    Returns
    -------
    list of dict
        For each group and pair the fields of the group, ``x`` and ``y``, the number ``n`` of
        responses that have both, Pearson's ``pearson`` and Spearman's ``spearman``, each with its
        ``_ci``. Hallucination and verifiable are 1 or 0, so that Pearson's is the point-biserial
        correlation of one of them and correctness, and phi for the two of them. ``size`` is the
        place of the model among the four sizes. Where either side is constant, as verifiable
        is among the judged rows of the crowd, the correlation is ``None``.

    Examples
    --------
    >>> from shroom.datasets.factual_consistency.records import Response
    >>> rows = [Response("gt", n, None, "GPT2-small", "DBS", "", "", "", value, value < 0.5, True)
    ...     for n, value in enumerate([0.0, 0.25, 0.75, 1.0])]
    >>> row = correlations(rows, [("file",)])[0]
    >>> row["x"], row["y"], row["n"], round(row["pearson"], 3), round(row["spearman"], 3)
    ('correctness', 'hallucination', 4, -0.949, -0.894)
    """
    records = list(responses)
    return [
        {**group, **row}
        for fields in groupings
        for group, members in _groups(records, fields)
        for row in _correlations(members, how)
    ]


def agreement(responses: Iterable[Response], how: Intervals = DEFAULT_INTERVALS) -> list[Row]:
    """Return how far repeated judgements of one response agree, in each file that has any.

    The files have the annotators' mean and verdict, not their votes. But different models and
    decodings often gave the same response to the same dialogue. The source does not say so, but
    these must have been judged anew, as about a fifth of them differ. Of each response to a
    dialogue, given the same knowledge, every model and decoding counts once.

    Parameters
    ----------
    responses : iterable of Response
        Of one or more files.
    how : Intervals
        How intervals are made: dialogues are resampled.

    Returns
    -------
    list of dict
        For each ``file`` and ``judgement`` (``hallucination`` or ``verifiable``) the number of
        ``items`` that were judged more than once and of their ``judgements``; and
        ``krippendorff_alpha``, ``pairwise_agreement`` and ``unanimous``, each with its ``_ci``.
    """
    return [
        {**group, "judgement": judgement, **row}
        for group, members in _groups(list(responses), ("file",))
        for judgement in ("hallucination", "verifiable")
        if (row := _repeats(judgement, members, how)) is not None
    ]


def _groups(
    records: Sequence[Response], fields: Sequence[str]
) -> Iterator[tuple[dict[str, str], list[Response]]]:
    """Yield the values of each group, by field, and its records."""
    groups: dict[tuple[str, ...], list[Response]] = defaultdict(list)
    for record in records:
        groups[tuple(str(getattr(record, field)) for field in fields)].append(record)
    for key in sorted(groups):
        yield dict(zip(fields, key)), groups[key]


def _consistency(records: Sequence[Response], how: Intervals, *, verifiable_only: bool) -> Row:
    counted = np.array([record.verifiable is True or not verifiable_only for record in records])
    columns = {key: _column(records, key) for key in (*JUDGEMENTS, "given_correctness")}
    columns |= {
        key: np.where(counted, column, np.nan)
        for key, column in columns.items()
        if key != "verifiable"
    }
    units = places([record.dialogue for record in records])
    scored = [
        (metric, sums(np.stack([np.nan_to_num(column), ~np.isnan(column)], axis=1), units))
        for metric, column in zip(
            (MEAN_CORRECTNESS, HALLUCINATED_SHARE, VERIFIABLE_SHARE), columns.values()
        )
    ]
    values = columns["given_correctness"][~np.isnan(columns["given_correctness"])]
    with np.errstate(over="ignore"):  # of values that are far out of range
        mean = float(values.mean()) if len(values) else np.nan
    return {
        "rows": len(records),
        "verifiable": int(np.nansum(columns["verifiable"])),
        "judged": int(np.count_nonzero(~np.isnan(columns["hallucination"]))),
        "hallucinated": int(np.nansum(columns["hallucination"])),
        "dialogues": len(set(units.tolist())),
        **flat(*estimates(scored, how)),
        "mean_correctness_as_given": mean if isfinite(mean) else None,
    }


def _correlations(records: Sequence[Response], how: Intervals) -> Iterator[Row]:
    columns = {key: _column(records, key) for key in JUDGEMENTS}
    sizes = np.array(
        [float(SIZES.index(r.model_type)) if r.model_type in SIZES else np.nan for r in records]
    )
    if len(set(sizes[~np.isnan(sizes)].tolist())) > 1:
        columns["size"] = sizes
    dialogues = places([record.dialogue for record in records])
    for x, y in itertools.combinations(columns, 2):
        both = ~np.isnan(columns[x]) & ~np.isnan(columns[y])
        values = columns[x][both], columns[y][both]
        ranks = np.column_stack([levels(value) for value in values])
        figures = {"pearson": partial(_pearson, *values), "spearman": partial(RHO.score, ranks)}
        yield {"x": x, "y": y, "n": len(ranks), **_estimated(figures, dialogues, both, how)}


def _pearson(x: NDArray[Any], y: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    """Return Pearson's correlation under each row of weights."""
    x, y = x - x.mean(), y - y.mean()
    with np.errstate(invalid="ignore", divide="ignore"):  # where a resample has none of the items
        weights = weights / weights.sum(axis=1, keepdims=True)
        mean_x, mean_y = weights @ x, weights @ y
        var_x, var_y = weights @ (x * x) - mean_x**2, weights @ (y * y) - mean_y**2
        value = (weights @ (x * y) - mean_x * mean_y) / np.sqrt(var_x * var_y)
    return np.where(np.minimum(var_x, var_y) > _LEAST_VARIANCE, np.clip(value, -1, 1), np.nan)


def _estimated(
    figures: Mapping[str, Figure], units: NDArray[np.intp], counted: NDArray[Any], how: Intervals
) -> Row:
    """Return each figure of the counted items, and its interval when whole units are resampled."""
    scores: dict[str, float | None] = dict.fromkeys(figures)
    intervals: dict[str, Interval | None] = dict.fromkeys(figures)
    unit_of = units[counted]
    for name, figure in figures.items() if len(unit_of) > 1 else ():
        value = float(figure(np.ones((1, len(unit_of))))[0])
        if np.isnan(value):
            continue
        scores[name] = value
        if how.resamples and units.max() > 0:
            drawn = resamples(int(units.max()) + 1, how.resamples, how.seed)
            values = np.concatenate([figure(weights[:, unit_of]) for weights in drawn])
            intervals[name] = percentile_interval(values, how.confidence)
    return flat(scores, intervals)


def _column(records: Sequence[Response], key: str) -> NDArray[np.float64]:
    """Return the values of a field, ``nan`` for none."""
    values = (getattr(record, key) for record in records)
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)


def _repeats(judgement: str, records: Sequence[Response], how: Intervals) -> Row | None:
    items: dict[tuple[Hashable, str, str], dict[tuple[str, str], int]] = defaultdict(dict)
    for record in records:
        vote = getattr(record, judgement)
        if vote is not None:
            votes_of_item = items[record.dialogue, record.knowledge, record.response]
            votes_of_item.setdefault((record.model_type, record.decoding), int(vote))
    repeated = {
        item: list(judgements.values()) for item, judgements in items.items() if len(judgements) > 1
    }
    if not repeated:
        return None
    votes = np.full((len(repeated), max(map(len, repeated.values()))), MISSING, np.int8)
    for row, judgements in zip(votes, repeated.values()):
        row[: len(judgements)] = judgements
    figures = {name: partial(AGREEMENT[name], votes) for name in _AGREEMENT}
    dialogues = places([item[0] for item in repeated])
    counts = {"items": len(votes), "judgements": int((votes != MISSING).sum())}
    return {**counts, **_estimated(figures, dialogues, dialogues >= 0, how)}
