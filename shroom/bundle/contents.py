"""The files of a bundle: of a zip or a folder, under the limits of :mod:`shroom.core.archives`."""

from __future__ import annotations

import io
import os
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shroom.core.archives import MAX_BYTES, MAX_LISTED, listed, report_too_large
from shroom.core.printing import show
from shroom.core.problems import Problems, ShroomError

_METADATA = ("metadata.yaml", "metadata")
_COMMAND = re.compile(rb"""^["']?command["']?\s*:\s*\S""", re.MULTILINE)


@dataclass(frozen=True)
class Contents:
    """The files of a bundle.

    Attributes
    ----------
    file : str
        Name of the bundle in messages.
    names : frozenset of str
        Names of its files.
    bytes_of : callable
        Returns the bytes of one of them; ``None``, with a problem, where it cannot be read.
    problems : Problems
        Gets what is wrong with the zip or folder itself.
    """

    file: str
    names: frozenset[str]
    bytes_of: Callable[[str], bytes | None]
    problems: Problems
    _read: dict[str, bytes | None] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Return whether the bundle has a file or folder of this name."""
        path = normal(name)
        return path in self.names or any(other.startswith(f"{path}/") for other in self.names)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file; ``None`` if there is none, or if it cannot be read."""
        path = normal(name)
        if path not in self.names:
            return None
        if path not in self._read:
            self._read[path] = self.bytes_of(path)
        return self._read[path]

    def program_problem(self, name: str) -> str:
        """Return why a program, in a zip or folder of the bundle, does not run; or nothing."""
        path = normal(name)
        if path in self.names:
            files = listed(io.BytesIO(self.read(path) or b""), name, self.problems, _METADATA)
        else:
            names = (f"{path}/{metadata}" for metadata in _METADATA)
            files = {posixpath.basename(file): self.read(file) for file in names if self.has(file)}
        metadata = next((name for name in _METADATA if name in files), None)
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


def opened(source: str | os.PathLike[str] | bytes, file: str = "the bundle") -> Contents:
    """Return the contents of a bundle.

    Parameters
    ----------
    source : path or bytes
        A zip, or a folder with what would be zipped.
    file : str
        Name of the bundle in messages, where it is not a path.

    Raises
    ------
    ShroomError
        If there is neither.
    """
    problems = Problems()
    if isinstance(source, bytes):
        return _of_zip(io.BytesIO(source), file, problems)
    path, file = Path(source), os.fspath(source)
    if path.is_dir():
        return _of_folder(path, problems)
    if not path.is_file():
        raise ShroomError(
            f"{file}: {'is not a file' if path.exists() else 'no such file or folder'}"
        )
    return _of_zip(path, file, problems)


def _of_zip(archive: Path | io.BytesIO, file: str, problems: Problems) -> Contents:
    names = {normal(name) for name in listed(archive, file, problems) if not name.endswith("/")}

    def bytes_of(path: str) -> bytes | None:
        read: Mapping[str, Any] = listed(archive, file, problems, (path, f"./{path}"))
        return read.get(path) or read.get(f"./{path}")

    return Contents(file, frozenset(names), bytes_of, problems)


def _of_folder(folder: Path, problems: Problems) -> Contents:
    names: set[str] = set()
    for parent, _, files in os.walk(folder):
        names.update(Path(parent, file).relative_to(folder).as_posix() for file in files)
        if len(names) > MAX_LISTED:
            problems.add("zip-members", str(folder), f"at most {MAX_LISTED} files", "more")
            break

    def bytes_of(path: str) -> bytes | None:
        target = folder / path
        if not target.is_file():
            problems.add("not-a-file", str(target), "a file", "another thing")
        elif target.stat().st_size > MAX_BYTES:
            report_too_large(str(target), problems, MAX_BYTES)
        else:
            return target.read_bytes()
        return None

    return Contents(str(folder), frozenset(names), bytes_of, problems)
