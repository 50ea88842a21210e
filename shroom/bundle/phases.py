"""The phases of a competition with their dates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shroom.core.problems import ShroomError
from shroom.scoring.editions.competition import Phase, in_utc
from shroom.scoring.editions.edition import Edition

#: Time between the starts of two phases, where the edition has no dates.
DAYS = dt.timedelta(days=28)
#: Between the end of a phase and the start of the next one.
_SECOND = dt.timedelta(seconds=1)


@dataclass(frozen=True)
class Dated:
    """A phase, and its first and last second in UTC; ``None`` where it does not end."""

    phase: Phase
    start: dt.datetime
    end: dt.datetime | None


def phases_of(edition: Edition, splits: Collection[str]) -> list[Phase]:
    """Return the phases of an edition for these splits; by default one for each split.

    Raises
    ------
    ShroomError
        If none of its phases is of one of them.
    """
    listed = edition.phases or tuple(
        Phase(name.capitalize(), name, f"Hand in your predictions for {name}.")
        for name in edition.submitted
    )
    phases = [phase for phase in listed if phase.split in splits]
    if not phases:
        named = ", ".join(dict.fromkeys(phase.split for phase in listed))
        raise ShroomError(f"the gold has no labelled file of a phase's split: {named}")
    return phases


def dated(phases: Sequence[Phase], start: dt.date | None, today: dt.date) -> list[Dated]:
    """Return phases with their first and last seconds, which do not overlap.

    Parameters
    ----------
    phases : sequence of Phase
        The phases, in order. One without a start begins after the end of the one before it, or four
        weeks after its start. One without an end lasts until the next one starts.
    start : date or None
        The start of the first phase, in place of its own.
    today : date
        The start of the first phase where there is no other.

    Raises
    ------
    ShroomError
        If a phase starts before the one before it ends, or ends before it starts.

    Examples
    --------
    >>> days = dated([Phase("Dev", "dev"), Phase("Test", "test")], None, dt.date(2027, 1, 15))
    >>> print(days[0].start, days[0].end, days[1].start, days[1].end, sep=", ")
    2027-01-15 00:00:00+00:00, 2027-02-11 23:59:59+00:00, 2027-02-12 00:00:00+00:00, None
    """
    starts = [in_utc(start or phases[0].start or today, dt.time())]
    for before, phase in zip(phases, phases[1:]):
        after = _later(before.closes, _SECOND) if before.closes else _later(starts[-1], DAYS)
        starts.append(phase.opens or after)
    listed = []
    for place, (phase, begin) in enumerate(zip(phases, starts)):
        following = starts[place + 1] if place + 1 < len(starts) else None
        if following and following <= (phase.closes or begin):
            raise ShroomError(
                f"the phase {phases[place + 1].name}: starts on {day_of(following)}; expected a "
                f"day after {day_of(phase.closes or begin)}, when {phase.name} "
                f"{'ends' if phase.end else 'starts'}"
            )
        end = phase.closes or (following and _later(following, -_SECOND))
        if end and end < begin:
            raise ShroomError(
                f"the phase {phase.name}: ends on {day_of(end)}, before its start on "
                f"{day_of(begin)}"
            )
        listed.append(Dated(phase, begin, end))
    return listed


def day_of(moment: dt.datetime) -> str:
    """Return the day of a time in UTC, and the time itself unless it begins or ends the day.

    Examples
    --------
    >>> day_of(dt.datetime(2027, 2, 28, 23, 59, 59)), day_of(dt.datetime(2027, 3, 1, 12))
    ('2027-02-28', '2027-03-01 12:00:00')
    """
    whole = moment.time() in (dt.time(), dt.time(23, 59, 59))
    return f"{moment:%Y-%m-%d}" if whole else f"{moment:%Y-%m-%d %H:%M:%S}"


def _later(moment: dt.datetime, time: dt.timedelta) -> dt.datetime:
    try:
        return moment + time
    except OverflowError as error:
        raise ShroomError(
            f"{day_of(moment)}: leaves no time for the phases; name an earlier day"
        ) from error
