"""Dreamcatcher: Chinese questions, ten generations each, and labels made from scores.

There are three files, each with the rows of the one before and more: ``test_generated``, then
``test_autolabeled`` (scores, a category and a ranking), then ``test_autoranked`` (preferences).
All labels are automatic: nobody judged these generations.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator

from shroom.core.datapoint import Datapoint, pair
from shroom.core.paths import Source
from shroom.core.problems import Problems
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection, items_of
from shroom.datasets.dreamcatcher.records import (
    ALL_RIGHT,
    ALL_WRONG,
    NORMAL,
    PARTIAL_RIGHT,
    UNCERTAIN,
    Generation,
    Preference,
    Question,
    Record,
    to_dict,
)
from shroom.datasets.dreamcatcher.rows import RowReader
from shroom.datasets.rows import collect

NAME = "dreamcatcher"


def read(*paths: Source, problems: Problems | None = None) -> Collection[Record]:
    """Return the rows of files, folders and zips, of any of the three forms.

    Parameters
    ----------
    *paths : path or "-"
        JSON Lines or lists of JSON, gzipped or not.
    problems : Problems, optional
        Gets everything that is odd, each with its place.

    Returns
    -------
    Collection of Question and Preference

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    """
    problems = Problems(limit=None) if problems is None else problems
    files = (
        (document.file, RowReader(document.file, problems).records(items))
        for document, items in items_of(paths, problems)
    )
    return collect(NAME, files, problems)


def lines(records: Iterable[Record]) -> Iterator[str]:
    r"""Yield each record as a line, without its end, in the form of the source's file.

    Every line of the real files is reproduced exactly. ``test_generated`` has no blanks and
    escapes slashes; the other two have blanks and do not.

    Examples
    --------
    >>> print(*lines([Question("1/2?", "1/2", "数学", ())]))
    {"question":"1\/2?","answer":"1\/2","type":"数学","generation":[]}
    """
    for record in records:
        line = _line(record, ensure_ascii=False)
        # Half of a surrogate pair, which only an escape can bring in, cannot be written as UTF-8.
        halves = any("\ud800" <= character <= "\udfff" for character in line)
        yield _line(record, ensure_ascii=True) if halves else line


def datapoints(records: Iterable[Record], *, refusals: bool = False) -> list[Datapoint]:
    """Return a datapoint for each normal generation of each question.

    The premise is the question and its answer. p is from the automatic labels: 0 in a question
    that is all-right, 1 in one that is all-wrong. In one that is partial-right only the ranked
    generations have a p: 0 above the refusal, 1 below it. Elsewhere p and label are ``None``.

    Parameters
    ----------
    records : iterable of Question and Preference
        Preferences have no answer, so there are no datapoints of them.
    refusals : bool
        Whether to return the ``uncertainty`` generations as well. They claim nothing, so their p
        is ``None`` throughout.
    """
    points = []
    for record in records:
        if isinstance(record, Preference):
            continue
        for generation in record.generation:
            if generation.type != NORMAL and not refusals:
                continue
            premise = f"{record.question}\n{record.answer}"
            points.append(pair(premise, generation.text, _p(record, generation)))
    return points


def _line(record: Record, *, ensure_ascii: bool) -> str:
    if isinstance(record, Question) and record.category is None and record.rank is None:
        row = to_dict(record)
        dense = json.dumps(row, ensure_ascii=ensure_ascii, separators=(",", ":"))
        return dense.replace("/", "\\/")
    return json.dumps(to_dict(record), ensure_ascii=ensure_ascii)


def _p(record: Question, generation: Generation) -> float | None:
    if generation.type != NORMAL:
        return None
    if record.category in (ALL_RIGHT, ALL_WRONG):
        return float(record.category == ALL_WRONG)
    types = [ranked.type for ranked in record.rank or ()]
    if record.category != PARTIAL_RIGHT or UNCERTAIN not in types:
        return None
    refusal = types.index(UNCERTAIN)
    places = [place for place, r in enumerate(record.rank or ()) if r.text == generation.text]
    return float(places[0] > refusal) if places else None


def write(records: Iterable[Record]) -> str:
    """Return records in the form of the source's files; see :func:`lines`."""
    return "".join(line + "\n" for line in lines(records))


def _labelled(records: Iterable[Record]) -> list[Datapoint]:
    return [point for point in datapoints(records) if point.p is not None]


def _questions(records: Iterable[Record]) -> list[Hashable]:
    return [place for place, record in enumerate(records) for _ in _labelled([record])]


#: As the kit's commands use it.
DATA_SET = DataSet(
    NAME,
    licence="none stated",
    about="10 generations for each of 200 Chinese questions, labelled and ranked automatically",
    source=(
        "Y. Liang, Z. Song, H. Wang and J. Zhang (2024), "
        '"Learning to Trust Your Feelings: Leveraging Self-awareness in LLMs for Hallucination '
        'Mitigation", arXiv:2401.15449'
    ),
    read=read,
    views={
        "labels": View(
            "generations against question and answer; p is from the automatic labels",
            _labelled,
            _questions,
            lambda records: len(datapoints(records)) - len(_labelled(records)),
        )
    },
)
