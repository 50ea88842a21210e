"""What the commands do, whatever the console, the locale and the system offer."""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, gold, predictions

TEXT = "Größe – 日本語 😀"
#: Every command of these is run in one process, as one after the other on a console.
COMMANDS = (
    "score mine.json gold.json --no-ci --by model",
    "score mine.json gold.json --format markdown -o scores.md",
    "check wrong.json",
    "check case.json --fix fixed.json",
    "compare mine.json other.json gold.json",
    "leaderboard teams gold.json --no-ci --html ranks.html",
    "report mine.json other.json gold.json --format csv",
    "report mine.json other.json gold.json -o report.html",
    "predict lexical gold.json -o pred.json",
    "evaluate lexical --on semeval2024=gold.json --runs matrix.runs -o matrix",
    "bundle --gold golds -o bundle --no-predictions",
    "bundle --check bundle/codabench.zip",
    "edition init -o rules/edition.toml",
    "edition check rules/edition.toml",
    "datasets describe semeval2024 gold.json",
    "datasets convert semeval2024 gold.json -o gold.jsonl",
    "gold agreement gold.json",
)
RUN = """
import sys
from shroom.cli import main
for line in sys.argv[1:]:
    sys.argv = ["shroom", *line.split()]
    print("#", line, flush=True)
    try:
        main()
    except SystemExit as done:
        print("exit code", done.code, flush=True)
"""
#: What POSIX alone has is taken away once the libraries that look at the system have done so.
WITHOUT_POSIX = (
    """
import os, signal, sys
import filelock, numpy, portalocker, subprocess

sys.modules |= dict.fromkeys(("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"))
for module, names in {
    os: "fork forkpty getuid geteuid getgid uname fchmod chown mkfifo mknod sysconf setsid killpg "
    "sched_getaffinity getloadavg statvfs O_NOFOLLOW O_DIRECTORY symlink",
    signal: "SIGKILL SIGHUP SIGPIPE SIGALRM SIGUSR1 alarm setitimer pthread_sigmask",
}.items():
    for name in names.split():
        delattr(module, name)
"""
    + RUN
)
ASCII = {"PYTHONUTF8": "0"}
#: A console of Windows, a locale in which files are ASCII unless an encoding is named, and a
#: system without fork, symbolic links and POSIX's modules.
SYSTEMS = {
    "a console in cp1252": (RUN, {**ASCII, "PYTHONIOENCODING": "cp1252"}),
    "a locale in ASCII": (RUN, {**ASCII, "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"}),
    "without POSIX": (WITHOUT_POSIX, {"PYTHONUTF8": "1"}),
}


def outputs(folder, program, settings):
    """Return what the commands print, and the files that they write, but for those with times."""
    texts = {"hyp": TEXT, "model": TEXT}
    gold_rows = [{**row, **texts, "hyp": f"{TEXT} {row['hyp']}"} for row in gold(12)]
    mine = predictions(12)
    for name, rows in {
        "gold": gold_rows,
        "golds/val.model-aware": gold_rows,
        "wrong": [{"label": TEXT, "p(Hallucination)": 0.5}],
        "case": [{**row, "label": row["label"].upper()} for row in mine],
        "mine": mine,
        "other": mine[::-1],
        "teams/mine": mine,
    }.items():
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    given = {path for path in folder.rglob("*") if path.is_file()}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    command = [sys.executable, "-c", program, *COMMANDS]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    written = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path not in given and not path.name.startswith("matrix")
        if "matrix.runs" not in path.parts
    }
    return done.stdout.decode(), done.stderr.decode(), written


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return outputs(tmp_path_factory.mktemp("usual") / "work", RUN, {"PYTHONUTF8": "1"})


def test_the_commands_are_done_in_the_usual_way(usual):
    shown, _, written = usual
    codes = [line for line in shown.splitlines() if line.startswith("exit code")]
    assert codes == [f"exit code {int('wrong' in line)}" for line in COMMANDS]
    assert {"fixed.json", "ranks.html", "report.html", "pred.json", "scores.md"} <= written.keys()
    assert TEXT in shown
    assert TEXT in written["report.html"].decode()


@pytest.mark.linux
@pytest.mark.parametrize("system", SYSTEMS)
def test_commands_do_the_same_on_other_systems(system, usual, tmp_path):
    assert outputs(tmp_path / "work", *SYSTEMS[system]) == usual
