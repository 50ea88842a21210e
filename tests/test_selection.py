"""Which tests run: those without their data or their browser are left out, except in CI."""

from types import SimpleNamespace

import conftest
import pytest


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.setattr(conftest, "MISSING", {"real": "the real data in /nowhere"})


def test_without_data_the_tests_of_real_data_are_left_out():
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda **_: None))
    one, other = (
        SimpleNamespace(path=SimpleNamespace(stem="test_a"), keywords={mark: True})
        for mark in ("real", "linux")
    )
    items = [one, other]
    conftest.pytest_collection_modifyitems(config, items)
    assert items == [other]


def test_the_files_of_tests_that_run_a_model_exist():
    assert {path.stem for path in conftest.ROOT.glob("tests/*/test_*.py")} >= conftest.MODELS


def test_in_ci_missing_data_are_an_error(monkeypatch):
    monkeypatch.setenv("SHROOM_TEST_ALL", "1")
    config = SimpleNamespace(addinivalue_line=lambda *_: None)
    with pytest.raises(pytest.UsageError, match="the real data in /nowhere"):
        conftest.pytest_configure(config)
