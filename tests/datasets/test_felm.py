"""FELM: reading it with all that is odd about it, its predictions, and its datapoints."""

import contextlib
import json
import math

import numpy as np
import pytest
from conftest import DATA, write_lines
from conftest import felm_row as row
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from test_any_row import JSON

from shroom.core.datapoint import Label, premises
from shroom.core.problems import InvalidInput, Problems
from shroom.datasets import native_scores
from shroom.datasets.felm import DATA_SET, read
from shroom.datasets.felm_scores import read_predictions

REAL = DATA / "felm"
datapoints = DATA_SET.view().datapoints


def read_rows(folder, rows):
    return read(write_lines(folder / "all.jsonl", rows))


@pytest.fixture
def gold(tmp_path):
    """Three responses of 2, 3 and 1 segments; the second and last segment are wrong."""
    rows = [row(0, (True, False)), row(1, (True, True, True)), row(2, (False,))]
    return read_rows(tmp_path, rows)


# the reader


def test_every_field_is_kept(tmp_path):
    (record,) = read_rows(tmp_path, [row(3)]).records
    expected = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row(3).items()
    }
    assert structs.asdict(record) == expected


def test_empty_texts_and_doubled_rows_are_kept(tmp_path):
    again = {key: row(0)[key] for key in ("prompt", "segmented_response")}
    rows = [row(0, type="", ref=[], ref_contents=""), row(1, domain="math", **again)]
    collection = read_rows(tmp_path, rows)
    (problem,) = collection.problems
    assert (problem.code, problem.index, len(collection.records)) == ("row-doubled", 1, 2)
    assert "item 0" in problem.found
    assert (collection.records[0].type, collection.records[0].ref_contents) == ((), ())


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        ([json.dumps(row(0)), json.dumps(row(0, prompt="Other?"))], {"id-doubled"}),
        ([json.dumps(row(0)), "{"], {"not-json"}),
        ([json.dumps([row(0)])], {"not-json"}),
        ([""], {"empty"}),
    ],
    ids=["index twice", "broken line", "list in a line", "empty"],
)
def test_a_file_of_another_form_is_refused(tmp_path, lines, codes):
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidInput) as raised:
        read(path)
    assert raised.value.problems.codes == codes


# datapoints


def test_a_segment_is_a_datapoint_and_p_is_turned_round(gold, tmp_path):
    points = datapoints(gold.records)
    assert [point.p for point in points] == [0, 1, 0, 0, 0, 1]
    assert points[1].label is Label.HALLUCINATION
    assert points[1].hyp == "Segment 1 of 0."
    assert premises(points[1]) == ("Question 0?\n\nPassage on 0.",)
    assert premises(DATA_SET.view("prompt").datapoints(gold.records)[1]) == ("Question 0?",)
    odd = [row(0), row(1, type=["fooled"]), row(2, type="")]  # types of another length
    kinds = [record.kinds for record in read_rows(tmp_path, odd).records]
    assert kinds == [(None, "knowledge_error"), (None, None), (None, None)]
    records = read_rows(tmp_path, [row(0, ref=[], ref_contents="")]).records
    assert premises(datapoints(records)[0]) == ("Question 0?",)


# predictions


def lines_for(gold, **changed):
    """Return right predictions for all responses, by labels and p, with changes to the second."""
    rows = [
        {
            "index": record.index,
            "labels": list(record.labels),
            "p": [1.0 - x for x in record.labels],
        }
        for record in gold.records
    ]
    rows[1] = {key: value for key, value in (rows[1] | changed).items() if value is not ...}
    return rows


def checked(folder, gold, rows):
    problems = Problems()
    path = write_lines(folder / "said.jsonl", rows)
    with contextlib.suppress(InvalidInput):
        return read_predictions(path, gold, problems), problems
    return None, problems


