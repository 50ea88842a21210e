"""Data sets in SHROOM's form, and back without loss."""

import csv
import gzip
import io
import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, ROOT, SAMPLE
from hypothesis import given, settings
from hypothesis import strategies as st
from test_dreamcatcher import GENERATED, LABELLED, RANKED
from test_factual_consistency import row as response
from test_felm import row as felm
from test_mushroom2025 import row as answer
from test_verifiability import pair_row, response_row

from shroom.core.problems import Problems, ShroomError
from shroom.datasets.conversion.from_shroom import come_back
from shroom.datasets.conversion.to_shroom import as_json, convert, native_rows
from shroom.datasets.felm.predictions import read_predictions
from shroom.datasets.registry import DATA_SETS, data_set
from shroom.scoring.table import P


def altered(row, **changes):
    """Return a row with other values, and without those that are None."""
    return {key: value for key, value in {**row, **changes}.items() if value is not None}


#: Native rows of each data set: ordinary ones, unjudged ones, and whatever a reader finds odd.
NATIVE = {
    "felm": [
        felm(0),
        felm(1, (True, True, False)),
        felm(2, type="", ref="", ref_contents="", more={"a": [1, None]}),
        {**felm(3, source=7, domain="law"), "index": 3},
        felm(4, segmented_response=["", "x"], response="\ud83d\ude00 \x85 \u2028"),
    ],
    "mushroom2025": [
        answer(0, soft_labels="absent", hard_labels="absent"),
        answer(1, lang="en", extra=1),
        answer(2, hard_labels="absent", annotations="absent", wikipedia_url="absent"),
        answer(3, annotations=[{"annotator_id": "a", "labels": [[0, 3]]}], model_id=""),
        answer(4, hard_labels=[[3, 1], "x"], model_output_logits=[0.5], id=5),
        answer(5, model_output_text="", soft_labels=[], hard_labels=[], model_output_tokens=None),
        answer(6, soft_labels="absent", hard_labels="absent"),
        {"model_output_text": "Bare.", "hard_labels": []},
        answer(7, soft_labels="absent", hard_labels="absent", lang="", model_input=""),
    ],
    "verifiability": [
        pair_row(),
        response_row(),
        {**response_row(), "id": "1a-you", "more": 1, "citations": [{"text": "[1]"}, 5]},
        {**pair_row(), "id": "2", "references": [""], "webpage_references": None},
    ],
    "factual_consistency": [
        response(Hallucination="", Verifiable="n", **{"Avg Factual Correctness": ""}),
        response(),
        response(Hallucination="Yes", **{"Avg Factual Correctness": "0.75"}),
        response(conv_index="x", knowledge='"a", b\r\nc\rd', **{"Avg Factual Correctness": "3.0"}),
        response(Hallucination="maybe", Verifiable="n", **{"Avg Factual Correctness": ""}),
    ],
    "dreamcatcher": [RANKED, GENERATED, LABELLED, {**LABELLED, "category": "all-wrong"}, RANKED],
}


def write_native(path: Path, name: str, rows: list[dict]) -> Path:
    if data_set(name).ending == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
        path.write_bytes(text.getvalue().encode())
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_native(path: Path) -> list[dict]:
    text = path.read_bytes().decode("utf-8-sig")
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(text, newline="")))
    return [json.loads(line) for line in text.split("\n") if line]


def records_of(name, *paths):
    return data_set(name).read(*paths, problems=Problems()).records


@pytest.fixture
def native(tmp_path):
    """Write native rows, of the made-up ones by default; return the file."""

    def make(name, rows=None, stem="rows"):
        path = tmp_path / "in" / (stem + data_set(name).ending)
        path.parent.mkdir(exist_ok=True)
        return write_native(path, name, NATIVE[name] if rows is None else rows)

    return make


@pytest.fixture
def converted(tmp_path, native, shroom):
    """Convert made-up rows of a data set; return the file and its rows."""

    def make(name, rows=None, *options):
        out = tmp_path / f"{name}.json"
        code, _, told = shroom("datasets", "convert", name, native(name, rows), "-o", out, *options)
        assert code == 0, told
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
    assert all(row["task"] == "TS" and row["ref"] == "src" and "id" not in row for row in rows)
    places = [(row["of"]["record"], row["of"]["part"]) for row in rows]
    assert places == sorted(set(places))
    view = next(iter(source.views))
    assert {(row["of"]["data_set"], row["of"]["view"]) for row in rows} == {(name, view)}


