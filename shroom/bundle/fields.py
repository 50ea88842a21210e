"""The keys of a competition that Codabench reads, and the values that it takes.

They follow the models and serializers of the platform (https://github.com/codalab/codabench,
``src/apps``) at the commit of :data:`COMMIT`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Callable

from shroom.core.printing import show

#: The version of the platform that the rules were read from.
COMMIT = "c7dbc75 (March 2026)"
_GREATEST = 2_147_483_647
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")
_FLAGS = ("true", "false", "yes", "no", "on", "off", "t", "f", "y", "n", "1", "0")


@dataclass(frozen=True)
class Field:
    """A key and the values that it takes.

    Attributes
    ----------
    expected : str
        What the platform takes, in words.
    takes : callable
        Returns whether it takes a value.
    required : bool
        Whether the key must be there.
    null : bool
        Whether it may be empty.
    """

    expected: str
    takes: Callable[[Any], bool]
    required: bool = False
    null: bool = False

    def breach(self, table: Mapping[str, Any], key: str) -> str | None:
        """Return what is wrong with a key of a table, as a part of a message."""
        if table.get(key) is None:
            wrong = self.required if key not in table else not self.null
            got = "none" if key not in table else "nothing"
            return f"expected {self.expected}, got {got}" if wrong else None
        value = table[key]
        if self.takes(value):
            return None
        size = f" of {len(value)} characters" if isinstance(value, str) and value.strip() else ""
        return f"expected {self.expected}, got {show(value)}{size}"


def text(most: int | None = None, *, blank: bool = False, **more: bool) -> Field:
    """Return a field for a text of at most so many characters."""

    def takes(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return False
        words = str(value).strip()
        return (blank or bool(words)) and (most is None or len(words) <= most)

    limit = "" if most is None else f" of at most {most} characters"
    return Field(f"a text{limit}", takes, **more)


def whole(least: int = 0, **more: bool) -> Field:
    """Return a field for a whole number."""

    def takes(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return False
        match = re.fullmatch(r"(-?\d{1,10})(?:\.0*)?\s*", str(value))
        return match is not None and least <= int(match[1]) <= _GREATEST

    what = f"a whole number from {least}" if least == 0 else "a whole number"
    return Field(what, takes, **more)


def flag() -> Field:
    """Return a field for true or false."""
    return Field("true or false", lambda value: _word(value).lower() in _FLAGS)


def _word(value: Any) -> str:
    """Return a text or number as a text; a list, which may be endless, as an empty one."""
    return str(value) if isinstance(value, (str, int, float)) else ""


def choice(*names: str, **more: bool) -> Field:
    """Return a field for one of several words."""
    return Field(f"one of {', '.join(names)}", lambda value: _word(value) in names, **more)


def file(*, required: bool = False) -> Field:
    """Return a field for the name of a file."""

    def takes(value: Any) -> bool:
        return isinstance(value, str) and bool(value.strip())

    return Field("the name of a file", takes, required=required)


def present(expected: str) -> Field:
    """Return a field that has to be there, and whose value a rule of its own checks."""
    return Field(expected, lambda _: True, required=True)


def is_email(value: Any) -> bool:
    """Return whether the platform takes a text as the address of an organiser.

    Examples
    --------
    >>> is_email("task@example.org"), is_email("https://example.org")
    (True, False)
    """
    return isinstance(value, str) and len(value) <= 256 and bool(_EMAIL.fullmatch(value))


def is_platform_key(value: Any) -> bool:
    """Return whether a value has the form of the keys of what lies on the platform, a UUID.

    Examples
    --------
    >>> is_platform_key("1f0a1d24-0a6f-4b26-9c43-7d9a2f6c8e10"), is_platform_key("data.zip")
    (True, False)
    """
    try:
        uuid.UUID(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


#: A key whose value a rule of its own checks, or the platform does not read.
ANYTHING = Field("a value", lambda _: True, null=True)
#: A task or solution that lies on the platform.
_KEY = Field("a key of the platform, a UUID", is_platform_key)
#: The fields of each table, by its place in ``competition.yaml``.
FIELDS: dict[str, dict[str, Field]] = {
    "competition": {
        "version": choice("2"),
        "title": text(256, required=True),
        "description": text(blank=True, null=True),
        "image": file(required=True),
        "terms": file(required=True),
        "registration_auto_approve": flag(),
        "docker_image": text(128),
        "enable_detailed_results": flag(),
        "show_detailed_results_in_submission_panel": flag(),
        "show_detailed_results_in_leaderboard": flag(),
        "auto_run_submissions": flag(),
        "can_participants_make_submissions_public": flag(),
        "make_programs_available": flag(),
        "make_input_data_available": flag(),
        "competition_type": choice("competition", "benchmark"),
        "fact_sheet": ANYTHING,
        "reward": text(256, blank=True, null=True),
        "contact_email": Field("an address of email", is_email, null=True),
        "forum_enabled": flag(),
        "queue": text(null=True),
        "pages": present("a list of pages"),
        "tasks": present("a list of tasks"),
        "solutions": ANYTHING,
        "phases": present("a list of phases"),
        "leaderboards": present("a list of leaderboards"),
    },
    "pages": {"title": text(255, required=True), "file": file(required=True)},
    "tasks": {
        "index": present("a number of its own"),
        "key": _KEY,
        "name": text(256, required=True),
        "description": text(blank=True, null=True),
        "is_public": ANYTHING,
        "ingestion_only_during_scoring": flag(),
        "scoring_program": file(required=True),
        "reference_data": file(),
        "ingestion_program": file(),
        "input_data": file(),
    },
    "solutions": {
        "index": present("a number of its own"),
        "tasks": present("a list of indexes of tasks"),
        "key": _KEY,
        "path": file(required=True),
        "name": text(256, blank=True, null=True),
        "description": text(blank=True, null=True),
    },
    "phases": {
        "index": Field("a number", lambda value: isinstance(value, (int, float))),
        "name": text(256, required=True),
        "description": text(blank=True, null=True),
        "start": present("a date"),
        "end": ANYTHING,
        "tasks": present("a list of indexes of tasks"),
        "max_submissions_per_day": whole(null=True),
        "max_submissions": whole(null=True),
        "execution_time_limit": whole(null=True),
        "auto_migrate_to_this_phase": flag(),
        "accepts_only_result_submissions": ANYTHING,
        "hide_output": flag(),
        "hide_prediction_output": flag(),
        "hide_score_output": flag(),
        "public_data": file(),
        "starting_kit": file(),
    },
    "leaderboards": {
        "index": ANYTHING,
        "primary_index": whole(),
        "title": text(64, required=True),
        "key": text(36, required=True),
        "hidden": flag(),
        "submission_rule": choice(
            "Add",
            "Add_And_Delete",
            "Add_And_Delete_Multiple",
            "Force_Last",
            "Force_Latest_Multiple",
            "Force_Best",
        ),
        "columns": present("a list of columns"),
    },
    "columns": {
        "index": whole(required=True),
        "key": text(36, required=True),
        "title": text(36, required=True),
        "sorting": choice("desc", "asc"),
        "precision": whole(-_GREATEST),
        "hidden": flag(),
        "computation": choice("avg", "sum", "min", "max", null=True),
        "computation_indexes": ANYTHING,
    },
}
