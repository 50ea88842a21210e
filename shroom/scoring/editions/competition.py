"""What an edition says of its competition on a platform: phases, and columns of the leaderboard."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Literal, Optional

from shroom.core.problems import ShroomError

#: The longest key of a column that Codabench takes.
MAX_KEY = 35
#: Which submissions a leaderboard of Codabench lists: those that participants add by hand, or
#: those that it adds itself.
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
    name, about : str
        Name and description, as the platform shows them.
    split : str
        The split that is handed in.
    start, end : date, datetime or None
        First and last day in UTC, or times with a time zone; by default it follows the one before,
        and lasts till the next.
    per_day, total : int
        How many submissions a team may make in a day, and in all.
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
        """The first second, in UTC."""
        return None if self.start is None else in_utc(self.start, dt.time())

    @property
    def closes(self) -> dt.datetime | None:
        """The last second, in UTC.

        Examples
        --------
        >>> zone = dt.timezone(-dt.timedelta(hours=12))  # anywhere on Earth
        >>> str(Phase("Test", "test", end=dt.datetime(2027, 2, 28, 23, 59, 59, 0, zone)).closes)
        '2027-03-01 11:59:59+00:00'
        """
        return None if self.end is None else in_utc(self.end, dt.time(23, 59, 59))


def in_utc(day: dt.date, time: dt.time) -> dt.datetime:
    """Return a time in UTC: that of a day, unless it has one of its own."""
    if isinstance(day, dt.datetime):
        try:
            return day.astimezone(dt.timezone.utc)
        except OverflowError as error:
            raise ShroomError(f"{day}: lies outside the years 1 to 9999 in UTC") from error
    return dt.datetime.combine(day, time, dt.timezone.utc)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a platform's leaderboard; ``undefined`` is written for a missing score."""

    key: str
    metric: str
    track: str = ""
    title: str = ""
    hidden: bool = False
    undefined: Optional[float] = None  # evaluated on Python 3.9