def test_predictions_are_read_in_the_order_of_the_gold(tmp_path, gold):
    """Labels are kept, and p without labels is cut above one half; the gold's keys may stay."""
    rows = [row(int(each["index"])) | each for each in lines_for(gold)]
    found, problems = checked(tmp_path, gold, rows[::-1])
    assert list(problems) == []
    assert found.wrong.tolist() == [False, True, False, False, False, True]
    assert found.p.tolist() == [0, 1, 0, 0, 0, 1]
    same = [{"index": each["index"], "p": [0.3] * len(each["p"])} for each in rows]
    assert checked(tmp_path, gold, same)[1].codes == {"label-constant", "p-constant"}
    rows = [{"index": int(each["index"]), "p": each["p"]} for each in lines_for(gold)]
    rows[1]["p"] = [0.5, 0.51, 1]
    found, problems = checked(tmp_path, gold, rows)
    assert found.wrong.tolist() == [False, True, False, True, True, True]
    assert list(problems) == []
    found, problems = checked(tmp_path, gold, lines_for(gold, p=[0.9, 0.5, 0.1]))
    assert not found.wrong[2:5].any()
    (problem,) = problems
    assert (problem.code, problem.index, problem.id, problem.key) == ("label-p", 1, "1", "p[0]")


#: Changes to a row of predictions: the codes and keys of its errors.
WRONG = [
    ({"index": ...}, {"key-missing": [None], "ids-missing": ["index"]}),
    ({"index": "99"}, {"id-unknown": ["index"], "ids-missing": ["index"]}),
    ({"index": "0"}, {"id-doubled": ["index"], "ids-missing": ["index"], "count": ["labels", "p"]}),
    ({"labels": [True]}, {"count": ["labels"]}),
    ({"p": [0] * 4}, {"count": ["p"]}),
    ({"labels": ["true", True, True]}, {"label-value": ["labels[0]"]}),
    ({"labels": [True, 1, None]}, {"label-value": ["labels[1]", "labels[2]"]}),
    ({"labels": True}, {"label-value": ["labels"]}),
    ({"p": 0.5}, {"p-number": ["p"]}),
    ({"p": [0, "0.5", True]}, {"p-number": ["p[1]", "p[2]"]}),
    ({"p": [math.nan, 0, math.inf]}, {"p-finite": ["p[0]", "p[2]"]}),
    ({"p": [0, -0.1, 2]}, {"p-range": ["p[1]", "p[2]"]}),
    ({"p": [0, 0, 10**400]}, {"p-range": ["p[2]"]}),
    ({"labels": ...}, {"key-missing": [None]}),
    ({"p": ...}, {"key-missing": [None]}),
]


@pytest.mark.parametrize(("changed", "expected"), WRONG)
def test_an_error_is_reported_with_its_place(tmp_path, gold, changed, expected):
    found, problems = checked(tmp_path, gold, lines_for(gold, **changed))
    assert found is None
    errors = [error for error in problems if error.severity == "error"]
    assert {(e.code, e.key) for e in errors} == {
        (code, key) for code, keys in expected.items() for key in keys
    }
    assert {e.index for e in errors if e.code != "ids-missing"} == {1}


@pytest.mark.parametrize(
    ("said", "n", "problem"),
    [
        ({"labels": [False, True, False]}, 20, ("label-inverted", "labels")),
        ({"p": [0.9, 0.1, 0.8]}, 20, ("p-inverted", "p")),
        ({"labels": [True, True, False]}, 5, None),  # too few responses to tell from chance
    ],
)
def test_the_wrong_polarity_is_reported(tmp_path, said, n, problem):
    gold = read_rows(tmp_path, [row(i, (True, False, True)) for i in range(20)])
    right = {"labels": [True, False, True]} if "labels" in said else {"p": [0.1, 0.9, 0.2]}
    rows = [{"index": str(i), **(said if i < n else right)} for i in range(20)]
    found = [(each.code, each.key) for each in checked(tmp_path, gold, rows)[1]]
    assert found == ([problem] if problem else [])


