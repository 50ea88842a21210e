"""From predictions to a submission: its rows, the name of its file, and its check."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from shroom.core.atomic_writing import encoded, names_a_file
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.detectors.arrays import label_columns
from shroom.detectors.base import Detector
from shroom.detectors.languages import foreign_items
from shroom.inference.run_settings import Run
from shroom.scoring.check import check_documents
from shroom.scoring.datapoint_files import DataFile
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.input_files import Document

#: What follows for a reader from training items among the data.
_TRAINING_NOTES = {
    "out_of_fold": "answers for them with their out-of-fold p",
    "in_sample": "its p of them are in-sample: scores on them are too good",
}


def made_by(chosen: Detector, file: DataFile, run: Run, edition: Edition) -> str:
    """Return a detector's predictions for a file as the JSON list of a submission.

    The label follows from p as it is written, and so do the hard labels of spans.

    Examples
    --------
    >>> from shroom.core.datapoint import pair
    >>> from shroom.scoring.datapoint_files import DataFile
    >>> from shroom.detectors.registry import detector
    >>> from shroom.inference.run_settings import RUN
    >>> from shroom.scoring.editions.files import default
    >>> file = DataFile("data.json", [pair("Two cats sat here.", "A dog.")])
    >>> text = made_by(detector("unigram"), file, RUN, default())
    >>> json.loads(text)[0]["label"]
    'Hallucination'
    """
    points = file.datapoints
    with_ids = any(point.id is not None for point in points)
    ids = {edition.item.id_key: [point.id for point in points]} if with_ids else {}
    return _json_list({**ids, **chosen.columns(points, run, edition.annotation)}, edition)


def predictions_of(
    chosen: Detector,
    files: Sequence[DataFile],
    run: Run,
    edition: Edition,
    progress: Callable[[str], AbstractContextManager[Callable[..., None]]] | None = None,
) -> tuple[list[str], dict[str, dict[str, int]]]:
    """Return a detector's predictions for each file, and how many are of training items.

    The counts are by the name of the file: ``in_sample`` with the p of a model that has seen the
    items, ``out_of_fold`` with their out-of-fold p; files without any are left out. ``run.note``
    gets sentences on training items, and on what is odd in a file; ``progress`` gives the
    ``report`` of a file's run.
    """
    masks = {"in_sample": chosen.in_sample, "out_of_fold": chosen.out_of_fold_items}
    training = {
        kind: {file.base: int(n) for file in files if (n := mask(file.datapoints, run).sum())}
        for kind, mask in masks.items()
    }
    total = sum(len(file.datapoints) for file in files)
    for kind, effect in _TRAINING_NOTES.items():
        if n := sum(training[kind].values()):
            run.note(f"{chosen.name} was fitted on {n} of these {total} items, and {effect}")
    texts = []
    for file in files:
        empty = [i for i, point in enumerate(file.datapoints) if not point.hyp.strip()]
        if empty:
            run.note(f"{file.base}: hyp is empty in {len(empty)} items, first item {empty[0]}")
        if foreign := foreign_items(chosen, file.datapoints):
            run.note(
                f"{file.base}: {foreign} of {len(file.datapoints)} items are not in the model's "
                f"language ({', '.join(chosen.languages)}): its p of them may mean little"
            )
        with progress(file.base) if progress else nullcontext(run.report) as report:
            texts.append(made_by(chosen, file, replace(run, report=report), edition))
    return texts, training


def text_of(
    label: NDArray[Any], p: NDArray[Any], ids: NDArray[Any] | None, edition: Edition
) -> str:
    r"""Return predictions as the JSON list of a submission, a row on each line.

    Labels are True for Hallucination.

    Examples
    --------
    >>> import numpy as np
    >>> from shroom.scoring.editions.files import default
    >>> text_of(np.array([True]), np.array([0.75]), np.array([3]), default())
    '[\n{"id": 3, "label": "Hallucination", "p(Hallucination)": 0.75}\n]\n'
    """
    columns: dict[str, list[Any]] = {} if ids is None else {edition.item.id_key: ids.tolist()}
    return _json_list(columns | label_columns(label, p), edition)


def _json_list(columns: Mapping[str, list[Any]], edition: Edition) -> str:
    """Return the rows as a JSON list, under the keys and in the words of the edition."""
    rows = edition.with_file_keys(dict(zip(columns, row)) for row in zip(*columns.values()))
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def list_of(lines: Iterable[bytes]) -> bytes:
    r"""Return the JSON list, as :func:`text_of` writes it, of predictions on lines of their own.

    Examples
    --------
    >>> list_of([b'{"id": 1}\n{"id": 2}\n', b'{"id": 3}\n'])
    b'[\n{"id": 1},\n{"id": 2},\n{"id": 3}\n]\n'
    """
    return b"[\n" + b"".join(lines).removesuffix(b"\n").replace(b"\n", b",\n") + b"\n]\n"


def name_for(name: Name | None, out: Source, data_name: str, edition: Edition) -> str:
    """Return the name of a file of predictions.

    ``name`` is ``None`` if split and track are unknown; a zip or a folder needs them. ``data_name``
    is for the message.

    Examples
    --------
    >>> from shroom.scoring.editions.files import default
    >>> name = default().guess("val.model-aware.v2.json")
    >>> name_for(name, "out.zip", "val.model-aware.v2.json", default())
    'val.model-aware.json'
    """
    if name is not None and name.split in edition.submitted:
        return edition.name_of(*name.key).base
    if str(out) == "-" or names_a_file(out):
        return "predictions.json"
    raise ShroomError(
        f"{out}: a zip or a folder needs names like {edition.expected_name(edition.submitted)}, "
        f"and {data_name} does not show split and track; name a .json file"
    )


def check_output(texts: Mapping[str, str], edition: Edition) -> None:
    """Check the JSON lists that are to be written, by name, by the same rules as any submission.

    Raises
    ------
    InvalidInput
        If the check finds errors.
    """
    problems = Problems()
    documents = [Document(name, name, encoded(name, text)) for name, text in texts.items()]
    if not check_documents(documents, problems=problems, edition=edition).ok:
        raise InvalidInput(problems)
