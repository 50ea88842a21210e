"""What a fitted detector returns for its training items: their out-of-fold p."""

import json

import numpy as np
import pytest
from conftest import DATA, SAMPLE, write_json

import shroom as kit
from shroom.core.datapoint import Datapoint, Task
from shroom.core.problems import ShroomError
from shroom.detectors import lexical
from shroom.detectors.cross_encoder import detector as cross_encoder
from shroom.detectors.fitted import FittedDetector
from shroom.detectors.out_of_fold import fingerprint
from shroom.detectors.registry import detector
from shroom.scoring.datapoint_files import read

TRACK = "val.model-aware.json"
ABOUT = {"cross-encoder": cross_encoder.MODEL / "about.json", "lexical": lexical.MODEL}


def item(hyp="A cat.", src="Eine Katze.", tgt="One cat.", task=Task.MT):
    return Datapoint(hyp=hyp, src=src, tgt=tgt, task=task)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"src": "Another wording of the source"}, True),
        ({"hyp": " A cat.\n"}, True),
        ({"hyp": "A dog."}, False),
        ({"tgt": "Two cats."}, False),
        ({"tgt": " "}, False),  # the source counts then
    ],
)
def test_an_item_is_identified_by_hypothesis_and_target(change, same):
    assert (fingerprint(item(**change)) == fingerprint(item())) is same
    assert fingerprint(item(hyp="ab", tgt="c")) != fingerprint(item(hyp="a", tgt="bc"))


@pytest.mark.parametrize(
    "items",
    [None, 3, ["00"], {"00": [0.5]}, {"00": 1.5}, {"00": float("inf")}, {"00": float("nan")}],
)
def test_training_items_that_are_malformed(items, tmp_path):
    content = {**json.loads(lexical.MODEL.read_text()), "training_items": items}
    with pytest.raises(ShroomError, match="is not a model of the detector lexical"):
        detector("lexical", model=write_json(tmp_path / "m.json", content)).p([item()])


@pytest.fixture
def fitted(tmp_path, shroom):
    """Fit on a file of 40 rows; return the model, and a folder with these and 10 others."""
    rows = json.loads((SAMPLE / TRACK).read_text())
    train = write_json(tmp_path / "train.json", rows[:40])
    (tmp_path / "data").mkdir()
    write_json(tmp_path / "data" / TRACK, rows[10:60])

    def fit(folds=5):
        model = tmp_path / "model.json"
        assert shroom("fit", "lexical", train, "-o", model, "--folds", folds)[0] == 0
        return model, tmp_path / "data"

    return fit


def predicted(shroom, model, data, out, *more):
    code, _, err = shroom("predict", "lexical", data, "--model", model, "-o", out, *more)
    assert code == 0, err
    p = [row["p(Hallucination)"] for row in json.loads((out / TRACK).read_text())]
    return np.array(p), json.loads((out / "run.json").read_text()), err


def test_training_items_get_the_p_of_the_fold_that_had_not_seen_them(fitted, shroom, tmp_path):
    model, data = fitted()
    p, record, err = predicted(shroom, model, data, tmp_path / "out")
    kept = json.loads(model.read_text())["training_items"]
    points = read(data / TRACK)
    expected = [kept[fingerprint(point)] for point in points[:30]]
    np.testing.assert_array_equal(p[:30], expected)
    assert (record["out_of_fold"], record["in_sample"]) == ({TRACK: 30}, {})
    assert err.count("fitted on the texts of 30 of 50 items") == 1
    in_sample, *seen = predicted(shroom, model, data, tmp_path / "seen", "--in-sample")
    assert (in_sample[:30] != p[:30]).any()
    np.testing.assert_array_equal(in_sample[30:], p[30:])
    model, data = fitted(folds=0)
    for record, err in (seen, predicted(shroom, model, data, tmp_path / "without folds")[1:]):
        assert (record["out_of_fold"], record["in_sample"]) == ({}, {TRACK: 30})
        assert "scores on them are too optimistic" in err


@pytest.mark.parametrize("output", ["p.json", "p.zip", "-"])
def test_in_sample_p_go_where_a_record_can_mark_them(output, fitted, shroom, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.chdir(out)
    model, data = fitted()
    given = ("--model", model, "--in-sample")
    code, text, err = shroom("predict", "lexical", data, *given, "-o", output)
    assert (code, text, list(out.iterdir())) == (2, "", [])
    assert "--in-sample needs an output folder" in err


def test_another_reference_has_no_out_of_fold_p():
    shipped = detector("cross-encoder").training_items
    for reference in ("src", "tgt", "both"):
        other = detector("cross-encoder", reference=reference).training_items
        assert other.answers.keys() == shipped.answers.keys()
        assert not any(other.answers.values())


@pytest.mark.real
@pytest.mark.parametrize("name", ["cross-encoder", "lexical"])
@pytest.mark.parametrize(
    "file", ["trial-v1.json", "val.model-agnostic.json", "val.model-aware.v2.json"]
)
def test_the_shipped_models_score_on_val_what_cross_validation_says(name, file):
    from shroom.metrics.classification import accuracy
    from shroom.metrics.correlation import rho

    points = read(DATA / "semeval2024" / file)
    chosen = detector(name)
    p = chosen.p(points)  # no model runs: all of them are training items
    about = json.loads(ABOUT[name].read_text())["out_of_fold"][file]
    gold_p = np.array([point.p for point in points])
    labels = np.array([point.label.value == "Hallucination" for point in points])
    assert round(accuracy(p > 0.5, labels), 4) == about["accuracy"]
    assert round(rho(p, gold_p), 4) == about["rho"]


def test_no_shipped_model_was_fitted_on_the_sample():
    points = read(SAMPLE)
    assert not detector("lexical").training_items.contain(points).any()
    assert not detector("cross-encoder").training_items.contain(points).any()


def test_what_was_fitted_in_memory_is_in_sample_on_its_training_items():
    class Rate(FittedDetector):
        name = "rate"

        def _fit(self, _datapoints, p, _run):
            self.rate = float(np.mean(p))

        def _p(self, datapoints, _run):
            return np.full(len(datapoints), self.rate)

    points = kit.read(SAMPLE / "val.model-aware.json")
    gold = [point.p for point in points]
    for fitted in (Rate(), kit.detector("lexical")):
        fitted.fit(points[:30], gold[:30])
        assert fitted.in_sample(points).tolist() == [True] * 30 + [False] * 30
        predictions = kit.predict(fitted, points)
        assert sum(predictions.in_sample.values()) == 30
        assert kit.score(predictions, points).results[0].in_sample == 30
