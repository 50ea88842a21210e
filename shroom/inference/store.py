"""What took long to compute, stored by scope and key in one sqlite file.

A scope names everything that a value depends on besides its key: the model's content, the
precision, the versions of libraries. Neither scopes nor keys are stored as text.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from shroom.core.problems import ShroomError

Key = TypeVar("Key")
#: The name of the user's cache, and the most bytes that it takes by default.
NAME, MOST = "pairs.sqlite", 1 << 30
#: The ending of an unfinished run's own store.
PARTIAL = ".partial"
#: A use is recorded if the last one is so many milliseconds ago; else each reading would write.
_HOUR = 3_600_000
#: The time to wait for another process, in seconds.
_PATIENCE = 10.0
_ID = 0x5348524D
_TABLE = """
CREATE TABLE IF NOT EXISTS entries
    (key BLOB PRIMARY KEY, found BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
"""
#: Removed entries free their room. What a loss of power destroys is computed again.
_SHARED = "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
#: One file only, which no other process may open; the number tells it from databases of others.
_ALONE = f"""
PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF; BEGIN EXCLUSIVE; COMMIT;
PRAGMA application_id = {_ID};
"""


class Store:
    """Values by scope and key, on disk; if the file cannot be used, it is empty and says why.

    Parameters
    ----------
    path : path
        The file; made, with its folder, with the first value.
    most : int
        The most bytes; beyond, the values are removed that were not used for longest.
    note : callable
        Called with a sentence, once, if the file cannot be used.
    alone : bool
        Whether the file belongs to one run; otherwise any number of processes may use it at once.

    Examples
    --------
    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()) / "results.sqlite")
    >>> store.put("a model", {"a premise": b"0.25"})
    >>> store.get("a model", ["a premise", "another"]), store.get("another model", ["a premise"])
    ({'a premise': b'0.25'}, {})
    """

    def __init__(
        self,
        path: str | Path,
        most: int = MOST,
        note: Callable[[str], None] = lambda _: None,
        *,
        alone: bool = False,
    ) -> None:
        self.path, self.most, self.alone = Path(path), most, alone
        self._note = note
        self._open: sqlite3.Connection | None = None
        self.given_up = False

    def get(self, scope: str, keys: Iterable[Key]) -> dict[Key, bytes]:
        """Return the values of those keys that are known, and are what was written."""
        found: dict[Key, bytes] = {}
        with self._forgiving():
            if self.given_up or not self.path.exists():
                return found
            key_of = {_digest(scope, key): key for key in keys}
            digests, now, stale = iter(key_of), _now(), []
            while some := list(islice(digests, 500)):
                marks = ",".join("?" * len(some))
                query = f"SELECT key, found, used FROM entries WHERE key IN ({marks})"  # noqa: S608
                for key, value, used in self._database.execute(query, some):
                    if isinstance(value, bytes) and value[-4:] == _checksum(key, value[:-4]):
                        found[key_of[key]] = value[:-4]
                        if not isinstance(used, int) or now - used >= _HOUR:
                            stale.append((now, key))
            with self._database as database:
                database.executemany("UPDATE entries SET used = ? WHERE key = ?", stale)
        return found

    def put(self, scope: str, values: Mapping[Any, bytes]) -> None:
        """Store these values, all or none of them; a kill cannot lose them from then on."""
        with self._forgiving():
            if self.given_up or not values:
                return
            now = _now()
            digests = ((_digest(scope, key), value) for key, value in values.items())
            rows = [(key, value + _checksum(key, value), now) for key, value in digests]
            with self._database as database:
                database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            if not self.alone and self._size() > self.most:
                self._shrink(0.9 * self.most)

    def shrink(self, most: float = 0) -> None:
        """Remove the values that were not used for longest; a damaged file is removed, noted."""
        if not self.path.exists():
            return
        try:
            self._shrink(most)
        except (sqlite3.Error, OSError) as error:
            if "locked" in str(error) or not os.access(self.path.parent, os.W_OK):
                raise ShroomError(f"{self.path}: cannot be cleared ({error})") from error
            self.remove()
            self._note(f"{self.path}: was damaged ({error}) and is started anew")

    def info(self) -> dict[str, Any]:
        """Return path, entries, size, most, and when they were used: oldest, newest, in seconds."""
        n, size, oldest, newest = 0, 0, None, None
        try:
            if self.path.exists():
                query = "SELECT count(*), min(used) / 1000, max(used) / 1000 FROM entries"
                n, oldest, newest = self._database.execute(query).fetchone()
                size = self._size()
        except (sqlite3.Error, OSError) as error:
            way_out = "delete it to start anew"
            raise ShroomError(f"{self.path}: cannot be read ({error}); {way_out}") from error
        where = {"path": str(self.path), "entries": n, "size": size, "most": self.most}
        return {**where, "oldest": oldest, "newest": newest}

    @property
    def n(self) -> int:
        """The number of values."""
        return 0 if self.given_up else self.info()["entries"]

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def remove(self) -> None:
        """Remove the file."""
        with suppress(sqlite3.Error):
            self.close()
        for end in ("", "-journal", "-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)

    @property
    def _database(self) -> sqlite3.Connection:
        """The open file, with its table."""
        deadline = time.monotonic() + _PATIENCE
        while self._open is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, timeout=0 if self.alone else _PATIENCE)
            try:
                database.executescript((_ALONE if self.alone else _SHARED) + _TABLE)
                self._open = database
            except sqlite3.Error as error:
                database.close()
                # If two processes make the file at once, one fails without having waited.
                if self.alone or "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        return self._open

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """Give up the file, with a note, if it cannot be used."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.given_up = True
        with suppress(sqlite3.Error):
            self.close()
        self._note(f"{self.path}: is not used, and nothing is kept in it ({error})")

    def _size(self) -> int:
        """Return the size of the values in bytes."""
        query = """SELECT (page_count - freelist_count) * page_size
                   FROM pragma_page_count, pragma_freelist_count, pragma_page_size"""
        return int(self._database.execute(query).fetchone()[0])

    def _shrink(self, most: float) -> None:
        oldest = "DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used LIMIT ?)"
        with self._database as database:
            database.execute("BEGIN IMMEDIATE")
            while n := database.execute("SELECT count(*) FROM entries").fetchone()[0]:
                surplus = math.ceil(n * (1 - most / self._size()))
                if surplus <= 0:
                    break
                if database.execute(oldest, (surplus,)).rowcount <= 0:
                    raise sqlite3.DatabaseError("its index does not fit its values")
        database.executescript("PRAGMA incremental_vacuum")  # execute would free a single page


