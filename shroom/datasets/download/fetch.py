"""Downloading the public files of a data set, each from the first mirror that has it."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
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
                run = _Run(listing.name, folder, Path(scratch), timeout, report)
                files |= run.files(missing, bases)
        except OSError as error:
            reason = error.strerror or error
            raise ShroomError(f"{folder} cannot be written: {reason}") from error
    return [files[file.name] for file in listing.files]


def base_url(url: str) -> str:
    """Return the URL of a folder without its trailing slash."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise ShroomError(
            f"mirror {show(url)}: expected the URL of a server, such as http://localhost:8000/data"
        )
    return url.rstrip("/")


class _Refusal(Exception):  # noqa: N818 - a mirror's answer, which the next mirror may make up for
    """A URL did not return its file; ``reached`` is whether a server answered."""

    def __init__(self, reason: str, *, reached: bool = True) -> None:
        super().__init__(reason)
        self.reached = reached


class _Run:
    """One call of :func:`fetch`: the files stored so far, and the failures of URLs."""

    def __init__(
        self, name: str, folder: Path, scratch: Path, timeout: float, report: Report
    ) -> None:
        self.name, self.folder, self.scratch = name, folder, scratch
        self.timeout, self.report = timeout, report
        self.stored: dict[str, Stored] = {}
        self.refusals: dict[str, list[str]] = {}
        #: Unreachable servers, which are not tried again.
        self.unreachable: dict[str, _Refusal] = {}
        self.reached = False

    def files(self, missing: Sequence[File], bases: Sequence[str]) -> dict[str, Stored]:
        """Return the missing files, downloaded into the folder."""
        for file in missing:
            inside = quote(f"{self.name}/{file.name}")
            for url in (*(f"{base}/{inside}" for base in bases), *file.urls):
                path = self._download(url, [file], file.sha256, file.size)
                if path is not None:
                    self._store(file, path.read_bytes(), url)
                    break
        for url in dict.fromkeys(url for file in missing for url in file.archives):
            files = [f for f in missing if url in f.archives and f.name not in self.stored]
            path = self._download(url, files, None, None) if files else None
            if path is not None:
                self._unpack(path, files, url)
        if len(self.stored) < len(missing):
            raise ShroomError(self._sentence(len(missing)))
        return self.stored

    def _download(
        self, url: str, files: Sequence[File], sha256: str | None, size: int | None
    ) -> Path | None:
        """Return the path of the downloaded file; ``None`` if the download failed."""
        host = urlsplit(url).netloc
        try:
            if host in self.unreachable:
                raise self.unreachable[host]
            progress = _Progress(url, self.report, MOST if size is None else size)
            path = _retrieve(url, sha256, self.scratch, self.timeout, progress)
        except _Refusal as refusal:
            self.reached |= refusal.reached
            if not refusal.reached:
                self.unreachable[host] = refusal
            self._refuse(files, url, str(refusal))
            return None
        self.reached = True
        return path

    def _unpack(self, archive: Path, files: Sequence[File], url: str) -> None:
        missing = {file.sha256: file for file in files}
        contents: dict[str | None, bytes] = {}
        reason = "contains no file with the expected sha256"
        try:
            contents.update(members(archive, [file.size for file in files]))
        except _DAMAGES as error:
            reason = printable(f"cannot be read as an archive ({error})")
        for sha256 in missing.keys() & contents.keys():
            file = missing.pop(sha256)
            self._store(file, contents[sha256], url)
        self._refuse(missing.values(), url, reason)

    def _refuse(self, files: Iterable[File], url: str, reason: str) -> None:
        for file in files:
            self.refusals.setdefault(file.name, []).append(f"{url} {reason}")

    def _store(self, file: File, content: bytes, url: str) -> None:
        target = self.folder / file.name
        write_atomically(target, content)
        self.stored[file.name] = stored_at(
            file, target, url, tuple(self.refusals.pop(file.name, ()))
        )

    def _sentence(self, missing: int) -> str:
        """Return the message: missing files, the answer of each mirror, and what to do."""
        names: dict[str, list[str]] = {}
        for name, refusals in self.refusals.items():
            names.setdefault("; ".join(refusals), []).append(name)
        listed = "; ".join(f"{_listed(files)}: {reasons}" for reasons, files in names.items())
        count = f"{len(self.refusals)} of {counted(missing, 'file')} could not be downloaded"
        them = "it" if len(self.refusals) == 1 else "them"
        way_out = f"put {them} into {self.folder} by hand, or specify a mirror with --mirror"
        if not self.reached:
            count = f"no server can be reached (check the network connection); {count}"
            way_out = f"download {them} elsewhere and {way_out}"
        return f"{self.name}: {count} ({listed}); {way_out}"


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
        raise _Refusal(printable(f"answered {answer}")) from None
    except requests.Timeout as error:
        raise _Refusal(f"did not respond within {timeout:g} seconds", reached=False) from error
    except requests.ConnectionError as error:
        # Without the names of the classes around the reason.
        reason = str(error).rpartition(": ")[2].rstrip("\"')")
        raise _Refusal(printable(f"cannot be reached: {reason}"), reached=False) from error
    except (requests.RequestException, ValueError) as error:  # ValueError: wrong hash
        raise _Refusal(printable(str(error).partition(". Deleted")[0])) from error


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
