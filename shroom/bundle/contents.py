"""The files of a bundle: a folder, or a zip within the limits of :mod:`shroom.core.archives`."""

from __future__ import annotations

import functools
import io
import os
import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from shroom.core.archives import listed
from shroom.core.printing import show
from shroom.core.problems import Problems, ShroomError

#: The first bytes of the images that the platform accepts: PNG, JPEG, GIF and WebP.
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
_METADATA = ("metadata.yaml", "metadata")
_OUTSIDE = re.compile(r"/|[A-Za-z]:|\.\.(?:/|$)")
_COMMAND = re.compile(rb"""^["']?command["']?\s*:\s*\S""", re.MULTILINE)


class Contents:
    """The files of a zip or a folder; ``problems`` are the problems of the zip."""

    def __init__(self, source: str | os.PathLike[str] | bytes, file: str) -> None:
        self.file = file if isinstance(source, bytes) else os.fspath(source)
        self.problems = Problems()
        archive = io.BytesIO(source) if isinstance(source, bytes) else Path(source)
        readers: dict[str, Callable[[], bytes | None]] = {}
        if isinstance(archive, io.BytesIO) or archive.is_file():
            for name in listed(archive, self.file, self.problems):
                if not name.endswith("/"):
                    readers[name] = functools.cache(
                        lambda name=name: listed(archive, self.file, self.problems, (name,))[name]
                    )
        elif archive.is_dir():
            for path in archive.rglob("*"):
                if path.is_file():
                    readers[path.relative_to(archive).as_posix()] = path.read_bytes
        else:
            reason = "is not a file or folder" if archive.exists() else "does not exist"
            raise ShroomError(f"{archive} {reason}")
        #: A function that reads each file, by its normalised name.
        self.files = {_normal(name): read for name, read in readers.items()}
        #: The names that lead out of the bundle when it is unpacked.
        self.outside = [name for name in readers if _OUTSIDE.match(_normal(name))]

    def read(self, name: object) -> bytes:
        content = self.files.get(_normal(name), lambda: None)()
        if content is None:
            raise ShroomError(f"expected a file of the bundle, got {show(name)}")
        return content

    def is_image(self, name: object) -> bool:
        return self.read(name).startswith(_IMAGES)

    def is_text(self, name: object) -> bool:
        text = self.read(name).decode("utf-8", "replace")
        if not text.strip():
            raise ShroomError(f"expected a text file, got the empty file {show(name)}")
        if "\ufffd" in text:
            raise ShroomError(f"expected a UTF-8 text file, got {show(name)}")
        return True

    def has(self, name: object) -> bool:
        """Return whether there is a file or folder with this name."""
        path = _normal(name)
        return path in self.files or any(other.startswith(f"{path}/") for other in self.files)

    def is_program(self, name: object) -> bool:
        """Return true; raise an error if a zip or folder contains no command to run."""
        path = _normal(name)
        if path in self.files:
            files = listed(
                io.BytesIO(self.files[path]() or b""), str(name), self.problems, _METADATA
            )
        else:
            inside = {key: f"{path}/{key}" for key in _METADATA}
            files = {key: self.read(own) for key, own in inside.items() if self.has(own)}
        metadata = next((key for key in _METADATA if key in files), None)
        if metadata is None and self.has(name):  # the schema reports a missing program
            top = show(sorted(files)[:5])
            raise ShroomError(f"expected metadata.yaml or metadata at the top level, got {top}")
        if metadata and not _COMMAND.search(files[metadata] or b""):
            raise ShroomError(f"expected a command in {metadata}, got none")
        return True


def _normal(name: object) -> str:
    """Return a normalised path; a path outside the bundle stays outside."""
    return posixpath.normpath(str(name).replace("\\", "/"))