def test_a_folder_may_hold_the_rows_in_parts(tmp_path, gold):
    folder = tmp_path / "parts"
    folder.mkdir()
    rows = lines_for(gold)
    write_lines(folder / "a.jsonl", rows[:1])
    write_lines(folder / "b.jsonl", rows[1:])
    assert read_predictions(folder, gold).wrong.tolist() == [False, True, False, False, False, True]
    write_lines(folder / "b.jsonl", [{"index": "1", "labels": [True] * 3}, rows[2]])
    with pytest.raises(InvalidInput, match=r"b\.jsonl: item 0 \(id 1\): .*\[key-missing\]"):
        read_predictions(folder, gold)


def test_no_file_and_no_gold(tmp_path, gold):
    with pytest.raises(InvalidInput, match="file-unreadable") as raised:
        read_predictions(tmp_path / "none.jsonl", gold)
    assert raised.value.problems.codes == {"file-unreadable"}
    said = write_lines(tmp_path / "said.jsonl", lines_for(gold))
    nothing = write_lines(tmp_path / "all.jsonl", [row(0, labels=(), segmented_response=[])])
    with pytest.raises(InvalidInput, match="gold-unlabelled"):
        native_scores.score("felm", said, nothing)


@given(
    st.lists(st.fixed_dictionaries({}, optional={"index": JSON, "labels": JSON, "p": JSON}) | JSON)
)
def test_no_predictions_can_break_the_reader(tmp_path_factory, rows):
    folder = tmp_path_factory.getbasetemp()
    gold = read_rows(folder, [row(0)])
    found, problems = checked(folder, gold, rows)
    assert (found is None) == bool(problems.errors)
    assert list(problems.lines()) or found is not None


# the real file


@pytest.fixture(scope="module")
def real():
    return read(REAL / "all.jsonl")


@pytest.mark.real
def test_the_oddities_of_the_file(real):
    """What the file has that a reader has to expect, and what of it is reported."""
    assert real.problems.errors == 0
    assert [(each.code, each.index, each.key) for each in real.problems] == [
        ("value-finite", 350, "response"),
        ("value-finite", 548, "response"),
        ("row-doubled", 422, None),
        ("row-doubled", 462, None),
        ("row-doubled", 527, None),
        ("segment-empty", 780, "segmented_response[1]"),
        ("segment-empty", 783, "segmented_response[6]"),
        ("segment-empty", 785, "segmented_response[2]"),
        ("segment-empty", 804, "segmented_response[2]"),
    ]
    assert "\x85" in "".join(real.records[805].ref_contents)
    assert sum(len(r.ref_contents) < len(r.ref) for r in real.records) == 38
    kinds = [list(zip(r.type, r.labels)) for r in real.records]
    assert sum(any(not kind and not true for kind, true in pairs) for pairs in kinds) == 12
    assert [n for n, pairs in enumerate(kinds) if any(k and true for k, true in pairs)] == [538]


@pytest.mark.real
def test_the_real_tables_by_source_and_type(real, in_json, tmp_path):
    rows = [{"index": r.index, "labels": [r.domain == "wk"] * len(r.labels)} for r in real.records]
    path = write_lines(tmp_path / "predictions.jsonl", rows)
    (result,) = in_json("score", path, REAL / "all.jsonl", "--no-ci")["results"]
    types = {kind: (each["n"], each["segments"]) for kind, each in result["by_type"].items()}
    assert types == {
        "fooled": (5, 29),
        "irrelevant_with_qst": (22, 102),
        "knowledge_error": (150, 354),
        "none": (119, 293),
        "reasoning_error": (5, 9),
    }
    wrong = np.array([not label for r in real.records for label in r.labels])
    kind = np.array([kind or "none" for r in real.records for kind in r.kinds])
    wk = np.repeat([r.domain == "wk" for r in real.records], [len(r.labels) for r in real.records])
    for name, part in result["by_type"].items():
        assert part["segment_recall"] == np.mean(~wk[wrong & (kind == name)])
    assert (len(result["by_type"]), len(result["by_source"])) == (5, 29)
    gsm = result["by_source"]["GSM8K"]
    assert (gsm["n"], gsm["segments"], gsm["segment_balanced_accuracy"]) == (202, 1011, 0.5)
