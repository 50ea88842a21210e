"""Mu-SHROOM, SemEval-2025 Task 3: answers of language models with marked spans of characters.

JSON Lines, a file for each language and split. Places count the code points of
``model_output_text``, as Python does. Train has neither labels nor, in some languages, ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from shroom.core.datapoint import Datapoint, pair
from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError, show
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection
from shroom.datasets.mushroom2025.records import HardSpan, Record, SoftSpan
from shroom.datasets.mushroom2025.rows import RowReader
from shroom.datasets.rows import read_rows
from shroom.scoring.kinds import span_values

__all__ = ["HardSpan", "Record", "SoftSpan", "datapoints", "read", "share_marked"]

NAME = "mushroom2025"

#: What the p of a datapoint may be: the share of its characters that are marked, or whether any is.
CHOICES = {
    "share": "the share of characters that are marked",
    "any": "whether any character is marked",
}


def read(*paths: Source, problems: Problems | None = None) -> Collection[Record]:
    """Return the records of files, folders or zips, whether they are labelled or not.

    Parameters
    ----------
    *paths : path or "-"
        JSON Lines, also gzipped.
    problems : Problems, optional
        Gets everything that is odd; a new one by default, which the collection keeps.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors: a file that cannot be read, or a doubled id.
    """
    return read_rows(NAME, paths, problems, RowReader)


def datapoints(records: Iterable[Record], p: str = "share") -> list[Datapoint]:
    """Return the records as datapoints: the answer as hypothesis, the question as source.

    Note that a question does not contain the truth: detectors that compare the two texts see
    only whether the answer is about it.

    Parameters
    ----------
    records : iterable of Record
        Labelled or not.
    p : {"share", "any"}
        The share of the answer's characters that are marked by more than half of the annotators,
        or 1 where any is. The label is ``Hallucination`` where p > 0.5.

    Raises
    ------
    ShroomError
        For another word as ``p``.

    Examples
    --------
    >>> record = Record("val-en-1", "EN", "Who?", "Ann Lee.", hard_labels=(HardSpan(0, 3),))
    >>> datapoints([record])[0].p, datapoints([record], p="any")[0].p
    (0.375, 1.0)
    """
    if p not in CHOICES:
        raise ShroomError(f"p of Mu-SHROOM is {' or '.join(CHOICES)}, not {show(p)}")
    return [_datapoint(record, p) for record in records]


def _datapoint(record: Record, choice: str) -> Datapoint:
    p = None
    if record.is_labelled:
        p = share_marked(record)
        p = float(p > 0) if choice == "any" else p
    return pair(record.model_input, record.model_output_text, p, record.model_id)


def share_marked(record: Record) -> float:
    """Return the share of a record's characters that are hard-labelled; 0 for an empty answer."""
    return span_values.share_marked(record.hard, len(record.model_output_text))


def _judged(records: Iterable[Record], p: str) -> list[Datapoint]:
    return datapoints([record for record in records if record.is_labelled], p)


#: As the kit's commands use it.
DATA_SET = DataSet(
    NAME,
    licence="none stated",
    about="answers of language models in 14 languages, hallucinated spans marked by annotators",
    source=(
        "R. Vázquez et al. (2025), SemEval-2025 Task 3: Mu-SHROOM, the Multilingual Shared-task on "
        "Hallucinations and Related Observable Overgeneration Mistakes"
    ),
    read=read,
    no_predictions="predictions for it are spans, which the p of a whole answer does not contain",
    views={
        choice: View.of_records(
            f"answers against questions; p is {meaning}", partial(_judged, p=choice)
        )
        for choice, meaning in CHOICES.items()
    },
)
