"""Real submissions, and the scores that the organisers' program printed for them."""

import csv
import importlib.util
import json
import sys

import pytest
from conftest import DATA, ROOT

from shroom.scoring import Intervals, score

pytestmark = pytest.mark.real

SUBMISSIONS = DATA / "submissions"
GOLD = DATA / "semeval2024"


def recorded():
    path = SUBMISSIONS / "recorded_scores.csv"
    if not path.is_file():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def program():
    """Return the scoring program as a module."""
    path = ROOT / "scorer" / "scoring_program" / "score.py"
    spec = importlib.util.spec_from_file_location("scoring_program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.remove(str(path.parent))
    return module


@pytest.mark.parametrize("row", recorded(), ids=lambda row: row["file"])
def test_every_recorded_score_in_every_digit(row, shroom):
    expected = (row["accuracy"], row["rho"])
    code, out, _ = shroom("score", SUBMISSIONS / row["file"], GOLD, "--format", "json")
    (result,) = json.loads(out)["results"]
    assert code == 0
    assert (repr(result["accuracy"]), repr(result["rho"])) == expected

    _, out, _ = shroom("score", SUBMISSIONS / row["file"], GOLD, "--format", "codalab")
    values = dict(line.split(": ") for line in out.splitlines())
    assert (values[f"{row['track']}_acc"], values[f"{row['track']}_rho"]) == expected


def test_every_system_is_recorded():
    assert len(recorded()) == 28
    folders = {path.name for path in SUBMISSIONS.iterdir() if path.is_dir()} - {"defective"}
    assert {row["file"].split("/")[0] for row in recorded()} == folders


@pytest.mark.parametrize("system", sorted({row["file"].split("/")[0] for row in recorded()}))
def test_the_official_rules_give_the_same(system, shroom):
    code, out, _ = shroom("score", SUBMISSIONS / system, GOLD, "--official", "--format", "codalab")
    rows = {row["track"]: row for row in recorded() if row["file"].startswith(f"{system}/")}
    lines = [
        f"{track}_{metric}:{rows[track][column]}"
        for track in ("aware", "agnostic")
        for metric, column in (("acc", "accuracy"), ("rho", "rho"))
    ]
    assert (code, out.splitlines()) == (0, lines)


@pytest.mark.parametrize("system", sorted({row["file"].split("/")[0] for row in recorded()}))
def test_the_scoring_program_gives_the_same(system, tmp_path, capsys):
    assert program().run(SUBMISSIONS / system, GOLD, folder=tmp_path, splits=("val",)) == 0
    values = json.loads((tmp_path / "scores.json").read_text())
    for row in recorded():
        if row["file"].startswith(f"{system}/"):
            assert repr(values[f"{row['track']}_acc"]) == row["accuracy"]
            assert repr(values[f"{row['track']}_rho"]) == row["rho"]


def nli_models():
    return sorted(path.name[: -len(".val.score.txt")] for path in DATA.glob("nli_outputs/*.txt"))


@pytest.mark.parametrize("model", nli_models())
def test_nli_outputs(model, tmp_path, shroom):
    """p = C/(C+E), 0.5 where both are 0; C itself where E is not told. Hallucination above 0.5."""
    for track in ("agnostic", "aware"):
        with (DATA / "nli_outputs" / f"{model}.val.model-{track}.csv").open(newline="") as stream:
            p = [contradicted(row) for row in csv.DictReader(stream)]
        labels = ["Hallucination" if value > 0.5 else "Not Hallucination" for value in p]
        items = [{"label": a, "p(Hallucination)": b} for a, b in zip(labels, p)]
        (tmp_path / f"val.model-{track}.json").write_text(json.dumps(items))
    lines = (DATA / "nli_outputs" / f"{model}.val.score.txt").read_text().split()
    assert len(lines) == 4
    code, out, _ = shroom("score", tmp_path, GOLD, "--format", "codalab")
    assert code == 0
    assert sorted(out.replace(": ", ":").split()) == sorted(lines)


def contradicted(row):
    c, e = float(row["p(Contr)"]), row.get("p(Entl)")
    if e is None:
        return c
    return c / (c + float(e)) if c + float(e) else 0.5


def test_six_nli_models():
    assert len(nli_models()) == 6


@pytest.mark.parametrize(
    ("track", "ceiling", "majority"), [("agnostic", 0.872, 0.563), ("aware", 0.866, 0.589)]
)
def test_floors_of_the_real_gold(track, ceiling, majority):
    gold = GOLD / ("val.model-agnostic.json" if track == "agnostic" else "val.model-aware.v2.json")
    (result,) = score(gold, gold, intervals=Intervals(0)).results
    assert result.floors["gold label as p"]["rho"] == pytest.approx(ceiling, abs=0.0005)
    assert result.floors["majority label"]["accuracy"] == pytest.approx(majority, abs=0.0005)
    assert (result.accuracy, result.rho) == (1, 1)


def test_the_defective_submission_has_each_defect_named(shroom):
    path = SUBMISSIONS / "defective" / "string_p_and_no_id.test.model-agnostic.json"
    code, out, err = shroom("check", path, "--data", GOLD, "--format", "json")
    report = json.loads(out)
    assert code == 1
    assert report["counts"]["p-number"] == 1500
    assert report["counts"]["id-missing"] == 1
    assert report["counts"]["p-inverted"] == 1
    assert "Traceback" not in err
