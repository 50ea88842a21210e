"""The lexical baseline: predicting, fitting, and what `make baseline` relies on."""

import json
import sys

import numpy as np
import pytest
from conftest import DATA, SAMPLE, write_json
from sacrebleu.metrics import CHRF

from shroom.core.datapoint import Datapoint, Reference, Task
from shroom.core.extras import install_hint
from shroom.detectors.lexical import FEATURES, MODEL, Lexical, features
from shroom.detectors.out_of_fold import TrainingItems
from shroom.inference.run_settings import Run
from shroom.scoring.datapoint_files import read

REAL = DATA / "semeval2024"


def point(**more):
    return Datapoint(**{"hyp": "a cat", "src": "", "tgt": "the cat", "task": Task.DM, **more})


def test_features_are_what_they_say():
    near = point(hyp="A small cat.", tgt="the small, small dog")
    score = CHRF(lowercase=True).sentence_score(near.hyp, [near.tgt]).score
    expected = (score / 100, 1 / 3, 1 / 3, np.log(13 / 21))
    np.testing.assert_allclose(features([near]), [expected])
    # of two premises, the closer one counts
    both = point(task=Task.PG, src="a dog barks", tgt="the cat", ref=Reference.EITHER)
    alone = point(task=Task.PG, src="", tgt="the cat")
    np.testing.assert_array_equal(features([both]), features([alone]))


@pytest.mark.real
def test_fitting_again_gives_the_shipped_model(tmp_path, done):
    names = ("trial-v1.json", "val.model-agnostic.json", "val.model-aware.v2.json")
    out = tmp_path / "model.json"
    table = done("fit", "lexical", *[REAL / name for name in names], "-o", out)
    made, shipped = json.loads(out.read_text()), json.loads(MODEL.read_text())
    assert tuple(shipped["features"]) == FEATURES
    files = " ".join(names)
    assert made["command"] == f"shroom fit lexical {files} --folds 10 -o model.json"
    assert made["training_items"] == shipped["training_items"]
    assert made["out_of_fold"] == shipped["out_of_fold"]
    for task, weights in made["weights"].items():
        assert weights == pytest.approx(shipped["weights"][task], abs=1e-4)
    figures = shipped["out_of_fold"]
    assert "0.685" in table
    # the published figures of the official baseline's rho on val: .380 and .461
    assert figures["val.model-agnostic.json"]["rho"] > 0.380
    assert figures["val.model-aware.v2.json"]["rho"] > 0.461


@pytest.mark.real
def test_predict_takes_the_latest_val_and_test_of_a_folder(tmp_path, shroom, noted):
    err = noted("predict", "lexical", REAL, "-o", tmp_path)
    names = [f"{s}.model-{t}.json" for s in ("test", "val") for t in ("agnostic", "aware")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", *names]
    # all of both val files, and four items of test that have the texts of training items
    assert err.count("on the texts of 1004 of 4000 items; their p is out-of-fold") == 1
    assert shroom("check", tmp_path, "--data", REAL)[0] == 0


def test_a_threshold_that_was_set_is_written(tmp_path, shroom):
    model = tmp_path / "model.json"
    given = ("--folds", 0, "--set", "threshold=0.9")
    assert shroom("fit", "lexical", SAMPLE, "-o", model, *given)[0] == 0
    assert json.loads(model.read_text())["threshold"] == 0.9
    assert Lexical(model).threshold_ == 0.9
    assert Lexical(model, threshold=0.2).threshold == 0.2
    out = tmp_path / "out"
    assert shroom("predict", "lexical", SAMPLE, "-o", out, "--threshold", 0)[0] == 0
    rows = json.loads((out / "val.model-aware.json").read_text())
    assert {row["label"] for row in rows} == {"Hallucination"}


def test_its_identity_is_that_of_its_file(tmp_path):
    name, digest = Lexical().identity.split()
    assert (name, len(bytes.fromhex(digest))) == ("lexical", 8)
    content = json.loads(MODEL.read_text())
    other = Lexical(write_json(tmp_path / "m.json", {**content, "threshold": 0.4}))
    assert other.identity != Lexical().identity
    points = read(SAMPLE)[:40]
    fitted = Lexical().fit(points, np.array([point.p for point in points]))
    # the items and the digest of the file that was there before are not those of this model
    assert fitted.identity == "lexical as fitted"
    assert fitted.training_items.answers == TrainingItems.of(points).answers


def test_what_was_fitted_is_known_again(tmp_path):
    points = read(SAMPLE)[:40]
    fitted = Lexical().fit(points, np.array([point.p for point in points]))
    unseen = np.linspace(0, 1, 30).round(6)
    fitted.remember(TrainingItems.of(points[:30], unseen))
    fitted.save(tmp_path / "m.json")
    again = Lexical(tmp_path / "m.json")
    known = {point.hyp for point in points[:30]}
    assert again.out_of_fold_items(points).tolist() == [point.hyp in known for point in points]
    np.testing.assert_array_equal(again.p(points)[:30], unseen)
    seen = Run(in_sample=True)
    np.testing.assert_allclose(again.p(points, seen), fitted.p(points, seen))


def test_without_sacrebleu_its_extra_is_named(tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    err = refused("predict", "lexical", SAMPLE, "-o", tmp_path / "x")
    assert install_hint("fit") in err
    assert not (tmp_path / "x").exists()
