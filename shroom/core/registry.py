"""Lazy registries: named objects, of the kit and of plug-ins, that are imported on first use."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections import UserDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shroom.core.problems import ShroomError, UnknownName, nearest, printable

#: The top-level modules of plug-ins from which objects were loaded.
PLUG_INS: set[str] = set()
#: The import path of an object, ``module:attribute``, as in entry points.
_PLACE = re.compile(r"(?!.*\.py:)[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class Entry:
    """The import path of an object, its description and its requirements."""

    #: ``module:attribute``.
    where: str
    #: Description, in one line.
    line: str = ""
    #: Required modules, and the extra of the kit that installs them.
    needs: tuple[str, ...] = ()
    extra: str = ""
    #: Other requirements, in words.
    also: str = ""
    #: Name and version of the other package that registers it; empty for the kit's own.
    package: str = ""

    def missing(self) -> list[str]:
        """Return the required modules that are not installed."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


class Registry(UserDict[str, Entry]):
    """Objects of one kind: a mapping from names to entries, in the order of lists."""

    # A registry with a group of entry points also accepts ``module:attribute`` as a name.

    def __init__(
        self, kind: str, entries: Mapping[str, Entry], *, group: str = "", base: str = ""
    ) -> None:
        super().__init__(entries)
        self.kind, self._group, self._base = kind, group, base

    def load(self, name: str) -> Any:
        """Return the object of a name; refuse ambiguous names and invalid objects."""
        if self.checked_name(name) not in self:
            module, suffix, rest = Path(name).name.partition(".py")
            if self._group and (suffix or os.path.isfile(f"{name}.py")):  # noqa: PTH113 - never fails
                raise UnknownName(
                    f"no {self.kind} '{printable(name)}'; specify the import path of your "
                    f"{self.kind}: {printable(module)}{printable(rest) or ':NAME'}"
                )
            if self._group and re.fullmatch(r"(\w+\.)+[A-Z]\w*", name):
                path = ":".join(name.rsplit(".", 1))
                raise UnknownName(f"no {self.kind} '{name}'; an import path has a colon: {path}")
            raise unknown_name(self.kind, name, self)
        owners = ["the kit"] if name in self.data else []
        owners += [entry.package for entry in self._others.get(name, ())]
        if len(owners) > 1:
            raise ShroomError(
                f"the {self.kind} '{name}' is defined by {' and by '.join(owners)}; "
                f"uninstall {owners[-1]}, or give its {self.kind} another name"
            )
        return _imported(self[name].where) if name in self.data else self._plug_in(name)

    def make(self, name: str, /, **settings: Any) -> Any:
        """Return an instance of the named class, with checked settings."""
        target = self.load(name)
        if not callable(target):
            raise ShroomError(
                f"the {self.kind} '{name}' is not a class; use the import path of a class"
            )
        parameters = settings_of(target)
        check_settings(f"{self.kind} {name}", settings, parameters)
        for setting, default in parameters.items():
            if default is inspect.Parameter.empty and settings.get(setting) is None:
                needs = self[name].also or f"the setting '{setting}'"
                raise ShroomError(f"the {self.kind} {name} needs {needs}")
        return target(**settings)

    def checked_name(self, name: object) -> str:
        """Return a name or a path as text; refuse anything else."""
        if isinstance(name, (str, os.PathLike)):
            return str(name)
        got = type(name).__name__
        if isinstance(name, type):
            got = f"the class {name.__name__}; pass an instance of it"
        raise ShroomError(f"expected the name of a {self.kind}, got {got}")

    def in_file(self, name: str) -> str:
        """Return a name from a file; refuse an import path, because files never run code."""
        if ":" in name:
            raise ShroomError(
                f"the {self.kind} '{printable(name)}' is an import path. Files cannot contain "
                "import paths, because files must not run code; specify the path on the command "
                "line, or install an entry point"
            )
        return name

    def problem(self, name: str) -> str | None:
        """Return why a plug-in, which is imported, cannot be used; ``None`` if it can."""
        if name in self._others:
            try:
                self.load(name)
            except ShroomError as error:
                return str(error)
        return None

    def __missing__(self, name: str) -> Entry:
        if self._group and _PLACE.fullmatch(name):
            return Entry(name, f"from {name}")
        return self._others[name][0]

    __contains__ = Mapping.__contains__  # also of import paths and of other packages' names

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.data, *self._others)))

    def __len__(self) -> int:
        return len({*self.data, *self._others})

    @functools.cached_property
    def _others(self) -> dict[str, list[Entry]]:
        """The entries of other packages; several packages may have the same name."""
        return _entry_points(self._group) if self._group else {}

    def _plug_in(self, name: str) -> Any:
        """Return the object of another package's entry, or of an import path."""
        entry = self[name]
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
        if not issubclass(value if isinstance(value, type) else type(value), _imported(self._base)):
            base = self._base.partition(":")[2]
            raise ShroomError(f"{who} is not a {base}; derive its class from {base}")
        if entry.package and value.name != name:
            raise ShroomError(f"{who} has the name '{value.name}'; set its name to '{name}'")
        if not (isinstance(value.name, str) and value.name):
            raise ShroomError(f"{who} has no name; add one, such as name = 'new-words'")
        return value


