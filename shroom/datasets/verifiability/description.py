"""The citation metrics by system, pooled and as means over responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.datasets.description import ALL, Contents, Table, counted, lengths, named
from shroom.datasets.verifiability.citation_scores import citation_scores
from shroom.datasets.verifiability.reader import without_premise
from shroom.datasets.verifiability.records import Pair, Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.datasets.description import FileRecords, Row
    from shroom.datasets.verifiability.citation_scores import SystemScores
    from shroom.metrics.intervals import Intervals

_SELECTION = (
    "the published totals (Liu et al. 2023) are of the full human evaluation; the citation "
    "metrics of any selection of it, such as the public 114 records, are not comparable with them"
)


def contents(files: Sequence[FileRecords], how: Intervals) -> Contents:
    """Return what the responses and pairs hold; intervals resample responses."""
    records = [record for file in files for record in file.records]
    responses = [record for record in records if isinstance(record, Response)]
    pairs = [record for record in records if isinstance(record, Pair)]
    statements = [statement for each in responses for statement in each.statements]
    judged = [each for statement in statements for each in statement.citation_annotations or ()]
    found = citation_scores(records, how)
    systems = [*found.systems, found.whole] if responses else []
    ratings = {
        key: counted(rating and rating.value for rating in (getattr(r, key) for r in responses))
        for key in ("fluency", "perceived_utility")
    }
    verdicts = {
        key: {verdict or "none": n for verdict, n in counts.items()}
        for key, counts in found.verdicts.items()
    }
    return Contents(
        labels={key: counts for key, counts in (verdicts | ratings).items() if counts},
        lengths=lengths(
            {
                "query": [each.query for each in responses],
                "response": [each.response for each in responses],
                "statement": [statement.text for statement in statements],
                "evidence": [each.evidence for each in judged if each.evidence],
                "question": [each.question for each in pairs],
                "claim": [each.claim for each in pairs],
                "reference": [text for each in pairs for text in each.references],
            }
        ),
        tables={
            "system_name": Table(
                "statements worth verifying and supported, citations judged and precise",
                ("system_name",),
                [*map(_of_system, systems)],
            ),
            "file": Table(
                "what the files have, and verdicts whose page has no text to hold them against",
                ("file",),
                [_of_file(*each) for each in named(files)],
            ),
        },
        notes=(_SELECTION,) if responses else (),
    )


def _of_system(found: SystemScores) -> Row:
    name = ALL if found.system_name is None else found.system_name
    return {**found.to_dict(), "system_name": name}


def _of_file(file: str, records: Sequence[Response | Pair]) -> Row:
    return {
        "file": file,
        "responses": sum(isinstance(each, Response) for each in records),
        "pairs": sum(isinstance(each, Pair) for each in records),
        "verdicts_without_evidence": without_premise(records),
    }
