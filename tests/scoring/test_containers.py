"""What is handed in instead of JSON and CSV: other formats, encodings and names of keys."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from conftest import gold, predictions, write_json

from shroom.scoring.check import check
from shroom.scoring.fix import fix_submission


@pytest.mark.parametrize("end", [-1, -2, -9, -30, -45])
@pytest.mark.parametrize("name", ["p.json", "p.jsonl", "p.csv"])
def test_a_file_that_is_cut_off_is_told(end, name, tmp_path):
    rows, path = predictions(5, first_id=1), tmp_path / name
    text = "\n".join(map(json.dumps, rows)) if name == "p.jsonl" else json.dumps(rows)
    cut, broken = text[:end], text[: len(text) // 2] + "?" + text[len(text) // 2 :]
    if name == "p.csv":
        text = pd.DataFrame(rows).to_csv(index=False)
        cut, broken = text[: text.rindex(",")], text.replace("\n", ",x\n", 3)
    for content, is_cut in ((cut, True), (broken, False)):
        path.write_text(content)
        found = [p.found for p in check(path).problems if p.code in ("not-json", "not-csv")]
        assert [text.endswith("it may be cut off)") for text in found].count(True) == is_cut


def test_spans_of_a_data_frame_with_ids_as_its_index_are_fixed(tmp_path):
    rows, path = [{"id": f"tst-en-{i}", "hard_labels": [[3, 7]]} for i in range(3)], tmp_path / "p"
    path.write_text(pd.DataFrame(rows).set_index("id").to_json(orient="index"))
    assert not check(path, edition="mushroom2025").ok
    fixed = fix_submission(path, edition="mushroom2025")
    assert [json.loads(line) for line in "".join(fixed.files.values()).splitlines()] == rows


SLIPS = {
    "json": ("val.model-aware (1).json", "val.model-aware.json.txt", "val.model-aware copy 2.json"),
    "jsonl": ("val.model-aware(12).jsonl",),
    "csv": ("val.model-aware (1).csv",),
}


@pytest.mark.parametrize(
    ("name", "ending"),
    [("val.model-aware.json.json", "json")]
    + [(name, ending) for ending, names in SLIPS.items() for name in names],
)
def test_slips_in_names_are_recognised_and_gold_is_used_if_there_is_no_other(
    name, ending, tmp_path
):
    good = f"val.model-aware.{ending}"
    for place, rows in (("sub", predictions(12)), ("gold", gold(12))):
        frame = pd.DataFrame(rows).drop(columns="labels", errors="ignore")
        text = frame.to_csv(index=False) if ending == "csv" else json.dumps(rows)
        text = "\n".join(map(json.dumps, rows)) if ending == "jsonl" else text
        (tmp_path / place).mkdir()
        (tmp_path / place / name).write_text(text)
    (problem,) = check(tmp_path / "sub").problems
    assert problem.found == f'"{name}" (did you mean {good}?)'
    assert check(tmp_path / "sub" / name).ok  # a file that is named directly may have any name
    mine = {"val.model-aware": predictions(12)}
    write_json(tmp_path / "gold" / "val.model-agnostic.json", gold(12))
    checked = check(mine, tmp_path / "gold")
    assert (checked.ok, checked.tracks[0].gold.file.endswith(name)) == (True, True)
    original = tmp_path / "gold" / good
    original.write_text(text)
    assert check(mine, tmp_path / "gold").tracks[0].gold.file == str(original)
