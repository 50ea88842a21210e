"""The intervals of `shroom score`: its options, its forms, and what has no interval."""

import csv
import json

import numpy as np
import pytest
from conftest import gold, predictions, write_json
from made_up import AGNOSTIC, AWARE, answers, contest
from scipy.stats import binomtest
from scipy.stats import t as student

from shroom.evaluation.leaderboard import leaderboard
from shroom.metrics.agreement import AGREEMENT
from shroom.metrics.classification import ACCURACY, MACRO_F1, counts
from shroom.metrics.cluster_bootstrap import clustered, ratio
from shroom.metrics.human_ceiling import CEILING
from shroom.metrics.intervals import (
    FEWEST,
    Intervals,
    Marked,
    estimates,
    mean_interval,
    wilson_interval,
)
from shroom.metrics.labelled_spans import METRICS as OF_LABELLED_SPANS
from shroom.metrics.segment_metrics import SEGMENT_METRICS
from shroom.scoring.display.html import html
from shroom.scoring.metric_registry import METRICS, metric
from shroom.scoring.scores import score


@pytest.fixture
def places(tmp_path):
    folder, truth = contest(tmp_path, {"system": 0.6}, n=80, files=(AGNOSTIC, AWARE))
    return folder / "system", truth


def written(tmp_path, truth, said):
    """Return the paths of predictions and gold."""
    return write_json(tmp_path / "s.json", said), write_json(tmp_path / "gold.json", truth)


def scored(shroom, *args):
    code, out, err = shroom("score", *args, "--format", "json")
    assert code == 0, err
    assert "NaN" not in out
    assert "Infinity" not in out
    return json.loads(out)


def parts(found):
    """Yield every track, whole and in slices."""
    for result in found["results"]:
        yield result
        for slices in result["slices"].values():
            yield from slices.values()


def intervals_of(found):
    return {value for part in parts(found) for key, value in part.items() if key.endswith("_ci")}


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_every_metric_of_every_part_has_an_interval(places, shroom, method):
    found = scored(shroom, *places, "--metrics", "all", "--interval", method, "--resamples", "100")
    settings = {"resamples": 100, "seed": 0, "confidence": 0.95, "method": method}
    assert found["intervals"] == {**settings, "shares": "wilson"}
    for part in parts(found):
        for name in METRICS:
            if part["n"] < FEWEST or metric(name).is_biased:
                assert part[f"{name}_ci"] is None
                continue
            low, high = part[f"{name}_ci"]
            bounds = metric(name).bounds
            assert bounds[0] <= low <= high <= bounds[1]
            assert low - 0.25 <= part[name] <= high + 0.25


def test_intervals_are_on_by_default_and_change_no_score(places, shroom):
    code, out, _ = shroom("score", *places)
    assert (code, "95% interval" in out, out.count("[0.") > 10) == (0, True, True)
    made = "Wilson for shares, else percentile, 1000 bootstrap resamples of all items, seed 0"
    assert f"intervals: {made}\n" in out
    code, out, _ = shroom("score", *places, "--no-ci")
    assert (code, "interval" in out, "[" in out) == (0, False, False)
    plain = scored(shroom, *places, "--no-ci")
    assert "intervals" not in plain
    assert intervals_of(plain) == {None}
    for extra in ((), ("--seed", 10**30), ("--interval", "bca"), ("--confidence", "0.5")):
        found = scored(shroom, *places, "--resamples", "50", *extra)
        for one, other in zip(parts(plain), parts(found)):
            names = {key for key in one if not key.endswith("_ci") and key != "slices"}
            assert {key: other[key] for key in names} == {key: one[key] for key in names}


@pytest.mark.parametrize(
    ("resamples", "confidence", "named", "few"),
    [
        (39, "0.95", "95%", True),
        (41, "0.95", "95%", False),
        (1000, "0.999", "99.9%", True),
        (1000, "0.99", "99%", False),
        (1000, "0.9999999", "99.99999%", True),
    ],
)
def test_the_confidence_is_named_and_must_suit_the_resamples(
    places, shroom, resamples, confidence, named, few
):
    line = "score", *places, "--resamples", resamples, "--confidence", confidence
    code, out, err = shroom(*line)
    assert (code, f"{named} interval" in out) == (0, True)
    assert ("take more --resamples" in err) == few
    assert "take more" not in shroom(*line, "--no-ci")[2]


