"""Where the public files of each data set are: the table ``sources.toml``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.toml import parsed_toml
from shroom.datasets.registry import data_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def source(name: str) -> Source:
    """Return where the files of a data set are.

    Raises
    ------
    ShroomError
        If there is no data set of that name.

    Examples
    --------
    >>> source("felm").files[0].licence
    'CC BY-NC-SA 4.0'
    """
    return SOURCES[data_set(name).name]


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
    tables = parsed_toml(Path(__file__).with_name("sources.toml").read_text(encoding="utf-8"))
    return {
        name: Source(name, tuple(map(_file, table["files"])), table.get("by_hand", ""))
        for name, table in tables.items()
    }


#: By the name of the data set.
SOURCES = _sources()
