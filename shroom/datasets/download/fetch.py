"""Fetching the public files of a data set, each from the first mirror that gives the right one.

A download that broke off, or was killed, is continued by the next one.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from shroom.core.append_only import append, unwritable
from shroom.core.paths import cache_folder
from shroom.core.problems import ShroomError
from shroom.datasets.download import archive_members, partial_file
from shroom.datasets.download.http import TIMEOUT, NotBrought, base_url, bring
from shroom.datasets.download.local_cache import cached, held, sha256_of, stored_at
from shroom.datasets.download.sources import source

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import FileIO

    from shroom.datasets.download.http import Report
    from shroom.datasets.download.local_cache import Stored
    from shroom.datasets.download.sources import File

__all__ = ["cached", "fetch"]

#: How many files are named that could not be had for the same reason.
_FEW = 3


def fetch(
    name: str,
    folder: Path | None = None,
    *,
    mirrors: Sequence[str] = (),
    force: bool = False,
    timeout: float = TIMEOUT,
    report: Report = lambda *_: None,
) -> list[Stored]:
    """Fetch what is missing of a data set, and return all its files.

    Parameters
    ----------
    name : str
        The data set's.
    folder : Path, optional
        Where to; by default its folder in the cache.
    mirrors : sequence of str
        URLs of folders laid out as the cache is, with a folder of the data set; they come first.
    force : bool
        Fetch again what is there, and replace it.
    timeout : float
        Seconds that a server may be silent.
    report : callable
        Told ``(bytes done, bytes of all, file)``.

    Raises
    ------
    ShroomError
        Where a file could not be had from any mirror, cannot be written, or is there with other
        content. What was stored stays; what has come of others is kept as ``NAME.part``, and the
        next call goes on from there.
    """
    wanted = source(name)
    folder = folder or cache_folder(name)
    bases = [base_url(mirror) for mirror in mirrors]
    before = {} if force else held(wanted, folder)
    missing = [file for file in wanted.files if file.name not in before]
    if not missing:
        return list(before.values())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    if force:
        for file in missing:
            partial_file.remove(folder / file.name)
    found = {**before, **_Errand(wanted.name, folder, bases, timeout, report).run(missing)}
    return [found[file.name] for file in wanted.files]


class _Errand:
    """One run: what is stored by now, and what was said of the other files."""

    def __init__(
        self, name: str, folder: Path, bases: list[str], timeout: float, report: Report
    ) -> None:
        self.name, self.folder, self.bases = name, folder, bases
        self.timeout, self.report = timeout, report
        self.stored: dict[str, Stored] = {}
        self.refusals: dict[str, list[str]] = {}
        #: Servers that cannot be reached, and why not: none is waited for twice.
        self.silent: dict[str, NotBrought] = {}
        self.reached = False

    def run(self, missing: Sequence[File]) -> dict[str, Stored]:
        for file in missing:
            inside = quote(f"{self.name}/{file.name}")
            for url in (*(f"{base}/{inside}" for base in self.bases), *file.urls):
                self._from_url(file, url)
                if file.name in self.stored:
                    break
        for url in dict.fromkeys(url for file in missing for url in file.archives):
            files = [f for f in missing if url in f.archives and f.name not in self.stored]
            if files:
                self._from_archive(files, url)
        if len(self.stored) < len(missing):
            raise ShroomError(self._sentence(len(missing)))
        for path in {self._archive(url) for file in missing for url in file.archives}:
            partial_file.remove(path)  # of an earlier run, and not needed any more
        return self.stored

    def _from_url(self, file: File, url: str) -> None:
        path = self.folder / file.name

        def complaint(got: FileIO) -> str | None:
            sha256 = sha256_of(Path(got.name))
            if file.sha256 in (None, sha256):
                return None
            return f"gave sha256 {sha256}, expected {file.sha256}"

        # Where no hash tells, what came from elsewhere or another day may be of another file.
        if self._brought(url, path, [file], complaint, anew=file.sha256 is None, size=file.size):
            self._keep(file, url)

    def _from_archive(self, files: Sequence[File], url: str) -> None:
        def complaint(got: FileIO) -> str | None:
            try:
                left = self._unpacked(got, files, url)
            except archive_members.Broken as error:
                return f"gave no archive that can be read ({error})"
            listed = ", ".join(f"{file.name} (sha256 {file.sha256})" for file in left)
            return f"has no member that is {listed}" if left else None

        self._brought(url, self._archive(url), files, complaint)

    def _archive(self, url: str) -> Path:
        """Return where an archive is while it is needed; it has a part only."""
        return self.folder / PurePosixPath(urlsplit(url).path).name

    def _unpacked(self, got: FileIO, files: Sequence[File], url: str) -> list[File]:
        """Store those files that are members; return the others."""
        left = {file.sha256: file for file in files if file.name not in self.stored}
        for sha256, content in archive_members.members(got, [file.size for file in files]):
            file = left.pop(sha256, None)
            if file is not None:
                with partial_file.opened(self.folder / file.name) as member:
                    partial_file.empty(member)
                    append(member, content)
                self._keep(file, url)
        return list(left.values())

    def _brought(
        self,
        url: str,
        path: Path,
        files: Sequence[File],
        complaint: Callable[[FileIO], str | None],
        *,
        anew: bool = False,
        size: int | None = None,
    ) -> bool:
        """Return whether the URL gave what nobody complains of, which is the path's part then."""
        host = urlsplit(url).netloc
        refusal = self.silent.get(host)
        if refusal is None:
            try:
                with partial_file.opened(path) as got:
                    if anew:
                        partial_file.empty(got)
                    self._right(url, got, size, complaint)
            except NotBrought as error:
                refusal = error
            else:
                self.reached = True
                return True
        self.reached |= refusal.reached
        if not refusal.reached:
            self.silent[host] = refusal
        for file in files:
            if file.name not in self.stored:
                self.refusals.setdefault(file.name, []).append(f"{url} {refusal}")
        return False

    def _right(
        self,
        url: str,
        got: FileIO,
        size: int | None,
        complaint: Callable[[FileIO], str | None],
    ) -> None:
        while True:
            came_before = partial_file.length(got)
            bring(url, got, size=size, timeout=self.timeout, report=self.report)
            wrong = complaint(got)
            if wrong is None:
                return
            partial_file.empty(got)
            if not came_before:
                raise NotBrought(wrong)
            # Perhaps only what came before is wrong, so begin anew.

    def _keep(self, file: File, url: str) -> None:
        path = self.folder / file.name
        partial_file.store(path)
        refusals = tuple(self.refusals.pop(file.name, ()))
        self.stored[file.name] = stored_at(file, path, url, refusals)

    def _sentence(self, missing: int) -> str:
        """Return what became of the files that are not there, and the way out."""
        said: dict[str, list[str]] = {}
        for name, refusals in self.refusals.items():
            said.setdefault("; ".join(refusals), []).append(name)
        told = "; ".join(f"{_listed(names)}: {what}" for what, names in said.items())
        count = f"{len(self.refusals)} of {missing} files could not be fetched"
        way_out = f"put them into {self.folder} by hand, or name another mirror with --mirror"
        if not self.reached:
            count = f"no server can be reached, as where there is no network; {count}"
            way_out = f"fetch them elsewhere and {way_out}"
        return (
            f"{self.name}: {count} ({told}); {way_out}; what has come of a file is kept, and the "
            "next run goes on from there"
        )


def _listed(names: list[str]) -> str:
    """Return the first few names, and how many more there are."""
    rest = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {rest} more" if rest > 0 else "")
