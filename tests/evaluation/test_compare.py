"""`shroom compare`: every pair of systems, and what can go wrong."""

import json
import os
import shutil

import numpy as np
import pytest
from conftest import DATA, gold, write_json
from made_up import AGNOSTIC, AWARE, answers, contest

from shroom.core.problems import InvalidInput, ShroomError
from shroom.evaluation.comparison import compare
from shroom.metrics.intervals import Intervals
from shroom.metrics.paired_tests import holm, mcnemar
from shroom.scoring.metric_registry import METRICS, metric
from shroom.scoring.scores import score

FEW = ("--resamples", "200", "--trials", "200")
NOISES = {"good": 0.2, "fair": 0.6, "poor": 1.0}


@pytest.fixture
def systems(tmp_path):
    folder, truth = contest(tmp_path, NOISES)
    return [folder / name for name in NOISES], truth


def compared(shroom, *args):
    code, out, err = shroom("compare", *args, *FEW, "--format", "json")
    assert code == 0, err
    assert "NaN" not in out
    assert "Infinity" not in out
    return json.loads(out)


def test_no_p_is_shown_as_nothing(tmp_path, shroom):
    truth = gold(80)
    right = write_json(tmp_path / "right" / AWARE, answers(truth, 0.0))
    turned = [{**row, "label": "Hallucination"} for row in answers(truth, 1.0)]
    wrong = write_json(tmp_path / "wrong" / AWARE, turned)
    _, out, _ = shroom("compare", right, wrong, write_json(tmp_path / "g.json", truth), *FEW)
    assert "<0.0001" in out
    assert " 0.0000" not in out


def test_scores_are_those_of_shroom_score(systems, shroom):
    rows = compared(shroom, *systems[0], systems[1])["comparisons"]
    for place in systems[0]:
        own = score(place, systems[1]).results[0]
        said = {
            (row["metric"], row[f"{side}_score"])
            for row in rows
            for side in "ab"
            if row[side] == place.name
        }
        assert said == {("accuracy", own.accuracy), ("rho", own.rho)}


def test_p_is_corrected_over_the_pairs_of_a_metric(systems):
    found = compare(*systems, intervals=Intervals(0), trials=300).comparisons
    for kind in ("accuracy", "rho"):
        rows = [row for row in found if row.metric == kind]
        assert [row.p_adjusted for row in rows] == holm([row.p for row in rows]).tolist()
    exact = [row.mcnemar for row in found if row.mcnemar]
    assert [test.p_adjusted for test in exact] == holm([test.p for test in exact]).tolist()


@pytest.mark.parametrize("by", ["name", "path"])
def test_a_baseline_is_tested_against_each_other_system(systems, shroom, by):
    places, truth = systems
    full = compared(shroom, *places, truth)["comparisons"]
    chosen = {"name": "fair", "path": places[1]}[by]
    found = compared(shroom, *places, truth, "--baseline", chosen)
    rows = found["comparisons"]
    assert found["baseline"] == "fair"
    assert [(row["a"], row["b"]) for row in rows] == [("good", "fair"), ("poor", "fair")] * 2
    for row in rows:
        pair = {row["a"], row["b"]}
        (same,) = (
            each
            for each in full
            if {each["a"], each["b"]} == pair and each["metric"] == row["metric"]
        )
        assert row["p"] == same["p"]
        assert abs(row["difference"]) == abs(same["difference"])
    for kind in ("accuracy", "rho"):
        own = [row for row in rows if row["metric"] == kind]
        assert [row["p_adjusted"] for row in own] == holm([row["p"] for row in own]).tolist()
    exact = [row["mcnemar"] for row in rows if "mcnemar" in row]
    assert [test["p_adjusted"] for test in exact] == holm([test["p"] for test in exact]).tolist()
    text = shroom("compare", *places, truth, "--baseline", chosen, *FEW)[1]
    assert "baseline: fair; the other systems are not compared with each other" in text


def test_an_unknown_baseline_is_a_sentence(systems, tmp_path, shroom):
    places, truth = systems
    code, out, err = shroom("compare", *places, truth, "--baseline", "god")
    assert (code, out) == (2, "")
    assert "no submission 'god' to compare with; did you mean 'good'?" in err
    assert "there are good, fair, poor" in err
    rows = gold(12)
    write_json(tmp_path / "other" / AGNOSTIC, answers(rows, 0.5))
    write_json(truth / AGNOSTIC, rows)
    everywhere = (*places, tmp_path / "other", truth)
    left_out = compared(shroom, *everywhere)["left_out"]
    text = shroom("compare", *everywhere, *FEW)[1]
    assert [f"{track}: not compared" in text for track in left_out] == [True]
    code, _, err = shroom("compare", *everywhere, "--baseline", "other")
    assert code == 1
    assert "no track has two submissions to compare, one of them other" in err


