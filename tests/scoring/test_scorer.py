"""The built bundle, run as the workers of both platforms run it."""

import datetime as dt
import gzip
import json
import os
import shutil
import subprocess
import sys
import zipfile

import platform_worker
import pytest
from conftest import ROOT, gold, predictions, write_json
from platform_worker import Worker, unzip

from shroom.bundle import build, write
from shroom.core.problems import InvalidInput
from shroom.scoring.platforms import check_folder, platform_scores
from shroom.scoring.scores import score

pytestmark = pytest.mark.linux  # as the platforms' workers are


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """The files of a bundle whose gold has val and test."""
    folder = tmp_path_factory.mktemp("bundle")
    for track in ("agnostic", "aware"):
        write_json(folder / "gold" / f"val.model-{track}.v2.json", gold(20))
        write_json(folder / "gold" / f"test.model-{track}.json", gold(20, first_id=100))
    write(build(folder / "gold", dt.date(2027, 1, 15)), folder)
    return folder


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A search path on which there is numpy and nothing else that was installed."""
    return platform_worker.bare_python(tmp_path_factory.mktemp("numpy-alone"))


@pytest.fixture(params=["codabench", "codalab"])
def worker(request, tmp_path, bundle, bare_python):
    return lambda **more: Worker(tmp_path, bundle, bare_python, platform=request.param, **more)


def both(n=20, **more):
    return {f"val.model-{track}.json": predictions(n, **more) for track in ("agnostic", "aware")}


def test_a_submission_of_both_tracks(worker, tmp_path):
    run = worker().submit(both())
    done = run.run()
    assert (done.returncode, done.stderr) == (0, "")
    result = score(tmp_path / "input" / "res", tmp_path / "input" / "ref")
    assert run.scores == platform_scores(result)
    assert set(run.scores) == {"agnostic_acc", "agnostic_rho", "aware_acc", "aware_rho"}
    assert "model-agnostic" in run.page
    assert result.signature.split("|")[5] in run.page


def test_what_operating_systems_leave_behind(worker):
    junk = {
        "__MACOSX/sub/._val.model-aware.json": b"\0\5\x16\7",
        "sub/.DS_Store": b"\0",
        "metadata": b"exitCode: 0",  # from the platform's prediction step
    }
    run = worker().submit({**{f"sub/{name}": rows for name, rows in both().items()}, **junk})
    done = run.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert all(run.scores.values())


def refused(run, code):
    done = run.run()
    said = (f"[{code}]" in done.stderr, "Traceback" in done.stderr, code in run.page)
    assert (done.returncode, *said) == (1, True, False, True)
    assert [path.name for path in (run.root / "output").iterdir()] == ["detailed_results.html"]
    assert "in Python" not in done.stderr + run.page  # the program has no such options
    return done


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"val.model-aware.json": [{"label": "<script>alert(1)</script>"}] * 20}, "label-value"),
        ({"a/val.model-aware.json": predictions(20), "b/val.model-aware.json": []}, "file-twice"),
        ({"val.model-aware.json": b"[" * 50_000}, "not-json"),
        ({}, "no-file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_submission_gets_its_problems_and_no_scores(worker, files, code):
    run = worker().submit(files)
    refused(run, code)
    assert "<script>alert" not in run.page


@pytest.mark.parametrize(
    "kind", ["link", "linked folder", "linked submission", "relative link", "pipe", "folder"]
)
def test_what_is_not_a_file_is_refused(worker, kind):
    run = worker()
    res, ref = (run.root / "input" / part for part in ("res", "ref"))
    path = res / "val.model-aware.json"
    if kind == "link":
        path.symlink_to(ref / "val.model-aware.v2.json")
    elif kind == "linked folder":
        path.with_suffix("").symlink_to(ref)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        res.rmdir()
        res.symlink_to("../ref" if kind == "relative link" else ref)
    refused(run, "not-a-file")


def test_a_second_name_of_the_gold_is_refused_and_that_of_another_file_is_not(worker):
    run, folder = worker(), "deep/er"
    run.submit({f"{folder}/{name}": rows for name, rows in both().items()})
    res, ref = (run.root / "input" / part for part in ("res", "ref"))
    (run.root / "kept.json").hardlink_to(res / folder / "val.model-aware.json")
    assert run.run().returncode == 0
    shutil.rmtree(run.root / "output")
    (run.root / "output").mkdir()
    (res / folder / "val.model-aware.json").unlink()
    (res / folder / "val.model-aware.json").hardlink_to(ref / "val.model-aware.v2.json")
    refused(run, "not-a-file")


def test_a_submission_of_too_many_folders_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    check_folder(tmp_path)
    monkeypatch.setattr("shroom.scoring.platforms.MAX_ENTRIES", 2)
    with pytest.raises(InvalidInput, match="zip-members"):
        check_folder(tmp_path)


def python(bare, *arguments, **more):
    """Run Python with numpy and nothing else that was installed."""
    call = [sys.executable, "-S", *arguments]
    env = {"PYTHONPATH": f"{bare}:.", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(call, env=env, capture_output=True, text=True, **more)


#: Runs the program with little more memory than its imports take.
LITTLE_MEMORY = """
import resource, runpy, sys
program = runpy.run_path(sys.argv[1])
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (12 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.exit(program["main"](sys.argv[2:]))
"""


def test_a_submission_that_does_not_fit_into_memory_gets_a_sentence(worker):
    run = worker()
    rows = json.dumps([{"hyp": str([*range(i, i + 800)])} for i in range(5000)]).encode()
    assert len(rows) > 20_000_000
    run.submit({"val.model-aware.json.gz": gzip.compress(rows, 1)})
    paths = (run.root / part for part in ("program/score.py", "input", "output"))
    done = python(run.bare, "-c", LITTLE_MEMORY, *paths)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert ("fit into memory" in done.stderr, "too-large" in run.page) == (True, True)


def write_gold(run, rows):
    for path in (run.root / "input" / "ref").iterdir():
        write_json(path, rows)


def test_no_slice_of_few_items_is_on_the_page(worker):
    run, rows = worker(), gold(60)
    for number, row in enumerate(rows):
        row.update(task="DM" if number < 30 else "MT", model="rare" if number == 0 else "usual")
    write_gold(run, rows)
    assert run.submit(both(60)).run().returncode == 0
    # all items less the usual ones are the rare one
    found = [part in run.page for part in ("task DM", "model rare", "model usual")]
    assert found == [True, False, False]


def test_gold_that_is_invalid_shows_none_of_its_values(worker):
    run, rows = worker(), gold(20)
    rows[3].update(label="secret label", id="secret id", **{"p(Hallucination)": "secret p"})
    write_gold(run, rows)
    done = refused(run.submit(both()), "label-value")
    assert ("secret" in done.stderr + run.page, "valid gold" in run.page) == (False, True)


def test_warnings_of_the_gold_show_none_of_its_values(worker):
    run = worker()
    write_gold(run, [{**row, "id": str(i + 4321)} for i, row in enumerate(gold(20))])
    done = run.submit(both(first_id=4321)).run()
    assert (done.returncode, "[id-string]" in done.stderr) == (0, True)
    assert "4321" not in done.stderr + run.page


def test_the_program_has_three_packages_and_no_second_implementation(bundle):
    with zipfile.ZipFile(bundle / "scoring_program.zip") as archive:
        names = archive.namelist()
        assert {"score.py", "metadata", "metadata.yaml"} <= set(names)
        packages = {name.split("/")[1] for name in names if name.count("/") > 1}
        assert packages == {"core", "metrics", "scoring"}
        for name in (name for name in names if name.startswith("shroom/")):
            assert archive.read(name) == (ROOT / name).read_bytes()


def test_the_same_inputs_give_the_same_bytes(bundle):
    again = build(bundle / "gold", dt.date(2027, 1, 15))
    assert {name: (bundle / name).read_bytes() for name in again} == again


def test_a_bundle_without_gold_is_of_the_sample(tmp_path, shroom):
    code, _, err = shroom("bundle", "--no-predictions", "-o", tmp_path)
    assert (code, "the bundle uses the kit's sample as gold" in err) == (0, True)


#: Imports every module but that which needs msgspec.
IMPORTS = """
import importlib, pathlib
paths = {".".join(path.with_suffix("").parts) for path in pathlib.Path("shroom").rglob("*.py")}
for name in sorted(paths - {"shroom.scoring.quick_reader"}):
    importlib.import_module(name.replace(".__init__", ""))
print(len(paths))
"""


def test_every_module_of_the_program_imports_with_numpy_alone(bundle, bare_python, tmp_path):
    program = unzip(bundle / "scoring_program.zip", tmp_path)
    done = python(bare_python, "-c", IMPORTS, cwd=program)
    assert (done.returncode, int(done.stdout or 0) > 40) == (0, True), done.stderr
