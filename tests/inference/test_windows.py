"""Long premises: how they are split, what the windows hold, and what follows from them."""

from functools import partial

import numpy as np
import pytest
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import LENGTH, NLI_ARCHITECTURES, TEXT, encoder, nli_model, tokenizer

from shroom.core.datapoint import pair
from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.detector import CrossEncoder
from shroom.detectors.nli import NLI, p_from
from shroom.detectors.pairs import OVERLAP, Windowed, Windows, best_rows, parts_of
from shroom.detectors.registry import detector
from shroom.detectors.selfcheck import SelfCheck
from shroom.detectors.similarity import Similarity
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import PairReader, offsets, windows

FACT = "The doctor moved to Lisbon in 1987."
FILLER = "The weather of that day was mild and a little wet. "


def characters(text):
    return [(place, place + 1) for place in range(len(text))]


def contrary(text):
    """A tokenizer that makes more of a part by itself: three tokens of its first character."""
    return [(0, 1)] * 2 * bool(text) + characters(text)


BPE = partial(offsets, tokenizer("roberta"))
PIECES = ["It", "rains", ". ", " ", "\n", "雨だ。", "a" * 40, "é\ud800"]
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES)).map("".join), st.text(max_size=120))


# --- windows


@given(TEXTS, st.integers(3, 40), st.integers(0, 30), st.sampled_from([characters, contrary, BPE]))
def test_windows_are_parts_that_fit_and_hold_everything(text, room, overlap, places):
    found = windows(text, room, places, overlap)
    assert all(part in text for part in found)
    assert all(len(places(part)) <= room or len(part) <= 4 for part in found)
    assert set("".join(text.split())) <= set("".join(found))


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 30))
def test_each_window_begins_with_the_end_of_the_one_before(n, room, overlap):
    text = "".join(map(chr, range(0x4E00, 0x4E00 + n)))
    found = windows(text, room, characters, overlap)
    shared = min(overlap, room // 2)
    assert found[0] + "".join(part[shared:] for part in found[1:]) == text
    assert all(one[len(one) - shared :] == two[:shared] for one, two in zip(found, found[1:]))
    assert {len(part) for part in found[:-1]} <= {room}


def test_overlap():
    text = "abcdefghij"
    assert windows(text, 4, characters, 0) == ["abcd", "efgh", "ij"]
    assert windows(text, 4, characters, 1) == ["abcd", "defg", "ghij"]
    assert windows(text, 4, characters, 9) == ["abcd", "cdef", "efgh", "ghij"]  # half a window
    assert windows(text, 10, characters, 9) == [text]
    assert windows("", 4, characters, 1) == windows("  " * 9, 4, characters, 1) == [""]


def test_the_prefix_counts():
    assert windows("abcdefg", 5, characters, 1, prefix="T: ") == [
        "ab",
        "bc",
        "cd",
        "de",
        "ef",
        "fg",
    ]


@given(TEXTS, TEXTS, st.integers(8, 40))
def test_parts_fit_and_lose_nothing_of_the_premise(premise, hyp, room):
    reader = PairReader(tokenizer("roberta", room), room)
    premise, hyp = (text.replace("\ud800", "?") for text in (premise, hyp))
    found, kept = parts_of(premise, hyp, reader, Windows())
    assert hyp.startswith(kept)
    lengths = reader.lengths([(one, kept) for one in found])
    assert all(length <= room or len(one) <= 4 for length, one in zip(lengths, found))
    if reader.lengths([(premise, hyp)])[0] <= room:
        assert (found, kept) == ([premise], hyp)
    together = "".join("".join(one.split()) for one in found)
    assert set("".join(premise.split())) <= set(together)
    if kept != hyp:  # only where it leaves the premise too little
        assert len(BPE(hyp)) > (room - 4) * 0.7 - 1


def test_a_tokenizer_without_places_says_what_to_do():
    def slow(*_, **__):
        raise NotImplementedError

    with pytest.raises(ShroomError, match=r"cannot be split.* --set windows=first"):
        offsets(slow, "a text")


# --- one verdict of several


ROWS = np.array([[0.2, 0.7, 0.1], [0.9, 0.06, 0.04], [0.02, 0.08, 0.9], [0.3, 0.3, 0.4]])


def windowed(*sizes):
    items = [(f"w{n}", "h") for n in range(sum(sizes))]
    long = [size for size in sizes if size > 1]
    starts = np.cumsum([0, *sizes[:-1]])
    return Windowed(items, starts, len(long), sum(long), 0)


def test_what_one_window_entails_the_premise_entails():
    (row,) = best_rows(ROWS, windowed(4), Windows())
    np.testing.assert_allclose(row, [0.9, 0, 0.1])  # another window's contradiction gives way
    (row,) = best_rows(ROWS[[0, 2]], windowed(2), Windows())
    np.testing.assert_allclose(row, [0.2, 0, 0.8])  # and counts where nothing supports


def test_means_and_single_windows():
    found = best_rows(ROWS, windowed(1, 2, 1), Windows("mean"))
    np.testing.assert_allclose(found, [ROWS[0], ROWS[1:3].mean(axis=0), ROWS[3]])
    found = best_rows(ROWS, windowed(1, 2, 1), Windows())
    np.testing.assert_array_equal(found[[0, 2]], ROWS[[0, 3]])
    assert best_rows(ROWS, windowed(1, 1, 1, 1), Windows()) is ROWS


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(sum), min_size=1, max_size=8),
    st.randoms(use_true_random=False),
)
def test_rows_are_probabilities_in_any_order_of_windows(rows, chance):
    rows = np.array(rows)
    rows /= rows.sum(axis=1, keepdims=True)
    (found,) = best_rows(rows, windowed(len(rows)), Windows())
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert found[0] == rows[:, 0].max()
    shuffled = rows.copy()
    chance.shuffle(order := list(range(len(rows))))
    np.testing.assert_array_equal(
        best_rows(shuffled[order], windowed(len(rows)), Windows())[0], found
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"windows": "maximum"},
        {"windows": None},
        {"overlap": -1},
        {"overlap": 1.5},
        {"overlap": True},
        {"overlap": "many"},
        {"overlap": 100_001},
    ],
)
@pytest.mark.parametrize("name", ["nli", "similarity", "cross-encoder", "selfcheck"])
def test_wrong_settings(name, settings):
    more = {"model": "a/model"} if name in ("nli", "similarity") else {}
    with pytest.raises(ShroomError, match=next(iter(settings))):
        detector(name, **more, **settings)


