"""The data sets that detectors are evaluated on, from names or rows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from shroom.core.paths import Source, data_folder_problem, in_data_folder, shown_path
from shroom.core.printing import nearest, printable
from shroom.core.problems import ShroomError, UnknownName
from shroom.datasets.registry import DATA_SETS, data_set, guess, refuse_another
from shroom.scoring.in_memory import Data, are_several, as_source, is_path
from shroom.scoring.input_files import is_pipe

#: ``NAME=PATH`` or ``NAME:VIEW=PATH``; a path may also contain an equals sign.
_NAMED = re.compile(r"(?P<name>[\w-]*)(:(?P<view>[\w-]*))?=(?P<path>.+)", re.DOTALL)


@dataclass(frozen=True)
class Named:
    """A data set as specified on a command line or in a call."""

    dataset: str
    view: str
    path: Source
    note: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        """Its given name; otherwise the data set and, unless it is the default, the view."""
        if self.name:
            return self.name
        usual = next(iter(data_set(self.dataset).views))
        return self.dataset if self.view == usual else f"{self.dataset}:{self.view}"


def named(text: str) -> Named:
    """Return the data set that is specified by ``NAME[:VIEW]=PATH``, a path or ``NAME[:VIEW]``."""
    parts, names = _NAMED.fullmatch(text), ", ".join(DATA_SETS)
    if parts and not Path(text).exists():
        spec = _viewed(parts["name"], parts["view"], parts["path"])
        refuse_another(spec.dataset, spec.path)
        return spec
    if Path(text).exists():
        name = guess(text)
        if name is None:
            what = "a pipe" if is_pipe(text) else "in an unknown format"
            raise ShroomError(
                f"{text} is {what}; specify the data set: NAME={text}, where NAME is one of {names}"
            )
        return _viewed(name, None, text, f"{text}: recognised as {name} by its format")
    name, _, view = text.partition(":")
    if name not in DATA_SETS:
        what = f"is neither a file nor a data set;{nearest(name.lower(), DATA_SETS)}"
        raise UnknownName(f"{printable(text)}: {what} write NAME=PATH; NAME is one of {names}")
    path = shown_path(_fetched(name))
    return _viewed(name, view or None, path, f"{text}: read from {path}")


def _viewed(name: str, view: str | None, path: Source, note: str = "") -> Named:
    source = data_set(name)
    source.view(view)  # so that an unknown one is refused
    return Named(name, view or next(iter(source.views)), shown_path(path), note)


def _fetched(name: str) -> Path:
    """Return the path of a fetched data set."""
    place = None
    with suppress(ImportError):  # what fetches is not installed, so nothing was fetched
        from shroom.datasets.download.sources import cached

        place = cached(name)
    if place := place or in_data_folder(name):
        return place
    reason = data_folder_problem() or "is not in the folder SHROOM_DATA"
    raise ShroomError(
        f"{name} was not fetched, and {reason}; fetch it (shroom datasets "
        f"fetch {name}), or specify its files: {name}=PATH"
    )


def named_in(datasets: Data | Sequence[Data] | Mapping[str, Data]) -> list[Named]:
    """Return data sets from names as on a command line, rows or data frames."""
    if isinstance(datasets, Mapping):
        return [
            replace(_named_or_rows(data, str(name)), name=str(name))
            for name, data in datasets.items()
        ]
    listed = datasets if are_several(datasets) else [datasets]
    return [_named_or_rows(data, f"data {place}") for place, data in enumerate(listed, 1)]


def _named_or_rows(data: Data, name: str) -> Named:
    if is_path(data):
        return named(os.fspath(data))
    source = as_source(data, name)
    dataset = guess(source)  # by the keys of the first row
    if dataset is None:
        raise ShroomError(
            f"{name}: unknown format; rows need the keys of a data set, such as "
            "hyp, src, tgt, task, label and p(Hallucination)"
        )
    return Named(dataset, next(iter(data_set(dataset).views)), source, name=name)
