"""Files here and in object stores, alike: by a path, or by a URI such as ``s3://bucket/folder``."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.append_only import locked
from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager


@dataclass(frozen=True)
class Stored:
    """One file.

    Attributes
    ----------
    name : str
        Its path below the folder that was named, with slashes.
    size : int
        In bytes.
    modified : int or None
        When it was last written, in nanoseconds since 1970, where the store reports it.
    """

    name: str
    size: int
    modified: int | None


class Place:
    """A folder or a file, wherever it lies.

    Parameters
    ----------
    address : str
        A path, or a URI: what pyarrow reads by itself (``file``, ``s3``, ``gs``, ``hdfs``, ...) or
        what fsspec does.

    Raises
    ------
    ShroomError
        Where nothing here can read such a URI.

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
        """Return the path or URI of a file below; without a name, that of the place itself."""
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
            Where there is nothing, or the store does not answer.
        """
        kind = self._told(lambda: self._system.get_file_info(self._path)).type.name
        if kind == "NotFound":
            raise ShroomError(f"{self.address}: there is no such file or folder")
        return bool(kind == "File")

    def files(self) -> list[Stored]:
        """Return the files of a folder and those below, by name; none if it is not a folder."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._path, recursive=True, allow_not_found=True)
        return sorted(
            self._stored(self._told(lambda: self._system.get_file_info(selector))),
            key=lambda file: file.name,
        )

    def itself(self) -> Stored:
        """Return the one file that it is, under its own name."""
        (info,) = self._stored([self._told(lambda: self._system.get_file_info(self._path))])
        return Stored(self._path.rpartition("/")[2], info.size, info.modified)

    def read(self, name: str = "") -> bytes:
        """Return what is in a file below, or in the one file that it is.

        Raises
        ------
        OSError
            Where it cannot be read.
        """
        # As it is: names that end in .gz would be inflated here, without limits.
        with self._system.open_input_stream(self._below(name), compression=None) as stream:
            return bytes(stream.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a file below whole or not at all.

        Raises
        ------
        ShroomError
            Where it cannot be written.
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

        self._told(write)

    def alone(self, name: str, way_out: str) -> AbstractContextManager[object]:
        """Keep other runs out while the context lasts; in an object store, nothing can.

        Parameters
        ----------
        name : str
            The file below that is locked; it is there as long as the context lasts.
        way_out : str
            What to do where another run is at it.

        Raises
        ------
        ShroomError
            Where another run is at it, or nothing can be written.
        """
        return nullcontext() if self._is_uri else locked(Path(self.address, name), way_out)

    def _below(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}" if name else self._path

    def _stored(self, infos: list[Any]) -> Iterator[Stored]:
        root = self._path.strip("/")
        for info in infos:
            if info.type.name == "File":
                name = info.path.strip("/")[len(root) :].lstrip("/")
                yield Stored(name, int(info.size or 0), info.mtime_ns)

    def _told(self, asked: Any) -> Any:
        """Return the answer of the store; an error there becomes a sentence."""
        try:
            return asked()
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
        raise ShroomError(f"{address}: no file system can be had for it: {error}") from error
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path
