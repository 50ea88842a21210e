"""The settings of detectors: one door for recipes, the command line and Python."""

import json
from dataclasses import dataclass, fields
from typing import Annotated, Literal

import numpy as np
import pytest
from conftest import SAMPLE
from msgspec import Meta
from sklearn.base import clone

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.registry import REGISTRY, class_of, detector
from shroom.detectors.settings import Names, converted

M = {"model": "a/model"}
#: A detector, settings that it refuses, and the sentence.
WRONG = [
    ("nli", {}, "the detector nli needs --model: an NLI model, such as cross-encoder/nli-deberta"),
    ("nli", {"model": None}, "the detector nli needs --model"),
    ("similarity", {}, "the detector similarity needs --model: a sentence encoder, such as"),
    ("reward", {}, "the detector reward needs --model: a reward model, such as"),
    ("probe", {}, "probe needs --model: a folder written by 'shroom annotate probe train'"),
    ("lexical", {"treshold": 1}, "'treshold'; did you mean 'threshold'? the settings are model"),
    ("cross-encoder", {"enkoder": "x"}, "has no setting 'enkoder'; did you mean 'encoder'?"),
    ("selfcheck", {"sample": "x"}, "did you mean 'samples'?"),
    ("lexical", {"threshold": 2}, "threshold: expected a number from 0 to 1, got 2"),
    ("lexical", {"threshold": "high"}, 'threshold: expected a number from 0 to 1, got "high"'),
    ("similarity", {**M, "threshold": "nan"}, 'expected a number from 0 to 1, got "nan"'),
    ("nli", {**M, "threshold": True}, "threshold: expected a number from 0 to 1, got true"),
    ("cross-encoder", {"rate": "inf"}, 'rate: expected a number of at least 0, got "inf"'),
    ("cross-encoder", {"epochs": 0}, "epochs: expected a whole number of at least 1, got 0"),
    ("cross-encoder", {"epochs": 2.5}, "epochs: expected a whole number of at least 1, got 2.5"),
    ("cross-encoder", {"seed": 10**19}, "seed: expected a whole number from 0 to 4294967295, got"),
    ("selfcheck", {"n": "12"}, 'n: expected a whole number from 1 to 9, got "12"'),
    ("nli", {**M, "multilingual": "perhaps"}, 'multilingual: expected true or false, got "p'),
    ("nli", {"model": ""}, 'model: expected a name or a list of names, got ""'),
    ("nli", {"model": []}, "model: expected a name or a list of names, got []"),
    ("nli", {"model": ["a", 5]}, 'model: expected a name or a list of names, got ["a", 5]'),
    ("nli", {**M, "revision": ["v1", "v2"]}, "one revision for each model (1), got 2"),
    ("nli", {"model": ["a", "b"], "revision": "v1"}, "one revision for each model (2), got 1"),
    ("nli", {**M, "entailment": 1.5}, "entailment: expected a class, got 1.5"),
    ("lexical", {"model": 3}, "model: expected a path, got 3"),
    ("cross-encoder", {"model": [1]}, "model: expected a path, got [1]"),
    ("spans", {"label": " "}, 'label: expected a text, got " "'),
    ("nli", {**M, "formula": "c/(c+n)"}, "expected one of c/(c+e), 1-e, c, got"),
    ("unigram", {"reference": "source"}, "reference: expected one of given, src, tgt, both, got"),
    ("selfcheck", {"variant": "nli"}, "needs an NLI model: specify --model"),
    ("selfcheck", {"variant": "bertscore"}, "needs an encoder: specify --model"),
]


@dataclass
class Own(Detector):
    """A detector as a stranger writes it."""

    name = "own"
    size: Annotated[int, Meta(ge=1, le=9)]
    case: bool = False
    unit: Literal["word", "sign"] = "word"
    words: Names = ("a",)

    def p(self, datapoints):
        return np.full(len(datapoints), 1 / self.size)


@pytest.mark.parametrize(("name", "given", "sentence"), WRONG)
def test_a_wrong_setting_is_a_sentence(name, given, sentence):
    with pytest.raises(ShroomError) as caught:
        detector(name, **given)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "text", ["threshold = 2", 'reference = "scr"', "epochs = 0", "model = [1]"]
)
def test_a_recipe_the_command_line_and_python_say_the_same(text, tmp_path, shroom):
    recipe = tmp_path / "mine.toml"
    recipe.write_text(f'detector = "cross-encoder"\n{text}\n')
    key, value = text.split(" = ")
    plain = json.loads(value)
    with pytest.raises(ShroomError) as caught:
        detector("cross-encoder", **{key: plain})
    code, _, err = shroom("predict", recipe, SAMPLE, "-o", tmp_path / "p")
    assert (code, err) == (1, f"shroom: {recipe}: {caught.value}\n")
    if not isinstance(plain, list):
        given = ("--set", f"{key}={plain}")
        code, _, err = shroom("predict", "cross-encoder", SAMPLE, "-o", tmp_path / "p", *given)
        assert (code, err.replace('"2"', "2")) == (1, f"shroom: {caught.value}\n")


def test_values_become_those_of_their_types():
    own = Own("3", case="true", words="b")
    assert (own.size, own.case, own.words, own.threshold_) == (3, True, ("b",), 0.5)
    assert own.get_params() == {"size": 3, "case": True, "unit": "word", "words": ("b",)}
    assert Own(np.int64(4)).set_params(unit="sign", words=["c"]).words == ("c",)
    with pytest.raises(ShroomError, match="unit: expected one of word, sign, got"):
        own.set_params(unit="sgn")
    assert own.unit == "word"
    assert detector("nli", model="m", reference="src").reference is Rule.SRC
    assert detector("lexical", model=SAMPLE / "m.json").model == str(SAMPLE / "m.json")
    assert detector("similarity", model="m", threshold="0.25").threshold == 0.25
    assert converted("words", ["a"], Names) == converted("words", "a", Names) == ("a",)


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in ("judge", "probe")])
def test_settings_are_fields_and_survive_a_copy(name):
    kind = class_of(name)
    needed = {"model": ["a", "b"] if name == "nli" else "a/model"} if name in NEED_A_MODEL else {}
    made = detector(name, **needed)
    assert {field.name for field in fields(kind)} == set(made.get_params())
    assert clone(made).get_params() == made.get_params()
    assert repr(clone(made)) == repr(made)


NEED_A_MODEL = ("nli", "similarity", "reward")
