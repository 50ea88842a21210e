"""Paths: the folders of users, the form in messages, and files that are ignored."""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePosixPath
from typing import Union

from shroom.core.problems import ShroomError

Source = Union[str, "os.PathLike[str]"]

#: The environment variable for another cache folder.
CACHE = "SHROOM_CACHE"
#: The record that ``shroom predict`` writes next to a submission, and which is not part of it.
RUN_RECORD = "run.json"
_JUNK = {RUN_RECORD, "__MACOSX", "Thumbs.db", "desktop.ini", "metadata", "__pycache__"}


def data_folder() -> Path:
    """Return the folder of real data, from the environment variable ``SHROOM_DATA``."""
    folder = os.environ.get("SHROOM_DATA")
    if not folder or not Path(folder).is_dir():
        why = data_folder_problem() or "set the environment variable SHROOM_DATA"
        raise ShroomError(f"the folder with the real data is unknown: {why}")
    return Path(folder)


def data_folder_problem() -> str:
    """Return why ``SHROOM_DATA`` is invalid; empty if it is a folder or not set."""
    folder = os.environ.get("SHROOM_DATA")
    if not folder or Path(folder).is_dir():
        return ""
    return f"SHROOM_DATA is {folder}, which is not a folder"


def in_data_folder(name: str) -> Path | None:
    """Return a file or folder in the folder of real data, or ``None`` if it does not exist."""
    folder = os.environ.get("SHROOM_DATA")
    return Path(folder, name) if folder and Path(folder, name).exists() else None


def cache_folder(name: str = "") -> Path:
    """Return a folder in the cache, which is ``SHROOM_CACHE`` or in the system's cache folder."""
    named = os.environ.get(CACHE)
    return (Path(named).expanduser() if named else _system_cache()) / name


def _system_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "shroom"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(local, "shroom", "shroom", "Cache")
    # The XDG base directory specification ignores empty and relative values.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "shroom"


def shown_path(path: Source) -> str:
    """Return a path relative to the working directory, unless the absolute path is shorter."""
    text = os.fspath(path)
    if not Path(text).is_absolute() or os.pardir in Path(text).parts:
        return text
    try:
        relative = os.path.relpath(text) + os.sep * text.endswith(os.sep)
    except (OSError, ValueError):  # no working directory, or another drive
        return text
    return relative if len(relative) <= len(text) else text


def is_inside(path: Source, place: Source) -> bool:
    """Return whether a path is an existing ``place`` or inside it, also through links."""
    real = Path(os.path.realpath(path))
    return Path(place).exists() and any(
        above.exists() and above.samefile(place) for above in (real, *real.parents)
    )


def is_readme(name: str) -> bool:
    """Return whether a file explains the files beside it."""
    return PurePosixPath(name).stem.lower() == "readme"


def is_junk(name: str) -> bool:
    """Return whether a path in a folder or a zip belongs to the operating system or the kit."""
    parts = [part for part in PurePosixPath(name).parts if part != ".."]
    return any(part in _JUNK or part.startswith(".") for part in parts)
