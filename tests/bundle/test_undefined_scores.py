"""A score that is undefined or missing ranks last on the platforms, whatever its metric."""

import math
from dataclasses import replace

import pytest
from conftest import gold, predictions, write_json

from shroom.scoring.editions.plain import from_plain
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.platforms import platform_scores, worst_scores
from shroom.scoring.scores import score

TWO = {
    **dict.fromkeys(("name", "title"), "x"),
    "year": 2027,
    "splits": [{"name": "dev"}],
    "tracks": [{"name": "a"}, {"name": "b"}],
}
EDITION = from_plain(TWO)
KIND = kind_of(EDITION)
#: The metrics that need two values of p.
UNDEFINED = ("rho",)
CONSTANT = [{"label": "Hallucination", "p(Hallucination)": 0.5}] * 20


def scored(folder, rows, **more):
    """The result of predictions for the first of two tracks."""
    for track in "ab":
        write_json(folder / "gold" / f"dev.{track}.json", gold(20))
    path = write_json(folder / "mine" / "dev.a.json", rows)
    return score(path, folder / "gold", **{"edition": EDITION, **more})


@pytest.mark.parametrize("name", KIND.metric_names(EDITION))
def test_undefined_and_missing_scores_rank_last(name, tmp_path):
    best_of = max if KIND.metric(name, EDITION).higher_is_better else min
    columns = [{"key": track, "metric": name, "track": track} for track in "ab"]
    edition = from_plain({**TWO, "metrics": ["accuracy"], "columns": columns})
    turned = [{**row, "p(Hallucination)": 1 - row["p(Hallucination)"]} for row in predictions(20)]
    wrong = [{**row, "label": "Not Hallucination"} for row in turned]
    for rows in (predictions(20), wrong, CONSTANT):
        result = scored(tmp_path, rows, edition=edition, metrics=[name])
        scores, own = platform_scores(result), result.results[0].scores[name]
        assert abs(scores["b"]) < 1e10, "Codabench stores ten digits before the point"
        assert best_of(scores["a"], scores["b"]) == scores["a"]
        assert scores["a"] == (scores["b"] if own is None else own)
    assert (own is None) == (name in UNDEFINED)


@pytest.mark.parametrize(("name", "worst"), [("brier", 1e9), ("auroc", -1e9)])
def test_a_metric_without_bounds_has_a_worst_score_that_can_be_stored(monkeypatch, name, worst):
    module = {"brier": "calibration", "auroc": "discrimination"}[name]
    unbounded = replace(KIND.metric(name, EDITION), bounds=(-math.inf, math.inf))
    monkeypatch.setattr(f"shroom.metrics.{module}.{name.upper()}", unbounded)
    edition = from_plain({**TWO, "metrics": [name]})
    assert worst_scores(edition) == {f"a_{name}": worst, f"b_{name}": worst}
