"""A score that is undefined or missing ranks last on the platforms, whatever its metric."""

import math
from dataclasses import replace

import pytest
from conftest import gold, predictions, write_json

from shroom.scoring.editions.edition import Column, Edition, Files, Split, Track
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.platforms import platform_scores, worst_scores
from shroom.scoring.scores import score

TRACKS = ("one", "two")
EDITION = Edition(
    "x",
    "X",
    2027,
    tracks=tuple(map(Track, TRACKS)),
    splits=(Split("dev"),),
    files=Files("{split}.{track}.json"),
)
METRICS = kind_of(EDITION).metric_names(EDITION)


@pytest.mark.parametrize("name", METRICS)
def test_undefined_and_missing_scores_rank_last(name, tmp_path):
    metric = kind_of(EDITION).metric(name, EDITION)
    columns = tuple(Column(f"{track}_{name}", name, track) for track in TRACKS)
    edition = replace(EDITION, metrics=("accuracy",), columns=columns)
    for track in TRACKS:
        write_json(tmp_path / "gold" / f"dev.{track}.json", gold(20))

    def written(rows):
        path = write_json(tmp_path / "mine" / "dev.one.json", rows)
        return platform_scores(score(path.parent, tmp_path / "gold", edition=edition))

    best_of = max if metric.higher_is_better else min
    worst = written(predictions(20))[f"two_{name}"]  # this track is missing
    assert abs(worst) < 1e10, "Codabench stores ten digits before the point"
    wrong = [
        {"label": "Not Hallucination", "p(Hallucination)": 1 - row["p(Hallucination)"]}
        for row in predictions(20)
    ]
    for rows in (predictions(20), wrong):
        scores = written(rows)
        assert math.isfinite(scores[f"one_{name}"])
        assert best_of(scores[f"one_{name}"], worst) == scores[f"one_{name}"]
    constant = [{"label": "Hallucination", "p(Hallucination)": 0.5}] * 20
    assert best_of(written(constant)[f"one_{name}"], worst) == written(constant)[f"one_{name}"]


def test_a_constant_p_has_the_worst_rho(tmp_path):
    for track in TRACKS:
        write_json(tmp_path / "gold" / f"dev.{track}.json", gold(20))
    constant = [{"label": "Hallucination", "p(Hallucination)": 0.5}] * 20
    path = write_json(tmp_path / "mine" / "dev.one.json", constant)
    assert platform_scores(score(path, tmp_path / "gold", edition=EDITION)) == {
        "one_accuracy": pytest.approx(10 / 20, abs=0.5),
        "one_rho": -1.0,
        "two_accuracy": 0.0,
        "two_rho": -1.0,
    }


def test_a_column_of_a_metric_that_does_not_rank_has_its_score(tmp_path):
    columns = (Column("error", "ece", "one"), Column("acc", "accuracy", "one"))
    edition = replace(EDITION, columns=columns)
    reference = write_json(tmp_path / "gold" / "dev.one.json", gold(20))
    path = write_json(tmp_path / "mine" / "dev.one.json", predictions(20))
    expected = score(path, reference, metrics=["ece"], edition=EDITION).results[0].scores["ece"]
    assert 0 < expected < 1
    assert platform_scores(score(path, reference, edition=edition))["error"] == expected


@pytest.mark.parametrize(("name", "worst"), [("brier", 1e9), ("auroc", -1e9)])
def test_a_metric_without_bounds_has_a_worst_score_that_can_be_stored(monkeypatch, name, worst):
    module = {"brier": "calibration", "auroc": "discrimination"}[name]
    metric = kind_of(EDITION).metric(name, EDITION)
    unbounded = replace(metric, bounds=(-math.inf, math.inf))
    monkeypatch.setattr(f"shroom.metrics.{module}.{name.upper()}", unbounded)
    edition = replace(EDITION, metrics=(name,))
    assert worst_scores(edition) == {f"{track}_{name}": worst for track in TRACKS}
