"""Query sets by file and exam. Nobody judged them."""

from __future__ import annotations

from collections.abc import Sequence

from shroom.datasets.collection import FileRecords
from shroom.datasets.contents import Contents, Row, Table, counted, lengths, named
from shroom.datasets.queries.reader import Query, folded, is_debate_question
from shroom.metrics.intervals import Intervals


def contents(files: Sequence[FileRecords], intervals: Intervals) -> Contents:
    """Return what the queries are."""
    del intervals
    queries = [query for file in files for query in file.records]
    exams = counted(query.exam_name for query in queries if query.is_exam)
    return Contents(
        labels={},
        lengths=lengths({"query": [query.text for query in queries]}),
        tables={
            "file": Table(
                "exam prompts, debate queries, and those that the generator would keep",
                ("file",),
                [_row(*file) for file in named(files)],
            ),
            "exam_name": Table(
                "exam prompts by exam",
                ("exam_name",),
                [{"exam_name": name, "queries": n} for name, n in exams.items()],
            ),
        },
    )


def _row(file: str, queries: Sequence[Query]) -> Row:
    debate = [query.text for query in queries if not query.is_exam]
    return {
        "file": file,
        "queries": len(queries),
        "exam_prompts": len(queries) - len(debate),
        "debate_queries": len(debate),
        "debate_questions": sum(map(is_debate_question, debate)),
        "distinct": len({folded(query.text) for query in queries}),
    }
