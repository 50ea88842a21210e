"""Paths that the environment names: one cache folder for everything that is cached."""

import sys
from dataclasses import fields

from shroom.cli import evaluate
from shroom.core.paths import cache_folder
from shroom.detectors.cross_encoder.fitting import Fitting
from shroom.detectors.judge.cache import folder_of


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


def test_judge_training_and_evaluation_use_the_named_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SHROOM_CACHE", str(tmp_path))
    (work,) = (field for field in fields(Fitting) if field.name == "work")
    assert folder_of(None) == folder_of("true") == tmp_path / "judge"
    assert work.default_factory() == tmp_path / "training"
    assert evaluate._folder(None, "-", []) == tmp_path / "evaluate"
