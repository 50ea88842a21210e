"""Hard items: by hand where the answer is known, then the rows that `shroom report` writes."""

import json

import numpy as np
import pytest
from conftest import DATA, SAMPLE
from hypothesis import given
from hypothesis import strategies as st

from shroom.evaluation.board import Board, hardest, items
from shroom.metrics.classification import ACCURACY
from shroom.scoring.align import AlignedPair
from shroom.scoring.editions.files import default
from shroom.scoring.file_names import Name
from shroom.scoring.rows import Rows

P = "p(Hallucination)"
NAME = Name("val", "model-agnostic")


def columns(p, label=None):
    p = np.array(p, np.float64)
    found = p > 0.5 if label is None else np.array(label)
    return Rows("f.json", len(p), found.astype(np.int8), p)


def board(gold_p, **systems):
    """Return a board: each system is its p, or its labels and p."""
    truth = columns(gold_p)
    made = Board(NAME, truth, default())
    for name, said in systems.items():
        own = columns(*said[::-1]) if isinstance(said, tuple) else columns(said)
        made.add(name, AlignedPair(NAME, own, truth, 0, default(), np.arange(truth.n)))
    return made


def rows(listed):
    return [item["row"] for item in listed]


def test_hardest_by_hand():
    made = board([1.0, 0.0, 0.2, 0.8, 0.6], a=[0.9, 0.6, 0.1, 0.0, 0.4])
    # Wrong by 0.8, 0.6 and 0.2; right by 0.1 and 0.1, which tie and so go by row.
    assert rows(hardest(made)) == rows(hardest(made, 99)) == [3, 1, 4, 0, 2]
    assert rows(hardest(made, 2)) == [3, 1]
    assert [item["difficulty"] for item in items(made)] == [0, 1, 0, 1, 1]


def test_a_wrong_label_is_harder_than_a_far_p():
    made = board([0.6, 0.6], a=([1, 0], [0.0, 0.6]))  # labels against p are allowed
    assert rows(hardest(made)) == [1, 0]


TENTHS = st.integers(0, 10).map(lambda tenths: tenths / 10)


def test_some_of_the_systems_have_statistics_of_their_own():
    made = board([1.0, 0.0], a=[0.9, 0.1], b=[0.9, 0.8])
    assert made.scores([ACCURACY]) == {"accuracy": [1.0, 0.5]}
    assert made.chosen(["b"]).scores([ACCURACY]) == {"accuracy": [0.5]}
    made.add("c", made.tracks["b"])
    assert made.statistics(ACCURACY).shape == (3, 2, 1)


@given(st.lists(st.tuples(TENTHS, TENTHS, TENTHS), min_size=1, max_size=25))
def test_the_order_by_brute_force(table):
    gold_p, *systems = map(list, zip(*table))
    made = board(gold_p, **dict(zip("ab", systems)))
    bad = [sum((p > 0.5) != (share > 0.5) for p in of_systems) for share, *of_systems in table]
    off = [round(sum(abs(p - share) for p in of_systems), 6) for share, *of_systems in table]
    expected = sorted(range(len(table)), key=lambda i: (-bad[i], -off[i], i))
    assert rows(hardest(made)) == expected
    assert [item["difficulty"] for item in items(made)] == [each / 2 for each in bad]


def test_wrong_command_lines(refused, tmp_path):
    for options, code, sentence in (
        ((), 2, "the page needs an output file"),
        (("-o", "r.pdf"), 2, "r.pdf would contain html, not pdf; use another ending"),
        (("--format", "csv", "-o", "r.svg"), 2, "r.svg would contain csv, not svg"),
        (("-o", "r.csv"), 2, "r.csv would contain html, not csv; use another ending"),
        (("--format", "csv", "-o", "r.json"), 2, "would contain csv, not json"),
        (("--figure", "scores"), 2, "needs a .svg, .pdf or .png file"),
        (("--format", "csv", "--figure", "scores"), 2, "--figure and --format cannot be combined"),
        (("--format", "csv", "--track", "other"), 1, "no submission has predictions for the track"),
        (("--format", "csv", "-o", tmp_path), 1, "is a folder"),
    ):
        assert sentence in refused("report", SAMPLE, SAMPLE, *options, code=code)


@pytest.mark.real
def test_real_items(shroom):
    """Sixteen and 33 items are labelled correctly by none of the 14 recorded submissions."""
    systems = sorted((DATA / "submissions").glob("gpt-*"))
    out = shroom("report", *systems, DATA / "semeval2024", "--format", "json")[1]
    items = json.loads(out)["items"]
    unsolved = [item["track"] for item in items if item["difficulty"] == 1]
    assert (len(items), len(systems)) == (1000, 14)
    assert unsolved == ["model-agnostic"] * 16 + ["model-aware"] * 33
