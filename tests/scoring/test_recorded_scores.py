"""Real submissions, and the scores that the organisers' program printed for them."""

import csv
import datetime as dt
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, nli_models, nli_submission

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


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The scoring program out of a built bundle, with numpy and nothing else beside it."""
    folder = tmp_path_factory.mktemp("built")
    archive = io.BytesIO(build(GOLD, dt.date(2027, 1, 1))["scoring_program.zip"])
    zipfile.ZipFile(archive).extractall(folder / "program")
    (folder / "numpy-alone").mkdir()
    for name in ("numpy", "numpy.libs"):
        source = Path(np.__file__).parent.parent / name
        if source.exists():
            (folder / "numpy-alone" / name).symlink_to(source)

    def run(submission, output):
        """Score val files; return what scores.txt says, key by key."""
        arguments = [folder / "program" / "score.py", submission, GOLD, output, "--is_val"]
        done = subprocess.run(
            [sys.executable, "-S", *map(str, arguments)],
            env={"PYTHONPATH": str(folder / "numpy-alone")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return dict(line.split(": ") for line in output.read_text().splitlines())

    return run


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


@pytest.mark.parametrize("system", sorted({row["file"].split("/")[0] for row in recorded()}))
def test_the_organisers_call_writes_their_file(system, tmp_path):
    out = tmp_path / "scores.txt"
    line = [sys.executable, "-m", "shroom.score", SUBMISSIONS / system, GOLD, out]
    refused = subprocess.run(line, capture_output=True, text=True)
    assert (refused.returncode, out.exists()) == (1, False)
    assert refused.stderr.endswith(f"{system}: is of the val split; add --is_val to score it\n")
    assert subprocess.run([*line, "--is_val"]).returncode == 0
    own = [row for row in recorded() if row["file"].startswith(f"{system}/")]
    expected = {f"{row['track']}_{name}:{row[key]}\n" for row in own for name, key in KEYS}
    assert set(out.read_text().splitlines(keepends=True)) == expected


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
def test_the_built_program_gives_the_same(system, tmp_path, built):
    values = built(SUBMISSIONS / system, tmp_path / "scores.txt")
    for row in recorded():
        if row["file"].startswith(f"{system}/"):
            assert values[f"{row['track']}_acc"] == row["accuracy"]
            assert values[f"{row['track']}_rho"] == row["rho"]


@pytest.mark.parametrize("model", nli_models())
def test_nli_outputs(model, tmp_path, shroom, built):
    nli_submission(model, tmp_path / "sub")
    lines = (DATA / "nli_outputs" / f"{model}.val.score.txt").read_text().split()
    assert len(lines) == 4
    code, out, _ = shroom("score", tmp_path / "sub", GOLD, "--format", "codalab")
    assert code == 0
    assert sorted(out.replace(": ", ":").split()) == sorted(lines)
    values = built(tmp_path / "sub", tmp_path / "scores.txt")
    assert sorted(":".join(pair) for pair in values.items()) == sorted(lines)


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
    assert report["counts"]["label-against-p"] == 1
    assert "Traceback" not in err
