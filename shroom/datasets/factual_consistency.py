"""Factual consistency of knowledge-grounded responses: the annotated responses of GPT-2 models.

Each row is a response to a dialogue, given a piece of knowledge. Three files were judged by crowd
workers and differ in where the knowledge is from (the person's own, or retrieved by KNN or DPR);
one was judged by experts. The columns are documented at
:class:`~shroom.datasets.factual_consistency_records.Response`.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.datapoint import Datapoint, Label, Reference, Task
from shroom.datasets.collection import Collection
from shroom.datasets.factual_consistency_records import Response, mended_response
from shroom.datasets.factual_consistency_rows import (
    COLUMNS,
    OPTIONAL,
    RowReader,
    report_the_whole,
)
from shroom.documents import Document, documents
from shroom.problems import InvalidInput, Problems, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shroom.documents import Source

NAME = "factual_consistency"
LICENCE = "CC BY-SA 4.0"
ABOUT = "responses of GPT-2 models to dialogues, judged against the knowledge they were given"
SOURCE = (
    "S. Santhanam, B. Hedayatnia, S. Gella, A. Padmakumar, S. Kim, Y. Liu and D. Hakkani-Tür "
    '(2021), "Rome was built in 1776: A Case Study on Factual Correctness in Knowledge-Grounded '
    'Response Generation", arXiv:2110.05456'
)


class Premise(str, Enum):
    """What a response is held against."""

    KNOWLEDGE = "knowledge"  #: the knowledge; the context where there is none
    CONTEXT = "context"  #: the turns of the dialogue
    BOTH = "both"  #: the knowledge, and then the turns


class Truth(str, Enum):
    """Which judgement p is from."""

    HALLUCINATION = "hallucination"  #: 1 or 0, by ``Hallucination``
    CORRECTNESS = "correctness"  #: 1 minus the correctness


def read(
    *paths: Source, problems: Problems | None = None, mend: bool = False
) -> Collection[Response]:
    """Return the responses of files and folders.

    Parameters
    ----------
    *paths : path or "-"
        CSV files in UTF-8, gzipped or not, or folders of them.
    problems : Problems, optional
        Gets everything that is odd, each with its place.
    mend : bool
        Whether to mend what was UTF-8 and has been read as Mac Roman; see
        :mod:`shroom.datasets.mojibake`. It is reported in either case.

    Returns
    -------
    Collection of Response

    Raises
    ------
    InvalidInput
        With every problem, where there are errors: no such file, no CSV, a missing column.
    """
    problems = Problems(limit=None) if problems is None else problems
    records: list[Response] = []
    files, dropped = [], 0
    for document in (found for path in paths for found in _documents(path, problems)):
        found, lost = _responses(document, problems)
        files.append(document.file)
        records += map(mended_response, found) if mend else found
        dropped += lost
    if problems.errors:
        raise InvalidInput(problems)
    return Collection(NAME, tuple(files), records, dropped, problems)


def write(responses: Iterable[Response]) -> str:
    """Return the responses of one file as CSV, in the source's own form.

    What :func:`read` has kept comes out as it stood: of the real files, byte by byte.
    """
    rows = list(responses)
    with_dial_index = any(row.dial_index is not None for row in rows)
    columns = [name for name in COLUMNS if name not in OPTIONAL or with_dial_index]
    lines = [",".join(columns)]
    for row in rows:
        cells = dict(zip(COLUMNS, (getattr(row, field.name) for field in fields(row)[1:])))
        for name, words in (("Hallucination", ("No", "Yes")), ("Verifiable", ("n", "y"))):
            cells[name] = None if cells[name] is None else words[cells[name]]
        lines.append(",".join(_quoted(cells[name]) for name in columns))
    return "".join(line + "\n" for line in lines)


def datapoints(
    responses: Iterable[Response],
    premise: Premise = Premise.BOTH,
    truth: Truth = Truth.HALLUCINATION,
) -> list[Datapoint]:
    r"""Return a datapoint for each response, in their order.

    Parameters
    ----------
    responses : iterable of Response
        All of them, or the :func:`judged` ones.
    premise : Premise
        What a response is held against.
    truth : Truth
        Which judgement p is from; without it, p and the label are ``None``.

    Examples
    --------
    >>> response = Response("gt", 1, None, "GPT2-small", "DBS", "A: Pho? <br>B: Yes! <br>",
    ...     "Pho is a soup.", "It is a cake.", 0.25, True, True)
    >>> point = datapoints([response], truth=Truth.CORRECTNESS)[0]
    >>> point.src, point.hyp, point.p, point.label.value
    ('Pho is a soup.\nA: Pho?\nB: Yes!', 'It is a cake.', 0.75, 'Hallucination')
    """
    return [_datapoint(response, premise, truth) for response in responses]


def judged(responses: Iterable[Response], truth: Truth = Truth.HALLUCINATION) -> list[Response]:
    """Return the responses that have the judgement that p is from."""
    return [response for response in responses if _p(response, truth) is not None]


def _quoted(cell: object) -> str:
    """Return a cell as CSV; not by csv.writer, which leaves a lone carriage return unquoted."""
    text = "" if cell is None else str(cell)
    quoted = '"' + text.replace('"', '""') + '"'
    return quoted if set(text) & set('",\r\n') else text


def _p(response: Response, truth: Truth) -> float | None:
    if truth is Truth.HALLUCINATION:
        return None if response.hallucination is None else float(response.hallucination)
    return None if response.correctness is None else 1 - response.correctness


def _datapoint(response: Response, premise: Premise, truth: Truth) -> Datapoint:
    context = "\n".join(response.turns)
    known = bool(response.knowledge.strip())
    parts = {
        Premise.KNOWLEDGE: [response.knowledge if known else context],
        Premise.CONTEXT: [context],
        Premise.BOTH: [response.knowledge, context],
    }[premise]
    p = _p(response, truth)
    labels = {True: Label.HALLUCINATION, False: Label.NOT_HALLUCINATION}
    return Datapoint(
        hyp=response.response,
        src="\n".join(part for part in parts if part.strip()),
        tgt="",
        task=Task.TS,
        ref=Reference.SRC,
        model=response.model_type,
        label=None if p is None else labels[p > 0.5],
        p=p,
    )


def _documents(source: Source, problems: Problems) -> list[Document]:
    path = Path(source)
    if not path.is_dir():
        return documents(source, problems)
    found = [
        Document(str(file), file.name, file, member=True)
        for file in sorted(path.iterdir())
        if file.name.lower().endswith((".csv", ".csv.gz")) and not file.name.startswith(".")
    ]
    if not found:
        problems.add("no-file", str(path), "a .csv file", "none")
    return found


def _responses(document: Document, problems: Problems) -> tuple[list[Response], int]:
    """Return the responses of one file, and how many rows could not be used."""
    lines = _lines(document, problems)
    if not lines or not _known_columns(lines[0], document.file, problems):
        return [], 0
    stem = re.split(r"\.csv", document.base, maxsplit=1, flags=re.IGNORECASE)[0]
    reader = RowReader(lines[0], document.file, problems)
    kept = [(index, reader.cells(index, row)) for index, row in enumerate(lines[1:])]
    found = {index: Response(stem, *cells) for index, cells in kept if cells is not None}
    report_the_whole(found, document.file, problems)
    return list(found.values()), len(kept) - len(found)


def _lines(document: Document, problems: Problems) -> list[list[str]]:
    data = document.read(problems)
    if data is None:
        return []
    try:
        text = bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{error.object[error.start]:02x} at line {line}"
        problems.add("not-utf8", document.file, "UTF-8", found)
        return []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [row for row in reader if row]
    except csv.Error as error:
        found = f"{error} at line {reader.line_num}"
        problems.add("key-missing", document.file, "fields between commas", found)
        return []
    if len(lines) < 2:
        found = "only a header" if lines else "an empty file"
        problems.add("empty", document.file, "a header and rows", found)
    return lines


def _known_columns(header: Sequence[str], file: str, problems: Problems) -> bool:
    for name in COLUMNS:
        count = header.count(name)
        if count > 1 or (not count and name not in OPTIONAL):
            found = f"{count} of it" if count else f"columns {show(list(header))}"
            problems.add("key-missing", file, f'one column "{name}"', found)
    for name in header:
        if name not in COLUMNS:
            problems.add("key-unknown", file, "the columns of the source", show(name))
    return all(header.count(name) == 1 or name in OPTIONAL for name in COLUMNS)
