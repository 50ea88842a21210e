"""The files of a bundle: of a zip, under the limits of :mod:`shroom.core.archives`, or a folder."""

from __future__ import annotations

import io
import os
import posixpath
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from shroom.core.archives import listed
from shroom.core.printing import show
from shroom.core.problems import Problems, ShroomError

_METADATA = ("metadata.yaml", "metadata")
_OUTSIDE = re.compile(r"/|[A-Za-z]:|\.\.(?:/|$)")
_COMMAND = re.compile(rb"""^["']?command["']?\s*:\s*\S""", re.MULTILINE)


@dataclass
class Contents:
    """The files of a bundle.

    Attributes
    ----------
    file : str
        Name of the bundle in messages.
    source : path or binary file
        A zip, or a folder with what would be zipped.
    problems : Problems
        Gets what is wrong with the zip itself.
    """

    file: str
    source: Path | io.BytesIO
    problems: Problems = field(default_factory=Problems)
    _read: dict[str, bytes | None] = field(default_factory=dict)

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of the files as they are, by their names in one form."""
        if isinstance(self.source, Path) and self.source.is_dir():
            paths = (path for path in self.source.rglob("*") if path.is_file())
            files = [path.relative_to(self.source).as_posix() for path in paths]
        else:
            members = listed(self.source, self.file, self.problems)
            files = [name for name in members if not name.endswith("/")]
        return {normal(name): name for name in files}

    @property
    def outside(self) -> list[str]:
        """The names that lead out of the bundle, wherever it is unpacked."""
        return [name for path, name in self.names.items() if _OUTSIDE.match(path)]

    def has(self, name: str) -> bool:
        """Return whether the bundle has a file or folder of this name."""
        path = normal(name)
        return path in self.names or any(other.startswith(f"{path}/") for other in self.names)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file; ``None`` if there is none, or if it cannot be read."""
        path = normal(name)
        if path in self.names and path not in self._read:
            own = self.names[path]
            if isinstance(self.source, Path) and self.source.is_dir():
                self._read[path] = (self.source / own).read_bytes()
            else:
                self._read[path] = listed(self.source, self.file, self.problems, (own,))[own]
        return self._read.get(path)

    def program_problem(self, name: str) -> str:
        """Return why a program, in a zip or folder of the bundle, does not run; or nothing."""
        if normal(name) in self.names:
            files = listed(io.BytesIO(self.read(name) or b""), name, self.problems, _METADATA)
        else:
            files = {key: self.read(f"{name}/{key}") for key in _METADATA}
            files = {key: content for key, content in files.items() if content is not None}
        metadata = next((key for key in _METADATA if key in files), None)
        if metadata is None:
            return f"expected metadata.yaml or metadata at its top, got {show(sorted(files)[:5])}"
        if not _COMMAND.search(files[metadata] or b""):
            return f"expected a command in {metadata}, got none"
        return ""


def normal(name: str) -> str:
    """Return a path inside a bundle in one form; what lies outside stays outside.

    Examples
    --------
    >>> normal("./pages//terms.md"), normal("../terms.md")
    ('pages/terms.md', '../terms.md')
    """
    return posixpath.normpath(name.replace("\\", "/"))


def opened(source: str | os.PathLike[str] | bytes, file: str) -> Contents:
    """Return the contents of a zip or a folder, or of the bytes of a zip with a name for messages.

    Raises
    ------
    ShroomError
        If there is neither.
    """
    if isinstance(source, bytes):
        return Contents(file, io.BytesIO(source))
    path = Path(source)
    if not path.is_dir() and not path.is_file():
        reason = "not a file or folder" if path.exists() else "no such file or folder"
        raise ShroomError(f"{path}: {reason}")
    return Contents(os.fspath(source), path)
