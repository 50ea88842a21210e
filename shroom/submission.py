"""Submissions as files: finding the documents in what a user names, and writing results whole.

A submission is a file, a folder, a zip or ``-`` for a pipe. Nothing is ever unpacked to disk:
members are read in memory, under limits of count, size and ratio.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Union

from shroom.problems import ShroomError, show

if TYPE_CHECKING:
    import gzip
    import zipfile
    from collections.abc import Iterator, Mapping

    from shroom.problems import Problems

Source = Union[str, "os.PathLike[str]"]

MAX_MEMBERS = 1000
#: Bytes of one document out of a zip or gzip file.
MAX_BYTES = 1 << 30
#: Beyond a megabyte, predictions that shrink to less than this part are no predictions.
MAX_RATIO = 200
_RATIO_FROM = 1 << 20
_MAP_FROM = 1 << 24

_ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
_JUNK = {"__MACOSX", "Thumbs.db", "desktop.ini", "metadata", "__pycache__"}
_NAME = re.compile(
    r"(?P<split>train|trial|val|test)\.model-(?P<track>aware|agnostic)(?:\.v(?P<version>\d+))?"
    r"\.jsonl?(?:\.gz)?"
)


@dataclass(frozen=True)
class Name:
    """What a file's name tells: ``val.model-aware.v2.json`` is version 2 of the aware val split."""

    split: str
    track: str
    version: int = 1

    @property
    def base(self) -> str:
        """The file name that a submission wants for it."""
        return f"{self.split}.{self.track}.json"

    @classmethod
    def parse(cls, name: str) -> Name | None:
        """Return what a well-formed name tells, or ``None``.

        Examples
        --------
        >>> Name.parse("val.model-aware.v2.json")
        Name(split='val', track='model-aware', version=2)
        >>> Name.parse("predictions.json") is None
        True
        """
        return cls._from(_NAME.fullmatch(PurePosixPath(name).name))

    @classmethod
    def guess(cls, name: str) -> Name | None:
        """Return what a name tells that may have other words around, such as a team's."""
        return cls._from(_NAME.search(PurePosixPath(name).name)) or cls._from(
            re.search(
                r"(?P<split>train|trial|val|test)\.model-(?P<track>aware|agnostic)(?P<version>)",
                PurePosixPath(name).name,
            )
        )

    @classmethod
    def _from(cls, match: re.Match[str] | None) -> Name | None:
        if match is None:
            return None
        version = int((match["version"] or "1")[:9])
        return cls(match["split"], f"model-{match['track']}", version)


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

    @property
    def lines(self) -> bool:
        """Whether the name says JSON Lines."""
        return self.base.lower().endswith((".jsonl", ".jsonl.gz"))

    def read(self, problems: Problems) -> bytes | memoryview | None:
        """Return the bytes, inflated; or ``None``, with the reason among the problems."""
        try:
            data = self.content if isinstance(self.content, bytes) else _bytes_of(self.content)
        except OSError as error:
            problems.add("file-unreadable", self.file, "a file", error.strerror or "none")
            return None
        if data[:2] != b"\x1f\x8b":
            return data
        import gzip
        import zlib

        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
                return _inflate(stream, len(data), self.file, problems)
        except (OSError, EOFError, zlib.error) as error:
            problems.add("gzip-broken", self.file, "a gzip file", str(error))
            return None


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


def documents(source: Source, problems: Problems, *, junk: bool = False) -> list[Document]:
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
    """
    if os.fspath(source) == "-":
        data = sys.stdin.buffer.read()
        if data.startswith(b"PK"):
            return list(_zip_documents(io.BytesIO(data), "<stdin>", problems, junk=junk))
        return [Document("<stdin>", "<stdin>", data)]
    path = Path(source)
    if path.is_dir():
        return list(_folder_documents(path, problems, junk=junk))
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError as error:
        problems.add("file-unreadable", str(source), "a file", error.strerror or "no file")
        return []
    if head.startswith(b"PK") or path.suffix.lower() == ".zip":
        return list(_zip_documents(path, str(source), problems, junk=junk))
    return [Document(str(source), path.name, path)]


def _folder_documents(folder: Path, problems: Problems, *, junk: bool) -> Iterator[Document]:
    found = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if junk or not _is_junk(name))
        for name in sorted(files):
            path = Path(parent) / name
            if not _wanted(name, str(path), problems, junk=junk):
                continue
            found += 1
            if found > MAX_MEMBERS:
                expected = f"at most {MAX_MEMBERS} files"
                problems.add("zip-members", str(folder), expected, "more of them")
                return
            yield Document(str(path), name, path, member=True)
    if not found:
        problems.add("no-file", str(folder), "a .json file", "none")


def _zip_documents(
    archive: Path | IO[bytes], file: str, problems: Problems, *, junk: bool
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
            found_any = False
            for info in sorted(members, key=lambda info: info.filename):
                name = info.filename.replace("\\", "/")
                place = f"{file}/{name}"
                if _is_junk(name) and not junk:
                    continue
                data = _member(opened, info, place, problems)
                found_any = found_any or data is None
                if data is None or not _wanted(name, place, problems, junk=junk):
                    continue
                found_any = True
                base = PurePosixPath(name).name
                yield Document(place, base, data, member=True)
    except (
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
        problems.add("no-file", file, "a .json file", "none")


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, place: str, problems: Problems
) -> bytes | None:
    """Return a member's bytes if it may be read; documents only, others count as empty."""
    stored, deflated = 0, 8
    if info.flag_bits & 0x1:
        problems.add("zip-encrypted", place, "a member without a password", "an encrypted one")
    elif place.lower().endswith(".zip"):
        problems.add("zip-nested", place, "a .json file", "a zip within the zip")
    elif info.compress_type not in (stored, deflated):
        found = f"method {info.compress_type}"
        problems.add("zip-method", place, "a stored or deflated member", found)
    elif not place.lower().endswith(_ENDINGS):
        return b""
    else:
        with archive.open(info) as stream:
            data = _inflate(stream, info.compress_size, place, problems)
        if data is not None and data.startswith(b"PK\x03\x04"):
            problems.add("zip-nested", place, "a .json file", "a zip within the zip")
            return None
        return data
    return None


