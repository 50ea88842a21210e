"""The check whether Codabench would accept a bundle, by a JSON Schema and further rules."""

from __future__ import annotations

import datetime as dt
import functools
import json
import operator
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from shroom.bundle.contents import FILE, Contents, described
from shroom.core.extras import require
from shroom.core.printing import nearest, printable, show
from shroom.core.problems import ShroomError

#: The version of Codabench whose source the schema and the rules follow.
COMMIT = "c7dbc75 (March 2026)"

Table = dict[str, Any]
Tables = list[tuple[str, Table]]
Breaches = Iterator[tuple[str, str]]


class Findings(NamedTuple):
    """Errors that the platform rejects, and likely mistakes that it accepts, as lines."""

    refused: list[str]
    warnings: list[str]


def check(source: str | os.PathLike[str] | bytes, file: str = "the bundle") -> Findings:
    """Return why Codabench would reject a bundle, given as a zip or its bytes."""
    require("bundle", "jsonschema", "pyyaml")
    contents = Contents(source, file)
    place = f"{contents.file}/{FILE}"
    refused: list[str] = []
    warnings: list[str] = []
    if FILE in contents.files or not contents.problems.errors:
        try:
            refused = _breaches(described(contents), contents, warnings)
        except (ShroomError, ValueError) as error:  # ValueError: integers with too many digits
            refused = [str(error)]
    read = [line for line in contents.problems.lines() if not line.startswith("  ")]
    outside = [f"expected paths inside the bundle, got {show(name)}" for name in contents.outside]
    listed = read + _lines(contents.file, outside) + _lines(place, refused)
    return Findings(listed, _lines(place, warnings))


def _lines(place: str, sentences: list[str]) -> list[str]:
    return [printable(f"{place}: {text}") for text in dict.fromkeys(sentences)]


def _breaches(data: dict[str, Any], contents: Contents, warnings: list[str]) -> list[str]:
    validator = _validator(contents)
    refused: dict[str, str] = {}
    wrong = []
    for error in validator.iter_errors(data):
        sentences = dict(_sentences(error, validator.schema["$defs"]))
        if error.validator == "additionalProperties":
            warnings += [f"{place}: {text}" for place, text in sentences.items()]
            continue
        refused.update(sentences)
        if error.validator != "required":
            wrong.append(list(error.path))
    for path in sorted(wrong, key=len, reverse=True):
        _remove(data, path)
    for place, text in (breach for rule in REFUSED for breach in rule(data)):
        refused.setdefault(place, text)
    return [f"{place}: {text}" for place, text in refused.items()]


def _validator(contents: Contents) -> Any:
    """Return the validator of a competition; its formats look into the files of the bundle."""
    import jsonschema

    schema = json.loads(Path(__file__).with_name("competition.schema.json").read_text("utf-8"))
    formats = jsonschema.FormatChecker(formats=["uuid"])
    own = {
        "moment": lambda value: moment(value) is not None,
        "image": contents.is_image,
        "text": contents.is_text,
        "inside": contents.has,
        "program": contents.is_program,
    }
    for name, fits in own.items():
        formats.checks(name, raises=ShroomError)(fits)
    return jsonschema.Draft202012Validator(schema, format_checker=formats)


def _sentences(error: Any, definitions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the places of a schema error, with sentences made from the schema's descriptions."""
    value, known = error.instance, error.schema.get("properties", {})
    if error.validator == "required":
        for key in [key for key in error.validator_value if key not in value]:
            part = known[key]
            while "$ref" in part:
                part = definitions[part["$ref"].rpartition("/")[2]]
            yield _place(*error.path, key), f"expected {part['description']}, got none"
    elif error.validator == "additionalProperties":
        for key in [key for key in value if key not in known]:
            hint = nearest(key, known) or f" the keys are {', '.join(known)}"
            yield _place(*error.path, key), f"expected a key that Codabench reads;{hint}"
    elif isinstance(error.cause, ShroomError):
        yield _place(*error.path), str(error.cause)
    else:
        yield _place(*error.path), f"expected {error.schema['description']}, got {show(value)}"


def _place(*path: str | int) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]


