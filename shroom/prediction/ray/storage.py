"""Files on this machine and in object stores: a path, or a URI such as ``s3://bucket/folder``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shroom.core.append_only import locked
from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError


@dataclass(frozen=True)
class Stored:
    """One file.

    Attributes
    ----------
    name : str
        Path below the folder that was named, with slashes.
    size : int
        Size in bytes.
    modified : int or None
        Time of the last change in nanoseconds since 1970, if the store reports it.
    """

    name: str
    size: int
    modified: int | None


class Place:
    """A folder or a file, local or in an object store.

    Parameters
    ----------
    address : str
        A path, or a URI that pyarrow reads (``file``, ``s3``, ``gs``, ``hdfs``, ...) or fsspec.

    Raises
    ------
    ShroomError
        If no installed library reads such a URI.

    Examples
    --------
    >>> place = Place("shroom/sample")
    >>> [file.name for file in place.files() if file.name.endswith(".json")]
    ['val.model-agnostic.json', 'val.model-aware.json']
    >>> place.read("val.model-aware.json")[:1]
    b'['
    """

    def __init__(self, address: str) -> None:
        self._is_uri = "://" in address
        self.address = address if self._is_uri else os.path.abspath(address)  # noqa: PTH100 - no links
        self._system, self._path = _opened(self.address)

    def of(self, name: str) -> str:
        """Return the path or URI of a file below it; without a name, that of the place itself."""
        before, mark, query = (
            self.address.partition("?") if self._is_uri else (self.address, "", "")
        )
        return before.rstrip("/") + f"/{name}" * bool(name) + mark + query

    @cached_property
    def is_file(self) -> bool:
        """Whether it is one file.

        Raises
        ------
        ShroomError
            If nothing exists there, or the store does not answer.
        """
        kind = self._answer(lambda: self._system.get_file_info(self._path)).type.name
        if kind == "NotFound":
            raise ShroomError(f"{self.address}: there is no such file or folder")
        return bool(kind == "File")

    def files(self) -> list[Stored]:
        """Return the files in and below a folder, by name; an empty list if it is not a folder."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._path, recursive=True, allow_not_found=True)
        return sorted(
            self._stored(self._answer(lambda: self._system.get_file_info(selector))),
            key=lambda file: file.name,
        )

    def itself(self) -> Stored:
        """Return the file itself, under its own name."""
        (info,) = self._stored([self._answer(lambda: self._system.get_file_info(self._path))])
        return Stored(self._path.rpartition("/")[2], info.size, info.modified)

    def read(self, name: str = "") -> bytes:
        """Return the content of a file below it, or of the file itself.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        # As it is: names that end in .gz would be inflated here, without limits.
        with self._system.open_input_stream(self._below(name), compression=None) as stream:
            return bytes(stream.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a file below it completely or not at all.

        Raises
        ------
        ShroomError
            If it cannot be written.
        """
        if not self._is_uri:
            write_atomically(Path(self.address) / name, content)
            return
        path = self._below(name)

        def write() -> None:
            self._system.create_dir(path.rpartition("/")[0], recursive=True)
            # An object comes to be when its last byte has arrived.
            with self._system.open_output_stream(path, compression=None) as stream:
                stream.write(content)

        self._answer(write)

    def alone(self, name: str) -> AbstractContextManager[object]:
        """Exclude other runs within the context by a lock; an object store has none.

        Parameters
        ----------
        name : str
            The file to lock; it exists within the context.

        Raises
        ------
        ShroomError
            If another run has the lock, or nothing can be written.
        """
        way_out = "wait for its end, or name another folder"
        return nullcontext() if self._is_uri else locked(Path(self.address, name), way_out)

    def _below(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}" if name else self._path

    def _stored(self, infos: list[Any]) -> Iterator[Stored]:
        root = self._path.strip("/")
        for info in infos:
            if info.type.name == "File":
                name = info.path.strip("/")[len(root) :].lstrip("/")
                yield Stored(name, int(info.size or 0), info.mtime_ns)

    def _answer(self, ask: Any) -> Any:
        """Return the answer of the store; its errors become :class:`ShroomError`."""
        try:
            return ask()
        except (OSError, ValueError) as error:
            raise ShroomError(f"{self.address}: {error}") from error


def _opened(address: str) -> tuple[Any, str]:
    """Return the file system of a path or URI, and the path in it."""
    try:
        from pyarrow import fs
    except ImportError as error:
        raise ShroomError(
            f"{address}: to read it, pyarrow is needed: {install_hint('ray')}"
        ) from error
    if "://" not in address:
        return fs.LocalFileSystem(), address
    try:
        return fs.FileSystem.from_uri(address)  # type: ignore[no-any-return]
    except ValueError:  # not one of pyarrow's own
        pass
    except OSError as error:
        raise ShroomError(f"{address}: {error}") from error
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(address)
    except (ImportError, OSError, ValueError) as error:
        raise ShroomError(f"{address}: no file system is available for it: {error}") from error
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path
