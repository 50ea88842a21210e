"""A CodaLab competition (version 1.5) as Codabench reads it: as one of version 2."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

from shroom.bundle.rules.phase_rules import moment
from shroom.core.printing import show
from shroom.core.problems import ShroomError

_FILES = ("scoring_program", "reference_data", "ingestion_program", "input_data")
_SAME = (
    *("title", "description", "image", "queue", "enable_detailed_results"),
    *("make_programs_available", "make_input_data_available"),
)
_PHASE = {
    "name": "label",
    "start": "start_date",
    "description": "description",
    "max_submissions_per_day": "max_submissions_per_day",
    "max_submissions": "max_submissions",
    "auto_migrate_to_this_phase": "auto_migration",
    "execution_time_limit": "execution_time_limit",
    "hide_output": "hide_output",
    "hide_prediction_output": "hide_prediction_output",
    "hide_score_output": "hide_score_output",
    "public_data": "public_data",
    "starting_kit": "starting_kit",
}
_FIRST = dt.datetime(1, 1, 2)
_COLUMN = {"title": "label", "sorting": "sort", "precision": "numeric_format", "hidden": "hidden"}


def as_version_2(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the competition of version 2 that Codabench makes of one of version 1.5.

    Raises
    ------
    ShroomError
        If a part is missing without which it cannot be read.
    """
    pages = _table(data, "html")
    terms = {"terms": pages["terms"]} if "terms" in pages else {}
    phases = list(_phases(_table(data, "phases")))
    return {
        "version": 2,
        **{key: data[key] for key in _SAME if key in data},
        **terms,
        "docker_image": data.get("competition_docker_image") or "codalab/codalab-legacy:py37",
        "pages": [{"title": str(k), "file": v} for k, v in pages.items() if k != "terms"],
        "tasks": [_task(index, phase) for index, phase in enumerate(phases)],
        "phases": _with_ends(phases, data.get("end_date")),
        "leaderboards": _leaderboards(_table(data, "leaderboard")),
    }


def _table(data: Mapping[str, Any], key: str, place: str = "") -> Mapping[str, Any]:
    value = data.get(key)
    if not isinstance(value, Mapping):
        got = "none" if value is None else show(value)
        raise ShroomError(f"{place}{key}: expected keys and values, got {got}")
    return value


def _phases(phases: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the phases in the order of their numbers; the platform leaves out a parallel parent."""
    numbers = {}
    for key in phases:
        phase = _table(phases, key, "phases.")
        numbers[key] = _number(phase.get("phasenumber"), f"phases.{key}.phasenumber")
    ordered = [phases[key] for key in sorted(numbers, key=lambda key: numbers[key])]
    parallel = any(p.get("is_parallel_parent") or p.get("parent_phasenumber") for p in ordered)
    yield from ordered[1:] if parallel else ordered


def _number(value: Any, place: str) -> float:
    if not isinstance(value, (int, float)):
        raise ShroomError(f"{place}: expected a number, got {show(value)}")
    return value


def _task(index: int, phase: Mapping[str, Any]) -> dict[str, Any]:
    files = {key: phase[key] for key in _FILES if key in phase}
    return {"index": index, "name": f"{show(phase.get('label'))} Task", **files}


def _with_ends(phases: list[Mapping[str, Any]], end: Any) -> list[dict[str, Any]]:
    """Return the phases; each ends a day before the next one starts."""
    version_2 = []
    for index, phase in enumerate(phases):
        read = {key: phase[old] for key, old in _PHASE.items() if old in phase}
        read.update(index=index, tasks=[index])
        following = phases[index + 1 : index + 2]
        start = moment(following[0].get("start_date")) if following else None
        if start and start > _FIRST:
            read["end"] = (start - dt.timedelta(days=1)).isoformat(" ")
        elif not following and end and end != "null":
            read["end"] = end
        version_2.append(read)
    return version_2


def _leaderboards(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    boards, columns = _table(board, "leaderboards"), _table(board, "columns")

    def rank(key: str) -> float:
        value = _table(columns, key, "leaderboard.columns.").get("rank", 1)
        return _number(value, f"leaderboard.columns.{key}.rank")

    labels = {}
    for key in boards:
        labels[key] = _label(_table(boards, key, "leaderboard.leaderboards."), key)
    version_2: dict[str, dict[str, Any]] = {
        key: {"title": key, "key": key, "columns": []} for key in boards
    }
    for index, key in enumerate(sorted(columns, key=rank)):
        column = columns[key]
        read = {new: column[old] for new, old in _COLUMN.items() if old in column}
        read = {"title": key, **read, "key": key, "index": index}
        read["sorting"] = column.get("sort") or "desc"
        label = _label(_table(column, "leaderboard", f"leaderboard.columns.{key}."), key)
        for name, other in labels.items():
            if label.lower() == other.lower():
                version_2[name]["columns"].append(read)
    return list(version_2.values())


def _label(table: Mapping[str, Any], key: str) -> str:
    label = table.get("label")
    if not isinstance(label, str):
        raise ShroomError(f"{key}: expected the label of a leaderboard, got {show(label)}")
    return label