def test_each_native_row_is_there_once_in_the_first_row_of_its_record(converted):
    _, rows = converted("mushroom2025")
    held = [len(row.get("native", [])) for row in rows]
    assert held == [2, 1, 1, 1, 1, 3]  # the unjudged ones go with the first and the last
    _, rows = converted("felm")
    assert [row["of"]["part"] for row in rows if "native" in row] == [0] * 5


@pytest.mark.parametrize("name", NATIVE)
def test_every_verb_takes_what_was_converted(name, converted, shroom, tmp_path):
    path, rows = converted(name)
    made = tmp_path / "predicted.json"
    for row in rows:
        row["hyp"] = row["hyp"] or "."  # which the verb would only remark upon
        row["src"] = row["src"] or "."  # without which there is nothing to hold it against
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert shroom("predict", "lexical", path, "-o", made)[0] == 0
    assert shroom("check", made, "--data", path)[0] == 0
    code, out, _ = shroom("score", made, path, "--format", "json", "--no-ci")
    assert code == 0
    (result,) = json.loads(out)["results"]
    assert result["n"] == len(rows)
    assert shroom("score", path, path, "--no-ci")[0] == 0
    corrupt = ("corrupt", path, "-o", tmp_path / "corrupted.json", "--max-p", 1)
    code, _, told = shroom(*corrupt, "--assume-faithful")
    assert code == 0 or "can be corrupted" in told


@pytest.mark.parametrize("view", ["hallucination", "correctness"])
def test_a_view_says_what_p_is(view, converted):
    _, rows = converted("factual_consistency", None, "--view", view)
    told = {"hallucination": [0, 1, 0], "correctness": [0, 0.25]}
    assert [row[P] for row in rows] == told[view]


def test_what_is_left_out_is_told(native, shroom, tmp_path):
    told = {}
    for name in ("mushroom2025", "verifiability", "factual_consistency", "dreamcatcher", "felm"):
        out = tmp_path / "out.json"
        told[name] = shroom("datasets", "convert", name, native(name), "-o", out)[2]
    why = "nobody judged them, or there is no text to compare them with"
    assert f"rows: left out 3 datapoints: {why}" in told["mushroom2025"]
    assert f"rows: left out 3 datapoints: {why}" in told["verifiability"]
    assert f"rows: left out 2 datapoints: {why}" in told["factual_consistency"]
    assert f"rows: left out 1 datapoints: {why}" in told["dreamcatcher"]
    assert "left out" not in told["felm"].replace("(left out)", "")
    assert "wrote 11 datapoints of 5 records" in told["felm"]


def test_rows_that_cannot_be_used_are_counted(native, shroom, tmp_path):
    path = native("felm", [felm(0), felm(1, labels=[1])])
    code, _, told = shroom("datasets", "convert", "felm", path, "-o", tmp_path / "out.json")
    assert code == 0
    assert "1 rows could not be used, and will not come back" in told


def test_where_nobody_judged_anything_there_is_nothing_to_convert(native, shroom, tmp_path):
    path = native("dreamcatcher", [GENERATED, RANKED])
    code, _, told = shroom("datasets", "convert", "dreamcatcher", path, "-o", tmp_path / "o.json")
    assert code == 1
    assert "nobody judged any of the 2 records" in told
    assert not (tmp_path / "o.json").exists()


def test_an_unjudged_file_beside_judged_ones_is_left_out_and_told(native, shroom, tmp_path):
    native("dreamcatcher", [GENERATED], "generated")
    folder = native("dreamcatcher", [LABELLED], "labelled").parent
    code, _, told = shroom("datasets", "convert", "dreamcatcher", folder, "-o", tmp_path / "out")
    assert code == 0
    assert "generated: nobody judged its 1 records; they will not come back" in told
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["labelled.json"]


# there and back


