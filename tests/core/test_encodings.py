"""What the commands write, whatever encoding the console or the locale has."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, gold

TEXT = "Größe – 日本語 😀"
#: A console of Windows, and a locale in which files are ASCII unless an encoding is named.
ENCODINGS = {
    "a console in cp1252": {"PYTHONIOENCODING": "cp1252"},
    "a locale in ASCII": {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"},
}
COMMANDS = (
    "score gold.json gold.json --no-ci --by model",
    "check wrong.json",
    "leaderboard . gold.json --no-ci --html ranks.html",
    "predict lexical gold.json -o pred.json",
)


@pytest.fixture
def folder(tmp_path):
    rows = [{**row, "hyp": TEXT, "model": TEXT} for row in gold(12)]
    wrong = [{"label": TEXT, "p(Hallucination)": 0.5}]
    for name, content in (("gold", rows), ("wrong", wrong)):
        text = json.dumps(content, ensure_ascii=False)
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_commands_write_utf8_whatever_the_encoding(folder, encoding):
    for words in COMMANDS:
        outputs = []
        for settings in ({"PYTHONUTF8": "1"}, {"PYTHONUTF8": "0", **ENCODINGS[encoding]}):
            environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
            command = [sys.executable, "-m", "shroom", *words.split()]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
            outputs.append((done.returncode, done.stdout, done.stderr))
            outputs[-1] += tuple(path.read_bytes() for path in sorted(folder.glob("*.html")))
        assert outputs[0] == outputs[1], words
