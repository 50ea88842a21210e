"""Finding the documents in what a user names: a file, a folder, a zip or a pipe.

Nothing is ever unpacked to disk: members are read in memory, under limits of count, size and ratio.
"""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Union

from shroom.decode import is_json
from shroom.problems import Problems

if TYPE_CHECKING:
    import gzip
    import zipfile
    from collections.abc import Iterator

Source = Union[str, "os.PathLike[str]"]

MAX_MEMBERS = 1000
#: Bytes of all documents out of one zip, or of one out of a gzip file.
MAX_BYTES = 1 << 30
#: Beyond a megabyte, predictions that shrink to less than this part are no predictions.
MAX_RATIO = 200
_RATIO_FROM = 1 << 20
_MAP_FROM = 1 << 24
#: How much of a file is looked at first; a longer line or row takes more.
_HEAD = 1 << 16

#: The name of what has none.
PIPE = "<stdin>"

#: What the names of JSON and of CSV files end in.
JSON = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
CSV = (".csv", ".csv.gz")
#: What a baseline's run leaves beside its submission; it is no part of it.
RUN_RECORD = "run.json"
_JUNK = {RUN_RECORD, "__MACOSX", "Thumbs.db", "desktop.ini", "metadata", "__pycache__"}


@dataclass(frozen=True)
class Document:
    """One file of predictions or data.

    Attributes
    ----------
    file : str
        How messages name it.
    base : str
        Its own name, without the folders.
    content : bytes or Path
        What is in it, or where that lies.
    member : bool
        Whether it was found in a folder or a zip, rather than named directly.
    """

    file: str
    base: str
    content: bytes | Path
    member: bool = False

    def is_lines(self, data: bytes | memoryview) -> bool:
        """Return whether it is JSON Lines: by its name or, if that does not tell, its first line.

        That is a whole object then; an object over several lines is no JSON Lines.
        """
        if self.base.lower().endswith(JSON):
            return self.base.lower().endswith((".jsonl", ".jsonl.gz"))
        return _begins_with_an_object(data)

    def read(self, problems: Problems) -> bytes | memoryview | None:
        """Return the bytes, inflated; or ``None``, with the reason among the problems."""
        data = self.packed(problems)
        if data is None or data[:2] != b"\x1f\x8b":
            return data
        import gzip
        import zlib

        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                return _inflate(stream, len(data), self.file, problems)
        except (OSError, EOFError, zlib.error) as error:
            problems.add("gzip-broken", self.file, "a gzip file", str(error))
            return None

    def packed(self, problems: Problems) -> bytes | memoryview | None:
        """Return the bytes as they are, gzipped or not; or ``None``, with the reason."""
        try:
            return self.content if isinstance(self.content, bytes) else _bytes_of(self.content)
        except OSError as error:
            problems.add("file-unreadable", self.file, "a file", error.strerror or "none")
            return None


def _begins_with_an_object(data: bytes | memoryview) -> bool:
    """Return whether the first line that is not blank is a whole JSON object."""
    line = b""
    for head in heads(data):
        line, *rest = head.lstrip(b"\xef\xbb\xbf \t\r\n").split(b"\n", 1)
        if rest or line[:1] not in (b"", b"{"):
            break
    return line.startswith(b"{") and is_json(line.decode("utf-8", "replace"))


def heads(data: bytes | memoryview) -> Iterator[bytes]:
    """Yield ever longer beginnings of what is in a file; the last one is the whole."""
    size = _HEAD
    while size < len(data):
        yield bytes(data[:size])
        size *= 16
    yield bytes(data)


def _bytes_of(path: Path) -> bytes | memoryview:
    """Return a file's bytes; those of a large one mapped, which spares copying them."""
    if path.stat().st_size < _MAP_FROM:
        return path.read_bytes()
    import mmap

    with path.open("rb") as stream:
        if hasattr(mmap, "MAP_POPULATE"):
            flags = mmap.MAP_PRIVATE | mmap.MAP_POPULATE
            return memoryview(mmap.mmap(stream.fileno(), 0, flags, mmap.PROT_READ))
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


@dataclass(frozen=True)
class _Wanted:
    """Which members of folders and zips are documents."""

    junk: bool
    endings: tuple[str, ...]

    @property
    def expected(self) -> str:
        return f"a {self.endings[0]} file"

    def __call__(self, name: str, place: str, problems: Problems) -> bool:
        """Return whether a member is one; what is neither one nor junk is reported."""
        if self.junk:
            return name.endswith(".json")
        if is_junk(name):
            return False
        if name.lower().endswith(self.endings):
            return True
        problems.add("file-ignored", place, self.expected, "another kind of file")
        return False


def is_pipe(source: Source) -> bool:
    """Return whether a source can be read only once: ``"-"`` or a named pipe."""
    path = Path(source)
    return os.fspath(source) == "-" or (path.exists() and not path.is_file() and not path.is_dir())


def documents(
    source: Source, problems: Problems, *, junk: bool = False, endings: tuple[str, ...] = JSON
) -> list[Document]:
    """Return the documents in a file, a folder, a zip or a pipe (``-``), by name.

    Parameters
    ----------
    source : path or "-"
        What the user named.
    problems : Problems
        Gets what is wrong with the container.
    junk : bool
        Whether to list what operating systems leave behind (``__MACOSX/._val…json``) as well, as
        the organisers' program does.
    endings : tuple of str
        What the names of members end in. A file that is named directly may have any name.
    """
    wanted = _Wanted(junk, endings)
    if os.fspath(source) == "-":
        if sys.stdin is None:
            problems.add("file-unreadable", PIPE, "a pipe", "none")
            return []
        return _stream_documents(sys.stdin.buffer, PIPE, problems, wanted)
    path = Path(source)
    if path.is_dir():
        return list(_folder_documents(path, problems, wanted))
    try:
        with path.open("rb") as stream:
            if not path.is_file():  # a named pipe, which can be read only once
                return _stream_documents(stream, str(source), problems, wanted)
            head = stream.read(4)
    except OSError as error:
        problems.add("file-unreadable", str(source), "a file", error.strerror or "no file")
        return []
    if head.startswith(b"PK") or path.suffix.lower() == ".zip":
        return list(_zip_documents(path, str(source), problems, wanted))
    return [Document(str(source), path.name, path)]


