"""Values, names and figures: what they mean, and how they are shown."""

import datetime as dt
import math
from dataclasses import replace

import numpy as np
import pytest

from shroom.core.archives import RATIO_FROM, is_absurd
from shroom.core.atomic_writing import encoded, ending
from shroom.core.datapoint import Datapoint, Task, by_reference
from shroom.core.file_formats import format_of, format_of_zip
from shroom.core.frame_json import is_frame, rows_of
from shroom.core.json_writing import json_digest, json_lines, without_nan
from shroom.core.printing import counted, nearest, show
from shroom.core.word_spans import spans
from shroom.metrics.intervals import Marked
from shroom.scoring.csv_files import columns_of
from shroom.scoring.display.text import doubts, footnote, interval, number, p_value, shortened
from shroom.scoring.editions.competition import Phase
from shroom.scoring.editions.edition import Item, Split
from shroom.scoring.editions.files import built_in, default, digest
from shroom.scoring.editions.plain import day_or_time
from shroom.scoring.editions.validation import warnings_of
from shroom.scoring.file_names import file_name, without_slips
from shroom.scoring.in_memory import row_of
from shroom.scoring.item_values import bare, normalised, p_meant, word_in
from shroom.scoring.kinds.quotes import Quote, other_unit
from shroom.scoring.kinds.span_values import HardSpan, LabelledSpan, SoftSpan, hard_of, sum_of
from shroom.scoring.platforms import large_slices
from shroom.scoring.rows import Rows, key_meant
from shroom.scoring.signature import joined
from shroom.scoring.slices import add_groups, agreement
from shroom.scoring.tables import as_csv
from shroom.scoring.units import share_items, unit_of

