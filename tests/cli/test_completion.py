"""The scripts that complete in shells; that of bash is run."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

COMPLETE = """
. <(_SHROOM_COMPLETE=bash_source shroom)
for line in "$@"; do
    read -ra COMP_WORDS <<< "$line"
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _shroom_completion shroom
    echo "${COMPREPLY[*]}"
done
"""


def run(folder, *command, **environment):
    """Run a command where ``shroom`` is on the path."""
    program = folder / "shroom"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shroom "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment |= {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.linux
def test_bash_completes_verbs_options_and_values(tmp_path):
    lines = {
        "shroom sc": "score",
        "shroom datasets ": "list describe convert fetch",
        "shroom score --official --fo": "--format",
        "shroom score --format ": "text json codalab junit",
        "shroom score --format nothing": "",
        "shroom score --metrics rho,bri": "rho,brier",
        "shroom datasets describe f": "felm factual_consistency",
        "shroom fit cross": "cross-encoder",
    }
    shown = run(tmp_path, "bash", "-c", COMPLETE, "bash", *lines)
    assert shown.splitlines() == list(lines.values())


@pytest.mark.linux
@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nosort -F _shroom_completion shroom"),
        ("zsh", "#compdef shroom"),
        ("fish", "complete --no-files --command shroom"),
    ],
)
def test_each_shell_has_a_script(shell, line, tmp_path):
    script = run(tmp_path, "shroom", _SHROOM_COMPLETE=f"{shell}_source")
    assert line in script
