"""The phases of a competition with their dates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shroom.core.problems import ShroomError
from shroom.scoring.editions.edition import Edition, Phase

#: Days between the starts of two phases, where the edition has no dates.
DAYS = 28


@dataclass(frozen=True)
class Dated:
    """A phase, its first day, and its last one; ``None`` where it does not end."""

    phase: Phase
    start: dt.date
    end: dt.date | None


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
    """Return phases with their first and last days, which do not overlap.

    Parameters
    ----------
    phases : sequence of Phase
        The phases, in order. One without a start begins on the day after the end of the one before
        it, or four weeks after its start. One without an end lasts until the next one starts.
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
    >>> [(str(phase.start), str(phase.end)) for phase in days]
    [('2027-01-15', '2027-02-11'), ('2027-02-12', 'None')]
    """
    begin = start or phases[0].start or today
    starts = [begin]
    for before, phase in zip(phases, phases[1:]):
        after = _later(before.end, 1) if before.end else _later(starts[-1], DAYS)
        starts.append(phase.start or after)
    days = []
    for place, (phase, begin) in enumerate(zip(phases, starts)):
        following = starts[place + 1] if place + 1 < len(starts) else None
        if following and following <= (phase.end or begin):
            raise ShroomError(
                f"the phase {phases[place + 1].name}: starts on {following}; expected a day after "
                f"{phase.end or begin}, when {phase.name} {'ends' if phase.end else 'starts'}"
            )
        end = phase.end or (_later(following, -1) if following else None)
        if end and end < begin:
            raise ShroomError(f"the phase {phase.name}: ends on {end}, before its start on {begin}")
        days.append(Dated(phase, begin, end))
    return days


def _later(day: dt.date, days: int) -> dt.date:
    try:
        return day + dt.timedelta(days=days)
    except OverflowError as error:
        raise ShroomError(f"{day}: leaves no time for the phases; name an earlier day") from error
