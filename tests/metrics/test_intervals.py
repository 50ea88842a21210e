"""The intervals of `shroom score`: its options, its forms, and what has no interval."""

import csv

import numpy as np
import pytest
from conftest import gold, predictions, write_json
from made_up import AGNOSTIC, AWARE, answers, contest
from scipy.stats import binomtest
from scipy.stats import t as student

from shroom.evaluation.leaderboard import leaderboard
from shroom.metrics.classification import ACCURACY, MACRO_F1, counts
from shroom.metrics.cluster_bootstrap import clustered, ratio
from shroom.metrics.intervals import (
    Intervals,
    Marked,
    estimates,
    mean_interval,
    wilson_ends,
    wilson_interval,
)
from shroom.scoring.display.html import html
from shroom.scoring.scores import score


@pytest.fixture
def places(tmp_path):
    folder, truth = contest(tmp_path, {"system": 0.6}, n=80, files=(AGNOSTIC, AWARE))
    return folder / "system", truth


def written(tmp_path, truth, said):
    """Return the paths of predictions and gold."""
    return write_json(tmp_path / "s.json", said), write_json(tmp_path / "gold.json", truth)


@pytest.mark.parametrize(
    ("resamples", "confidence", "named"),
    [(39, "0.95", "95%"), (1000, "0.99", "99%"), (1000, "0.9999999", "99.99999%")],
)
def test_the_confidence_is_named(places, shroom, resamples, confidence, named):
    line = "score", *places, "--resamples", resamples, "--confidence", confidence
    line += ("--seed", 10**30)
    code, out, _ = shroom(*line)
    assert (code, f"{named} interval" in out) == (0, True)


WRONG = "confidence 0, confidence 1, resamples 0, seed -1, interval x"


@pytest.mark.parametrize("wrong", WRONG.split(", "))
def test_wrong_command_lines(places, refused, wrong):
    option, value = f"--{wrong}".split()
    assert option in refused("score", *places, option, value, code=2)


@pytest.mark.parametrize("n", [1, 9])
def test_few_items_have_no_interval(tmp_path, shroom, n):
    paths = written(tmp_path, gold(n), answers(gold(n), 0.5))
    systems, truth = contest(tmp_path, {"a": 0.2, "b": 0.6}, n=n)
    for command in (
        ("score", *paths, "--metrics", "all"),
        ("score", *paths, "--metrics", "all", "--interval", "bca"),
        ("leaderboard", systems, truth, "--trials", "9"),
    ):
        code, out, _ = shroom(*command)
        assert (code, "nan" in out.lower(), "[" in out) == (0, False, False)
    assert shroom("compare", systems / "a", systems / "b", truth, "--trials", "9")[0] == 0


def test_what_is_undefined_has_no_interval(tmp_path, in_json):
    flat = {"label": "Not Hallucination", "labels": ["Not Hallucination"] * 5}
    truth = [{**row, **flat, "p(Hallucination)": 0.0} for row in gold(20)]
    paths = written(tmp_path, truth, answers(gold(20), 0.5))
    (result,) = in_json("score", *paths, "--metrics", "all")["results"]
    assert result["rho"] is result["rho_ci"] is None
    assert result["accuracy_ci"] is not None


@pytest.mark.parametrize(("n", "normal_above"), [(5001, 5000), (50, None)])
def test_json_says_where_intervals_are_normal(tmp_path, n, normal_above):
    paths = written(tmp_path, gold(n), predictions(n))
    found = score(*paths, intervals=Intervals(50)).to_dict()
    assert found["intervals"].get("normal_above") == normal_above


