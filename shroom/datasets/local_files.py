"""Where the files of a data set are on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.paths import data_folder_problem, in_data_folder, shown_path
from shroom.core.problems import ShroomError
from shroom.datasets.registry import data_set

if TYPE_CHECKING:
    from shroom.core.problems import Problems
    from shroom.datasets.collection import Collection

#: The folders in ``SHROOM_DATA`` that do not have the data set's name.
_FOLDERS = {"queries": "verifiability/queries"}


def place_of(name: str) -> Path | None:
    """Return the folder that has a data set here, or ``None``.

    It is the data set's folder in the folder of real data, which the environment variable
    ``SHROOM_DATA`` names; else what was fetched before.
    """
    from shroom.datasets.download.local_cache import cached

    for folder in (name, _FOLDERS.get(name, name)):
        place = in_data_folder(folder)
        if place is not None and place.is_dir():
            return Path(shown_path(place))
    return cached(name)


def read_here(name: str, problems: Problems) -> Collection[Any]:
    """Return a data set on this machine: from :func:`place_of`, or from the hub's cache.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    ShroomError
        If there is no data set of that name, or it is not on this machine.
    """
    from shroom.datasets.download import hub_cache

    described = data_set(name)
    place = place_of(name)
    if place is not None:
        return described.read(place, problems=problems)
    found = hub_cache.read(name, problems=problems)
    if found is None:
        why = data_folder_problem()
        raise ShroomError(
            f"{name} is not here{why and f' ({why})'}: name its files, or run "
            f"'shroom datasets fetch {name}'"
        )
    return found
