"""`shroom predict --engine ray`: shards, their manifest, and a real cluster that loses workers."""

from __future__ import annotations

import gzip
import hashlib
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
from pyarrow import Table, parquet

from shroom.core.extras import install_hint
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.detectors.registry import Recipe
from shroom.inference.run_settings import RUN
from shroom.prediction.ray.cluster import outcomes
from shroom.prediction.ray.manifest import MANIFEST, Manifest, run_shards
from shroom.prediction.ray.shards import Outcome, Place, Worker, read, shards_of

# What Ray and its own libraries warn of among themselves.
pytestmark = [
    pytest.mark.linux,  # where Ray was tried
    *(
        pytest.mark.filterwarnings(f"ignore::{kind}Warning")
        for kind in ("Deprecation", "Future", "Resource", "pytest.PytestUnraisableException")
    ),
]
LEXICAL = Recipe.of("lexical")
SPLITS = ("val", "test")


def rows_of(shard: int, n: int = 20) -> list[dict]:
    """Return datapoints that no other shard has."""
    return [
        {**row, "hyp": f"{row['hyp']} {'word ' * (i % 5)}", "id": 1000 * shard + i}
        for i, row in enumerate(gold(n))
    ]


def lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def data(tmp_path):
    """Shards of each kind, in order of their names."""
    folder = tmp_path / "in" / "deeper"
    folder.mkdir(parents=True)
    for shard in range(6):
        (folder / f"a{shard}.jsonl").write_text(lines(rows_of(shard)), encoding="utf-8")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(lines(rows_of(6)).encode()))
    write_json(folder / "c.json", rows_of(7))
    parquet.write_table(Table.from_pylist(rows_of(8)), folder / "d.parquet")
    (folder / "notes.txt").write_text("no shard")
    (folder / ".hidden.jsonl").write_text("no shard")
    return folder.parent


@pytest.fixture
def single(tmp_path, done) -> bytes:
    """What one process makes of all shards, put together in one file."""
    whole, out = tmp_path / "whole.jsonl", tmp_path / "whole.out.jsonl"
    whole.write_text("".join(lines(rows_of(shard)) for shard in range(9)), encoding="utf-8")
    done("predict", "lexical", whole, "-o", out)
    return out.read_bytes()


def union(out: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(out.glob("part-*")))


def manifest_of(out: Path) -> dict:
    return json.loads((out / MANIFEST).read_text(), parse_constant=pytest.fail)


def here(shards, worker):
    """Judge shards in this process."""
    for shard in shards:
        yield worker.judge(shard)


def predicted(data, out, judge=here, *, resume=False, recipe=LEXICAL, notes=None) -> Problems:
    """Predict the shards of a folder, and return the warnings."""
    shards = shards_of(str(data), recipe.data)
    manifest = Manifest(Place(str(out)), shards, recipe, RUN, resume=resume)
    worker = Worker(recipe)
    note = ([] if notes is None else notes).append
    return run_shards(manifest, judge(manifest.missing, worker), report=lambda *_: None, note=note)


def points_of(where) -> list:
    """Return the datapoints of each shard."""
    found = []
    for shard in shards_of(str(where), SPLITS):
        problems = Problems()
        found.append(read(shard, problems).datapoints)
        assert not problems.errors
    return found


# --- shards


def test_the_shards_of_a_folder(data):
    shards = shards_of(str(data), SPLITS)
    names = [f"a{number}.jsonl" for number in range(6)]
    assert [shard.base for shard in shards] == [*names, "b.jsonl.gz", "c.json", "d.parquet"]
    assert [shard.number for shard in shards] == list(range(9))
    assert [Path(shard.input).stat().st_size for shard in shards] == [s.size for s in shards]
    (data / "deeper" / "a0.jsonl").unlink()
    outcome = Worker(LEXICAL).judge(shards[0])
    assert outcome.problems.codes == {"file-unreadable"}


def test_all_forms_say_the_same(tmp_path):
    """Parquet has every column in every row; null is what is absent."""
    rows = [
        {"hyp": "a b", "src": "a b c", "tgt": "", "task": "PG"},
        {"hyp": "é", "src": "x", "tgt": "y", "task": "MT", "ref": "tgt", "model": "m"},
        {"hyp": "", "src": "x", "tgt": "y", "task": "DM", "p(Hallucination)": 0.5},
    ]
    keys = dict.fromkeys(key for row in rows for key in row)
    table = Table.from_pylist([{key: row.get(key) for key in keys} for row in rows])
    parquet.write_table(table, tmp_path / "a.parquet")
    write_json(tmp_path / "b.json", rows)
    (tmp_path / "c.jsonl").write_text(lines(rows))
    first, *others = points_of(tmp_path)
    assert len(first) == 3
    assert all(points == first for points in others)


