"""The intervals of `shroom score`: its options, its forms, and what has no interval."""

import csv
import json

import numpy as np
import pytest
from conftest import gold, predictions, write_json
from hypothesis import given
from hypothesis import strategies as st
from made_up import AGNOSTIC, AWARE, answers, contest
from scipy.stats import binom, binomtest
from scipy.stats import t as student

from shroom.evaluation.leaderboard import leaderboard
from shroom.metrics.agreement import AGREEMENT, Share
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
from shroom.metrics.labelled_spans import DETECTION_PRECISION, DETECTION_RECALL
from shroom.metrics.segment_metrics import SEGMENT_METRICS
from shroom.scoring.display.html import html
from shroom.scoring.metric_registry import METRICS, metric
from shroom.scoring.scores import score


@pytest.fixture
def places(tmp_path):
    folder, truth = contest(tmp_path, {"system": 0.6}, n=80, files=(AGNOSTIC, AWARE))
    return folder / "system", truth


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
            assert low <= high
            assert low - 0.25 <= part[name] <= high + 0.25


def test_intervals_are_on_by_default_and_can_be_left_out(places, shroom):
    code, out, _ = shroom("score", *places)
    assert code == 0
    assert "95% interval" in out
    made = "Wilson for shares, else percentile, 1000 bootstrap resamples of all items, seed 0"
    assert f"intervals: {made}\n" in out
    assert out.count("[0.") > 10
    code, out, _ = shroom("score", *places, "--no-ci")
    assert code == 0
    assert "interval" not in out
    assert "[" not in out
    found = scored(shroom, *places, "--no-ci")
    assert "intervals" not in found
    assert {v for part in parts(found) for k, v in part.items() if k.endswith("_ci")} <= {None}


def test_the_scores_do_not_depend_on_the_intervals(places, shroom):
    plain = scored(shroom, *places, "--no-ci")
    for extra in ((), ("--seed", "9"), ("--interval", "bca"), ("--confidence", "0.5")):
        found = scored(shroom, *places, "--resamples", "50", *extra)
        for one, other in zip(parts(plain), parts(found)):
            names = {key for key in one if not key.endswith("_ci") and key != "slices"}
            assert {key: other[key] for key in names} == {key: one[key] for key in names}


def test_the_confidence_is_named_in_the_text(places, shroom):
    assert "90% interval" in shroom("score", *places, "--confidence", "0.9")[1]
    assert "99.5% interval" in shroom("score", *places, "--confidence", "0.995")[1]
    assert "99.99999% interval" in shroom("score", *places, "--confidence", "0.9999999")[1]


@pytest.mark.parametrize(
    "wrong",
    [
        ("--confidence", "0"),
        ("--confidence", "1"),
        ("--confidence", "95"),
        ("--confidence", "nan"),
        ("--resamples", "0"),
        ("--resamples", "-5"),
        ("--seed", "-1"),
        ("--interval", "normal"),
        ("--metrics", "f1"),
    ],
)
def test_wrong_command_lines(places, shroom, wrong):
    code, out, err = shroom("score", *places, *wrong)
    assert (code, out) == (2, "")
    assert wrong[0] in err


@pytest.mark.parametrize("seed", [0, 10**30])
def test_any_seed_will_do(places, shroom, seed):
    found = scored(shroom, *places, "--seed", seed, "--resamples", "20")
    assert found["intervals"]["seed"] == seed


