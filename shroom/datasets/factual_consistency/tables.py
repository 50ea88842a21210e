"""Tables of factual consistency by file, model and decoding: counts, means and shares.

In the crowd's files every dialogue has a dozen or two of responses, so intervals are resampled by
dialogue. In the expert file no two rows share a dialogue, and that is the same as by row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.datasets.factual_consistency.records import Response
from shroom.metrics.cluster_bootstrap import places, ratio, sums
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.scoring.results import flat

Row = dict[str, Any]

MEAN_CORRECTNESS = ratio(
    "mean_correctness",
    about="the mean of the correctness of the responses that have one",
    formula="sum of correctness / responses with a correctness in [0, 1]",
)
HALLUCINATED_SHARE = ratio(
    "hallucinated_share",
    higher_is_better=False,
    share=np.asarray,
    about="how many of the judged responses have a hallucination",
    formula="Hallucination = Yes / Hallucination = Yes or No",
)
VERIFIABLE_SHARE = ratio(
    "verifiable_share",
    share=np.asarray,
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
    judgements = ("correctness", "hallucination", "verifiable", "given_correctness")
    columns = {key: _column(records, key) for key in judgements}
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


def _column(records: Sequence[Response], key: str) -> NDArray[np.float64]:
    """Return the values of a field, ``nan`` for none."""
    values = (getattr(record, key) for record in records)
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)
