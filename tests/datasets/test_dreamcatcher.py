"""Dreamcatcher's records: reading, writing back, datapoints."""

import json
import math
from collections import Counter

import pytest
from conftest import DATA, write_lines
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import Label, premises
from shroom.datasets import dreamcatcher
from shroom.datasets.dreamcatcher import Generation, Question, datapoints, read, to_dict, write

REAL = DATA / "dreamcatcher"

SCORED = {
    "text": "三加四是七。",
    "type": "normal",
    "rm_score": -0.5,
    "sim2answer_score": 0.75,
    "sim2gen_score": 1,
    "unigram_overlap_with_answer_score": 0.999999,
    "onegram_probs": [{"三": 2.5}, {"七": 1.25}],
    "top_k_avg_probs_score": 0.25,
    "probe_score": 0.5,
}
REFUSAL = {"text": "我不知道。", "type": "uncertainty", "rm_score": 0.5, "probe_score": 0.5}
WRONG = {**SCORED, "text": "三加四是八。", "rm_score": -2.5}
GENERATED = {
    "question": "3+4/1=?",
    "answer": "七",
    "type": "数学",
    "generation": [{"text": "是七。", "type": "normal"}, {"text": "?", "type": "uncertainty"}],
}
THIRD = ["generation", 2]
LABELLED = {
    "question": "三加四是多少?",
    "answer": "七",
    "type": "数学",
    "generation": [SCORED, REFUSAL, WRONG],
    "category": "partial-right",
    "rank": [SCORED, REFUSAL, WRONG],
}
RANKED = {
    "query": [{"role": "human", "text": "三加四是多少?"}],
    "preference": ["三加四是七。", "我不知道。"],
    "task": "all-right",
}


def save(path, *rows):
    return write_lines(path, rows)


def changed(row, where, value=...):
    """Return a copy with a value set at a path, or taken away."""
    row = json.loads(json.dumps(row))  # not deepcopy, which keeps what is shared
    inner = row
    for step in where[:-1]:
        inner = inner[step]
    if value is ...:
        del inner[where[-1]]
    else:
        inner[where[-1]] = value
    return row


