"""`shroom predict --engine ray`: a folder of files, and a real cluster that loses workers."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import SAMPLE, gold, write_json

from shroom.core.extras import install_hint
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.detectors.registry import Recipe
from shroom.inference.run_settings import RUN
from shroom.prediction import ray_data
from shroom.prediction.ray_data import Worker, files_in, started, unfinished, write_outcomes
from shroom.prediction.submission_files import run_record
from shroom.scoring.editions.files import default

# What Ray and its own libraries warn of among themselves.
pytestmark = [
    pytest.mark.linux,  # where Ray was tried
    *(
        pytest.mark.filterwarnings(f"ignore::{kind}Warning")
        for kind in ("Deprecation", "Future", "Resource", "pytest.PytestUnraisableException")
    ),
]
LEXICAL = Recipe.of("lexical")
N = 8


def rows_of(file: int, n: int = 20) -> list[dict]:
    """Return datapoints that no other file has."""
    return [
        {**row, "hyp": f"{row['hyp']} {'word ' * (i % 5)}", "id": 1000 * file + i}
        for i, row in enumerate(gold(n))
    ]


def lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def data(tmp_path):
    """Files of each kind."""
    folder = tmp_path / "in" / "deeper"
    folder.mkdir(parents=True)
    for number in range(6):
        (folder / f"a{number}.jsonl").write_text(lines(rows_of(number)), encoding="utf-8")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(rows_of(6)).encode()))
    write_json(folder.parent / "c.json", rows_of(7))
    (folder / "empty.jsonl").write_text("")
    (folder / "notes.txt").write_text("no data")
    (folder / ".hidden.jsonl").write_text("no data")
    return folder.parent


def contents(out: Path) -> dict[str, bytes]:
    """Return the content of each file of predictions."""
    files = [path for path in out.rglob("*") if path.is_file() and path.name != "run.json"]
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def single(tmp_path, data, done) -> dict[str, bytes]:
    """Return what one process makes of each file."""
    for name, path in files_in(str(data)).items():
        done("predict", "lexical", path, "-o", tmp_path / "alone" / name)
    return contents(tmp_path / "alone")


def here(files, worker):
    """Predict files in this process."""
    for name, path in files.items():
        yield worker({"name": name, "path": str(path)})["outcome"]


def predicted(data, out, judge=here, *, resume=False, recipe=LEXICAL, notes=None) -> Problems:
    """Predict the files of a folder, and return the warnings."""
    record = started(str(out), str(data), run_record(recipe, recipe.make()), resume=resume)
    missing = unfinished(files_in(str(data)), out)
    judged = judge(dict(missing), Worker(recipe, RUN, default()))
    note = ([] if notes is None else notes).append
    return write_outcomes(judged, missing, out, record, report=lambda *_: None, note=note)


def test_each_file_is_what_one_process_makes_of_it(data, tmp_path, single):
    assert len(single) == N
    assert not predicted(data, tmp_path / "out").errors
    assert contents(tmp_path / "out") == single
    known = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (known["detector"], known["settings"]) == ("lexical", {})
    assert known["weights"].startswith("lexical ")


def test_a_folder_without_files_is_told(tmp_path):
    with pytest.raises(ShroomError, match=r"expected a folder with files named \*\.json, "):
        files_in(str(tmp_path))


def test_resuming_does_only_what_is_missing(data, tmp_path):
    out, judged = tmp_path / "out", []

    def stops(files, worker):
        yield from here(dict(list(files.items())[:4]), worker)
        raise KeyboardInterrupt

    def goes_on(files, worker):
        judged.extend(files)
        return here(files, worker)

    with pytest.raises(KeyboardInterrupt):
        predicted(data, out, stops)
    assert len(contents(out)) == 4
    (out / "deeper" / "a2.jsonl").unlink()
    predicted(data, out, goes_on, resume=True)
    assert judged == [
        "deeper/a2.jsonl",
        *(f"deeper/{name}" for name in ("a3.jsonl", "a4.jsonl", "a5.jsonl", "b.jsonl.gz")),
    ]
    predicted(data, tmp_path / "fresh")
    assert contents(out) == contents(tmp_path / "fresh")


def test_a_folder_of_another_run_is_refused(data, tmp_path):
    out = tmp_path / "out"
    predicted(data, out)
    before = contents(out)

    def refused(said, *, resume=True, recipe=LEXICAL):
        with pytest.raises(ShroomError, match=said):
            predicted(data, out, resume=resume, recipe=recipe)

    refused("already contains the results of a run; add --resume to continue", resume=False)
    other = replace(LEXICAL, settings={"threshold": 0.25})
    refused("belongs to a run with different settings; choose", recipe=other)
    refused("with different recipe, detector, weights;", recipe=Recipe.of("unigram"))
    (out / "run.json").unlink()
    refused(r"out is not empty and has no run\.json; choose another folder")
    assert contents(out) == before


def test_wrong_data_do_not_hold_up_the_others(data, tmp_path):
    out = tmp_path / "out"
    wrong = data / "deeper" / "a2.jsonl"
    good = wrong.read_bytes()
    wrong.write_text("{\n{\n")
    with pytest.raises(InvalidInput) as error:
        predicted(data, out)
    assert str(error.value).count(f"{wrong}: expected JSON") == 2
    assert len(contents(out)) == N - 1
    wrong.write_bytes(good)
    predicted(data, out, resume=True)
    assert len(contents(out)) == N


def test_items_of_the_fit_are_marked_also_by_a_run_that_goes_on(tmp_path, in_json):
    def judge(files, worker):
        yield from (replace(it, in_sample=7) for it in here(files, worker))

    predicted(SAMPLE, tmp_path / "out", judge)
    (tmp_path / "out" / "val.model-aware.json").unlink()
    predicted(SAMPLE, tmp_path / "out", resume=True)
    results = in_json("score", tmp_path / "out", SAMPLE, "--no-ci")["results"]
    assert [result["in_sample"] for result in results] == [7, 7]


# --- a real cluster


@pytest.fixture(scope="module")
def cluster():
    """A Ray cluster of two processors on this machine; its address."""
    import warnings

    folder = tempfile.mkdtemp(prefix="r", dir="/tmp")  # sockets have paths of 107 bytes
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # With a niceness of 15, which is Ray's default, other tests leave its workers no time.
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's spelling
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        import ray.data

        quiet = {"include_dashboard": False, "log_to_driver": False}
        ray.init(address="local", num_cpus=2, _temp_dir=folder, **quiet)
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


class Deadly:
    """Settings that kill the workers that read them, up to ``most`` of them."""

    def __init__(self, deaths, most):
        self.deaths, self.most = deaths, most

    def keys(self):
        with Path(self.deaths).open("a+", encoding="utf-8") as stream:
            stream.write(f"{os.getpid()}\n")
            stream.seek(0)
            if len(stream.readlines()) <= self.most:
                os.kill(os.getpid(), signal.SIGKILL)
        return []


@pytest.mark.parametrize("most", [1, 99])
def test_a_killed_worker_costs_nothing_and_a_deadly_file_is_given_up(
    cluster, most, data, tmp_path, single, monkeypatch
):
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(ray_data, "RETRIES", 1)
    out, deaths = tmp_path / "out", tmp_path / "deaths"

    def judge(files, worker):
        recipe = Recipe("lexical", "lexical", Deadly(str(deaths), most))
        some = files if most == 1 else {"c.json": files.pop("c.json")}
        yield from ray_data.outcomes(some, recipe, RUN, default())
        yield from here({} if most == 1 else files, worker)

    if most == 1:
        predicted(data, out, judge)
        assert contents(out) == single
    else:
        with pytest.raises(ShroomError, match=r"1 of 8 files failed \(the first is c\.json\): "):
            predicted(data, out, judge)
        assert len(contents(out)) == N - 1
    pids = deaths.read_text().split()
    assert len(set(pids)) >= 2
    assert str(os.getpid()) not in pids


# --- the command line


def test_shrooms_own_files_become_a_submission(cluster, tmp_path, shroom):
    out, alone = tmp_path / "out", tmp_path / "alone"
    given = ("predict", "lexical", SAMPLE, "--engine", "ray", "-o", out)
    code, text, err = shroom(*given)
    assert (code, text) == (0, ""), err
    assert err.endswith(f"wrote predictions for 2 files to {out}\n")
    assert shroom("predict", "lexical", SAMPLE, "-o", alone)[0] == 0
    assert contents(out) == contents(alone)
    assert shroom("check", out, "--gold", SAMPLE)[0] == 0
    assert "finished files: 2 of 2" in shroom(*given, "--resume")[2]


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ("--address auto --engine local -o {tmp}/out", 2, "require --engine ray"),
        ("--workers 2 --engine local -o {tmp}/out", 2, "require --engine ray"),
        ("-o {tmp}/out --set model={tmp}/x", 1, "is not a model of the detector lexical"),
        ("-o {tmp}/p.json", 2, "--engine ray writes a folder"),
        ("", 2, "missing option '-o'"),
        ("-o {data}", 1, "is inside the data folder; choose another folder"),
        ("-o {data}/out", 1, "is inside the data folder; choose another folder"),
        ("-o {tmp}/out --dry-run", 2, "cannot be combined with --engine ray"),
        ("-o {tmp}/out --max-cost 1", 2, "cannot be combined with --engine ray"),
        ("-o {tmp}/out --split val", 2, "cannot be combined with --engine ray"),
        ("-o {tmp}/out --device cuda:1", 2, "accepts --device cpu or cuda"),
    ],
)
def test_what_ray_cannot_do_is_told_at_once(given, code, said, data, tmp_path, refused):
    given = [word.format(tmp=tmp_path, data=data) for word in given.split()]
    assert said in refused("predict", "lexical", data, "--engine", "ray", *given, code=code)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no ray"])
def test_an_address_where_nothing_listens_is_told(address, data, tmp_path, shroom, monkeypatch):
    said = f"shroom: {address}: no Ray cluster is reachable: "
    if address == "no ray":
        monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
        said = f"shroom: this command requires ray: {install_hint('ray')}\n"
    else:
        monkeypatch.setattr("ray.is_initialized", lambda: False)
        monkeypatch.setattr("ray.shutdown", lambda: None)  # not that of the other tests
    given = ["--engine", "ray", "--address", address, "-o", tmp_path / "out"]
    code, _, err = shroom("predict", "lexical", data, *given)
    assert (code, err.startswith(said)) == (1, True)
    assert not (tmp_path / "out").exists()
