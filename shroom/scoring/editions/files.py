"""Edition files: reading, validating and finding them.

An edition is written as TOML. The scoring program of a bundle, which has numpy alone, gets the
validated edition as JSON.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.core.toml import parsed_toml
from shroom.scoring.editions.edition import MAX_KEY, MEAN, Edition

#: The name of an edition's file beside its gold.
FILE = "edition.toml"
#: The edition that the kit's commands use by default.
DEFAULT = "semeval2024"
_FOLDER = Path(__file__).parent


def built_in_names() -> list[str]:
    """Return the names of the editions that the kit has."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@functools.cache
def built_in(name: str) -> Edition:
    """Return one of the kit's own editions.

    Raises
    ------
    UnknownName
        If the kit has no edition of this name.

    Examples
    --------
    >>> built_in("semeval2024").track_names
    ('model-agnostic', 'model-aware')
    """
    # A test makes sure that these files are valid; to read them the standard library is enough.
    return from_plain(parsed_toml(text_of(name)))


def text_of(name: str) -> str:
    """Return the file of one of the kit's own editions; see :func:`built_in`."""
    names = built_in_names()
    if name not in names:
        raise UnknownName(
            f"no edition '{printable(name)}';{nearest(name, names)} the kit has "
            f"{', '.join(names)}; name a file (edition.toml) for another one"
        )
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def template() -> str:
    """Return an edition file with comments, to be filled in."""
    return (_FOLDER / "template.txt").read_text(encoding="utf-8")


def default() -> Edition:
    """Return the edition that the kit's commands use by default."""
    return built_in(DEFAULT)


def named(edition: Edition | Source | None, gold: Source | None = None) -> Edition:
    """Return the edition that a user means.

    Parameters
    ----------
    edition : Edition, str, path or None
        An edition, the name of one of the kit's, or the path of a file.
    gold : path, optional
        Where no edition is given, the ``edition.toml`` in this folder, or beside this file, is
        used; without one the default.

    Raises
    ------
    ShroomError
        If there is no such edition, or its file is not valid.
    """
    if isinstance(edition, Edition):
        return edition
    if edition is not None:
        path = Path(edition)
        if path.suffix in (".toml", ".json") or path.is_file():
            return read(path)
        if path.is_dir() and (path / FILE).is_file():
            return read(path / FILE)
        return built_in(str(edition))
    beside = None if gold is None else file_beside(gold)
    return default() if beside is None else read(beside)


def file_beside(gold: Source) -> Path | None:
    """Return the edition file in a folder of gold, or beside a file of gold, if there is one."""
    if str(gold) == "-" or not Path(gold).exists():
        return None
    path = Path(gold)
    found = (path if path.is_dir() else path.parent) / FILE
    return found if found.is_file() else None


def read(path: Path) -> Edition:
    """Return the edition of a file, validated.

    Raises
    ------
    ShroomError
        With every problem and its place in the file, one on each line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        plain = json.loads(text) if path.suffix == ".json" else parsed_toml(text)
    except OSError as error:
        raise ShroomError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ShroomError(f"{path}: cannot be read: {error}") from error
    problems = problems_of(plain)
    if problems:
        raise ShroomError("\n".join(f"{path}: {problem}" for problem in problems))
    return from_plain(plain)


def problems_of(plain: Any) -> list[str]:
    """Return what is wrong with an edition as plain values, each with its place."""
    import msgspec

    unknown = list(_unknown_keys(plain, Edition, ""))
    if unknown:
        return unknown
    try:
        edition = msgspec.convert(plain, Edition)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at ")
        return [f"{place.strip('`').removeprefix('$.') or 'the file'}: {message.lower()}"]
    return list(_contradictions(edition))


def _unknown_keys(value: Any, kind: Any, place: str) -> typing.Iterator[str]:
    """Yield a sentence for each key that a table has and its class does not."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if hasattr(kind, "__dataclass_fields__") and isinstance(value, Mapping):
        fields = _types(kind)
        for key, part in value.items():
            at = f"{place}.{key}" if place else str(key)
            if key not in fields:
                yield f"{at}: no such key;{nearest(key, fields)} there are {', '.join(fields)}"
            else:
                yield from _unknown_keys(part, fields[key], at)
    elif origin is tuple and isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _unknown_keys(part, arguments[0], f"{place}[{index}]")
    elif origin is dict and isinstance(value, Mapping):
        for key, part in value.items():
            yield from _unknown_keys(part, arguments[1], f"{place}.{key}")


