"""FELM: answers of ChatGPT in five domains, cut into segments that people judged for errors.

One JSON object a line. A response has ``segmented_response``, its text in segments, and a label for
each: *true is factual*, the opposite of SHROOM's polarity. Here "wrong" is what is not factual.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, pair
from shroom.core.json_writing import json_lines
from shroom.core.paths import Source
from shroom.core.problems import Problems
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection
from shroom.datasets.felm.predictions import Predictions
from shroom.datasets.felm.rows import DOMAINS, Response, RowReader
from shroom.datasets.rows import read_rows

__all__ = ["DOMAINS", "Premise", "Response", "Segments", "datapoints", "read"]

NAME = "felm"


class Premise(str, Enum):
    """The text that a segment is compared with."""

    PROMPT = "prompt"  #: what ChatGPT was asked
    REFERENCES = "references"  #: the prompt, and the passages of references where there are any


@dataclass(frozen=True, eq=False)
class Segments:
    """The segments of all responses as columns, m segments of n responses.

    Attributes
    ----------
    response : array of int, shape [m]
        The place of each segment's response among the records, rising.
    wrong : array of bool, shape [m]
        The annotators' verdict: whether it is not factual.
    domain : array of str, shape [n]
        Of each response.
    kind : array of str, shape [m]
        The type of each segment's error, ``"none"`` if it has no error or no type is given.
    """

    response: NDArray[np.intp]
    wrong: NDArray[np.bool_]
    domain: NDArray[np.str_]
    kind: NDArray[np.str_]

    @classmethod
    def of(cls, records: Sequence[Response]) -> Segments:
        """Return the columns of the records."""
        sizes = [len(record.labels) for record in records]
        return cls(
            np.repeat(np.arange(len(records)), sizes),
            np.array([not label for record in records for label in record.labels], bool),
            np.array([record.domain for record in records], np.str_),
            np.array([kind or "none" for record in records for kind in record.kinds], np.str_),
        )


def read(*paths: Source, problems: Problems | None = None) -> Collection[Response]:
    """Return the responses in files, folders or zips.

    Parameters
    ----------
    *paths : path or "-"
        JSON Lines, also gzipped.
    problems : Problems, optional
        Gets the warnings, each with its place.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors: a file that is not of this form, or an index
        that is given twice.

    Examples
    --------
    >>> read("no/such/file.jsonl")
    Traceback (most recent call last):
    shroom.core.problems.InvalidInput: no/such/file.jsonl: expected a file, got No such ... [...]
      to fix [file-unreadable]: check the path and its permissions
    """
    return read_rows(NAME, paths, problems, RowReader)


def datapoints(
    records: Sequence[Response], premise: Premise = Premise.REFERENCES
) -> list[Datapoint]:
    r"""Return each segment as a datapoint, in order: as many as there are labels.

    Parameters
    ----------
    records : sequence of Response
        The responses.
    premise : Premise
        The text to compare the segments with.

    Examples
    --------
    >>> record = Response("0", "wk", "", "How tall is Everest?", "8849 m.", ("8849 m.",), (True,),
    ...                   ("",), (None,), ("https://…",), ("It is 8849 m high.",))
    >>> (point,) = datapoints([record])
    >>> point.src, point.hyp, point.p
    ('How tall is Everest?\n\nIt is 8849 m high.', '8849 m.', 0.0)
    """
    points = []
    for record in records:
        passages = record.ref_contents if premise is Premise.REFERENCES else ()
        src = "\n\n".join((record.prompt, *passages))
        for segment, factual in zip(record.segmented_response, record.labels):
            points.append(pair(src, segment, float(not factual)))
    return points


def _responses(records: Sequence[Response]) -> list[Hashable]:
    return [place for place, record in enumerate(records) for _ in record.labels]


#: As the kit's commands use it.
DATA_SET = DataSet(
    NAME,
    licence="CC BY-NC-SA 4.0",
    about="segments of ChatGPT's answers in five domains, factual or not",
    source=(
        "Chen et al. (2023), FELM: Benchmarking Factuality Evaluation of Large Language Models"
    ),
    read=read,
    predictions=lambda records, wrong, p: json_lines(Predictions(wrong, p).rows(records)),
    views={
        Premise.REFERENCES.value: View(
            "the segments of answers against the prompt and the references", datapoints, _responses
        ),
        Premise.PROMPT.value: View(
            "the segments of answers against the prompt alone",
            partial(datapoints, premise=Premise.PROMPT),
            _responses,
        ),
    },
)
