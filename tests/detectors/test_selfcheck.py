"""Self-consistency: the three variants, and the files of samples."""

import math

import numpy as np
import pytest
from conftest import write_json
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import Datapoint, Task
from shroom.core.problems import ShroomError
from shroom.core.word_spans import spans
from shroom.detectors.nli import NLI
from shroom.detectors.selfcheck import MIDDLE, SelfCheck, sentences, surprise
from shroom.inference.run_settings import RUN, Run

HYP = "the small cat sleeps on the mat"
NEAR = ["the small cat sleeps on a mat", "a small cat sleeps on the mat", "the cat sleeps"]
FAR = ["parliament passed another budget", "rain fell over northern hills", "nobody knows why"]
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "dd", "e"]), min_size=1, max_size=8).map(" ".join)


def point(hyp=HYP, number=None):
    return Datapoint(hyp=hyp, src="a source", tgt="", task=Task.MT, id=number)


def p_of(tmp_path, hyp, samples, run=RUN, **settings):
    path = write_json(tmp_path / "samples.json", [{"samples": samples}])
    (p,) = SelfCheck(samples=path, **settings).p([point(hyp)], run)
    assert 0 <= p <= 1
    return p


# words


#: Texts, and their words with blanks between them.
WORDS = {
    "": "", " \n\t": "", "one": "one", "It's 3.5 km!": "It's 3.5 km !", "猫だ。": "猫 だ 。",
    "well-known -- and so": "well-known -- and so", "हिन्दी में": "हिन्दी में", "ที่นี่": "ที่ นี่",
    "e\u0301te\u0301 fini": "e\u0301te\u0301 fini", "👩\u200d👧 ok": "👩\u200d👧 ok",
    "\ud800 x": "\ud800 x",
}  # fmt: skip


def test_words_in_any_script():
    words = {text: [text[start:end] for start, end in spans(text)] for text in WORDS}
    assert words == {text: separate.split() for text, separate in WORDS.items()}


# n-grams


def test_the_formula_by_hand():
    # 3 + 4 words, of which "a" stands 3 times and "b" once
    average = -(math.log(3 / 7) + math.log(1 / 7) + math.log(3 / 7)) / 3
    assert surprise("a b a", ["a c d e"]) == pytest.approx(average)
    # bigrams: _a ab ba | _a ac: "_a" twice of five
    assert surprise("a b a", ["a c"], n=2) == pytest.approx((math.log(5 / 2) + 2 * math.log(5)) / 3)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_agreement_means_less_p(tmp_path, n):
    def p(samples):
        return p_of(tmp_path, HYP, samples, n=n)

    assert p([HYP] * 3) < p(FAR)
    assert p([HYP] * 3) <= p(NEAR) <= p(FAR)
    x = surprise(HYP, NEAR, n)
    assert p(NEAR) == pytest.approx(x / (x + MIDDLE))


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=5), st.integers(1, 3))
def test_ngrams_do_not_care_for_the_order_or_case_of_samples(hyp, samples, n):
    mixed = [text.upper() for text in reversed(samples)]
    assert surprise(hyp, samples, n) == surprise(hyp, mixed, n)
    # a sample that shares no word never lowers it
    assert surprise(hyp, [*samples, "z zz"], n) >= surprise(hyp, samples, n)


def test_sentences():
    parts = ("It rains.", "Does it?", "雨だ。", "はい。")
    assert sentences("It rains. Does it? 雨だ。はい。") == parts
    assert sentences(" ") == ("",)


@pytest.mark.parametrize("variant", ["ngram", "nli", "bertscore"])
def test_a_blank_hypothesis_has_the_middle_p(tmp_path, variant):
    for hyp in ("", " ", "\n"):
        assert p_of(tmp_path, hyp, NEAR, variant=variant, model="never/loaded") == 0.5


@pytest.mark.parametrize("samples", [[""], ["x"], ["\ud800"], ["y " * 25_000]])
def test_odd_texts(tmp_path, samples):
    odd = ("x", "x" * 50_000, "a " * 20_000, "\ud800", "猫だ", "\u200b", "!?", "\x00\x1b[31m")
    for hyp in odd:
        assert np.isfinite(p_of(tmp_path, hyp, samples))


# files of samples


def test_by_id_in_any_order_and_by_order_without(tmp_path):
    points = [point(HYP, 7), point("parliament passed", 9)]
    rows = [{"id": "9", "samples": NEAR}, {"id": 7, "samples": FAR}, {"id": 8, "samples": ["x"]}]
    by_id = SelfCheck(samples=write_json(tmp_path / "a.json", rows)).p(points)
    rows = [{"samples": FAR}, {"samples": NEAR}]
    by_order = SelfCheck(samples=write_json(tmp_path / "b.json", rows)).p(points)
    np.testing.assert_array_equal(by_id, by_order)
    (single,) = SelfCheck(samples=tmp_path / "a.json").p(points[1:])
    assert single == by_id[1]


