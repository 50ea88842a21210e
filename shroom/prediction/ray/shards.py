"""Shards (JSON, JSON Lines, gzipped or not, or Parquet): where they lie, and their worker."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import install_hint
from shroom.core.paths import is_junk
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.registry import plug_in_errors
from shroom.core.version import __version__
from shroom.detectors.base import Detector
from shroom.detectors.registry import Recipe
from shroom.inference.run_settings import RUN, Run
from shroom.prediction.input_data import check_data, select_documents
from shroom.prediction.predictions import predict_files
from shroom.scoring.datapoint_files import DataFile, from_document, from_items
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default
from shroom.scoring.input_files import JSON, Document


class Place:
    """A path, or a URI that pyarrow (``file``, ``s3``, ``gs``, ``hdfs``, ...) or fsspec reads."""

    def __init__(self, address: str) -> None:
        self.is_uri = "://" in address
        self.address = address if self.is_uri else os.path.abspath(address)  # noqa: PTH100 - no links
        self._system, self._path = _opened(self.address)

    def of(self, name: str) -> str:
        """Return the path or URI of a file below the place; without a name, of the place itself."""
        before, mark, query = self.address.partition("?") if self.is_uri else (self.address, "", "")
        return before.rstrip("/") + f"/{name}" * bool(name) + mark + query

    def files(self, *, missing_ok: bool = False) -> dict[str, Any]:
        """Return pyarrow's information on each file below the place, by name (empty for itself)."""
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(self._path, recursive=True, allow_not_found=True)
        try:
            itself = self._system.get_file_info(self._path)
            is_file = itself.type is FileType.File
            listed = [itself] if is_file else self._system.get_file_info(selector)
        except (OSError, ValueError) as error:
            raise ShroomError(f"{self.address}: {error}") from error
        if itself.type is FileType.NotFound and not missing_ok:
            raise ShroomError(f"{self.address}: no such file or folder")
        start = len(self._path.strip("/"))
        files = {it.path.strip("/")[start:].lstrip("/"): it for it in listed if it.is_file}
        return dict(sorted(files.items()))

    def read(self, name: str = "") -> bytes:
        """Return the content of a file below the place, or of itself; may raise OSError."""
        # Uncompressed: pyarrow would inflate names that end in .gz without limits.
        with self._system.open_input_stream(self._below(name), compression=None) as stream:
            return bytes(stream.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a file below the place completely or not at all."""
        if not self.is_uri:
            write_atomically(Path(self.address) / name, content)
            return
        path = self._below(name)
        try:
            self._system.create_dir(path.rpartition("/")[0], recursive=True)
            # An object appears only after its last byte has arrived.
            with self._system.open_output_stream(path, compression=None) as stream:
                stream.write(content)
        except (OSError, ValueError) as error:
            raise ShroomError(f"{self.address}: {error}") from error

    def _below(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}" if name else self._path


def _opened(address: str) -> tuple[Any, str]:
    """Return the file system of a path or URI, and the path in it."""
    try:
        from pyarrow import fs
    except ImportError as error:
        raise ShroomError(
            f"{address}: reading this address needs pyarrow: {install_hint('ray')}"
        ) from error
    try:
        try:
            return fs.FileSystem.from_uri(address)  # type: ignore[no-any-return]
        except ValueError:  # not one of pyarrow's own
            return fs.FileSystem.from_uri(f"fsspec+{address}")  # type: ignore[no-any-return]
    except (ImportError, OSError, ValueError) as error:
        raise ShroomError(f"{address}: no file system can read this address: {error}") from error


#: Endings of the names of shards.
PARQUET = ".parquet"
ENDINGS = (*JSON, PARQUET)
_NAMES = ", ".join(f"*{ending}" for ending in ENDINGS)


@dataclass(frozen=True)
class Shard:
    """A file of datapoints that is predicted as a whole."""

    number: int  # among all shards, which are in the order of their names
    name: str  # the path below the folder of the data; empty if the data are a single file
    input: str  # the full path or URI, as in messages and in the manifest
    size: int  # in bytes
    modified: int | None  # in nanoseconds since 1970, if the store reports it
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
            raise ShroomError(f"{data}: expected a folder, or a file named {_NAMES}")
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

    number: int  # of the shard
    lines: bytes = b""  # predictions as JSON Lines, one for each datapoint in their order
    problems: Problems = field(default_factory=Problems)  # with errors, there are no predictions
    stop: str = ""  # why no shard can be predicted; empty if shards can be
    notes: tuple[str, ...] = ()  # for the user
    weights: str = ""  # the identity of the detector
    version: str = __version__  # of the worker's kit


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
