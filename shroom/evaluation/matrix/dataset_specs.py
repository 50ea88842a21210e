"""Which data set, view and files a word of the command line means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shroom.core.paths import data_folder_problem, in_data_folder, shown_path
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.datasets.registry import data_set, guess, refuse_another
from shroom.scoring.data_set_forms import DATA_SETS
from shroom.scoring.input_files import is_pipe

#: ``NAME=PATH`` or ``NAME:VIEW=PATH``, distinguished from a path that has an equals sign itself.
_NAMED = re.compile(r"(?P<name>[\w-]*)(:(?P<view>[\w-]*))?=(?P<path>.+)", re.DOTALL)


@dataclass(frozen=True)
class Named:
    """A data set as the command line names it.

    Attributes
    ----------
    dataset : str
        Its name.
    view : str
        Of it.
    path : str
        A file, a folder or a zip.
    note : str
        How it was found, where that was left to the kit.
    """

    dataset: str
    view: str
    path: str
    note: str = ""

    @property
    def key(self) -> str:
        """The data set and, unless it is the usual one, the view."""
        usual = next(iter(data_set(self.dataset).views))
        return self.dataset if self.view == usual else f"{self.dataset}:{self.view}"


def named(text: str) -> Named:
    """Return the data set that ``NAME[:VIEW]=PATH``, a path or ``NAME[:VIEW]`` alone means.

    A path alone is recognised by its form; a name alone is looked for among the fetched data, and
    in the folder ``SHROOM_DATA``.

    Raises
    ------
    ShroomError
        Where there is no such data set or view, or nothing that has the name.

    Examples
    --------
    >>> found = named("felm:prompt=all.jsonl")
    >>> found.dataset, found.view, found.path, found.key
    ('felm', 'prompt', 'all.jsonl', 'felm:prompt')
    >>> named("shroom/sample").dataset
    'semeval2024'
    """
    parts = _NAMED.fullmatch(text)
    if parts and not Path(text).exists():
        found = _viewed(parts["name"], parts["view"], parts["path"])
        refuse_another(found.dataset, found.path)
        return found
    if Path(text).exists():
        name = guess(text)
        if name is None:
            what = "a pipe" if is_pipe(text) else "of no form that the kit knows"
            known = ", ".join(DATA_SETS)
            raise ShroomError(
                f"{text}: is {what}; say what it is: NAME={text}, with one of {known}"
            )
        return _viewed(name, None, text, f"{text}: taken as {name}, by its form")
    name, _, view = text.partition(":")
    if name not in DATA_SETS:
        near, known = nearest(name.lower(), DATA_SETS), ", ".join(DATA_SETS)
        said = printable(text)
        raise UnknownName(
            f"{said}: is neither a file nor a data set;{near} write NAME=PATH, with one of {known}"
        )
    path = shown_path(_found(name))
    return _viewed(name, view or None, path, f"{text}: taken from {path}")


def _viewed(name: str, view: str | None, path: str, note: str = "") -> Named:
    found = data_set(name)
    found.view(view)  # so that an unknown one is refused
    return Named(name, view or next(iter(found.views)), shown_path(path), note)


def _found(name: str) -> Path:
    """Return where a data set lies that was named alone."""
    try:
        from shroom.datasets.download.local_cache import cached
    except ImportError:  # what fetches is not installed, so nothing was fetched
        fetched = None
    else:
        fetched = cached(name)
    place = fetched or in_data_folder(name)
    if place is not None:
        return place
    why = data_folder_problem() or "is not in the folder SHROOM_DATA"
    raise ShroomError(
        f"{name}: was not fetched, and {why}; fetch it (shroom datasets "
        f"fetch {name}), or name its files: {name}=PATH"
    )
