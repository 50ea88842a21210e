"""FELM by domain, source and type of error: responses, segments, and how many are wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from shroom.datasets.collection import FileRecords
from shroom.datasets.contents import ALL, Contents, Row, Table, counted, lengths, shares
from shroom.datasets.felm.reader import DOMAINS, Response, Segments
from shroom.metrics.intervals import Intervals
from shroom.metrics.segment_metrics import any_wrong

_KINDS = {True: "factual", False: "wrong"}


def contents(files: Sequence[FileRecords], settings: Intervals) -> Contents:
    """Return what the responses hold, by domain, source and type; intervals resample responses."""
    records = [record for file in files for record in file.records]
    segments = [segment for record in records for segment in record.segmented_response]
    by_domain = sorted(records, key=lambda r: (*DOMAINS, r.domain).index(r.domain))
    return Contents(
        labels={
            "segments": counted(_KINDS[label] for record in records for label in record.labels),
            "responses": counted(_KINDS[all(record.labels)] for record in records),
        },
        lengths=lengths(
            {
                "prompt": [record.prompt for record in records],
                "response": [r.response for r in records if r.response is not None],
                "segment": segments,
                "reference": [text for record in records for text in record.ref_contents],
            }
        ),
        tables={
            "domain": Table(
                "wrong is what is not factual; a response is wrong where any segment is",
                ("domain",),
                [*_rows("domain", by_domain, settings), _row("domain", ALL, records, settings)],
            ),
            "source": Table(
                "by the source of the prompt",
                ("source",),
                list(_rows("source", records, settings, responses=False)),
            ),
            "type": Table(
                "by the type of error; of wrong segments alone",
                ("type",),
                _types(records, settings),
            ),
        },
    )


def _rows(
    key: str, records: Sequence[Response], settings: Intervals, *, responses: bool = True
) -> Iterator[Row]:
    """Yield the figures of the records by a field."""
    for value in dict.fromkeys(getattr(record, key) for record in records):
        part = [record for record in records if getattr(record, key) == value]
        yield _row(key, value, part, settings, responses=responses)


def _row(
    key: str,
    value: str,
    records: Sequence[Response],
    settings: Intervals,
    *,
    responses: bool = True,
) -> Row:
    """Return the figures of records; those of wrong responses only if requested."""
    segments = Segments.of(records)
    n = len(records)
    wrong = np.bincount(segments.response[segments.wrong], minlength=n)
    wrong_responses = any_wrong(segments.wrong, segments.response, n)
    m, of_wrong = len(segments.wrong), int(wrong.sum())
    counts = {"responses": n, "segments": m, "factual": m - of_wrong, "wrong": of_wrong}
    parts: dict[str, tuple[ArrayLike, ArrayLike]] = {
        "wrong_share": (wrong, np.bincount(segments.response, minlength=n))
    }
    if responses:
        counts["wrong_responses"] = int(wrong_responses.sum())
        parts["wrong_response_share"] = (wrong_responses, np.ones(n))
    return {key: value, **counts, **shares(parts, settings)}


def _types(records: Sequence[Response], settings: Intervals) -> list[Row]:
    """Return a row for each type of error of wrong segments, the most frequent first."""
    segments = Segments.of(records)
    kinds, response = segments.kind[segments.wrong], segments.response[segments.wrong]
    wrong = np.bincount(response, minlength=len(records))
    rows = []
    for kind, number in counted(kinds.tolist()).items():
        of_kind = np.bincount(response[kinds == kind], minlength=len(records))
        counts = {"type": kind, "responses": int((of_kind > 0).sum()), "wrong": number}
        rows.append({**counts, **shares({"share_of_wrong": (of_kind, wrong)}, settings)})
    return rows