# shares of items


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [10, 15, 30, 501])
def test_the_interval_of_a_share_is_that_of_scipy(n, confidence):
    for right in range(0, n + 1, max(1, n // 30)):
        expected = binomtest(right, n).proportion_ci(confidence, "wilson")
        rows = np.column_stack((np.arange(n) < right, np.ones(n)))
        low, high = wilson_interval(rows, confidence)
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert 0 <= low <= right / n <= high <= 1
    few = np.repeat([[1.0, 1.0], [0.0, 0.0]], [9, 91], axis=0)  # of 100, as for precision
    assert wilson_interval(few) is None


def test_a_share_by_units_has_the_interval_of_as_many_independent_items():
    generator = np.random.default_rng(0)
    unit = np.repeat(np.arange(30), 8)
    right = (generator.random(240) < generator.beta(4, 1, 30)[unit]).astype(float)[:, None]
    part = np.bincount(unit, right[:, 0])
    share = part.sum() / 240
    variance = np.sum((part - 8 * share) ** 2) / 240**2 * 30 / 29
    z = student.ppf(0.975, 29)
    n = share * (1 - share) / variance
    (_, found) = estimates([clustered(ACCURACY, right, unit)], Intervals(9))
    assert found["accuracy"] == pytest.approx(wilson_ends(share, n, z), abs=1e-5)
    # Units that are all right do not show how they vary: each counts as one item.
    (_, found) = estimates([clustered(ACCURACY, np.ones((240, 1)), unit)], Intervals(9))
    assert found["accuracy"] == pytest.approx(wilson_ends(1.0, 30, z), abs=1e-5)
    few = clustered(ACCURACY, right[:72], unit[:72])
    assert estimates([few], Intervals(9))[1] == {"accuracy": None}
    part = np.tile([[90.0, 100.0], [10.0, 100.0]], (10, 1))
    _, intervals = estimates([(ratio("marked", share=np.asarray), part)], Intervals(9))
    assert intervals["marked"][1] - intervals["marked"][0] > 0.3  # of 20 texts, not 2000 characters


# what is doubtful


def test_resamples_that_are_undefined_are_counted_and_the_interval_marked(
    tmp_path, shroom, in_json
):
    truth = gold(12)
    said = [{**row, "p(Hallucination)": 0.2, "label": "Not Hallucination"} for row in truth]
    said[0] = {**said[0], "p(Hallucination)": 0.7, "label": "Hallucination"}
    paths = written(tmp_path, truth, said)
    (result,), text = in_json("score", *paths)["results"], shroom("score", *paths)[1]
    note = result["rho_ci_note"]
    undefined = int(note.split()[0])
    # The only p that differs is drawn in none of 12 draws with a chance of (11/12)^12.
    assert undefined == pytest.approx(1000 * (11 / 12) ** 12, abs=60)
    assert note == f"{undefined} of 1000 resamples undefined"
    low, high = result["rho_ci"]
    assert f"[{low:.3f}, {high:.3f}]‡" in text
    assert f"‡ doubtful interval: {note} (" in text
    assert "accuracy_ci_note" not in result


def test_equal_resamples_are_marked_in_tables(tmp_path):
    note, truth = "all resamples equal", gold(40)
    paths = written(tmp_path, truth, answers(truth, 0.0))
    found = score(*paths)
    assert found.records()[0]["rho_note"] == note
    assert "[1.000, 1.000]<abbr" in html(found.tables())
    assert not any(note in name for name in found.numbers())
    (row, *_) = csv.DictReader(leaderboard([paths[0]], paths[1]).render("csv").splitlines())
    assert (row["rho_note"], row["accuracy_note"]) == (note, "")


@pytest.mark.parametrize(
    ("positives", "note"),
    [(9, "a class with only 9 items"), (10, None), (1, "a class with only 1 item")],
)
def test_few_items_of_a_class_are_marked(positives, note):
    truth = np.arange(240) < positives
    said = np.random.default_rng(0).random(240) < np.where(truth, 0.6, 0.1)
    _, intervals = estimates([(MACRO_F1, counts(said, truth))], Intervals(200))
    assert (getattr(intervals["macro_f1"], "note", None) or "").endswith(note or "")
    assert isinstance(intervals["macro_f1"], Marked) == (note is not None)


@pytest.mark.parametrize(
    ("share_items", "below", "above"),
    [(False, (0.1**2 + 0.03**2) ** 0.5, (0.2**2 + 0.04**2) ** 0.5), (True, 0.13, 0.24)],
)
def test_the_interval_of_a_mean_adds_the_distances_or_their_squares(share_items, below, above):
    intervals = [Marked((0.4, 0.7), "why"), (0.87, 0.94)]
    found = mean_interval([0.5, 0.9], intervals, share_items=share_items)
    assert found == pytest.approx((0.7 - 0.5 * below, 0.7 + 0.5 * above))
    assert found.note == "why"
    assert mean_interval([0.5, 0.9], [(0.4, 0.7), None]) is None
