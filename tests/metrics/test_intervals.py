"""The intervals of `shroom score`: its options, its forms, and what has no interval."""

import json

import numpy as np
import pytest
from conftest import gold, predictions, write_json
from hypothesis import given
from hypothesis import strategies as st
from made_up import AGNOSTIC, AWARE, answers, contest

from shroom.metrics.intervals import Intervals
from shroom.scoring.metric_registry import METRICS
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
    assert found["intervals"] == {"resamples": 100, "seed": 0, "confidence": 0.95, "method": method}
    for part in parts(found):
        for name in METRICS:
            low, high = part[f"{name}_ci"]
            assert low <= high
            assert low - 0.25 <= part[name] <= high + 0.25


def test_intervals_are_on_by_default_and_can_be_left_out(places, shroom):
    code, out, _ = shroom("score", *places)
    assert code == 0
    assert "95% interval" in out
    assert "percentile, 1000 bootstrap resamples of all items, seed 0" in out
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
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_items(tmp_path, shroom, n, method):
    truth = gold(n)
    write_json(tmp_path / "gold.json", truth)
    write_json(tmp_path / "s.json", answers(truth, 0.5))
    line = (tmp_path / "s.json", tmp_path / "gold.json", "--metrics", "all", "--interval", method)
    found = scored(shroom, *line)
    if n == 1:
        assert {v for part in parts(found) for k, v in part.items() if k.endswith("_ci")} == {None}
    code, out, _ = shroom("score", *line)
    assert code == 0
    assert "nan" not in out.lower()


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
    from shroom.metrics.intervals import estimates
    from shroom.scoring.metric_registry import metric

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