def _contradictions(edition: Edition) -> typing.Iterator[str]:
    """Yield what types alone do not show."""
    if not edition.splits:
        yield "splits: expected at least one"
    named: dict[str, list[str]] = {
        "tracks": [track.name for track in edition.tracks],
        "splits": list(edition.split_names),
        "columns": [column.key for column in edition.columns],
        "annotation.aspects": [aspect.name for aspect in edition.annotation.aspects],
    }
    for key, names in named.items():
        for index, name in enumerate(names):
            if name in names[:index]:
                yield f"{key}[{index}]: expected a name of its own, got '{name}' again"
    files = edition.files.predictions.replace("{lang}", "{track}")
    for part, key in (("{track}", "tracks"), ("{split}", "splits")):
        if len(named[key]) > 1 and part not in files:
            yield f"files.predictions: expected {part} in it, since there are several {key}"
    if (edition.annotation.kind == "aspects") != bool(edition.annotation.aspects):
        yield "annotation.aspects: expected one or more for the kind aspects, and for no other"
    if (edition.annotation.kind == "labelled-spans") != bool(edition.annotation.labels):
        yield "annotation.labels: expected one or more for the kind labelled-spans alone"
    yield from _wrong_metrics(edition)
    yield from _wrong_phases(edition)


def _wrong_metrics(edition: Edition) -> typing.Iterator[str]:
    from shroom.scoring.kinds.registry import kind_of

    kind = kind_of(edition)

    def problem_of(metric: str) -> str:
        try:
            kind.metric(metric, edition)
        except ShroomError as error:
            return str(error)
        return ""

    for index, metric in enumerate(edition.metrics):
        if problem := problem_of(metric):
            yield f"metrics[{index}]: {problem}"
    for index, column in enumerate(edition.columns):
        place = f"columns[{index}]"
        if len(column.key) > MAX_KEY:
            yield f"{place}.key: expected at most {MAX_KEY} characters"
        if problem := problem_of(column.metric):
            yield f"{place}.metric: {problem}"
        if column.track not in (*edition.track_names, *([MEAN] if edition.average else [])):
            yield f"{place}.track: no track '{column.track}'"


def _wrong_phases(edition: Edition) -> typing.Iterator[str]:
    end = None
    for index, phase in enumerate(edition.phases):
        place = f"phases[{index}]"
        if phase.split not in edition.split_names:
            yield f"{place}.split: no split '{phase.split}'"
        if phase.start and phase.end and phase.end < phase.start:
            yield f"{place}.end: expected a day after the start, {phase.start}"
        if end and phase.start and phase.start <= end:
            yield f"{place}.start: expected a day after {end}, when the phase before it ends"
        end = phase.end or phase.start or end


def from_plain(plain: Mapping[str, Any]) -> Edition:
    """Return the edition of plain values that have been validated."""
    edition: Edition = _built(Edition, plain)
    return edition


def to_plain(edition: Edition) -> dict[str, Any]:
    """Return an edition as plain values for JSON; :func:`from_plain` reads them."""
    plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(edition), default=str))
    return plain


def schema() -> dict[str, Any]:
    """Return the JSON Schema of edition files, for editors."""
    import msgspec

    title = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**title, **msgspec.json.schema(Edition)}


@functools.cache
def _types(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _built(kind: Any, value: Any) -> Any:
    """Return plain values as what a type says: dataclasses, tuples, enums, dates."""
    import datetime as dt
    from enum import Enum

    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        return None if value is None else _built(arguments[0], value)
    if origin is tuple:
        return tuple(_built(arguments[0], part) for part in value)
    if origin is dict:
        return {key: _built(arguments[1], part) for key, part in value.items()}
    if hasattr(kind, "__dataclass_fields__"):
        types = _types(kind)
        return kind(**{key: _built(types[key], part) for key, part in value.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is dt.date and isinstance(value, str):
        return dt.date.fromisoformat(value)
    return value
