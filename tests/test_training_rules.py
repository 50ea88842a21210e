"""The rules that make training pairs, on parses written by hand."""

import random
import sys
from functools import cache

import pytest
import spacy
from conftest import ROOT

#: word/tag/part of speech/dependency/place of the head, and perhaps /type of the name it begins.
PARSES = {
    "chased": (
        "The/DT/DET/det/1 dog/NN/NOUN/nsubj/2 chased/VBD/VERB/ROOT/2 a/DT/DET/det/4 "
        "cat/NN/NOUN/dobj/2 in/IN/ADP/prep/2 the/DT/DET/det/7 park/NN/NOUN/pobj/5 ././PUNCT/punct/2"
    ),
    "sees": (
        "He/PRP/PRON/nsubj/1 sees/VBZ/VERB/ROOT/1 Ann/NNP/PROPN/dobj/1/PERSON ././PUNCT/punct/1"
    ),
    "met": (
        "Ann/NNP/PROPN/nsubj/1/PERSON met/VBD/VERB/ROOT/1 Bob/NNP/PROPN/dobj/1/PERSON "
        "././PUNCT/punct/1"
    ),
    "names": (
        "Ann/NNP/PROPN/nsubj/1/PERSON slept/VBD/VERB/ROOT/1 while/IN/SCONJ/mark/4 "
        "old/JJ/ADJ/amod/4 Bob/NNP/PROPN/nsubj/5/PERSON read/VBD/VERB/advcl/1 ././PUNCT/punct/1"
    ),
    "definition": (
        "A/DT/DET/det/2 small/JJ/ADJ/amod/2 boat/NN/NOUN/ROOT/2 with/IN/ADP/prep/2 "
        "oars/NNS/NOUN/pobj/3 ././PUNCT/punct/2"
    ),
    "act": (
        "The/DT/DET/det/1 act/NN/NOUN/ROOT/1 of/IN/ADP/prep/1 rowing/NN/NOUN/pobj/2 "
        "boats/NNS/NOUN/dobj/3 ././PUNCT/punct/1"
    ),
    "question": (
        "Who/WP/PRON/nsubj/1 left/VBD/VERB/ROOT/1 today/NN/NOUN/npadvmod/1 ?/./PUNCT/punct/1"
    ),
    "contracts": (
        "They/PRP/PRON/nsubj/3 do/VBP/AUX/aux/3 not/RB/PART/neg/3 swim/VB/VERB/ROOT/3 "
        "././PUNCT/punct/3"
    ),
}
#: The singular or plural of the words that a verb may have to agree with.
PERSON = {"He": "Person=3", "Ann": "Person=3", "They": "Person=3"}


@pytest.fixture
def rules(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "baselines" / "training")
    import sentence_rules

    yield sentence_rules
    sys.modules.pop("sentence_rules")


@cache
def vocabulary():
    return spacy.blank("en").vocab


def parse(name):
    columns = [word.split("/") for word in PARSES[name].split()]
    words, tags, parts, relations, heads = zip(*(column[:5] for column in columns))
    names = [f"B-{column[5]}" if len(column) > 5 else "O" for column in columns]
    doc = spacy.tokens.Doc(
        vocabulary(),
        words=list(words),
        spaces=[word != "." and words[i + 1 : i + 2] != (".",) for i, word in enumerate(words)],
        tags=list(tags),
        pos=list(parts),
        deps=list(relations),
        heads=list(map(int, heads)),
        lemmas=["meet" if word == "met" else word.lower() for word in words],
        morphs=[PERSON.get(word, "") for word in words],
        ents=names,
    )
    doc.user_data["task"] = "DM" if name in ("definition", "act") else "PG"
    return doc


def made(rules, rule, name, seed=0, synonyms=None):
    docs = [parse(each) for each in PARSES]
    pool = rules.Pool(docs, synonyms or {})
    chance = random.Random(seed)  # noqa: S311 - a draw, not a secret
    return list(getattr(rules, rule)(rules.Sentence(parse(name), chance, pool)))


@pytest.mark.parametrize(
    ("rule", "name", "texts"),
    [
        ("roles", "chased", ["A cat chased the dog in the park."]),
        ("roles", "sees", ["Ann sees him."]),
        ("roles", "names", ["Bob slept while old Ann read."]),
        ("roles", "met", []),  # who meets whom is one and the same
        ("passive", "chased", ["A cat was chased by the dog in the park."]),
        ("passive_roles", "chased", ["The dog was chased by a cat in the park."]),
        ("passive", "sees", []),  # not of the past
        ("order", "chased", ["In the park, the dog chased a cat."]),
        ("order", "question", []),
        ("dropped", "chased", ["The dog chased a cat."]),
        ("general", "definition", ["A boat."]),
        ("general", "act", []),  # says nothing by itself
        ("general", "chased", []),
        ("contraction", "contracts", ["They don't swim."]),
        ("contraction", "chased", []),
        ("rephrased", "act", ["The action of rowing boats.", "The process of rowing boats."]),
    ],
)
def test_what_a_rule_makes(rules, rule, name, texts):
    assert made(rules, rule, name) == texts


def test_a_word_is_replaced_by_a_word_of_the_same_form(rules):
    nouns = {"dog", "cat", "park", "boat", "act", "rowing", "today"}
    before = ["The", "dog", "chased", "a", "cat", "in", "the", "park."]
    texts = [text for seed in range(30) for text in made(rules, "word", "chased", seed)]
    assert len(texts) > 20
    for text in texts:
        ((old, new),) = [pair for pair in zip(before, text.split()) if pair[0] != pair[1]]
        same_form = {"chased", "met", "slept", "read", "left"} if old == "chased" else nouns
        assert new.strip(".") in same_form


def test_synonyms_and_additions(rules):
    texts = made(rules, "synonym", "chased", synonyms={"cat": ["puss"]})
    assert texts == ["The dog chased a puss in the park."]
    assert made(rules, "synonym", "chased") == []
    texts = {text for seed in range(30) for text in made(rules, "added", "contracts", seed)}
    assert texts == {"They do not swim in the park."}


def test_loops_begin_with_the_sentence_and_repeat_its_end(rules):
    whole = "The dog chased a cat in the park"
    for seed in range(50):
        (text,) = made(rules, "loop", "chased", seed)
        assert text.startswith(whole)
        assert text.removeprefix(whole).rstrip(".").endswith("ark")


def test_every_rule_has_a_p_and_faithful_ones_a_low_one(rules):
    faithful = {"passive", "order", "contraction", "synonym", "dropped", "rephrased", "same"}
    assert all((rules.P[rule] < 0.3) == (rule in faithful) for rule in rules.P)
    assert all(callable(getattr(rules, rule)) for rule in faithful)
