"""The public files of each data set: their sources, their places, and how to download them."""

from __future__ import annotations

import hashlib
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec.toml

from shroom.core.archives import DAMAGES
from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import require
from shroom.core.paths import cache_folder, data_folder_problem, in_data_folder, shown_path
from shroom.core.printing import counted
from shroom.core.problems import Problems, ShroomError, printable, show
from shroom.datasets.collection import Collection
from shroom.datasets.registry import data_set

#: Called with the bytes received, the bytes expected (0 if unknown) and the URL.
Report = Callable[[int, int, str], None]

#: Seconds to wait for a server that does not respond.
TIMEOUT = 30.0
#: Maximum bytes of a download of unknown size.
MOST = 2 << 30
#: The folders in ``SHROOM_DATA`` whose names differ from the data set's.
_FOLDERS = {"queries": "verifiability/queries"}
#: Errors raised by reading a damaged archive.
_DAMAGES: tuple[type[Exception], ...] = (tarfile.TarError, *DAMAGES)


@dataclass(frozen=True)
class File:
    """A public file."""

    name: str  # name under which it is stored
    licence: str  # as stated by its source
    urls: tuple[str, ...] = ()  # the origin first
    # Zip and tar files that contain it under any name: it is identified by its hash.
    archives: tuple[str, ...] = ()
    size: int | None = None  # in bytes
    sha256: str | None = None  # ``None`` if unknown


@dataclass(frozen=True)
class Source:
    """The public files of one data set."""

    files: tuple[File, ...]  # files that are downloaded
    by_hand: str = ""  # further files and where to get them; empty if there are none


@dataclass(frozen=True)
class Stored:
    """A file of a data set that is present."""

    file: str  # its name
    sha256: str  # its hash, verified or not
    verified: bool  # whether its hash is the known hash of the public file
    url: str | None = None  # the URL it was downloaded from; ``None`` if it already existed


_TABLES = Path(__file__).with_name("sources.toml").read_bytes()
#: By name of the data set.
SOURCES = msgspec.toml.decode(_TABLES, type=dict[str, Source])


def source(name: str) -> Source:
    """Return the list of public files of a data set."""
    described = data_set(name)
    if name not in SOURCES:
        raise ShroomError(f"the kit cannot download {name}; for its files, see {described.source}")
    return SOURCES[name]


def cached(name: str) -> Path | None:
    """Return the folder of a downloaded data set, or ``None`` if one of its files is missing."""
    # Files are identified by name and size, which is fast: fetching has verified their hashes.
    listed = SOURCES.get(data_set(name).name)
    folder = cache_folder(name)
    files = [(folder / file.name, file.size) for file in listed.files] if listed else []
    is_whole = all(path.is_file() and size in (None, path.stat().st_size) for path, size in files)
    return folder if listed and is_whole else None


def place_of(name: str) -> Path | None:
    """Return the folder of a data set in ``SHROOM_DATA``, or else of its downloaded files."""
    places = map(in_data_folder, (name, _FOLDERS.get(name, name)))
    there = next((place for place in places if place and place.is_dir()), None)
    return Path(shown_path(there)) if there else cached(name)


def path_here(name: str) -> Path:
    """Return the folder of a data set on this machine, from :func:`place_of`."""
    if place := place_of(name):
        return place
    problem = data_folder_problem()
    raise ShroomError(
        f"{name} is not on this machine{problem and f' ({problem})'}: specify its files, set "
        f"SHROOM_DATA to the folder that contains {name}, or run 'shroom datasets fetch {name}'"
    )


def read_here(name: str, problems: Problems) -> Collection[Any]:
    """Return a data set on this machine."""
    return data_set(name).read(path_here(name), problems=problems)


def present_files(listing: Source, folder: Path) -> dict[str, Stored]:
    """Return the files of a data set that a folder contains, by name."""
    present = {}
    for file in listing.files:
        path = folder / file.name
        if not path.exists():
            continue
        stored = present[file.name] = _stored_at(file, path)
        if file.sha256 and not stored.verified:
            raise ShroomError(
                f"{path} differs from the public file: expected sha256 {file.sha256}, got "
                f"{stored.sha256}; to replace it, add --force"
            )
    return present


def _stored_at(file: File, path: Path, url: str | None = None) -> Stored:
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Stored(file.name, sha256, sha256 == file.sha256, url)


def fetch(
    name: str,
    folder: Path | None = None,
    *,
    mirrors: Sequence[str] = (),
    force: bool = False,
    report: Report = lambda *_: None,
) -> list[Stored]:
    """Download the missing files of a data set, and return all its files.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : Path, optional
        Destination; by default the data set's folder in the cache.
    mirrors : sequence of str
        URLs of copies of the cache, tried before the known URLs.
    force : bool
        Whether to download all files again and replace them.
    report : callable
        Called with the bytes received, the bytes expected and the URL.

    Raises
    ------
    ShroomError
        If a file cannot be downloaded from any mirror, cannot be written, or exists with different
        content. Files that were downloaded before the error are kept.
    """
    listing = source(name)
    folder = folder or cache_folder(name)
    for mirror in mirrors:
        if not re.fullmatch(r"https?://[\w.:-]+(/\S*)?", mirror):
            expected = "the URL of a server, such as http://localhost:8000/data"
            raise ShroomError(f"mirror {show(mirror)}: expected {expected}")
    files = {} if force else present_files(listing, folder)
    missing = [file for file in listing.files if file.name not in files]
    if missing:
        require("data", "pooch")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as scratch:
                run = _Run(folder, Path(scratch), report)
                for url, wanted in _attempts(name, missing, mirrors):
                    run.attempt(url, wanted)
        except OSError as error:
            reason = error.strerror or error
            raise ShroomError(f"{folder} cannot be written: {reason}") from error
        left = [file.name for file in missing if file.name not in run.stored]
        if left:
            raise ShroomError(
                f"{name}: {len(left)} of {counted(len(missing), 'file')} could not be downloaded: "
                f"{', '.join(left)} ({'; '.join(run.refusals)}); check the network connection, put "
                f"the files into {folder} by hand, or specify a mirror with --mirror"
            )
        files |= run.stored
    return [files[file.name] for file in listing.files]


