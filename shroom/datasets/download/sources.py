"""The public files of each data set, listed in ``sources.toml``, and where they are stored."""

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

#: The folders in ``SHROOM_DATA`` whose names differ from the data set's.
_FOLDERS = {"queries": "verifiability/queries"}
#: A file of a repository on GitHub.
_GITHUB = re.compile(r"github:(?P<repository>[^@]+)@(?P<commit>[0-9a-f]{40}):(?P<path>.+)")


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

    name: str  # of the data set
    files: tuple[File, ...]  # files that are downloaded
    by_hand: str = ""  # further files and where to get them; empty if there are none


@dataclass(frozen=True)
class Stored:
    """A file of a data set that is present."""

    file: str  # its name
    path: str  # where it is
    size: int  # in bytes
    sha256: str  # its hash, verified or not
    verified: bool  # whether its hash is the known hash of the public file
    url: str | None = None  # the URL it was downloaded from; ``None`` if it already existed
    refusals: tuple[str, ...] = ()  # failed mirrors, with their answers


def source(name: str) -> Source:
    """Return the list of public files of a data set."""
    described = data_set(name)
    if name not in SOURCES:
        raise ShroomError(f"the kit cannot download {name}; for its files, see {described.source}")
    return SOURCES[name]


def _addresses(listed: Iterable[str]) -> Iterator[str]:
    """Yield URLs: for a file on GitHub, the URL on GitHub and on a CDN that copies it."""
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


_TABLES = tomllib.loads(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))
#: By name of the data set.
SOURCES = {
    name: Source(name, tuple(map(_file, table["files"])), table.get("by_hand", ""))
    for name, table in _TABLES.items()
}


def cached(name: str) -> Path | None:
    """Return the folder of a downloaded data set, or ``None`` if one of its files is missing."""
    # Files are identified by name and size, which is fast: fetching has verified their hashes.
    listed = SOURCES.get(data_set(name).name)
    folder = cache_folder(name)
    files = [(folder / file.name, file.size) for file in listed.files] if listed else []
    is_whole = all(path.is_file() and size in (None, path.stat().st_size) for path, size in files)
    return folder if listed and is_whole else None


def present_files(listing: Source, folder: Path) -> dict[str, Stored]:
    """Return the files of a data set that a folder contains, by name."""
    paths = [(file, folder / file.name) for file in listing.files]
    present = {file.name: stored_at(file, path) for file, path in paths if path.exists()}
    for file, path in paths:
        stored = present.get(file.name)
        if stored and file.sha256 and not stored.verified:
            raise ShroomError(
                f"{path} differs from the public file: expected sha256 {file.sha256}, got "
                f"{stored.sha256}; to replace it, add --force"
            )
    return present


def stored_at(
    file: File, path: Path, url: str | None = None, refusals: tuple[str, ...] = ()
) -> Stored:
    """Return the file at a path, with its hash."""
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    return Stored(file.name, str(path), len(content), sha256, sha256 == file.sha256, url, refusals)


def place_of(name: str) -> Path | None:
    """Return the folder of a data set in ``SHROOM_DATA``, or else of its downloaded files."""
    places = map(in_data_folder, (name, _FOLDERS.get(name, name)))
    there = next((place for place in places if place and place.is_dir()), None)
    return Path(shown_path(there)) if there else cached(name)


def path_here(name: str) -> Path:
    """Return the folder of a data set on this machine, from :func:`place_of`."""
    place = place_of(name)
    if place is None:
        problem = data_folder_problem()
        raise ShroomError(
            f"{name} is not on this machine{problem and f' ({problem})'}: specify its files, set "
            f"SHROOM_DATA to the folder that contains {name}, or run 'shroom datasets fetch {name}'"
        )
    return place


def read_here(name: str, problems: Problems) -> Collection[Any]:
    """Return a data set on this machine."""
    return data_set(name).read(path_here(name), problems=problems)
