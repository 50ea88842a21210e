"""Predictions in memory, made by a detector, an ensemble or a calibrator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, NamedTuple

from shroom.core.atomic_writing import encoded, write_files
from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.core.problems import Problems, ShroomError
from shroom.core.version import __version__
from shroom.detectors.base import Detector
from shroom.detectors.languages import foreign_items
from shroom.detectors.registry import REGISTRY, Recipe, check_annotation
from shroom.inference.run_settings import RUN, Run
from shroom.prediction.input_data import read_data
from shroom.prediction.submission_files import (
    json_list,
    name_for,
    record_path,
    write_record,
)
from shroom.scoring.check import check
from shroom.scoring.datapoint_files import DataFile
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.in_memory import Data, InMemory, is_path
from shroom.scoring.result import Result, alike
from shroom.scoring.tables import Table

#: Maximum number of predictions of a file in a table.
_SHOWN = 10


class PredictionFile(NamedTuple):
    """Predictions for one file of data."""

    name: str
    columns: Mapping[str, list[Any]]
    ids: Any  # of the rows; None without ids
    in_sample: int = 0  # the number of items that a detector was fitted on


class Predictions(InMemory, Result):
    """A submission in memory, accepted by every function that takes a submission.

    Attributes
    ----------
    maker : str
        Name of the detector or the command that made the predictions.
    edition : Edition
        The shared task.
    notes : tuple of str
        Notes to the user, for example if texts were truncated.
    warnings : Problems
        Warnings about the inputs.
    about : mapping
        For a detector's predictions, three counts by file: ``datapoints``, items that the model
        was fitted on (``in_sample``), and items with ``out_of_fold`` p.
    """

    def __init__(
        self,
        files: Iterable[PredictionFile],
        *,
        maker: str,
        edition: Edition,
        notes: Iterable[str] = (),
        warnings: Problems | None = None,
        about: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        """Check and store the predictions.

        Raises
        ------
        InvalidInput
            If the check finds errors in the files.
        ShroomError
            If two files have the same name.
        """
        self._texts: dict[str, str] = {}
        in_sample = {}
        for name, columns, ids, n in files:
            if name in self._texts:
                example = edition.expected_name(edition.submitted)
                raise ShroomError(
                    f"two files of predictions would have the name {name}; give the data files "
                    f"names like {example}, or predict one file at a time"
                )
            self._texts[name], in_sample[name] = json_list(columns, ids, edition), n
        contents = {name: encoded(name, text) for name, text in self._texts.items()}
        super().__init__("predictions", contents, is_folder=len(contents) > 1, in_sample=in_sample)
        check(self, edition=edition).raise_for_errors()
        self.maker, self.edition, self.notes = maker, edition, tuple(notes)
        self.warnings = Problems() if warnings is None else warnings
        self.about = about or {}

    def __repr__(self) -> str:
        return f"Predictions({self.n} of {self.maker} in {', '.join(self.files)})"

    @property
    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of each file, by its name."""
        return {name: json.loads(text) for name, text in self._texts.items()}

    @property
    def n(self) -> int:
        """Number of predictions."""
        return sum(map(len, self.rows.values()))

    def tables(self) -> list[Table]:
        """Return the first predictions of each file."""
        return [
            Table(
                f"{name}: the first {min(_SHOWN, len(rows))} of {counted(len(rows), 'row')}",
                tuple(rows[0]),
                [tuple(row.values()) for row in rows[:_SHOWN]],
            )
            for name, rows in self.rows.items()
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return the predictions, each with the name of its file if there are several files."""
        rows = self.rows
        if len(rows) == 1:
            return next(iter(rows.values()))
        return alike([{"file": name, **row} for name, file in rows.items() for row in file])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json."""
        return {
            "maker": self.maker,
            "files": self.rows,
            "in_sample": {name: n for name, n in self.in_sample.items() if n},
            "notes": list(self.notes),
            "warnings": [problem.sentence for problem in self.warnings],
        }

    def write(self, out: Source, inputs: Iterable[Source | None] = ()) -> str | None:
        """Write the submission to a file, a zip or a folder.

        Parameters
        ----------
        out : path
            A ``.json``, ``.jsonl`` or ``.zip`` file, else a folder.
        inputs : iterable of path or None
            Files and folders that must not be overwritten.

        Returns
        -------
        str or None
            A note for the user if in-sample predictions cannot be marked in ``run.json``, because
            the output is not a folder.

        Raises
        ------
        ShroomError
            If nothing can be written there, or the files' names do not show split and track.
        """
        inputs = list(inputs)
        parse = self.edition.guess
        names = [name_for(parse(name), out, name, self.edition) for name in self.files]
        record = record_path(str(out))
        write_files(out, dict(zip(names, self._texts.values())), inputs)
        counts = {new: n for name, new in zip(self.files, names) if (n := self.in_sample[name])}
        if record:
            record.unlink(missing_ok=True)
        if counts and record:
            versions = {"shroom-kit": __version__}
            about = {"detector": None, "in_sample": counts, "versions": versions}
            write_record(record, {"recipe": self.maker, **about})
        elif counts:
            return (
                f"{out} contains {counted(sum(counts.values()), 'in-sample prediction')}, so "
                "scores will be too optimistic; write to a folder, so that run.json marks these "
                "predictions"
            )
        return None


def predict(
    detector: str | Detector,
    datapoints: Data,
    *,
    run: Run = RUN,
    edition: Edition | Source | None = None,
    **settings: Any,
) -> Predictions:
    """Return a detector's predictions, in memory.

    ``shroom predict`` writes the same labels, p and ids.

    Parameters
    ----------
    detector : str or Detector
        A detector's name, the path of a recipe, or a detector.
    datapoints : path, rows, datapoints or data frame
        The data, labelled or not. A folder or a zip is searched for the latest version of each
        split that can be submitted.
    run : Run
        Device, precision, batches and progress display.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.
    **settings
        Settings of the detector, such as ``model`` or ``threshold``.

    Raises
    ------
    InvalidInput
        With every problem, if there are errors in the data.
    ShroomError
        If there is no such detector or setting.

    Examples
    --------
    >>> import shroom
    >>> data = "shroom/sample/val.model-aware.json"
    >>> predictions = predict("lexical", data)
    >>> predictions
    Predictions(60 of lexical in val.model-aware.json)
    >>> round(shroom.score(predictions, data).results[0].rho, 3)
    0.278
    """
    edition, _ = resolve(edition, datapoints if is_path(datapoints) else None)
    if isinstance(detector, Detector):
        if settings:
            raise ShroomError(
                f"{', '.join(settings)}: these settings cannot be applied to a detector object; "
                "specify the detector by name, or omit the settings"
            )
        chosen, splits = detector, edition.submitted
    else:
        recipe = Recipe.of(REGISTRY.checked_name(detector))
        chosen, splits = recipe.make(**settings), recipe.data or edition.submitted
        run = replace(run, precision=run.precision or recipe.precision)
    check_annotation(chosen, edition)
    warnings = Problems()
    files = read_data(datapoints, warnings, splits, edition)
    names = [name_for(edition.guess(file.base), "-", file.base, edition) for file in files]
    return predict_files(chosen, files, names, run, edition, warnings=warnings)


def predict_files(
    detector: Detector,
    files: Sequence[DataFile],
    names: Sequence[str],
    run: Run,
    edition: Edition,
    progress: Callable[[str], AbstractContextManager[Callable[..., None]]] | None = None,
    warnings: Problems | None = None,
) -> Predictions:
    """Return predictions for files under these names; labels follow from the rounded p."""
    notes: dict[str, None] = {}

    def note(sentence: str) -> None:
        notes[sentence] = None
        run.note(sentence)

    noted = replace(run, note=note)
    sizes = {file.base: len(file.datapoints) for file in files}
    about: dict[str, dict[str, int]] = {"datapoints": sizes, "in_sample": {}, "out_of_fold": {}}
    for kind, mask, effect in (
        ("out_of_fold", detector.out_of_fold_items, "out-of-fold"),
        ("in_sample", detector.in_sample, "in-sample, so scores on them are too optimistic"),
    ):
        counts = {file.base: int(mask(file.datapoints, noted).sum()) for file in files}
        about[kind] = {base: n for base, n in counts.items() if n}
        if n := sum(counts.values()):
            items = f"{n} of {sum(sizes.values())} items"
            note(f"{detector.name} was fitted on the texts of {items}; their p is {effect}")
    made = []
    for name, file in zip(names, files):
        points = file.datapoints
        empty = [i for i, point in enumerate(points) if not point.hyp.strip()]
        if empty:
            note(
                f"{file.base}: hyp is empty in {counted(len(empty), 'item')}, first in item "
                f"{empty[0]}"
            )
        if foreign := foreign_items(detector, points):
            note(
                f"{file.base}: p may be unreliable for {foreign} of "
                f"{counted(len(points), 'item')}, because the model reads only "
                f"{', '.join(detector.languages)}"
            )
        ids = [point.id for point in points]
        with progress(file.base) if progress else nullcontext(run.report) as report:
            columns = detector.columns(points, replace(noted, report=report), edition.annotation)
        in_sample = about["in_sample"].get(file.base, 0)
        made.append(PredictionFile(name, columns, ids if {*ids} != {None} else None, in_sample))
    return Predictions(
        made, maker=detector.name, edition=edition, notes=notes, warnings=warnings, about=about
    )
