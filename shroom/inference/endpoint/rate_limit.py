"""A limit on the rate of requests."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Pace:
    """Assigns turns at regular intervals. Many threads may use it at once.

    Parameters
    ----------
    per_minute : float or None
        Maximum number of turns per minute; without it, every turn is immediate.
    clock : callable
        Returns the time in seconds.

    Examples
    --------
    >>> pace = Pace(120, clock=lambda: 5.0)
    >>> pace.wait(), pace.wait(), pace.wait()
    (0.0, 0.5, 1.0)
    """

    def __init__(
        self, per_minute: float | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._interval = 60 / per_minute if per_minute else 0.0
        self._clock = clock
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> float:
        """Take the next turn, and return the seconds until it."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._interval
            return turn - now
