"""What ``shroom score`` writes for other programs: JSON by its schema, and JUnit's XML."""

import json
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from conftest import ROOT, SAMPLE, gold, predictions, write_json

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
def test_junit_has_a_test_for_each_score(args, shroom):
    scores = json.loads(shroom("score", *args, "--format", "json")[1])["results"]
    code, out, _ = shroom("score", *args, "--format", "junit")
    check, *suites = ET.fromstring(out)  # noqa: S314 - our own
    assert (code, check.get("failures"), len(suites)) == (0, "0", len(scores))
    for suite, score in zip(suites, scores):
        assert suite.get("name") == f"{score['split']} {score['track']}".strip()
        cases = {case.get("name"): case.findtext("system-out").split()[0] for case in suite[1:]}
        assert len(cases) == int(suite.get("tests")) >= 2
        assert cases == {name: repr(score[name]) for name in cases}


def test_junit_skips_what_is_undefined(tmp_path, shroom):
    rows = write_json(tmp_path / "gold.json", gold(12))
    constant = [{"label": "Hallucination", "p(Hallucination)": 1}] * 12
    _, out, _ = shroom(
        "score", write_json(tmp_path / "p.json", constant), rows, "--format", "junit"
    )
    check, suite = ET.fromstring(out)  # noqa: S314 - our own
    assert suite.find("testcase[@name='rho']/skipped").get("message") == "undefined"
    assert "[p-constant]" in check.findtext("testcase/system-err")


def test_junit_fails_with_every_problem(tmp_path, shroom):
    odd = "<\x00\ud800&\u2028]]>"
    wrong = [{**row, "label": odd} for row in predictions(12)]
    wrong[3]["p(Hallucination)"] = 2
    files = [
        write_json(tmp_path / f"{name}.json", rows)
        for name, rows in {"p": wrong, "g": gold()}.items()
    ]
    target = tmp_path / "scores.xml"
    code, _, err = shroom("score", *files, "--format", "junit", "-o", target)
    (suite,) = ET.fromstring(target.read_bytes())  # noqa: S314 - our own
    failure = suite.find("testcase[@name='check']/failure")
    assert (code, suite.get("failures")) == (1, "1")
    assert all(line in err for line in failure.text.splitlines())
    assert "[label-value]" in failure.get("message")
    assert "[p-range]" in failure.text
