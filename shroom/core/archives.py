"""The documents in folders and zips, read within limits, and file formats that are refused."""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Optional, Union, cast

from shroom.core.paths import is_junk, is_readme
from shroom.core.problems import Problems

#: Members of one zip, or files in one folder.
MAX_MEMBERS = 1000
#: Members of a zip from which only some files are read.
MAX_LISTED = 20_000
#: Bytes of a submission, uncompressed: a file, or all documents of a zip.
MAX_BYTES = 96 << 20
#: Bytes of data and gold from a zip, a gzip file or a pipe.
MAX_DATA = 1 << 30
#: Larger files with a higher compression ratio are refused as zip bombs. Repetitive texts may
#: have such a ratio, but not this size.
MAX_RATIO, RATIO_FROM = 200, 1 << 26
#: The exceptions that damaged archives raise.
DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, EOFError, LookupError, OSError, OverflowError),
    *(RuntimeError, ValueError),
)
_AS_RECORDS = 'save the data frame with to_json(orient="records")'
_AS_ZIP = "unpack it, and submit the files or a zip of them"
_AS_JSON = "save it as JSON, JSON Lines or CSV"
_TAR = "a tar archive"
#: For each format: the advice, the endings of file names, and the first bytes.
_FORMATS: dict[str, tuple[str, tuple[str, ...], tuple[bytes, ...]]] = {
    "a Parquet file": (_AS_RECORDS, (".parquet", ".pq"), (b"PAR1",)),
    "a Feather or Arrow file": (_AS_RECORDS, (".feather", ".arrow"), (b"ARROW1", b"FEA1")),
    "an old Excel or Word file": ("save it as CSV", (".xls", ".doc"), (b"\xd0\xcf\x11\xe0",)),
    "an Excel workbook": ("save it as CSV", (".xlsx", ".xlsm", ".xlsb"), ()),
    _TAR: (_AS_ZIP, (".tar", ".tar.gz", ".tgz"), ()),
    "an xz file": (_AS_ZIP, (".xz",), (b"\xfd7zXZ\0",)),
    "a Zstandard file": (_AS_ZIP, (".zst", ".zstd"), (b"\x28\xb5\x2f\xfd",)),
    "a bzip2 file": (_AS_ZIP, (".bz2",), (b"BZh",)),
    "a 7-Zip archive": (_AS_ZIP, (".7z",), (b"7z\xbc\xaf\x27\x1c",)),
    "a RAR archive": (_AS_ZIP, (".rar",), (b"Rar!\x1a\x07",)),
    "an HDF5 file": (_AS_JSON, (".h5", ".hdf5"), (b"\x89HDF",)),
    "an SQLite database": (_AS_JSON, (".sqlite", ".db"), (b"SQLite format 3\0",)),
    "a PDF": (_AS_JSON, (".pdf",), (b"%PDF",)),
    "a pickle, which is never opened because it could run code": (
        _AS_JSON,
        (".pkl", ".pickle"),
        (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
    ),
}

#: The name of each file in messages, its own name, and its path or bytes.
Members = Iterator[tuple[str, str, Union[Path, bytes]]]


class Refused(Exception):  # noqa: N818 - it is no error of the program
    """A refused file: the code of the problem, and what was expected and found."""

    def report(self, file: str, problems: Problems) -> None:
        """Add the problem of a file."""
        problems.add(self.args[0], file, *self.args[1:])


def too_large(most: int) -> Refused:
    """Return the refusal of a file with more than ``most`` bytes."""
    return Refused("too-large", f"at most {most / (1 << 20):.0f} MiB in total", "more")


def other_format(form: str) -> Refused:
    """Return the refusal of a file in an unsupported format."""
    return Refused("file-format", "JSON, JSON Lines, CSV or a zip of these", form)


def format_of(data: bytes, name: str = "") -> str | None:
    """Return the unsupported format of a file, with advice; ``None`` for any other file."""
    is_tar = data[257:262] == b"ustar"
    for form, (advice, endings, starts) in _FORMATS.items():
        is_named = not data and name.lower().endswith(endings)
        if (form == _TAR) if is_tar else (is_named or data.startswith(starts)):
            return f"{form} ({advice})"
    return None


def is_absurd(size: int, packed: int) -> bool:
    """Return whether ``size`` bytes from ``packed`` compressed bytes are too many."""
    return size > max(RATIO_FROM, MAX_RATIO * packed)


@dataclass(frozen=True)
class Selection:
    """Which members of folders and zips are documents."""

    #: Name of a document in messages.
    expected: str
    #: The limit of bytes of all documents together.
    most: int
    is_document: Callable[[str], bool]
    #: Whether files of the operating system are included; then all but ``.json`` is ignored.
    junk: bool = False
    #: Whether other files are ignored without a report.
    others: bool = False

    def passes_over(self, name: str) -> bool:
        """Return whether a member is silently ignored."""
        return not name.endswith(".json") if self.junk else is_junk(name)

    def takes(self, name: str, place: str, problems: Problems) -> bool:
        """Return whether a member is a document; report all others except junk and READMEs."""
        if self.passes_over(name):
            return False
        is_document = self.is_document(name)
        if not (is_document or is_readme(name) or self.others):
            found = format_of(b"", name) or "another kind of file"
            problems.add("file-ignored", place, self.expected, found)
        return is_document


def members(
    container: Path | io.BytesIO, file: str, problems: Problems, selection: Selection
) -> Members:
    """Yield the documents of a folder or a zip, sorted: name in messages, own name, content."""
    # Reading a damaged zip stops at the damage.
    before, is_empty = problems.errors, True
    is_folder = isinstance(container, Path) and container.is_dir()
    for member in (_in_folder if is_folder else _in_zip)(container, file, problems, selection):
        is_empty = False
        yield member
    if is_empty and problems.errors == before:
        problems.add("no-file", file, selection.expected, "none")


def _in_folder(folder: Any, file: str, problems: Problems, selection: Selection) -> Members:
    def unreadable(error: OSError) -> None:
        place = str(error.filename or folder)
        problems.add("file-unreadable", place, "a folder", error.strerror or "none")

    count = 0
    for parent, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if selection.junk or not is_junk(name))
        for name in sorted(files):
            path = Path(parent) / name
            if not selection.takes(name, str(path), problems):
                continue
            count += 1
            if not path.is_file():
                problems.add("file-unreadable", str(path), "a file", "a pipe or a broken link")
            elif count > MAX_MEMBERS:
                problems.add("zip-members", file, f"at most {MAX_MEMBERS} files", "more")
                return
            else:
                yield str(path), name, path


