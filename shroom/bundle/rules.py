"""What Codabench requires of a competition that a JSON Schema cannot state.

A rule gets a competition without the values that break the schema, and the files beside it if it
needs them. It yields the place of each breach, with what was expected and found.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from shroom.bundle.contents import Contents
from shroom.core.printing import show

Table = dict[str, Any]
Breaches = Iterator[tuple[str, str]]

#: The first bytes of the images that the platform takes: PNG, JPEG, GIF and WebP.
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
_DATA = {
    "tasks": ("scoring_program", "reference_data", "ingestion_program", "input_data"),
    "phases": ("public_data", "starting_kit"),
    "solutions": ("path",),
}


def tables(data: Table, name: str, place: str = "") -> list[tuple[str, Table]]:
    """Return the tables of a list with their places."""
    return [(f"{place}{name}[{index}]", table) for index, table in enumerate(data.get(name) or [])]


def boards(data: Table) -> list[tuple[str, Table, list[tuple[str, Table]]]]:
    """Return the leaderboards, each with its place and its columns."""
    listed = tables(data, "leaderboards")
    return [(place, board, tables(board, "columns", f"{place}.")) for place, board in listed]


def phases_of(data: Table) -> list[tuple[str, Table]]:
    """Return the phases in the order of their indexes."""
    return sorted(tables(data, "phases"), key=lambda phase: float(phase[1].get("index", 0)))


def moment(value: Any) -> dt.datetime | None:
    """Return the moment that the platform reads out of a date or time; ``None`` if it cannot.

    Examples
    --------
    >>> print(moment("2027-01-15 12:00"), moment("soon"))
    2027-01-15 12:00:00 None
    """
    try:
        return dt.datetime.fromisoformat(str(value).strip().removesuffix("Z")).replace(tzinfo=None)
    except ValueError:
        return None


def _is_platform_key(name: str) -> bool:
    try:
        return bool(uuid.UUID(name))
    except ValueError:
        return False


def _pages(data: Table, files: Contents) -> Breaches:
    pages = [(f"{place}.file", page.get("file")) for place, page in tables(data, "pages")]
    for place, name in [*pages, ("terms", data.get("terms"))]:
        content = files.read(name) if name else b"-"  # the schema requires a name
        if content is None:
            yield place, f"expected a file of the bundle, got {show(name)}"
        elif not content.decode("utf-8", "replace").strip():
            yield place, f"expected a file with content, got {show(name)}, which is empty"
        elif "\ufffd" in content.decode("utf-8", "replace"):
            yield place, f"expected a text in UTF-8, got {show(name)}"


def _image(data: Table, files: Contents) -> Breaches:
    name = data.get("image")
    content = files.read(name) if name else _IMAGES[0]
    if content is None:
        yield "image", f"expected a file of the bundle, got {show(name)}"
    elif not content.startswith(_IMAGES):
        yield "image", f"expected a PNG, JPEG, GIF or WebP file, got {show(name)}"


def _data_files(data: Table, files: Contents) -> Breaches:
    """Yield a breach for data that are neither in the bundle nor on the platform."""
    for list_name, keys in _DATA.items():
        for place, table in tables(data, list_name):
            for key in keys if "key" not in table else ():
                name = table.get(key)
                if name and not files.has(name) and not _is_platform_key(name):
                    yield f"{place}.{key}", f"expected a file of the bundle, got {show(name)}"


def _programs(data: Table, files: Contents) -> Breaches:
    for place, task in tables(data, "tasks"):
        name = task.get("scoring_program")
        reason = files.program_problem(name) if name and files.has(name) else ""
        if reason:
            yield f"{place}.scoring_program", reason


def _doubled(data: Table) -> Breaches:
    """Yield a breach for each task and column without an index, or a key, of its own."""
    columns = [(own, key) for _, _, own in boards(data) for key in ("key", "index")]
    for listed, key in [(tables(data, "tasks"), "index"), *columns]:
        seen = set()
        for place, table in listed:
            value = table.get(key)
            if value is not None and value in seen:
                yield f"{place}.{key}", f"expected one of its own, got {show(value)} again"
            seen.add(value)


def _task_indexes(data: Table) -> Breaches:
    indexes = [task.get("index") for _, task in tables(data, "tasks")]
    if "tasks" not in data or None in indexes:
        return
    for place, table in tables(data, "phases") + tables(data, "solutions"):
        for number, index in enumerate(table.get("tasks", ())):
            if index not in indexes:
                yield f"{place}.tasks[{number}]", f"expected the index of a task, got {show(index)}"


def _questions(data: Table) -> Breaches:
    for key, question in (data.get("fact_sheet") or {}).items():
        if str(question["key"]) != key:
            got = show(question["key"])
            yield f"fact_sheet.{key}.key", f"expected {show(key)}, got {got}"


def _phase_order(data: Table) -> Breaches:
    for (place, phase), (next_place, following) in pairwise(phases_of(data)):
        end, start = moment(phase.get("end")), moment(following.get("start"))
        if not phase.get("end"):
            yield f"{place}.end", "expected a date, because another phase follows, got none"
        elif end and start and start <= end:
            expected = f"a time after {end}, when the phase before it ends"
            yield f"{next_place}.start", f"expected {expected}, got {start}"


def _first_phase(data: Table) -> Breaches:
    for place, phase in phases_of(data)[:1]:
        value = phase.get("auto_migrate_to_this_phase")
        if str(value).lower() in ("true", "1"):
            expected = "false, because no phase comes before it"
            yield f"{place}.auto_migrate_to_this_phase", f"expected {expected}, got {show(value)}"


def _computations(data: Table) -> Breaches:
    for _, _, columns in boards(data):
        indexes = [column.get("index") for _, column in columns]
        for place, column in columns:
            sources = column.get("computation_indexes")
            others = {str(index) for index in indexes if index != column.get("index")}
            if "computation" in column and "computation_indexes" not in column:
                expected = "a list of indexes beside computation"
                yield f"{place}.computation_indexes", f"expected {expected}, got none"
            elif sources and "computation" not in column:
                yield f"{place}.computation", "expected one for computation_indexes, got none"
            elif None not in indexes and not set(map(str, sources or ())) <= others:
                expected = "a list of indexes of other columns"
                yield f"{place}.computation_indexes", f"expected {expected}, got {show(sources)}"


def _primary_index(data: Table) -> Breaches:
    for place, board, columns in boards(data):
        indexes = [column.get("index") for _, column in columns]
        primary = board.get("primary_index", 0)
        if columns and None not in indexes and primary not in indexes:
            yield f"{place}.primary_index", f"expected the index of a column, got {show(primary)}"


def _idle_phases(data: Table) -> Breaches:
    for place, phase in tables(data, "phases"):
        if phase.get("tasks") == []:
            yield f"{place}.tasks", "expected the index of a task, got none: it scores nothing"


def _phase_lengths(data: Table) -> Breaches:
    for place, phase in tables(data, "phases"):
        start, end = moment(phase.get("start")), moment(phase.get("end"))
        if start and end and end <= start:
            yield f"{place}.end", f"expected a time after the start, {start}, got {end}"


def _other_boards(data: Table) -> Breaches:
    for place, _ in tables(data, "leaderboards")[1:]:
        yield place, "expected no other leaderboard, got one, which no phase uses"


def _hidden_columns(data: Table) -> Breaches:
    for _, board, columns in boards(data):
        for place, column in columns:
            if column.get("hidden") is True and column.get("index") != board.get(
                "primary_index", 0
            ):
                yield f"{place}.hidden", "expected false for a column that breaks ties, got true"


#: The platform refuses a bundle that breaks one of these, or each submission would fail.
FILES = (_pages, _image, _data_files, _programs)
RELATIONS = (
    *(_doubled, _task_indexes, _questions, _phase_order, _first_phase, _computations),
    _primary_index,
)
#: The platform takes it, but does something that its organiser hardly means.
ODD = (_idle_phases, _phase_lengths, _other_boards, _hidden_columns)
