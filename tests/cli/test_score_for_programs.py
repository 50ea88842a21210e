"""What ``shroom score`` writes for other programs: JSON by its schema, csv and Markdown."""

import csv
import io
import json

import jsonschema
import pytest
from conftest import ROOT, SAMPLE

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
    found = json.loads(shroom("score", "--json-schema")[1])
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


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
def test_the_schema_refuses_another_form(change, in_json, schema):
    score = in_json("score", SAMPLE, SAMPLE, "--no-ci")
    schema.validate(score)
    change(score)
    assert not schema.is_valid(score)


@pytest.mark.parametrize("args", SCORED.values(), ids=SCORED)
def test_json_follows_its_schema_and_tables_have_all_of_its_rows(args, shroom, schema):
    """A row for each track, floor and slice."""
    forms = {form: shroom("score", *args, "--format", form) for form in ("json", "csv", "markdown")}
    assert [code for code, _, _ in forms.values()] == [0, 0, 0]
    found = json.loads(forms["json"][1], parse_constant=pytest.fail)
    schema.validate(found)
    rows = list(csv.DictReader(io.StringIO(forms["csv"][1])))
    for result in found["results"]:
        part = result["split"], result["track"]
        own = [row for row in rows if (row["split"], row["track"]) == part]
        slices = sum(map(len, result["slices"].values()))
        assert len(own) == 1 + len(result["floors"]) + slices
        whole, names = own[0], [name[:-4] for name in own[0] if name.endswith("_low")]
        assert (whole["by"], int(whole["n"])) == ("", result["n"])
        assert names
        for name in names:
            assert whole[name] == ("" if result[name] is None else repr(result[name]))
            low, high = result[f"{name}_ci"] or ("", "")
            assert (whole[f"{name}_low"], whole[f"{name}_high"]) == (f"{low}", f"{high}")
    table = [line for line in forms["markdown"][1].splitlines() if line.startswith("| ")]
    assert len(rows) + 1 == len([line for line in table if not line.startswith("| mean")])
    assert len({line.count(" | ") for line in table}) == 1


@pytest.mark.parametrize("before", ["", " ", "\u00a0", "\t", "\ufeff", "\u200b", "\u2060 \u034f"])
def test_no_cell_is_a_formula(before):
    """A text has an apostrophe before it, however a spreadsheet is led to read a formula."""
    texts = [f"{before}{sign}1,1" for sign in "=+-@＝＋－＠﹦"]
    cells = [cell for (cell,) in csv.reader(io.StringIO(as_csv([[text] for text in texts])))]
    assert [cell[0] + cell[-4:] for cell in cells] == [f"'{text[-4:]}" for text in texts]
    assert as_csv([[f"{before}a=1"], [-1.5]]).count("'") == before.startswith("\t")
