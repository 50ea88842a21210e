"""The tables of factual consistency, by file, model and decoding."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from shroom.datasets.description import Contents, Table, counted, histogram, lengths
from shroom.datasets.factual_consistency.tables import GROUPINGS, agreement, tables
from shroom.scoring.scores import flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.datasets.description import FileRecords, Row
    from shroom.datasets.factual_consistency.records import Response
    from shroom.datasets.factual_consistency.tables import Consistency, Repeats
    from shroom.metrics.intervals import Intervals

_YES, _Y = {True: "Yes", False: "No", None: None}, {True: "y", False: "n", None: None}
_AS_GIVEN = (
    "mean_correctness leaves out values beyond [0, 1]; mean_correctness_as_given counts them, as "
    "the usual figures do"
)
_REPEATS = (
    "agreement is of verdicts on one and the same response that several models or decodings "
    "gave, since the files do not have the annotators' votes"
)


def contents(files: Sequence[FileRecords], how: Intervals) -> Contents:
    """Return what the responses hold; intervals resample dialogues."""
    records: list[Response] = [record for file in files for record in file.records]
    found = {
        "_".join(fields[1:]) or fields[0]: Table(
            f"responses by {', '.join(fields)}", fields, _rows(records, fields, how)
        )
        for fields in GROUPINGS
    }
    found["verifiable_only"] = Table(
        "the same, with the judgements of verifiable responses alone",
        ("file",),
        _rows(records, ("file",), how, verifiable_only=True),
    )
    repeats = [_of_repeats(each) for each in agreement(records, how)]
    return Contents(
        labels={
            "Hallucination": counted(_YES[record.hallucination] for record in records),
            "Verifiable": counted(_Y[record.verifiable] for record in records),
            "Avg Factual Correctness": histogram(record.given_correctness for record in records),
        },
        lengths=lengths({key: [getattr(each, key) for each in records] for key in _TEXTS}),
        tables=found,
        agreement=Table("agreement of repeated verdicts", ("file", "judgement"), repeats)
        if repeats
        else None,
        notes=(_AS_GIVEN, *([_REPEATS] if repeats else [])),
    )


_TEXTS = ("context", "knowledge", "response")


def _rows(
    records: Sequence[Response],
    fields: tuple[str, ...],
    how: Intervals,
    *,
    verifiable_only: bool = False,
) -> list[Row]:
    with np.errstate(over="ignore"):  # of values that are far out of range
        found = tables(records, [fields], how, verifiable_only=verifiable_only)
    return [_row(each) for each in found]


def _row(found: Consistency) -> Row:
    given = found.mean_as_given
    return {
        **found.group,
        "rows": found.rows,
        "verifiable": found.verifiable,
        "judged": found.judged,
        "hallucinated": found.hallucinated,
        "dialogues": found.dialogues,
        **flat(found.scores, found.intervals),
        "mean_correctness_as_given": given if given is not None and isfinite(given) else None,
    }


def _of_repeats(found: Repeats) -> Row:
    counts = {key: getattr(found, key) for key in ("file", "judgement", "items", "judgements")}
    return {**counts, **flat(found.scores, found.intervals)}
