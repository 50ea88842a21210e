"""Results on disk, by scope (all that a value depends on) and key, in one sqlite file.

Neither scopes nor keys are stored as text.
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
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Self, TypeVar

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
#: Removed entries free their room. What a loss of power destroys is computed again.
_TABLE = """
PRAGMA auto_vacuum = INCREMENTAL; PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS entries
    (key BLOB PRIMARY KEY, found BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
"""
#: A damaged entry may have other types.
_GET = "SELECT CAST(found AS BLOB), CAST(used AS INTEGER) < ? FROM entries WHERE key = ?"
_REMOVE = """DELETE FROM entries WHERE key IN (SELECT key FROM entries ORDER BY used
             LIMIT CAST((SELECT count(*) FROM entries) * ? AS INTEGER))"""
_USABLE = """SELECT count(*) = 0 OR (SELECT application_id FROM pragma_application_id) = ?
             FROM sqlite_master"""
_SIZE = """SELECT (page_count - freelist_count) * page_size
           FROM pragma_page_count, pragma_freelist_count, pragma_page_size"""


class Store:
    """Values by scope and key, on disk, for any number of processes at once."""

    # Beyond ``most`` bytes, the least recently used values are removed. If the file cannot be used,
    # there is one note, and the store is empty. ``patience``: seconds to wait for other processes.

    _useless: ClassVar[str] = "the cache {} cannot be used ({}); delete it to create a new one"

    def __init__(
        self,
        path: str | Path,
        most: float = MOST,
        note: Callable[[str], None] = lambda _: None,
        patience: float = 10.0,
    ) -> None:
        self.path, self.most = Path(path), most
        self._note, self._patience = note, patience
        self._database: sqlite3.Connection | None = None
        self._given_up = False
        self._lock = RLock()  # threads share the connection

    def get(self, scope: str, keys: Iterable[Key]) -> dict[Key, bytes]:
        """Return the stored values whose checksums are right; keys are JSON."""
        found: dict[Key, bytes] = {}
        with self._opened(create=False) as database:
            if not database or self._given_up:
                return found
            now, stale = time.time_ns() // 1_000_000, []
            for key in keys:
                digest = _digest(scope, key)
                row = database.execute(_GET, (now - _HOUR, digest)).fetchone()
                if row and row[0][-4:] == _checksum(digest, row[0][:-4]):
                    found[key] = row[0][:-4]
                    if row[1]:
                        stale.append((now, digest))
            with database:
                database.executemany("UPDATE entries SET used = ? WHERE key = ?", stale)
        return found

    def put(self, scope: str, values: Mapping[Any, bytes]) -> None:
        """Store all of these values or none; once stored, they survive a kill."""
        with self._opened() as database:
            if not database or self._given_up or not values:
                return
            now = time.time_ns() // 1_000_000
            digests = ((_digest(scope, key), value) for key, value in values.items())
            rows = [(key, value + _checksum(key, value), now) for key, value in digests]
            with database:
                database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", rows)
            if database.execute(_SIZE).fetchone()[0] > self.most:
                self.shrink(0.9 * self.most)

    def shrink(self, most: float = 0) -> None:
        """Remove the least recently used values, for a size of about ``most`` bytes."""
        with self._opened() as database:
            if database:
                with database:
                    (size,) = database.execute(_SIZE).fetchone()
                    database.execute(_REMOVE, (max(0, 1 - most / size),))
                database.execute("PRAGMA incremental_vacuum").fetchall()  # else, it frees one page

    @property
    def n(self) -> int:
        """The number of values."""
        with self._opened(create=False) as database:
            if database:
                return int(database.execute("SELECT count(*) FROM entries").fetchone()[0])
        return 0

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._database is not None:
            self._database.close()
            self._database = None

    @contextmanager
    def _opened(self, *, create: bool = True) -> Iterator[sqlite3.Connection | None]:
        """Yield the open file, or ``None`` if it does not exist or cannot be used."""
        with self._lock:
            with self._forgiving():
                if not self._database and not self._given_up and (create or self.path.exists()):
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                    database = sqlite3.connect(self.path, self._patience, check_same_thread=False)
                    try:
                        self._prepare(database)
                    except BaseException:
                        database.close()
                        raise
                    self._database = database
            with self._forgiving():
                yield self._database

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """Stop using the file, with a note, if it cannot be used."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if not self._given_up:
                self._note(self._useless.format(self.path, error))
            self._given_up = True

    def _prepare(self, database: sqlite3.Connection) -> None:
        database.executescript(_TABLE)
        with suppress(sqlite3.OperationalError):  # if another process uses it, that one sets it
            database.execute("PRAGMA journal_mode = WAL")


class RunStore(Store):
    """The store of one run; if ``unfinished``, it is kept although there was no error."""

    _useless = "{} cannot be used ({}), so no further results are stored for --resume"

    def __init__(self, path: str | Path, note: Callable[[str], None]) -> None:
        super().__init__(path, math.inf, note, patience=0)
        self.unfinished = False
        with self._opened():  # it is locked until the run ends
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Remove the file, or keep it if the run is unfinished and the file has values."""
        self.unfinished = self.unfinished or error is not None
        # A damaged file may still have values: counting them finds the damage.
        if self._database and not (self.unfinished and (self.n or self.is_damaged)):
            if os.name == "nt":  # Windows removes no open file, whoever has it
                self.close()
            with suppress(PermissionError):
                self.path.unlink(missing_ok=True)  # before another process may open it
        self.close()

    @property
    def is_damaged(self) -> bool:
        """Whether the file could be opened, but not read."""
        return self._given_up and self._database is not None

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Lock a file if it is new or the store of a run."""
        try:
            database.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;")
            (usable,) = database.execute(_USABLE, (_ID,)).fetchone()
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise ShroomError(
                    f"another run is writing to {self.path}; wait until it ends, or specify "
                    "another output"
                ) from error
            usable = error.sqlite_errorcode != sqlite3.SQLITE_NOTADB
            if usable:
                raise
        if not usable:
            raise ShroomError(
                f"{self.path} already exists and is not from an interrupted run, so it is kept; "
                "move it, or specify another output"
            )
        database.executescript(f"PRAGMA application_id = {_ID}; {_TABLE}")


@contextmanager
def kept(
    path: str | Path, note: Callable[[str], None], *, resume: bool, refuse: bool = False
) -> Iterator[RunStore]:
    """Yield the store of one run, locked against other runs."""
    # The file is kept after an error or a kill, or if it is ``unfinished`` and not empty. Earlier
    # values are used with ``resume``. Otherwise they are removed, or with ``refuse``, for values
    # that cost money, an error is raised.
    with RunStore(path, note) as store:
        if refuse and not resume and (store.n or store.is_damaged):
            raise ShroomError(
                f"{store.path} contains results of an earlier run; add --resume to continue that "
                "run, or specify another output"
            )
        if not resume:
            store.shrink()
        yield store


def _digest(scope: str, key: Any) -> bytes:
    return hashlib.blake2b(json.dumps([scope, key]).encode(), digest_size=16).digest()


def _checksum(key: bytes, value: bytes) -> bytes:
    """Return the checksum that is stored after a value, because sqlite has none."""
    return zlib.crc32(key + value).to_bytes(4, "little")