@contextmanager
def plug_in_errors() -> Iterator[None]:
    """Turn an exception in a plug-in into a :class:`ShroomError` with its place."""
    try:
        yield
    except ShroomError:
        raise
    except (Exception, SystemExit) as error:
        import tempfile
        import traceback

        places = [
            f"{Path(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_globals.get("__name__", "").partition(".")[0] in PLUG_INS
        ]
        if not places:
            raise
        reason = traceback.format_exception_only(type(error), error)[-1].strip()
        with tempfile.NamedTemporaryFile(
            "w", prefix="shroom-", suffix=".txt", encoding="utf-8", delete=False
        ) as file:
            file.writelines(traceback.format_exception(type(error), error, error.__traceback__))
        message = f"{places[-1]} raised {reason}; the traceback is in {file.name}"
        raise ShroomError(message) from error


def unknown_name(kind: str, name: str, names: Iterable[str]) -> UnknownName:
    """Return the error for an unknown name; it suggests the most similar name."""
    names = list(names)
    hint = nearest(name.lower(), names)
    return UnknownName(f"no {kind} '{printable(name)}';{hint} the {kind}s are {', '.join(names)}")


def settings_of(target: Any) -> dict[str, Any]:
    """Return the names and defaults of the keyword arguments of a class or a function."""
    parameters = inspect.signature(target).parameters.items()
    return {
        name: p.default for name, p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }


def check_settings(who: str, settings: Iterable[str], parameters: Collection[str]) -> None:
    """Raise an error for the first setting that is not among the parameters."""
    listed = ", ".join(parameters)
    there = f"the settings are {listed}" if listed else "it has no settings"
    for setting in settings:
        if setting not in parameters:
            hint = nearest(setting, parameters)
            raise ShroomError(f"the {who} has no setting '{printable(setting)}';{hint} {there}")


def _imported(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return functools.reduce(getattr, attribute.split("."), importlib.import_module(module))


def _look_in_working_folder() -> None:
    """Add the working folder to the end of the module search path, so that it hides no module."""
    folder = os.getcwd()  # noqa: PTH109 - as sys.path has it
    if not {"", folder} & set(sys.path):
        sys.path.append(folder)
    importlib.invalidate_caches()


def _hint(target: str, error: BaseException) -> str:
    """Return advice if a module or an attribute does not exist."""
    module, _, attribute = target.partition(":")
    if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
        return f"; it is neither installed nor in {os.getcwd()}"  # noqa: PTH109 - may be deleted
    if isinstance(error, AttributeError) and module in sys.modules:
        return f";{nearest(attribute, vars(sys.modules[module]))}".rstrip(";")
    return f"; to see where the import fails, run python -c 'import {module}'"


@functools.cache
def _entry_points(group: str) -> dict[str, list[Entry]]:
    """Return the installed entry points of a group by name."""
    from importlib.metadata import distributions

    entries: dict[str, list[Entry]] = {}
    packages: set[str] = set()
    for distribution in distributions():
        points = [point for point in distribution.entry_points if point.group == group]
        name = distribution.metadata["Name"] if points else ""
        if not points or name in packages:  # installed twice; Python imports the first
            continue
        packages.add(name)
        package = f"{name} {distribution.version}"
        for point in points:
            entry = Entry(point.value, f"from {package}", package=package)
            entries.setdefault(point.name, []).append(entry)
    return entries