def documents_among_others(
    source: Source, problems: Problems, *, endings: tuple[str, ...] = JSON
) -> list[Document]:
    """Return the documents of gold or data: what else lies beside them is no matter."""
    found_wrong = Problems()
    found = documents(source, found_wrong, endings=endings)
    for problem in found_wrong:
        if problem.code != "file-ignored":
            problems.add(problem.code, problem.file, problem.expected, problem.found)
    return found


def _stream_documents(
    stream: IO[bytes], file: str, problems: Problems, wanted: _Wanted
) -> list[Document]:
    data = stream.read()
    if data.startswith(b"PK"):
        return list(_zip_documents(io.BytesIO(data), file, problems, wanted))
    return [Document(file, PIPE, data)]


def _folder_documents(folder: Path, problems: Problems, wanted: _Wanted) -> Iterator[Document]:
    found = 0

    def unreadable(error: OSError) -> None:
        file = str(error.filename or folder)
        problems.add("file-unreadable", file, "a folder", error.strerror or "none")

    for parent, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if wanted.junk or not is_junk(name))
        for name in sorted(files):
            path = Path(parent) / name
            if not wanted(name, str(path), problems):
                continue
            found += 1
            if not path.is_file():
                problems.add("file-unreadable", str(path), "a file", "a pipe or a broken link")
                continue
            if found > MAX_MEMBERS:
                expected = f"at most {MAX_MEMBERS} files"
                problems.add("zip-members", str(folder), expected, "more of them")
                return
            yield Document(str(path), name, path, member=True)
    if not found:
        problems.add("no-file", str(folder), wanted.expected, "none")


def _zip_documents(
    archive: Path | IO[bytes], file: str, problems: Problems, wanted: _Wanted
) -> Iterator[Document]:
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(archive) as opened:
            members = [
                info for info in opened.infolist() if not info.filename.endswith(("/", "\\"))
            ]
            if len(members) > MAX_MEMBERS:
                found = f"{len(members)}"
                problems.add("zip-members", file, f"at most {MAX_MEMBERS} members", found)
                return
            found_any, room = False, MAX_BYTES
            for info in sorted(members, key=lambda info: info.filename):
                name = info.filename.replace("\\", "/")
                place = f"{file}/{name}"
                if not name.endswith(".json") if wanted.junk else is_junk(name):
                    continue
                data = _member(opened, info, place, problems, room, wanted)
                room -= len(data or b"")
                found_any = found_any or data is None
                if data is None or not wanted(name, place, problems):
                    continue
                found_any = True
                base = PurePosixPath(name).name
                yield Document(place, base, data, member=True)
    except (  # all that zipfile is known to raise on damaged archives
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        LookupError,
        NotImplementedError,
        OSError,
        OverflowError,
        RuntimeError,
        ValueError,
    ) as error:
        problems.add("zip-broken", file, "a zip file", str(error) or type(error).__name__)
        return
    if not found_any:
        problems.add("no-file", file, wanted.expected, "none")


def _member(
    archive: zipfile.ZipFile,
    info: zipfile.ZipInfo,
    place: str,
    problems: Problems,
    room: int,
    wanted: _Wanted,
) -> bytes | None:
    """Return a member's bytes if it may be read; documents only, others count as empty."""
    stored, deflated = 0, 8
    if info.flag_bits & 0x1:
        problems.add("zip-encrypted", place, "a member without a password", "an encrypted one")
    elif place.lower().endswith(".zip"):
        problems.add("zip-nested", place, wanted.expected, "a zip within the zip")
    elif info.compress_type not in (stored, deflated):
        found = f"method {info.compress_type}"
        problems.add("zip-method", place, "a stored or deflated member", found)
    elif not place.lower().endswith(wanted.endings):
        return b""
    else:
        with archive.open(info) as stream:
            data = _inflate(stream, info.compress_size, place, problems, room)
        if data is not None and data.startswith(b"PK\x03\x04"):
            problems.add("zip-nested", place, wanted.expected, "a zip within the zip")
            return None
        return data
    return None


def _inflate(
    stream: IO[bytes] | gzip.GzipFile,
    packed: int,
    file: str,
    problems: Problems,
    room: int | None = None,
) -> bytes | None:
    """Return what the stream holds, or ``None`` as soon as it grows beyond the limits."""
    grown, size = io.BytesIO(), 0
    while chunk := stream.read(1 << 20):
        size += grown.write(chunk)
        if size > (MAX_BYTES if room is None else room):
            expected = f"at most {MAX_BYTES >> 20} MiB in all"
            problems.add("too-large", file, expected, "more")
            return None
        if size > _RATIO_FROM and size > MAX_RATIO * max(packed, 1):
            expected = f"at most {MAX_RATIO} times its packed size"
            problems.add("absurd-ratio", file, expected, f"over {size} bytes out of {packed}")
            return None
    return grown.getvalue()


def is_junk(name: str) -> bool:
    """Return whether a path within a folder or a zip is what systems and the kit leave there."""
    parts = [part for part in PurePosixPath(name).parts if part != ".."]
    return any(part in _JUNK or part.startswith(".") for part in parts)
