"""Real submissions, and the scores that the organisers' program printed for them."""

import csv
import datetime as dt
import io
import json
import subprocess
import sys

import pytest
from conftest import DATA, nli_models, nli_submission
from platform_worker import bare_python, unzip

from shroom.bundle import build
from shroom.metrics.intervals import Intervals
from shroom.scoring.scores import score

pytestmark = pytest.mark.real

KEYS = (("acc", "accuracy"), ("rho", "rho"))
SUBMISSIONS = DATA / "submissions"
GOLD = DATA / "semeval2024"


def recorded():
    path = SUBMISSIONS / "recorded_scores.csv"
    if not path.is_file():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


SYSTEMS = sorted({row["file"].split("/")[0] for row in recorded()})


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The command of a built bundle's scoring program, with numpy and nothing else beside it."""
    folder = tmp_path_factory.mktemp("built")
    unzip(io.BytesIO(build(GOLD, dt.date(2027, 1, 1))["scoring_program.zip"]), folder)
    numpy = bare_python(tmp_path_factory.mktemp("numpy-alone"))
    return ["env", "-i", f"PYTHONPATH={numpy}", sys.executable, "-S", folder / "score.py"]


def written(command, submission, output):
    """Score val files by the organisers' call, and return the lines that it writes."""
    call = [*command, submission, GOLD, output, "--is_val"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {line.replace(": ", ":") for line in output.read_text().splitlines()}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_way_to_score_writes_the_recorded_lines(system, shroom, tmp_path, program):
    rows = [row for row in recorded() if row["file"].startswith(f"{system}/")]
    lines = {f"{row['track']}_{name}:{row[key]}" for row in rows for name, key in KEYS}
    line = ("score", SUBMISSIONS / system, GOLD, "--format", "codalab")
    assert set(shroom(*line)[1].replace(": ", ":").splitlines()) == lines
    in_order = sorted(lines, key=lambda line: (not line.startswith("aware"), line))
    assert shroom(*line, "--official")[1].splitlines() == in_order
    module = [sys.executable, "-m", "shroom.score"]
    assert written(module, SUBMISSIONS / system, tmp_path / "module.txt") == lines
    assert written(program, SUBMISSIONS / system, tmp_path / "program.txt") == lines


def test_every_system_is_recorded():
    assert (len(recorded()), len(nli_models())) == (28, 6)
    folders = {path.name for path in SUBMISSIONS.iterdir() if path.is_dir()} - {"defective"}
    assert set(SYSTEMS) == folders


@pytest.mark.parametrize("model", nli_models())
def test_nli_outputs(model, tmp_path, shroom, program):
    nli_submission(model, tmp_path / "sub")
    lines = set((DATA / "nli_outputs" / f"{model}.val.score.txt").read_text().split())
    assert len(lines) == 4
    _, out, _ = shroom("score", tmp_path / "sub", GOLD, "--format", "codalab")
    assert set(out.replace(": ", ":").splitlines()) == lines
    assert written(program, tmp_path / "sub", tmp_path / "scores.txt") == lines


@pytest.mark.parametrize(
    ("name", "ceiling", "majority"),
    [("val.model-agnostic.json", 0.872, 0.563), ("val.model-aware.v2.json", 0.866, 0.589)],
)
def test_floors_of_the_real_gold(name, ceiling, majority):
    gold = GOLD / name
    (result,) = score(gold, gold, intervals=Intervals(0)).results
    assert result.floors["gold label as p"]["rho"] == pytest.approx(ceiling, abs=0.0005)
    assert result.floors["majority label"]["accuracy"] == pytest.approx(majority, abs=0.0005)
    assert (result.accuracy, result.rho) == (1, 1)


def test_the_defective_submission_has_each_defect_named(shroom):
    path = SUBMISSIONS / "defective" / "string_p_and_no_id.test.model-agnostic.json"
    code, out, _ = shroom("check", path, "--data", GOLD, "--format", "json")
    defects = {"p-number": 1500, "id-missing": 1, "label-against-p": 1}
    counts = json.loads(out)["counts"]
    assert (code, {name: counts[name] for name in defects}) == (1, defects)
