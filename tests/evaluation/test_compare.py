"""`shroom compare`: every pair of systems, and what can go wrong."""

import json
import os
from functools import partial

import pytest
from conftest import gold, write_json
from made_up import AGNOSTIC, AWARE, answers, contest

from shroom.core.problems import ShroomError
from shroom.evaluation.comparison import compare
from shroom.metrics.intervals import Intervals
from shroom.metrics.paired_tests import holm
from shroom.scoring.metric_registry import METRICS, metric
from shroom.scoring.scores import score

FEW = ("--resamples", "200", "--trials", "200")
NOISES = {"good": 0.2, "fair": 0.6, "poor": 1.0}


@pytest.fixture
def systems(tmp_path):
    folder, truth = contest(tmp_path, NOISES)
    return [folder / name for name in NOISES], truth


@pytest.fixture
def compared(in_json):
    return partial(in_json, "compare", *FEW)


def test_no_p_is_shown_as_nothing(tmp_path):
    truth = gold(80)
    wrong = [{**row, "label": "Hallucination"} for row in answers(truth, 1.0)]
    out = compare({"right": answers(truth, 0.0), "wrong": wrong}, truth, trials=200).render("text")
    assert ("<0.0001" in out, " 0.0000" in out) == (True, False)


def assert_corrected(comparisons):
    """Assert that each metric's p-values are corrected for its pairs."""
    for kind in ("accuracy", "rho"):
        rows = [row for row in comparisons if row.metric == kind]
        assert [row.p_adjusted for row in rows] == holm([row.p for row in rows]).tolist()
    exact = [row.mcnemar for row in comparisons if row.mcnemar]
    assert [test.p_adjusted for test in exact] == holm([test.p for test in exact]).tolist()


@pytest.mark.parametrize("by", ["name", "path"])
def test_a_baseline_is_tested_against_each_other_system(systems, by):
    places, truth = systems
    few = {"intervals": Intervals(0), "trials": 300}
    full = compare(places, truth, **few).comparisons
    found = compare(places, truth, baseline={"name": "fair", "path": places[1]}[by], **few)
    rows = found.comparisons
    assert [(row.a, row.b) for row in rows] == [("good", "fair"), ("poor", "fair")] * 2
    for row in rows:
        pair = {row.a, row.b}
        (same,) = (it for it in full if {it.a, it.b} == pair and it.metric == row.metric)
        assert (row.p, abs(row.difference)) == (same.p, abs(same.difference))
    for comparisons in (full, rows):
        assert_corrected(comparisons)
    assert found.to_dict()["baseline"] == "fair"
    assert "baseline: fair; pairs without the baseline are not tested" in found.render("text")


def test_a_baseline_needs_another_submission_on_a_track(systems, tmp_path, done, refused):
    places, truth = systems
    write_json(tmp_path / "other" / AGNOSTIC, answers(gold(12), 0.5))
    write_json(truth / AGNOSTIC, gold(12))
    everywhere = (*places, tmp_path / "other", truth)
    assert "val model-agnostic: not compared" in done("compare", *everywhere, *FEW)
    err = refused("compare", *everywhere, "--baseline", "other")
    assert "no track has two submissions including other" in err


def test_swapping_turns_the_difference_and_leaves_p(systems):
    (a, b, _), truth = systems
    how = Intervals(300)
    metrics = [metric(name) for name in METRICS]
    there = compare([a, b], truth, metrics=metrics, intervals=how, trials=100).comparisons
    back = compare([b, a], truth, metrics=metrics, intervals=how, trials=100).comparisons
    for one, other in zip(there, back):
        assert one.difference == -other.difference
        assert one.ci == pytest.approx((-other.ci[1], -other.ci[0]), abs=1e-12)
        assert (one.p, one.p_adjusted) == (other.p, other.p_adjusted)
        assert one.detectable_difference == pytest.approx(other.detectable_difference)


def test_identical_systems(systems):
    (a, _, _), truth = systems
    how = Intervals(200, method="bca")  # differences get percentile intervals all the same
    found = compare([a, a], truth, metrics=[*METRICS], intervals=how, trials=200)
    assert found.to_dict()["intervals"]["method"] == "percentile"
    for row in found.comparisons:
        assert (row.a, row.b) == ("good", "good (2)")
        assert (row.difference, row.ci, row.p, row.p_adjusted) == (0, (0, 0), 1, 1)
        assert row.detectable_difference is None
    assert "†" not in found.render("text").partition("\np-values:")[0]


# What is undefined, and small