# --- the detectors


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    known = {}

    def make(architecture="roberta", kind=nli_model):
        if (architecture, kind) not in known:
            folder = tmp_path_factory.mktemp("model")
            known[architecture, kind] = str(kind(folder, architecture))
        return known[architecture, kind]

    return make


LONG = " ".join(TEXT * 6)
HYP = "It rained all day."


@pytest.mark.parametrize("architecture", NLI_ARCHITECTURES)
def test_nli_by_brute_force(architecture, made):
    folder = made(architecture)
    reader = PairReader(tokenizer(architecture), LENGTH)
    parts, _ = parts_of(LONG, HYP, reader, Windows())
    assert len(parts) > 5
    assert max(reader.lengths([(one, HYP) for one in parts])) <= LENGTH
    rows = NLI(folder).probabilities([(one, HYP) for one in parts])
    e, c = rows[:, 0].max(), min(rows[:, 2].max(), 1 - rows[:, 0].max())
    points = [pair("A cat.", HYP), pair(LONG, HYP), pair(TEXT[1], HYP)]
    notes = []
    p = NLI(folder).p(points, Run(note=notes.append))
    assert p[1] == pytest.approx(p_from(np.array([e]), np.array([c]))[0], abs=1e-5)
    (note,) = notes
    assert note.startswith(f"1 of 3 premises are too long for {folder}, which reads {LENGTH} ")
    assert note.endswith(f"read in {len(parts)} windows, and what supports it best counts")
    short = [points[0], points[2]]
    np.testing.assert_allclose(p[[0, 2]], NLI(folder).p(short), atol=1e-5)
    mean = NLI(folder, windows="mean").probabilities([(LONG, HYP)])
    np.testing.assert_allclose(mean[0], rows.mean(axis=0), atol=1e-5)


