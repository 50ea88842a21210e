"""The store: what it gives again, to whom, and when it steps back."""

import multiprocessing
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from conftest import ROOT

from shroom.core.problems import ShroomError
from shroom.inference.store import Store, kept


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "pairs.sqlite"


def some(n, start=0):
    return {("item", i): bytes([i % 256]) * 16 for i in range(start, start + n)}


def change(path, statement, *values):
    with sqlite3.connect(path) as database:
        database.execute(statement, values)
    database.close()


def test_what_was_put_comes_back_and_nothing_is_made_by_looking(path):
    store = Store(path)
    assert store.get("a", ["k"]) == {}
    assert store.n == 0
    assert not path.parent.exists()
    Store(path).put("a", some(1200))
    assert Store(path).n == 1200
    assert Store(path).get("a", some(2000)) == some(1200)
    assert Store(path).get("b", some(2000)) == {}
    Store(path).put("a", {("item", 3): b"", "a premise\ud800": b"\0"})
    assert store.get("a", [("item", 3), "a premise\ud800"]) == {
        ("item", 3): b"",
        "a premise\ud800": b"\0",
    }
    store.put("scope name", {"k": b"v"})
    store.close()
    assert not any(text in path.read_bytes() for text in (b"premise", b"scope name"))
    for used in ("text", b"bytes", -1, 1 << 62, 1.5):  # a time that cannot be does not count
        change(path, "UPDATE entries SET used = ?", used)
        assert Store(path).get("a", some(2)) == some(2)


def add(path, start):
    store = Store(path, note=lambda _: os._exit(3))
    for i in range(start, start + 150):  # half of the keys are those of the next process, too
        store.put("s", {i: str(i).encode()})
        assert store.get("s", [i]) == {i: str(i).encode()}


def test_four_processes_at_once(path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=add, args=(path, n * 75)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert Store(path).get("s", range(375)) == {i: str(i).encode() for i in range(375)}


def test_what_was_not_used_for_longest_goes(path, monkeypatch):
    now = time.time_ns()
    store = Store(path, most=250_000)
    for part in range(5):
        monkeypatch.setattr(time, "time_ns", lambda at=part: now + at * 10**13)
        store.put("s", some(300, part * 300))
    monkeypatch.setattr(time, "time_ns", lambda: now + 6 * 10**13)
    assert len(store.get("s", some(300))) == 300
    for part in range(5, 20):
        monkeypatch.setattr(time, "time_ns", lambda at=part: now + (at + 2) * 10**13)
        store.put("s", some(100, part * 300))
        assert len(store.get("s", some(300))) == 300
    assert store.get("s", some(300, 300)) == {}
    store.close()
    assert path.stat().st_size < 280_000
    store.shrink()
    assert store.n == 0


VALUE = bytes(range(24))


@pytest.mark.parametrize(
    "value",
    [b"", b"xyz", bytes(28), "text", 7, *(VALUE[:i] + b"\xff" + VALUE[i + 1 :] for i in range(24))],
)
def test_a_damaged_value_is_not_read(path, value):
    Store(path).put("s", {"k": VALUE})
    ((whole,),) = sqlite3.connect(path).execute("SELECT found FROM entries")
    damaged = value + whole[-4:] if len(str(value)) > 40 else value
    change(path, "UPDATE entries SET found = ?", damaged)
    assert Store(path).get("s", ["k"]) == {}
    Store(path).put("s", {"k": VALUE})
    assert Store(path).get("s", ["k"]) == {"k": VALUE}


@pytest.mark.parametrize(
    "made", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000, "folder", "held"], ids=str
)
def test_a_file_that_cannot_be_used_is_noted_once(path, made, notes):
    path.parent.mkdir()
    if made == "folder":
        path.mkdir()
    elif made == "held":
        Store(path).put("s", {"k": b"v"})
        database = sqlite3.connect(path)
        database.execute("BEGIN EXCLUSIVE")
    else:
        path.write_bytes(made)
    before = path.read_bytes() if path.is_file() else None
    store = Store(path, note=notes.append, patience=0.05)
    store.put("s", {"l": b"v"})
    store.put("s", {"m": b"v"})
    assert store.get("s", ["l"]) == {}
    (note,) = notes
    assert note.startswith(f"the cache {path} cannot be used (")
    assert note.endswith("; delete it to create a new one")
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize("index", [False, True])
def test_a_damaged_key_gives_no_wrong_value_and_no_endless_loop(path, index, notes):
    store = Store(path)
    store.put("s", some(400))
    store.close()
    ((key,),) = sqlite3.connect(path).execute("SELECT key FROM entries LIMIT 1 OFFSET 200")
    content = path.read_bytes()
    place = content.rindex(key) if index else content.index(key)
    path.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
    assert Store(path).get("s", some(400)).items() <= some(400).items()
    Store(path, note=notes.append).shrink()
    assert len(notes) <= 1


# --- the store of one run

