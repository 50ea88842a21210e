"""The texts with which a hypothesis is compared: several references, odd ones, and sources."""

import json
from dataclasses import replace

import numpy as np
import pytest
from conftest import ROOT, gold, write_json
from tiny_models import encoder, nli_model

from shroom.core.datapoint import TASKS, Datapoint, Task, pair, premises
from shroom.core.problems import InvalidInput, ShroomError
from shroom.detectors.fitted import FittedDetector
from shroom.detectors.judge.detector import Judge
from shroom.detectors.nli import NLI
from shroom.detectors.registry import detector
from shroom.detectors.similarity import Similarity
from shroom.learners.folds import linked
from shroom.scoring.datapoint_files import read, write

TEXTS = ["A dog runs in the rain.", "A little cat is asleep.", "The cat sat on the mat."]
ROWS = [
    {"hyp": hyp, "src": src, "tgt": TEXTS, "ref": ref, "task": task}
    for hyp in ("A small cat sleeps.", "It rained.")
    for src, ref, task in (("", "tgt", "DM"), ("One cat.", "either", "PG"))
]
ROWS.insert(1, {**ROWS[0], "tgt": "A mouse."})
TRANSLATIONS = [
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


@pytest.fixture(params=["lexical", "cross-encoder", "unigram", "nli", "similarity"])
def given(request, tiny):
    """Return the settings of a detector, and its name."""
    models = {
        "nli": lambda: {"model": [tiny("nli_model"), tiny("nli_model", seed=1)]},
        "similarity": lambda: {"model": tiny("encoder")},
        "unigram": lambda: {"language": "other"},  # which needs no spaCy
    }
    return request.param, models.get(request.param, dict)()


def test_any_text_has_a_p(given):
    name, settings = given
    texts = ["", " ", "\ud800", "\x00", "</s>", "[SEP] <s> <pad>", "a\u2028b", "文" * 100, "\ufeff"]
    points = [
        Datapoint(hyp=hyp, src="a source", tgt="the cat", task=task)
        for task in TASKS.values()
        for hyp in (*texts, "word " * 10_000)
    ]
    p = detector(name, **settings).p(points)
    assert ((p >= 0) & (p <= 1)).all()


def test_the_best_supported_reference_counts(given, tmp_path, done):
    name, given = given
    data, out = write_json(tmp_path / "several.json", ROWS), tmp_path / "p.json"
    recipe = tmp_path / "recipe.toml"
    settings = {"detector": name, **given}.items()
    recipe.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings))
    done("predict", recipe, data, "-o", out)
    chosen, single = detector(name, **given), []
    for row in ROWS:
        texts = [row["tgt"]] if isinstance(row["tgt"], str) else row["tgt"]
        single.append(chosen.p(read([{**row, "tgt": text} for text in texts])))
    np.testing.assert_allclose(p_of(out), [values.min() for values in single], atol=1e-6)
    assert any(values.argmin() for values in single)


def test_a_list_of_one_is_a_text_and_an_empty_one_is_none(tmp_path):
    alone = {**ROWS[0], "ref": "either", "src": "One cat.", "task": "PG"}
    for given, text in ((["A cat."], "A cat."), ([], ""), (["", " "], ""), (["", "B"], "B")):
        path = write_json(tmp_path / "one.json", [{**alone, "tgt": given}])
        assert read(path) == read([{**alone, "tgt": text}])
    (several,) = read([ROWS[0]])
    assert several.tgts == premises(several) == tuple(TEXTS)
    assert json.loads(write([several]))[0]["tgt"] == TEXTS
    with pytest.raises(ShroomError, match="src and tgt are both empty"):
        premises(read([{**ROWS[0], "tgt": []}])[0])


def test_what_is_no_text_is_reported_with_its_place(tmp_path):
    path = write_json(tmp_path / "odd.json", [ROWS[0], {**ROWS[0], "tgt": ["A cat.", 5, None]}])
    with pytest.raises(InvalidInput, match=r"item 1: tgt\[1\]: expected a text, got 5") as caught:
        read(path)
    assert "item 1: tgt[2]: expected a text, got null" in str(caught.value)
    path = write_json(tmp_path / "object.json", [{**ROWS[0], "tgt": {"a": "A cat."}}])
    with pytest.raises(InvalidInput, match="item 0: tgt: expected a text or a list of texts, got"):
        read(path)


def test_explain_shows_the_reference_that_counts(tmp_path, shroom):
    data = write_json(tmp_path / "several.json", ROWS)
    code, out, err = shroom("explain", "lexical", data, "--index", 0, "--format", "json")
    found = json.loads(out)
    assert (code, found["premises"]) == (0, list(TEXTS)), err
    assert found["p"] == pytest.approx(detector("lexical").p(read(data)[:1])[0], abs=1e-6)


def test_training_items_are_known_by_each_reference():
    class Own(FittedDetector):
        name = "own"

        def _fit(self, datapoints, p, run):
            del datapoints, p, run

        def _p(self, datapoints, run):
            del run
            return [len(point.tgt) / 100 for point in datapoints]

    def point(hyp, p, *tgts):
        return replace(pair("", hyp, p), tgt=tgts[0], other_tgts=tgts[1:])

    points = [point("A", 0.0, "x", "y"), point("B", 1.0, "z"), point("C", 0.25, "v", "w")]
    chosen = Own().fit(points, [0.0, 1.0, 0.25])
    seen = [*points, point("A", 0.0, "y"), point("A", 0.0, "z"), point("C", 0.0, "w", "z")]
    assert chosen.in_sample(seen).tolist() == [True, True, True, True, False, True]
    items, _ = chosen.cross_validate({"a": points}, 3)
    chosen.remember(items)
    assert chosen.out_of_fold_items(seen).tolist() == [True, True, True, True, False, False]
    np.testing.assert_array_equal(chosen.p(points), items.out_of_fold(points))
    assert linked([*points, point("D", 0.0, "u", "w")]).tolist() == [0, 1, 2, 2]


# Detectors that read the source language of a translation


@pytest.mark.parametrize("name", MODELS)
def test_a_recipe_judges_translations_by_their_source(name, tmp_path, done):
    make, kind = MODELS[name]
    model, data = make(tmp_path / "model"), write_json(tmp_path / "mt.json", TRANSLATIONS)
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
    new = write_json(tmp_path / "new.json", TRANSLATIONS)
    assert shroom("predict", "similarity", new, "--model", fitted, "-o", out)[0] == 0
    assert ((p_of(out) > 0) & (p_of(out) < 1)).all()
