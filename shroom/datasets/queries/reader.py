"""Query sets that generative search engines were asked: AllSouls, and debate questions.

AllSouls rows have ``prompt_text``, ``exam_name`` and ``prompt_id``; those of davinci-debate, and of
the seeds that they were generated from, have ``query``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core import json_reading
from shroom.core.json_writing import json_lines
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets.base import DataSet
from shroom.datasets.collection import Collection, items_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shroom.core.paths import Source

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
    """Return a query in the form that tells whether it is the same as another.

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
      to mend [file-unreadable]: check the path and its permissions
    """
    problems = Problems() if problems is None else problems
    first: dict[str, str] = {}
    files, records, dropped = [], [], 0
    sizes: list[int] = []
    for document, items in items_of(paths, problems):
        files.append(document.file)
        for index, item in enumerate(items):
            query = _query(item, index, document.file, problems)
            if query is None:
                dropped += 1
                continue
            _check(query, index, document.file, problems, first, seeds=seeds)
            records.append(query)
        sizes.append(len(records) - sum(sizes))
    if problems.errors:
        raise InvalidInput(problems)
    return Collection(NAME, tuple(files), records, dropped, problems, tuple(sizes))


def _query(item: Any, index: int, file: str, problems: Problems) -> Query | None:
    if item is json_reading.BROKEN:
        return None
    if not isinstance(item, dict):
        problems.add("row-dropped", file, "an object", show(item), index=index)
        return None
    key = "prompt_text" if "prompt_text" in item else "query"
    text = item.get(key)
    if not isinstance(text, str) or not text.strip():
        found = show(text) if key in item else f"keys {show(list(item))}"
        expected = "a text" if key in item else 'the key "prompt_text" or "query"'
        problems.add("row-dropped", file, expected, found, index=index, key=key)
        return None
    rest: dict[str, Any] = {}
    for name in ("exam_name", "prompt_id", "original_query", "source"):
        value = item.get(name)
        needed = key == "prompt_text" and name in ("exam_name", "prompt_id")
        rest[name] = value if isinstance(value, str) else "" if needed else None
        if not isinstance(value, str) and (needed or value is not None):
            problems.add(
                "row-odd", file, "a text (read as none)", show(value), index=index, key=name
            )
    return Query(text, **rest)


def _check(
    query: Query, index: int, file: str, problems: Problems, first: dict[str, str], *, seeds: bool
) -> None:
    place = f"item {index} of {file}"
    earlier = first.setdefault(folded(query.text), place)
    if earlier is not place:
        problems.add("row-doubled", file, "another query", f"that of {earlier}", index=index)
    if not seeds and not query.is_exam and not is_debate_question(query.text):
        expected = f'a question with "should", over {_SHORTEST} characters, that ends in "?"'
        problems.add("row-odd", file, expected, show(query.text), index=index, key="query")


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
