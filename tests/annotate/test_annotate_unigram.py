"""The scorer unigram, and the words of three languages: compared with jieba and spaCy."""

import json
import math
import sys
import warnings

import pytest
from conftest import DATA
from generated import asked, random_questions, scores_of
from hypothesis import given
from hypothesis import strategies as st

from shroom.annotate import words
from shroom.annotate.base import score
from shroom.annotate.unigram import Unigram
from shroom.annotate.words import LANGUAGES, language_of
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import read

HAN = "北京 是 中国 的 首都 ， 上海 不 知道 大学生 在 图书馆 。".split()  # noqa: SIM905 - to be read
LATIN = ["Paris", "is", "the", "capital", "of", "France", "isn't", ",", "Dr.", "well-known", "3"]
GREEK = ["Η", "Αθήνα", "είναι", "η", "πρωτεύουσα", "της", "Ελλάδας", "7"]


@pytest.fixture(scope="module")
def jieba():
    """Return jieba as any program has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba.analyse

        jieba.initialize()
    return jieba


# --- the scores, by hand


def by_hand(question, tokens, known, keywords, top_k):
    """Return the scores, straight from the formulas."""
    counted = [*keywords(question.answer)]
    for generation in question.generation:
        counted += keywords(generation.text)
    found = {}
    for place, generation in enumerate(question.generation):
        if generation.type == "uncertainty":
            continue
        wanted = tokens(question.answer)
        hits = sum(token in known(generation.text) for token in wanted)
        own = [
            (word, -math.log(counted.count(word) / (len(counted) + 1e-6)))
            for word in keywords(generation.text)
        ]
        least = sorted(value for _, value in own)[:top_k]
        found[place] = hits / (len(wanted) + 1e-6), own, sum(least) / (len(least) + 1e-6)
    return found


@pytest.fixture(scope="module")
def english_tokens():
    """Return a function that gives the tokens of spaCy that are not white space."""
    import spacy

    tokenizer = spacy.blank("en").tokenizer
    return lambda text: [token for token in tokenizer(text) if not token.is_space]


@pytest.mark.parametrize(("name", "top_k"), [("zh", 1), ("en", 5), ("other", 50)])
def test_scores_are_those_of_the_formulas(name, top_k, jieba, english_tokens):
    words, joint = {"zh": (HAN, ""), "en": (LATIN, " "), "other": (GREEK, " ")}[name]
    if name == "zh":
        tags = jieba.analyse.extract_tags
        ways = (
            lambda text: list(jieba.cut(text)),
            lambda text: tags(text, topK=100),
            lambda text: tags(text, topK=20),
        )
    elif name == "en":
        ways = (
            *[lambda text: [token.lower_ for token in english_tokens(text)]] * 2,
            lambda text: [token.lower_ for token in english_tokens(text) if not token.is_stop],
        )
    else:
        ways = [lambda text: text.lower().split()] * 3
    made = random_questions(12, words, joint=joint, longest=40)
    for setting in (name, "auto"):
        found = scores_of(Unigram(top_k=top_k, language=setting), *made)
        for place, one in enumerate(made):
            expected = by_hand(one, *ways, top_k)
            assert sorted(g for p, g in found if p == place) == sorted(expected)
            for generation, (share, own, average) in expected.items():
                overlap, probs, rarity = found[place, generation].values()
                assert (overlap, rarity) == pytest.approx((share, average), abs=1e-12)
                assert [*probs] == [pytest.approx({word: n}, abs=1e-12) for word, n in own]


@given(st.lists(st.text(), min_size=1, max_size=4), st.sampled_from(["auto", "zh", "en", "other"]))
def test_any_text_has_scores_in_their_ranges(texts, name):
    for scores in scores_of(scorer(name), asked(texts[0], *texts)).values():
        share, probs, average = scores.values()
        assert 0 <= share < 1
        values = [0, *(value for each in probs for value in each.values())]
        assert min(values) == 0 <= average <= max(values)
        json.dumps(scores)


def scorer(name, known={}):  # noqa: B006 - so that the dictionary is read once
    return known.setdefault(name, Unigram(language=name))


@pytest.mark.real
def test_the_shipped_scores_are_made_from_the_texts_to_the_last_digit():
    """The file has overlap and average scaled to [0, 1] over the whole data set."""
    shipped = read(DATA / "dreamcatcher" / "test_autolabeled.jsonl").records
    bare = read(DATA / "dreamcatcher" / "test_generated.jsonl").records
    made = score(bare, [Unigram()]).questions
    pairs = [
        (there, here)
        for one, other in zip(shipped, made)
        for there, here in zip(one.generation, other.generation)
        if there.type == "normal"
    ]
    assert len(pairs) == 1000
    assert sum(there.onegram_probs == here.onegram_probs for there, here in pairs) == 1000
    for name in ("unigram_overlap_with_answer_score", "top_k_avg_probs_score"):
        values = [getattr(here, name) for _, here in pairs]
        least, most = min(values), max(values)
        scaled = [(value - least) / (most - least) for value in values]
        assert sum(a == getattr(b, name) for a, (b, _) in zip(scaled, pairs)) == 1000


# --- languages


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["OpenAI 发布了 GPT-4 Turbo"], "zh"),
        (["What does 你好 mean?"], "en"),
        (["Où est l'école?"], "en"),
        (["Где Москва?"], "other"),
        (["क्या हाल है"], "other"),
        (["", "12 + 7 = 19"], "other"),
        ([], "other"),
        (["Paris London", "北京"], "zh"),
    ],
)
def test_the_script_shows_the_language(texts, expected):
    assert language_of(texts) == expected


def test_other_languages_have_the_words_of_unicode():
    words = LANGUAGES["other"]("Η Αθήνα, 3,5 km; don't — हिन्दी! 猫だ")
    assert words.tokens == ["η", "αθήνα", "3,5", "km", "don't", "हिन्दी", "猫", "だ"]
    assert words.keywords == words.tokens


# --- Chinese


@given(st.text(st.sampled_from("".join(HAN) + "北京市A1.% \n的龥𠀀"), max_size=60))
def test_chinese_words_and_keywords_are_those_of_jieba(jieba, text):
    words = LANGUAGES["zh"](text)
    assert words.tokens == list(jieba.cut(text))
    assert set(words.vocabulary) == set(jieba.analyse.extract_tags(text, topK=100))
    assert words.keywords == jieba.analyse.extract_tags(text, topK=20)


@pytest.mark.parametrize(
    ("module", "said", "its", "other"),
    [
        ("jieba", "Chinese texts need jieba", ("北京", "上海"), ("Paris", "Rome")),
        ("spacy", "English texts need spaCy", ("Paris", "Rome"), ("Η Αθήνα", "Ελλάδα")),
    ],
)
def test_without_a_package_other_languages_are_scored(monkeypatch, module, said, its, other):
    for name in [name for name in sys.modules if name.partition(".")[0] == "jieba"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    words._jieba.cache_clear()
    words._spacy.cache_clear()
    unigram = Unigram()
    assert module not in unigram.identity
    assert scores_of(unigram, asked(*other))
    with pytest.raises(ShroomError, match=f"{said}: run pip install"):
        scores_of(unigram, asked(*its))
    assert scores_of(Unigram(language="other"), asked(*its))


# --- English


def test_english_words_are_those_of_spacy():
    words = LANGUAGES["en"]("Dr. Who's  dogs\n don't sing, and\u00a0the cat can't!")
    tokens = "dr. who 's dogs do n't sing , and the cat ca n't !"
    assert words.tokens == tokens.split()
    assert words.keywords == ["dr.", "dogs", "sing", ",", "cat", "!"]


def test_a_long_text_without_blanks_is_cut():
    """The time that spaCy takes grows with the square of a run's length."""
    (whole,) = LANGUAGES["en"]("x" * 200).tokens
    assert "".join(LANGUAGES["en"]("a" + ")" * 20_000).tokens) == "a" + ")" * 20_000
    assert LANGUAGES["en"](whole * 2 + "y").tokens == [whole, whole, "y"]
