"""FELM by domain: responses, segments, and how many of them are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shroom.datasets.description import ALL, Contents, Table, counted, lengths, shares
from shroom.datasets.felm.reader import DOMAINS, Segments
from shroom.metrics.segment_metrics import any_wrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.datasets.description import FileRecords, Row
    from shroom.datasets.felm.reader import Response
    from shroom.metrics.intervals import Intervals

_KINDS = {True: "factual", False: "wrong"}


def contents(files: Sequence[FileRecords], how: Intervals) -> Contents:
    """Return what the responses hold, by domain; intervals resample responses."""
    records = [record for file in files for record in file.records]
    domains = dict.fromkeys((*DOMAINS, *(record.domain for record in records)))
    of_domain = {name: [each for each in records if each.domain == name] for name in domains}
    rows = [_row(name, part, how) for name, part in of_domain.items() if part]
    segments = [segment for record in records for segment in record.segmented_response]
    return Contents(
        labels={
            "segments": counted(_KINDS[label] for each in records for label in each.labels),
            "responses": counted(_KINDS[all(record.labels)] for record in records),
        },
        lengths=lengths(
            {
                "prompt": [record.prompt for record in records],
                "response": [each.response for each in records if each.response is not None],
                "segment": segments,
                "reference": [text for record in records for text in record.ref_contents],
            }
        ),
        tables={
            "domain": Table(
                "wrong is what is not factual; a response is wrong where any segment is",
                ("domain",),
                [*rows, _row(ALL, records, how)],
            )
        },
    )


def _row(domain: str, records: Sequence[Response], how: Intervals) -> Row:
    of = Segments.of(records)
    n = len(records)
    wrong = np.bincount(of.response[of.wrong], minlength=n)
    wrong_responses = any_wrong(of.wrong, of.response, n)
    parts = {
        "wrong_share": (wrong, np.bincount(of.response, minlength=n)),
        "wrong_response_share": (wrong_responses, np.ones(n)),
    }
    return {
        "domain": domain,
        "responses": n,
        "segments": len(of.wrong),
        "wrong": int(wrong.sum()),
        "wrong_responses": int(wrong_responses.sum()),
        **shares(parts, how),
    }
