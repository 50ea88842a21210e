"""Paths that the environment names: one cache folder for everything that is cached."""

import os
import sys
from pathlib import Path

import pytest

from shroom.core.atomic_writing import check_targets, names_a_file, write_atomically
from shroom.core.paths import cache_folder
from shroom.core.problems import ShroomError


def test_the_cache_is_that_of_the_system_unless_one_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("SHROOM_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for system, folder in (
        ("linux", ".cache/shroom"),
        ("darwin", "Library/Caches/shroom"),
        ("win32", "AppData/Local/shroom/shroom/Cache"),
    ):
        monkeypatch.setattr(sys, "platform", system)
        assert cache_folder() == tmp_path / folder
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder("judge") == tmp_path / ".cache" / "shroom" / "judge"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "shroom"
    monkeypatch.setenv("SHROOM_CACHE", "~/there")
    assert cache_folder() == tmp_path / "there"


def test_nothing_is_written_into_an_input_folder_under_another_name(tmp_path, monkeypatch):
    for name in ("data", "DATA"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "gold.json").touch()
    monkeypatch.setattr(Path, "samefile", lambda a, b: str(a).lower() == str(b).lower())
    with pytest.raises(ShroomError, match="is an input, which is never overwritten"):
        check_targets([tmp_path / "DATA" / "gold.json"], [tmp_path / "data"])
    with pytest.raises(ShroomError, match="is inside an input folder"):
        check_targets(
            [tmp_path / "DATA" / "new" / "more.json"], [tmp_path / "data"], read=(".json",)
        )
    for name in ("DATA/notes.txt", "more.json"):
        check_targets([tmp_path / name], [tmp_path / "data"], read=(".json",))


def test_a_folder_may_end_in_the_separator_of_windows(monkeypatch):
    assert names_a_file("out.v1\\")
    monkeypatch.setattr(os, "sep", "\\")
    assert not names_a_file("out.v1\\")
    assert not names_a_file("out.v1/")
    assert not names_a_file("gpt-3.5-turbo")


def test_where_a_file_cannot_be_replaced_it_stays_and_nothing_else_does(tmp_path, monkeypatch):
    """As on Windows, where a file that is open or read-only can be neither replaced nor removed."""
    target = tmp_path / "scores.json"
    target.write_text("old")
    target.chmod(0o444)

    def refused(path, *_):
        raise PermissionError(13, "Access is denied", str(path))

    def remove(path, unlink=Path.unlink):
        if not path.stat().st_mode & 0o200:
            refused(path)
        unlink(path)

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr(Path, "unlink", remove)
    with pytest.raises(ShroomError, match=r"scores\.json cannot be written: Access is denied"):
        write_atomically(target, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["scores.json"]
    assert target.read_text() == "old"