@pytest.mark.parametrize("name", NATIVE)
def test_every_row_comes_back_as_it_stood(name, native, converted, shroom, tmp_path):
    path, _ = converted(name)
    original = native(name)
    back = tmp_path / "back" / original.name
    assert shroom("datasets", "convert", name, path, "--back", "-o", back)[0] == 0
    assert records_of(name, back) == records_of(name, original)
    assert read_native(back) == read_native(original)
    assert back.read_bytes().decode() == data_set(name).write(records_of(name, original))


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("where", range(2))
def test_unjudged_records_come_back_from_whichever_end(name, where, native, converted, shroom):
    unjudged = {
        "mushroom2025": altered(answer(9), soft_labels=None, hard_labels=None),
        "factual_consistency": NATIVE["factual_consistency"][0],
        "dreamcatcher": RANKED,
        "verifiability": {**pair_row(), "id": "9", "references": []},
        "felm": felm(9),
    }[name]
    rows = list(NATIVE[name])
    end = where * len(rows)
    rows[end:end] = [unjudged, {**unjudged, "id": "another"}] if "id" in unjudged else [unjudged]
    path, _ = converted(name, rows)
    code, out, _ = shroom("datasets", "convert", name, path, "--back", "-o", "-")
    assert code == 0
    assert out == data_set(name).write(records_of(name, native(name, rows)))


def test_what_is_no_json_comes_back_as_null(converted, native, shroom, tmp_path):
    rows = [felm(0, response=math.nan, more=[math.inf]), felm(1, ref_contents=[math.nan])]
    path, _ = converted("felm", rows)
    assert "NaN" not in path.read_text()
    back = tmp_path / "back.jsonl"
    assert shroom("datasets", "convert", "felm", path, "--back", "-o", back)[0] == 0
    wanted = [felm(0, response=None, more=[None]), felm(1, ref_contents=[None])]
    assert read_native(back) == wanted
    assert records_of("felm", back) == records_of("felm", native("felm", rows))


@settings(max_examples=25)
@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["type", "ref", "comment", "source", "domain"]),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                max_leaves=4,
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_else_stands_in_a_row_comes_back(tmp_path, given_rows):
    kept = ("index", "prompt", "segmented_response", "labels")
    rows = [
        {**felm(number), **{key: value for key, value in more.items() if key not in kept}}
        for number, more in enumerate(given_rows)
    ]
    source = data_set("felm")
    path = write_native(tmp_path / "a.jsonl", "felm", json.loads(json.dumps(rows)))
    found = source.read(path, problems=Problems())
    (made,) = convert(source, found)
    (back,) = come_back(source, json.loads(as_json(made.rows)), "a.json")
    assert back.records == found.records
    finite = json.loads(json.dumps(rows), parse_constant=lambda _: None)
    assert native_rows(source, back.records) == finite


def as_sorted(value):
    return json.dumps(value, sort_keys=True)


REAL = [
    (name, path.relative_to(DATA))
    for name, folder in {
        **{name: name for name in NATIVE},
        "queries": "verifiability/queries",
    }.items()
    for path in sorted((DATA / folder).glob("*"))
    if path.is_file()
]


@pytest.mark.real
@pytest.mark.parametrize(("name", "file"), REAL, ids=lambda value: Path(value).name)
def test_every_real_row_is_written_as_it_stood(name, file):
    source = data_set(name)
    records = records_of(name, DATA / file)
    rows = read_native(DATA / file)
    # JSON has no NaN; there are two, of the responses of FELM.
    written = native_rows(source, records)
    differing = [
        (place, key)
        for place, (row, again) in enumerate(zip(rows, written))
        for key in row.keys() | again.keys()
        if as_sorted(row.get(key, "absent")) != as_sorted(again.get(key, "absent"))
    ]
    nan = [(350, "response"), (548, "response")] if name == "felm" else []
    assert len(rows) == len(written)
    assert differing == nan


@pytest.mark.real
@pytest.mark.parametrize("name", NATIVE)
def test_every_real_record_comes_back(name):
    source = data_set(name)
    found = source.read(DATA / name, problems=Problems())
    made = convert(source, found)
    for (file, records), one in zip(found.by_file(), made):
        if not one.rows:  # of Dreamcatcher, the files without labels
            assert name == "dreamcatcher"
            continue
        (back,) = come_back(source, json.loads(as_json(one.rows)), file)
        assert back.name == Path(file).name
        assert back.records == records


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
    code, _, told = shroom("datasets", "convert", "semeval2024", out, "--back", "-o", "x.json")
    assert code == 1
    assert "in SHROOM's form already" in told


# where it goes


