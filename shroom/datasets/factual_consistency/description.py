"""The tables of factual consistency, by file, model and decoding."""

from __future__ import annotations

from collections.abc import Sequence

from shroom.datasets.collection import FileRecords
from shroom.datasets.contents import Contents, Table, counted, histogram, lengths
from shroom.datasets.factual_consistency.records import Response
from shroom.datasets.factual_consistency.tables import GROUPINGS, tables
from shroom.metrics.intervals import Intervals

_YES, _Y = {True: "Yes", False: "No", None: None}, {True: "y", False: "n", None: None}
_TEXTS = ("context", "knowledge", "response")
_AS_GIVEN = (
    "mean_correctness leaves out values beyond [0, 1]; mean_correctness_as_given counts them, as "
    "the usual figures do"
)


def contents(files: Sequence[FileRecords], how: Intervals) -> Contents:
    """Return what the responses hold; intervals resample dialogues."""
    records: list[Response] = [record for file in files for record in file.records]
    native = {
        "_".join(fields[1:]) or fields[0]: Table(
            f"responses by {', '.join(fields)}", fields, tables(records, [fields], how)
        )
        for fields in GROUPINGS
    }
    native["verifiable_only"] = Table(
        "the same, with the judgements of verifiable responses alone",
        ("file",),
        tables(records, [("file",)], how, verifiable_only=True),
    )
    return Contents(
        labels={
            "Hallucination": counted(_YES[record.hallucination] for record in records),
            "Verifiable": counted(_Y[record.verifiable] for record in records),
            "Avg Factual Correctness": histogram(record.given_correctness for record in records),
        },
        lengths=lengths({key: [getattr(record, key) for record in records] for key in _TEXTS}),
        tables=native,
        notes=(_AS_GIVEN,),
    )
