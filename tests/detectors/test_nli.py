"""The NLI detector: whose classes are which, what p follows, and what is cut."""

import functools
import itertools
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from conftest import write_json
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import LENGTH, NLI_ARCHITECTURES, TEXT, change, nli_model
from tokenizers import Tokenizer, processors
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from shroom.core.datapoint import Datapoint, Task
from shroom.core.problems import ShroomError
from shroom.detectors.nli import NLI, Formula, columns, p_from
from shroom.inference import hub
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import PairReader, counts, longest, padded, plain

THREE = ("entailment", "neutral", "contradiction")
TWO = ("entailment", "not_entailment")
ORDERS = [*itertools.permutations(THREE)]
#: Hypotheses and premises of different lengths, one of them empty and one in no script of English.
PAIRS = [
    *itertools.product(TEXT, ["A cat.", "It rained all day long."]),
    (TEXT[0], ""),
    ("猫だ", "𝔘ñ"),
]


def point(**more):
    return Datapoint(**{"hyp": "A cat.", "src": "", "tgt": TEXT[0], "task": Task.DM, **more})


POINTS = [point(hyp=hyp, tgt=premise) for premise, hyp in PAIRS]


@pytest.fixture
def made(tiny):
    return functools.partial(tiny, "nli_model")


def logits_of(folder, pairs):
    """Return the logits of each pair, from transformers, pair by pair."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        rows = [model(**tokenizer([a], [b], return_tensors="pt")).logits[0] for a, b in pairs]
    return np.array([row.double().tolist() for row in rows])


def directly(folder, pairs):
    """Return the probabilities of each class by its label, from transformers, pair by pair."""
    logits = np.exp(logits_of(folder, pairs))
    shares = logits / logits.sum(axis=1, keepdims=True)
    labels = hub.config(folder).id2label
    return {label.lower(): shares[:, place] for place, label in labels.items()}


# --- which class is which


@pytest.mark.parametrize(
    ("architecture", "order"),
    [
        *itertools.product(NLI_ARCHITECTURES, [ORDERS[-1], TWO, TWO[::-1]]),
        *((NLI_ARCHITECTURES[0], order) for order in ORDERS[:-1]),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_every_order_of_the_labels(architecture, order, made):
    folder = made(architecture, order)
    found = NLI(folder).probabilities(PAIRS)
    by_label = directly(folder, PAIRS)
    by_label["contradiction"] = by_label.pop("not_entailment", by_label.get("contradiction"))
    empty = np.zeros(len(PAIRS))
    expected = np.column_stack([by_label.get(name, empty) for name in THREE])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.ptp(found[:, [0, 2]], axis=0).min() > 0.05  # else nothing would be shown


SUPPORT = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
UNCLEAR = r"its class names .* do not show which class is entailment"


@pytest.mark.parametrize(
    ("labels", "given", "expected"),
    [
        (["CONTRADICTION", "NEUTRAL", "ENTAILMENT"], {}, (2, 1, 0)),
        (["entail", "neutral", "contradict"], {}, (0, 1, 2)),
        (["contradicts", "entails"], {}, (1, None, 0)),
        (["entailment", "not-entailment"], {}, (0, None, 1)),
        (["NOT ENTAILMENT", "ENTAILMENT"], {}, (1, None, 0)),
        ([" Contradiction ", "entailment"], {}, (1, None, 0)),
        (SUPPORT, {"entailment": "SUPPORTS", "contradiction": "refutes"}, (0, None, 1)),
        (SUPPORT, {"entailment": "0", "contradiction": "1", "neutral": "2"}, (0, 2, 1)),
        (["hallucinated", "consistent"], {"entailment": "consistent"}, (1, None, 0)),
        (["hallucinated", "consistent"], {"contradiction": "Hallucinated"}, (1, None, 0)),
        (["LABEL_0", "LABEL_1"], {"entailment": "LABEL_0"}, (0, None, 1)),
        (["supports", "neutral", "contradiction"], {"entailment": "supports"}, (0, 1, 2)),
        (["entailment", "contradiction"], {"entailment": "contradiction"}, (1, None, 0)),
        (["LABEL_0"], {}, (0, None, 1)),
        (["consistent"], {"entailment": "consistent"}, (0, None, 1)),
        (["LABEL_0"], {"contradiction": "LABEL_0"}, (1, None, 0)),
        (["contradiction"], {}, (1, None, 0)),
        (SUPPORT, {"entailment": "SUPPORT"}, 'entailment: expected a class .* "SUPPORT"'),
        (SUPPORT, {"entailment": "3"}, "no other meaning"),
        (SUPPORT, {"entailment": "SUPPORTS", "contradiction": "0"}, 'contradiction: .* got "0"'),
        (SUPPORT, {"entailment": "SUPPORTS"}, UNCLEAR),
        (SUPPORT, {"neutral": "NOT ENOUGH INFO"}, UNCLEAR),
        *(
            (labels, {}, f"^a model: {UNCLEAR}")
            for labels in (
                ["LABEL_0", "LABEL_1", "LABEL_2"],
                ["positive", "negative"],
                ["entailment", "neutral"],
                ["contradiction", "neutral"],
                ["entailment", "entails"],
                ["entailment", "Entailment", "contradiction"],
                ["entailment", "neutral", "contradiction", "other"],
                ["not_entailment", "non_entailment"],
                [],
            )
        ),
    ],
)
def test_the_classes_of_a_model(labels, given, expected):
    if not isinstance(expected, str):
        assert columns("a model", dict(enumerate(labels)), given) == expected
        return
    with pytest.raises(ShroomError, match=expected) as caught:
        columns("a model", dict(enumerate(labels)), given)
    assert all(f'"{label}"' in str(caught.value) for label in labels)


@pytest.mark.parametrize(
    ("problem", "given", "p"),
    [
        (None, {}, lambda x: 1 / (1 + np.exp(x))),
        ("multi_label_classification", {}, lambda x: 1 / (1 + np.exp(x))),
        ("regression", {}, lambda x: 1 - np.clip(x, 0, 1)),
        (None, {"contradiction": "score"}, lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_a_single_logit_is_that_of_consistency(tmp_path, problem, given, p):
    folder = str(nli_model(tmp_path, labels=["score"]))
    change(tmp_path, "config.json", problem_type=problem)
    logits = logits_of(folder, PAIRS)[:, 0]
    found = NLI(folder, **given).p(POINTS)
    np.testing.assert_allclose(found, p(logits), atol=1e-5)
    assert np.ptp(logits) > 0.1


def test_the_classes_of_a_multi_label_head_are_independent(tmp_path):
    folder = str(nli_model(tmp_path))
    change(tmp_path, "config.json", problem_type="multi_label_classification")
    shares = 1 / (1 + np.exp(-logits_of(folder, PAIRS)[:, ::-1]))
    np.testing.assert_allclose(NLI(folder).probabilities(PAIRS), shares, atol=1e-5)
    found = NLI(folder).p(POINTS)
    np.testing.assert_allclose(found, shares[:, 2] / (shares[:, 0] + shares[:, 2]), atol=1e-5)


@pytest.mark.parametrize(
    ("numbers", "refused"),
    [
        ({"entailment": 0, "neutral": 1, "contradiction": 2}, True),
        ({"ENTAILMENT": "0"}, True),
        ({"contradiction": "0", "neutral": 1, "entailment": 2}, False),
        ({"LABEL_0": 0, "LABEL_1": 1, "LABEL_2": 2}, False),
        (None, False),
    ],
)
def test_tables_of_classes_that_contradict_each_other(tmp_path, numbers, refused):
    folder = str(nli_model(tmp_path))
    change(tmp_path, "config.json", label2id=numbers)
    if refused:
        with pytest.raises(ShroomError, match=r"config\.json contradicts itself"):
            NLI(folder).probabilities(PAIRS)
    else:
        assert NLI(folder).probabilities(PAIRS).shape == (len(PAIRS), 3)


def test_wrong_classes_are_refused_before_the_weights_are_read(made, tmp_path):
    config = json.loads(Path(made(), "config.json").read_text(encoding="utf-8"))
    config["id2label"] = {str(n): f"LABEL_{n}" for n in range(3)}
    write_json(tmp_path / "config.json", config)
    with pytest.raises(ShroomError, match=r'"LABEL_0", "LABEL_1", "LABEL_2"'):
        NLI(str(tmp_path)).p([point()])
    for blank in ("", " "):
        with pytest.raises(ShroomError, match="entailment: expected a class"):
            NLI("/none", entailment=blank)


# --- from probabilities to p


def test_formulas(made):
    e, c = np.array([0.25, 0, 0.5, 0, 1]), np.array([0.5, 0, 0, 0.5, 0])
    for formula in ((), ("c/(c+e)",)):
        np.testing.assert_allclose(p_from(e, c, *formula), [2 / 3, 0.5, 0, 1, 0])
    np.testing.assert_allclose(p_from(e, c, "1-e"), [0.75, 1, 0.5, 1, 0])
    np.testing.assert_allclose(p_from(e, c, "c"), c)
    e, _, c = NLI(made()).probabilities(PAIRS).T
    for formula in get_args(Formula):
        np.testing.assert_array_equal(NLI(made(), formula=formula).p(POINTS), p_from(e, c, formula))


def test_what_tells_the_weights(made):
    assert NLI(["a/model", "b/model"], ["v1", "v2"]).identity == "a/model@v1+b/model@v2"
    assert NLI(["a/model", made()]).identity == f"a/model@main+{hub.identity(made())}"


def test_several_models_are_averaged(made):
    models = [made(), made("bert", ORDERS[3]), made("deberta-v2", TWO, seed=1)]
    apart = [NLI(model) for model in models]
    together = NLI(models, revision=["main"] * 3)
    expected = np.mean([one.p(POINTS) for one in apart], axis=0)
    np.testing.assert_allclose(together.p(POINTS), expected, atol=1e-5)
    expected = np.mean([one.probabilities(PAIRS) for one in apart], axis=0)
    np.testing.assert_allclose(together.probabilities(PAIRS), expected, atol=1e-5)


# --- how it is run


@pytest.mark.parametrize("architecture", NLI_ARCHITECTURES)
def test_neither_batches_nor_order_matter(architecture, made):
    nli = NLI(made(architecture))
    expected = nli.probabilities(PAIRS)
    order = np.random.default_rng(0).permutation(len(PAIRS))
    for batch_tokens in (1, 64, 10_000):
        run = Run(batch_tokens=batch_tokens)
        found = nli.probabilities([PAIRS[place] for place in order], run)
        np.testing.assert_allclose(found, expected[order], atol=1e-5)


def test_no_datapoints():
    assert NLI("not looked for").p([]).shape == (0,)
    assert NLI("not looked for").probabilities([]).shape == (0, 3)


def test_half_a_character_is_read_as_a_question_mark(made):
    found, read = (NLI(made()).probabilities([(text, text)]) for text in ("\ud800 a", "? a"))
    np.testing.assert_array_equal(found, read)


#: Some of them spell the end of a text, which must not end it.
TEXTS = (st.text(max_size=20) | st.sampled_from(["b </s> c", "[SEP] <s>", "<pad>"])).map(plain)


@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6),
    st.sampled_from(NLI_ARCHITECTURES),
    st.sampled_from(["left", "right"]),
)
def test_a_pair_is_put_together_as_the_tokenizer_itself_does_it(pairs, architecture, side):
    tokenizer, reader = readers(architecture)
    tokenizer.padding_side = reader._tokenizer.padding_side = side
    lengths, found = reader.lengths(pairs), reader.batch(pairs)
    expected = tokenizer(*map(list, zip(*pairs)), padding=True, verbose=False)
    assert set(found) == set(expected)
    for key, rows in expected.items():
        np.testing.assert_array_equal(found[key], rows)
    assert lengths.tolist() == found["attention_mask"].sum(axis=1).tolist()


@functools.lru_cache
def readers(architecture):
    folder = Path(tempfile.mkdtemp())
    nli_model(folder, architecture)
    tokenizer = hub.tokenizer(str(folder))
    tokenizer.split_special_tokens = True
    return tokenizer, PairReader(hub.tokenizer(str(folder)), 10**6)


@pytest.mark.parametrize("marked", [False, True], ids=["plain", "ends in eos"])
@pytest.mark.parametrize("named", [3, 0, None, -1])
def test_a_causal_classifier_reads_no_padding(named, marked, tmp_path):
    folder = str(nli_model(tmp_path, "llama", THREE))
    if marked:
        tokenizer = hub.tokenizer(folder)
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>",
            pair="<s> $A </s> $B </s>",
            special_tokens=[("<s>", 1), ("</s>", 2)],
        )
        tokenizer.save_pretrained(folder)
    change(tmp_path, "config.json", pad_token_id=named)
    change(tmp_path, "tokenizer_config.json", pad_token=None)
    by_label = directly(folder, PAIRS)
    expected = np.column_stack([by_label[name] for name in THREE])
    for tokens in (1, 10**6):  # alone and together
        found = NLI(folder).probabilities(PAIRS, Run(batch_tokens=tokens))
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected, axis=0).min() > 0.05


def test_padding_that_is_a_gap_in_the_vocabulary():
    backend = Tokenizer(WordLevel({"a": 0, "[UNK]": 1, "c": 5, "d": 7}, "[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="c")  # noqa: S106
    assert padded(tokenizer, SimpleNamespace(pad_token_id=3)).pad_token_id == 5


# --- what is too long


def test_the_premise_is_cut_at_its_end_and_the_hypothesis_is_whole(made):
    tokenizer = hub.tokenizer(made())
    reader = PairReader(tokenizer, LENGTH)
    hyp, premise = "It rained all day.", " ".join(map(str, range(1000)))
    one, other = tokenizer(hyp, add_special_tokens=False)["input_ids"], counts(tokenizer, [premise])
    pairs = [(premise, hyp), ("A cat.", hyp)]
    assert reader.lengths(pairs)[0] == len(one) + other[premise] + 4
    ids, short = reader.batch(pairs)["input_ids"].tolist()
    assert len(ids) == LENGTH
    assert ids[-len(one) - 1 : -1] == one
    kept = tokenizer.decode(ids[1 : ids.index(2)])
    assert premise.startswith(kept)
    assert short[-1] == tokenizer.pad_token_id


@pytest.mark.parametrize(
    ("premise", "size"),
    [("", 60), ("", 61), ("A cat sat.", 55), ("A cat sat.", 59), ("word " * 500, 30), ("A", 70)],
)
def test_a_long_hypothesis_is_cut_only_where_nothing_else_helps(premise, size, made):
    tokenizer = hub.tokenizer(made())
    reader = PairReader(tokenizer, LENGTH)
    pair = (premise, "9" * size)
    (length,) = reader.lengths([pair])
    ids = reader.batch([pair])["input_ids"][0].tolist()
    assert len(ids) == min(length, LENGTH)
    nine = tokenizer("9", add_special_tokens=False)["input_ids"][0]
    hypothesis_fits = size + min(counts(tokenizer, [premise])[premise], 1) + 4 <= LENGTH
    assert (ids.count(nine) == size) == hypothesis_fits


def test_a_tokenizer_that_is_not_fast():
    from transformers import ByT5Tokenizer

    reader = PairReader(ByT5Tokenizer(), 20)
    pairs = [("a cat", "a dog"), ("a cat " * 20, "a dog")]
    assert reader.lengths(pairs).tolist() == [12, 127]
    assert reader.batch(pairs)["input_ids"].shape == (2, 20)


@pytest.mark.parametrize(
    ("model_max_length", "family", "positions", "padding", "expected"),
    [
        (512, "bert", 512, 0, 512), (10**30, "roberta", 514, 1, 512), (128, "bert", 512, 0, 128),
        (1024, "bert", 512, 0, 512), (10**30, "t5", None, 0, 512), (0, "bert", 256, None, 256),
        (10**30, "deberta-v2", 512, 0, 512), (10**30, "deberta-v2", -1, 0, 512),
    ],
)  # fmt: skip
def test_how_much_a_model_reads(model_max_length, family, positions, padding, expected):
    tokenizer = SimpleNamespace(model_max_length=model_max_length)
    config = {"model_type": family, "max_position_embeddings": positions, "pad_token_id": padding}
    assert longest(tokenizer, SimpleNamespace(**config)) == expected


@given(st.text(alphabet=st.characters()))
def test_plain_text_can_be_written(text):
    found = plain(text)
    found.encode()
    assert len(found) == len(text)
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert found == text


def test_weights_that_give_no_numbers_are_told(made, tmp_path):
    import torch

    model = hub.model("nli", made(), device="cpu")
    with torch.no_grad():
        model.classifier.out_proj.weight.fill_(torch.nan)
    model.save_pretrained(tmp_path)
    hub.tokenizer(made()).save_pretrained(tmp_path)
    with pytest.raises(ShroomError, match="its weights may be damaged"):
        NLI(str(tmp_path)).p([point()])