@pytest.mark.parametrize(
    "wrong",
    [
        *(("--confidence", value) for value in ("0", "1", "95", "nan")),
        *(("--resamples", value) for value in ("0", "-5")),
        *(("--seed", "-1"), ("--interval", "normal"), ("--metrics", "f1")),
    ],
)
def test_wrong_command_lines(places, shroom, wrong):
    code, out, err = shroom("score", *places, *wrong)
    assert (code, out) == (2, "")
    assert wrong[0] in err


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("n", [1, 9])
def test_few_items_have_no_interval(tmp_path, shroom, n, method):
    paths = written(tmp_path, gold(n), answers(gold(n), 0.5))
    line = (*paths, "--metrics", "all", "--interval", method)
    assert intervals_of(scored(shroom, *line)) == {None}
    folder, truth = contest(tmp_path, {"a": 0.2, "b": 0.6}, n=n)
    board = (folder, truth, "--trials", "9", "--interval", method)
    for form in ("text", "csv", "markdown"):
        for command in (("score", *line), ("leaderboard", *board)):
            code, out, _ = shroom(*command, "--format", form)
            assert (code, "nan" in out.lower(), "[" in out) == (0, False, False)
    assert shroom("report", *paths, "-o", tmp_path / "report.html")[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "no interval: fewer than 10 items" in page
    assert shroom("compare", folder / "a", folder / "b", truth, "--trials", "9")[0] == 0


def test_what_is_undefined_has_no_interval_and_says_why(tmp_path, shroom):
    flat = {"label": "Not Hallucination", "labels": ["Not Hallucination"] * 5}
    truth = [{**row, **flat, "p(Hallucination)": 0.0} for row in gold(20)]
    line = (*written(tmp_path, truth, answers(gold(20), 0.5)), "--metrics", "all")
    (result,) = scored(shroom, *line)["results"]
    assert result["rho"] is result["rho_ci"] is None
    assert result["accuracy_ci"] is not None
    code, out, err = shroom("score", *line)
    assert (code, "nan" in out.lower(), "–" in out) == (0, False, True)
    assert "[rho-undefined]" in err


@pytest.mark.parametrize(("n", "normal_above"), [(5001, 5000), (50, None)])
def test_json_says_where_intervals_are_normal(tmp_path, n, normal_above):
    paths = written(tmp_path, gold(n), predictions(n))
    found = score(*paths, intervals=Intervals(50)).to_dict()
    assert found["intervals"].get("normal_above") == normal_above


# shares of items


def items(part, whole):
    return np.column_stack((np.arange(whole) < part, np.ones(whole)))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [10, 15, 30, 501])
