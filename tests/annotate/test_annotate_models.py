"""The scorers nli, reward and selfcheck, each against its formula by hand; scorers as detectors."""

import numpy as np
import pytest
import tiny_models
from generated import random_questions, scores_of

from shroom.annotate import as_detectors, base
from shroom.annotate.base import SCORERS, Scorer, score, value_of
from shroom.annotate.comparison import NLI, SelfCheck
from shroom.annotate.reward import Reward
from shroom.core.datapoint import Datapoint, Reference, Task
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Generation, Question
from shroom.detectors import selfcheck
from shroom.detectors.registry import detector
from shroom.inference.run_settings import RUN, Run
from shroom.inference.store import kept

WORDS = ["cat", "dog", "old", "town", "rain", "Grad", "12", "the", "不", "是", "."]


def said(question):
    return [each.text for each in question.generation]


def claims(question):
    return [place for place, each in enumerate(question.generation) if each.type != "uncertainty"]


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr(base, "SLICE", 7)


@pytest.fixture
def nli_folder(tiny):
    return tiny("nli_model", length=256)


def llama_reward(folder, *, chat):
    import transformers

    config = tiny_models._config("llama", 256, num_labels=1)
    kind = transformers.LlamaForSequenceClassification
    tiny_models._saved(folder, "llama", kind, config, 0, 256)
    if chat:
        (folder / "chat_template.jinja").write_text(tiny_models.CHAT_TEMPLATE, encoding="utf-8")
    return folder


def with_padding(folder, *, config=None, **tokens):
    """Change what names the padding of a model, in its configuration and in the tokenizer."""
    tiny_models.change(folder, "config.json", pad_token_id=config)
    tiny_models.change(folder, "tokenizer_config.json", **tokens)
    return folder


#: Ways of naming the end token as padding: as GPT-2, as Qwen2, as Llama, and in the configuration.
PADDING_AT_THE_END = {
    "one mark": {"pad_token": "</s>", "bos_token": "</s>", "unk_token": "</s>"},
    "no other mark": {"pad_token": "</s>", "bos_token": None, "unk_token": None},
    "other marks": {"pad_token": "</s>"},
    "named": {"pad_token": "</s>", "config": 2},
}


@pytest.fixture(scope="module")
def rewards(tiny, tmp_path_factory):
    """Return reward models by the form in which they are given question and generation."""
    return {
        "pair": tiny("nli_model", labels=("score",)),
        "bert": tiny("nli_model", "bert", labels=("score",)),
        "chat": llama_reward(tmp_path_factory.mktemp("chat"), chat=True),
        "plain": llama_reward(tmp_path_factory.mktemp("plain"), chat=False),
        "padless": with_padding(
            llama_reward(tmp_path_factory.mktemp("less"), chat=False), pad_token=None
        ),
        **{
            form: with_padding(llama_reward(tmp_path_factory.mktemp(form), chat=True), **more)
            for form, more in PADDING_AT_THE_END.items()
        },
    }


@pytest.fixture
def settings_of(nli_folder, rewards):
    return {
        "nli": {"model": nli_folder},
        "reward": {"model": str(rewards["pair"])},
        "selfcheck": {"variant": "nli", "model": nli_folder},
    }


# nli


