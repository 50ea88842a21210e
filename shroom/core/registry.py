"""Lazy registries: what has a name is imported when it is used, and not before.

Other packages add names of their own through entry points, in a group of installed metadata such as
``shroom.detectors``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from shroom.core.problems import ShroomError, UnknownName, nearest, printable


@dataclass(frozen=True)
class Entry:
    """The place of an object, what it does and what it needs.

    Attributes
    ----------
    where : str
        ``module:attribute``.
    line : str
        Description, in one line.
    needs : tuple of str
        Modules that must be installed.
    extra : str
        The extra of the kit that installs them.
    also : str
        Further requirements, in words.
    package : str
        Name and version of the other package that registers it; empty for the kit's own.
    """

    where: str
    line: str = ""
    needs: tuple[str, ...] = ()
    extra: str = ""
    also: str = ""
    package: str = ""

    def missing(self) -> list[str]:
        """Return the needed modules that are not installed here."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


E = TypeVar("E", bound=Entry)


class Registry(MutableMapping[str, E], Generic[E]):
    """Objects of one kind by name, in the order in which they are listed.

    As a mapping it gives entries; :meth:`load` imports the objects.

    Parameters
    ----------
    kind : str
        Kind of the entries, such as ``"detector"``.
    entries : mapping of Entry
        The kit's own, by name.
    group : str, optional
        The group of entry points by which other packages add theirs.
    base : str, optional
        ``module:attribute`` of the class that objects of other packages are subclasses or
        instances of. Their attribute ``name`` must be the name of the entry point.

    Examples
    --------
    >>> rankers = Registry("ranker", {"length": Entry("shroom.core.registry:Entry", "by length")})
    >>> rankers.make("length", where="here").where
    'here'
    >>> rankers.load("lenght")
    Traceback (most recent call last):
    shroom.core.problems.UnknownName: no ranker 'lenght'; did you mean 'length'? the rankers are ...
    """

    def __init__(
        self, kind: str, entries: Mapping[str, E], *, group: str = "", base: str = ""
    ) -> None:
        self.kind, self.group = kind, group
        self._own = dict(entries)
        self._base = base

    def load(self, name: str) -> Any:
        """Return the object of a name.

        Raises
        ------
        ShroomError
            If there is none, several packages use the name, or the object of another package
            cannot be imported or is of another class.
        """
        if name not in self:
            raise self.unknown(name)
        problem = self._collisions.get(name)
        if problem:
            raise ShroomError(problem)
        entry = self[name]
        return self._checked(name, entry) if entry.package else _imported(entry.where)

    def make(self, name: str, /, **settings: Any) -> Any:
        """Return an object of the class of a name, made with settings.

        Raises
        ------
        ShroomError
            If there is no such name or setting; the message suggests the nearest.
        """
        target = self.load(name)
        grouped = hasattr(target, "from_settings")  # its constructor takes groups of settings
        parameters = target.setting_names() if grouped else inspect.signature(target).parameters
        for setting in settings:
            if setting not in parameters:
                there = f"there are: {', '.join(parameters)}" if parameters else "it has none"
                raise ShroomError(
                    f"the {self.kind} {name} has no setting '{printable(setting)}';"
                    f"{nearest(setting, parameters)} {there}"
                )
        return target.from_settings(**settings) if grouped else target(**settings)

    def problem(self, name: str) -> str | None:
        """Return why a name of another package cannot be used, ``None`` if it can.

        This imports the objects that other packages have registered.
        """
        if not (self[name].package or name in self._collisions):
            return None
        try:
            self.load(name)
        except ShroomError as error:
            return str(error)
        return None

    def unknown(self, name: str, also: Iterable[str] = ()) -> ShroomError:
        """Return the error for a name that is not in the registry, nor among ``also``."""
        names = [*self, *also]
        with_word = [candidate for candidate in names if name.lower() in candidate.split("_")]
        hint = f" did you mean '{with_word[0]}'?" if len(with_word) == 1 else ""
        hint = hint or nearest(name.lower(), names)
        return UnknownName(
            f"no {self.kind} '{printable(name)}';{hint} the {self.kind}s are {', '.join(names)}"
        )

    def __getitem__(self, name: str) -> E:
        return self._own[name] if name in self._own else self._others[name]

    def __setitem__(self, name: str, entry: E) -> None:
        self._own[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._own, *(name for name in self._others if name not in self._own)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    @functools.cached_property
    def _others(self) -> dict[str, E]:
        """The entries of other packages; if several have the same name, the first."""
        kind = type(next(iter(self._own.values())))
        entries: dict[str, E] = {}
        for name, target, package in _entry_points(self.group) if self.group else ():
            entries.setdefault(name, kind(target, f"from {package}", package=package))
        return entries

    @functools.cached_property
    def _collisions(self) -> dict[str, str]:
        """Why a name that is used more than once is refused, by name."""
        owners: dict[str, list[str]] = {}
        for name, _, package in _entry_points(self.group) if self.group else ():
            owners.setdefault(name, ["the kit"] if name in self._own else []).append(package)
        return {
            name: f"the {self.kind} '{name}' is defined by {' and by '.join(packages)}; "
            f"uninstall {packages[-1]}, or have it use another name"
            for name, packages in owners.items()
            if len(packages) > 1
        }

    def _checked(self, name: str, entry: E) -> Any:
        """Return the object that another package has registered."""
        who = f"the {self.kind} '{name}' of {entry.package} ({entry.where})"
        try:
            value = _imported(entry.where)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise ShroomError(f"{who} cannot be imported: {reason}") from error
        base: type = _imported(self._base)
        kind = value if isinstance(value, type) else type(value)
        if not issubclass(kind, base):
            raise ShroomError(f"{who} is not a {self._base.replace(':', '.')}")
        if value.name != name:
            raise ShroomError(f"{who} has the name '{value.name}'; give it the name '{name}'")
        return value


def _imported(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))


@functools.cache
def _entry_points(group: str) -> list[tuple[str, str, str]]:
    """Return name, place and package of the entry points of a group, as they are installed."""
    from importlib.metadata import distributions

    points_of: dict[str, list[tuple[str, str, str]]] = {}
    for distribution in distributions():
        points = [point for point in distribution.entry_points if point.group == group]
        if points:
            name = distribution.metadata["Name"]
            package = f"{name} {distribution.version}"
            # If a package is installed twice, Python imports the first.
            points_of.setdefault(name, [(point.name, point.value, package) for point in points])
    return [point for points in points_of.values() for point in points]
