"""Which tests run: those without their data or their browser are left out, except in CI."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

REAL = "tests/scoring/test_semeval2024.py"


def collect(*, test_all):
    environment = {**os.environ, "SHROOM_DATA": "/nowhere", "SHROOM_TEST_ALL": test_all}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", REAL]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_without_data_the_tests_of_real_data_are_left_out():
    done = collect(test_all="")
    assert done.returncode == 0, done.stdout
    assert "deselected" in done.stdout


def test_in_ci_missing_data_are_an_error():
    done = collect(test_all="1")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "the real data in /nowhere (set SHROOM_DATA)" in done.stderr
