"""Datapoints as a dataset of Hugging Face, back again, and out of its caches."""

import json
import re
import sys

import datasets
import pytest
from conftest import SAMPLE
from hypothesis import given, settings
from hypothesis import strategies as st
from test_felm import row as felm
from test_mushroom2025 import row as answer
from tqdm import tqdm

from shroom.core.datapoint import TASKS, Datapoint, Label, Reference, Task
from shroom.core.extras import install_hint
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.datasets.conversion.hub_caches import cached_files, read_cached
from shroom.datasets.conversion.huggingface import COLUMNS, from_hf, to_hf
from shroom.datasets.loading import load
from shroom.scoring.datapoint_files import DataFile, read_files
from shroom.scoring.table import P

datasets.disable_progress_bars()
# Its thread would outlive these tests, and large files are decoded in one piece beside threads.
tqdm.monitor_interval = 0

POINTS = st.builds(
    Datapoint,
    hyp=st.text(),
    src=st.text(),
    tgt=st.text(),
    task=st.sampled_from(list(TASKS.values())),
    ref=st.none() | st.sampled_from(Reference),
    model=st.text(),
    id=st.none() | st.integers(-(2**63), 2**63 - 1),
    labels=st.lists(st.sampled_from(Label)).map(tuple),
    label=st.none() | st.sampled_from(Label),
    p=st.none() | st.floats(0, 1),
)
ONE = Datapoint("A cat.", "Eine Katze.", "One cat.", Task.MT, label=Label.NOT_HALLUCINATION, p=0.2)


@settings(max_examples=50)
@given(st.lists(POINTS, max_size=5))
def test_every_field_comes_back(points):
    data = to_hf(points)
    assert data.column_names == list(COLUMNS)
    assert data.num_rows == len(points)
    assert from_hf(data) == points


def test_a_file_keeps_its_rows(tmp_path):
    (file,) = read_files(SAMPLE / "val.model-aware.json")
    assert isinstance(file, DataFile)
    data = to_hf(file)
    data.save_to_disk(tmp_path / "saved")
    assert from_hf(datasets.load_from_disk(tmp_path / "saved")) == file.datapoints


def test_half_a_surrogate_pair_gets_a_sentence():
    with pytest.raises(ShroomError, match=r'half of a surrogate pair in "cat \\ud83d"'):
        to_hf([Datapoint("cat \ud83d", "", "a", Task.DM)])


# the copies on the hub


def rows(**changes):
    row = {"hyp": "A cat.", "src": "Eine Katze.", "tgt": "One cat.", "task": "MT"}
    return datasets.Dataset.from_list([{**row, "label": "Not Hallucination", P: 0.2, **changes}])


@pytest.mark.parametrize("p", ["p_hallucination", "P(hallucination)", "pHallucination"])
def test_p_by_another_spelling(p):
    assert from_hf(rows().rename_column(P, p)) == [ONE]


def test_columns_in_capitals_and_others_beside_them():
    data = rows(more=1).rename_columns({"hyp": "Hyp", "label": "LABEL"})
    assert from_hf(data) == [ONE]


def test_classes_are_their_names():
    classes = datasets.ClassLabel(names=["Not Hallucination", "Hallucination"])
    tasks = datasets.ClassLabel(names=["MT", "DM"])
    data = rows(labels=["Hallucination"]).cast_column("label", classes).cast_column("task", tasks)
    data = data.cast_column("labels", datasets.List(classes))
    (point,) = from_hf(data)
    assert (point.label, point.task) == (Label.NOT_HALLUCINATION, Task.MT)
    assert point.labels == (Label.HALLUCINATION,)
    unlabelled = rows(label=None).cast_column("label", classes)
    assert from_hf(unlabelled)[0].label is None


def test_ids_may_be_strings_and_missing_values_none():
    (point,) = from_hf(rows(id="17", ref=None, model=None, labels=None))
    assert (point.id, point.ref, point.model, point.labels) == (17, None, "", ())


def test_splits_may_stand_for_the_task():
    plain = rows().remove_columns("task").to_list()
    splits = datasets.DatasetDict(
        {
            name: datasets.Dataset.from_list(plain, split=datasets.NamedSplit(name))
            for name in ("MT", "PG")
        }
    )
    assert [point.task for point in from_hf(splits)] == [Task.MT, Task.PG]
    with pytest.raises(InvalidInput, match='the key "task"'):
        from_hf(rows().remove_columns("task"))


def test_errors_have_their_place():
    data = datasets.Dataset.from_list(
        [rows()[0], {**rows()[0], P: 1.5}, {**rows()[0], "task": "X"}]
    )
    problems = Problems()
    with pytest.raises(InvalidInput):
        from_hf(data, problems)
    assert [(each.code, each.index) for each in problems] == [("p-range", 1), ("task-value", 2)]


def test_a_data_set_loads_as_its_converted_file_does(shroom, tmp_path, monkeypatch):
    (tmp_path / "all.jsonl").write_text(lines(felm(0), felm(1)))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    converted = tmp_path / "felm.json"
    assert shroom("datasets", "convert", "felm", tmp_path / "all.jsonl", "-o", converted)[0] == 0
    theirs = datasets.load_dataset("json", data_files=str(converted), split="train")
    ours = load("felm", tmp_path / "all.jsonl")
    assert theirs["hyp"][:] == ours["hyp"][:] != []
    assert from_hf(theirs.remove_columns("of")) == from_hf(ours)
    with pytest.raises(ShroomError, match="queries has no datapoints"):
        load("queries", tmp_path / "all.jsonl")