def test_it_is_held_against_its_samples(tmp_path):
    rows = [{"id": 9, "samples": NEAR}, {"id": 7, "samples": ["", "x"]}]
    chosen = SelfCheck(samples=write_json(tmp_path / "a.json", rows))
    assert chosen.premises(point(number=9)) == tuple(NEAR)
    assert chosen.premises(point(number=7)) == ("", "x")
    with pytest.raises(ShroomError, match="no samples for datapoint id 8"):
        chosen.premises(point(number=8))
    assert SelfCheck(samples=write_json(tmp_path / "b.json", rows)).identity == chosen.identity
    rows[0]["samples"] = FAR
    other = write_json(tmp_path / "a.json", rows)
    assert SelfCheck(samples=other).identity != chosen.identity
    assert SelfCheck(samples=other, variant="nli", model="x/y").identity.endswith(" x/y@main")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "expected at least one item"),
        ({}, "expected a list of items"),
        ([3], 'item 0: expected an object such as {"id": 1, "samples": .*, got 3'),
        ([{"samples": NEAR}, {}], "item 1: expected an object"),
        ([{"samples": []}, {}], "item 0: expected an object"),
        ([{"samples": ["a", None]}], "item 0: expected an object"),
        ([{"samples": NEAR, "id": 1.5}], "item 0: expected an object"),
        ([{"samples": NEAR, "id": 1}, {"samples": NEAR}], "expected a different id in each row"),
        ([{"samples": NEAR, "id": 1}] * 2, "expected a different id in each row"),
        ([{"samples": NEAR}] * 2, "has 2 rows without ids, but the data has 1 datapoint"),
        ([{"samples": NEAR, "id": 8}], "no samples for datapoint id 7"),
    ],
)
def test_what_is_wrong_with_samples_is_told(tmp_path, rows, message):
    path = write_json(tmp_path / "s.json", rows)
    with pytest.raises(ShroomError, match=message) as error:
        SelfCheck(samples=path).p([point(number=7)])
    assert "s.json" in str(error.value)
    path = write_json(tmp_path / "s.json", [{"samples": NEAR, "id": 1}])
    with pytest.raises(ShroomError, match="no samples for datapoint hyp "):
        SelfCheck(samples=path).p([point()])


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bad.json").write_text("[{")
    (tmp_path / "folder").mkdir()
    for name, message in (
        ("no.json", r"no\.json"),
        ("bad.json", "not-json"),
        ("folder", "no-file"),
    ):
        with pytest.raises(ShroomError, match=message):
            SelfCheck(samples=tmp_path / name).p([point()])
    with pytest.raises(ShroomError, match="specify --set samples=FILE, a JSON list"):
        SelfCheck().p([point()])
    assert SelfCheck().p([]).shape == (0,)


# NLI and BERTScore


def test_bertscore_is_greedy_matching(tmp_path, tiny, notes):
    import torch
    from transformers import AutoModel, AutoTokenizer

    encoder = tiny("encoder")

    def p(hyp, samples, run=RUN):
        return p_of(tmp_path, hyp, samples, run, variant="bertscore", model=encoder)

    def vectors(text):
        given = AutoTokenizer.from_pretrained(encoder)(text, return_tensors="pt")
        with torch.no_grad():
            rows = AutoModel.from_pretrained(encoder)(**given).last_hidden_state[0, 1:-1]
        return torch.nn.functional.normalize(rows, dim=-1).numpy()

    def f1(one, other):
        cosines = vectors(one) @ vectors(other).T
        precision, recall = cosines.max(1).mean(), cosines.max(0).mean()
        return 2 * precision * recall / (precision + recall)

    hyps = ["The cat sat.", "It rains."]
    samples = ["A dog ran. The cat slept.", "Rain fell all day"]
    best = [[max(f1(hyp, part) for part in sentences(text)) for text in samples] for hyp in hyps]
    assert p(" ".join(hyps), samples) == pytest.approx(1 - np.mean(best), abs=1e-5)
    assert p(HYP, [HYP] * 3) == pytest.approx(0, abs=1e-5)
    assert p(HYP, ["", " \n"]) == 1
    long = [*NEAR, "rain " * 10_000, "\ud800 odd", "猫だ。"]
    small = p(HYP, long, Run(batch_tokens=1, note=notes.append))
    assert small == pytest.approx(p(HYP, long, Run(batch_tokens=10**6)), abs=1e-5)
    assert notes == ["1 sentence had to be truncated: the encoder reads at most 64 tokens"]


def test_nli_is_the_mean_share_of_contradiction(tmp_path, tiny):
    folder = tiny("nli_model")
    samples = [[*NEAR, ""], FAR[:1]]
    path = write_json(tmp_path / "s.json", [{"samples": texts} for texts in samples])
    p = SelfCheck(samples=path, variant="nli", model=folder).p([point(), point("a mat")])
    for found, hyp, texts in zip(p, (HYP, "a mat"), samples):
        e, _, c = NLI(folder).probabilities([(text, hyp) for text in texts]).T
        assert found == pytest.approx(np.mean(c / (c + e)), abs=1e-6)