def _in_zip(archive: Any, file: str, problems: Problems, selection: Selection) -> Members:
    with _refusal_reported(file, problems), zipfile.ZipFile(archive) as opened:
        infos = [info for info in opened.infolist() if not info.filename.endswith(("/", "\\"))]
        names = {info.filename for info in infos}
        if "[Content_Types].xml" in names and any(name.startswith("xl/") for name in names):
            raise other_format(str(format_of(b"", ".xlsx")))
        _check_number(infos, MAX_MEMBERS)
        room = selection.most
        for info in sorted(infos, key=lambda info: info.filename):
            name = info.filename.replace("\\", "/")
            place = f"{file}/{name}"
            if selection.passes_over(name):
                continue
            try:
                data = _read(opened, info, room, selection)
            except Refused as refused:
                refused.report(place, problems)
                if refused.args[0] in ("too-large", "absurd-ratio"):
                    return  # a small zip with many such members would take minutes
                continue
            room -= len(data)
            if selection.takes(name, place, problems):
                yield place, PurePosixPath(name).name, data


def listed(
    archive: Path | io.BytesIO, file: str, problems: Problems, wanted: Collection[str] = ()
) -> dict[str, bytes | None]:
    """Return the members of a zip by name: the bytes of wanted files, otherwise ``None``."""
    names, room = dict[str, Optional[bytes]](), MAX_BYTES
    with _refusal_reported(file, problems), zipfile.ZipFile(archive) as opened:
        _check_number(opened.infolist(), MAX_LISTED)
        for info in opened.infolist():
            name = info.filename.replace("\\", "/")
            names[name] = None
            if name in wanted:
                try:
                    names[name] = data = _read(opened, info, room)
                    room -= len(data)
                except Refused as refused:
                    refused.report(f"{file}/{name}", problems)
    return names


@contextmanager
def _refusal_reported(file: str, problems: Problems) -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        refused.report(file, problems)
    except DAMAGES as error:
        found = f"a damaged file ({error or type(error).__name__})"
        problems.add("zip-broken", file, "a zip file", found)


def _check_number(infos: Collection[zipfile.ZipInfo], most: int) -> None:
    if len(infos) > most:
        raise Refused("zip-members", f"at most {most} files", f"{len(infos)}")


def _read(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, room: int, selection: Selection | None = None
) -> bytes:
    """Return the bytes of a member; no bytes if it is not selected."""
    nested = Refused("zip-nested", selection.expected if selection else "", "a zip within the zip")
    if info.flag_bits & 0x1:
        raise Refused("zip-encrypted", "a file without a password", "an encrypted file")
    if selection and info.filename.lower().endswith(".zip"):
        raise nested
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        method = f"compression method {info.compress_type}"
        raise Refused("zip-method", "a stored or deflated file", method)
    if selection and not selection.is_document(info.filename.replace("\\", "/")):
        return b""
    # Members of zips made on Unix, whose system is 3, may have a type.
    if info.create_system == 3 and stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
        raise Refused("not-a-file", "a file", "a link or another special file")
    with cast("zipfile.ZipExtFile", archive.open(info)) as stream:
        if selection and stream.peek(4)[:4] == b"PK\x03\x04":
            raise nested
        return _inflated(stream, info.compress_size, room)


def gunzipped(data: bytes, most: int) -> bytes:
    """Return the content of a gzip file; raise :class:`Refused` if it is damaged or too large."""
    import gzip

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            return _inflated(stream, len(data), most)
    except (OSError, EOFError, zlib.error) as error:
        found = f"a damaged file ({error or type(error).__name__})"
        raise Refused("gzip-broken", "a gzip file", found) from error


def _inflated(stream: io.BufferedIOBase, packed: int, room: int) -> bytes:
    """Return the decompressed content of a stream of ``packed`` bytes, within the limits."""
    grown, size = io.BytesIO(), 0
    while chunk := stream.read(1 << 20):
        size += grown.write(chunk)
        if size > room:
            raise too_large(room)
        if is_absurd(size, packed):
            expected = f"at most {MAX_RATIO} times the compressed size"
            got = f"more than {size} bytes from {packed} compressed bytes"
            raise Refused("absurd-ratio", expected, got)
    return grown.getvalue()