@contextmanager
def kept(
    path: str | Path,
    note: Callable[[str], None],
    *,
    resume: bool,
    way_out: str = "wait for its end, or name another output",
) -> Iterator[Store]:
    """Give the store of one run; it is removed if the run ends well, and else kept.

    Raises
    ------
    ShroomError
        If another run uses it, or the file is something else.
    """
    store = Store(path, note=note, alone=True)
    foreign = f"{path}: is not a record of an interrupted run, and would be overwritten; move it "
    try:
        if store.path.exists() and store.path.stat().st_size and not _is_ours(store.path):
            raise ShroomError(f"{foreign}away, or name another output")
        with store._database as database:  # noqa: SLF001 - its own module
            if not resume:
                database.execute("DELETE FROM entries")
    except (sqlite3.Error, OSError) as error:
        if "locked" in str(error):
            raise ShroomError(f"{path}: another run is writing to it; {way_out}") from error
        store._give_up(error)  # noqa: SLF001
    try:
        yield store
    except BaseException:
        if store.n == 0 and not store.given_up:
            store.remove()
        store.close()
        raise
    if not store.given_up:
        store.remove()


def _is_ours(path: Path) -> bool:
    """Return whether a file is a store of one run: by sqlite's name and our number."""
    with path.open("rb") as stream:
        start = stream.read(72)
    return start.startswith(b"SQLite format 3\0") and start[68:72] == _ID.to_bytes(4, "big")


def _now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _digest(scope: str, key: Any) -> bytes:
    return hashlib.blake2b(json.dumps([scope, key]).encode(), digest_size=16).digest()


def _checksum(key: bytes, value: bytes) -> bytes:
    """Return the checksum that follows a value, as sqlite's pages have none."""
    return zlib.crc32(key + value).to_bytes(4, "little")
