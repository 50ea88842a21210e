"""The public files of each data set, which ``sources.toml`` lists, and where they are here."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shroom.core.paths import cache_folder, data_folder_problem, in_data_folder, shown_path
from shroom.core.problems import Problems, ShroomError
from shroom.datasets.collection import Collection
from shroom.datasets.registry import data_set

#: The folders in ``SHROOM_DATA`` that do not have the data set's name.
_FOLDERS = {"queries": "verifiability/queries"}
#: A file of a repository on GitHub.
_GITHUB = re.compile(r"github:(?P<repository>[^@]+)@(?P<commit>[0-9a-f]{40}):(?P<path>.+)")


@dataclass(frozen=True)
class File:
    """A public file.

    Attributes
    ----------
    name : str
        Name under which it is stored.
    licence : str
        As its source states it.
    urls : tuple of str
        Where it is, the origin first.
    archives : tuple of str
        Zip and tar files that contain it under any name: it is identified by its hash. They are
        tried after the ``urls``.
    size : int or None
        In bytes.
    sha256 : str or None
        ``None`` where that of the public file is not known.
    """

    name: str
    licence: str
    urls: tuple[str, ...] = ()
    # Zip and tar files that contain it under any name: it is identified by its hash.
    archives: tuple[str, ...] = ()
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Source:
    """The public files of one data set.

    Attributes
    ----------
    name : str
        The data set's.
    files : tuple of File
        What is fetched.
    by_hand : str
        Further files and where to get them; empty if there are none.
    """

    name: str
    files: tuple[File, ...]
    by_hand: str = ""


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


def source(name: str) -> Source:
    """Return where the files of a data set are.

    Raises
    ------
    ShroomError
        If there is no data set of that name, or it is of another package.

    Examples
    --------
    >>> source("felm").files[0].licence
    'CC BY-NC-SA 4.0'
    """
    described = data_set(name)
    if name not in SOURCES:
        raise ShroomError(f"{name}: the kit cannot fetch it; its source is {described.source}")
    return SOURCES[name]


def _addresses(listed: Iterable[str]) -> Iterator[str]:
    """Yield URLs: for a file on GitHub, that of GitHub and that of a network that copies it."""
    for address in listed:
        match = _GITHUB.fullmatch(address)
        if match:
            repository, commit, path = match.groups()
            yield f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"
            yield f"https://cdn.jsdelivr.net/gh/{repository}@{commit}/{path}"
        else:
            yield address


def _file(table: dict[str, Any]) -> File:
    addresses = {key: tuple(_addresses(table.get(key, ()))) for key in ("urls", "archives")}
    return File(**{**table, **addresses})


def _sources() -> dict[str, Source]:
    tables = tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))
    return {
        name: Source(name, tuple(map(_file, table["files"])), table.get("by_hand", ""))
        for name, table in tables.items()
    }


#: By the name of the data set.
SOURCES = _sources()


def cached(name: str) -> Path | None:
    """Return the folder of a data set that was fetched, or ``None`` if a file of it is missing.

    Files are identified by name and size, which is fast: fetching has verified their hashes.

    Raises
    ------
    ShroomError
        If there is no data set of that name.
    """
    if data_set(name).name not in SOURCES:
        return None
    folder = cache_folder(name)
    for file in source(name).files:
        path = folder / file.name
        if not path.is_file() or file.size not in (None, path.stat().st_size):
            return None
    return folder


def present_files(listing: Source, folder: Path) -> dict[str, Stored]:
    """Return the files of a data set that are in a folder, by name.

    Raises
    ------
    ShroomError
        If one has other content than the public file.
    """
    present = {}
    for file in listing.files:
        path = folder / file.name
        if not path.exists():
            continue
        stored = present[file.name] = stored_at(file, path)
        if file.sha256 and not stored.verified:
            raise ShroomError(
                f"{path}: is there, with other content (sha256 {stored.sha256}) than the public "
                f"file ({file.sha256}); to replace it, add --force"
            )
    return present


def stored_at(
    file: File, path: Path, url: str | None = None, refusals: tuple[str, ...] = ()
) -> Stored:
    """Return what there is at a path, with its hash taken."""
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    return Stored(file.name, str(path), len(content), sha256, sha256 == file.sha256, url, refusals)


def place_of(name: str) -> Path | None:
    """Return the folder of a data set in ``SHROOM_DATA``, else where it was fetched, or ``None``."""
    for folder in (name, _FOLDERS.get(name, name)):
        place = in_data_folder(folder)
        if place is not None and place.is_dir():
            return Path(shown_path(place))
    return cached(name)


def read_here(name: str, problems: Problems) -> Collection[Any]:
    """Return a data set on this machine, from :func:`place_of`.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    ShroomError
        If there is no data set of that name, or it is not on this machine.
    """
    described = data_set(name)
    place = place_of(name)
    if place is None:
        problem = data_folder_problem()
        raise ShroomError(
            f"{name} is not here{problem and f' ({problem})'}: name its files, or run "
            f"'shroom datasets fetch {name}'"
        )
    return described.read(place, problems=problems)
