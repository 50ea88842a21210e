"""Long premises: how they are split, what the windows hold, and what follows from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import LENGTH, NLI_ARCHITECTURES, TEXT, tokenizer

from shroom.core.datapoint import pair
from shroom.detectors.cross_encoder.detector import CrossEncoder
from shroom.detectors.nli import NLI, p_from
from shroom.detectors.pairs import Windowed, parts_of
from shroom.detectors.selfcheck import SelfCheck
from shroom.detectors.similarity import Similarity
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import (
    PairReader,
    beginning,
    counts,
    plain,
    sentence_spans,
    spans,
    windows,
)

FACT = "The doctor moved to Lisbon in 1987."
FILLER = "The weather of that day was mild and a little wet. "


def words(texts):
    return {text: len(text.split()) for text in texts}


def characters(texts):
    return {text: len(text) for text in texts}


def contrary(texts):
    """A tokenizer that makes more of texts together than of each."""
    return {text: len(text.split()) + len(text) // 20 for text in texts}


BPE = tokenizer("roberta")


def tokens(texts):
    given = {text: plain(text) for text in texts}
    known = counts(BPE, given.values())
    return {text: known[read] for text, read in given.items()}


COUNTS = [words, characters, contrary, tokens]
PROSE = st.lists(
    st.sampled_from(
        [
            *("It", "rains", ".", "! ", "? ", " ", "\n", "\n\n", "雨だ", "。", "」", '."', "…"),
            *("Dr. ", "3.14", "a" * 40, "\t", "\u2028", "؟ ", "\r\n", "  ", "é\ud800", "\x00", "।"),
        ]
    ),
    max_size=60,
).map("".join)
TEXTS = st.one_of(PROSE, st.text(max_size=120))


# --- sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("It rains", ["It rains"]),
        ("It rains. It pours! Does it?  Yes.", ["It rains.", " It pours!", " Does it?", "  Yes."]),
        ('He said "no." Then he left.', ['He said "no."', " Then he left."]),
        ("It costs 3.14 in v1.2.", ["It costs 3.14 in v1.2."]),
        ("Title\n\nText\r\nMore", ["Title", "\n\nText", "\r\nMore"]),
        ("雨だ。はい！「なに？」と。", ["雨だ。", "はい！", "「なに？」", "と。"]),
        ("मौसम है। बारिश है।", ["मौसम है।", " बारिश है।"]),
        ("هل تمطر؟ نعم.", ["هل تمطر؟", " نعم."]),
        ("Wait… what", ["Wait…", " what"]),
    ],
)
def test_sentences(text, expected):
    assert [text[start:end] for start, end in sentence_spans(text)] == expected


@given(TEXTS)
def test_sentences_hold_the_text(text):
    found = sentence_spans(text)
    assert "".join(text[start:end] for start, end in found) == text


@pytest.mark.parametrize("text", [" " * 100_000, "\n" * 100_000, "a \t" * 50_000, '."' * 50_000])
def test_blanks_and_stops_without_end(text):
    assert spans(text, 50, words, 1)[-1][1] == len(text)


# --- windows


@given(TEXTS, st.integers(1, 40), st.integers(0, 4), st.sampled_from(COUNTS))
def test_windows_hold_every_character_and_fit(text, room, overlap, count):
    found = spans(text, room, count, overlap)
    assert found[0][0] == 0
    assert found[-1][1] == len(text)
    for (start, end), (following, beyond) in zip(found, found[1:]):
        assert start < following <= end < beyond
    for start, end in found:
        part = text[start:end].strip()
        assert count([part])[part] <= room or len(part) <= 1


@given(TEXTS, st.integers(1, 40), st.integers(0, 4), st.sampled_from([words, characters]))
def test_sentences_that_fit_are_together_and_windows_as_long_as_can_be(text, room, overlap, count):
    """By brute force, over all runs of sentences; their tokens are counted one by one."""
    sentences = sentence_spans(text)
    sizes = [max(1, count([text[s:e]])[text[s:e]]) for s, e in sentences]
    if max(sizes) > room:
        return
    found = spans(text, room, count, overlap)
    for first in range(len(sentences) - overlap):
        if sum(sizes[first : first + overlap + 1]) <= room:
            start, end = sentences[first][0], sentences[first + overlap][1]
            assert any(one <= start and end <= other for one, other in found)
    starts, ends = zip(*sentences)
    for start, end in found:
        first, last = starts.index(start), ends.index(end)
        assert last + 1 == len(ends) or sum(sizes[first : last + 2]) > room


def test_overlap():
    text = "One. Two. Three. Four. Five."
    two = ["One. Two.", "Three. Four.", "Five."]  # a prefix takes room
    three = ["One. Two. Three.", "Two. Three. Four.", "Three. Four. Five."]
    assert windows(text, 3, words, overlap=0) == ["One. Two. Three.", "Four. Five."]
    assert windows(text, 3, words, overlap=0, prefix="TS: ") == two
    assert windows(text, 3, words) == three[::2]
    assert windows(text, 3, words, overlap=9) == three
    assert windows(text, 5, words, overlap=9) == [text]
    # A window is as long as what the prefix leaves, with the blank between its sentences.
    text = "No. No. No. So it was."
    assert windows(text, 18, characters, prefix="A b ") == ["No. No. No.", "So it was."]


def test_a_sentence_that_fits_into_no_window_is_cut_at_words():
    text = "Short. " + " ".join(f"w{n}" for n in range(20)) + ". Short."
    found = windows(text, 8, words)
    assert found[0] == "Short. w0 w1 w2 w3 w4 w5"  # parts of two words: a quarter of a window
    assert found[1] == "w4 w5 w6 w7 w8 w9 w10 w11"
    assert found[-1].endswith("w19. Short.")


@given(TEXTS, st.integers(0, 30), st.sampled_from([words, characters]))
def test_a_beginning_is_the_longest_that_fits(text, room, count):
    found = beginning(text, room, count)
    assert text.startswith(found)
    assert count([found])[found] <= room
    longer = text[: len(found) + 1]
    assert longer == found or count([longer])[longer] > room


def test_the_places_that_a_beginning_tries_decide_if_a_longer_start_has_fewer_tokens():
    tokens = [0, 1, 2, 9, 1, 9, 9, 2, 9]
    assert beginning("abcdefgh", 2, lambda texts: {it: tokens[len(it)] for it in texts}) == "abcd"


@given(TEXTS, TEXTS, st.integers(8, 40))
def test_parts_fit_and_lose_nothing_of_the_premise(premise, hyp, room):
    reader = PairReader(tokenizer("roberta", room), room)
    premise, hyp = (text.replace("\ud800", "?") for text in (premise, hyp))
    parts = parts_of(reader, (premise, hyp))
    found, (kept, *_) = zip(*parts)
    assert hyp.startswith(kept)
    lengths = reader.lengths(parts)
    assert all(length <= room or len(one) <= 1 for length, one in zip(lengths, found))
    if reader.lengths([(premise, hyp)])[0] <= room:
        assert parts == [(premise, hyp)]
    together = "".join("".join(one.split()) for one in found)
    assert set("".join(premise.split())) <= set(together)
    if kept != hyp:  # only where it leaves the premise too little
        assert counts(BPE, [hyp])[hyp] > (room - 4) * 0.7 - 1


# --- one verdict of several


ROWS = np.array([[0.2, 0.7, 0.1], [0.9, 0.06, 0.04], [0.02, 0.08, 0.9], [0.3, 0.3, 0.4]])


def windowed(*sizes):
    items = [(f"w{n}", "h") for n in range(sum(sizes))]
    return Windowed(items, np.cumsum([0, *sizes[:-1]]))


def test_what_one_window_entails_the_premise_entails():
    (row,) = windowed(4).best_rows(ROWS)
    np.testing.assert_allclose(row, [0.9, 0, 0.1])  # another window's contradiction gives way
    (row,) = windowed(2).best_rows(ROWS[[0, 2]])
    np.testing.assert_allclose(row, [0.2, 0, 0.8])  # and counts where nothing supports


def test_single_windows():
    found = windowed(1, 2, 1).best_rows(ROWS)
    np.testing.assert_array_equal(found[[0, 2]], ROWS[[0, 3]])
    np.testing.assert_array_equal(windowed(1, 1, 1, 1).best_rows(ROWS), ROWS)


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(sum), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_rows_are_probabilities_in_any_order_of_windows(rows, chance):
    rows = np.array(rows)
    rows /= rows.sum(axis=1, keepdims=True)
    (found,) = windowed(len(rows)).best_rows(rows)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert found[0] == rows[:, 0].max()
    chance.shuffle(order := list(range(len(rows))))
    again = windowed(len(rows)).best_rows(rows[order])
    np.testing.assert_array_equal(again[0], found)


# --- the detectors


LONG = " ".join(TEXT * 6)
HYP = "It rained all day."


@pytest.mark.parametrize("architecture", NLI_ARCHITECTURES)
def test_nli_by_brute_force(architecture, tiny, notes):
    folder = tiny("nli_model", architecture)
    reader = PairReader(tokenizer(architecture), LENGTH)
    parts = parts_of(reader, (LONG, HYP))
    assert len(parts) > 5
    assert max(reader.lengths(parts)) <= LENGTH
    rows = NLI(folder).probabilities(parts)
    e, c = rows[:, 0].max(), min(rows[:, 2].max(), 1 - rows[:, 0].max())
    points = [pair("A cat.", HYP), pair(LONG, HYP), pair(TEXT[1], HYP)]
    p = NLI(folder).p(points, Run(note=notes.append))
    assert p[1] == pytest.approx(p_from(np.array([e]), np.array([c]))[0], abs=1e-5)
    (note,) = notes
    split = f"1 of 3 premises had to be split into {len(parts)} windows, because {folder} "
    assert note.startswith(split)
    assert note.endswith("p comes from the window that best supports the hypothesis")
    short = [points[0], points[2]]
    np.testing.assert_allclose(p[[0, 2]], NLI(folder).p(short), atol=1e-5)


def test_similarity_by_brute_force(tiny, notes):
    folder = tiny("encoder")
    count = lambda texts: counts(tokenizer("bert"), texts)  # noqa: E731
    parts = windows(LONG, LENGTH - 2, count)
    assert len(parts) > 3
    apart = Similarity(folder).p([pair(one, HYP) for one in parts])
    (p,) = Similarity(folder).p([pair(LONG, HYP)], Run(note=notes.append))
    assert p == pytest.approx(apart.min(), abs=1e-6)
    assert f"split into {len(parts)} windows" in notes[0]


def test_selfcheck_reads_long_samples_in_windows(tiny, notes):
    model = tiny("nli_model")
    apart = NLI(model).probabilities([(LONG, HYP)])
    p = SelfCheck(variant="nli", model=model).against([HYP], [(LONG,)], Run(note=notes.append))
    assert p == pytest.approx(p_from(apart[:, 0], apart[:, 2]), abs=1e-6)
    assert "windows" in notes[0]


def test_a_hypothesis_that_is_too_long_by_itself_is_cut_and_said_so(tiny, notes):
    points = [pair(LONG, "word " * 5000), pair("A cat.", "word " * 5000), pair("A cat.", HYP)]
    p = NLI(tiny("nli_model")).p(points, Run(note=notes.append))
    assert ((p >= 0) & (p <= 1)).all()
    assert notes[0].startswith("1 of 3 premises had to be split")
    assert notes[1].startswith("2 of 3 hypotheses had to be truncated")


# --- the shipped model


def test_a_fact_at_the_end_of_30_000_characters_is_found(notes):
    premise = FILLER * (30_000 // len(FILLER)) + FACT
    said = "In 1987 the doctor moved to Lisbon."
    points = [pair(premise, said), pair("A cat sleeps.", "The cat is asleep.")]
    found, _ = CrossEncoder().p(points, Run(note=notes.append))
    assert found < 0.5
    assert notes[0].startswith("1 of 2 premises had to be split")


def test_the_cross_encoder_by_brute_force():
    model = CrossEncoder()
    premise = " ".join(f"On day {n} the {what} was seen." for n, what in enumerate(TEXT * 8))
    hyp = "On day 31 it was raining."
    parts = parts_of(model._model.encoding, ("TS", premise, hyp))
    assert parts[0][-1] == hyp
    assert len(parts) > 2
    _, cut = model._model.encoding(parts)
    assert not any(cut)
    apart = model.p([pair(one, hyp) for _, one, hyp in parts])
    assert model.p([pair(premise, hyp)]) == pytest.approx([apart.min()], abs=1e-5)
