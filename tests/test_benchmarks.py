"""The benchmarks store their figures, and the page is made of nothing else."""

import contextlib
import importlib
import json
import math
import os
import re
import select
import subprocess
import sys

import pytest
from conftest import ROOT, SAMPLE

pytestmark = pytest.mark.linux
BENCHMARKS = ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))
bench = importlib.import_module("run")
endurance = importlib.import_module("endurance")
sys.path.pop()

#: Starts a child, writes its id to a file, and waits with it for ever.
PARENT = """
import subprocess, sys
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
Path(sys.argv[1]).write_text(str(child.pid))
child.wait()
"""


def run(name, *words):
    command = [sys.executable, BENCHMARKS / f"{name}.py", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_the_page_is_what_the_stored_results_give():
    results = bench.stored(bench.RESULTS)
    assert list(results) == list(bench.MEASURES)
    text = bench.PAGE.read_text(encoding="utf-8")
    assert text == bench.page(results), "write it by python benchmarks/run.py --page"


def test_a_table_has_the_figures_and_their_ratio():
    rows = [
        bench.figure("sorting", 0.5, 1234.4, "by hand"),
        bench.figure("sorting", 96.4, 100, "by machine", "items/s"),
        bench.figure("memory", 96.4, None, "", "MiB"),
    ]
    assert list(bench.table({"figures": rows, "settings": {"n": "5"}}))[2:] == [
        "| sorting | 0.50 s | 1,200 s | by hand | 2,500 |",
        "| sorting | 96 items/s | 100 items/s | by machine | 0.96 |",
        "| memory | 96 MiB |  |  |  |",
        "",
        "With `n=5`.",
    ]


def test_a_measure_stores_what_it_prints(tmp_path):
    done = run("resampling", "items=50", "resamples=50", "repeats=1", "--json", tmp_path / "new")
    stored = json.loads((tmp_path / "new" / "resampling.json").read_text(encoding="utf-8"))
    assert stored["settings"] == {"items": "50", "resamples": "50", "repeats": "1"}
    printed = ["  ".join(bench._cells(row)) for row in stored["figures"]]
    assert done.stdout.splitlines()[1:] == printed
    peers = ["scipy.stats", "scipy.stats", "scipy.stats, vectorised"]
    assert [row["peer"] for row in stored["figures"]] == peers
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", stored["machine"]["date"])
    assert {"Python", "numpy", "scipy"} <= set(stored["machine"]["versions"])


def test_a_measure_that_fails_stores_nothing(tmp_path):
    done = run("run", "resampling", "items=no", "--json", tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
    assert done.stderr.endswith("failed: resampling\n")


def test_endurance_of_a_run_that_is_killed_once(monkeypatch):
    monkeypatch.setattr(endurance, "LAST", 0.5)  # the second run may be much faster
    data = SAMPLE / "val.model-aware.json"
    slower, memory = endurance.measure(150, 1, detector=["unigram"], data=[data])
    assert slower["work"] == "150 datapoints, killed once"
    assert memory["ours"] > 20


def test_endurance_notices_another_p(tmp_path):
    for name, p in (("whole", 0.5), ("killed", 0.500002)):
        (tmp_path / f"{name}.json").write_text(json.dumps([{"p(Hallucination)": p}]))
    with pytest.raises(RuntimeError, match="a different p"):
        endurance.check_runs([{"killed": True}], 1, tmp_path)
    with pytest.raises(RuntimeError, match="killed only 1 of 2 times"):
        endurance.check_runs([{"killed": True}], 2, tmp_path)


def texts(path):
    return [(row["src"], row["tgt"], row["hyp"]) for row in json.loads(path.read_text())]


def test_endurance_takes_real_data_first_and_all_different(tmp_path):
    place, file = tmp_path / "data.json", SAMPLE / "val.model-aware.json"
    assert endurance.write_data(place, [file], 500) == 60
    assert len(set(texts(place))) == 500
    assert texts(place)[:60] == texts(file)
    with pytest.raises(RuntimeError, match="different datapoints, not 100000"):
        endurance.write_data(place, [file], 100_000)


def test_endurance_takes_nan_for_an_empty_text(tmp_path):
    odd = [(math.nan, "a", "b"), (math.nan, "", "b"), ("c", math.nan, "b"), ("c", "d", math.nan)]
    source, place = tmp_path / "train.json", tmp_path / "data.json"
    rows = [{**dict(zip(("src", "tgt", "hyp"), row)), "task": "PG"} for row in odd]
    source.write_text(json.dumps(rows))
    assert endurance.write_data(place, [source], 2) == 2
    assert texts(place) == [("", "a", "b"), ("c", "", "b")]


def test_killing_leaves_no_child(tmp_path):
    place = tmp_path / "child"
    watched = bench.watch([sys.executable, "-c", PARENT, place], every=0.2, kill=1.5)
    assert watched.killed
    assert all(size > 0 for _, size in watched.memory)
    with contextlib.suppress(ProcessLookupError):  # if it has ended already
        child = os.pidfd_open(int(place.read_text()))
        ended, _, _ = select.select([child], [], [], 10)
        os.close(child)
        assert ended


def test_a_process_that_fails_is_an_error():
    with pytest.raises(RuntimeError, match="ended with 1:\nno"):
        bench.watch([sys.executable, "-c", "raise SystemExit('no')"])
    with pytest.raises(RuntimeError, match="no\n"):
        bench.run([sys.executable, "-c", "raise SystemExit('no')"])
