"""Lazy registries: what has a name is imported when it is asked for, and not before."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError, nearest, printable

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Entry:
    """Where a class is, what it does, what it needs.

    Attributes
    ----------
    where : str
        ``module:attribute``; imported when it is asked for.
    line : str
        What it does, in a line.
    needs : tuple of str
        Modules that must be installed.
    extra : str
        The extra of the kit that installs them.
    also : str
        What else the user must give, in words.
    """

    where: str
    line: str
    needs: tuple[str, ...] = ()
    extra: str = ""
    also: str = ""

    def missing(self) -> list[str]:
        """Return the modules it needs that are not installed here."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


class Registry(dict[str, Entry]):
    """Classes of one kind by name.

    Parameters
    ----------
    kind : str
        What they are, in a word.
    entries : mapping of Entry
        By name, in the order in which they are listed.

    Examples
    --------
    >>> rankers = Registry("ranker", {"length": Entry("shroom.core.registry:Entry", "by length")})
    >>> rankers.make("length", where="here", line="").where
    'here'
    >>> rankers.make("lenght")
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: no ranker is named 'lenght'; did you mean 'length'? ...
    """

    def __init__(self, kind: str, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self.kind = kind

    def class_of(self, name: str) -> Any:
        """Return the class of a name.

        Raises
        ------
        ShroomError
            Where there is none; the message suggests the nearest.
        """
        if name not in self:
            known = ", ".join(sorted(self))
            raise ShroomError(
                f"no {self.kind} is named '{printable(name)}';{nearest(name, self)} "
                f"there are: {known}"
            )
        module, _, attribute = self[name].where.partition(":")
        return getattr(importlib.import_module(module), attribute)

    def make(self, name: str, /, **settings: Any) -> Any:
        """Return what a name stands for, with these settings.

        Raises
        ------
        ShroomError
            Where there is no such name or setting; the message suggests the nearest.
        """
        made = self.class_of(name)
        known = inspect.signature(made).parameters
        for setting in settings:
            if setting not in known:
                there = f"there are: {', '.join(known)}" if known else "it has none"
                raise ShroomError(
                    f"the {self.kind} {name} has no setting '{printable(setting)}';"
                    f"{nearest(setting, known)} {there}"
                )
        return made(**settings)
