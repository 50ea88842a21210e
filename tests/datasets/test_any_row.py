"""Odd rows: each is reported at its place, none is lost, and all datapoints are valid."""

import copy
import json
import math

import pytest
import test_dreamcatcher as dreamcatcher
import test_mushroom2025 as mushroom
import test_ragtruth as ragtruth
import test_verifiability as verifiability
from conftest import felm_row, write_lines
from hypothesis import given
from hypothesis import strategies as st
from test_halueval import FILES

from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problems
from shroom.datasets.registry import data_set
from shroom.metrics.intervals import NO_INTERVALS

#: A row without oddities, by data set and kind.
ROWS = {
    "felm": felm_row(0),
    "mushroom2025": mushroom.row(),
    "ragtruth": ragtruth.answer(0, labels=[ragtruth.span(0, 4, "Oslo")]),
    "ragtruth source": ragtruth.source(0),
    "dreamcatcher": dreamcatcher.LABELLED,
    "dreamcatcher ranked": dreamcatcher.RANKED,
    "verifiability": verifiability.response_row(),
    "verifiability pair": verifiability.pair_row(),
    "verifiability page": verifiability.page_row(),
    **{f"halueval {task}": row for task, row in FILES.items()},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def places(value, path=()):
    """Yield the path of every value in a row."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(each, (dict, list)):
            yield from places(each, (*path, key))


SOFT = {"start": 1, "end": 3, "prob": 0.5}
UNMARKED = {"soft_labels": [], "hard_labels": [], "annotations": {}}


@pytest.mark.parametrize(
    ("kind", "changed", "code", "key"),
    [
        ("felm", {"response": math.nan}, "value-finite", "response"),
        ("felm", {"response": 7}, "text-odd", "response"),
        ("felm", {"source": None}, "text-odd", "source"),
        ("felm", {"domain": "law"}, "word-odd", "domain"),
        ("felm", {"ref": [1]}, "list-odd", "ref"),
        ("felm", {"segmented_response": ["A.", " "]}, "segment-empty", "segmented_response[1]"),
        ("felm", {"index": None}, "row-value", "index"),
        ("felm", {"prompt": math.nan}, "row-value", "prompt"),
        ("felm", {"labels": ["true", "false"]}, "row-value", "labels"),
        ("felm", {"labels": [True]}, "row-value", "labels"),
        ("felm", {"labels": None}, "row-value", "labels"),
        ("felm", {"labels": [], "segmented_response": []}, "row-value", "labels"),
        ("felm", {"segmented_response": "Segment."}, "row-value", "segmented_response"),
        ("mushroom2025", {"id": ...}, "id-odd", "id"),
        ("mushroom2025", {"lang": "en"}, "word-odd", "lang"),
        ("mushroom2025", {"model_output_text": "", **UNMARKED}, "answer-empty",
         "model_output_text"),
        ("mushroom2025", {"model_output_text": math.nan, **UNMARKED}, "row-value",
         "model_output_text"),
        ("mushroom2025", {"model_input": 3}, "text-odd", "model_input"),
        ("mushroom2025", {"model_output_logits": [0.5]}, "length-odd", "model_output_logits"),
        ("mushroom2025", {"model_output_tokens": 5, "model_output_logits": []}, "list-odd",
         "model_output_tokens"),
        ("mushroom2025", {"hard_labels": [[4, 7], [9, 8]]}, "span-empty", "hard_labels[1]"),
        ("mushroom2025", {"hard_labels": [[20, 24]]}, "span-past-end", "hard_labels[0]"),
        ("mushroom2025", {"hard_labels": [[1, 3, 5]]}, "span-odd", "hard_labels[0]"),
        ("mushroom2025", {"hard_labels": [[0, 10**30]]}, "span-odd", "hard_labels[0]"),
        ("mushroom2025", {"hard_labels": "4-7"}, "span-odd", "hard_labels"),
        ("mushroom2025", {"soft_labels": [SOFT | {"end": 30}]}, "span-past-end", "soft_labels[0]"),
        ("mushroom2025", {"soft_labels": [SOFT | {"prob": 1.5}]}, "span-odd",
         "soft_labels[0].prob"),
        ("mushroom2025", {"soft_labels": [SOFT | {"prob": 10**400}]}, "span-odd",
         "soft_labels[0].prob"),
        ("mushroom2025", {"soft_labels": [SOFT, SOFT | {"start": 2}]}, "span-overlap",
         "soft_labels"),
        ("mushroom2025", {"annotations": {"a": [[2, 99]]}}, "span-past-end", "annotations.a[0]"),
        ("mushroom2025", {"annotations": 5}, "object-odd", "annotations"),
        ("mushroom2025", 5, "row-object", None),
        ("mushroom2025", None, "row-object", None),
        ("mushroom2025", {"model_output_text": ...}, "row-value", "model_output_text"),
        ("mushroom2025", {"model_output_text": [1]}, "row-value", "model_output_text"),
        ("verifiability", {"annotation": {"fluency": "Agree"}}, "row-value", "annotation"),
        ("verifiability pair", {"attribution_label": "maybe"}, "row-value", "attribution_label"),
        ("verifiability pair", {"claim": " "}, "row-value", "claim"),
        ("verifiability page", {"source_supports_statement": "yes"}, "row-value",
         "source_supports_statement"),
        ("verifiability page", {"statement": None}, "row-value", "statement"),
        ("verifiability query", {"query": "Why?"}, "row-value", None),
        ("ragtruth", {"labels": [ragtruth.span(11, 15, "Chile")]}, "span-text", "labels[0]"),
        ("ragtruth", {"labels": [ragtruth.span(90, 95, "Peru")]}, "span-text", "labels[0]"),
        ("ragtruth", {"labels": [ragtruth.span(15, 11, "Peru")]}, "span-text", "labels[0]"),
        ("ragtruth", {"labels": [ragtruth.span(-1, 4, "Oslo")]}, "row-value", "labels[0].start"),
        ("ragtruth", {"labels": [{"start": 0}]}, "row-value", "labels[0].end"),
        ("ragtruth", {"labels": ["Peru"]}, "row-value", "labels"),
        ("ragtruth", {"labels": None}, "row-value", "labels"),
        ("ragtruth", {"labels": [ragtruth.span(0, 4, "Oslo", label_type="Odd")]}, "word-odd",
         "labels[0].label_type"),
        ("ragtruth", {"response": " "}, "row-value", "response"),
        ("ragtruth", {"source_id": "s9"}, "row-value", "source_id"),
        ("ragtruth", {"source_id": 0}, "row-value", "source_id"),
        ("ragtruth", {"quality": "poor"}, "word-odd", "quality"),
        ("ragtruth", {"quality": None}, "text-odd", "quality"),
        ("ragtruth", {"temperature": math.nan}, "number-odd", "temperature"),
        ("halueval qa", {"right_answer": " "}, "row-value", "right_answer"),
        ("halueval qa", {"hallucinated_answer": None}, "row-value", "hallucinated_answer"),
        ("halueval qa", {"knowledge": 5}, "row-value", "knowledge"),
        ("halueval dialogue", {"dialogue_history": ["a"]}, "row-value", "dialogue_history"),
        ("halueval summarization", {"document": ""}, "row-value", "document"),
        ("halueval general", {"hallucination": "Yes"}, "row-value", "hallucination"),
        ("halueval general", {"hallucination": True}, "row-value", "hallucination"),
        ("halueval general", {"hallucination_spans": "none"}, "list-odd", "hallucination_spans"),
        ("halueval general", {"ID": 7}, "text-odd", "ID"),
        ("halueval", {"x": 1}, "row-value", None),
    ],
    ids=str,
)  # fmt: skip
def test_an_odd_value_is_reported_once_at_its_place(tmp_path, kind, changed, code, key):
    """The row is kept, or dropped and counted if it cannot be used."""
    row, name = changed, kind.partition(" ")[0]
    if isinstance(changed, dict):
        row = {**ROWS.get(kind, {}), **changed}
        row = {field: value for field, value in row.items() if value is not ...}
    above = [ragtruth.answer(1), ragtruth.source(0)] if name == "ragtruth" else []
    source = data_set(name)
    found = source.read(write_lines(tmp_path / "a.jsonl", [*above, row]))
    assert [(p.code, p.index, p.key) for p in found.problems] == [(code, len(above), key)]
    assert (found.dropped, found.rows) == (code in ("row-value", "row-object"), len(above) + 1)
    assert source.view().datapoints(found.records) or not found.records


@pytest.mark.parametrize("kind", ROWS)
@given(data=st.data())
def test_any_values_in_a_row_are_survived(tmp_path_factory, kind, data):
    row, name = copy.deepcopy(ROWS[kind]), kind.partition(" ")[0]
    # Deeper places first, so that each is still there.
    paths = data.draw(
        st.lists(st.sampled_from([*places(row)]), min_size=1, max_size=3, unique=True)
    )
    for *above, last in sorted(paths, key=len, reverse=True):
        holder = row
        for key in above:
            holder = holder[key]
        holder[last] = data.draw(JSON)
    others = [ragtruth.answer(1), ragtruth.source(0)] if name == "ragtruth" else [ROWS[kind]]
    path = write_lines(tmp_path_factory.getbasetemp() / "any.jsonl", [*others, row])
    source, problems = data_set(name), Problems(limit=None)
    try:
        found = source.read(path, problems=problems)
    except InvalidInput:
        errors = {problem.code for problem in problems if problem.severity == ERROR}
        assert errors <= {"id-doubled", "no-file"}
        return
    assert found.rows == len(others) + 1
    assert found.dropped == sum(problems.count(code) for code in ("row-value", "row-object"))
    points = source.view().datapoints(found.records)
    assert all(0 <= point.p <= 1 for point in points)
    contents = source.summary.contents(found.by_file, NO_INTERVALS)
    tables = [table.rows for table in contents.tables.values()]
    json.dumps(tables, allow_nan=False)
