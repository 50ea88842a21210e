"""The rules for phases."""

from __future__ import annotations

import datetime as dt
from typing import Any

from shroom.bundle.rules.competition_rules import wrong_tasks
from shroom.bundle.rules.rule import Breaches, Competition, at, rule
from shroom.core.printing import show


@rule("phases", "There is at least one phase.")
def _phases(competition: Competition) -> Breaches:
    if competition.data.get("phases") == []:
        yield "phases", "expected at least one, got none"


@rule("phase-tasks", "The tasks of a phase are indexes of tasks.")
def _phase_tasks(competition: Competition) -> Breaches:
    return wrong_tasks(competition, competition.phases)


@rule("phase-without-tasks", "A phase has a task; without one it scores nothing.", refused=False)
def _phase_without_tasks(competition: Competition) -> Breaches:
    for place, phase in competition.phases:
        if phase.get("tasks") == []:
            yield at(place, "tasks"), "expected the index of a task, got none"


def moment(value: Any) -> dt.datetime | None:
    """Return the moment that the platform reads out of a date; ``None`` where it cannot.

    Of a date or time that YAML has parsed it takes the day alone.

    Examples
    --------
    >>> print(moment("2027-01-15 12:00"), moment(dt.datetime(2027, 1, 15, 12)))
    2027-01-15 12:00:00 2027-01-15 00:00:00
    """
    if isinstance(value, dt.date):
        return dt.datetime.combine(dt.date(value.year, value.month, value.day), dt.time())
    if not isinstance(value, str):
        return None
    try:
        return dt.datetime.fromisoformat(value.strip().removesuffix("Z")).replace(tzinfo=None)
    except ValueError:
        return None


@rule("phase-date", "Starts and ends are dates or times in ISO format.")
def _phase_date(competition: Competition) -> Breaches:
    expected = 'a date such as 2027-01-15 or a time such as "2027-01-15 12:00:00"'
    for place, phase in competition.phases:
        for key in ("start", "end"):
            value = phase.get(key)
            unread = value is not None and moment(value) is None
            if unread and (value or key == "start"):  # an end that is empty is none
                yield at(place, key), f"expected {expected}, got {show(value)}"


@rule("phase-end", "A phase that another one follows has an end.")
def _phase_end(competition: Competition) -> Breaches:
    for place, phase in competition.phases[:-1]:
        if not phase.get("end"):
            yield at(place, "end"), "expected a date, since another phase follows, got none"


@rule("phase-order", "A phase starts after the end of the phase before it.")
def _phase_order(competition: Competition) -> Breaches:
    phases = competition.phases
    for (_, before), (place, phase) in zip(phases, phases[1:]):
        end, start = moment(before.get("end")), moment(phase.get("start"))
        if end and start and start <= end:
            expected = f"a time after {end}, when the phase before it ends"
            yield at(place, "start"), f"expected {expected}, got {start}"


@rule("auto-migrate", "Submissions do not move into the first phase.")
def _auto_migrate(competition: Competition) -> Breaches:
    for place, phase in competition.phases[:1]:
        value = phase.get("auto_migrate_to_this_phase")
        if value is True or value == 1 or (isinstance(value, str) and value.lower() == "true"):
            yield at(place, "auto_migrate_to_this_phase"), f"expected false, got {show(value)}"


@rule("phase-length", "A phase ends after its start.", refused=False)
def _phase_length(competition: Competition) -> Breaches:
    for place, phase in competition.phases:
        start, end = moment(phase.get("start")), moment(phase.get("end"))
        if start and end and end <= start:
            yield at(place, "end"), f"expected a time after the start, {start}, got {end}"


@rule("midnight", "A time is in quotation marks; of others the day alone counts.", refused=False)
def _midnight(competition: Competition) -> Breaches:
    for place, phase in competition.phases:
        for key in ("start", "end"):
            value = phase.get(key)
            if isinstance(value, dt.datetime) and value.time() != dt.time():
                got = f"one that is read as {moment(value)}"
                yield at(place, key), f"expected a time in quotation marks, got {got}"
