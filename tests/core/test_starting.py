"""Ctrl-C while modules are imported: the command says a sentence, a program gets the exception."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import ROOT, SAMPLE

from shroom.core.interrupts import EXIT_CODE, INTERRUPTED

#: Sends Ctrl-C when a module is looked for, so that nothing depends on time.
AT_IMPORT = """
import os, signal, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(Finder)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, getattr(signal, os.environ["HANDLER"]))
sys.meta_path.insert(0, Finder)
"""
COMMANDS = {"script": ["{tmp}/shroom", "score", str(SAMPLE), str(SAMPLE)]}
if sys.version_info >= (3, 10):  # before that, Python does not tell what -m named
    COMMANDS["module"] = ["-m", "shroom.score", str(SAMPLE), str(SAMPLE)]
    COMMANDS["package"] = ["-m", "shroom", "score", str(SAMPLE), str(SAMPLE)]
SCRIPT = "import sys\nfrom shroom.cli import main\nsys.exit(main())\n"
#: From the first import to the last.
STAGES = (
    "typing",
    "shroom.scoring.check",
    "numpy",
    "click",
    "shroom.cli.score",
    "shroom.scoring.display.text",
)


@pytest.fixture
def started(tmp_path):
    """Run Python with Ctrl-C at an import."""
    (tmp_path / "sitecustomize.py").write_text(AT_IMPORT)
    (tmp_path / "shroom").write_text(SCRIPT)
    path = os.pathsep.join((str(tmp_path), str(ROOT)))

    def run(arguments, at, handler="default_int_handler"):
        environment = {**os.environ, "PYTHONPATH": path, "INTERRUPT_AT": at, "HANDLER": handler}
        arguments = [argument.replace("{tmp}", str(tmp_path)) for argument in arguments]
        return subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, text=True
        )

    return run


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_ends_a_start_with_a_sentence(started, command, stage):
    done = started(COMMANDS[command], stage)
    assert (done.returncode, done.stdout) == (EXIT_CODE, "")
    assert done.stderr.strip() == INTERRUPTED


def test_a_job_that_ignores_ctrl_c_goes_on(started):
    done = started(COMMANDS["script"], "numpy", handler="SIG_IGN")
    assert done.returncode == 0
    assert "model-aware" in done.stdout


@pytest.mark.parametrize("how", ["-c", "script", "-m"])
def test_a_program_that_imports_the_kit_gets_the_exception(started, tmp_path, how):
    program = "try:\n    import shroom\nexcept KeyboardInterrupt:\n    print('caught')\n"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text(program)
    (tmp_path / "mine" / "__main__.py").touch()
    arguments = {
        "-c": ["-c", program],
        "script": [str(tmp_path / "mine" / "__init__.py"), "-m", "shroom"],
        "-m": ["-m", "mine", "-m", "shroom"],
    }[how]
    done = started(arguments, "numpy")
    assert (done.returncode, done.stdout, done.stderr) == (0, "caught\n", "")


def test_a_start_that_is_over_leaves_ctrl_c_to_python(started, tmp_path):
    program = (
        "import signal\n"
        "from shroom.core.interrupts import _end, end_when_interrupted, raise_when_interrupted\n"
        "end_when_interrupted()\n"
        "assert signal.getsignal(signal.SIGINT) is _end\n"
        "raise_when_interrupted()\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "raise_when_interrupted()\n"
        "assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN\n"
    )
    done = started(["-c", program], "none")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_stderr_does_not_keep_it_from_ending(started, tmp_path):
    close = "import os, sys\nos.close(2)\n"
    (tmp_path / "shroom").write_text(close + SCRIPT)
    done = started(COMMANDS["script"], "numpy")
    assert (done.returncode, done.stdout) == (EXIT_CODE, "")