def test_constant_p_has_no_rho_and_says_why(tmp_path, shroom, compared):
    truth = gold(20)
    flat = [{**row, "p(Hallucination)": 0.5} for row in answers(truth, 0.5)]
    systems = {"a": answers(truth, 0.3), "flat": flat, "gold": truth}
    paths = [write_json(tmp_path / f"{name}.json", rows) for name, rows in systems.items()]
    found = compared(*paths, "--metrics", "all")
    row = next(row for row in found["comparisons"] if row["metric"] == "rho")
    assert row["a_score"] is not None
    undefined = ("b_score", "difference", "ci", "p", "p_adjusted", "detectable_difference")
    assert {row[key] for key in undefined} == {None}
    assert any("p-constant" in warning for warning in found["warnings"])
    out, err = shroom("compare", *paths, *FEW)[1:]
    assert ("nan" in out, "p-constant" in err) == (False, True)
    assert "–: undefined because p or the gold is the same on all items" in out


@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_items(n):
    truth = gold(n)
    systems = {"a": answers(truth, 0.1), "b": answers(truth, 1.0, 5)}
    how = Intervals(200)
    found = compare(systems, truth, metrics=[*METRICS], intervals=how, trials=200)
    assert {(row.ci, row.detectable_difference) for row in found.comparisons} == {(None, None)}
    assert "nan" not in found.render("text")


def test_a_doubtful_interval_is_marked():
    truth = gold(10)
    systems = {"a": answers(truth, 0.01), "b": answers(truth, 0.02)}
    found = compare(systems, truth, intervals=Intervals(200), trials=200)
    out = found.render("text")
    assert "[0.000, 0.000]‡" in out
    assert "‡ doubtful interval: all resamples equal (a - b, " in out
    assert found.to_dict()["comparisons"][0]["ci_note"] == "all resamples equal"


# Tracks, splits and containers


def test_names_that_tell_no_split_are_of_the_golds_one(tmp_path, compared):
    truth = gold(24)
    write_json(tmp_path / "gold.json", truth)
    write_json(tmp_path / "b.json", answers(truth, 0.5))
    write_json(tmp_path / "a" / AWARE, answers(truth, 0.3))
    for order in (("b.json", f"a/{AWARE}"), (f"a/{AWARE}", "b.json")):
        found = compared(*(tmp_path / name for name in order), tmp_path / "gold.json")
        assert {(row["split"], row["track"]) for row in found["comparisons"]} == {
            ("val", "model-aware")
        }
        assert [found["comparisons"][0][side] for side in "ab"] == [name[0] for name in order]


def test_no_track_in_common(tmp_path, refused):
    folder, truth = contest(tmp_path, {"a": 0.2, "b": 0.4}, n=24, files=(AGNOSTIC, AWARE))
    (folder / "a" / AGNOSTIC).unlink()
    (folder / "b" / AWARE).unlink()
    err = refused("compare", folder / "a", folder / "b", truth)
    assert "two submissions for the same track" in err


def test_val_and_test_are_compared_each(tmp_path, compared):
    test = "test.model-aware.json"
    folder, truth = contest(tmp_path, {"a": 0.2, "b": 0.4}, n=24)
    rows = gold(20, first_id=100)
    write_json(truth / test, rows)
    for seed, name in enumerate("ab"):
        write_json(folder / name / test, answers(rows, 0.5, seed)[::-1])
    found = compared(folder / "a", folder / "b", truth)["comparisons"]
    assert [(row["split"], row["n"]) for row in found] == [("val", 24)] * 2 + [("test", 20)] * 2


def test_one_submission_can_come_from_a_pipe(systems, compared, monkeypatch):
    (a, b, _), truth = systems
    with (a / AWARE).open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        found = compared("-", b / AWARE, truth / AWARE)["comparisons"]
    assert found[0]["a"] == "pipe"
    assert found[0]["a_score"] == score(a, truth).results[0].accuracy


@pytest.mark.linux
def test_gold_from_a_pipe_is_refused(systems, tmp_path, refused):
    os.mkfifo(tmp_path / "fifo")
    assert "write it to a file first" in refused("compare", *systems[0], tmp_path / "fifo")


def test_all_problems_of_all_submissions_are_told(systems, refused):
    places, truth = systems
    for place, bad in zip(places[:2], ("0.5", None)):
        rows = json.loads((place / AWARE).read_text())
        write_json(place / AWARE, [{**rows[0], "p(Hallucination)": bad}, *rows[1:]])
    err = refused("compare", *places, truth)
    assert all(str(place / AWARE) in err for place in places[:2])


# The systems' names


def test_the_library_refuses_systems_on_other_gold(systems, tmp_path):
    from shroom.evaluation.board import boards
    from shroom.scoring.check import check

    places, truth = systems
    other = tmp_path / "other" / AWARE
    rows = gold(60)
    rows[0] = {**rows[0], "p(Hallucination)": 1.0, "label": "Hallucination"}
    write_json(other, rows)
    with pytest.raises(ShroomError, match="same gold"):
        boards({"a": check(places[0], truth), "b": check(places[1], other.parent)})
