"""The values that models have computed, stored for later runs in one sqlite file.

An entry's key is a digest of all that its values depend on: see
:class:`shroom.inference.cache_key.CacheKey`. No text is stored. Several processes may read and
write at the same time.
"""

from __future__ import annotations

import math
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: The name of the file.
NAME = "pairs.sqlite"
#: The most bytes that entries take by default.
MOST = 1 << 30
#: The number of keys in one query; sqlite accepts 999 or more.
_KEYS_AT_ONCE = 500
#: A use is recorded where the last recorded one is so many milliseconds ago; else each reading
#: would write.
_HOUR = 3_600_000
#: The share of the limit to which the oldest-used entries are removed, so that this is rare, too.
_DOWN_TO = 0.9
#: The time to wait for another process, in seconds.
_PATIENCE = 10.0
_SETUP = """
PRAGMA auto_vacuum = INCREMENTAL; -- removed entries free their room; only before there is a table
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF; -- what a loss of power destroys is computed again
CREATE TABLE IF NOT EXISTS entries
    (key BLOB PRIMARY KEY, found BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
"""


class Cache:
    """Values by key, on disk; where the file cannot be used, it is empty and notes why.

    Parameters
    ----------
    path : path
        The file; made, with its folder, with the first entry.
    most : int
        The most bytes; beyond, the entries are removed that were not used for longest.
    note : callable
        Called with a sentence, once, where the file cannot be used.
    patience : float
        The time to wait for another process, in seconds.

    Examples
    --------
    >>> import tempfile
    >>> cache = Cache(Path(tempfile.mkdtemp()) / "pairs.sqlite")
    >>> cache.add({b"a key": np.array([0.25, 0.75])})
    >>> cache.get([b"a key"])[b"a key"]
    array([0.25, 0.75])
    """

    def __init__(
        self,
        path: str | Path,
        most: int = MOST,
        note: Callable[[str], None] = lambda _: None,
        patience: float = _PATIENCE,
    ) -> None:
        self.path, self.most = Path(path), most
        self._note, self._patience = note, patience
        self._database: sqlite3.Connection | None = None
        self._given_up = False

    def get(self, keys: Iterable[bytes]) -> dict[bytes, NDArray[np.float64]]:
        """Return the values of those of the keys that are known."""
        values_of: dict[bytes, NDArray[np.float64]] = {}
        listed = list(dict.fromkeys(keys))
        with self._forgiving():
            if self._given_up or not self.path.exists():
                return values_of
            database, now = self._opened(), _now()
            stale = []
            for start in range(0, len(listed), _KEYS_AT_ONCE):
                some = listed[start : start + _KEYS_AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, found, used FROM entries WHERE key IN ({marks})"  # noqa: S608
                for key, packed, used in database.execute(query, some):
                    values = _unpacked(key, packed)
                    if values is not None:
                        values_of[key] = values
                        if not isinstance(used, int) or now - used >= _HOUR:
                            stale.append((now, key))
            with database:
                database.executemany("UPDATE entries SET used = ? WHERE key = ?", stale)
        return values_of

    def add(self, entries: Mapping[bytes, NDArray[np.float64]]) -> None:
        """Store these values."""
        with self._forgiving():
            if self._given_up or not entries:
                return
            database, now = self._opened(), _now()
            rows = [(key, _packed(key, values), now) for key, values in entries.items()]
            with database:
                database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            if _size(database) > self.most:
                _shrink(database, int(self.most * _DOWN_TO))

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _opened(self) -> sqlite3.Connection:
        """Return the open database, with its tables."""
        deadline = time.monotonic() + self._patience
        while self._database is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=self._patience)
            try:
                database.executescript(_SETUP)
                self._database = database
            except sqlite3.DatabaseError as error:
                database.close()
                # Where two processes make the file at once, one fails without having waited.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        return self._database

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """Give up the cache, with a note, where the file cannot be used."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._given_up = True
            with suppress(sqlite3.Error):
                self.close()
            self._note(f"the cache {self.path} is not used ({error}); delete it to start anew")


def _now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _number(database: sqlite3.Connection, query: str) -> int:
    return int(database.execute(query).fetchone()[0])


def _size(database: sqlite3.Connection) -> int:
    """Return the size of the entries in bytes."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, page_size = (_number(database, f"PRAGMA {name}") for name in names)
    return (pages - free) * page_size


def _shrink(database: sqlite3.Connection, down_to: int) -> None:
    """Remove the entries that were not used for longest, and shrink the file."""
    database.execute("BEGIN IMMEDIATE")
    with database:
        while _size(database) > down_to:
            n = _number(database, "SELECT count(*) FROM entries")
            if n == 0:
                break
            surplus = math.ceil(n * (1 - down_to / _size(database)))
            removed = database.execute(
                "DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used LIMIT ?)",
                (surplus,),
            ).rowcount
            if removed <= 0:  # the index has keys that the table does not have
                raise sqlite3.DatabaseError("its index does not fit its entries")
    database.executescript("PRAGMA incremental_vacuum")  # execute would free a single page


def _packed(key: bytes, values: NDArray[np.float64]) -> bytes:
    """Return values as bytes with a checksum, as sqlite's pages have none."""
    content = np.asarray(values, "<f8").tobytes()
    return content + zlib.crc32(key + content).to_bytes(4, "little")


def _unpacked(key: bytes, packed: object) -> NDArray[np.float64] | None:
    """Return the values, or ``None`` where they are not what was written."""
    if not isinstance(packed, bytes) or len(packed) < 12 or len(packed) % 8 != 4:
        return None
    values = np.frombuffer(packed[:-4], "<f8").astype(np.float64)
    return values if _packed(key, values) == packed and np.isfinite(values).all() else None
