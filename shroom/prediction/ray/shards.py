"""Shards (JSON, JSON Lines, gzipped or not, or Parquet), and the worker that predicts them."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

from shroom.core.paths import is_junk
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.registry import plug_in_errors
from shroom.core.version import __version__
from shroom.detectors.base import Detector
from shroom.detectors.registry import Recipe
from shroom.inference.run_settings import RUN, Run
from shroom.prediction.input_data import check_data, select_documents
from shroom.prediction.predictions import predict_files
from shroom.prediction.ray.storage import Place
from shroom.scoring.datapoint_files import DataFile, from_document, from_items
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default
from shroom.scoring.input_files import JSON, Document

#: Endings of the names of shards.
PARQUET = ".parquet"
ENDINGS = (*JSON, PARQUET)
_NAMES = ", ".join(f"*{ending}" for ending in ENDINGS)


@dataclass(frozen=True)
class Shard:
    """A file of datapoints that is predicted as a whole."""

    #: Index among all shards, which are in the order of their names.
    number: int
    #: Path below the folder of the data; empty if the data are a single file.
    name: str
    #: Full path or URI, as in messages and in the manifest.
    input: str
    #: Size in bytes.
    size: int
    #: Time of the last change in nanoseconds since 1970, if the store reports it.
    modified: int | None
    #: The shared task.
    edition: Edition

    @property
    def base(self) -> str:
        """The file name without folders."""
        return PurePosixPath(self.name or self.input.partition("?")[0]).name

    @property
    def output(self) -> str:
        """Name of the file of predictions."""
        return f"part-{self.number:05d}.jsonl"

    @property
    def submission(self) -> str | None:
        """Name of the predictions in a submission, if the task scores them."""
        name = self.edition.parse(self.base)
        return name.base if name and name.split in self.edition.submitted else None


def shards_of(data: str, splits: tuple[str, ...], edition: Edition | None = None) -> list[Shard]:
    """Return the shards by name; of files named as in SHROOM, the latest of ``splits``."""
    edition, place = edition or default(), Place(data)
    splits = splits or edition.submitted
    files = place.files()
    if "" in files:
        names = [""]
        if not files[""].base_name.lower().endswith(ENDINGS):
            raise ShroomError(f"{data}: expected a folder or a file named {_NAMES}")
    else:
        names = [it for it in files if it.lower().endswith(ENDINGS) and not is_junk(it)]
        documents = [Document(it, PurePosixPath(it).name, b"", member=True) for it in names]
        if any(edition.parse(document.base) for document in documents):
            names = [it.file for it in select_documents(documents, splits, edition)]
            if not names:
                named = edition.expected_name(splits)
                raise ShroomError(f"{data} contains SHROOM files, but none named {named}")
    if not names:
        raise ShroomError(f"{data} contains no file named {_NAMES}")
    return [
        Shard(number, name, place.of(name), files[name].size, files[name].mtime_ns, edition)
        for number, name in enumerate(names)
    ]


@dataclass(frozen=True)
class Outcome:
    """The predictions for a shard, or the reason why there are none."""

    #: Number of the shard.
    number: int
    #: Predictions as JSON Lines, one for each datapoint in their order.
    lines: bytes = b""
    #: Problems of the data; with errors, there are no predictions.
    problems: Problems = field(default_factory=Problems)
    #: Why no shard can be predicted; empty if shards can be.
    stop: str = ""
    #: Notes for the user.
    notes: tuple[str, ...] = ()
    #: Identity of the detector.
    weights: str = ""
    #: Version of the worker's kit.
    version: str = __version__


class Worker:
    """A detector that predicts shards of the data."""

    def __init__(self, data: str, recipe: Recipe, run: Run = RUN) -> None:
        self._data, self._recipe, self._run = data, recipe, run.bare()

    @cached_property
    def detector(self) -> Detector:
        """The detector, made when it is first needed."""
        return self._recipe.make()

    def judge(self, shard: Shard) -> Outcome:
        """Return the predictions for a shard, or the reason why there are none."""
        problems = Problems()
        try:
            with plug_in_errors():
                return self._judged(shard, problems)
        except InvalidInput as error:
            return Outcome(shard.number, problems=error.problems)
        except ShroomError as error:
            return Outcome(shard.number, stop=str(error))

    def _judged(self, shard: Shard, problems: Problems) -> Outcome:
        file = self.read(shard, problems)
        # Spark writes empty files into a folder.
        if problems.codes == {"empty"} and shard.name and shard.submission is None:
            note = "no datapoints, so the predictions for this shard are empty"
            return Outcome(shard.number, notes=(note,), weights=self.detector.identity)
        if file is not None:
            check_data(file, problems, shard.edition)
        if file is None or problems.errors:
            raise InvalidInput(problems)
        name, detector = shard.output, self.detector
        predictions = predict_files(detector, [file], [name], self._run, shard.edition)
        lines, notes = predictions.files[name], predictions.notes
        return Outcome(shard.number, lines, problems, notes=notes, weights=detector.identity)

    def read(self, shard: Shard, problems: Problems) -> DataFile | None:
        """Return the datapoints of a shard; with errors among the problems, do not use them."""
        try:
            content = Place(self._data).read(shard.name)
        except (OSError, ShroomError) as error:
            problems.add("file-unreadable", shard.input, "a file", str(error))
            return None
        if not shard.base.lower().endswith(PARQUET):
            document = Document(shard.input, shard.base, content)
            return from_document(document, problems, shard.edition)
        from pyarrow import ArrowException, parquet

        try:
            table = parquet.read_table(io.BytesIO(content)).to_pylist()
        except (ArrowException, OSError) as error:
            problems.add("file-unreadable", shard.input, "a Parquet file", str(error))
            return None
        # Parquet has every column in every row; null stands for a key that JSON would omit.
        rows = [{key: value for key, value in row.items() if value is not None} for row in table]
        if not rows:
            problems.add("empty", shard.input, "at least one item", "none")
        points = from_items(rows, shard.input, problems, shard.edition)
        return DataFile(shard.base, points, shard.input)