LATE = dt.datetime(2027, 2, 28, 23, 59, 59, 0, dt.timezone(-dt.timedelta(hours=12)))
PHASES = (Phase("Warm-up", "test"), Phase("Test", "test", blind=True))
CASES = [
    # --- files
    (is_absurd, (RATIO_FROM, 1), False),
    (is_absurd, (RATIO_FROM + 1, 1), True),
    (ending, ("a.JSONL.gz",), ".jsonl"),
    (encoded, ("a.jsonl", "[1, 2]"), b"1\n2\n"),
    (encoded, ("a.csv", '[{"id": 7, "label": "a, b"}]'), b'id,label\n7,"a, b"\n'),
    (format_of, (b"[]",), None),
    (
        format_of,
        (b"", "x.7z"),
        "a 7-Zip archive (unpack it, and hand in the files or a zip of them)",
    ),
    (format_of_zip, (["xl/workbook.xml"],), None),
    (
        format_of_zip,
        (["[Content_Types].xml", "xl/workbook.xml"],),
        "an Excel workbook (save it as CSV)",
    ),
    (is_frame, ('{"label": {"0": "Hallucination"}, "p": {"0": 0.7}}',), True),
    (is_frame, ('{"label": "x"}',), False),
    (rows_of, ('{"p": {"1": 0.7, "0": 0.5}}',), [{"p": 0.5}, {"p": 0.7}]),
    (
        rows_of,
        ('{"7": {"p": 0.5}, "9": {"p": 0.7}}',),
        [{"id": "7", "p": 0.5}, {"id": "9", "p": 0.7}],
    ),
    (
        rows_of,
        ('{"columns": ["id", "p"], "index": [0], "data": [[7, 0.5]]}',),
        [{"id": 7, "p": 0.5}],
    ),
    (rows_of, ('{"id": [7, 9], "p": [0.5, 0.7]}',), [{"id": 7, "p": 0.5}, {"id": 9, "p": 0.7}]),
    (columns_of, (b"ID;Label;p;note\n1;x",), ["id", "label", "p(Hallucination)", "note"]),
    (without_nan, ({"logits": [0.5, math.nan]},), {"logits": [0.5, None]}),
    (json_lines, ([{"hyp": "né"}],), '{"hyp": "né"}\n'),
    (lambda value: json_digest(value)[:12], (["a model", 0.5],), "a09c97be93a4"),
    (without_slips, ("val (1).json",), "val.json"),
    (without_slips, ("val.csv.txt",), "val.csv"),
    (without_slips, ("notes.txt",), "notes.txt"),
    (file_name, ("{lang}-{split}*.jsonl", "val", "es"), "es-val.jsonl"),
    (built_in("semeval2024").meant, ("test_or_val.aware.json",), None),
    # --- words and numbers as they are shown
    (show, (math.nan,), "NaN"),
    (show, ("\x1b[31m",), '"\\u001b[31m"'),
    (show, ([1] * 100, 12), "[1, 1, 1, 1,…"),
    (counted, (1, "row"), "1 row"),
    (counted, (2, "query"), "2 queries"),
    (nearest, ("lexicle", ["lexical", "nli"]), " did you mean 'lexical'?"),
    (number, (None,), "–"),
    (interval, ((0.7423, 0.8160),), "[0.742, 0.816]"),
    (interval, (None,), ""),
    (p_value, (0.0354,), "0.0354"),
    (p_value, (1e-7,), "<0.0001"),
    (shortened, ("a-name-that-is-long-2024", 15), "a-name-…ng-2024"),
    (
        doubts,
        ([("DM", Marked((0.1, 0.9), "why")), ("MT", None)],),
        ["‡ doubtful interval: why (DM)"],
    ),
    (
        footnote,
        ([("a", 9, 9), ("b", 2, 9)],),
        ["* in-sample: the detector was fitted on 9 of these 9 items (a), 2 of these 9 items (b)"],
    ),
    (
        as_csv,
        ([("p", "hyp"), (0.1, "=1+1"), (None, "two\nlines")],),
        "p,hyp\n0.1,'=1+1\n,two\\nlines\n",
    ),
    (joined, (["shroom|n:499|rho:x", "shroom|n:501|rho:x"],), "shroom|n:499+501|rho:x"),
    # --- values and texts as they are meant
    (key_meant, (" P (hallucination)",), "p(Hallucination)"),
    (key_meant, ("score",), None),
    (key_meant, ("Prob", ["uid", "prob"]), "prob"),
    (bare, ("np.str_('yes')",), "yes"),
    (word_in, ("\u200bNOT enough_info ",), "notenoughinfo"),
    (p_meant, (-1.2e-07,), 0.0),
    (p_meant, ("1.5",), "1.5"),
    (normalised, ("A  dog ,\u200b barking . ",), "a dog, barking."),
    (normalised, ("ﬁne　Dog",), "fine dog"),
    (
        row_of,
        (Datapoint("A cat.", "One cat.", "", Task.PG, p=0.0),),
        {"hyp": "A cat.", "src": "One cat.", "tgt": "", "task": "PG", "p(Hallucination)": 0.0},
    ),
    (
        lambda points: [one.tgt for one in by_reference(points)[0]],
        ([Datapoint("A cat.", "", "One cat.", Task.PG, other_tgts=("A pet.",))],),
        ["One cat.", "A pet."],
    ),
    # --- spans
    (
        lambda text: [text[start:end] for start, end in spans(text)],
        ("It's 3.5 km, 猫だ!",),
        ["It's", "3.5", "km", ",", "猫", "だ", "!"],
    ),
    (
        hard_of,
        ([SoftSpan(4, 6, 0.6), SoftSpan(0, 4, 1.0), SoftSpan(8, 9, 0.5)],),
        (HardSpan(0, 6),),
    ),
    (
        lambda marked: [tuple(span) for span in sum_of(marked)],
        ([LabelledSpan(0, 4, 0.4, 0), LabelledSpan(2, 6, 0.4, 1)],),
        [(0, 2, 0.4), (2, 4, 0.8), (4, 6, 0.4)],
    ),
    (other_unit, ("😀 was in Rome.", Quote("", 9, 13, "Rome")), None),
    (other_unit, ("😀 was in Rome.", Quote("", 10, 14, "Rome")), "UTF-16 units"),
    (other_unit, ("😀 was in Rome.", Quote("", 12, 16, "Rome")), "bytes"),
    (other_unit, ("😀 was in Rome.", Quote("", 3, 7, "Rome")), ""),
    # --- editions
    (lambda phase: str(phase.closes), (Phase("T", "t", end=LATE),), "2027-03-01 11:59:59+00:00"),
    (lambda text: str(day_or_time(text)), ("2027-02-28",), "2027-02-28"),
    (digest, (default(),), ""),
    (
        warnings_of,
        (replace(default(), splits=(Split("test"),), phases=PHASES),),
        ["phases[1]: Test is blind, but Warm-up shows scores of the same split, test, before it"],
    ),
    (
        large_slices,
        ({"task": {"DM": {"n": 30}, "MT": {"n": 25}, "PG": {"n": 1}}},),
        {"task": {"DM": {"n": 30}}},
    ),
]


@pytest.mark.parametrize(("function", "given", "result"), CASES)
def test_a_value_or_a_name(function, given, result):
    assert function(*given) == result


def gold(*ids, p=(0.5, 0.5, 0.5)):
    return Rows("gold", len(ids), np.ones(len(ids)), np.array(p[: len(ids)]), np.array(ids))


def test_the_votes_of_a_gold_are_seen_from_p():
    assert agreement(gold(1, 2, 3, p=(0.67, 0.25, 0.0))).words == ["0.67", "0.75", "1.0"]
    assert agreement(gold(1, 2, 3, p=(0.97, 0.312, 0.04))) is None


def test_the_items_of_a_unit_and_of_several_golds():
    table = gold(1, 2, 3)
    add_groups(table, [{"q": "Why?"}, {"q": "Who?"}, {"q": "Why?"}], ["q"])
    assert unit_of(table, replace(default(), item=Item(unit="q"))).tolist() == [0, 1, 0]
    assert share_items([gold(1, 2), gold(2)], default())
    assert not share_items([gold(1, 2)], default())
