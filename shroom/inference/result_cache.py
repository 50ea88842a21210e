"""The values that models have computed, stored for later runs in one sqlite file.

An entry's key is a digest of all that its values depend on: see
:class:`shroom.inference.cache_key.CacheKey`. No text is stored. Several processes may read and
write at the same time.
"""

from __future__ import annotations

import math
import os
import sqlite3
import time
import zlib
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

#: The name of the file.
NAME = "pairs.sqlite"
#: The most bytes that entries take by default.
MOST = 1 << 30
#: The number of keys in one query; sqlite accepts 999 or more.
_AT_ONCE = 500
#: A use is recorded where the last recorded one is so long ago, in milliseconds; else each reading
#: would write.
_HOUR = 3_600_000
#: The share of the limit to which the oldest-used entries are removed, so that this is rare, too.
_DOWN_TO = 0.9
#: How long to wait for another process, in seconds.
_PATIENCE = 10.0
_TABLES = """
CREATE TABLE IF NOT EXISTS entries
    (key BLOB PRIMARY KEY, found BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
"""


@dataclass(frozen=True)
class CacheInfo:
    """The size and age of a cache.

    Attributes
    ----------
    path : str
        The file.
    entries : int
        The number of pairs.
    size : int
        Their size in bytes.
    most : int
        The size in bytes from which on the oldest-used entries are removed.
    oldest, newest : int or None
        The times at which entries were last used, to the hour: seconds since 1970.
    """

    path: str
    entries: int
    size: int
    most: int
    oldest: int | None
    newest: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for json."""
        return asdict(self)


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
        How long to wait for another process, in seconds.

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
        found: dict[bytes, NDArray[np.float64]] = {}
        listed = list(dict.fromkeys(keys))
        if self._given_up:
            return found
        with self._forgiving():
            if not self.path.exists():
                return found
            database, now = self._opened(), _now()
            stale = []
            for start in range(0, len(listed), _AT_ONCE):
                some = listed[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, found, used FROM entries WHERE key IN ({marks})"  # noqa: S608
                for key, packed, used in database.execute(query, some):
                    values = _unpacked(key, packed)
                    if values is not None:
                        found[key] = values
                        fresh = isinstance(used, int) and now - used < _HOUR
                        stale += [] if fresh else [key]
            if stale:
                with database:
                    touched = ((now, key) for key in stale)
                    database.executemany("UPDATE entries SET used = ? WHERE key = ?", touched)
        return found

    def add(self, entries: Mapping[bytes, NDArray[np.float64]]) -> None:
        """Store these values."""
        if self._given_up or not entries:
            return
        with self._forgiving():
            database, now = self._opened(), _now()
            rows = [(key, _packed(key, values), now) for key, values in entries.items()]
            with database:
                database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            if _size(database) > self.most:
                _shrink(database, int(self.most * _DOWN_TO))

    def info(self) -> CacheInfo:
        """Return the cache's size and age.

        Raises
        ------
        ShroomError
            Where the file cannot be read.
        """
        if not self.path.exists():
            return CacheInfo(str(self.path), 0, 0, self.most, None, None)
        try:
            database = self._opened()
            (n,) = database.execute("SELECT count(*) FROM entries").fetchone()
            # Other times are damaged.
            between = "SELECT min(used), max(used) FROM entries WHERE used BETWEEN 0 AND ?"
            times = database.execute(between, (_now(),)).fetchone()
            used = [None if at is None else int(at) // 1000 for at in times]
            return CacheInfo(str(self.path), n, _size(database), self.most, *used)
        except (sqlite3.Error, OSError) as error:
            raise ShroomError(
                f"{self.path}: cannot be read ({error}); to begin it anew: shroom cache clear"
            ) from error

    def clear(self, down_to: int = 0) -> None:
        """Remove the oldest-used entries until the rest takes at most so many bytes.

        A file that is damaged, or not a cache at all, is removed, with a note.

        Raises
        ------
        ShroomError
            Where that is not possible.
        """
        if not self.path.exists():
            return
        try:
            database = self._opened()
            _shrink(database, down_to)
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.Error, OSError) as error:
            with suppress(sqlite3.Error):
                self.close()
            self._remove(error)

    def _remove(self, damage: sqlite3.Error | OSError) -> None:
        """Remove the file, unless it is in use or not to be written to."""
        cannot = ShroomError(f"{self.path}: cannot be cleared ({damage})")
        if "locked" in str(damage) or not os.access(self.path, os.W_OK):
            raise cannot from damage
        try:
            for end in ("", "-wal", "-shm"):
                Path(f"{self.path}{end}").unlink(missing_ok=True)
        except OSError as error:
            raise cannot from error
        self._note(f"{self.path}: was damaged ({damage}) and is begun anew")

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = _connected(self.path, self._patience)
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
            passing = isinstance(error, (sqlite3.OperationalError, OSError))
            way_out = (
                "see 'shroom cache info'" if passing else "to begin it anew: shroom cache clear"
            )
            self._note(f"the cache {self.path} is not used ({error}); {way_out}")


def _connected(path: Path, patience: float) -> sqlite3.Connection:
    """Open the file, and make the tables that are missing."""
    until = time.monotonic() + patience
    while True:
        database = sqlite3.connect(path, timeout=patience)
        try:
            # That removed entries free their room can be chosen only before there is a table.
            database.execute("PRAGMA auto_vacuum = INCREMENTAL")
            database.execute("PRAGMA journal_mode = WAL")
            # What a loss of power destroys is computed again.
            database.execute("PRAGMA synchronous = OFF")
            database.executescript(_TABLES)
        except sqlite3.OperationalError as error:
            database.close()
            # Where two processes make the file at once, one fails without having waited.
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        except sqlite3.DatabaseError:
            database.close()
            raise
        else:
            return database


def _now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _size(database: sqlite3.Connection) -> int:
    """Return the size of the entries in bytes."""
    pages, free, each = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * each


def _shrink(database: sqlite3.Connection, down_to: int) -> None:
    """Remove the entries that were not used for longest, and shrink the file."""
    database.execute("BEGIN IMMEDIATE")
    with database:
        while _size(database) > down_to:
            n = int(database.execute("SELECT count(*) FROM entries").fetchone()[0])
            if n == 0:
                break
            surplus = math.ceil(n * (1 - down_to / _size(database)))
            removed = database.execute(
                "DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used LIMIT ?)",
                (surplus,),
            ).rowcount
            if removed <= 0:  # the index has keys that the table has not, and would have for ever
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
    content, checksum = packed[:-4], packed[-4:]
    if zlib.crc32(key + content).to_bytes(4, "little") != checksum:
        return None
    values = np.frombuffer(content, "<f8").astype(np.float64)
    return values if np.isfinite(values).all() else None
