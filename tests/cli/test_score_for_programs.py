"""What ``shroom score`` writes for other programs: JSON by its schema, csv and Markdown."""

import csv
import io
import json

import jsonschema
import pytest
from conftest import ROOT, SAMPLE, felm_row, gold, predictions, write_json, write_lines

from shroom.scoring.tables import as_csv

EXAMPLES = ROOT / "docs" / "examples"
SCORED = {
    "2024": (SAMPLE, SAMPLE),
    "2024, other metrics": (SAMPLE, SAMPLE, "--metrics", "brier,auroc", "--by", "task,model"),
    "2024, no intervals": (SAMPLE, SAMPLE, "--no-ci", "--by", ""),
    "2024, official": (SAMPLE, SAMPLE, "--official"),
    **{
        name: (EXAMPLES / name / "system", EXAMPLES / name / "gold")
        for name in ("mushroom2025", "cap2025", "visions2026")
    },
}


@pytest.fixture
def schema(shroom):
    code, out, _ = shroom("score", "--json-schema")
    assert code == 0
    found = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("args", SCORED.values(), ids=SCORED)
def test_json_follows_its_schema(args, shroom, schema):
    code, out, _ = shroom("score", *args, "--format", "json")
    assert code == 0
    schema.validate(json.loads(out))


@pytest.mark.parametrize(
    "change",
    [
        lambda score: score.pop("signature"),
        lambda score: score.update(results=[]),
        lambda score: score.update(more=1),
        lambda score: score["results"][0].update(rho="0.5"),
        lambda score: score["results"][0].update(rho_ci=[0.5]),
        lambda score: score["results"][0].update(n=0),
        lambda score: score["results"][0]["floors"].update(constant=0.5),
        lambda score: score["results"][0]["slices"]["task"]["DM"].pop("n"),
    ],
)
def test_the_schema_refuses_another_form(change, shroom, schema):
    score = json.loads(shroom("score", SAMPLE, SAMPLE, "--no-ci", "--format", "json")[1])
    schema.validate(score)
    change(score)
    assert not schema.is_valid(score)


@pytest.mark.parametrize("args", SCORED.values(), ids=SCORED)
def test_csv_and_markdown_have_a_row_for_each_track_floor_and_slice(args, shroom):
    results = json.loads(shroom("score", *args, "--format", "json")[1])["results"]
    code, out, _ = shroom("score", *args, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    for result in results:
        own = [row for row in rows if (row["split"], row["track"]) == part_of(result)]
        slices = sum(map(len, result["slices"].values()))
        assert len(own) == 1 + len(result["floors"]) + slices
        whole, names = own[0], [name[:-4] for name in own[0] if name.endswith("_low")]
        assert (whole["by"], int(whole["n"])) == ("", result["n"])
        assert names
        for name in names:
            assert whole[name] == ("" if result[name] is None else repr(result[name]))
            low, high = result[f"{name}_ci"] or ("", "")
            assert (whole[f"{name}_low"], whole[f"{name}_high"]) == (f"{low}", f"{high}")
    code, out, _ = shroom("score", *args, "--format", "markdown")
    table = [line for line in out.splitlines() if line.startswith("| ")]
    assert code == 0
    assert len(rows) + 1 == len([line for line in table if not line.startswith("| mean")])
    assert len({line.count(" | ") for line in table}) == 1


def part_of(result):
    return result["split"], result["track"]


def test_native_scores_have_the_same_tables(tmp_path, shroom):
    gold_file = write_lines(tmp_path / "g.jsonl", [felm_row(0)])
    told = write_lines(tmp_path / "p.jsonl", [{"index": "0", "labels": [True, False]}])
    for edition in ([], ["--edition", "felm"]):
        code, out, _ = shroom("score", told, gold_file, "--format", "csv", *edition)
        row = next(csv.DictReader(io.StringIO(out)))
        assert (code, row["track"], row["segment_f1"]) == (0, "felm", "1.0")
        code, out, _ = shroom("score", told, gold_file, "--format", "markdown", *edition)
        assert (code, "| segment\\_f1 | 1.000 |" in out) == (0, True)


def test_slices_of_felm_without_some_of_the_metrics_have_empty_cells(tmp_path, shroom):
    rows = [felm_row(0), felm_row(1, labels=(True, True), source="another")]
    gold_file = write_lines(tmp_path / "g.jsonl", rows)
    labels = [{"index": str(n), "labels": [True, False]} for n in range(2)]
    told = write_lines(tmp_path / "p.jsonl", labels)
    code, out, _ = shroom("score", told, gold_file, "--format", "markdown", "--no-ci")
    assert code == 0
    assert "| source | made up | another |\n|:---|---:|---:|\n| n | 1 | 1 |" in out


@pytest.mark.parametrize("before", ["", " ", "\u00a0", "\t", "\ufeff", "\u200b", "\u2060 \u034f"])
def test_no_cell_is_a_formula(before):
    """A text has an apostrophe before it, however a spreadsheet is led to read a formula."""
    texts = [f"{before}{sign}1,1" for sign in "=+-@＝＋－＠﹦"]
    cells = [cell for (cell,) in csv.reader(io.StringIO(as_csv([[text] for text in texts])))]
    assert [cell[0] + cell[-4:] for cell in cells] == [f"'{text[-4:]}" for text in texts]
    assert as_csv([[f"{before}a=1"], [-1.5]]).count("'") == before.startswith("\t")


def test_names_do_not_become_markdown(tmp_path, shroom):
    rows = [{**row, "model": "a|b_<c>"} for row in gold(12)]
    files = write_json(tmp_path / "p.json", predictions(12)), write_json(tmp_path / "g.json", rows)
    out = shroom("score", *files, "--by", "model", "--no-ci", "--format", "markdown")[1]
    assert "| model a\\|b\\_&lt;c> | 12 |" in out
