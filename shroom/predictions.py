"""Predictions on their way out: the rows of a submission, their file's name, and its check."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shroom.check import check_documents
from shroom.datapoint import Label
from shroom.documents import Document
from shroom.problems import InvalidInput, Problems, ShroomError
from shroom.table import P
from shroom.writing import names_a_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from shroom.documents import Source
    from shroom.submission import Name


def text_of(
    label: NDArray[Any],
    p: NDArray[Any],
    ids: NDArray[Any] | None = None,
    more: Mapping[str, NDArray[Any]] | None = None,
) -> str:
    r"""Return predictions as the JSON list of a submission, a row on each line.

    Parameters
    ----------
    label : array of bool, shape [n]
        Whether it is Hallucination.
    p : array of float, shape [n]
        p(Hallucination), in [0, 1].
    ids : array of int, shape [n], optional
        The datapoints' ids, in splits that have them.
    more : mapping of array, optional
        Further columns, by key.

    Examples
    --------
    >>> import numpy as np
    >>> text_of(np.array([True]), np.array([0.75]), np.array([3]))
    '[\n{"id": 3, "label": "Hallucination", "p(Hallucination)": 0.75}\n]\n'
    """
    words = {True: Label.HALLUCINATION.value, False: Label.NOT_HALLUCINATION.value}
    columns: dict[str, list[Any]] = {} if ids is None else {"id": ids.tolist()}
    columns["label"] = [words[said] for said in label.astype(bool).tolist()]
    columns[P] = p.tolist()
    columns |= {key: values.tolist() for key, values in (more or {}).items()}
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def name_for(name: Name | None, out: Source, told: str) -> str:
    """Return what a file of predictions is to be called.

    Parameters
    ----------
    name : Name or None
        The split and track, where they are known.
    out : path
        Where the submission goes; a zip or a folder wants to know split and track.
    told : str
        The file that would have told them, for the message.

    Raises
    ------
    ShroomError
        Where a zip or a folder is to hold what is neither val nor test.

    Examples
    --------
    >>> from shroom.submission import Name
    >>> name_for(Name("val", "model-aware", 2), "out.zip", "val.model-aware.v2.json")
    'val.model-aware.json'
    """
    known = name is not None and name.split in ("val", "test")
    if name is not None and known:
        return name.base
    if str(out) == "-" or names_a_file(out):
        return "predictions.json"
    raise ShroomError(
        f"{out}: a zip or a folder wants names like val.model-aware.json, and {told} does not "
        "tell split and track of val or test; name a .json file"
    )


def check_made(made: Mapping[str, str]) -> None:
    """Hold what is to be written, text by name, against the same rules as any submission.

    Raises
    ------
    InvalidInput
        Where the check finds errors.
    """
    problems = Problems()
    documents = [Document(name, name, text.encode()) for name, text in made.items()]
    if not check_documents(documents, problems=problems).ok:
        raise InvalidInput(problems)