def test_a_folder_gets_a_file_for_each_and_a_file_gets_them_all(native, shroom, tmp_path):
    native("mushroom2025", [answer(1)], "de.v1.extra")
    folder = native("mushroom2025", [answer(2)], "fr").parent
    with zipfile.ZipFile(tmp_path / "in.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    for given_path in (folder, tmp_path / "in.zip"):
        out = tmp_path / "out"
        assert shroom("datasets", "convert", "mushroom2025", given_path, "-o", out)[0] == 0
        assert sorted(path.name for path in out.iterdir()) == ["de.v1.extra.json", "fr.json"]
        one = tmp_path / "all.jsonl"
        assert shroom("datasets", "convert", "mushroom2025", given_path, "-o", one)[0] == 0
        assert [row["of"]["file"] for row in read_native(one)] == ["de.v1.extra.jsonl", "fr.jsonl"]
        for made in (out, one):
            back = tmp_path / f"back-{made.name}"
            bring = ("datasets", "convert", "mushroom2025", made, "--back", "-o")
            assert shroom(*bring, f"{back}/")[0] == 0
            assert read_native(back / "fr.jsonl") == [answer(2)]
            assert read_native(back / "de.v1.extra.jsonl") == [answer(1)]
            assert shroom(*bring, tmp_path / "back.jsonl")[0] == 0
            assert read_native(tmp_path / "back.jsonl") == [answer(1), answer(2)]


def test_a_zip_a_gzip_and_stdout(native, shroom, tmp_path):
    path = native("felm")
    convert = ("datasets", "convert", "felm", path, "-o")
    assert shroom(*convert, tmp_path / "out.zip")[0] == 0
    assert shroom(*convert, tmp_path / "out.json.gz")[0] == 0
    code, out, _ = shroom(*convert, "-")
    assert code == 0
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.namelist() == ["rows.json"]
        assert archive.read("rows.json").decode() == out
    assert gzip.decompress((tmp_path / "out.json.gz").read_bytes()).decode() == out
    back = ("datasets", "convert", "felm", tmp_path / "out.zip", "--back", "-o")
    assert shroom(*back, tmp_path / "back.json")[0] == 0
    assert json.loads((tmp_path / "back.json").read_text()) == read_native(path)
    assert shroom(*back, tmp_path / "back.jsonl.gz")[0] == 0
    assert records_of("felm", tmp_path / "back.jsonl.gz") == records_of("felm", path)


def test_files_of_one_name_are_refused(native, shroom, tmp_path):
    one = native("felm", [felm(0)])
    two = tmp_path / "other" / one.name
    two.parent.mkdir()
    write_native(two, "felm", [felm(1)])
    code, _, told = shroom("datasets", "convert", "felm", one, two, "-o", tmp_path / "out.json")
    assert code == 1
    assert "2 of the files are called rows; convert them one by one" in told
    listed = one.with_suffix(".json")
    listed.write_text(json.dumps([felm(2)]))
    assert shroom("datasets", "convert", "felm", one.parent, "-o", tmp_path / "out")[0] == 1


def test_a_file_of_another_data_set_is_told(native, converted, shroom, tmp_path):
    for path, form in ((native("felm"), "felm"), (converted("felm")[0], "semeval2024")):
        code, _, told = shroom(
            "datasets", "convert", "mushroom2025", path, "-o", tmp_path / "o.json"
        )
        assert code == 1
        assert f"this has the form of {form}, not of mushroom2025" in told
        assert ("--back" in told) == (form == "semeval2024")
        assert not (tmp_path / "o.json").exists()


def test_the_wrong_direction_is_told(native, converted, shroom, tmp_path):
    out = tmp_path / "out.json"
    code, _, told = shroom("datasets", "convert", "felm", converted("felm")[0], "-o", out)
    assert code == 1
    assert told.endswith("; to bring back what was converted, add --back\n")
    code, _, told = shroom("datasets", "convert", "felm", native("felm"), "--back", "-o", out)
    assert code == 1
    assert told.endswith("; to convert it, leave out --back\n")
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["-o", "out.txt"], 1, "its name should end in .json or .jsonl"),
        (["--back", "-o", "out.csv"], 1, "its name should end in .jsonl or .json"),
        (["-o", "rows.jsonl", "--view", "no"], 1, "no view 'no' of felm"),
        (["-o", "o.json", "--back", "--view", "prompt"], 2, "--view does not go with --back"),
        (["-o", "o.json", "--predictions", "rows.jsonl"], 2, "--predictions goes with --back"),
        (["-o", "rows.jsonl"], 1, "is an input"),
        ([], 2, "Missing option '-o'"),
    ],
    ids=str,
)
def test_a_wrong_command_line(options, code, said, native, shroom, monkeypatch):
    path = native("felm")
    before = path.read_bytes()
    monkeypatch.chdir(path.parent)
    found, _, told = shroom("datasets", "convert", "felm", path.name, *options)
    assert (found, said in told) == (code, True), told
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_no_folder_that_is_read_gets_another_file(native, shroom):
    path = native("felm")
    code, _, told = shroom("datasets", "convert", "felm", path.parent, "-o", path.parent)
    assert (code, "would lie in the folder that is read" in told) == (1, True), told
    assert list(path.parent.iterdir()) == [path]


