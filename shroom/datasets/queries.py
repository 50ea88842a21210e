"""Query sets that generative search engines were asked: AllSouls, and debate questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Optional, Union

from msgspec import Struct

from shroom.core.paths import Source
from shroom.core.problems import Problems
from shroom.datasets import records
from shroom.datasets.base import DataSet
from shroom.datasets.collection import Collection, Report
from shroom.datasets.fields import Filled, Rule, Text
from shroom.datasets.records import Form
from shroom.datasets.summary import Groups, Row, Summary
from shroom.metrics.intervals import Intervals

NAME = "queries"
_SHORTEST = 15


class Prompt(Struct, frozen=True, rename={"text": "prompt_text"}):
    """An exam question of AllSouls: its text, its exam, and its number there."""

    text: Annotated[Filled, Rule(expected="a text")]
    exam_name: Text
    prompt_id: Text


class Query(Struct, frozen=True, rename={"text": "query"}):
    """A debate question; a seed also has its original query and source."""

    text: Annotated[Filled, Rule(expected='a text under "query" or "prompt_text"')]
    original_query: Optional[str] = None
    source: Optional[str] = None


Record = Union[Prompt, Query]


def folded(text: str) -> str:
    """Return a query in a form for finding repetitions."""
    return " ".join(text.split()).casefold()


def is_debate_question(text: str) -> bool:
    """Return whether the original generator would keep a text, unless it is a repetition."""
    return text.endswith("?") and "should" in text.lower() and len(text) > _SHORTEST


def _check(record: Record, report: Report) -> None:
    if isinstance(record, Query) and not is_debate_question(record.text):
        expected = (
            f'a question that contains "should", ends in "?" and has more than {_SHORTEST} '
            "characters"
        )
        report.add("query-odd", "query", expected)


FORM = Form[Any](
    {"prompt_text": Prompt, "": Query}, check=_check, same=lambda record: folded(record.text)
)


def read(
    *paths: Source, problems: Problems | None = None, seeds: bool = False
) -> Collection[Record]:
    """Return the queries in files; the generator's rule does not apply to seeds."""
    form = replace(FORM, check=lambda *_: None) if seeds else FORM
    return records.read(NAME, form, *paths, problems=problems)


def _in_file(queries: Sequence[Record], _: Intervals) -> Row:
    debate = [query.text for query in queries if isinstance(query, Query)]
    return {
        "queries": len(queries),
        "exam_prompts": len(queries) - len(debate),
        "debate_queries": len(debate),
        "debate_questions": sum(map(is_debate_question, debate)),
        "distinct": len({folded(query.text) for query in queries}),
    }


DATA_SET = DataSet(
    NAME,
    licence="MIT",
    about="questions for generative search engines: AllSouls exam prompts, and debate questions",
    source="Liu, Zhang and Liang (2023), Evaluating Verifiability in Generative Search Engines",
    read=read,
    summary=Summary(
        texts={"query": lambda query: [query.text]},
        tables={
            "file": Groups(
                "exam prompts and debate queries; debate_questions is the number of queries "
                "that the generator would keep",
                _in_file,
                by_file=True,
            ),
        },
    ),
)
