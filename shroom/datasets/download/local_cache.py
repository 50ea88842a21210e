"""The cache folder of the data sets, and whether its files are the public ones."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from shroom.core.paths import cache_folder
from shroom.core.problems import ShroomError
from shroom.datasets.download.sources import source

if TYPE_CHECKING:
    from pathlib import Path

    from shroom.datasets.download.sources import File, Source


@dataclass(frozen=True)
class Stored:
    """A file of a data set that is present.

    Attributes
    ----------
    file : str
        Its name.
    path : str
        Where it is.
    size : int
        In bytes.
    sha256 : str
        Its hash, whether or not that is known to be right.
    verified : bool
        Whether the hash is known to be right.
    url : str or None
        The URL it was downloaded from; ``None`` if it was present before.
    refusals : tuple of str
        The mirrors that were tried before, with their answers.
    """

    file: str
    path: str
    size: int
    sha256: str
    verified: bool
    url: str | None = None
    refusals: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for json."""
        return {**asdict(self), "refusals": list(self.refusals)}


def cached(name: str) -> Path | None:
    """Return the folder of a data set that was fetched, or ``None`` if a file of it is missing.

    Files are identified by name and size, which is fast: fetching has verified their hashes.

    Raises
    ------
    ShroomError
        If there is no data set of that name.
    """
    folder = cache_folder(name)
    for file in source(name).files:
        path = folder / file.name
        if not path.is_file() or file.size not in (None, path.stat().st_size):
            return None
    return folder


def held(wanted: Source, folder: Path) -> dict[str, Stored]:
    """Return the files of a data set that are in a folder, by name.

    Raises
    ------
    ShroomError
        If one has other content than the public file.
    """
    found = {}
    for file in wanted.files:
        path = folder / file.name
        if not path.exists():
            continue
        stored = found[file.name] = stored_at(file, path)
        if file.sha256 and not stored.verified:
            raise ShroomError(
                f"{path}: is there, with other content (sha256 {stored.sha256}) than the public "
                f"file ({file.sha256}); to replace it, add --force"
            )
    return found


def stored_at(
    file: File, path: Path, url: str | None = None, refusals: tuple[str, ...] = ()
) -> Stored:
    """Return what there is at a path, with its hash taken."""
    sha256 = sha256_of(path)
    size = path.stat().st_size
    return Stored(file.name, str(path), size, sha256, sha256 == file.sha256, url, refusals)


def sha256_of(path: Path) -> str:
    """Return the hash of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