def test_names_without_files_or_datapoints(native, shroom, tmp_path, monkeypatch):
    path, out = native("felm"), tmp_path / "out.json"
    assert "did you mean 'felm'?" in shroom("datasets", "convert", "flem", path, "-o", out)[2]
    (tmp_path / "q.jsonl").write_text('{"query": "Should we stay or should we go?"}\n')
    told = shroom("datasets", "convert", "queries", tmp_path / "q.jsonl", "-o", out)[2]
    assert "queries has no datapoints" in told
    for variable in ("SHROOM_DATA", "SHROOM_CACHE", "HF_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "nowhere"))
    told = shroom("datasets", "convert", "felm", "-o", out)[2]
    assert "felm is not here" in told
    monkeypatch.setenv("SHROOM_DATA", str(tmp_path))
    (tmp_path / "felm").mkdir()
    write_native(tmp_path / "felm" / "all.jsonl", "felm", [felm(0)])
    assert shroom("datasets", "convert", "felm", "-o", out)[0] == 0
    assert [row["of"]["file"] for row in json.loads(out.read_text())] == ["all.jsonl"] * 2


# what cannot come back


def without(rows, *places):
    return [row for place, row in enumerate(rows) if place not in places]


def edited(rows, place, **changes):
    return [{**row, **changes} if at == place else row for at, row in enumerate(rows)]


def moved(rows, place, **changes):
    return edited(rows, place, of={**rows[place]["of"], **changes})


BROKEN = {
    "the first row is gone": (lambda rows: rows[1:], "item 0"),
    "a row is gone": (lambda rows: without(rows, 3), "item 3"),
    "the last row is gone": (lambda rows: rows[:-1], "expected 11 items of rows.jsonl"),
    "a row twice": (lambda rows: [*rows, rows[-1]], "got 12"),
    "another order": (lambda rows: rows[::-1], "item 0"),
    "another label": (lambda rows: edited(rows, 2, label="x"), "item 2: label: expected"),
    "another p": (lambda rows: edited(rows, 2, **{P: 0.25}), "item 2: p(Hallucination): expected"),
    "another hyp": (lambda rows: edited(rows, 2, hyp="x"), 'item 2: hyp: expected "Segment'),
    "no of": (lambda rows: edited(rows, 4, of=None), "item 4: has no key 'of'"),
    "no objects": (lambda _: [1, 2], "item 0: has no key 'of'"),
    "native is no list": (lambda rows: edited(rows, 0, native={}), "item 0: has no key 'of'"),
    "native is empty": (lambda rows: edited(rows, 0, native=[]), "item 0"),
    "no native at all": (
        lambda rows: [{k: v for k, v in row.items() if k != "native"} for row in rows],
        "expected the native rows of rows.jsonl, got []",
    ),
    "native has no objects": (lambda rows: edited(rows, 0, native=[5]), "expected the native rows"),
    "native of another form": (
        lambda rows: edited(rows, 0, native=[{"index": "0"}]),
        'the native rows of rows.jsonl: expected the key "prompt"',
    ),
    "another data set": (lambda rows: moved(rows, 0, data_set="mushroom2025"), "not of felm"),
    "no such view": (lambda rows: moved(rows, 0, view="no"), "no view 'no' of felm"),
    "a path": (lambda rows: moved(rows, 0, file="../x.jsonl"), "does not tell the view and a file"),
    "no file": (lambda rows: moved(rows, 0, file=[]), "does not tell the view and a file's name"),
    "torn apart": (lambda rows: moved(rows, 3, file="other.jsonl"), "do not stand together"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_was_changed_is_refused_with_its_place(case, converted, shroom, tmp_path):
    path, rows = converted("felm")
    change, said = BROKEN[case]
    path.write_text(json.dumps(change(rows)), encoding="utf-8")
    back = tmp_path / "back.jsonl"
    back.write_text("what was there")
    code, _, told = shroom("datasets", "convert", "felm", path, "--back", "-o", back)
    assert (code, said in told) == (1, True), told
    assert back.read_text() == "what was there"
    assert "Traceback" not in told


@pytest.mark.parametrize("cell", ["\ud800", None, 5, ["x"], {"a": 1}])
def test_cells_that_are_none_of_a_csv_are_refused(cell):
    source = data_set("factual_consistency")
    row = {"of": {"data_set": source.name, "view": "correctness", "file": "gt.csv"}}
    rows = [{**row, "native": [response(knowledge=cell)], "hyp": "It is hot."}]
    with pytest.raises(ShroomError):
        come_back(source, rows, "gt.json")


def test_keys_may_be_added(converted, native, shroom):
    path, rows = converted("felm")
    path.write_text(json.dumps([{**row, "note": "mine"} for row in rows]), encoding="utf-8")
    code, out, _ = shroom("datasets", "convert", "felm", path, "--back", "-o", "-")
    assert code == 0
    assert out == data_set("felm").write(records_of("felm", native("felm")))


# predictions


@pytest.mark.parametrize("view", ["references", "prompt"])
def test_predictions_for_felm_come_back_by_response(view, converted, native, shroom, tmp_path):
    rows = [felm(i, [bool((i + j) % 3) for j in range(1 + i % 4)]) for i in range(12)]
    path, points = converted("felm", rows, "--view", view)
    p = np.random.default_rng(0).permutation(len(points)) / len(points)
    labels = ["Hallucination" if each > 0.5 else "Not Hallucination" for each in p]
    said = [{"label": label, P: each} for label, each in zip(labels, p.tolist())]
    (tmp_path / "said.json").write_text(json.dumps(said))
    out = tmp_path / "felm.pred.jsonl"
    back = ("datasets", "convert", "felm", path, "--back", "--predictions", tmp_path / "said.json")
    assert shroom(*back, "-o", out)[0] == 0
    assert [row["index"] for row in read_native(out)] == [row["index"] for row in rows]
    gold = data_set("felm").read(native("felm", rows), problems=Problems())
    found = read_predictions(out, gold)
    assert found.p.tolist() == p.tolist()
    assert found.wrong.tolist() == [label == "Hallucination" for label in labels]
    listed = tmp_path / "felm.pred.json"
    assert shroom(*back, "-o", listed)[0] == 0
    assert json.loads(listed.read_text()) == read_native(out)


@pytest.mark.parametrize("name", [name for name in NATIVE if name != "felm"])
def test_others_have_no_native_predictions_and_say_why(name, converted, shroom, tmp_path):
    path, _ = converted(name)
    said = ("--predictions", path, "-o", tmp_path / "out.jsonl")
    code, _, told = shroom("datasets", "convert", name, path, "--back", *said)
    assert code == 1
    assert "score the submission against the converted data" in told
    assert ("spans" in told) == (name == "mushroom2025")


def test_predictions_of_another_length_are_refused(converted, shroom, tmp_path):
    path, rows = converted("felm")
    (tmp_path / "said.json").write_text(json.dumps(rows[:-1]))
    out = tmp_path / "out.jsonl"
    back = ("datasets", "convert", "felm", path, "--back", "--predictions", tmp_path / "said.json")
    code, _, told = shroom(*back, "-o", out)
    assert code == 1
    assert "expected 11 items" in told
    assert not out.exists()
    for several in ([path, path], ["-"], [path.parent]):
        given_paths = ("datasets", "convert", "felm", *several, *back[4:], "-o", out)
        assert shroom(*given_paths)[0] == 2, several


# the page


def test_the_page_names_every_data_set_and_key():
    page = (ROOT / "docs" / "convert-datasets.md").read_text(encoding="utf-8")
    for word in (*DATA_SETS, "native", "of", "data_set", "view", "file", "record", "part"):
        assert f"`{word}`" in page or f'"{word}"' in page, word
