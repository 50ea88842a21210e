"""`shroom leaderboard --best-of`: the best of several submissions, and its optimism."""

import json
import math
import shutil

import numpy as np
import pytest
from conftest import gold, write_json
from made_up import AGNOSTIC, AWARE, answers, latent

from shroom.evaluation.best_of import optimism, teams_in
from shroom.metrics.classification import ACCURACY
from shroom.scoring.metric_registry import METRICS, metric
from shroom.scoring.scores import score

FEW = ("--resamples", "100", "--trials", "500")


def seen_by(measure, strengths, n, seed=0):
    u, seen = latent.draw(n, strengths, np.random.default_rng(seed))
    return [latent.statistics(measure, u, z, digits=2) for z in seen]


@pytest.mark.parametrize("name", list(METRICS))
def test_optimism_is_what_a_loop_over_halves_gives(name):
    measure, n, splits = metric(name), 80, 30
    systems = seen_by(measure, [0.7, 0.71, 0.5, 0.72], n)
    generator = np.random.default_rng(5)
    sign = 1 if measure.higher_is_better else -1
    differences = []
    for _ in range(splits):
        order = generator.permuted(np.arange(n))
        for chosen, other in ((order[:40], order[40:]), (order[40:], order[:40])):
            scores = [sign * measure(rows[chosen]) for rows in systems]
            best = int(np.argmax(scores))
            differences.append(scores[best] - sign * measure(systems[best][other]))
    expected = np.mean(differences) * math.sqrt(0.5)
    assert optimism(measure, systems, splits, seed=5) == pytest.approx(expected, abs=1e-12)
    assert expected > 0


def test_optimism_is_none_of_a_system_alone_or_far_ahead():
    good, poor = np.ones((30, 1)), np.zeros((30, 1))
    assert optimism(ACCURACY, [good]) == 0
    assert optimism(ACCURACY, [poor, good, poor]) == 0
    assert optimism(ACCURACY, [good[:1], poor[:1]]) is None
    constant = np.column_stack((np.zeros(30, int), np.arange(30)))
    assert optimism(metric("rho"), [constant, constant]) is None


@pytest.mark.parametrize("name", ["accuracy", "rho"])
def test_the_corrected_best_of_equal_systems_is_right_on_average(name):
    measure, trials = metric(name), 60
    true = 0.7
    strength = latent.correlation_for(name, true)
    best, corrected = np.zeros(trials), np.zeros(trials)
    for seed in range(trials):
        systems = seen_by(measure, [strength] * 8, 200, seed)
        common = np.mean([measure(rows) for rows in systems]) - true  # no optimism: all have it
        best[seed] = max(map(measure, systems)) - common
        corrected[seed] = best[seed] - optimism(measure, systems, 100)
    error = 3 * best.std() / math.sqrt(trials)
    assert best.mean() - true > 0.015
    assert abs(corrected.mean() - true) < max(error, 0.006)


@pytest.fixture
def teams(tmp_path):
    truth = {file: gold(60) for file in (AGNOSTIC, AWARE)}
    noises = {"red/one": 0.9, "red/two": 0.3, "red/three": 0.8, "blue/only": 0.5, "green": 0.6}
    for file, rows in truth.items():
        write_json(tmp_path / "gold" / file, rows)
        for seed, (system, noise) in enumerate(noises.items()):
            write_json(tmp_path / "teams" / system / file, answers(rows, noise, seed))
    return tmp_path / "teams", tmp_path / "gold"


def test_a_team_is_a_folder_of_submissions_or_one_submission(teams):
    root, _ = teams
    shutil.make_archive(str(root / "blue" / "zipped"), "zip", root / "blue" / "only")
    shutil.make_archive(str(root / "violet"), "zip", root / "green")
    (root / "red" / "notes.txt").write_text("x")
    systems, others = teams_in(root)
    assert sorted(systems) == [
        *("blue/only", "blue/zipped", "green"),
        *("red/one", "red/three", "red/two", "violet"),
    ]
    assert [path.name for path in others] == ["notes.txt"]


@pytest.mark.parametrize("by", ["accuracy", "rho"])
def test_teams_are_ranked_by_their_best(teams, shroom, by):
    root, truth = teams
    code, out, err = shroom(
        "leaderboard", *teams, *FEW, "--best-of", "--metric", by, "--format", "json"
    )
    assert code == 0, err
    board = json.loads(out)
    rows = [row for row in board["rows"] if row["kind"] == "system"]
    for place, track in enumerate(("model-agnostic", "model-aware")):
        own = {row["system"]: row for row in rows if row["track"] == track}
        assert set(own) == {"red", "blue", "green"}
        best = {entry["team"]: entry for entry in board["best_of"] if entry["track"] == track}
        assert {team: entry["submissions"] for team, entry in best.items()} == {
            "red": 3,
            "blue": 1,
            "green": 1,
        }
        assert best["red"]["submission"] == "two"
        assert best["red"]["score"] == own["red"][by]
        assert own["red"][by] == getattr(score(root / "red" / "two", truth).results[place], by)
        assert best["blue"]["optimism"] == 0
        assert best["red"]["optimism"] >= 0
        for entry in best.values():
            assert entry["corrected"] == entry["score"] - entry["optimism"]
            better = [other for other in best.values() if other["corrected"] > entry["corrected"]]
            assert entry["corrected_rank"] == 1 + len(better)


def test_the_table_and_the_page_show_the_best(teams, tmp_path, shroom):
    write_json(teams[0] / "red" / "broken" / AWARE, [])
    page = tmp_path / "page.html"
    code, out, err = shroom("leaderboard", *teams, *FEW, "--best-of", "--html", page)
    assert code == 0, err
    assert out.count("best of several submissions") == 2
    assert "not ranked: red/broken" in out
    assert "Each team has the rank of its best submission." in out
    assert page.read_text(encoding="utf-8").count("best of several submissions</h2>") == 2


def test_a_folder_without_submissions_is_refused(tmp_path, teams, shroom):
    (tmp_path / "empty").mkdir()
    code, out, err = shroom("leaderboard", tmp_path / "empty", teams[1], "--best-of")
    assert (code, out) == (1, "")
    assert "has no submission" in err