def test_of_shrooms_own_files_the_latest_are_taken(tmp_path):
    for name in ("val.model-aware.json", "val.model-aware.v2.json", "train.model-aware.json"):
        write_json(tmp_path / name, gold(3))
    (shard,) = shards_of(str(tmp_path), SPLITS)
    assert (shard.base, shard.submission) == ("val.model-aware.v2.json", "val.model-aware.json")
    with pytest.raises(ShroomError, match=r"but none named trial\.model-"):
        shards_of(str(tmp_path), ("trial",))


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("{tmp}/nowhere", "no such file or folder"),
        ("{tmp}/empty", "contains no file named *.json, *.jsonl, "),
        ("{tmp}/a.zip", "expected a folder, or a file named"),
        ("memory://nowhere", "no such file or folder"),
        ("nothing://bucket/a", "no file system can read this address"),
    ],
)
def test_what_is_no_shard_is_told(where, said, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(ShroomError) as error:
        shards_of(where.format(tmp=tmp_path), SPLITS)
    assert said in str(error.value)


NO_ROWS = b"no rows"


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.jsonl", b"{", "not-json"),
        ("a.json", b"{}", "not-a-list"),
        ("a.jsonl.gz", b"\x1f\x8b\x08\x00", "gzip-broken"),
        ("a.parquet", b"PAR1", "file-unreadable"),
        ("a.jsonl", b'{"hyp": "x", "src": "", "tgt": " ", "task": "PG"}', "premise-missing"),
        ("a.jsonl", b'{"hyp": "x", "src": "s", "tgt": "", "task": "XX"}', "task-value"),
        ("a.parquet", NO_ROWS, "empty"),
        ("a.jsonl", b'{"id": 1, "label": "Hallucination"}', "other-form"),
        ("a.jsonl", b"", "empty"),
        ("val.model-aware.jsonl", b"", "empty"),
    ],
)
def test_wrong_data_have_their_problems(name, content, code, tmp_path):
    """An empty file is wrong if it was named itself, or would be scored."""
    path = tmp_path / name
    path.write_bytes(content)
    if content is NO_ROWS:
        parquet.write_table(Table.from_pydict({"hyp": []}), path)
    data = str(tmp_path if name.startswith("val") else path)
    (shard,) = shards_of(data, SPLITS)
    outcome = Worker(LEXICAL).judge(shard)
    assert code in outcome.problems.codes
    assert outcome.problems.errors
    assert (outcome.lines, outcome.stop) == (b"", "")


# --- where they lie


def test_a_store_is_read_and_written_like_a_folder(data, tmp_path):
    """In memory, through fsspec: what object stores go through that pyarrow does not know."""
    store, out = Place("memory://bucket/shards"), Place("memory://bucket/out")
    for path in (data / "deeper").glob("*.*"):
        store.write(path.name, path.read_bytes())
    predicted(store.address, out.address)
    predicted(data, tmp_path / "out")
    parts = [out.read(name) for name in out.files() if name != MANIFEST]
    assert b"".join(parts) == union(tmp_path / "out")
    known = json.loads(out.read(MANIFEST))
    assert known["shards"][3]["input"] == "memory://bucket/shards/a3.jsonl"
    predicted(store.address, out.address, lambda missing, _: here(missing, None), resume=True)


@pytest.mark.parametrize("name", ["a.jsonl", "a b.jsonl", "é%20?#+.jsonl", "a:b.jsonl"])
def test_a_name_is_read_wherever_it_lies(name, tmp_path):
    (tmp_path / name).write_text(lines(gold(2)))
    Place("memory://names").write(name, lines(gold(2)).encode())
    for where in (str(tmp_path), f"file://{tmp_path}", "memory://names"):
        shards = {shard.base: shard for shard in shards_of(where, SPLITS)}
        assert shards[name].input.endswith(f"/{name}")
        assert len(points_of(where)[shards[name].number]) == 2
    place = Place("memory://bucket/in/")
    place.address = "s3://bucket/in/?region=eu-west-1"  # which may have a query
    assert place.of(name) == f"s3://bucket/in/{name}?region=eu-west-1"
    assert place.of("") == "s3://bucket/in?region=eu-west-1"