RUN = """
import sys, time
from shroom.inference.store import kept
with kept(sys.argv[1], print, resume=False) as store:
    store.put("s", {"k": b"v"})
    print("begun", flush=True)
    time.sleep(60)
"""


def test_a_second_run_is_refused_while_the_first_goes_on(tmp_path):
    path = tmp_path / "p.partial"
    message = f"another run is writing to {path}; wait until it ends, or specify another output"
    pipes = {"cwd": ROOT, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", RUN, path], **pipes) as first:
        assert first.stdout.readline() == b"begun\n"
        for resume in (True, False):
            refused = pytest.raises(ShroomError, match=f"^{message}$")
            with refused, kept(path, print, resume=resume):
                pass
        first.kill()
    with kept(path, print, resume=True) as store:
        assert store.get("s", ["k"]) == {"k": b"v"}
        with pytest.raises(ShroomError, match="another run"), kept(path, print, resume=True):
            pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("resume", [False, True])
def test_a_file_of_others_is_never_overwritten(tmp_path, resume):
    path = tmp_path / "p"
    change(tmp_path / "theirs", "CREATE TABLE t (a)")
    store = Store(tmp_path / "cache")
    store.put("s", {"k": b"v"})
    store.close()
    message = f"^{path} already exists and is not from an interrupted run, so it is kept; move it, "
    message += "or specify another output$"
    for content, match in (
        ((tmp_path / "theirs").read_bytes(), "is not from an interrupted run"),
        ((tmp_path / "cache").read_bytes(), "is not from an interrupted run"),
        *((content, message) for content in (b"text", b"[1]\n", b"notes " * 1000)),
    ):
        path.write_bytes(content)
        with pytest.raises(ShroomError, match=match), kept(path, print, resume=resume):
            pass
        assert path.read_bytes() == content


def test_a_damaged_store_of_a_run_is_kept(tmp_path, notes):
    path = tmp_path / "p"
    with suppress(KeyboardInterrupt), kept(path, print, resume=False) as store:
        store.put("s", {number: bytes(2000) for number in range(100)})
        raise KeyboardInterrupt
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"x" * 4096 + content[12288:])
    with suppress(KeyboardInterrupt), kept(path, notes.append, resume=True):
        raise KeyboardInterrupt
    with (
        pytest.raises(ShroomError, match="contains results"),
        kept(path, print, resume=False, refuse=True),
    ):
        pass
    assert path.read_bytes()[12288:] == content[12288:]


def test_what_is_kept_of_a_run(tmp_path):
    path = tmp_path / "p"

    def run(values, *, resume, fails=False, unfinished=False, refuse=False):
        with kept(path, print, resume=resume, refuse=refuse) as store:
            before = store.n
            store.put("s", values)
            store.unfinished = unfinished
            if fails:
                raise KeyboardInterrupt
        return before

    with pytest.raises(KeyboardInterrupt):
        run({}, resume=False, fails=True)
    assert not path.exists()  # it would be empty
    with pytest.raises(KeyboardInterrupt):
        run(some(3), resume=False, fails=True)
    with pytest.raises(
        ShroomError, match="contains results of an earlier run; add --resume to continue"
    ):
        run({}, resume=False, refuse=True)
    assert run({}, resume=True, refuse=True, unfinished=True) == 3
    assert run({}, resume=False, unfinished=True) == 0
    assert not path.exists()
    assert run(some(2), resume=False, unfinished=True) == 0
    assert run(some(2, 2), resume=True) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_run_goes_on_if_nothing_can_be_kept(tmp_path):
    path, notes = tmp_path / "p", []
    path.mkdir()
    with kept(path, notes.append, resume=False) as store:
        store.put("s", {"k": b"v"})
        assert store.get("s", ["k"]) == {}
    (note,) = notes
    assert note.startswith(f"{path} cannot be used (")
    assert path.is_dir()


def test_a_full_disk_gives_a_note_and_keeps_what_was_there(tmp_path):
    path, notes = tmp_path / "p", []
    with kept(path, notes.append, resume=False) as store:
        store.put("s", some(10))
        store._database.execute("PRAGMA max_page_count = 4")  # sqlite says: the disk is full
        for start in range(0, 10_000, 1000):
            store.put("s", some(1000, start))
        assert store.n == 10
        store.unfinished = True
    (note,) = notes
    why = "database or disk is full"
    assert note == (f"{path} cannot be used ({why}), so no further results are stored for --resume")
    with kept(path, notes.append, resume=True) as store:
        assert store.get("s", some(10)) == some(10)


def test_a_file_that_cannot_be_removed_is_emptied_by_the_next_run(tmp_path, monkeypatch):
    """As on Windows, if another program has it open."""
    path = tmp_path / "p"

    def refuse(self, **_):
        raise PermissionError(13, "Access is denied", str(self))

    with monkeypatch.context() as windows:
        windows.setattr(type(path), "unlink", refuse)
        with kept(path, print, resume=False) as store:
            store.put("s", some(3))
    assert path.exists()
    with kept(path, print, resume=False) as store:
        assert store.n == 0
    assert not path.exists()
