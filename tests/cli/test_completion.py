"""What bash completes by the kit's script; the page on completion has the scripts written."""

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


@pytest.mark.linux
def test_bash_completes_verbs_options_and_values(tmp_path):
    lines = {
        "shroom sc": "score",
        "shroom datasets ": "describe convert fetch corrupt",
        "shroom score --official --fo": "--format",
        "shroom score --format ": "text json markdown csv codalab",
        "shroom score --format nothing": "",
        "shroom score --metrics rho,bri": "rho,brier",
        "shroom datasets describe f": "felm factual_consistency",
        "shroom fit cross": "cross-encoder",
    }
    program = tmp_path / "shroom"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shroom "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    command = ["bash", "-c", COMPLETE, "bash", *lines]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.stdout.splitlines(), done.stderr) == (list(lines.values()), "")