def _remove(data: Any, path: list[Any]) -> None:
    """Remove a value; in a list it becomes an empty table, so that other places do not change."""
    *above, last = path
    data = functools.reduce(operator.getitem, above, data)
    if isinstance(data, list):
        data[last] = {}
    else:
        data.pop(last, None)


# Rules beyond the JSON Schema, which yield places and reasons


def _tables(data: Table, name: str, place: str = "") -> Tables:
    return [(f"{place}{name}[{index}]", table) for index, table in enumerate(data.get(name) or [])]


def _boards(data: Table) -> Iterator[tuple[str, Table, Tables]]:
    for place, board in _tables(data, "leaderboards"):
        yield place, board, _tables(board, "columns", f"{place}.")


def moment(value: Any) -> dt.datetime | None:
    """Return the time that the platform reads from a text; ``None`` if it finds no time."""
    try:
        return dt.datetime.fromisoformat(str(value).strip().removesuffix("Z")).replace(tzinfo=None)
    except ValueError:
        return None


def _doubled(data: Table) -> Breaches:
    columns = [(own, key) for _, _, own in _boards(data) for key in ("key", "index")]
    for tables, key in [(_tables(data, "tasks"), "index"), *columns]:
        seen = set()
        for place, table in tables:
            value = table.get(key)
            if value is not None and value in seen:
                yield f"{place}.{key}", f"expected a unique {key}, got {show(value)} again"
            seen.add(value)


def _task_indexes(data: Table) -> Breaches:
    indexes = [task.get("index") for _, task in _tables(data, "tasks")]
    if "tasks" not in data or None in indexes:
        return
    for place, table in _tables(data, "phases") + _tables(data, "solutions"):
        for number, index in enumerate(table.get("tasks", ())):
            if index not in indexes:
                yield f"{place}.tasks[{number}]", f"expected the index of a task, got {show(index)}"


def _questions(data: Table) -> Breaches:
    for key, question in (data.get("fact_sheet") or {}).items():
        if str(question["key"]) != key:
            yield f"fact_sheet.{key}.key", f"expected {show(key)}, got {show(question['key'])}"


def _phase_order(data: Table) -> Breaches:
    phases = sorted(_tables(data, "phases"), key=lambda phase: float(phase[1].get("index", 0)))
    for place, phase in phases[:1]:
        value = phase.get("auto_migrate_to_this_phase")
        if str(value).lower() in ("true", "1"):
            expected = "false, because this is the first phase"
            yield f"{place}.auto_migrate_to_this_phase", f"expected {expected}, got {show(value)}"
    for (place, phase), (next_place, following) in pairwise(phases):
        end, start = moment(phase.get("end")), moment(following.get("start"))
        if not phase.get("end"):
            yield f"{place}.end", "expected a date (another phase follows), got none"
        elif end and start and start <= end:
            expected = f"a time after {end}, when the previous phase ends"
            yield f"{next_place}.start", f"expected {expected}, got {start}"


def _column_indexes(data: Table) -> Breaches:
    for place, board, columns in _boards(data):
        indexes = [column.get("index") for _, column in columns]
        if not columns or None in indexes:
            continue
        primary = board.get("primary_index", 0)
        if primary not in indexes:
            yield f"{place}.primary_index", f"expected the index of a column, got {show(primary)}"
        for own_place, column in columns:
            sources = column.get("computation_indexes") if "computation" in column else None
            others = {str(index) for index in indexes if index != column["index"]}
            if not set(map(str, sources or ())) <= others:
                got = f"expected a list of indexes of other columns, got {show(sources)}"
                yield f"{own_place}.computation_indexes", got


#: The platform refuses a bundle that breaks one of these rules.
REFUSED = (_doubled, _task_indexes, _questions, _phase_order, _column_indexes)
