"""Lazy registries: what has a name is imported when it is used, and not before.

Other packages add names of their own through entry points, in a group of installed metadata such as
``shroom.detectors``. What is not installed is named by its place, ``module:attribute``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from shroom.core.problems import ShroomError, UnknownName, nearest, printable

#: The packages, by the names of their top-level modules, from which objects were loaded by name.
PLUG_INS: set[str] = set()
#: The place of an object: a module and an attribute, as entry points write it.
_PLACE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


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

    As a mapping it gives entries; :meth:`load` imports the objects. A registry with a group of
    entry points also takes ``module:attribute`` for a name, and looks for the module in the working
    folder, too. Names that come from a file go through :meth:`in_file` first.

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
        if self.checked_name(name) not in self:
            raise self.unknown(name)
        problem = self._collisions.get(name)
        if problem:
            raise ShroomError(problem)
        entry = self[name]
        return _imported(entry.where) if name in self._own else self._checked(name, entry)

    def make(self, name: str, /, **settings: Any) -> Any:
        """Return an object of the class of a name, made with settings.

        Raises
        ------
        ShroomError
            If there is no such name or setting, or a setting is missing; the message suggests the
            nearest.
        """
        target = self.load(name)
        if not callable(target):
            raise ShroomError(f"the {self.kind} '{name}' is not a class: name its class")
        grouped = hasattr(target, "from_settings")  # its constructor takes groups of settings
        if grouped:
            check_settings(f"{self.kind} {name}", settings, target.setting_names())
            return target.from_settings(**settings)
        parameters = settings_of(target)
        check_settings(f"{self.kind} {name}", settings, parameters)
        for setting, default in parameters.items():
            if default is inspect.Parameter.empty and setting not in settings:
                raise ShroomError(f"the {self.kind} {name} needs the setting '{setting}'")
        return target(**settings)

    def checked_name(self, name: object) -> str:
        """Return a name, or a path that stands for one, as text.

        Raises
        ------
        ShroomError
            If it is neither.
        """
        if isinstance(name, (str, os.PathLike)):
            return str(name)
        got = type(name).__name__
        if isinstance(name, type):
            got = f"the class {name.__name__}; make an object of it"
        raise ShroomError(f"expected the name of a {self.kind}, got {got}")

    def in_file(self, name: str) -> str:
        """Return a name that comes from a file; refuse a place, since files never run code."""
        if ":" in name:
            way_out = "name it on the command line, or install it with an entry point"
            raise ShroomError(f"the {self.kind} '{printable(name)}' names code; {way_out}")
        return name

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
        return unknown_name(self.kind, name, [*self, *also])

    def __getitem__(self, name: str) -> E:
        if name in self._own:
            return self._own[name]
        if self.group and _PLACE.fullmatch(name):
            return self._kind(name, f"from {name}")
        return self._others[name]

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
        entries: dict[str, E] = {}
        for name, target, package in _entry_points(self.group) if self.group else ():
            entries.setdefault(name, self._kind(target, f"from {package}", package=package))
        return entries

    @property
    def _kind(self) -> type[E]:
        return type(next(iter(self._own.values())))

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
        """Return the object that another package has registered, or that is at a place."""
        who = f"the {self.kind} '{name}'"
        who += f" of {entry.package} ({entry.where})" if entry.package else ""
        PLUG_INS.add(re.split("[.:]", entry.where)[0])
        try:
            if not entry.package:
                _look_in_working_folder()
            value = _imported(entry.where)
        except (Exception, SystemExit) as error:
            reason = f"{type(error).__name__}: {error}{_hint(entry.where, error)}"
            raise ShroomError(f"{who} cannot be imported: {reason}") from error
        base: type = _imported(self._base)
        kind = value if isinstance(value, type) else type(value)
        if not issubclass(kind, base):
            raise ShroomError(f"{who} is not a {self._base.replace(':', '.')}")
        if entry.package and value.name != name:
            raise ShroomError(f"{who} has the name '{value.name}'; give it the name '{name}'")
        if not (isinstance(value.name, str) and value.name):
            raise ShroomError(f"{who} has no name; give it one, such as name = 'new-words'")
        return value


def unknown_name(kind: str, name: str, names: Iterable[str]) -> UnknownName:
    """Return the error for a name that is none of a kind's; it suggests the nearest."""
    names = list(names)
    with_word = [candidate for candidate in names if name.lower() in candidate.split("_")]
    hint = f" did you mean '{with_word[0]}'?" if len(with_word) == 1 else ""
    hint = hint or nearest(name.lower(), names)
    return UnknownName(f"no {kind} '{printable(name)}';{hint} the {kind}s are {', '.join(names)}")


def settings_of(target: Any) -> dict[str, Any]:
    """Return the names and the defaults of the arguments that a class or a function takes by name.

    Examples
    --------
    >>> settings_of(lambda model, n=1, **others: None)["n"]
    1
    """
    parameters = inspect.signature(target).parameters.items()
    return {
        name: p.default for name, p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def check_settings(who: str, settings: Iterable[str], parameters: Iterable[str]) -> None:
    """Raise an error for the first setting that is not among the parameters."""
    parameters = list(parameters)
    for setting in settings:
        if setting not in parameters:
            there = f"there are: {', '.join(parameters)}" if parameters else "it has none"
            raise ShroomError(
                f"the {who} has no setting '{printable(setting)}';{nearest(setting, parameters)} "
                f"{there}"
            )


def _imported(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))


def _look_in_working_folder() -> None:
    """Have modules be looked for in the working folder, too, but last: no other is replaced."""
    folder = os.getcwd()  # noqa: PTH109 - as sys.path has it
    if not {"", folder} & set(sys.path):
        sys.path.append(folder)
    importlib.invalidate_caches()


def _hint(target: str, error: BaseException) -> str:
    """Return the way out where a module or an attribute does not exist."""
    module, _, attribute = target.partition(":")
    if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
        return f"; it is neither in {os.getcwd()} nor installed"  # noqa: PTH109 - may be deleted
    if isinstance(error, AttributeError) and module in sys.modules:
        return f";{nearest(attribute, vars(sys.modules[module]))}".rstrip(";")
    return f"; python -c 'import {module}' shows where"


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
