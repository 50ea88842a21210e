"""Detectors that read the source language of a translation, and need no target."""

import json

import numpy as np
import pytest
from conftest import ROOT, gold, write_json
from tiny_models import encoder, nli_model

from shroom.core.datapoint import Datapoint, Task
from shroom.detectors.judge.detector import Judge
from shroom.detectors.nli import NLI
from shroom.detectors.similarity import Similarity
from shroom.scoring.datapoint_files import read

ROWS = [
    {"hyp": hyp, "src": src, "task": "MT", **more}
    for hyp, src in (
        ("The dog sleeps.", "Der Hund schläft."),
        ("It rains.", "Das Wetter ist schön."),
    )
    for more in ({}, {"tgt": ""}, {"tgt": "The weather is nice.", "ref": "either"})
]
MODELS = {"similarity": (encoder, Similarity), "nli": (nli_model, NLI)}


def p_of(path):
    return np.array([row["p(Hallucination)"] for row in json.loads(path.read_text())])


@pytest.mark.parametrize("name", MODELS)
def test_a_recipe_judges_translations_by_their_source(name, tmp_path, done):
    make, kind = MODELS[name]
    model, data = make(tmp_path / "model"), write_json(tmp_path / "mt.json", ROWS)
    recipe, out = ROOT / "baselines" / f"{name}-multilingual.toml", tmp_path / "p.json"
    given = ("--model", model, "-o", out, "--set", "reference=src")
    done("predict", recipe, data, *given)
    points = read(data)
    src, tgt, both = (
        kind(str(model), **settings).p(points)
        for settings in ({"reference": "src"}, {"reference": "tgt"}, {"multilingual": True})
    )
    np.testing.assert_allclose(p_of(out), src, atol=1e-5)
    by_row = src.reshape(2, 3)
    np.testing.assert_allclose(by_row, by_row[:, :1].repeat(3, axis=1), atol=2e-6)
    assert abs(src[0] - src[3]) > 1e-3
    np.testing.assert_allclose(both, np.minimum(src, tgt), atol=1e-6)  # the better side counts
    assert (src[2::3] != tgt[2::3]).all()
    alone = [0, 1, 3, 4]  # have no target
    np.testing.assert_allclose(src[alone], tgt[alone], atol=1e-6)


@pytest.mark.parametrize("kind", [Similarity, NLI, Judge])
@pytest.mark.parametrize(
    ("settings", "paraphrase", "translation"),
    [
        ({}, ("S", "T"), ("T",)),
        ({"reference": "src"}, ("S",), ("S",)),
        ({"reference": "both"}, ("S", "T"), ("S", "T")),
        ({"multilingual": True}, ("S", "T"), ("S", "T")),
    ],
)
def test_the_texts_with_which_a_hypothesis_is_compared(kind, settings, paraphrase, translation):
    chosen = kind(model="a/model", **settings)
    for task, texts in ((Task.PG, paraphrase), (Task.MT, translation)):
        assert chosen.premises(Datapoint(hyp="H", src="S", tgt="T", task=task)) == texts


def test_the_recipe_is_fitted_and_predicts_without_a_target(tmp_path, shroom, done):
    rows = [{**row, "task": "MT", "tgt": ""} for row in gold(24)]
    data, model = write_json(tmp_path / "mt.json", rows), encoder(tmp_path / "model")
    fitted, out = tmp_path / "fitted.json", tmp_path / "p.json"
    recipe = ROOT / "baselines" / "similarity-multilingual.toml"
    done("fit", recipe, data, "--model", model, "-o", fitted, "--folds", 2)
    content = json.loads(fitted.read_text())
    assert (content["reference"], content["multilingual"]) == ("src", True)
    new = write_json(tmp_path / "new.json", ROWS)
    assert shroom("predict", "similarity", new, "--model", fitted, "-o", out)[0] == 0
    assert ((p_of(out) > 0) & (p_of(out) < 1)).all()
