"""The citation metrics by system and query distribution, pooled and as means over responses."""

from __future__ import annotations

from collections.abc import Sequence

from shroom.datasets.collection import FileRecords
from shroom.datasets.contents import Contents, Row, Table, counted, lengths, named
from shroom.datasets.verifiability.citation_scores import citation_scores, verdicts
from shroom.datasets.verifiability.reader import without_premise
from shroom.datasets.verifiability.records import PageJudgement, Pair, Record, Response
from shroom.metrics.citation_metrics import (
    CITATION_METRICS,
    F1,
    FLUENCY,
    PRECISION,
    RECALL,
    UTILITY,
)
from shroom.metrics.intervals import Intervals

_SELECTION = (
    "the published totals (Liu et al. 2023) are of the full human evaluation, whose file is "
    "public; the citation metrics of a selection, such as the 114 records that the documentation "
    "describes, are not comparable with them"
)
_PAGES = (
    "the judgements of cited pages have no response with all its statements, so there are no "
    "citation metrics of them; 'shroom datasets convert verifiability' makes datapoints of them"
)
#: The metrics that the paper breaks down by query distribution.
_MAIN = (RECALL, PRECISION, F1, FLUENCY, UTILITY)
_COUNTED = "statements worth verifying and supported, citations judged and precise"


def contents(files: Sequence[FileRecords], intervals: Intervals) -> Contents:
    """Return what the responses, pairs and judgements hold; intervals resample responses."""
    records = [record for file in files for record in file.records]
    responses = [record for record in records if isinstance(record, Response)]
    pairs = [record for record in records if isinstance(record, Pair)]
    pages = [record for record in records if isinstance(record, PageJudgement)]
    statements = [statement for response in responses for statement in response.statements]
    citations = [c for statement in statements for c in statement.citation_annotations or ()]
    ratings = {
        key: counted(rating and rating.value for rating in (getattr(r, key) for r in responses))
        for key in ("fluency", "perceived_utility")
    }
    tables = {
        "_".join(keys): Table(about, keys, citation_scores(responses, keys, intervals, metrics))
        for keys, about, metrics in (
            (("system_name",), _COUNTED, CITATION_METRICS),
            (("split",), "the same by query distribution", _MAIN),
            (("system_name", "split"), "the same by system and query distribution", _MAIN),
        )
    }
    about = "what the files have, and verdicts without a text of the page to compare with"
    tables["file"] = Table(about, ("file",), [_of_file(*file) for file in named(files)])
    return Contents(
        labels={key: counts for key, counts in (verdicts(records) | ratings).items() if counts},
        lengths=lengths(
            {
                "query": [response.query for response in responses],
                "response": [response.response for response in responses],
                "statement": [statement.text for statement in statements]
                + [page.statement for page in pages],
                "evidence": [citation.evidence for citation in citations if citation.evidence],
                "question": [pair.question for pair in pairs],
                "claim": [pair.claim for pair in pairs],
                "reference": [text for pair in pairs for text in pair.references],
                "page": [page.source_text for page in pages],
            }
        ),
        tables=tables,
        notes=(*([_SELECTION] if responses else []), *([_PAGES] if pages else [])),
    )


def _of_file(file: str, records: Sequence[Record]) -> Row:
    kinds = {"responses": Response, "pairs": Pair, "page_judgements": PageJudgement}
    return {
        "file": file,
        **{
            name: sum(isinstance(record, kind) for record in records)
            for name, kind in kinds.items()
        },
        "verdicts_without_evidence": without_premise(records),
    }
