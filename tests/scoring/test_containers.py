"""What is handed in instead of JSON and CSV: other formats, encodings and names of keys."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import pickle
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest
from conftest import gold, predictions, write_json

from shroom.core import json_reading
from shroom.scoring.check import check


def packed(**members):
    """Return a zip with such members, and their folders."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return stream.getvalue()


def tarred(mode):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        member = tarfile.TarInfo("val.model-aware.json")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT))
    return stream.getvalue()


def saved():
    stream = io.BytesIO()
    np.savez(stream, p=np.zeros(3))
    return stream.getvalue()


TEXT = json.dumps(predictions(5)).encode()
OFFICE = {"[Content_Types].xml": "<Types/>"}
FOREIGN = {
    "p.parquet": (b"PAR1\x15\x04" + bytes(300) + b"PAR1", "Parquet file (write the data frame"),
    "p.feather": (b"ARROW1\0\0" + bytes(300), "Feather or Arrow file"),
    "old.feather": (b"FEA1" + bytes(300), "Feather or Arrow file"),
    "p.xlsx": (packed(**OFFICE, xl__workbook="<xml/>"), "an Excel workbook (save it as CSV)"),
    "p.docx": (packed(**OFFICE, word__document="<xml/>"), "a Word document"),
    "p.ods": (packed(mimetype="x", **{"content.xml": "<xml/>"}), "an OpenDocument file"),
    "p.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "an old Excel or Word file"),
    "p.npz": (saved(), "a NumPy file"),
    "p.pt": (packed(archive__data="x", **{"archive/data.pkl": "x"}), "a PyTorch file"),
    "p.tar": (tarred("w"), "a tar archive (unpack it"),
    "p.tar.gz": (tarred("w:gz"), "a tar archive (unpack it"),
    "p.json.xz": (lzma.compress(TEXT), "an xz file"),
    "p.json.bz2": (bz2.compress(TEXT), "a bzip2 file"),
    "p.json.zst": (b"\x28\xb5\x2f\xfd" + bytes(300), "a Zstandard file"),
    "p.7z": (b"7z\xbc\xaf\x27\x1c" + bytes(300), "a 7-Zip archive"),
    "p.rar": (b"Rar!\x1a\x07\x01\0" + bytes(300), "a RAR archive"),
    "p.pkl": (pickle.dumps(predictions(5)), "a pickle, which could run code and is never opened"),
    "looks-like.json": (pickle.dumps([1], protocol=2), "a pickle, which could run code"),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("role", ["submission", "gold", "data"])
def test_a_format_that_is_not_read_is_named_in_every_role(name, role, tmp_path, shroom):
    content, said = FOREIGN[name]
    (tmp_path / name).write_bytes(content)
    other = write_json(tmp_path / "other.json", gold(5) if role == "submission" else predictions(5))
    code, _, err = {
        "submission": lambda: shroom("score", tmp_path / name, other),
        "gold": lambda: shroom("check", other, "--gold", tmp_path / name),
        "data": lambda: shroom("predict", "lexical", tmp_path / name, "-o", tmp_path / "o.json"),
    }[role]()
    assert code == 1
    assert f"{name}: expected JSON, JSON Lines, CSV or a zip of them, got " in err
    assert said in err
    assert err.count("[file-format]") == 2  # with the line that tells how to fix it


def test_a_format_that_is_not_read_is_named_beside_others(tmp_path):
    files = {"val.model-aware.json": TEXT, "val.model-agnostic.parquet": b"PAR1"}
    (tmp_path / "s").mkdir()
    for name, content in files.items():
        (tmp_path / "s" / name).write_bytes(content)
    (tmp_path / "s.zip").write_bytes(packed(**files))
    for place in (tmp_path / "s.zip", tmp_path / "s"):
        (problem,) = check(place).problems
        assert (problem.code, problem.found[:14]) == ("file-ignored", "a Parquet file")


@pytest.mark.parametrize("end", [-1, -2, -9, -30, -45])
@pytest.mark.parametrize("lines", [False, True])
def test_a_file_that_is_cut_off_is_told(end, lines, tmp_path):
    rows = predictions(5)
    text = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
    path = tmp_path / ("p.jsonl" if lines else "p.json")
    path.write_text(text[:end])
    found = [p.found for p in check(path).problems if p.code == "not-json"]
    assert [text.endswith("it may be cut off)") for text in found] == [True]
    path.write_text(text[: len(text) // 2] + "?" + text[len(text) // 2 :])
    assert not any("cut off" in problem.found for problem in check(path).problems)


def test_a_table_that_is_cut_off_is_told(tmp_path):
    text = pd.DataFrame(predictions(5, first_id=1)).to_csv(index=False)
    (tmp_path / "p.csv").write_text(text[: text.rindex(",")])
    (problem,) = [p for p in check(tmp_path / "p.csv").problems if p.code == "not-csv"]
    assert (problem.line_number, problem.found[-24:]) == (6, "here: it may be cut off)")
    (tmp_path / "p.csv").write_text(text.replace("\n", ",x\n", 3))
    assert not any("cut off" in problem.found for problem in check(tmp_path / "p.csv").problems)


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("p.json", '[{"prediction": "Hallucination", "prob": 0.7}]', "label=prediction,p=prob"),
        ("p.jsonl", '{"pred": "Hallucination", "score": 0.7}\n', "label=pred,p=score"),
        ("p.csv", "prediction,prob\nHallucination,0.7\n", "label=prediction"),
        ("p.csv", "verdict,score\nHallucination,0.7\n", "label=verdict,p=score"),
    ],
)
def test_keys_of_other_names_are_told_how_to_name_them(name, text, columns, tmp_path, shroom):
    (tmp_path / name).write_text(text)
    code, _, err = shroom("check", tmp_path / name)
    assert (code, "--columns" in err) == (1, True)
    assert shroom("check", tmp_path / name, "--columns", columns)[0] == 0


FRAME = pd.DataFrame(predictions(12, first_id=7))
ORIENTS = {
    "columns": FRAME.to_json(),
    "index": FRAME.to_json(orient="index"),
    "split": FRAME.to_json(orient="split"),
    "table": FRAME.to_json(orient="table"),
    "ids as the index, by columns": FRAME.set_index("id").to_json(),
    "ids as the index, by rows": FRAME.set_index("id").to_json(orient="index"),
    "ids as the index, split": FRAME.set_index("id").to_json(orient="split"),
    "ids as the index, table": FRAME.set_index("id").to_json(orient="table"),
    "an index with doubles, split": pd.concat(
        [FRAME[:6], FRAME[6:].reset_index(drop=True)]
    ).to_json(orient="split"),
    "float ids": FRAME.astype({"id": float}).to_json(indent=2),
    "a list for each column": json.dumps(FRAME.to_dict("list")),
}


@pytest.mark.parametrize("orient", ORIENTS)
@pytest.mark.parametrize("name", ["p.json", "p.jsonl"])
@pytest.mark.parametrize("most", [None, 400])
def test_a_data_frame_in_json_is_told_and_fixed(orient, name, most, tmp_path, shroom, monkeypatch):
    if most is not None:  # one that is larger than any item
        monkeypatch.setattr(json_reading, "MAX_ITEM", most)
    path = tmp_path / name
    path.write_text(
        json.dumps(json.loads(ORIENTS[orient])) if name == "p.jsonl" else ORIENTS[orient]
    )
    truth = write_json(tmp_path / "gold.json", gold(12, first_id=7))
    code, _, err = shroom("score", path, truth)
    assert (code, 'orient="records"' in err) == (1, True)
    assert "--fix FILE writes a copy without" in shroom("check", path, "--gold", truth)[2]
    code, _, err = shroom("check", path, "--gold", truth, "--fix", tmp_path / "out.json")
    assert (code, "12 rows of a data frame" in err) == (0, True), err
    assert json.loads((tmp_path / "out.json").read_text()) == predictions(12, first_id=7)


UNNAMED = FRAME.drop(columns="id").sample(frac=1, random_state=2)
SHUFFLED = {
    **{f"{orient}.json": UNNAMED.to_json(orient=orient)
       for orient in ("columns", "index", "split", "table")},
    "records.json": UNNAMED.reset_index().to_json(orient="records"),
    "records.jsonl": UNNAMED.reset_index().to_json(orient="records", lines=True),
    "named.csv": UNNAMED.reset_index().to_csv(index=False),
    "blank.csv": UNNAMED.to_csv(),
    "unnamed.csv": UNNAMED.rename_axis("Unnamed: 0").to_csv(),
}  # fmt: skip


@pytest.mark.parametrize("name", SHUFFLED)
def test_row_numbers_of_a_data_frame_are_its_order_and_no_ids(name, tmp_path, shroom):
    (tmp_path / name).write_text(SHUFFLED[name])
    rows = FRAME.drop(columns="id").to_dict("records")
    for truth in (gold(12), gold(12, first_id=0)[::-1]):  # the same numbers, in another order
        path, out = write_json(tmp_path / "gold.json", truth), tmp_path / "out.json"
        code, _, err = shroom("check", tmp_path / name, "--gold", path, "--fix", out)
        if "id" in truth[0]:
            assert (code, "[id-missing]" in err) == (1, True)
            continue
        assert code == 0, err
        assert json.loads(out.read_text()) == rows
        assert "rows of a data frame" in err or "by the row numbers" in err
        out.unlink()


def test_a_key_of_another_order_is_left_out_beside_ids(tmp_path, shroom):
    rows = [{**row, "index": 11 - place} for place, row in enumerate(predictions(12, first_id=1))]
    path, out = write_json(tmp_path / "p.json", rows), tmp_path / "out.json"
    assert shroom("check", path, "--fix", out)[0] == 0
    assert json.loads(out.read_text()) == predictions(12, first_id=1)


def test_a_data_frame_as_values_is_told(tmp_path, shroom):
    (tmp_path / "p.json").write_text(FRAME.to_json(orient="values"))
    code, _, err = shroom("check", tmp_path / "p.json")
    assert (code, 'DataFrame.to_json(orient="records")' in err) == (1, True)


def test_spans_of_a_data_frame_with_ids_as_its_index_are_fixed(tmp_path, shroom):
    rows = [{"id": f"tst-en-{i}", "hard_labels": [[3, 7]]} for i in range(3)]
    path, out, more = tmp_path / "p.jsonl", tmp_path / "o.jsonl", ("--edition", "mushroom2025")
    path.write_text(pd.DataFrame(rows).set_index("id").to_json(orient="index"))
    assert shroom("check", path, *more)[0] == 1
    assert shroom("check", path, *more, "--fix", out)[0] == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows


SLIPS = ["val.model-aware (1).json", "val.model-aware.json.txt", "val.model-aware copy 2.json"]
MORE_SLIPS = ["val.model-aware.json.json", "val.model-aware(12).jsonl", "val.model-aware (1).csv"]


@pytest.mark.parametrize("name", [*SLIPS, *MORE_SLIPS])
def test_slips_in_names_are_recognised_and_gold_is_used_if_there_is_no_other(name, tmp_path):
    ending = next(it for it in ("jsonl", "json", "csv") if it in name)
    good = f"val.model-aware.{ending}"
    for place, rows in (("sub", predictions(12)), ("gold", gold(12))):
        frame = pd.DataFrame(rows).drop(columns="labels", errors="ignore")
        text = frame.to_csv(index=False) if ending == "csv" else json.dumps(rows)
        text = "\n".join(map(json.dumps, rows)) if ending == "jsonl" else text
        (tmp_path / place).mkdir()
        (tmp_path / place / name).write_text(text)
    (problem,) = check(tmp_path / "sub").problems
    assert problem.found == f'"{name}" (a slip for {good}?)'
    assert check(tmp_path / "sub" / name).ok  # a file that is named directly may have any name
    path = write_json(tmp_path / "s" / "val.model-aware.json", predictions(12))
    write_json(tmp_path / "gold" / "val.model-agnostic.json", gold(12))
    checked = check(path.parent, tmp_path / "gold")
    assert (checked.ok, checked.tracks[0].gold.file.endswith(name)) == (True, True)
    original = tmp_path / "gold" / good
    original.write_text(text)
    assert check(path.parent, tmp_path / "gold").tracks[0].gold.file == str(original)
