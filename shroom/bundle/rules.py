"""Rules of Codabench beyond the JSON Schema; each rule yields places and reasons."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from shroom.core.printing import show

Table = dict[str, Any]
Tables = list[tuple[str, Table]]
Breaches = Iterator[tuple[str, str]]


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
    for listed, key in [(_tables(data, "tasks"), "index"), *columns]:
        seen = set()
        for place, table in listed:
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
            expected = "false, because no phase comes before it"
            yield f"{place}.auto_migrate_to_this_phase", f"expected {expected}, got {show(value)}"
    for (place, phase), (next_place, following) in pairwise(phases):
        end, start = moment(phase.get("end")), moment(following.get("start"))
        if not phase.get("end"):
            yield f"{place}.end", "expected a date because another phase follows, got none"
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


def _odd_phases(data: Table) -> Breaches:
    for place, phase in _tables(data, "phases"):
        if phase.get("tasks") == []:
            yield f"{place}.tasks", "expected the index of a task, got none, so nothing is scored"
        start, end = moment(phase.get("start")), moment(phase.get("end"))
        if start and end and end <= start:
            yield f"{place}.end", f"expected a time after the start, {start}, got {end}"


def _odd_boards(data: Table) -> Breaches:
    for number, (place, board, columns) in enumerate(_boards(data)):
        if number:
            yield place, "expected only one leaderboard, got a second one, which no phase uses"
        for own_place, column in columns:
            is_first = column.get("index") == board.get("primary_index", 0)
            if column.get("hidden") is True and not is_first:
                yield (
                    f"{own_place}.hidden",
                    "expected false for a column that breaks ties, got true",
                )


#: The platform refuses a bundle that breaks one of these rules.
REFUSED = (_doubled, _task_indexes, _questions, _phase_order, _column_indexes)
#: The platform accepts such a bundle, but the organiser probably means something else.
ODD = (_odd_phases, _odd_boards)
