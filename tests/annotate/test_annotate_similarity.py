"""The scorer similarity and the embeddings without a model, against their formulas by hand."""

import math
import unicodedata
from collections import Counter

import numpy as np
import pytest
from conftest import DATA
from generated import asked, random_questions, scores_of
from scipy.stats import spearmanr
from sklearn.utils import murmurhash3_32

from shroom.annotate import comparison
from shroom.annotate.base import score
from shroom.annotate.comparison import Similarity
from shroom.datasets.dreamcatcher import Generation, Question, read
from shroom.detectors.embeddings import SentenceEncoder
from shroom.inference.run_settings import RUN

WORDS = ["cat", "dog", "old", "town", "ﬁne", "Grad", "12", "the", "不", "是", ".", "ß", "é"]


def by_hand(questions, compare, prefix):
    """Return both scores of each normal generation, straight from the formulas."""
    found = {}
    for place, one in enumerate(questions):
        before = prefix.format(one.question)
        said = {g: each.text for g, each in enumerate(one.generation) if each.type != "uncertainty"}
        for g, text in said.items():
            others = [compare(before, other, text) for row, other in said.items() if row != g]
            mean = sum(others) / len(others) if others else None
            found[place, g] = compare(before, one.answer, text), mean
    return found


def dimension(piece):
    return abs(murmurhash3_32(piece)) % (1 << 15)


def weights(text):
    """Return the weight of each dimension of a text that has one."""
    words = unicodedata.normalize("NFKC", text).casefold().split()
    text = f" {' '.join(words)} "
    pieces = [text[i : i + n] for n in (1, 2, 3) for i in range(len(text) - n + 1)]
    return {place: 1 + math.log(n) for place, n in Counter(map(dimension, pieces)).items()}


def of_pieces(before, one, other):
    """Return the cosine of two texts by their pieces."""
    a, b = weights(before + one), weights(before + other)
    dot = sum(weight * b.get(place, 0) for place, weight in a.items())
    return dot / math.sqrt(sum(w * w for w in a.values()) * sum(w * w for w in b.values()))


def assert_close(found, expected, tolerance):
    assert found.keys() == expected.keys()
    for key, pair_of_scores in expected.items():
        for value, wanted in zip(found[key].values(), pair_of_scores):
            assert value is wanted is None or value == pytest.approx(wanted, abs=tolerance), key


# --- without a model


@pytest.mark.parametrize(("question", "prefix"), [(True, "Question: {}\nAnswer: "), (False, "")])
def test_scores_are_those_of_the_formulas(question, prefix):
    made = random_questions(20, WORDS)
    expected = by_hand(made, of_pieces, prefix)
    assert_close(scores_of(Similarity(question=question), *made), expected, 1e-12)


def test_the_prefix_of_chinese_is_chinese():
    made = asked("北京。", "上海。", "是北京。", question="中国的首都是哪里？")
    expected = by_hand([made], of_pieces, "问题：{}\n回答：")
    assert_close(scores_of(Similarity(), made), expected, 1e-12)


def test_embeddings_stay_what_they_are():
    """A change would make scores of before and after differ under one identity."""
    (vector,) = comparison.embed(["Abba 猫"])
    expected = weights("Abba 猫")
    assert sorted(expected)[:4] == [509, 1664, 2519, 6977]
    assert np.flatnonzero(vector).tolist() == sorted(expected)
    norm = math.sqrt(sum(w * w for w in expected.values()))
    for place, weight in expected.items():
        assert vector[place] == pytest.approx(weight / norm, abs=1e-12)


# --- with models


@pytest.mark.parametrize("question", [True, False])
def test_cosines_of_an_encoder(question, tiny):
    folder = tiny("encoder")
    made = random_questions(40, [*WORDS[:-4], "x", "y"])
    prefix = "Question: {}\nAnswer: " if question else ""
    texts = sorted(
        {
            prefix.format(one.question) + text
            for one in made
            for text in (one.answer, *(each.text for each in one.generation))
        }
    )
    known = dict(zip(texts, SentenceEncoder(folder).embed(texts, RUN)))
    expected = by_hand(made, lambda b, one, other: known[b + one] @ known[b + other], prefix)
    # Batches differ, and numbers of an embedding are rounded at the seventh digit.
    assert_close(scores_of(Similarity(folder, question=question), *made), expected, 1e-5)


class Overlap:
    """A detector that counts words."""

    identity = "words 1"

    def __init__(self):
        self.asked = []

    def p(self, datapoints, _):
        self.asked += [(one.src, one.hyp) for one in datapoints]
        return np.array([self.distance(one.src, one.hyp) for one in datapoints])

    @staticmethod
    def distance(premise, hyp):
        words = set(hyp.split())
        return 1 - len(words & set(premise.split())) / max(1, len(words))


@pytest.mark.parametrize("question", [True, False])
def test_a_detector_in_the_place_of_an_embedding(question, monkeypatch):
    counting = Overlap()
    monkeypatch.setattr("shroom.detectors.registry.detector", lambda _: counting)
    scorer = Similarity(detector="cross-encoder", question=question)
    made = random_questions(30, WORDS, 3)
    prefix = "{}\n" if question else ""
    expected = by_hand(made, lambda b, one, text: 1 - Overlap.distance(b + one, text), prefix)
    assert_close(scores_of(scorer, *made), expected, 1e-12)
    assert "words 1" in scorer.identity
    counting.asked.clear()
    scores_of(scorer, made[0], made[0])
    assert len(counting.asked) == len(set(counting.asked))


# --- how it runs


def test_a_generation_without_others_has_no_similarity_to_them(tiny):
    said = (Generation("I do not know.", "uncertainty"), Generation("A cat.", "normal"))
    one = Question("?", "A cat.", None, said)
    for scorer in (Similarity(), Similarity(tiny("encoder")), Similarity(detector="cross-encoder")):
        ((key, scores),) = scores_of(scorer, one).items()
        answer, others = scores.values()
        assert key == (0, 1)
        assert answer == pytest.approx(1, abs=0.5)
        assert others is None
        (made,) = score([one], [scorer]).questions
        assert made.generation[1].sim2gen_score is None


@pytest.mark.real
@pytest.mark.parametrize(
    ("question", "answer", "others"), [(True, 0.543, 0.565), (False, 0.582, 0.658)]
)
def test_the_order_is_like_that_of_the_shipped_embeddings(question, answer, others):
    """The figures of the documentation: rank correlations with a large encoder's similarities."""
    shipped = read(DATA / "dreamcatcher" / "test_autolabeled.jsonl").records
    made = score(shipped, [Similarity(question=question)]).questions
    for name, expected in (("sim2answer_score", answer), ("sim2gen_score", others)):
        both = [
            (getattr(there, name), getattr(here, name))
            for one, other in zip(shipped, made)
            for there, here in zip(one.generation, other.generation)
            if there.type == "normal"
        ]
        assert len(both) == 1000
        assert spearmanr(both).statistic == pytest.approx(expected, abs=5e-4)
