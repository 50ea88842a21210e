"""Tests of the detector new-words."""

from new_words import NewWords

import shroom

ROWS = [
    {"hyp": "A small cat.", "src": "", "tgt": "A small cat.", "ref": "tgt", "task": "DM"},
    {"hyp": "A big dog.", "src": "", "tgt": "A small cat.", "ref": "tgt", "task": "DM"},
]


def test_p_is_higher_for_a_hallucination():
    faithful, invented = NewWords().predict_proba(ROWS)[:, 1]
    assert 0 <= faithful < invented <= 1


def test_the_kit_finds_it_by_its_name():
    assert isinstance(shroom.detector("new-words"), NewWords)
