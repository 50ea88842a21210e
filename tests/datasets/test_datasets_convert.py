"""Data sets in SHROOM's form."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import SAMPLE, write_lines
from conftest import felm_row as felm
from test_dreamcatcher import GENERATED, LABELLED, RANKED
from test_factual_consistency import row as response
from test_factual_consistency import save
from test_halueval import QUESTION, REPLY
from test_mushroom2025 import row as answer
from test_verifiability import pair_row, response_row

from shroom.core.problems import Problems
from shroom.datasets.felm_scores import read_predictions
from shroom.datasets.registry import data_set
from shroom.scoring.rows import P

#: Native rows of each data set, judged and unjudged.
NATIVE = {
    "felm": [felm(i, (True, True, i != 1)) for i in range(3)] + [felm(3), felm(4)],
    "mushroom2025": [
        answer(0, soft_labels="absent", hard_labels="absent"),
        answer(1),
        answer(2, hard_labels="absent", annotations="absent"),
        answer(3),
        answer(4, soft_labels="absent", hard_labels="absent"),
        answer(5, soft_labels="absent", hard_labels="absent"),
    ],
    "verifiability": [pair_row(), response_row(), {**pair_row(), "id": "2", "references": []}],
    "factual_consistency": [
        response(Hallucination="", Verifiable="n", **{"Avg Factual Correctness": ""}),
        response(),
        response(Hallucination="Yes", **{"Avg Factual Correctness": "0.75"}),
    ],
    "dreamcatcher": [RANKED, GENERATED, LABELLED],
    "halueval": [QUESTION, REPLY],
}


def write_native(path: Path, name: str, rows: list[dict]) -> Path:
    return save(path, rows) if data_set(name).ending == ".csv" else write_lines(path, rows)


def read_native(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def records_of(name, *paths):
    return data_set(name).read(*paths, problems=Problems()).records


@pytest.fixture
def native(tmp_path):
    """Write native rows, of the made-up ones by default; return the file."""

    def make(name, rows=None, stem="rows"):
        path = tmp_path / "in" / (stem + data_set(name).ending)
        path.parent.mkdir(exist_ok=True)
        return write_native(path, name, rows or NATIVE[name])

    return make


@pytest.fixture
def converted(tmp_path, native, done):
    """Convert made-up rows of a data set; return the file and its rows."""

    def make(name, rows=None, *options):
        out = tmp_path / f"{name}.json"
        done("datasets", "convert", name, native(name, rows), "-o", out, *options)
        return out, json.loads(out.read_text(encoding="utf-8"))

    return make


# there


@pytest.mark.parametrize("name", NATIVE)
def test_the_rows_are_the_datapoints_of_the_view_with_their_places(name, native, converted):
    source, (_, rows) = data_set(name), converted(name)
    points = source.view().datapoints(records_of(name, native(name)))
    assert [(row["hyp"], row["src"], row["tgt"], row[P]) for row in rows] == [
        (point.hyp, point.src, point.tgt, point.p) for point in points
    ]
    assert all(row["task"] == "TS" and row["ref"] == "src" for row in rows)
    assert not {"id", "native"} & {key for row in rows for key in row}
    places = [(row["of"]["record"], row["of"]["part"]) for row in rows]
    assert places == sorted(set(places))
    view = next(iter(source.views))
    assert {(row["of"]["data_set"], row["of"]["view"]) for row in rows} == {(name, view)}


@pytest.mark.parametrize("name", NATIVE)
def test_every_verb_takes_what_was_converted(name, converted, shroom, in_json, tmp_path):
    path, rows = converted(name)
    made = tmp_path / "predicted.json"
    for row in rows:
        row["hyp"] = row["hyp"] or "."  # which the verb would only remark upon
        row["src"] = row["src"] or "."  # without which there is nothing to hold it against
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert shroom("predict", "lexical", path, "-o", made)[0] == 0
    assert shroom("check", made, "--data", path)[0] == 0
    (result,) = in_json("score", made, path, "--no-ci")["results"]
    assert result["n"] == len(rows)
    assert shroom("score", path, path, "--no-ci")[0] == 0
    corrupt = ("datasets", "corrupt", path, "-o", tmp_path / "corrupted.json")
    code, _, told = shroom(*corrupt, "--assume-faithful")
    assert code == 0 or "can be corrupted" in told or "is known to be faithful" in told


WHY = "without a label or a premise"


@pytest.mark.parametrize(
    ("name", "rows", "code", "said"),
    [
        ("mushroom2025", None, 0, f"rows: left out 3 datapoints {WHY}"),
        ("verifiability", None, 0, f"rows: left out 2 datapoints {WHY}"),
        ("factual_consistency", None, 0, f"rows: left out 1 datapoint {WHY}"),
        ("dreamcatcher", None, 0, f"rows: left out 1 datapoint {WHY}"),
        ("felm", None, 0, "wrote 13 datapoints from 5 records"),
        ("felm", [felm(0), felm(1, labels=[1])], 0, "1 row could not be used\n"),
        ("dreamcatcher", [GENERATED, RANKED], 1, "no record is labelled"),
    ],
)
def test_what_is_left_out_is_told(name, rows, code, said, native, shroom, tmp_path):
    out = tmp_path / "out.json"
    done, _, told = shroom("datasets", "convert", name, native(name, rows), "-o", out)
    assert (done, said in told, out.exists()) == (code, True, not code), told
    assert ("left out" in told) == ("left out" in said)


# SHROOM's own form


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".json.gz", ".jsonl.gz"])
def test_shrooms_own_files_change_only_their_form(ending, shroom, tmp_path):
    file = SAMPLE / "val.model-aware.json"
    out = tmp_path / f"out{ending}"
    assert shroom("datasets", "convert", "semeval2024", file, "-o", out)[0] == 0
    assert records_of("semeval2024", out) == records_of("semeval2024", file)
    again = tmp_path / "again.json"
    assert shroom("datasets", "convert", "semeval2024", out, "-o", again)[0] == 0
    rows = json.loads(again.read_text())
    assert not {"of", "native"} & {key for row in rows for key in row}


def test_shrooms_unlabelled_rows_are_kept(shroom, tmp_path):
    rows = [{"id": 3, "hyp": "a", "src": "b", "tgt": "", "task": "PG"}]
    (tmp_path / "test.jsonl").write_text(json.dumps(rows[0]) + "\n")
    out = tmp_path / "out.json"
    convert = ("datasets", "convert", "semeval2024", tmp_path / "test.jsonl", "-o", out)
    assert shroom(*convert)[0] == 0
    assert json.loads(out.read_text()) == rows
    assert shroom(*convert, "--view", "labelled")[0] == 1


# where it goes


def test_a_folder_gets_a_file_for_each_and_a_file_gets_them_all(native, shroom, tmp_path):
    native("mushroom2025", [answer(1)], "de.v1.extra")
    folder = native("mushroom2025", [answer(2)], "fr").parent
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    out, packed, one = (tmp_path / name for name in ("out", "out.zip", "all.json"))
    for given_path in (folder, tmp_path / "in.zip"):
        convert = ("datasets", "convert", "mushroom2025", given_path, "-o")
        assert [shroom(*convert, target)[0] for target in (out, packed, one)] == [0, 0, 0]
        assert sorted(path.name for path in out.iterdir()) == ["de.v1.extra.json", "fr.json"]
        with zipfile.ZipFile(packed) as archive:
            assert archive.namelist() == ["de.v1.extra.json", "fr.json"]
        assert one.read_text("utf-8") == shroom(*convert, "-")[1]
        names = [row["of"]["file"] for row in json.loads(one.read_text("utf-8"))]
        assert names == ["de.v1.extra.jsonl", "fr.jsonl"]
    # What is not judged is left out, and told.
    native("dreamcatcher", [GENERATED], "generated")
    native("dreamcatcher", [LABELLED], "labelled")
    for path in folder.glob("[df]*.jsonl"):
        path.unlink()
    code, _, told = shroom("datasets", "convert", "dreamcatcher", folder, "-o", tmp_path / "new")
    assert (code, "generated: left out, because no record is labelled" in told) == (0, True)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["labelled.json"]


def test_files_of_one_name_are_refused(native, shroom, tmp_path):
    one = native("felm", [felm(0)])
    two = tmp_path / "other" / one.name
    two.parent.mkdir()
    write_native(two, "felm", [felm(1)])
    code, _, told = shroom("datasets", "convert", "felm", one, two, "-o", tmp_path / "out.json")
    assert code == 1
    assert "2 files have the name rows; convert them one at a time" in told


def test_what_was_converted_is_refused(converted, shroom, tmp_path):
    path, out = converted("felm")[0], tmp_path / "out.json"
    code, _, told = shroom("datasets", "convert", "mushroom2025", path, "-o", out)
    assert (code, out.exists()) == (1, False)
    assert "is in the format of semeval2024, not of mushroom2025" in told


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("rows.jsonl -o out.txt", 1, "the name must end in .json or .jsonl"),
        ("rows.jsonl -o out.json --view no", 2, "felm has no view 'no'"),
        ("rows.jsonl -o rows.jsonl", 1, "is an input"),
        (". -o .", 1, "is inside an input folder"),
        ("rows.jsonl", 2, "Missing option '-o'"),
    ],
)
def test_a_wrong_command_line(arguments, code, said, native, shroom, monkeypatch):
    path = native("felm")
    before = path.read_bytes()
    monkeypatch.chdir(path.parent)
    found, _, told = shroom("datasets", "convert", "felm", *arguments.split())
    assert (found, said in told) == (code, True), told
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_names_without_files_or_datapoints(native, shroom, tmp_path, monkeypatch):
    path, out = native("felm"), tmp_path / "out.json"
    assert "did you mean 'felm'?" in shroom("datasets", "convert", "flem", path, "-o", out)[2]
    (tmp_path / "q.jsonl").write_text('{"query": "Should we stay or should we go?"}\n')
    told = shroom("datasets", "convert", "queries", tmp_path / "q.jsonl", "-o", out)[2]
    assert "queries has no datapoints" in told
    for variable in ("SHROOM_DATA", "SHROOM_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    told = shroom("datasets", "convert", "felm", "-o", out)[2]
    assert "felm is not on this machine" in told
    monkeypatch.setenv("SHROOM_DATA", str(tmp_path))
    (tmp_path / "felm").mkdir()
    write_native(tmp_path / "felm" / "all.jsonl", "felm", [felm(0)])
    assert shroom("datasets", "convert", "felm", "-o", out)[0] == 0
    assert [row["of"]["file"] for row in json.loads(out.read_text())] == ["all.jsonl"] * 2


# predictions


@pytest.fixture
def answers(native, converted, tmp_path):
    """Return responses of FELM and a submission for their segments, with its p."""
    rows = [felm(i, [bool((i + j) % 3) for j in range(1 + i % 4)]) for i in range(12)]
    _, points = converted("felm", rows)
    p = (np.random.default_rng(0).permutation(len(points)) / len(points)).tolist()
    label = {True: "Hallucination", False: "Not Hallucination"}
    submission = tmp_path / "submission.json"
    submission.write_text(json.dumps([{"label": label[each > 0.5], P: each} for each in p]))
    return native("felm", rows), submission, p


def test_a_submission_for_felm_is_written_by_response(answers, shroom, tmp_path):
    path, submission, p = answers
    out, listed = tmp_path / "felm.pred.jsonl", tmp_path / "felm.pred.json"
    convert = ("datasets", "convert", "felm", path, "--predictions", submission, "-o")
    assert shroom(*convert, out)[0] == 0
    gold = data_set("felm").read(path, problems=Problems())
    assert [row["index"] for row in read_native(out)] == [record.index for record in gold.records]
    found = read_predictions(out, gold)
    assert found.p.tolist() == p
    assert found.wrong.tolist() == [each > 0.5 for each in p]
    assert shroom(*convert, listed, "--view", "prompt")[0] == 0
    assert json.loads(listed.read_text()) == read_native(out)


@pytest.mark.parametrize("name", [name for name in NATIVE if data_set(name).predictions is None])
def test_others_have_no_native_predictions(name, native, shroom, tmp_path):
    path = native(name)
    convert = ("datasets", "convert", name, path, "--predictions", path)
    code, _, told = shroom(*convert, "-o", tmp_path / "out.jsonl")
    assert (code, "score the submission against the converted data" in told) == (1, True)


def test_a_submission_of_another_length_or_two_are_refused(answers, shroom, tmp_path):
    path, submission, p = answers
    out = tmp_path / "out.jsonl"
    convert = ("datasets", "convert", "felm", path, "-o", out, "--predictions")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.write(submission, "val.model-aware.json")
        archive.write(submission, "val.model-agnostic.json")
    code, _, told = shroom(*convert, tmp_path / "two.zip")
    assert (code, "expected one prediction file, got 2" in told) == (1, True), told
    submission.write_text(json.dumps(json.loads(submission.read_text())[:-1]))
    code, _, told = shroom(*convert, submission)
    assert code == 1
    assert f"expected {len(p)} items, as in {path} (converted), got {len(p) - 1}" in told
    assert not out.exists()
