"""Files that a run appends to: one run at a time, however it ends."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import filelock
import pytest
from conftest import ROOT

from shroom.core.append_only import Unwritable, locked
from shroom.core.problems import ShroomError

HOLDS = """
import sys
from pathlib import Path
from shroom.core.append_only import locked
with locked(Path(sys.argv[1]), ""):
    print("begun", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "file"


@pytest.fixture
def holder(path):
    """Another process that has locked the file."""
    command = [sys.executable, "-c", HOLDS, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        assert process.stdout.readline() == b"begun\n"
        yield process
        process.kill()


def test_a_file_that_another_process_has_locked_is_refused(path, holder):
    with pytest.raises(ShroomError) as caught, locked(path, "wait"):
        pass
    assert str(caught.value) == f"{path}: another run is writing to it; wait"


def test_a_process_that_is_killed_holds_nothing(path, holder):
    holder.kill()
    holder.wait()
    with locked(path, ""):
        pass


def test_a_process_locks_a_file_once(path):
    with locked(path, ""):
        with pytest.raises(ShroomError, match="another run"), locked(path, ""):
            pass
        with pytest.raises(ShroomError, match="another run"), locked(path, ""):
            pass


def test_nothing_of_the_lock_is_left_and_other_files_stay(path):
    with locked(path, ""):
        assert path.parent.exists()
    assert not path.parent.exists()
    with locked(path, ""):
        (path.parent / "another").touch()
    assert [found.name for found in path.parent.iterdir()] == ["another"]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_where_there_are_no_locks_a_run_goes_on(path, code, monkeypatch):
    def none(*_, **__):
        raise OSError(code, "no locks")

    monkeypatch.setattr(filelock.FileLock, "acquire", none)
    with locked(path, ""), locked(path, ""):
        pass


@pytest.mark.linux
def test_a_pipe_is_not_waited_for(path):
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(Unwritable, match="file: cannot be written: it is a pipe"):
        locked(path, "").__enter__()


def test_where_nothing_can_be_written_that_is_the_error(tmp_path):
    (tmp_path / "a file").touch()
    with pytest.raises(Unwritable, match="a file/x: cannot be written: "):
        locked(tmp_path / "a file" / "x", "").__enter__()


@pytest.mark.linux
def test_a_folder_in_which_nothing_can_be_made_is_not_taken_for_another_run():
    with pytest.raises(Unwritable, match="no file can be created"), locked(Path("/proc/x"), "wait"):
        pass
