"""Values as they are written, marked and dated: what no verb's test shows by itself."""

import datetime as dt
import math
from dataclasses import replace

import pytest

from shroom.core.datapoint import Datapoint, Task, by_reference
from shroom.core.json_writing import json_digest, json_lines, without_nan
from shroom.core.word_spans import spans
from shroom.scoring.display.text import figure, p_in_words, p_value
from shroom.scoring.editions.competition import Phase
from shroom.scoring.editions.edition import Split
from shroom.scoring.editions.files import default
from shroom.scoring.editions.validation import warnings_of
from shroom.scoring.in_memory import row_of
from shroom.scoring.kinds.span_values import (
    HardSpan,
    LabelledSpan,
    Quote,
    SoftSpan,
    hard_of,
    other_unit,
    sum_of,
)
from shroom.scoring.rows import P

#: Anywhere on Earth.
LATE = dt.datetime(2027, 2, 28, 23, 59, 59, 0, dt.timezone(-dt.timedelta(hours=12)))
PHASES = (Phase("Warm-up", "test"), Phase("Test", "test", blind=True))
BLIND = (
    "phases[1]: the phase Test is blind, but the earlier phase Warm-up shows scores of the same "
    "split, test"
)
NO_PHASE = (
    "splits[2]: the split val has no phase, so 'shroom bundle' leaves the split out; add a "
    "phase, or set "
    "submitted = false"
)
DRAFT = ["contact: a@example.org is an example; replace it with your own address", NO_PHASE]
BOTH = [Datapoint("A cat.", "", "One cat.", Task.PG, other_tgts=("A pet.",), p=0.0)] * 2
ROW = {"hyp": "A cat.", "src": "", "tgt": ["One cat.", "A pet."], "task": "PG", P: 0.0}
SOFT = [SoftSpan(4, 6, 0.6), SoftSpan(0, 4, 1.0), SoftSpan(8, 9, 0.5)]
LABELLED = [LabelledSpan(0, 4, 0.4, 0), LabelledSpan(2, 6, 0.4, 1)]
QUOTES = [Quote("", start, start + 4, "Rome") for start in (9, 10, 12, 3)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (json_digest(["a model", 0.5])[:12], "a09c97be93a4"),
        (json_lines([{"hyp": "né"}]), '{"hyp": "né"}\n'),
        (without_nan({"logits": [0.5, math.nan]}), {"logits": [0.5, None]}),
        ([*map(p_value, (0.0354, 1e-7, None))], ["0.0354", "<0.0001", "–"]),
        ([*map(p_in_words, (0.0042, 0.0503))], ["p = .004", "p = .0503"]),
        ([*map(figure, (0.031, -0.0104, 1.0, -0.0))], [".031", "-.010", "1.000", ".000"]),
        (row_of(BOTH[0]), ROW),
        ([one.tgt for one in by_reference(BOTH)[0]], ["One cat.", "A pet."] * 2),
        (by_reference(BOTH)[1], [0, 2]),
        ([*spans("It's 3.5 km, 猫!")], [(0, 4), (5, 8), (9, 11), (11, 12), (13, 14), (14, 15)]),
        (hard_of(SOFT), (HardSpan(0, 6),)),
        ([*map(tuple, sum_of(LABELLED))], [(0, 2, 0.4), (2, 4, 0.8), (4, 6, 0.4)]),
        ([other_unit("😀 was in Rome.", it) for it in QUOTES], [None, "UTF-16 units", "bytes", ""]),
        (str(Phase("Test", "test", end=LATE).closes), "2027-03-01 11:59:59+00:00"),
        ([*warnings_of(replace(default(), splits=(Split("test"),), phases=PHASES))], [BLIND]),
        ([*warnings_of(replace(default(), phases=PHASES[:1], contact="a@example.org"))], DRAFT),
    ],
)
def test_a_value(found, expected):
    assert found == expected