# the real files


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "rows"), [("test_generated", 200), ("test_autolabeled", 200), ("test_autoranked", 102)]
)
def test_every_line_is_written_back_as_it_stood(name, rows):
    path = REAL / f"{name}.jsonl"
    found = read(path)
    assert (len(found.records), found.dropped, list(found.problems)) == (rows, 0, [])
    if name != "test_generated":  # which has no blanks, and escaped slashes
        assert write(found.records).encode() == path.read_bytes()
    written = [json.loads(line) for line in write(found.records).split("\n")[:-1]]
    assert written == [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    assert not any(record.extra for record in found.records)


@pytest.mark.real
def test_the_real_datapoints():
    labelled = read(REAL / "test_autolabeled.jsonl").records
    points = datapoints(labelled)
    assert Counter(point.p for point in points) == {0.0: 759, 1.0: 229, None: 12}
    assert all(premises(point) == (point.src,) for point in points)
    assert len(datapoints(labelled, refusals=True)) == 2000
    generated = datapoints(read(REAL / "test_generated.jsonl").records)
    assert [p.hyp for p in generated] == [p.hyp for p in points]
    assert {point.p for point in generated} == {None}
    assert datapoints(read(REAL / "test_autoranked.jsonl").records) == []


# reading and writing


def test_every_field_is_read(tmp_path):
    found = read(save(tmp_path / "a.jsonl", GENERATED, LABELLED, RANKED))
    assert list(found.problems) == []
    assert list(read(tmp_path / "a.jsonl", save(tmp_path / "b.jsonl", GENERATED)).problems) == []
    generated, labelled, ranked = found.records
    said = (Generation("是七。", "normal"), Generation("?", "uncertainty"))
    assert generated == Question("3+4/1=?", "七", "数学", said)
    scored = labelled.generation[0]
    assert scored.onegram_probs == ({"三": 2.5}, {"七": 1.25})
    assert (scored.rm_score, scored.sim2gen_score, scored.probe_score) == (-0.5, 1, 0.5)
    assert labelled.generation[1].sim2gen_score is None
    assert (labelled.rank, labelled.category) == (labelled.generation, "partial-right")
    query, texts = dreamcatcher.Turn("human", "三加四是多少?"), ("三加四是七。", "我不知道。")
    assert ranked == dreamcatcher.Preference((query,), texts, "all-right")
    assert [to_dict(record) for record in found.records] == [GENERATED, LABELLED, RANKED]


@pytest.mark.parametrize(
    ("row", "where", "value", "code", "key"),
    [
        (GENERATED, ["type"], ..., "text-odd", "type"),
        (GENERATED, ["generation", 1, "type"], ..., "text-odd", "generation[1].type"),
        (GENERATED, ["generation", 1, "type"], "sure", "word-odd", "generation[1].type"),
        (LABELLED, [*THIRD, "rm_score"], "0.5", "number-odd", "generation[2].rm_score"),
        (LABELLED, [*THIRD, "probe_score"], math.nan, "number-odd", "generation[2].probe_score"),
        (LABELLED, [*THIRD, "onegram_probs"], {"a": 1}, "list-odd", "generation[2].onegram_probs"),
        (LABELLED, [*THIRD, "onegram_probs", 0], {"a": "b"}, "list-odd",
         "generation[2].onegram_probs"),
        (LABELLED, ["category"], "all-odd", "word-odd", "category"),
        (LABELLED, ["rank"], "none", "list-odd", "rank"),
        (RANKED, ["task"], ..., "text-odd", "task"),
        (GENERATED, ["question"], ..., "row-value", "question"),
        (GENERATED, ["generation"], "是七。", "row-value", "generation"),
        (GENERATED, ["generation", 0], "是七。", "row-value", "generation"),
        (GENERATED, ["generation", 0, "text"], ..., "row-value", "generation[0].text"),
        (RANKED, ["query"], "?", "row-value", "query"),
        (RANKED, ["query", 0, "text"], ..., "row-value", "query[0].text"),
        (RANKED, ["preference", 0], 1, "row-value", "preference"),
    ],
)  # fmt: skip
def test_what_is_odd_is_reported_once_and_written_back_or_dropped(
    tmp_path, row, where, value, code, key
):
    odd = changed(row, where, value)
    path = save(tmp_path / "a.jsonl", LABELLED, odd)
    found = read(path)
    assert [(p.code, p.file, p.index, p.key) for p in found.problems] == [(code, str(path), 1, key)]
    assert (len(found.records), found.dropped) == ((1, 1) if code == "row-value" else (2, 0))
    for record in found.records[1:]:
        assert json.dumps(to_dict(record), sort_keys=True) == json.dumps(odd, sort_keys=True)


@given(
    st.text(st.characters()),
    st.dictionaries(st.text(min_size=1), st.floats(-1e9, 1e9) | st.booleans() | st.none()),
)
def test_whatever_is_read_can_be_written(tmp_path, text, extra):
    known = {"query", "preference", "category", "rank"}
    extra = {key: value for key, value in extra.items() if key not in known}
    row = {**extra, **changed(GENERATED, ["generation", 0, "text"], text)}
    row["generation"][0]["gpt_judgement"] = "right"
    path = save(tmp_path / "a.jsonl", row)
    found = read(path)
    records = found.records
    assert list(found.problems) == []
    assert records[0].generation[0].extra == {"gpt_judgement": "right"}
    path.write_bytes(write(records).encode())
    assert read(path).records == records
    assert to_dict(records[0]) == row


# datapoints


@pytest.mark.parametrize(
    ("category", "rank", "expected"),
    [
        ("all-right", [SCORED, REFUSAL, WRONG], [0.0, 0.0]),
        ("all-wrong", [SCORED, REFUSAL, WRONG], [1.0, 1.0]),
        ("partial-right", [SCORED, REFUSAL, WRONG], [0.0, 1.0]),
        ("partial-right", [SCORED, REFUSAL], [0.0, None]),
        ("partial-right", [SCORED, WRONG], [None, None]),  # no refusal separates them
        (None, [SCORED, REFUSAL, WRONG], [None, None]),
    ],
)
def test_p_follows_from_the_category_and_the_rank(tmp_path, category, rank, expected):
    row = changed(LABELLED, ["category"], *([] if category is None else [category]))
    records = read(save(tmp_path / "a.jsonl", changed(row, ["rank"], rank))).records
    points = datapoints(records)
    assert [point.p for point in points] == expected
    with_refusals = datapoints(records, refusals=True)  # which claim nothing
    assert [point.p for point in with_refusals] == [expected[0], None, expected[1]]
    labels = {0.0: Label.NOT_HALLUCINATION, 1.0: Label.HALLUCINATION, None: None}
    assert [point.label for point in points] == [labels[p] for p in expected]
    assert {point.src for point in points} == {"三加四是多少?\n七"}