def test_mcnemar_counts_the_items(systems):
    places, truth = systems
    rows = [json.loads((place / AWARE).read_text()) for place in places[:2]]
    gold_rows = json.loads((truth / AWARE).read_text())
    right = [
        np.array([row["label"] == own["label"] for row, own in zip(part, gold_rows)])
        for part in rows
    ]
    found = compare(places[:2], truth, intervals=Intervals(0), trials=10).comparisons[0].mcnemar
    assert (found.p, found.only_a, found.only_b) == mcnemar(*right)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_swapping_turns_the_difference_and_leaves_p(systems, method):
    (a, b, _), truth = systems
    how = Intervals(300, method=method)
    metrics = [metric(name) for name in METRICS]
    there = compare([a, b], truth, metrics=metrics, intervals=how, trials=100).comparisons
    back = compare([b, a], truth, metrics=metrics, intervals=how, trials=100).comparisons
    for one, other in zip(there, back):
        assert one.difference == -other.difference
        assert one.ci == pytest.approx((-other.ci[1], -other.ci[0]), abs=1e-12)
        assert (one.p, one.p_adjusted) == (other.p, other.p_adjusted)
        assert one.detectable_difference == pytest.approx(other.detectable_difference)


def test_identical_systems(systems, tmp_path, shroom):
    (a, _, _), truth = systems
    twin = shutil.copytree(a, tmp_path / "twin")
    for row in compared(shroom, a, twin, truth, "--metrics", "all")["comparisons"]:
        assert (row["difference"], row["ci"], row["p"], row["p_adjusted"]) == (0, [0, 0], 1, 1)
        assert row["detectable_difference"] is None
    code, out, _ = shroom("compare", a, twin, truth, *FEW)
    assert code == 0
    assert "*" not in out.partition("\n\n")[0]


# What is undefined, and small


def write_track(folder, truth, systems):
    write_json(folder / "gold.json", truth)
    for name, rows in systems.items():
        write_json(folder / f"{name}.json", rows)
    return [folder / f"{name}.json" for name in systems], folder / "gold.json"


def test_constant_p_has_no_rho_and_says_why(tmp_path, shroom):
    truth = gold(20)
    flat = [{**row, "p(Hallucination)": 0.5} for row in answers(truth, 0.5)]
    places, target = write_track(tmp_path, truth, {"a": answers(truth, 0.3), "flat": flat})
    found = compared(shroom, *places, target, "--metrics", "all")
    row = next(row for row in found["comparisons"] if row["metric"] == "rho")
    assert row["a_score"] is not None
    undefined = ("b_score", "difference", "ci", "p", "p_adjusted", "detectable_difference")
    assert {row[key] for key in undefined} == {None}
    assert any("p-constant" in warning for warning in found["warnings"])
    code, out, err = shroom("compare", *places, target, *FEW)
    assert code == 0
    assert "nan" not in out
    assert "–: undefined, because p or the gold is the same for all items" in out
    assert "p-constant" in err


@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_items(tmp_path, shroom, n):
    truth = gold(n)
    places, target = write_track(
        tmp_path, truth, {"a": answers(truth, 0.1), "b": answers(truth, 1.0, 5)}
    )
    found = compared(shroom, *places, target, "--metrics", "all", "--interval", "bca")
    assert {row["ci"] for row in found["comparisons"]} == {None}
    assert {row["detectable_difference"] for row in found["comparisons"]} == {None}
    code, out, _ = shroom("compare", *places, target, "--metrics", "all", *FEW)
    assert code == 0
    assert "nan" not in out


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_a_doubtful_interval_is_marked(tmp_path, shroom, method):
    truth = gold(10)
    places, target = write_track(
        tmp_path, truth, {"a": answers(truth, 0.01), "b": answers(truth, 0.02)}
    )
    command = ("compare", *places, target, *FEW, "--interval", method)
    out = shroom(*command)[1]
    assert "[0.000, 0.000]‡" in out
    assert "‡ doubtful interval: all resamples equal (a - b, model-agnostic accuracy" in out
    found = json.loads(shroom(*command, "--format", "json")[1])["comparisons"]
    assert next(row.get("ci_note") for row in found) == "all resamples equal"


# Tracks, splits and containers


def test_names_that_tell_no_split_are_of_the_golds_one(tmp_path, shroom):
    truth = gold(24)
    write_json(tmp_path / "gold.json", truth)
    write_json(tmp_path / "b.json", answers(truth, 0.5))
    write_json(tmp_path / "a" / AWARE, answers(truth, 0.3))
    for order in (("b.json", f"a/{AWARE}"), (f"a/{AWARE}", "b.json")):
        found = compared(shroom, *(tmp_path / name for name in order), tmp_path / "gold.json")
        assert {(row["split"], row["track"]) for row in found["comparisons"]} == {
            ("val", "model-aware")
        }
        assert [found["comparisons"][0][side] for side in "ab"] == [name[0] for name in order]