# --- the manifest


def test_each_part_is_what_one_process_makes_of_the_shard(data, tmp_path, single):
    """Shards without rows have parts without predictions."""
    (data / "f.jsonl").write_text("")
    write_json(data / "g.json", [])
    parquet.write_table(Table.from_pylist(rows_of(8)).slice(0, 0), data / "h.parquet")
    out, notes = tmp_path / "out", []
    assert not predicted(data, out, notes=notes).errors
    said = "no datapoints, so the predictions for this shard are empty"
    assert sum(said in note for note in notes) == 3
    assert union(out) == single
    known = manifest_of(out)
    assert (known["detector"], known["settings"]) == ("lexical", {})
    assert known["weights"].startswith("lexical ")
    assert [row["rows"] for row in known["shards"]] == [20] * 9 + [0] * 3
    for row in known["shards"]:
        content = (out / row["output"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == row["sha256"]
        assert len(content) == row["bytes"]


@pytest.mark.parametrize("killed", [False, True])
def test_resuming_does_only_what_is_missing(killed, data, tmp_path, monkeypatch):
    """A killed run does not write its manifest at the end, and so repeats what it lacks."""
    out, judged = tmp_path / "out", []

    def stops(shards, worker):
        yield from here(shards[:4], worker)
        raise KeyboardInterrupt

    def goes_on(shards, worker):
        judged.extend(shard.number for shard in shards)
        return here(shards, worker)

    if killed:
        monkeypatch.setattr(Manifest, "close", lambda _: None)
        monkeypatch.setattr("shroom.prediction.ray.manifest._SAVES", 1)
    with pytest.raises(KeyboardInterrupt):
        predicted(data, out, stops)
    monkeypatch.undo()
    assert len(list(out.glob("part-*"))) == 4
    (out / "part-00001.jsonl").write_text("cut off")  # as by a full disk
    (out / "part-00002.jsonl").unlink()
    (data / "deeper" / "a3.jsonl").write_text(lines(rows_of(33)))  # as if mended
    predicted(data, out, goes_on, resume=True)
    assert judged == [0, 1, 2, 3, 4, 5, 6, 7, 8][not killed :]
    predicted(data, tmp_path / "fresh")
    assert union(out) == union(tmp_path / "fresh")


def test_a_folder_of_another_run_is_refused(data, tmp_path, monkeypatch):
    out = tmp_path / "out"
    predicted(data, out)
    before = union(out), manifest_of(out)

    def refused(said, *, resume=True, recipe=LEXICAL):
        with pytest.raises(ShroomError, match=said):
            predicted(data, out, resume=resume, recipe=recipe)

    refused("already contains the results of a run; add --resume to continue", resume=False)
    other = Recipe("lexical", "lexical", {"threshold": 0.25})
    refused(r"belongs to a run with settings \{\}, but this run has", recipe=other)
    refused('belongs to a run with detector "lexical", but this', recipe=Recipe.of("unigram"))
    (data / "a.jsonl").write_text(lines(gold(2)))
    refused("belongs to a run that used different files")
    (data / "a.jsonl").unlink()
    monkeypatch.setattr("shroom.prediction.ray.manifest.__version__", "0.0.0")
    refused("belongs to a run with kit ")
    assert (union(out), manifest_of(out)) == before


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"format": 1}', "\x00", "mine"])
def test_what_is_no_manifest_or_a_part_of_something_else_is_told(text, data, tmp_path):
    name, said = MANIFEST, "is not a manifest: "
    if text == "mine":
        name, said = "part-00003.jsonl", "contains part-00003.jsonl but no manifest.json"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text(text)
    with pytest.raises(ShroomError, match=said):
        predicted(data, tmp_path / "out", resume=True)
    assert (tmp_path / "out" / name).read_text() == text


@pytest.mark.parametrize(
    ("other", "said"),
    [({"weights": "lexical b"}, "weights mismatch"), ({"version": "0.0.0"}, "kit mismatch")],
)
def test_workers_that_differ_are_refused(other, said, data, tmp_path):
    def judge(*_):
        yield Outcome(0, b"{}\n", weights="lexical a")
        yield Outcome(1, b"{}\n", **other)

    with pytest.raises(ShroomError, match=said):
        predicted(data, tmp_path / "out", judge)
    assert union(tmp_path / "out") == b"{}\n"


def test_wrong_data_do_not_hold_up_the_others(data, tmp_path):
    out, notes = tmp_path / "out", []
    wrong = data / "deeper" / "a2.jsonl"
    good = wrong.read_bytes()
    wrong.write_text("{\n{\n")
    with pytest.raises(InvalidInput) as error:
        predicted(data, out, notes=notes)
    assert str(error.value).count(f"{wrong}: expected JSON") == 2
    assert notes == [
        ("done: 8 of 9 shards; correct the other shards, then run the command again with --resume")
    ]
    assert len(list(out.glob("part-*"))) == 8
    wrong.write_bytes(good)
    predicted(data, out, resume=True)
    assert union(out).count(b"\n") == 180


def test_notes_are_told_and_the_rest_counted(data, tmp_path, notes):
    def judge(shards, worker):
        yield from (replace(it, notes=("a", "b", "c")) for it in here(shards, worker))

    predicted(data, tmp_path / "out", judge, notes=notes)
    assert len(notes) == 21
    assert notes[3].endswith("a1.jsonl: a")
    assert notes[-1] == "and 7 more notes"


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
def test_a_killed_worker_costs_nothing_and_a_deadly_shard_is_given_up(
    cluster, most, data, tmp_path, single
):
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    out, deaths = tmp_path / "out", tmp_path / "deaths"

    def judge(shards, worker):
        recipe = Recipe("lexical", "lexical", Deadly(str(deaths), most))
        some = shards if most == 1 else shards[:1]
        yield from outcomes(some, recipe, retries=1)
        yield from here(shards[len(some) :], worker)

    if most == 1:
        predicted(data, out, judge)
        assert union(out) == single
        assert [row["rows"] for row in manifest_of(out)["shards"]] == [20] * 9
    else:
        with pytest.raises(ShroomError, match=r"1 of 9 shards failed \(the first is .*a0.*\): "):
            predicted(data, out, judge)
        assert len(list(out.glob("part-*"))) == 8
    pids = deaths.read_text().split()
    assert len(set(pids)) >= 2
    assert str(os.getpid()) not in pids


# --- the command line


def test_shrooms_own_files_become_a_submission(cluster, tmp_path, shroom):
    out, alone = tmp_path / "out", tmp_path / "alone"
    code, text, err = shroom("predict", "lexical", SAMPLE, "--engine", "ray", "-o", out)
    assert (code, text) == (0, ""), err
    assert err.endswith(f"wrote the submission to {out}/submission\n")
    assert shroom("predict", "lexical", SAMPLE, "-o", alone)[0] == 0
    names = ["val.model-agnostic.json", "val.model-aware.json"]
    assert sorted(path.name for path in (out / "submission").iterdir()) == names
    for name in names:
        assert (out / "submission" / name).read_bytes() == (alone / name).read_bytes()
    assert shroom("check", out / "submission", "--gold", SAMPLE)[0] == 0


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
        ("-o {tmp}/out --device cuda:1", 2, "accepts --device cpu or cuda"),
        ("-o nothing://x", 1, "no file system can read this address"),
    ],
)
def test_what_ray_cannot_do_is_told_at_once(given, code, said, data, tmp_path, refused):
    given = [word.format(tmp=tmp_path, data=data) for word in given.split()]
    assert said in refused("predict", "lexical", data, "--engine", "ray", *given, code=code)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "no ray"])
def test_an_address_where_nothing_listens_is_told(address, data, tmp_path, shroom, monkeypatch):
    said = f"shroom: {address}: no Ray cluster is reachable: "
    if address == "no ray":
        monkeypatch.setitem(sys.modules, "ray", None)
        said = f"shroom: --engine ray needs Ray: {install_hint('ray')}\n"
    else:
        monkeypatch.setattr("ray.is_initialized", lambda: False)
        monkeypatch.setattr("ray.shutdown", lambda: None)  # not that of the other tests
    given = ["--engine", "ray", "--address", address, "-o", tmp_path / "out"]
    code, _, err = shroom("predict", "lexical", data, *given)
    assert (code, err.startswith(said)) == (1, True)
    assert not (tmp_path / "out").exists()
