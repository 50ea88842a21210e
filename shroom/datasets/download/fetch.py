"""Downloading the public files of a data set, each from the first mirror that has it."""

from __future__ import annotations

import hashlib
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Callable
from urllib.parse import quote, urlsplit

from shroom.core.archives import DAMAGES
from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import require
from shroom.core.paths import cache_folder
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, printable, show
from shroom.datasets.download.sources import File, Stored, present_files, source, stored_at

#: Called with the bytes received, the bytes expected (0 if unknown) and the URL.
Report = Callable[[int, int, str], None]

#: Default seconds to wait for a server that does not respond.
TIMEOUT = 30.0
#: Maximum bytes of a download of unknown size.
MOST = 2 << 30
#: Maximum files named for the same refusals.
_NAMED = 3
#: Errors raised by reading a damaged archive.
_DAMAGES: tuple[type[Exception], ...] = (tarfile.TarError, *DAMAGES)
#: The URL of a server, without the name of a user.
_HOST, _PORT = r"([\w.-]*\w[\w.-]*|\[[\da-f:.]+\])", r"(:\d{1,5})?"
_URL = re.compile(rf"https?://{_HOST}{_PORT}(/[!-~]*)?", re.ASCII | re.IGNORECASE)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def fetch(
    name: str,
    folder: Path | None = None,
    *,
    mirrors: Sequence[str] = (),
    force: bool = False,
    timeout: float = TIMEOUT,
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
    timeout : float
        Seconds to wait for a server that does not respond.
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
    bases = [base_url(mirror) for mirror in mirrors]
    files = {} if force else present_files(listing, folder)
    missing = [file for file in listing.files if file.name not in files]
    if missing:
        require("data", "pooch")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as scratch:
                run = _Run(folder, Path(scratch), timeout, report)
                for url, wanted, is_archive in _attempts(name, missing, bases):
                    run.attempt(url, wanted, is_archive=is_archive)
        except OSError as error:
            reason = error.strerror or error
            raise ShroomError(f"{folder} cannot be written: {reason}") from error
        if len(run.stored) < len(missing):
            raise ShroomError(f"{name}: {run.sentence(len(missing))}")
        files |= run.stored
    return [files[file.name] for file in listing.files]


def _attempts(
    name: str, files: Sequence[File], bases: Sequence[str]
) -> Iterator[tuple[str, list[File], bool]]:
    """Yield each URL with the files that it may have, and whether it is an archive."""
    for file in files:
        inside = quote(f"{name}/{file.name}")
        for url in (*(f"{base}/{inside}" for base in bases), *file.urls):
            yield url, [file], False
    for url in dict.fromkeys(url for file in files for url in file.archives):
        yield url, [file for file in files if url in file.archives], True


def base_url(url: str) -> str:
    """Return the URL of a folder without its trailing slash."""
    if not _URL.fullmatch(url):
        raise ShroomError(
            f"mirror {show(url)}: expected the URL of a server, such as http://localhost:8000/data"
        )
    return url.rstrip("/")


class _Refusal(Exception):  # noqa: N818 - a mirror's answer, which the next mirror may make up for
    """A URL did not return its file."""


class _Unreachable(_Refusal):
    """No server answered."""


class _Run:
    """One call of :func:`fetch`: the files stored so far, and the failures of URLs."""

    def __init__(self, folder: Path, scratch: Path, timeout: float, report: Report) -> None:
        self.folder, self.scratch, self.timeout, self.report = folder, scratch, timeout, report
        self.stored: dict[str, Stored] = {}
        self.refusals: dict[str, list[str]] = {}
        #: Unreachable servers, which are not tried again.
        self.unreachable: dict[str, _Unreachable] = {}
        self.reached = False

    def attempt(self, url: str, files: Sequence[File], *, is_archive: bool) -> None:
        """Store the files that are still missing and that the URL returns."""
        missing = [file for file in files if file.name not in self.stored]
        contents: dict[str | None, bytes] = {}
        reason = "contains no file with the expected sha256"
        try:
            if missing:
                contents = self._contents(url, missing, is_archive=is_archive)
        except _Refusal as refusal:
            reason = printable(str(refusal))
        for file in missing:
            refusals = self.refusals.setdefault(file.name, [])
            if file.sha256 in contents:
                target = self.folder / file.name
                write_atomically(target, contents[file.sha256])
                self.stored[file.name] = stored_at(file, target, url, tuple(refusals))
            else:
                refusals.append(f"{url} {reason}")

    def _contents(
        self, url: str, files: Sequence[File], *, is_archive: bool
    ) -> dict[str | None, bytes]:
        """Return the downloaded files by their expected hash."""
        host = urlsplit(url).netloc
        sha256, size = (None, None) if is_archive else (files[0].sha256, files[0].size)
        if host in self.unreachable:
            raise self.unreachable[host]
        try:
            progress = _Progress(url, self.report, MOST if size is None else size)
            path = _retrieve(url, sha256, self.scratch, self.timeout, progress)
        except _Unreachable as error:
            self.unreachable[host] = error
            raise
        finally:
            self.reached |= host not in self.unreachable
        if not is_archive:
            return {sha256: path.read_bytes()}
        try:
            return dict(members(path, [file.size for file in files]))
        except _DAMAGES as error:
            raise _Refusal(f"cannot be read as an archive ({error})") from error

    def sentence(self, missing: int) -> str:
        """Return the message: missing files, the answer of each mirror, and what to do."""
        names: dict[str, list[str]] = {}
        left = {name: it for name, it in self.refusals.items() if name not in self.stored}
        for name, refusals in left.items():
            names.setdefault("; ".join(refusals), []).append(name)
        listed = "; ".join(f"{_listed(files)}: {reasons}" for reasons, files in names.items())
        count = f"{len(left)} of {counted(missing, 'file')} could not be downloaded"
        them = "it" if len(left) == 1 else "them"
        way_out = f"put {them} into {self.folder} by hand, or specify a mirror with --mirror"
        if not self.reached:
            count = f"no server can be reached (check the network connection); {count}"
            way_out = f"download {them} elsewhere and {way_out}"
        return f"{count} ({listed}); {way_out}"


def _listed(names: list[str]) -> str:
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def members(path: Path, sizes: Collection[int | None]) -> Iterator[tuple[str, bytes]]:
    """Yield the SHA-256 hash and the content of each member with one of the sizes in bytes."""
    # Nothing is extracted to disk, so names and sizes in an archive are harmless.
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for about in archive.infolist():
                if about.file_size in sizes:
                    yield _hashed(archive.read(about))
        return
    with tarfile.open(path) as packed:
        for member in packed:
            fits = member.isreg() and member.size in sizes
            stream = packed.extractfile(member) if fits else None
            if stream is not None:
                yield _hashed(stream.read())


def _hashed(content: bytes) -> tuple[str, bytes]:
    return hashlib.sha256(content).hexdigest(), content


def _retrieve(
    url: str, sha256: str | None, folder: Path, timeout: float, progress: _Progress
) -> Path:
    """Return the downloaded content of a URL as a file in the folder, its hash checked."""
    import pooch
    import requests

    pooch.get_logger().setLevel("WARNING")
    local = urlsplit(url).hostname in _LOOPBACK
    downloader = pooch.HTTPDownloader(
        progressbar=progress,
        timeout=timeout,
        headers={"User-Agent": "shroom-kit"},
        # A server on this machine is not behind a proxy.
        proxies={"http": None, "https": None, "all": None} if local else None,
    )
    name = f"{len(list(folder.iterdir()))}-{PurePosixPath(urlsplit(url).path).name}"
    try:
        return Path(pooch.retrieve(url, sha256, name, folder, downloader=downloader))
    except requests.HTTPError as error:
        answer = str(error).partition(" for url")[0]  # such as 404 Client Error: Not Found
        raise _Refusal(f"answered {answer}") from None
    except requests.Timeout as error:
        raise _Unreachable(f"did not respond within {timeout:g} seconds") from error
    except requests.ConnectionError as error:
        # Without the names of the classes around the reason.
        reason = str(error).rpartition(": ")[2].rstrip("\"')")
        raise _Unreachable(f"cannot be reached: {reason}") from error
    except (requests.RequestException, ValueError) as error:  # ValueError: wrong hash
        raise _Refusal(str(error).partition(". Deleted")[0]) from error


class _Progress:
    """A progress bar for pooch, which stops a download of too many bytes."""

    def __init__(self, url: str, report: Report, most: int) -> None:
        self.url, self.report, self.most = url, report, most
        self.total = self.done = self.received = 0

    def update(self, size: int) -> None:
        # Each chunk is reported as full, so the last one may be shorter.
        if max(self.total, self.received + bool(size)) > self.most:
            raise _Refusal(f"has more than {self.most} bytes")
        self.received += size
        self.done = min(self.done + size, self.total) if self.total else self.done + size
        self.report(self.done, self.total or self.done, self.url)

    def reset(self) -> None:
        """Set the number of received bytes to 0; the last update completes it."""
        self.received = 0

    def close(self) -> None:
        """Do nothing; the owner closes the bar."""