def test_nli_by_hand(nli_folder):
    import torch
    import transformers

    asked = random_questions(8, WORDS)
    found = scores_of(NLI(nli_folder), *asked)
    tokenizer = transformers.AutoTokenizer.from_pretrained(nli_folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(nli_folder).eval()
    assert set(found) == {(p, g) for p, q in enumerate(asked) for g in claims(q)}
    for (place, g), scores in found.items():
        one = asked[place]
        premise = f"{one.question} {one.answer}"
        with torch.inference_mode():
            given = tokenizer(premise, said(one)[g], return_tensors="pt")
            shares = model(**given).logits[0].double().softmax(-1).tolist()
        assert scores["nli_entailment_score"] == pytest.approx(shares[2], abs=1e-5)
        assert scores["nli_contradiction_score"] == pytest.approx(shares[0], abs=1e-5)


# reward


@pytest.mark.parametrize(
    ("form", "template"),
    [
        ("pair", None),
        ("bert", None),
        ("chat", None),
        ("plain", None),
        ("plain", "<human>:{question}\n<bot>:{generation}</s>"),
        ("padless", "<human>:{question}\n<bot>:{generation}</s>"),
        *(
            (form, template)
            for form in PADDING_AT_THE_END
            for template in (None, "<human>:{question}\n<bot>:{generation}</s>")
        ),
    ],
)
def test_reward_by_hand(rewards, form, template):
    import torch
    import transformers

    asked = random_questions(6, WORDS)
    found = scores_of(Reward(str(rewards[form]), template=template), *asked)
    tokenizer = transformers.AutoTokenizer.from_pretrained(rewards[form])
    model = transformers.AutoModelForSequenceClassification.from_pretrained(rewards[form]).eval()
    assert set(found) == {(p, g) for p, q in enumerate(asked) for g in range(len(q.generation))}
    for (place, g), scores in found.items():
        question, text = asked[place].question, said(asked[place])[g]
        if template is None and tokenizer.chat_template:
            turns = [{"role": "user", "content": question}, {"role": "assistant", "content": text}]
            framed = tokenizer.apply_chat_template(turns, tokenize=False)
            given = tokenizer(framed, add_special_tokens=False, return_tensors="pt")
        elif template is None:
            given = tokenizer(question, text, return_tensors="pt")
        else:
            given = tokenizer(f"<human>:{question}\n<bot>:{text}</s>", return_tensors="pt")
        with torch.inference_mode():
            value = float(model(**given).logits[0, 0])
        assert scores["rm_score"] == pytest.approx(value, abs=2e-4)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("reward", {}, "reward needs model: a reward model"),
        ("reward", {"model": "m", "template": "{question}"}, "needs the placeholder {generation}"),
        ("reward", {"model": "m", "template": "{question} {genration}"}, "mean 'generation'"),
        ("selfcheck", {"variant": "ngrams"}, "expected one of ngram, nli, bertscore, got"),
        ("selfcheck", {"variant": "nli"}, "nli of selfcheck needs an NLI model"),
        ("judge", {}, "the scorer 'judge' needs a model"),
        ("judge", {"model": "m", "template": "raeson"}, "expected reason, "),
        ("judge", {"model": "m", "template": "reason"}, "needs an endpoint"),
        ("judge", {"model": "m", "top_logprobs": 21}, "top_logprobs: expected"),
        ("judge", {"model": "m", "endpiont": "m"}, "did you mean 'endpoint'"),
        ("similarity", {"model": 3}, "model: expected a name, got 3"),
        ("similarity", {"detector": "cross-encodr"}, "detector 'cross-encodr'; did you mean"),
        ("similarity", {"detector": "a:b"}, "the detector 'a:b' is an import path"),
        ("similarity", {"detector": "nli"}, "the detector nli needs --model"),
        ("unigram", {"top_k": 0}, "top_k: expected a whole number of at least 1, got 0"),
        ("unigram", {"language": "chinese"}, "language: expected one of auto, zh, en, other"),
    ],
)
def test_a_wrong_setting_is_reported(name, settings, message):
    with pytest.raises(ShroomError, match=message):
        SCORERS.make(name, **settings)


def test_a_model_that_is_no_reward_model_is_reported(nli_folder, rewards):
    with pytest.raises(ShroomError, match="has 3 classes, but a reward model has only one class"):
        scores_of(Reward(nli_folder), *random_questions(1, WORDS))
    with pytest.raises(ShroomError, match="no such folder"):
        scores_of(Reward("./nowhere"), *random_questions(1, WORDS))


# selfcheck


@pytest.mark.parametrize("variant", ["nli", "bertscore", "ngram"])
def test_agreement_is_what_p_of_the_detector_lacks_to_1(nli_folder, tiny, variant):
    asked = random_questions(6, WORDS)
    model = {"nli": nli_folder, "bertscore": tiny("encoder"), "ngram": None}[variant]
    found = scores_of(SelfCheck(variant, model), *asked)
    assert set(found) == {
        (p, g) for p, q in enumerate(asked) if len(claims(q)) > 1 for g in claims(q)
    }
    check = selfcheck.SelfCheck(variant=variant, model=model)
    for (place, g), scores in found.items():
        one = asked[place]
        others = tuple(said(one)[other] for other in claims(one) if other != g)
        (p,) = check.against([said(one)[g]], [others], RUN)
        assert scores[f"selfcheck_{variant}_score"] == pytest.approx(1 - p, abs=1e-5)


