"""benchmarks/endurance.py, on Linux: its verdict on a long run, and that no process is left."""

from __future__ import annotations

import importlib
import json
import os
import select
import subprocess
import sys

import pytest
from conftest import ROOT, SAMPLE

pytestmark = pytest.mark.linux
BENCHMARKS = ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))
endurance, enlarging, watching = map(
    importlib.import_module, ("endurance", "enlarging", "watching")
)
sys.path.pop()

#: Starts a child, tells its id, and waits with it for ever.
PARENT = """
import subprocess, sys
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path(sys.argv[1]).write_text(str(child.pid))
child.wait()
"""


def ends(pid: str) -> bool:
    """Whether a process has ended or does so at once, which the system takes a moment for."""
    try:
        process = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 10)[0])
    finally:
        os.close(process)


def test_a_run_that_is_killed_once(tmp_path):
    figures = tmp_path / "figures.json"
    options = ["--data", SAMPLE / "val.model-aware.json", "--n", "150", "--kills", "1"]
    options += ["--seed", "1", "--json", figures, "--keep", tmp_path, "--", "unigram"]
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "endurance.py", *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "150 datapoints: 60 of val.model-aware.json" in done.stdout
    assert "memory is not judged" in done.stdout
    assert "the same, byte for byte" in done.stdout
    found = json.loads(figures.read_text())["figures"]
    assert [process["killed"] for process in found["killed"]["processes"]] == [True, False]
    assert found["sound"]
    assert len(json.loads((tmp_path / "killed.json").read_text())) == 150
    assert str(tmp_path) not in figures.read_text()


def test_data_are_real_first_and_all_different(tmp_path):
    place = tmp_path / "data.json"
    files = [SAMPLE / "val.model-agnostic.json", SAMPLE / "val.model-aware.json"]
    assert enlarging.write_data(place, files, 1000) == 120
    rows = json.loads(place.read_text())
    texts = [(row["src"], row["tgt"], row["hyp"]) for row in rows]
    assert len(set(texts)) == len(rows) == 1000
    assert not any(key in row for row in rows for key in ("id", "labels", "label"))
    real = [row for file in files for row in json.loads(file.read_text())]
    assert texts[:120] == [(row["src"], row["tgt"], row["hyp"]) for row in real]
    by_task = {(row["task"], row["hyp"]) for row in real}
    assert all((row["task"], row["hyp"]) in by_task for row in rows)


def test_fewer_rows_are_spread_over_the_files(tmp_path):
    place = tmp_path / "data.json"
    assert enlarging.write_data(place, [SAMPLE / "val.model-aware.json"], 6) == 6
    real = json.loads((SAMPLE / "val.model-aware.json").read_text())
    assert [row["hyp"] for row in json.loads(place.read_text())] == [r["hyp"] for r in real[::10]]


def test_more_than_the_rows_can_make_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="different datapoints, not 100000"):
        enlarging.write_data(tmp_path / "data.json", [SAMPLE / "val.model-aware.json"], 100_000)


def test_killing_leaves_no_child(tmp_path):
    told = tmp_path / "child"
    watched = watching.watch([sys.executable, "-c", PARENT, str(told)], told, "a parent", 1.5)
    assert watched.killed
    assert ends(told.read_text())
    assert [sample.journal for sample in watched.samples] == [told.stat().st_size]
    assert 0 < watched.peak < watched.samples[0].resident  # the child's counts there


def test_an_interrupt_leaves_no_child(tmp_path, monkeypatch):
    told = tmp_path / "child"

    def interrupted(name, samples):
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "_report", interrupted)
    with pytest.raises(KeyboardInterrupt):
        watching.watch([sys.executable, "-c", PARENT, str(told)], told, "a parent")
    assert ends(told.read_text())


def test_a_process_that_fails_or_is_killed_by_others_is_an_error(tmp_path):
    for code, said in (("raise SystemExit('no')", "ended with 1:\nno"), (KILLED, "ended with -9")):
        with pytest.raises(RuntimeError, match=said):
            watching.watch([sys.executable, "-c", code], tmp_path / "journal", "a process")


KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("off", "digest", "times", "sound"),
    [
        (9.9, "a", 2, True),
        (10.1, "a", 2, False),
        (None, "a", 2, True),
        (1, "b", 2, False),
        (1, "a", 3, False),
    ],
)
def test_the_verdict(off, digest, times, sound, capsys):
    held = off and {"min": 90.0, "median": 100.0, "max": 100 + off, "off": off}
    process = {"began_with": 0, "seconds": 9.0, "peak_mib": 200.0, "memory_mib": held}
    whole = {"seconds": 9.0, "sha256": "a", "processes": [{**process, "killed": False}]}
    pieces = [{**process, "killed": killed} for killed in (True, True, False)]
    figures = {"undisturbed": whole, "killed": {**whole, "sha256": digest, "processes": pieces}}
    options = endurance.argparse.Namespace(n=100, settle=60, kills=times)
    assert endurance._report(figures, options) is sound


def test_moments_are_one_in_each_part_and_the_same_each_time():
    found = endurance.moments(3, 100.0, seed=7)
    assert found == endurance.moments(3, 100.0, seed=7) != endurance.moments(3, 100.0, seed=8)
    assert [int(moment // 30) for moment in found] == [0, 1, 2]


def test_an_earlier_run_of_other_settings_is_refused(tmp_path):
    place = tmp_path / "figures.json"
    stored = {"setting": {"datapoints": 5}, "undisturbed": {"seconds": 1.0}}
    place.write_text(json.dumps({"figures": stored}))
    assert endurance._earlier(place, {"datapoints": 5}) == {"seconds": 1.0}
    with pytest.raises(RuntimeError, match="datapoints was 5, it is 6 now"):
        endurance._earlier(place, {"datapoints": 6})