@pytest.mark.parametrize(
    ("resamples", "confidence", "few"),
    [(39, "0.95", True), (41, "0.95", False), (1000, "0.999", True), (1000, "0.99", False)],
)
def test_resamples_that_are_too_few_for_the_confidence_are_told(
    places, shroom, resamples, confidence, few
):
    line = "score", *places, "--resamples", resamples, "--confidence", confidence
    code, _, err = shroom(*line)
    assert code == 0
    assert ("take more --resamples" in err) == few
    assert "take more" not in shroom(*line, "--no-ci")[2]


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_items_have_no_interval(tmp_path, shroom, n, method):
    truth = gold(n)
    write_json(tmp_path / "gold.json", truth)
    write_json(tmp_path / "s.json", answers(truth, 0.5))
    line = (tmp_path / "s.json", tmp_path / "gold.json", "--metrics", "all", "--interval", method)
    found = scored(shroom, *line)
    assert {v for part in parts(found) for k, v in part.items() if k.endswith("_ci")} == {None}
    for form in ("text", "csv", "markdown"):
        code, out, _ = shroom("score", *line, "--format", form)
        assert code == 0
        assert "nan" not in out.lower()
        assert "[" not in out
    assert shroom("report", *line[:2], "-o", tmp_path / "report.html")[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "no interval: fewer than 10 items" in page
    folder, truth = contest(tmp_path, {"a": 0.2, "b": 0.6}, n=n)
    for form in ("text", "csv", "markdown", "json"):
        line = ("leaderboard", folder, truth, "--trials", "9", "--interval", method)
        code, out, _ = shroom(*line, "--format", form)
        assert code == 0
        assert form == "json" or "[" not in out
    assert shroom("compare", folder / "a", folder / "b", truth, "--trials", "9")[0] == 0


def test_what_is_undefined_has_no_interval_and_says_why(tmp_path, shroom):
    flat = {"label": "Not Hallucination", "labels": ["Not Hallucination"] * 5}
    truth = [{**row, **flat, "p(Hallucination)": 0.0} for row in gold(20)]
    said = answers(gold(20), 0.5)
    write_json(tmp_path / "gold.json", truth)
    write_json(tmp_path / "s.json", said)
    line = (tmp_path / "s.json", tmp_path / "gold.json", "--metrics", "all")
    (result,) = scored(shroom, *line)["results"]
    assert result["rho"] is result["rho_ci"] is None
    assert result["accuracy_ci"] is not None
    code, out, err = shroom("score", *line)
    assert code == 0
    assert "nan" not in out.lower()
    assert "–" in out
    assert "[rho-undefined]" in err


@given(st.integers(2, 25), st.integers(0, 1000))
def test_intervals_lie_within_the_bounds(n, seed):
    generator = np.random.default_rng(seed)
    p, gold_p = generator.integers(0, 6, (2, n)) / 5
    scored = [
        (kind, kind.statistics(p > 0.5, p, gold_p > 0.5, gold_p)) for kind in map(metric, METRICS)
    ]
    for method in ("percentile", "bca"):
        values, intervals = estimates(scored, Intervals(40, seed, method=method))
        for kind, _ in scored:
            ci = intervals[kind.name]
            if values[kind.name] is None:
                assert ci is None
            elif ci is not None:
                assert kind.bounds[0] <= ci[0] <= ci[1] <= kind.bounds[1]


def test_json_says_where_intervals_are_normal(tmp_path):
    rows, said = gold(5001), predictions(5001)
    paths = write_json(tmp_path / "p.json", said), write_json(tmp_path / "g.json", rows)
    found = score(*paths, intervals=Intervals(50)).to_dict()
    assert found["intervals"]["normal_above"] == 5000
    paths = write_json(tmp_path / "q.json", said[:50]), write_json(tmp_path / "h.json", rows[:50])
    assert "normal_above" not in score(*paths, intervals=Intervals(50)).to_dict()["intervals"]


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


@pytest.mark.parametrize("n", [15, 30, 60])
@pytest.mark.parametrize("truth", [0.8, 0.9, 0.95, 0.98])
def test_the_interval_of_a_share_contains_the_true_one_often_enough(n, truth):
    ends = [wilson_interval(items(right, n)) for right in range(n + 1)]
    chance = binom.pmf(np.arange(n + 1), n, truth)
    assert sum(p for p, (low, high) in zip(chance, ends) if low <= truth <= high) >= 0.92
    width = sum(p * (high - low) for p, (low, high) in zip(chance, ends))
    assert width < 2.5 * 1.96 * (truth * (1 - truth) / n) ** 0.5 + 2 / n


def test_all_right_is_no_certainty_on_any_surface(tmp_path, shroom):
    truth = gold(30)
    said = answers(truth, 0.0)
    system, file = write_json(tmp_path / "s/own/val.model-aware.json", said), tmp_path / "g"
    write_json(file / "val.model-aware.json", truth)
    low = binomtest(30, 30).proportion_ci(method="wilson").low
    shown = f"[{low:.3f}, 1.000]"
    (result,) = score(system, file).results
    assert result.accuracy_ci == pytest.approx((low, 1.0))
    assert result.whole["accuracy_ci"] == pytest.approx([low, 1.0])
    for form in ("text", "markdown"):
        assert shown in shroom("score", system, file, "--format", form)[1]
        out = shroom("leaderboard", tmp_path / "s", file, "--trials", "9", "--format", form)[1]
        assert shown in out
    assert f",{low:.14f}" in shroom("score", system, file, "--format", "csv")[1]
    assert shroom("report", system, file, "-o", tmp_path / "report.html")[0] == 0
    assert shown in (tmp_path / "report.html").read_text(encoding="utf-8")
    found = json.loads(shroom("score", system, file, "--format", "json")[1])["results"][0]
    assert found["accuracy_ci"] == pytest.approx([low, 1.0])
    for part in found["slices"]["task"].values():
        expected = binomtest(part["n"], part["n"]).proportion_ci(method="wilson").low
        has_interval = part["n"] >= FEWEST
        assert part["accuracy_ci"] == (pytest.approx([expected, 1]) if has_interval else None)


def test_precision_and_recall_are_shares_of_fewer_items():
    said, truth = np.arange(100) < 20, np.arange(100) < 50
    for kind, n in ((DETECTION_PRECISION, 20), (DETECTION_RECALL, 50)):
        expected = binomtest(20, n).proportion_ci(method="wilson")
        _, intervals = estimates([(kind, counts(said, truth))], Intervals(9))
        assert intervals[kind.name] == pytest.approx((expected.low, expected.high))
    _, intervals = estimates(
        [(DETECTION_PRECISION, counts(said & (np.arange(100) < 9), truth))], Intervals(9)
    )
    assert intervals == {"detection_precision": None}
    stated = {kind.name for kind in SEGMENT_METRICS if kind.share}
    assert stated == {"segment_precision", "segment_recall", "segment_specificity"}
    figures = {**AGREEMENT, **CEILING}
    stated = {name for name, figure in figures.items() if isinstance(figure, Share)}
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


# what is doubtful


def marked(tmp_path, shroom, truth, said, *args):
    """Return the json and the text of a score."""
    write_json(tmp_path / "gold.json", truth)
    write_json(tmp_path / "s.json", said)
    line = (tmp_path / "s.json", tmp_path / "gold.json", *args)
    return scored(shroom, *line)["results"][0], shroom("score", *line)[1]


def test_resamples_that_are_undefined_are_counted_and_the_interval_marked(tmp_path, shroom):
    truth = gold(12)
    said = [{**row, "p(Hallucination)": 0.2, "label": "Not Hallucination"} for row in truth]
    said[0] = {**said[0], "p(Hallucination)": 0.7, "label": "Hallucination"}
    result, text = marked(tmp_path, shroom, truth, said)
    note = result["rho_ci_note"]
    undefined = int(note.split()[0])
    # The only p that differs is drawn in none of 12 draws with a chance of (11/12)^12.
    assert undefined == pytest.approx(1000 * (11 / 12) ** 12, abs=60)
    assert note == f"{undefined} of 1000 resamples undefined"
    low, high = result["rho_ci"]
    assert f"[{low:.3f}, {high:.3f}]‡" in text
    assert (
        f"‡ doubtful interval: {note} (s, rho" in text.replace("model-aware, rho", "s, rho")
        or note in text
    )
    assert "accuracy_ci_note" not in result


def test_equal_resamples_are_marked(tmp_path, shroom):
    truth = gold(40)
    said = answers(truth, 0.0)
    result, text = marked(tmp_path, shroom, truth, said, "--metrics", "auroc")
    assert result["rho_ci_note"] == result["auroc_ci_note"] == "all resamples equal"
    assert "[1.000, 1.000]‡" in text
    note = "all resamples equal"
    place = tmp_path / "s.json", tmp_path / "gold.json"
    (row, *_) = csv.DictReader(shroom("score", *place, "--format", "csv")[1].splitlines())
    assert (row["rho_note"], row["accuracy_note"]) == (note, "")
    found = score(*place)
    assert found.records()[0]["rho_note"] == note
    assert "[1.000, 1.000]<abbr" in html(found.tables())
    assert not any(note in name for name in found.numbers())
    write_json(tmp_path / "other.json", said)
    board = leaderboard([*place[:1], tmp_path / "other.json"], place[1])
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


def test_an_error_that_is_never_negative_has_no_interval_that_leaves_out_0(tmp_path, shroom):
    """The bootstrap of a calibrated p never contains its ECE, which is 0."""
    generator = np.random.default_rng(0)
    p = generator.random(300)
    truth = generator.random(300) < p
    scored = [(kind, kind.statistics(p > 0.5, p, truth, p)) for kind in map(metric, ("ece", "mce"))]
    values, intervals = estimates(scored, Intervals(50))
    assert values["ece"] > 0
    assert intervals == {"ece": None, "mce": None}


def test_the_interval_of_a_mean_adds_the_distances_as_squares():
    assert mean_interval([0.5, 0.9], [(0.4, 0.7), (0.87, 0.94)]) == pytest.approx(
        (0.7 - 0.5 * (0.1**2 + 0.03**2) ** 0.5, 0.7 + 0.5 * (0.2**2 + 0.04**2) ** 0.5)
    )
    assert mean_interval([0.5, 0.9], [(0.4, 0.7), None]) is None
    doubtful = mean_interval([0.5, 0.9], [Marked((0.4, 0.7), "why"), (0.8, 0.95)])
    assert doubtful.note == "why"
    assert mean_interval([0.5, 0.9], [(0.4, 0.7), (0.87, 0.94)], share_items=True) == pytest.approx(
        (0.7 - 0.5 * (0.1 + 0.03), 0.7 + 0.5 * (0.2 + 0.04))
    )


def test_a_mean_of_tracks_that_are_all_right_is_no_certainty():
    """By simulation: two tracks of 30 items, true accuracies .95 and .98."""
    generator = np.random.default_rng(0)
    inside = []
    for right in generator.binomial(30, (0.95, 0.98), (400, 2)):
        ends = [wilson_interval(items(k, 30)) for k in right]
        low, high = mean_interval((right / 30).tolist(), ends)
        inside.append(low <= 0.965 <= high)
    assert np.mean(inside) >= 0.92


def test_a_share_of_characters_is_one_by_texts():
    part = np.tile([[90.0, 100.0], [10.0, 100.0]], (10, 1))
    _, intervals = estimates([(ratio("marked", share=np.asarray), part)], Intervals(9))
    assert intervals["marked"][1] - intervals["marked"][0] > 0.3  # of 20 texts, not 2000 characters