def test_similarity_by_brute_force(made):
    folder = made("bert", encoder)
    parts = windows(LONG, LENGTH - 2, partial(offsets, tokenizer("bert")), OVERLAP)
    assert len(parts) > 3
    apart = Similarity(folder).p([pair(one, HYP) for one in parts])
    notes = []
    (p,) = Similarity(folder).p([pair(LONG, HYP)], Run(note=notes.append))
    assert p == pytest.approx(apart.min(), abs=1e-6)
    assert f"read in {len(parts)} windows" in notes[0]
    (p,) = Similarity(folder, windows="mean").p([pair(LONG, HYP)])
    assert p == pytest.approx(apart.mean(), abs=1e-6)
    (p,) = Similarity(folder, windows="first").p([pair(LONG, HYP)])
    assert p == pytest.approx(apart[0], abs=0.5)


def test_selfcheck_reads_long_samples_in_windows(made):
    apart = NLI(made()).probabilities([(LONG, HYP)])
    notes = []
    p = SelfCheck(variant="nli", model=made()).against([HYP], [(LONG,)], Run(note=notes.append))
    assert p == pytest.approx(p_from(apart[:, 0], apart[:, 2]), abs=1e-6)
    assert "windows" in notes[0]
    cut = SelfCheck(variant="nli", model=made(), windows="first").against([HYP], [(LONG,)])
    assert cut == pytest.approx(NLI(made(), windows="first").p([pair(LONG, HYP)]), abs=1e-6)


def test_a_hypothesis_that_is_too_long_by_itself_is_cut_and_said_so(made):
    notes = []
    points = [pair(LONG, "word " * 5000), pair("A cat.", "word " * 5000), pair("A cat.", HYP)]
    p = NLI(made()).p(points, Run(note=notes.append))
    assert ((p >= 0) & (p <= 1)).all()
    assert notes[0].startswith("1 of 3 premises are too long")
    assert notes[1].startswith("2 of 3 hypotheses leave a premise too little")


# --- the shipped model


def test_a_fact_at_the_end_of_100_000_characters_is_found():
    premise = FILLER * (100_000 // len(FILLER)) + FACT
    said = "In 1987 the doctor moved to Lisbon."
    points = [pair(premise, said), pair("A cat sleeps.", "The cat is asleep.")]
    notes = []
    found, short = CrossEncoder().p(points, Run(note=notes.append))
    assert found < 0.5
    assert notes[0].startswith("1 of 2 premises are too long for the cross-encoder")
    cut, same = CrossEncoder(windows="first").p(points)
    assert cut > 0.6
    assert short == pytest.approx(same, abs=1e-5)


def test_the_cross_encoder_by_brute_force():
    model = CrossEncoder()
    premise = " ".join(f"On day {n} the {what} was seen." for n, what in enumerate(TEXT * 8))
    hyp = "On day 31 it was raining."
    parts, kept = parts_of(premise, hyp, model._model.encoding, Windows(), prefix="TS: ")
    assert kept == hyp
    assert len(parts) > 2
    _, cut = model._model.encoding([("TS", one, hyp) for one in parts])
    assert cut == 0
    apart = model.p([pair(one, hyp) for one in parts])
    (p,) = model.p([pair(premise, hyp)])
    assert p == pytest.approx(apart.min(), abs=1e-5)
    (p,) = CrossEncoder(windows="mean").p([pair(premise, hyp)])
    assert p == pytest.approx(apart.mean(), abs=1e-5)


@pytest.mark.real
def test_hardly_anything_of_shroom_is_long():
    from shroom.detectors.pairs import Pairs
    from shroom.scoring.datapoint_files import read

    model = CrossEncoder()
    long = {}
    for path in sorted((DATA / "semeval2024").glob("*.json")):
        found, _ = model._read(Pairs.of(read(path)).items, Run())
        assert found.split == 0
        long[path.name] = found.cut
    assert {name for name, n in long.items() if n} <= {
        *("test.model-aware.json", "test.model-aware.fixed-crlf.json")
    }
    assert max(long.values()) == 1  # a hypothesis that repeats a number
