"""What the source's program reads and writes: its reward prompts and its probes."""

import math
import pickle

import pytest
from conftest import write_lines
from generated import scores_of

from shroom.annotate.generations import read
from shroom.annotate.probe import Probe
from shroom.annotate.reward import _PLACES, REWARDS, Reward
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Generation, Question
from shroom.inference.language_model.model import Template


def linear(path, width=32, **more):
    """Save what the source's notebook saves of a probe."""
    import torch

    torch.manual_seed(0)
    state = {"linear.weight": torch.randn(1, width), "linear.bias": torch.tensor([0.25]), **more}
    torch.save(state, path)
    return path


@pytest.fixture
def models(tiny, tmp_path):
    """A small model, and a probe of it."""
    return {"model": tiny("causal_model"), "probe": str(linear(tmp_path / "probe.pt"))}


# Its reward prompts


@pytest.mark.parametrize(
    ("template", "answer", "refusal"),
    [
        (
            "dreamcatcher",
            "<human>:请回答下列normal问题：谁？\n<bot>:甲</s>",
            (
                "<human>:请回答下列uncertainty问题：谁？\n对于这个问题，请简短地回答你由于缺乏对应的知识或"
                "信息，因此不知道或不确定答案。\n<bot>:甲</s>"
            ),
        ),
        (
            "dreamcatcher-en",
            "[INST] <<SYS>><</SYS>>请回答下列normal问题：谁？ [/INST] 甲</s>",
            (
                "[INST] <<SYS>><</SYS>>请回答下列uncertainty问题：谁？\nFor this question, please "
                "answer that you are unsure of the answer due to lack of corresponding knowledge "
                "or information. [/INST] 甲</s>"
            ),
        ),
    ],
)
def test_the_prompts_of_its_reward_models(template, answer, refusal):
    """How a model reads such a text is tested with the scorer."""
    generations = (Generation("甲", "normal"), Generation("甲", "uncertainty"))
    asked, scorer = Question("谁？", "", None, generations), Reward("m", template=template)
    places = Template.parse(REWARDS[template]["template"], "template", _PLACES, _PLACES[:2])
    items = [scorer.item(asked, place) for place in (0, 1)]
    made = [places.fill(question=q, generation=text, end="</s>") for q, text in items]
    assert made == [answer, refusal]


def test_other_models_read_the_bare_question():
    asked = Question("1+1?", "2", None, (Generation("x", "uncertainty"),))
    assert Reward("m").item(asked, 0) == ("1+1?", "x")
    assert Reward("m").identity != Reward("m", template="dreamcatcher").identity


# Its probes


@pytest.mark.parametrize("layer", [0, 1, 2, -1, -3])
def test_its_probe_by_hand(models, layer):
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(models["model"])
    model = transformers.AutoModelForCausalLM.from_pretrained(models["model"]).eval()
    state = torch.load(models["probe"], weights_only=True)
    texts = ("Who sat?", "The cat sat on the mat, and then?")
    asked = [Question(text, "", None, (Generation("A", None),)) for text in texts]
    found = scores_of(Probe(models["probe"], models["model"], layer), *asked)
    for place, text in enumerate(texts):
        with torch.inference_mode():
            ids = tokenizer(text, return_tensors="pt").input_ids
            hidden = model(ids, output_hidden_states=True).hidden_states[layer][0, -1]
        odds = float(state["linear.weight"][0] @ hidden + state["linear.bias"][0])
        by_hand = 1 / (1 + math.exp(-odds))
        assert found[place, 0]["probe_score"] == pytest.approx(by_hand, abs=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "specify the model and the layer"),
        ({"model": "m"}, "specify the model and the layer"),
        ({"model": "m", "layer": "n"}, "layer: expected a whole number"),
        ({"probe": "none.pt", "model": "m", "layer": 1}, "No such file"),
    ],
)
def test_what_a_file_of_weights_needs(models, given, message):
    with pytest.raises(ShroomError, match=message):
        Probe(**{"probe": models["probe"], **given})


def test_a_probe_of_another_model_or_layer_is_refused(models, tmp_path):
    narrow, model = linear(tmp_path / "narrow.pt", 7), models["model"]
    asked = Question("Who?", "", None, (Generation("A", None),))
    with pytest.raises(ShroomError, match="is not the model that the probe was trained on"):
        scores_of(Probe(str(narrow), model, 1), asked)
    with pytest.raises(ShroomError, match="from -3 to 2, the last layer of"):
        scores_of(Probe(models["probe"], model, 9), asked)


class Harmful:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("how", ["pickled", "inside", "other", "nan", "text", "two"])
def test_nothing_but_weights_is_read(tmp_path, how):
    import torch

    path, harm = tmp_path / "probe.pt", tmp_path / "harm"
    if how == "pickled":
        path.write_bytes(pickle.dumps(Harmful(harm)))
    elif how == "inside":
        linear(path, more=Harmful(harm))
    elif how == "other":
        linear(path, other=torch.ones(1))
    elif how == "nan":
        linear(path, **{"linear.bias": torch.tensor([math.nan])})
    elif how == "two":
        linear(path, **{"linear.weight": torch.ones(2, 32)})
    else:
        path.write_text("text")
    with pytest.raises(ShroomError, match="is not the state_dict of a linear probe"):
        Probe(str(path), "m", 1)
    assert not harm.exists()


def test_its_probe_on_the_command_line(shroom, models, tmp_path):
    rows = [{"question": "Who sat?", "answer": "A", "generation": ["A cat.", "A dog."]}]
    data = write_lines(tmp_path / "in.jsonl", rows)
    args = ("annotate", "probe", "score", data, "--probe", models["probe"])
    args += ("--model", models["model"])
    output = ("--layer", 1, "-o", tmp_path / "out.jsonl")
    code, _, err = shroom(*args, *output)
    assert (code, err) == (0, f"wrote 1 question to {tmp_path / 'out.jsonl'}; scored: 1\n")
    scores = [g.probe_score for g in read(tmp_path / "out.jsonl")[0].generation]
    assert len(set(scores)) == 1
    assert 0 < scores[0] < 1
