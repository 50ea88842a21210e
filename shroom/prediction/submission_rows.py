"""From predictions to a submission: its rows, the name of its file, and its check."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.atomic_writing import names_a_file
from shroom.core.datapoint import Label
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.detectors.base import check_p
from shroom.detectors.out_of_fold import DECIMALS
from shroom.scoring.check import check_documents
from shroom.scoring.datapoint_files import read_files
from shroom.scoring.editions.files import default
from shroom.scoring.file_choice import latest
from shroom.scoring.in_memory import as_source
from shroom.scoring.input_files import Document
from shroom.scoring.table import P, Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.core.paths import Source
    from shroom.detectors.base import Detector
    from shroom.inference.run_settings import Run
    from shroom.scoring.datapoint_files import DataFile
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.file_names import Name
    from shroom.scoring.in_memory import Data


def made_by(chosen: Detector, file: DataFile, run: Run, id_key: str = "id") -> str:
    """Return a detector's predictions for a file as the JSON list of a submission.

    The label follows from p as it is written.

    Examples
    --------
    >>> from shroom.core.datapoint import pair
    >>> from shroom.scoring.datapoint_files import DataFile
    >>> from shroom.detectors.registry import detector
    >>> from shroom.inference.run_settings import RUN
    >>> file = DataFile("data.json", [pair("Two cats sat here.", "A dog.")])
    >>> text = made_by(detector("unigram"), file, RUN)
    >>> json.loads(text)[0]["label"]
    'Hallucination'
    """
    points = file.datapoints
    p, flagged = chosen.decide(points, run)
    p = check_p(p, len(points), chosen.name)
    if np.shape(flagged) != p.shape:
        raise ShroomError(
            f"the detector {chosen.name} did not return a label for each of {len(p)} datapoints"
        )
    with_ids = any(point.id is not None for point in points)
    ids = np.array([point.id for point in points]) if with_ids else None
    return text_of(flagged, np.round(p, DECIMALS), ids, id_key=id_key)


def remarks(file: DataFile) -> list[str]:
    """Return notes on a file for a reader of its predictions."""
    sentences = []
    empty = [i for i, point in enumerate(file.datapoints) if not point.hyp.strip()]
    if empty:
        sentences.append(f"{file.base}: hyp is empty in {len(empty)} items, first item {empty[0]}")
    return sentences


def training_counts(
    chosen: Detector, files: Sequence[DataFile], run: Run
) -> dict[str, dict[str, int]]:
    """Return how many items of each file are training items, by the p that the detector gives them.

    Returns
    -------
    dict of dict
        ``in_sample``: p of a model that has seen them; ``out_of_fold``: their out-of-fold p. Both
        by the file's name, without files that have none.
    """
    masks = {"in_sample": chosen.in_sample, "out_of_fold": chosen.out_of_fold_items}
    return {
        kind: {file.base: int(n) for file in files if (n := mask(file.datapoints, run).sum())}
        for kind, mask in masks.items()
    }


def training_notes(chosen: Detector, counts: dict[str, dict[str, int]], total: int) -> list[str]:
    """Return the sentences on training items among ``total`` items, for the user."""
    unseen, seen = sum(counts["out_of_fold"].values()), sum(counts["in_sample"].values())
    sentences = []
    if unseen:
        sentences.append(
            f"{chosen.name} was fitted on {unseen} of these {total} items, and answers for them "
            "with their out-of-fold p"
        )
    if seen:
        sentences.append(
            f"{chosen.name} was fitted on {seen} of these {total} items, and its p of them are "
            "in-sample: scores on them are too good"
        )
    return sentences


def check_data(file: DataFile, problems: Problems) -> None:
    """Report every datapoint of a file that cannot be judged, or cannot be in a submission."""
    _check_premises(file, problems)
    _check_ids(file, problems)


def _check_premises(file: DataFile, problems: Problems) -> None:
    """Report every datapoint without a text with which to compare its hypothesis."""
    for index, point in enumerate(file.datapoints):
        if not (point.src.strip() or point.tgt.strip()):
            place = {"index": index, "id": point.id}
            problems.add("premise-missing", file.base, "src or tgt", "both empty", **place)


def _check_ids(file: DataFile, problems: Problems) -> None:
    """Report ids that a submission cannot have: doubled ones, and ids of some items only."""
    seen: set[int | str] = set()
    some = any(point.id is not None for point in file.datapoints)
    for index, point in enumerate(file.datapoints):
        if point.id is None and some:
            expected = "an id, as other items have"
            problems.add("id-missing", file.base, expected, "none", index=index, key="id")
        elif point.id is not None and point.id in seen:
            got, place = f"{point.id} again", {"index": index, "id": point.id, "key": "id"}
            problems.add("id-doubled", file.base, "an id of its own", got, **place)
        seen |= {point.id} if point.id is not None else set()


def read_data(
    data: Data, problems: Problems, splits: tuple[str, ...], edition: Edition
) -> list[DataFile]:
    """Return the files to predict: one that was named alone, or the latest of these splits.

    Every datapoint that cannot be judged is among the problems.

    Raises
    ------
    InvalidInput
        If the data cannot be read.
    ShroomError
        If there are no data of these splits.
    """
    files = read_files(
        data,
        problems,
        choose=lambda documents: select_documents(documents, splits, edition),
        edition=edition,
    )
    if not files:
        expected = edition.expected_name(splits, "data")
        raise ShroomError(f"{as_source(data, 'data')}: has no file named {expected}")
    for file in files:
        check_data(file, problems)
    return files


def select_documents(
    documents: list[Document], splits: tuple[str, ...], edition: Edition | None = None
) -> list[Document]:
    """Return a file that was named alone, or the latest files of these splits of a folder.

    Raises
    ------
    InvalidInput
        If it is not clear which file is the latest.
    """
    if len(documents) == 1:
        return documents
    problems = Problems()
    of_data = latest(documents, problems, edition, Role.DATA)
    named = sorted((of_data or latest(documents, problems, edition, Role.GOLD)).items())
    if problems.errors:
        raise InvalidInput(problems)
    return [document for (split, _), document in named if split in splits]


def text_of(
    label: NDArray[Any],
    p: NDArray[Any],
    ids: NDArray[Any] | None = None,
    more: Mapping[str, NDArray[Any]] | None = None,
    id_key: str = "id",
) -> str:
    r"""Return predictions as the JSON list of a submission, a row on each line.

    Parameters
    ----------
    label : array of bool, shape [n]
        Whether the label is Hallucination.
    p : array of float, shape [n]
        p(Hallucination), in [0, 1].
    ids : array of int or str, shape [n], optional
        The datapoints' ids, in splits that have them.
    more : mapping of array, optional
        Further columns, by key.
    id_key : str
        Key of the ids.

    Examples
    --------
    >>> import numpy as np
    >>> text_of(np.array([True]), np.array([0.75]), np.array([3]))
    '[\n{"id": 3, "label": "Hallucination", "p(Hallucination)": 0.75}\n]\n'
    """
    words = {True: Label.HALLUCINATION.value, False: Label.NOT_HALLUCINATION.value}
    columns: dict[str, list[Any]] = {} if ids is None else {id_key: ids.tolist()}
    columns["label"] = [words[flagged] for flagged in label.astype(bool).tolist()]
    columns[P] = p.tolist()
    columns |= {key: values.tolist() for key, values in (more or {}).items()}
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def list_of(lines: Iterable[bytes]) -> bytes:
    r"""Return the JSON list, as :func:`text_of` writes it, of predictions on lines of their own.

    Parameters
    ----------
    lines : iterable of bytes
        JSON Lines, in pieces; each ends with the end of a line.

    Examples
    --------
    >>> list_of([b'{"id": 1}\n{"id": 2}\n', b'{"id": 3}\n'])
    b'[\n{"id": 1},\n{"id": 2},\n{"id": 3}\n]\n'
    """
    return b"[\n" + b"".join(lines).removesuffix(b"\n").replace(b"\n", b",\n") + b"\n]\n"


def name_for(name: Name | None, out: Source, data_name: str, edition: Edition | None = None) -> str:
    """Return the name of a file of predictions.

    Parameters
    ----------
    name : Name or None
        The split and track, where they are known.
    out : path
        Where the submission goes; a zip or a folder needs split and track.
    data_name : str
        The name of the data file, for the message.
    edition : Edition, optional
        The shared task; ``semeval2024`` by default.

    Raises
    ------
    ShroomError
        If a zip or a folder would contain a split that is not handed in.

    Examples
    --------
    >>> from shroom.scoring.editions.files import default
    >>> name = default().guess("val.model-aware.v2.json")
    >>> name_for(name, "out.zip", "val.model-aware.v2.json")
    'val.model-aware.json'
    """
    edition = edition or default()
    if name is not None and name.split in edition.submitted:
        return edition.name_of(*name.key).base
    if str(out) == "-" or names_a_file(out):
        return "predictions.json"
    raise ShroomError(
        f"{out}: a zip or a folder needs names like {edition.expected_name(edition.submitted)}, "
        f"and {data_name} does not show split and track; name a .json file"
    )


def check_output(texts: Mapping[str, str], edition: Edition | None = None) -> None:
    """Check what is to be written, text by name, by the same rules as any submission.

    Raises
    ------
    InvalidInput
        If the check finds errors.
    """
    problems = Problems()
    documents = [Document(name, name, text.encode()) for name, text in texts.items()]
    if not check_documents(documents, problems=problems, edition=edition).ok:
        raise InvalidInput(problems)