# the caches


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """Point to empty caches; return the folders of the hub's and of the library's."""
    from huggingface_hub import constants

    hub, prepared = tmp_path / "hub", tmp_path / "datasets"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(hub))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", prepared)

    def refuse(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    return hub, prepared


def in_hub(hub, name, files, revision="a" * 40, main=True):
    """Lay files out as the hub's cache does: blobs, and a snapshot that links to them."""
    folder = hub / f"datasets--{name.replace('/', '--')}"
    for path, content in files.items():
        blob = folder / "blobs" / f"{abs(hash((revision, path))):040x}"
        blob.parent.mkdir(parents=True, exist_ok=True)
        blob.write_bytes(content if isinstance(content, bytes) else content.encode())
        link = folder / "snapshots" / revision / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blob)
    if main:
        (folder / "refs").mkdir(exist_ok=True)
        (folder / "refs" / "main").write_text(revision)
    return folder


def lines(*given_rows):
    return "".join(json.dumps(row) + "\n" for row in given_rows)


def test_an_empty_cache_has_nothing(caches):
    assert cached_files("felm") == []
    assert read_cached("felm") is None
    assert cached_files("queries") == []
    with pytest.raises(ShroomError, match="did you mean 'felm'"):
        read_cached("flem")


def test_files_of_the_hub_are_read_as_they_stand(caches, shroom, tmp_path, monkeypatch):
    files = {"all.jsonl": lines(felm(0), felm(1)), "README.md": "felm", "dataset_infos.json": "{}"}
    in_hub(caches[0], "hkust-nlp/felm", files)
    found = read_cached("felm")
    assert [record.index for record in found.records] == ["0", "1"]
    assert [path.name for path in cached_files("hkust-nlp/felm")] == ["all.jsonl"]
    for variable in ("SHROOM_DATA", "SHROOM_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    out = tmp_path / "felm.json"
    assert shroom("datasets", "convert", "felm", "-o", out)[0] == 0
    assert len(json.loads(out.read_text())) == 4


def test_tables_of_the_hub_are_read_as_rows(caches, tmp_path):
    for task in ("DM", "PG"):
        data = rows().remove_columns("task")
        data.to_parquet(tmp_path / f"{task}.parquet")
        content = (tmp_path / f"{task}.parquet").read_bytes()
        in_hub(caches[0], "pminervini/shroom", {f"data/{task}-00000-of-00001.parquet": content})
    found = read_cached("semeval2024")
    assert [(point.task, point.p) for point in found.records] == [(Task.DM, 0.2), (Task.PG, 0.2)]


def test_what_the_library_has_prepared_is_read(caches):
    marked = {"soft_labels": [{"start": 0, "end": 3, "prob": 1.0}], "hard_labels": [[0, 3]]}
    annotations = [{"annotator_id": "ann", "labels": [[0, 3]]}]
    given_rows = [answer(i, annotations=annotations, **marked) for i in range(2)]
    kept = caches[1] / "Helsinki-NLP___mu-shroom" / "de" / "0.0.0"
    for hash_, count in (("old", 1), ("new", 2)):
        data = datasets.Dataset.from_list(given_rows[:count])
        data.save_to_disk(kept / hash_)
    (kept / "half.incomplete").mkdir()
    (kept / "half.incomplete" / "dataset_info.json").write_text("{}")
    found = read_cached("mushroom2025")
    assert [record.id for record in found.records] == ["val-en-0", "val-en-1"]
    assert found.records[0].hard == ((0, 3),)
    assert found.records[0].annotations == {"ann": ((0, 3),)}


def test_tables_of_one_name_in_two_configurations_are_both_read(caches, tmp_path):
    marked = {"soft_labels": [{"start": 0, "end": 3, "prob": 1.0}], "hard_labels": [[0, 3]]}
    for place, lang in enumerate(("de", "en")):
        data = datasets.Dataset.from_list([answer(place, **marked)])
        data.to_parquet(tmp_path / "x.parquet")
        content = (tmp_path / "x.parquet").read_bytes()
        in_hub(caches[0], "me/parquet", {f"{lang}/val-00000-of-00001.parquet": content})
        data.save_to_disk(caches[1] / "me___arrow" / lang / "0.0.0" / "x")
    for name in ("me/parquet", "me/arrow"):
        found = read_cached("mushroom2025", name)
        assert [record.id for record in found.records] == ["val-en-0", "val-en-1"]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_table_that_is_damaged_gets_a_sentence(caches, ending):
    in_hub(caches[0], "hkust-nlp/felm", {f"data/x-0.{ending}": b"PAR1 is not enough"})
    with pytest.raises(ShroomError, match=rf"x-0\.{ending}: cannot be read as a table"):
        read_cached("felm")


def test_without_the_library_the_extra_is_named(monkeypatch, caches):
    table = {"data/x-0.parquet": b"PAR1"}
    in_hub(caches[0], "hkust-nlp/felm", table)
    monkeypatch.setitem(sys.modules, "datasets", None)
    for call in (lambda: to_hf([ONE]), lambda: read_cached("felm")):
        with pytest.raises(ShroomError, match=re.escape(install_hint("hf"))):
            call()
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert cached_files("felm") == []