def _attempts(
    name: str, files: Sequence[File], mirrors: Sequence[str]
) -> Iterator[tuple[str, list[File]]]:
    """Yield each URL with the files that it may have; several files are in an archive."""
    for file in files:
        inside = quote(f"{name}/{file.name}")
        for url in (*(f"{mirror.rstrip('/')}/{inside}" for mirror in mirrors), *file.urls):
            yield url, [file]
    for url in dict.fromkeys(url for file in files for url in file.archives):
        yield url, [file for file in files if url in file.archives]


class _Refusal(Exception):  # noqa: N818 - a mirror's answer, which the next mirror may make up for
    """A URL did not return its file."""


class _Unreachable(_Refusal):
    """No server answered."""


class _Run:
    """One call of :func:`fetch`."""

    def __init__(self, folder: Path, scratch: Path, report: Report) -> None:
        self.folder, self.scratch, self.report = folder, scratch, report
        self.stored: dict[str, Stored] = {}
        self.refusals: list[str] = []
        self.unreachable: set[str] = set()  # servers, which are not tried again

    def attempt(self, url: str, files: Sequence[File]) -> None:
        """Store the files that are still missing and that the URL returns."""
        missing = [file for file in files if file.name not in self.stored]
        host = urlsplit(url).netloc
        if not missing or host in self.unreachable:
            return
        reason = "contains no file with the expected sha256"
        contents: dict[str | None, bytes] = {}
        try:
            contents = self._contents(url, missing)
        except _Refusal as refusal:
            reason = printable(str(refusal))
            if isinstance(refusal, _Unreachable):
                self.unreachable.add(host)
        found = [file for file in missing if file.sha256 in contents]
        for file in found:
            target = self.folder / file.name
            write_atomically(target, contents[file.sha256])
            self.stored[file.name] = _stored_at(file, target, url)
        if len(found) < len(missing):
            self.refusals.append(f"{url} {reason}")

    def _contents(self, url: str, files: Sequence[File]) -> dict[str | None, bytes]:
        """Return the downloaded files by their expected hash."""
        is_archive = url in files[0].archives
        sha256, size = (None, None) if is_archive else (files[0].sha256, files[0].size)
        progress = _Progress(url, self.report, MOST if size is None else size)
        path = _retrieve(url, sha256, self.scratch, progress)
        if not is_archive:
            return {sha256: path.read_bytes()}
        sizes = [file.size for file in files]
        try:
            return {hashlib.sha256(it).hexdigest(): it for it in members(path, sizes)}
        except _DAMAGES as error:
            raise _Refusal(f"cannot be read as an archive ({error})") from error


def members(path: Path, sizes: Sequence[int | None]) -> Iterator[bytes]:
    """Yield the content of each member of an archive with one of the sizes in bytes."""
    # Nothing is extracted to disk, so names and sizes in an archive are harmless.
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for about in archive.infolist():
                if about.file_size in sizes:
                    yield archive.read(about)
        return
    with tarfile.open(path) as packed:
        for member in packed:
            fits = member.isreg() and member.size in sizes
            stream = packed.extractfile(member) if fits else None
            if stream is not None:
                yield stream.read()


def _retrieve(url: str, sha256: str | None, folder: Path, progress: _Progress) -> Path:
    """Return the downloaded content of a URL as a file in the folder, its hash checked."""
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    headers = {"User-Agent": "shroom-kit"}
    # A server on this machine is not behind a proxy.
    is_local = urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
    proxies = {"proxies": {"http": None, "https": None, "all": None}} if is_local else {}
    more = {"timeout": TIMEOUT, "headers": headers, **proxies}
    downloader = pooch.HTTPDownloader(progressbar=progress, **more)
    try:
        return Path(pooch.retrieve(url, sha256, path=folder, downloader=downloader))
    except (requests.ConnectionError, requests.Timeout) as error:
        reason = re.sub(r"[\"']\)+$", "", str(error).rpartition(": ")[2])
        raise _Unreachable(f"cannot be reached: {reason}") from error
    except (requests.RequestException, ValueError) as error:  # ValueError: wrong hash
        raise _Refusal(str(error).partition(". Deleted")[0].partition(" for url")[0]) from error


class _Progress:
    """A progress bar for pooch, which stops a download of too many bytes."""

    def __init__(self, url: str, report: Report, most: int) -> None:
        self.url, self.report, self.most = url, report, most
        self.total = self.done = 0

    def update(self, size: int) -> None:  # every chunk counts as full, the last one as well
        if max(self.total, self.done + bool(size)) > self.most:
            raise _Refusal(f"has more than {self.most} bytes")
        self.done += size
        self.report(min(self.done, self.total or self.done), self.total or self.done, self.url)

    def reset(self) -> None:
        """Start again; the last update completes the number of bytes."""
        self.done = 0

    def close(self) -> None:
        """Do nothing; the owner closes the bar."""
