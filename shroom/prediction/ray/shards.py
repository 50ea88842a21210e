"""Shards (JSON, JSON Lines, gzipped or not, or Parquet): where they lie, and their worker."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import require
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
        require("ray", "pyarrow")
        from pyarrow.fs import FileSystem

        self.is_uri = "://" in address
        self.address = address if self.is_uri else os.path.abspath(address)  # noqa: PTH100 - no links
        with self._errors("no file system can read this address: "):
            try:
                self._system, self._path = FileSystem.from_uri(self.address)
            except ValueError:  # not one of pyarrow's own
                self._system, self._path = FileSystem.from_uri(f"fsspec+{self.address}")

    def __reduce__(self) -> tuple[type[Place], tuple[str]]:
        """Let each machine open the address with its own credentials."""
        return Place, (self.address,)

    def of(self, name: str) -> str:
        """Return the path or URI of a file below the place; without a name, of the place itself."""
        before, mark, query = self.address.partition("?") if self.is_uri else (self.address, "", "")
        return before.rstrip("/") + f"/{name}" * bool(name) + mark + query

    def files(self, *, missing_ok: bool = False) -> dict[str, Any]:
        """Return pyarrow's information on each file below the place, by name (empty for itself)."""
        from pyarrow.fs import FileSelector, FileType

        with self._errors():
            itself = self._system.get_file_info(self._path)
            below = FileSelector(self._path, recursive=True, allow_not_found=True)
            listed = [itself] if itself.is_file else self._system.get_file_info(below)
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
        with self._errors():
            self._system.create_dir(path.rpartition("/")[0], recursive=True)
            # An object appears only after its last byte has arrived.
            with self._system.open_output_stream(path, compression=None) as stream:
                stream.write(content)

    def _below(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}" if name else self._path

    @contextmanager
    def _errors(self, what: str = "") -> Iterator[None]:
        try:
            yield
        except (ImportError, OSError, ValueError) as error:
            raise ShroomError(f"{self.address}: {what}{error}") from error


PARQUET = ".parquet"
#: Endings of the names of shards.
ENDINGS = (*JSON, PARQUET)
_NAMES = ", ".join(f"*{ending}" for ending in ENDINGS)


@dataclass(frozen=True)
class Shard:
    """A file of datapoints that is predicted as a whole."""

    number: int  # among all shards, which are in the order of their names
    place: Place  # the data
    name: str  # the path below the folder of the data; empty if the data are a single file
    input: str  # the full path or URI, as in messages and in the manifest
    output: str  # name of the file of predictions
    size: int  # in bytes
    modified: int | None  # in nanoseconds since 1970, if the store reports it
    edition: Edition

    @property
    def base(self) -> str:
        """The file name without folders."""
        return PurePosixPath(self.name or self.input.partition("?")[0]).name

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
    names = [it for it in files if it.lower().endswith(ENDINGS) and not is_junk(it)]
    if "" in files:
        names = [""]
        if not files[""].base_name.lower().endswith(ENDINGS):
            raise ShroomError(f"{data}: expected a folder, or a file named {_NAMES}")
    elif any(edition.parse(PurePosixPath(it).name) for it in names):
        documents = [Document(it, PurePosixPath(it).name, b"", member=True) for it in names]
        names = [it.file for it in select_documents(documents, splits, edition)]
        if not names:
            named = edition.expected_name(splits)
            raise ShroomError(f"{data} contains SHROOM files, but none named {named}")
    if not names:
        raise ShroomError(f"{data} contains no file named {_NAMES}")
    return [
        Shard(
            *(number, place, name, place.of(name), f"part-{number:05d}.jsonl"),
            *(files[name].size, files[name].mtime_ns, edition),
        )
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
    """A detector that predicts shards."""

    def __init__(self, recipe: Recipe, run: Run = RUN) -> None:
        self._recipe, self._run = recipe, run.bare()

    @cached_property
    def detector(self) -> Detector:
        """The detector, made when it is first needed."""
        return self._recipe.make()

    def judge(self, shard: Shard) -> Outcome:
        """Return the predictions for a shard, or the reason why there are none."""
        problems, edition = Problems(), shard.edition
        try:
            with plug_in_errors():
                file = read(shard, problems)
                # Spark writes empty files into a folder.
                if problems.codes == {"empty"} and shard.name and shard.submission is None:
                    note = "no datapoints, so the predictions for this shard are empty"
                    return Outcome(shard.number, notes=(note,), weights=self.detector.identity)
                check_data(file, problems, edition)
                if problems.errors:
                    return Outcome(shard.number, problems=problems)
                made = predict_files(self.detector, [file], [shard.output], self._run, edition)
                (lines,), weights = made.files.values(), self.detector.identity
        except InvalidInput as error:
            return Outcome(shard.number, problems=error.problems)
        except ShroomError as error:
            return Outcome(shard.number, stop=str(error))
        return Outcome(shard.number, lines, problems, notes=made.notes, weights=weights)


def read(shard: Shard, problems: Problems) -> DataFile:
    """Return the datapoints of a shard; with errors among the problems, do not use them."""
    from pyarrow import ArrowException, parquet

    nothing, is_parquet = DataFile(shard.base, []), shard.base.lower().endswith(PARQUET)
    try:
        content = shard.place.read(shard.name)
        table = parquet.read_table(io.BytesIO(content)).to_pylist() if is_parquet else []
    except (ArrowException, OSError) as error:
        expected = "a Parquet file" if is_parquet else "a file"
        problems.add("file-unreadable", shard.input, expected, str(error))
        return nothing
    if not is_parquet:
        document = Document(shard.input, shard.base, content)
        return from_document(document, problems, shard.edition) or nothing
    # Parquet has every column in every row; null stands for a key that JSON would omit.
    rows = [{key: value for key, value in row.items() if value is not None} for row in table]
    if not rows:
        problems.add("empty", shard.input, "at least one item", "none")
    points = from_items(rows, shard.input, problems, shard.edition)
    return DataFile(shard.base, points, shard.input)
