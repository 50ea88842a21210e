"""How often requests go out at most."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Pace:
    """Gives out turns at even distances. Many threads may use it at once.

    Parameters
    ----------
    per_minute : float or None
        The most turns in a minute; without it, each is at once.
    clock : callable
        Gives seconds.

    Examples
    --------
    >>> pace = Pace(120, clock=lambda: 5.0)
    >>> pace.wait(), pace.wait(), pace.wait()
    (0.0, 0.5, 1.0)
    """

    def __init__(
        self, per_minute: float | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._distance = 60 / per_minute if per_minute else 0.0
        self._clock = clock
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> float:
        """Return after how many seconds the next turn is, and take it."""
        with self._lock:
            now = self._clock()
            at = max(now, self._next)
            self._next = at + self._distance
            return at - now
