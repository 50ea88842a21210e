"""Files that grow: one run at a time, whatever becomes of it."""

import errno
import fcntl
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import ROOT

from shroom.core import append_only
from shroom.core.append_only import Unwritable, append, opened
from shroom.core.problems import ShroomError

HOLDS = """
import sys
from pathlib import Path
from shroom.core.append_only import append, opened
with opened(Path(sys.argv[1]), "") as stream:
    append(stream, b"kept\\n")
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "file"


@pytest.fixture
def holder(path):
    """Another process that is at the file."""
    command = [sys.executable, "-c", HOLDS, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        assert process.stdout.readline() == b"begun\n"
        yield process
        process.kill()


def refused(path):
    with pytest.raises(ShroomError) as caught, opened(path, "wait"):
        pass
    return str(caught.value)


def test_another_process_is_told_and_what_it_writes_stays(path, holder):
    told = f" (process {holder.pid})" if Path("/proc/locks").exists() else ""
    assert refused(path) == f"{path}: another run is writing to it{told}; wait"
    assert path.read_bytes() == b"kept\n"


def test_a_process_that_is_killed_holds_nothing(path, holder):
    holder.kill()
    holder.wait()
    with opened(path, "") as stream:
        append(stream, b"more\n")
    assert path.read_bytes() == b"kept\nmore\n"


@pytest.mark.parametrize("told", [None, "", "1: FLOCK  ADVISORY  WRITE 7 00:00:1 0 EOF\n"])
def test_where_the_system_does_not_tell_who_it_is_nobody_is_named(path, told, monkeypatch):
    def read_text(_, **__):
        if told is None:
            raise FileNotFoundError
        return told

    with opened(path, ""):
        monkeypatch.setattr(Path, "read_text", read_text)
        assert refused(path) == f"{path}: another run is writing to it; wait"


def test_an_empty_file_goes_in_the_end_and_another_stays(path):
    with opened(path, ""):
        assert path.exists()
    assert not path.parent.exists()
    with opened(path, ""):
        (path.parent / "another").touch()
    assert [found.name for found in path.parent.iterdir()] == ["another"]
    with opened(path, "") as stream:
        append(stream, b"kept\n")
    with opened(path, ""):
        pass
    assert path.read_bytes() == b"kept\n"


def test_a_file_that_was_removed_while_it_was_opened_is_refused(path, monkeypatch):
    """Otherwise a third run could make it anew and be alone at that one."""
    flock = fcntl.flock

    def late(*args):
        path.unlink()
        flock(*args)

    monkeypatch.setattr(fcntl, "flock", late)
    assert "another run is writing to it" in refused(path)


def test_what_another_run_has_begun_stays_when_one_ends(path):
    """The next run may come in between removing the file and giving the lock back."""
    with ExitStack() as stack:
        with opened(path, ""):
            append_only.remove(path)
            stack.enter_context(opened(path, ""))
        assert path.exists()
        assert "another run is writing to it" in refused(path)
    assert not path.exists()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_where_there_are_no_locks_a_run_goes_on(path, code, monkeypatch):
    def none(*_):
        raise OSError(code, "no locks")

    monkeypatch.setattr(fcntl, "flock", none)
    with opened(path, ""), opened(path, "") as stream:
        append(stream, b"kept\n")
    assert path.read_bytes() == b"kept\n"


def test_so_it_does_where_the_system_has_none_and_keeps_what_is_open(path, monkeypatch):
    def unlink(*_, **__):
        raise PermissionError(errno.EACCES, "is open")

    monkeypatch.setattr(append_only.sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with monkeypatch.context() as patch, opened(path, "") as stream:
        patch.setattr(Path, "unlink", unlink)
        append(stream, b"kept\n")
        append_only.remove(path)
        assert path.read_bytes() == b""
        patch.undo()
    assert not path.parent.exists()  # once it is closed, it can be removed
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        with opened(path, ""):
            pass
    assert path.read_bytes() == b""  # another process has opened it


def test_a_pipe_is_not_waited_for(path):
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(Unwritable, match="file: cannot be written: it is a pipe"):
        opened(path, "").__enter__()


def test_where_nothing_can_be_written_that_is_told(tmp_path):
    (tmp_path / "a file").touch()
    with pytest.raises(Unwritable, match="a file/x: cannot be written: "):
        opened(tmp_path / "a file" / "x", "").__enter__()
