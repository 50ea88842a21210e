"""The rules for lists and single keys, and for pages, the image, tasks, solutions and questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shroom.bundle.fields import ANYTHING, FIELDS, is_platform_key
from shroom.bundle.rules.rule import (
    MAX_ENTRIES,
    Breaches,
    Competition,
    Table,
    at,
    doubled,
    entries,
    is_scalar,
    rule,
)
from shroom.core.printing import nearest, show

#: The first bytes of the images that the platform takes: PNG, JPEG, GIF and WebP.
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
_DATA = {
    "tasks": ("scoring_program", "reference_data", "ingestion_program", "input_data"),
    "phases": ("public_data", "starting_kit"),
    "solutions": ("path",),
}
_QUESTION = ("key", "type", "title", "selection", "is_required", "is_on_leaderboard")


@rule("lists", "pages, tasks, solutions, phases, leaderboards and columns are lists of tables.")
def _lists(competition: Competition) -> Breaches:
    for name in ("pages", "tasks", "solutions", "phases", "leaderboards"):
        yield from _not_a_list(name, competition.data.get(name))
    for place, board in competition.tables("leaderboards"):
        yield from _not_a_list(f"{place}.columns", board.get("columns"))


def _not_a_list(place: str, value: Any) -> Breaches:
    if value is not None and not isinstance(value, list):
        yield place, f"expected a list, got {show(value)}"
    elif value is not None and len(value) > MAX_ENTRIES:
        yield place, f"expected at most {MAX_ENTRIES} entries, got {len(value)}"
    for index, entry in enumerate(entries(value)):
        if not isinstance(entry, Mapping):
            yield f"{place}[{index}]", f"expected keys and values, got {show(entry)}"


def _add_field_rule(name: str, key: str) -> None:
    field = FIELDS[name][key]

    @rule(f"{name}.{key}", f"{key} in {name}: {field.expected}.")
    def _field(competition: Competition) -> Breaches:
        for place, table in competition.tables(name):
            elsewhere = "key" in table and name in ("tasks", "solutions")  # it is on the platform
            breach = None if elsewhere and key not in ("index", "key") else field.breach(table, key)
            if breach:
                yield at(place, key), breach


for _name, _keys in FIELDS.items():
    for _key in _keys:
        if _keys[_key] is not ANYTHING:
            _add_field_rule(_name, _key)


@rule("unknown-key", "Each key is one that the platform reads.", refused=False)
def _unknown_key(competition: Competition) -> Breaches:
    for name, fields in FIELDS.items():
        for place, table in competition.tables(name):
            for key in list(table)[:MAX_ENTRIES]:
                if key not in fields:
                    hint = nearest(str(key), fields) or f" there are {', '.join(fields)}"
                    yield at(place, show(key).strip('"')), f"expected a key that is read;{hint}"


@rule("page-file", "Each page and the terms are a text of the bundle that is not blank.")
def _page_file(competition: Competition) -> Breaches:
    pages = [(at(place, "file"), page.get("file")) for place, page in competition.tables("pages")]
    for place, name in [*pages, ("terms", competition.data.get("terms"))]:
        if not isinstance(name, str):
            continue
        content = competition.files.read(name)
        if content is None:
            yield place, f"expected a file of the bundle, got {show(name)}"
            continue
        try:
            if not content.decode("utf-8").strip():
                yield place, f"expected a file with content, got {show(name)}, which is empty"
        except UnicodeDecodeError:
            yield place, f"expected a text in UTF-8, got {show(name)}"


@rule("image-file", "The image is a PNG, JPEG, GIF or WebP file of the bundle.")
def _image_file(competition: Competition) -> Breaches:
    name = competition.data.get("image")
    if isinstance(name, str):
        content = competition.files.read(name)
        if content is None:
            yield "image", f"expected a file of the bundle, got {show(name)}"
        elif not content.startswith(_IMAGES):
            yield "image", f"expected a PNG, JPEG, GIF or WebP file, got {show(name)}"


@rule("task-index", "Each task has an index of its own.")
def _task_index(competition: Competition) -> Breaches:
    return doubled(competition.tables("tasks"), "index")


def _task_name(competition: Competition) -> Breaches:
    for place, task in competition.tables("tasks"):
        if "key" not in task and task.get("name") is None:
            yield at(place, "name"), "expected a text, got none"


def _scoring_program(competition: Competition) -> Breaches:
    for place, task in competition.tables("tasks"):
        if "key" not in task and task.get("scoring_program") is None:
            yield at(place, "scoring_program"), "expected a file of the bundle, got none"


@rule("program-command", "A scoring program has a metadata file with the command that runs it.")
def _program_command(competition: Competition) -> Breaches:
    for place, task in competition.tables("tasks"):
        name = task.get("scoring_program")
        if isinstance(name, str) and competition.files.has(name):
            reason = competition.files.program_problem(name)
            if reason:
                yield at(place, "scoring_program"), reason


@rule("data-file", "Data and programs are files of the bundle, or keys of data on the platform.")
def _data_file(competition: Competition) -> Breaches:
    for name, keys in _DATA.items():
        for place, table in competition.tables(name):
            for key in keys if "key" not in table else ():
                file = table.get(key)
                known = isinstance(file, str) and (
                    competition.files.has(file) or is_platform_key(file)
                )
                if isinstance(file, str) and not known:
                    yield at(place, key), f"expected a file of the bundle, got {show(file)}"


def _solution_path(competition: Competition) -> Breaches:
    for place, solution in competition.tables("solutions"):
        if "key" not in solution and solution.get("path") is None:
            yield at(place, "path"), "expected a file of the bundle, got none"


@rule("solution-tasks", "The tasks of a solution are indexes of tasks.")
def _solution_tasks(competition: Competition) -> Breaches:
    return wrong_tasks(competition, competition.tables("solutions"))


def wrong_tasks(competition: Competition, tables: Iterable[Table]) -> Breaches:
    """Yield a breach for each reference to a task that is not there."""
    indexes = [task.get("index") for _, task in competition.tables("tasks")]
    if not isinstance(competition.data.get("tasks"), list):
        return  # which is reported
    for place, table in tables:
        tasks = table.get("tasks")
        if tasks is not None and not isinstance(tasks, list):
            yield at(place, "tasks"), f"expected a list of indexes of tasks, got {show(tasks)}"
        for task in entries(tasks):
            if not is_scalar(task) or task not in indexes:
                yield at(place, "tasks"), f"expected the index of a task, got {show(task)}"


@rule("fact-sheet", "Each question of the fact sheet has exactly its six keys.")
def _fact_sheet(competition: Competition) -> Breaches:
    sheet = competition.data.get("fact_sheet") or {}
    if not isinstance(sheet, Mapping):
        yield "fact_sheet", f"expected keys and values, got {show(sheet)}"
        return
    for key, question in list(sheet.items())[:MAX_ENTRIES]:
        place = at("fact_sheet", show(key).strip('"'))
        if not isinstance(question, Mapping) or set(question) != set(_QUESTION):
            yield place, f"expected exactly {', '.join(_QUESTION)}, got {show(question)}"
        elif question["key"] != key:
            yield f"{place}.key", f"expected {show(key)}, got {show(question['key'])}"
        elif question["type"] not in ("checkbox", "text", "select"):
            kind = show(question["type"])
            yield f"{place}.type", f"expected checkbox, text or select, got {kind}"
