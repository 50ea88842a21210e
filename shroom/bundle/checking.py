"""Checking what Codabench would refuse of a bundle: a JSON Schema, and a few rules beyond it."""

from __future__ import annotations

import datetime as dt
import functools
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from shroom.bundle.contents import Contents, opened
from shroom.bundle.rules import FILES, ODD, RELATIONS, moment
from shroom.bundle.yaml_reading import parsed_yaml
from shroom.core.extras import require
from shroom.core.printing import nearest, printable, show
from shroom.core.problems import ShroomError

FILE = "competition.yaml"
#: The version of the platform that the schema and the rules were read from.
COMMIT = "c7dbc75 (March 2026)"
#: Bytes of a ``competition.yaml``; no competition needs more.
MAX_YAML = 1 << 20
#: Lines that are reported.
_MOST = 100


@dataclass(frozen=True)
class Findings:
    """What a check of a bundle finds.

    Attributes
    ----------
    refused : list of str
        A line for each reason for which the platform refuses the bundle.
    warnings : list of str
        A line for each thing that the platform takes, but that its organiser hardly means.
    """

    refused: list[str]
    warnings: list[str]


def check(source: str | os.PathLike[str] | bytes, file: str = "the bundle") -> Findings:
    """Return what Codabench would refuse of a bundle, whoever made it.

    Parameters
    ----------
    source : path or bytes
        A zip, or a folder with what would be zipped.
    file : str
        Name of the bundle in messages, where it is not a path.

    Raises
    ------
    ShroomError
        If there is no such file, or packages of the extra ``bundle`` are missing.
    """
    require("bundle", "jsonschema", "pyyaml")
    contents = opened(source, file)
    place = f"{contents.file}/{FILE}"
    refused: list[str] = []
    warnings: list[str] = []
    if FILE in contents.names or not contents.problems.errors:
        try:
            data, warnings = _described(contents)
            refused = _breaches(data, contents, warnings)
        except (ShroomError, ValueError) as error:  # also integers of more digits than JSON takes
            refused = [str(error)]
    read = [line for line in contents.problems.lines() if not line.startswith("  ")]
    outside = [f"expected files inside the bundle, got {show(name)}" for name in contents.outside]
    listed = read + _lines(contents.file, outside) + _lines(place, refused)
    return Findings(listed, _lines(place, warnings))


def _lines(place: str, sentences: list[str]) -> list[str]:
    """Return each sentence once, after the name of the file, up to a number of lines."""
    lines = [printable(f"{place}: {text}") for text in dict.fromkeys(sentences)]
    more = [f"{place}: and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    return lines[:_MOST] + more


def _described(contents: Contents) -> tuple[dict[str, Any], list[str]]:
    """Return a competition as JSON has it, and a warning for each time that the platform cuts."""
    if FILE not in contents.names:
        near = [name for name in contents.names if name.endswith(f"/{FILE}")]
        got = f"{show(near[0])}; zip the files, not their folder" if near else "none"
        raise ShroomError(f"expected this file at the top of the bundle, got {got}")
    text = contents.read(FILE) or b""
    if len(text) > MAX_YAML:
        raise ShroomError(f"expected at most {MAX_YAML} bytes, got {len(text)}")
    try:
        described = parsed_yaml(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ShroomError("expected UTF-8, got other bytes") from error
    if not isinstance(described, dict):
        raise ShroomError(f"expected keys and values, got {show(described)}")
    if described.get("version") not in (2, "2"):
        got = show(described["version"]) if "version" in described else "none"
        raise ShroomError(f"version: expected 2, got {got}; other versions are not checked")
    warnings = _dates_as_text(described.get("phases"))
    # A date is no text for the platform, and is none for the schema.
    return json.loads(
        json.dumps(described, default=lambda other: [str(other)], skipkeys=True)
    ), warnings


def _dates_as_text(phases: Any) -> list[str]:
    """Write the starts and ends of phases as texts; return a warning for each time that is cut."""
    warnings = []
    for index, phase in enumerate(phases if isinstance(phases, list) else ()):
        for key in ("start", "end") if isinstance(phase, dict) else ():
            value = phase.get(key)
            if isinstance(value, dt.date):
                phase[key] = str(value)[:10]
                if isinstance(value, dt.datetime) and value.time() != dt.time():
                    got = f"{value}, of which only the day counts"
                    warnings.append(
                        f"phases[{index}].{key}: expected a time in quotation marks, got {got}"
                    )
    return warnings


def _breaches(data: dict[str, Any], contents: Contents, warnings: list[str]) -> list[str]:
    """Return the reasons for refusing a competition; add to the warnings."""
    errors = list(_validator().iter_errors(data))
    unread = [error for error in errors if error.validator == "additionalProperties"]
    broken = [error for error in errors if error.validator != "additionalProperties"]
    warnings += [f"{place}: {text}" for error in unread for place, text in _unread(error)]
    refused = {place: text for error in broken for place, text in _broken(error)}
    for error in sorted(broken, key=lambda error: -len(error.path)):
        if error.validator != "required":
            _remove(data, list(error.path))
    breaches = [*(rule(data, contents) for rule in FILES), *(rule(data) for rule in RELATIONS)]
    for place, text in chain.from_iterable(breaches):
        refused.setdefault(place, text)
    warnings += [f"{place}: {text}" for rule in ODD for place, text in rule(data)]
    return [f"{place}: {text}" for place, text in refused.items()]


@functools.cache
def _schema() -> dict[str, Any]:
    text = Path(__file__).with_name("competition.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@functools.cache
def _validator() -> Any:
    import jsonschema

    formats = jsonschema.FormatChecker(formats=["uuid"])
    formats.checks("moment")(lambda value: moment(value) is not None)
    return jsonschema.Draft202012Validator(_schema(), format_checker=formats)


def _broken(error: Any) -> Iterator[tuple[str, str]]:
    """Yield the place of an error of the schema, and a sentence by the schema's descriptions."""
    place = _place(error.path)
    if error.validator == "required":
        for key in error.validator_value:
            if key not in error.instance:
                part = error.schema["properties"][key]
                part = _schema()["$defs"].get(part.get("$ref", "").rpartition("/")[2], part)
                yield _joined(place, key), f"expected {part['description']}, got none"
        return
    value = error.instance
    size = f" of {len(value)} characters" if error.validator == "maxLength" else ""
    yield place, f"expected {error.schema['description']}, got {show(value)}{size}"


def _unread(error: Any) -> Iterator[tuple[str, str]]:
    """Yield the place of each key that the platform does not read, and the nearest known one."""
    known = error.schema["properties"]
    for key in [key for key in error.instance if key not in known]:
        hint = nearest(key, known) or f" there are {', '.join(known)}"
        yield _joined(_place(error.path), key), f"expected a key that is read;{hint}"


def _place(path: Iterator[str | int]) -> str:
    """Return a path of JSON as messages have it: ``phases[1].start``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]


def _joined(place: str, key: str) -> str:
    return f"{place}.{key}".lstrip(".")


def _remove(data: Any, path: list[Any]) -> None:
    """Remove a value; an entry of a list leaves an empty table, so that no place changes."""
    *above, last = path
    for part in above:
        data = data[part]
    if isinstance(data, list):
        data[last] = {}
    else:
        data.pop(last, None)
