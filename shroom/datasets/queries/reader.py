"""Query sets that generative search engines were asked: AllSouls, and debate questions.

AllSouls rows have ``prompt_text``, ``exam_name`` and ``prompt_id``; those of davinci-debate, and of
the seeds that they were generated from, have ``query``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from shroom.core.json_writing import json_lines
from shroom.core.paths import Source
from shroom.core.problems import Problems, show
from shroom.datasets.base import DataSet
from shroom.datasets.collection import Collection
from shroom.datasets.rows import Row, RowReader, Unusable, is_filled, is_text, read_rows

NAME = "queries"

_SHORTEST = 15


@dataclass(frozen=True)
class Query:
    """One question.

    Attributes
    ----------
    text : str
        The source's ``prompt_text`` or ``query``.
    exam_name, prompt_id : str or None
        The exam, and the prompt's number in it; AllSouls only.
    original_query, source : str or None
        What a seed was made from, and where that is from; rarely given.
    """

    text: str
    exam_name: str | None = None
    prompt_id: str | None = None
    original_query: str | None = None
    source: str | None = None

    @property
    def is_exam(self) -> bool:
        """Whether it is of AllSouls."""
        return self.exam_name is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the row in the source's form."""
        keys = ("exam_name", "prompt_id", "original_query", "source")
        rest = {key: getattr(self, key) for key in keys if getattr(self, key)}
        return {"prompt_text" if self.is_exam else "query": self.text, **rest}


def folded(text: str) -> str:
    """Return a query in the form in which repetitions are equal.

    Examples
    --------
    >>> folded("Should museums be  free?") == folded(" should Museums be free?")
    True
    """
    return " ".join(text.split()).casefold()


def is_debate_question(text: str) -> bool:
    """Return whether the original generator would keep a text, apart from whether it is new.

    Examples
    --------
    >>> is_debate_question("Should museums be free?"), is_debate_question("Should it?")
    (True, False)
    """
    return text.endswith("?") and "should" in text.lower() and len(text) > _SHORTEST


def read(
    *paths: Source, problems: Problems | None = None, seeds: bool = False
) -> Collection[Query]:
    """Return the queries in files, folders or zips.

    Parameters
    ----------
    *paths : path or "-"
        JSON Lines or JSON lists, also gzipped.
    problems : Problems, optional
        Gets the warnings, each with its place: rows that cannot be used, rows that were there
        before (whatever their case and blanks), debate queries that the generator would not keep.
    seeds : bool
        Whether they are examples for a generator, which need not be what it would keep.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors, such as a line that is not JSON.

    Examples
    --------
    >>> read("no/such/file.jsonl")
    Traceback (most recent call last):
    shroom.core.problems.InvalidInput: no/such/file.jsonl: expected a file, got No such ... [...]
      to fix [file-unreadable]: check the path and its permissions
    """
    return read_rows(NAME, paths, problems, _RowReader, seeds=seeds)


class _RowReader(RowReader[Query]):
    def __init__(
        self, file: str, problems: Problems, first: dict[Hashable, str], *, seeds: bool
    ) -> None:
        super().__init__(file, problems, first)
        self.seeds = seeds

    def read(self, row: Row) -> Query:
        key = "prompt_text" if "prompt_text" in row.item else "query"
        if key not in row.item:
            expected = 'the key "prompt_text" or "query"'
            raise Unusable(key, expected, f"keys {show(list(row.item))}")
        text = row.need(key, is_filled, "a text")
        rest: dict[str, Any] = {}
        for name in ("exam_name", "prompt_id", "original_query", "source"):
            needed = key == "prompt_text" and name in ("exam_name", "prompt_id")
            absent = "" if needed else None
            rest[name] = absent
            if needed or row.item.get(name) is not None:
                rest[name] = row.take("text-odd", name, is_text, "a text (read as none)", absent)
        query = Query(text, **rest)
        self._check(row, query)
        return query

    def _check(self, row: Row, query: Query) -> None:
        earlier = self.earlier(row, folded(query.text))
        if earlier:
            row.report("row-doubled", None, "another query", f"that of {earlier}")
        if not self.seeds and not query.is_exam and not is_debate_question(query.text):
            expected = f'a question with "should", over {_SHORTEST} characters, that ends in "?"'
            row.odd("query-odd", "query", expected)


def write(records: Iterable[Query]) -> str:
    """Return queries as JSON Lines in the source's form."""
    return json_lines(record.to_dict() for record in records)


#: As the kit's commands use it.
DATA_SET = DataSet(
    NAME,
    licence="MIT",
    about="questions for generative search engines: AllSouls exam prompts, and debate questions",
    source=("Liu, Zhang and Liang (2023), Evaluating Verifiability in Generative Search Engines"),
    read=read,
)
