"""The part of an edition for a competition platform: phases and columns of the leaderboard."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal, Optional

from shroom.core.problems import ShroomError

#: The longest key of a column that Codabench accepts.
MAX_KEY = 35
#: Rules for the submissions on Codabench's leaderboard: ``Add…``, participants add them by hand;
#: ``Force…``, Codabench adds them.
Rule = Literal[
    "Add",
    "Add_And_Delete",
    "Add_And_Delete_Multiple",
    "Force_Last",
    "Force_Latest_Multiple",
    "Force_Best",
]


@dataclass(frozen=True, eq=False)
class Phase:
    """A phase of the competition.

    Attributes
    ----------
    name : str
        Name on the platform.
    about : str
        Description on the platform.
    split : str
        The split for which teams submit predictions.
    start, end : date, datetime or None
        First and last day in UTC, or times with a time zone. By default, a phase starts after the
        previous phase and ends when the next phase starts.
    per_day : int
        Maximum number of submissions per team and day.
    total : int
        Maximum number of submissions per team in the whole phase.
    blind : bool
        Whether scores are hidden until the organisers reveal them.
    """

    name: str
    split: str
    about: str = ""
    start: Optional[dt.date] = None  # evaluated on Python 3.9
    end: Optional[dt.date] = None
    per_day: int = 5
    total: int = 100
    blind: bool = False

    @property
    def opens(self) -> dt.datetime | None:
        """The first second of the phase, in UTC."""
        return None if self.start is None else in_utc(self.start, dt.time())

    @property
    def closes(self) -> dt.datetime | None:
        """The last second of the phase, in UTC."""
        return None if self.end is None else in_utc(self.end, dt.time(23, 59, 59))


def in_utc(day: dt.date, time: dt.time) -> dt.datetime:
    """Return a date with a time as UTC; a datetime keeps its own time."""
    if isinstance(day, dt.datetime):
        try:
            return day.astimezone(dt.timezone.utc)
        except OverflowError as error:
            raise ShroomError(f"{day} is outside the years 1 to 9999 in UTC") from error
    return dt.datetime.combine(day, time, dt.timezone.utc)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the leaderboard on a platform.

    Attributes
    ----------
    key : str
        Key in ``scores.json``, with at most 35 characters.
    title : str
        Heading of the column.
    metric : str
        The metric.
    track : str
        The track on which the metric is computed. If the edition sets ``average``, ``mean`` is the
        mean over tracks.
    hidden : bool
        Whether the column is hidden from participants.
    undefined : float or None
        Score to report if the metric is undefined or the track was not submitted; by default, the
        worst score of the metric.
    """

    key: str
    metric: str
    track: str = ""
    title: str = ""
    hidden: bool = False
    undefined: Optional[float] = None  # evaluated on Python 3.9