def test_the_interval_of_a_share_is_that_of_scipy(n, confidence):
    for right in range(0, n + 1, max(1, n // 30)):
        expected = binomtest(right, n).proportion_ci(confidence, "wilson")
        low, high = wilson_interval(items(right, n), confidence)
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert 0 <= low <= right / n <= high <= 1
    assert wilson_interval(items(5, 9)) is None


def test_all_right_is_no_certainty_on_any_surface(tmp_path, shroom):
    truth = gold(30)
    system = write_json(tmp_path / "s/own/val.model-aware.json", answers(truth, 0.0))
    file = write_json(tmp_path / "g" / "val.model-aware.json", truth)
    low = binomtest(30, 30).proportion_ci(method="wilson").low
    shown = f"[{low:.3f}, 1.000]"
    for form in ("text", "markdown"):
        assert shown in shroom("score", system, file, "--format", form)[1]
        out = shroom("leaderboard", tmp_path / "s", file, "--trials", "9", "--format", form)[1]
        assert shown in out
    assert f",{low:.14f}" in shroom("score", system, file, "--format", "csv")[1]
    assert shroom("report", system, file, "-o", tmp_path / "report.html")[0] == 0
    assert shown in (tmp_path / "report.html").read_text(encoding="utf-8")
    for part in parts(scored(shroom, system, file)):
        expected = binomtest(part["n"], part["n"]).proportion_ci(method="wilson").low
        has_interval = part["n"] >= FEWEST
        assert part["accuracy_ci"] == (pytest.approx([expected, 1]) if has_interval else None)


def test_precision_and_recall_are_shares_of_fewer_items():
    said, truth = np.arange(100) < 20, np.arange(100) < 50
    for name, part, n in (
        ("precision", said, 20),
        ("recall", said, 50),
        ("precision", said[::3], 7),
    ):
        kind = OF_LABELLED_SPANS[f"detection_{name}"]
        _, intervals = estimates([(kind, counts(part, truth[: len(part)]))], Intervals(9))
        expected = binomtest(min(n, 20), n).proportion_ci(method="wilson")
        wilson = pytest.approx((expected.low, expected.high)) if n >= FEWEST else None
        assert intervals[kind.name] == wilson
    stated = {kind.name for kind in SEGMENT_METRICS if kind.share}
    assert stated == {"segment_precision", "segment_recall", "segment_specificity"}
    stated = {name for name, figure in {**AGREEMENT, **CEILING}.items() if figure.share}
    assert stated == {"pairwise_agreement", "unanimous", "accuracy", "label_accuracy"}


def test_a_share_by_units_has_the_interval_of_as_many_independent_items():
    generator = np.random.default_rng(0)
    unit = np.repeat(np.arange(30), 8)
    right = (generator.random(240) < generator.beta(4, 1, 30)[unit]).astype(float)[:, None]
    part = np.bincount(unit, right[:, 0])
    share = part.sum() / 240
    variance = np.sum((part - 8 * share) ** 2) / 240**2 * 30 / 29
    z = student.ppf(0.975, 29)
    n = share * (1 - share) / variance
    middle, half = share + z * z / 2 / n, z * (share * (1 - share) / n + (z / 2 / n) ** 2) ** 0.5
    expected = [(middle + side) / (1 + z * z / n) for side in (-half, half)]
    (_, found) = estimates([clustered(ACCURACY, right, unit)], Intervals(9))
    assert found["accuracy"] == pytest.approx(expected, abs=1e-5)
    # Units that are all right do not show how they vary: each counts as one item.
    (_, found) = estimates([clustered(ACCURACY, np.ones((240, 1)), unit)], Intervals(9))
    low = binomtest(30, 30).proportion_ci(method="wilson").low
    assert found["accuracy"][1] == 1.0
    assert low - 0.02 < found["accuracy"][0] < low
    few = clustered(ACCURACY, right[:72], unit[:72])
    assert estimates([few], Intervals(9))[1] == {"accuracy": None}
    part = np.tile([[90.0, 100.0], [10.0, 100.0]], (10, 1))
    _, intervals = estimates([(ratio("marked", share=np.asarray), part)], Intervals(9))
    assert intervals["marked"][1] - intervals["marked"][0] > 0.3  # of 20 texts, not 2000 characters


# what is doubtful


def test_resamples_that_are_undefined_are_counted_and_the_interval_marked(tmp_path, shroom):
    truth = gold(12)
    said = [{**row, "p(Hallucination)": 0.2, "label": "Not Hallucination"} for row in truth]
    said[0] = {**said[0], "p(Hallucination)": 0.7, "label": "Hallucination"}
    paths = written(tmp_path, truth, said)
    (result,), text = scored(shroom, *paths)["results"], shroom("score", *paths)[1]
    note = result["rho_ci_note"]
    undefined = int(note.split()[0])
    # The only p that differs is drawn in none of 12 draws with a chance of (11/12)^12.
    assert undefined == pytest.approx(1000 * (11 / 12) ** 12, abs=60)
    assert note == f"{undefined} of 1000 resamples undefined"
    low, high = result["rho_ci"]
    assert f"[{low:.3f}, {high:.3f}]‡" in text
    assert f"‡ doubtful interval: {note} (" in text
    assert "accuracy_ci_note" not in result


def test_equal_resamples_are_marked_in_every_form(tmp_path, shroom):
    note, truth = "all resamples equal", gold(40)
    paths = written(tmp_path, truth, answers(truth, 0.0))
    (result,) = scored(shroom, *paths, "--metrics", "auroc")["results"]
    assert result["rho_ci_note"] == result["auroc_ci_note"] == note
    assert "[1.000, 1.000]‡" in shroom("score", *paths)[1]
    (row, *_) = csv.DictReader(shroom("score", *paths, "--format", "csv")[1].splitlines())
    assert (row["rho_note"], row["accuracy_note"]) == (note, "")
    found = score(*paths)
    assert found.records()[0]["rho_note"] == note
    assert "[1.000, 1.000]<abbr" in html(found.tables())
    assert not any(note in name for name in found.numbers())
    other = write_json(tmp_path / "other.json", answers(truth, 0.0))
    board = leaderboard([paths[0], other], paths[1])
    assert board.records()[0]["rho_note"] == note
    (row, *_) = csv.DictReader(board.render("csv").splitlines())
    assert (row["rho_note"], row["accuracy_note"]) == (note, "")


@pytest.mark.parametrize(
    ("positives", "note"),
    [(9, "only 9 items of a class"), (10, None), (1, "only 1 item of a class")],
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
