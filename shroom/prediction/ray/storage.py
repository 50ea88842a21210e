"""Files on this machine and in object stores: a path, or a URI such as ``s3://bucket/folder``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError


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