def test_a_single_generation_has_nothing_to_compare():
    one = Question("Q", "A", None, (Generation("a", "normal"), Generation("?", "uncertainty")))
    result = score([one], [SelfCheck()])
    assert (result.computed, result.failed) == ({"selfcheck": 0}, [])
    assert result.questions == [one]


# A run that is stopped


class StoppedError(Exception):
    """For tests: something that ends a run."""


@pytest.mark.parametrize("name", ["nli", "reward", "selfcheck"])
def test_what_is_done_is_kept_slice_by_slice_and_by_precision(name, settings_of, tmp_path):
    asked = random_questions(12, WORDS)

    def stop(done, total):
        if done > total // 2:
            raise StoppedError

    def scored(**settings):
        with kept(tmp_path / "store", print, resume=True) as store:
            store.unfinished = True
            scorer = SCORERS.make(name, **settings_of[name])
            return score(asked, [scorer], store, Run(**settings))

    whole = score(asked, [SCORERS.make(name, **settings_of[name])])
    with pytest.raises(StoppedError):
        scored(report=stop)
    resumed = scored()
    n = whole.computed[name]
    assert 0 < resumed.reused[name] == n - resumed.computed[name]
    for one, other in zip(whole.questions, resumed.questions):
        for a, b in zip(one.generation, other.generation):
            for field in SCORERS.make(name, **settings_of[name]).fields:
                assert value_of(a, field) == pytest.approx(value_of(b, field), abs=1e-4)
    assert [scored(precision=it).computed[name] for it in ("float32", "bfloat16")] == [0, n]
    assert scored(precision="bfloat16").reused[name] == n


# As detectors


def points():
    return [
        Datapoint("a small cat", "What is <define> X </define> ?", "a cat that is small", Task.DM),
        Datapoint(hyp="rain", src="la pluie", tgt="the rain in town", task=Task.MT),
        Datapoint(hyp="one two", src="one two", tgt="three", task=Task.PG, ref=Reference.EITHER),
        Datapoint(hyp="dog", src="", tgt="cat", task=Task.MT),
    ]


def test_reward_as_a_detector(rewards):
    made = detector("reward", model=str(rewards["pair"]))
    p = made.p(points())
    sources = ["What is X ?", "la pluie", "one two", "cat"]
    asked = [Question(s, "", None, (Generation(d.hyp, None),)) for s, d in zip(sources, points())]
    found = scores_of(Reward(str(rewards["pair"])), *asked)
    raw = np.array([found[place, 0]["rm_score"] for place in range(4)])
    np.testing.assert_allclose(p, 1 / (1 + np.exp(raw)), atol=1e-4)
    assert made.threshold_ == 0.5
    assert made.premises(points()[0]) == ("What is X ?",)
    assert made.identity == Reward(str(rewards["pair"])).identity
    assert made.p([]).shape == (0,)


class Fixed(Scorer):
    """For tests: a scorer whose scores are given by the generation's text."""

    name = identity = "fixed"
    fields = ("x",)

    def places(self, question):
        return tuple(range(len(question.generation)))

    def compute(self, items, run):
        del run
        return [
            ShroomError("no way")
            if generations[0][0] == "bad"
            else {"x": float(answer == generations[0][0])}
            for _, answer, generations, _ in items
        ]


class Scored(as_detectors.ScorerDetector):
    """For tests: the scores as a detector."""

    name, field, scorer = "scored", "x", Fixed()


def test_the_better_reference_counts_and_a_failure_is_reported():
    made = Scored()
    assert made.p(points()).tolist() == [1, 1, 0, 1]
    bad = Datapoint(hyp="bad", src="a", tgt="b", task=Task.MT, id=7)
    with pytest.raises(ShroomError, match="datapoint id 7: no way"):
        made.p([bad])