def test_no_track_in_common(tmp_path, shroom):
    folder, truth = contest(tmp_path, {"a": 0.2, "b": 0.4}, n=24, files=(AGNOSTIC, AWARE))
    (folder / "a" / AGNOSTIC).unlink()
    (folder / "b" / AWARE).unlink()
    code, out, err = shroom("compare", folder / "a", folder / "b", truth)
    assert (code, out) == (1, "")
    assert "two of one track" in err


def test_val_and_test_are_compared_each(tmp_path, shroom):
    test = "test.model-aware.json"
    folder, truth = contest(tmp_path, {"a": 0.2, "b": 0.4}, n=24)
    rows = gold(20, first_id=100)
    write_json(truth / test, rows)
    for seed, name in enumerate("ab"):
        write_json(folder / name / test, answers(rows, 0.5, seed)[::-1])
    found = compared(shroom, folder / "a", folder / "b", truth)["comparisons"]
    assert [(row["split"], row["n"]) for row in found] == [("val", 24)] * 2 + [("test", 20)] * 2


def test_one_submission_can_come_from_a_pipe(systems, shroom, monkeypatch):
    (a, b, _), truth = systems
    with (a / AWARE).open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        found = compared(shroom, "-", b / AWARE, truth / AWARE)["comparisons"]
    assert found[0]["a"] == "pipe"
    assert found[0]["a_score"] == score(a, truth).results[0].accuracy


@pytest.mark.linux
@pytest.mark.parametrize("kind", ["dash", "fifo"])
def test_gold_from_a_pipe_is_refused(systems, tmp_path, shroom, kind):
    target = "-"
    if kind == "fifo":
        target = tmp_path / "fifo"
        os.mkfifo(target)
    code, out, err = shroom("compare", *systems[0], target)
    assert (code, out) == (1, "")
    assert "write it to a file first" in err


def test_two_pipes_and_one_submission_are_wrong_command_lines(systems, shroom):
    places, truth = systems
    assert shroom("compare", "-", "-", truth)[0] == 2
    assert shroom("compare", places[0], truth)[0] == 2
    assert shroom("compare", *places, truth, "--confidence", "1")[0] == 2
    assert shroom("compare", *places, truth, "--trials", "0")[0] == 2
    code, _, err = shroom("compare", *places, truth, "--metrics", "acuracy")
    assert code == 2
    assert "did you mean 'accuracy'" in err


def test_all_problems_of_all_submissions_are_told(systems, shroom):
    places, truth = systems
    for place, bad in zip(places[:2], ("0.5", None)):
        rows = json.loads((place / AWARE).read_text())
        rows[3]["p(Hallucination)"] = bad
        write_json(place / AWARE, rows)
    code, out, err = shroom("compare", *places, truth)
    assert (code, out) == (1, "")
    assert all(str(place / AWARE) in err for place in places[:2])
    with pytest.raises(InvalidInput):
        compare(places, truth)


# The systems' names


def test_the_same_submission_twice(systems, shroom):
    places, truth = systems
    found = compared(shroom, places[0], places[0], truth)["comparisons"]
    assert [(row["a"], row["b"], row["p"]) for row in found] == [("good", "good (2)", 1.0)] * 2


def test_the_library_refuses_systems_on_other_gold(systems, tmp_path):
    from shroom.evaluation.board import boards
    from shroom.scoring.check import check

    places, truth = systems
    other = tmp_path / "other" / AWARE
    rows = gold(60)
    rows[0] = {**rows[0], "p(Hallucination)": 1.0, "label": "Hallucination"}
    write_json(other, rows)
    with pytest.raises(ShroomError, match="other gold"):
        boards({"a": check(places[0], truth), "b": check(places[1], other.parent)})


@pytest.mark.real
def test_real_systems():
    folder = DATA / "submissions"
    good, fair = "gpt-4-1106-preview-v8-2024-01-20", "gpt-3.5-turbo-v8-2024-01-20"
    found = compare(
        [folder / good, folder / fair], DATA / "semeval2024", trials=2000, intervals=Intervals(2000)
    ).comparisons
    by = {(row.track, row.metric): row for row in found}
    accuracy, rho = (by["model-aware", name] for name in ("accuracy", "rho"))
    assert (accuracy.mcnemar.only_a, accuracy.mcnemar.only_b) == (47, 36)
    assert accuracy.p == pytest.approx(accuracy.mcnemar.p, abs=0.04)
    assert not accuracy.significant
    assert rho.significant
    assert rho.ci[0] > 0
