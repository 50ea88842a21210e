"""Factual consistency of knowledge-grounded responses: the annotated responses of GPT-2 models.

Each row is a response to a dialogue, given a piece of knowledge. Three files were judged by crowd
workers and differ in where the knowledge is from (the person's own, or retrieved by KNN or DPR);
one was judged by experts. The columns are documented at
:class:`~shroom.datasets.factual_consistency.records.Response`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum

from shroom.core.datapoint import Datapoint, pair
from shroom.core.paths import Source
from shroom.core.problems import Problems, show
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection
from shroom.datasets.factual_consistency.csv_lines import lines_of
from shroom.datasets.factual_consistency.records import (
    COLUMNS,
    OPTIONAL,
    Response,
    report_doubled,
    response_of,
)
from shroom.datasets.rows import Row, collect
from shroom.scoring.input_files import CSV, Document, documents_among_others

NAME = "factual_consistency"


class Premise(str, Enum):
    """The text that a response is compared with."""

    KNOWLEDGE = "knowledge"  #: the knowledge; the context where there is none
    CONTEXT = "context"  #: the turns of the dialogue
    BOTH = "both"  #: the knowledge, and then the turns


class Truth(str, Enum):
    """Which judgement p is from."""

    HALLUCINATION = "hallucination"  #: 1 or 0, by ``Hallucination``
    CORRECTNESS = "correctness"  #: 1 minus the correctness


def read(*paths: Source, problems: Problems | None = None) -> Collection[Response]:
    """Return the responses of files and folders.

    Parameters
    ----------
    *paths : path or "-"
        CSV files in UTF-8, gzipped or not, or folders of them.
    problems : Problems, optional
        Gets everything that is odd, each with its place.

    Returns
    -------
    Collection of Response

    Raises
    ------
    InvalidInput
        With every problem, where there are errors: no such file, no CSV, a missing column.
    """
    problems = Problems(limit=None) if problems is None else problems
    files = [
        (document.file, _responses(document, problems))
        for path in paths
        for document in documents_among_others(path, problems, endings=CSV)
    ]
    return collect(NAME, files, problems)


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
        The text that a response is compared with.
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


def _p(response: Response, truth: Truth) -> float | None:
    if truth is Truth.HALLUCINATION:
        return None if response.hallucination is None else float(response.hallucination)
    return None if response.correctness is None else 1 - response.correctness


def _datapoint(response: Response, premise: Premise, truth: Truth) -> Datapoint:
    context, knowledge = "\n".join(response.turns), response.knowledge.strip()
    parts = {
        Premise.KNOWLEDGE: [response.knowledge if knowledge else context],
        Premise.CONTEXT: [context],
        Premise.BOTH: [response.knowledge, context],
    }[premise]
    src = "\n".join(part for part in parts if part.strip())
    return pair(src, response.response, _p(response, truth), response.model_type)


def _responses(document: Document, problems: Problems) -> list[Response | None]:
    """Return the response of each row of a file; ``None`` for those that cannot be used."""
    lines = lines_of(document, problems)
    if lines is None:
        return []
    if len(lines) < 2:
        actual = "only a header" if lines else "an empty file"
        problems.add("empty", document.file, "a header and rows", actual)
    if not lines or not _known_columns(lines[0], document.file, problems):
        return []
    stem = re.split(r"\.csv", document.base, maxsplit=1, flags=re.IGNORECASE)[0]
    responses = [
        response_of(cells, lines[0], stem, Row({}, index, document.file, problems))
        for index, cells in enumerate(lines[1:])
    ]
    report_doubled(responses, document.file, problems)
    return responses


def _known_columns(header: Sequence[str], file: str, problems: Problems) -> bool:
    for name in COLUMNS:
        count = header.count(name)
        if count > 1 or (not count and name not in OPTIONAL):
            actual = f"{count} of it" if count else f"columns {show(list(header))}"
            problems.add("key-missing", file, f'one column "{name}"', actual)
    for name in header:
        if name not in COLUMNS:
            problems.add("key-unknown", file, "the columns of the source", show(name))
    return all(header.count(name) == 1 or name in OPTIONAL for name in COLUMNS)


def _view(truth: Truth, meaning: str) -> View:
    return View(
        f"responses against knowledge and dialogue; p is {meaning}",
        lambda responses: datapoints(judged(responses, truth), truth=truth),
        lambda responses: [response.dialogue for response in judged(responses, truth)],
        lambda responses: len(responses) - len(judged(responses, truth)),
    )


#: As the kit's commands use it.
DATA_SET = DataSet(
    NAME,
    licence="CC BY-SA 4.0",
    about="responses of GPT-2 models to dialogues, judged against the knowledge they were given",
    source=(
        "S. Santhanam, B. Hedayatnia, S. Gella, A. Padmakumar, S. Kim, Y. Liu and D. Hakkani-Tür "
        '(2021), "Rome was built in 1776: A Case Study on Factual Correctness in '
        'Knowledge-Grounded Response Generation", arXiv:2110.05456'
    ),
    read=read,
    ending=".csv",
    views={
        truth.value: _view(truth, meaning)
        for truth, meaning in (
            (Truth.HALLUCINATION, "whether the annotators found a hallucination"),
            (Truth.CORRECTNESS, "1 minus the mean correctness"),
        )
    },
)
