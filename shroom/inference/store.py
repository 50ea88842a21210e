"""Results on disk, by scope (all that a value depends on) and key, in one sqlite file.

Neither scopes nor keys are stored as text.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from shroom.core.printing import counted
from shroom.core.problems import ShroomError

Key = TypeVar("Key")
#: The name of the user's cache, and its maximum size in bytes.
NAME, MOST = "pairs.sqlite", 1 << 30
#: The ending of an unfinished run's own store.
PARTIAL = ".partial"
#: Milliseconds after which another use of a value is recorded; otherwise each reading would write.
_HOUR = 3_600_000
#: Tells the store of a run from databases of others.
_ID = 0x5348524D
_TABLE = """
CREATE TABLE IF NOT EXISTS entries
    (key BLOB PRIMARY KEY, found BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
"""
#: Removed entries free their room. What a loss of power destroys is computed again.
_SHARED = "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"


class Store:
    """Values by scope and key, on disk, for any number of processes at once."""

    # Beyond ``most`` bytes, the least recently used values are removed. If the file cannot be used,
    # there is one note, and the store is empty. ``patience``: seconds to wait for other processes.

    def __init__(
        self,
        path: str | Path,
        most: float = MOST,
        note: Callable[[str], None] = lambda _: None,
        patience: float = 10.0,
    ) -> None:
        self.path, self.most = Path(path), most
        self._note, self._patience = note, patience
        self._open: sqlite3.Connection | None = None
        self._given_up = False
        self._lock = RLock()  # threads share the connection

    def get(self, scope: str, keys: Iterable[Key]) -> dict[Key, bytes]:
        """Return the stored values whose checksums are right; keys are JSON."""
        found: dict[Key, bytes] = {}
        with self._forgiving():
            if self._given_up or not self.path.exists():
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
        """Store all of these values or none; once stored, they survive a kill."""
        with self._forgiving():
            if self._given_up or not values:
                return
            now = _now()
            digests = ((_digest(scope, key), value) for key, value in values.items())
            rows = [(key, value + _checksum(key, value), now) for key, value in digests]
            with self._database as database:
                database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            if self._size() > self.most:
                self.shrink(0.9 * self.most)

    def shrink(self, most: float = 0) -> None:
        """Remove the least recently used values until the size is at most ``most`` bytes."""
        oldest = "DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used LIMIT ?)"
        with self._forgiving():
            with self._database as database:
                database.execute("BEGIN IMMEDIATE")
                while n := database.execute("SELECT count(*) FROM entries").fetchone()[0]:
                    surplus = math.ceil(n * (1 - most / self._size()))
                    if surplus <= 0:
                        break
                    if database.execute(oldest, (surplus,)).rowcount <= 0:
                        raise sqlite3.DatabaseError("its index does not match its values")
            # execute would free a single page
            database.executescript("PRAGMA incremental_vacuum")

    @property
    def n(self) -> int:
        """The number of values."""
        with self._forgiving():
            if self._open or (self.path.exists() and not self._given_up):
                return _count(self._database)
        return 0

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._open is not None:
            self._open.close()
            self._open = None

    @property
    def _database(self) -> sqlite3.Connection:
        """The open file, with its table."""
        deadline = time.monotonic() + self._patience
        while self._open is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self.path, self._patience, check_same_thread=False)
            try:
                self._prepare(database)
                self._open = database
            except sqlite3.Error as error:
                database.close()
                # If two processes make the file at once, one fails without having waited.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        return self._open

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.executescript(_SHARED + _TABLE)

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """Stop using the file, with a note, if it cannot be used."""
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self._given_up = True
        with suppress(sqlite3.Error):
            self.close()
        self._note(f"the cache {self.path} cannot be used ({error}); delete it to create a new one")

    def _size(self) -> int:
        """Return the size of the values in bytes."""
        query = """SELECT (page_count - freelist_count) * page_size
                   FROM pragma_page_count, pragma_freelist_count, pragma_page_size"""
        return int(self._database.execute(query).fetchone()[0])


class RunStore(Store):
    """The store of one run; if ``unfinished``, it is kept although there was no error."""

    def __init__(self, path: str | Path, note: Callable[[str], None]) -> None:
        super().__init__(path, math.inf, note, patience=0)
        self.unfinished = False

    def reserved(self, hint: str) -> int:
        """Lock the file against other processes; return the number of its values."""
        try:
            return _count(self._database)
        except (sqlite3.Error, OSError) as error:
            if "locked" in str(error):
                problem = f"another run is writing to {self.path}; {hint}"
                raise ShroomError(problem) from error
            self._give_up(error)
            return 0

    def release(self) -> None:
        """Remove the file, or keep it if the run is unfinished and the file has values."""
        if self._open and not (self.unfinished and _count(self._open)):
            try:
                self.path.unlink(missing_ok=True)  # before another process may open it
            except PermissionError:  # Windows removes no open file, whoever has it
                self.close()
                with suppress(PermissionError):
                    self.path.unlink(missing_ok=True)
        self.close()

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Lock a file if it is new or the store of a run."""
        try:
            database.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;")
            ours = database.execute("PRAGMA application_id").fetchone() == (_ID,)
            new = database.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_NOTADB:
                raise
            ours = new = False
        if not (ours or new):
            database.close()
            raise ShroomError(
                f"{self.path} already exists and is not from an interrupted run, so it is kept; "
                "move it, or specify another output"
            )
        database.executescript(f"PRAGMA synchronous = OFF; PRAGMA application_id = {_ID}; {_TABLE}")

    def _give_up(self, error: Exception) -> None:
        if not self._given_up:  # it stays reserved until the run ends
            self._note(
                f"{self.path} cannot be used ({error}), so no further results are stored for "
                "--resume"
            )
        self._given_up = True


@contextmanager
def kept(
    path: str | Path,
    note: Callable[[str], None],
    *,
    resume: bool,
    refuse: bool = False,
    hint: str = "wait until it ends, or specify another output",
) -> Iterator[RunStore]:
    """Yield the store of one run, locked against other runs."""
    # The file is kept after an error or a kill, or if it is ``unfinished`` and not empty. Earlier
    # values are used with ``resume``. Otherwise they are removed, or with ``refuse``, for values
    # that cost money, an error is raised.
    store = RunStore(path, note)
    n = store.reserved(hint)
    if n and refuse and not resume:
        store.close()
        raise ShroomError(
            f"{store.path} contains {counted(n, 'result')} of an earlier run; add --resume to "
            "continue that run, or specify another output"
        )
    if n and not resume:
        store.shrink()
    try:
        yield store
    except BaseException:
        store.unfinished = True
        raise
    finally:
        store.release()


def _count(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT count(*) FROM entries").fetchone()[0])


def _now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _digest(scope: str, key: Any) -> bytes:
    return hashlib.blake2b(json.dumps([scope, key]).encode(), digest_size=16).digest()


def _checksum(key: bytes, value: bytes) -> bytes:
    """Return the checksum that is stored after a value, because sqlite has none."""
    return zlib.crc32(key + value).to_bytes(4, "little")