def _inflate(
    stream: IO[bytes] | gzip.GzipFile, packed: int, file: str, problems: Problems
) -> bytes | None:
    """Return what the stream holds, or ``None`` as soon as it grows beyond the limits."""
    chunks, size = [], 0
    while chunk := stream.read(1 << 20):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            expected = f"at most {MAX_BYTES >> 20} MiB"
            problems.add("too-large", file, expected, "more")
            return None
        if size > _RATIO_FROM and size > MAX_RATIO * max(packed, 1):
            expected = f"at most {MAX_RATIO} times its packed size"
            problems.add("absurd-ratio", file, expected, f"over {size} bytes out of {packed}")
            return None
    return b"".join(chunks)


def _is_junk(name: str) -> bool:
    return any(part in _JUNK or part.startswith(".") for part in PurePosixPath(name).parts)


def _wanted(name: str, place: str, problems: Problems, *, junk: bool) -> bool:
    if junk:
        return name.endswith(".json")
    if _is_junk(name):
        return False
    if name.lower().endswith(_ENDINGS):
        return True
    problems.add("file-ignored", place, "a .json file", "another kind of file")
    return False


def named(
    found: list[Document], problems: Problems, splits: tuple[str, ...] = ()
) -> list[Document]:
    """Return the documents of a submission whose names are right, reporting the others.

    A file that is named directly may have any name; a member of a folder or a zip must tell its
    split and track, and be the only one that does.

    Parameters
    ----------
    found : list of Document
        All documents of a submission.
    problems : Problems
        Gets ``file-name`` and ``file-twice``.
    splits : tuple of str
        The splits that are wanted; any by default.
    """
    wanted = "{" + ",".join(splits or ("val", "test")) + "}" if len(splits) != 1 else splits[0]
    expected_name = f"a name like {wanted}.model-{{agnostic,aware}}.json"
    first: dict[tuple[str, str], str] = {}
    kept = []
    for document in found:
        name = Name.parse(document.base)
        if not document.member:
            kept.append(document)
        elif name is None or (splits and name.split not in splits):
            problems.add("file-name", document.file, expected_name, show(document.base))
        elif (name.split, name.track) in first:
            other = first[name.split, name.track]
            expected = f"one file for the {name.track} track"
            problems.add("file-twice", document.file, expected, f"another beside {other}")
        else:
            first[name.split, name.track] = document.file
            kept.append(document)
    return kept


def latest(found: list[Document]) -> dict[tuple[str, str], Document]:
    """Return the latest version for each split and track among well-named documents."""
    best: dict[tuple[str, str], tuple[int, Document]] = {}
    for document in found:
        name = Name.parse(document.base)
        if name is not None:
            key = name.split, name.track
            if key not in best or name.version > best[key][0]:
                best[key] = name.version, document
    return {key: document for key, (_, document) in best.items()}


def write_atomically(path: Source, content: str | bytes) -> None:
    """Write a file whole or not at all: beside the target first, then moved into place.

    Raises
    ------
    ShroomError
        Where it cannot be written.
    """
    import tempfile

    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".shroom-")
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mode = target.stat().st_mode if target.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode & 0o7777)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise ShroomError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink()


def write_files(out: Source, files: dict[str, str]) -> None:
    """Write a submission as ``out`` names it: a ``.zip``, one file, or a folder.

    One file goes to ``out`` itself if that has an ending, several into a folder.
    """
    path = Path(out)
    if path.suffix.lower() == ".zip":
        write_atomically(path, zipped(files))
    elif len(files) == 1 and path.suffix and not path.is_dir():
        write_atomically(path, _encoded(path.name, next(iter(files.values()))))
    else:
        for name, text in files.items():
            write_atomically(path / name, text)


def _encoded(name: str, text: str) -> bytes:
    """Return the JSON text of a list as the file's name wants it."""
    if name.endswith((".jsonl", ".jsonl.gz")):
        text = "".join(json.dumps(row) + "\n" for row in json.loads(text))
    if not name.endswith(".gz"):
        return text.encode()
    import gzip

    return gzip.compress(text.encode(), mtime=0)


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    """Return a zip of these files; the same files give the same bytes.

    Examples
    --------
    >>> zipped({"b": "1", "a": "2"}) == zipped({"a": "2", "b": "1"})
    True
    """
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in sorted(files.items()):
            member = zipfile.ZipInfo(name)  # its time is fixed, and 1980
            member.external_attr = 0o644 << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
