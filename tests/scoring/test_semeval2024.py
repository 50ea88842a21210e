"""Reading the task's data files as datapoints."""

import pytest
from conftest import DATA, gold, predictions, write_json

from shroom.core.datapoint import Label, premises
from shroom.core.problems import InvalidInput, Problems
from shroom.scoring.check import check
from shroom.scoring.datapoint_files import read

REAL = DATA / "semeval2024"
#: file, rows, rows by task
FILES = [
    ("trial-v1.json", 80, {"DM": 36, "MT": 35, "PG": 9}),
    ("val.model-agnostic.json", 499, {"DM": 187, "MT": 187, "PG": 125}),
    ("val.model-aware.v1.json", 501, {"DM": 188, "MT": 188, "PG": 125}),
    ("val.model-aware.v2.json", 501, {"DM": 188, "MT": 188, "PG": 125}),
    ("test.model-agnostic.json", 1500, {"DM": 563, "MT": 562, "PG": 375}),
    ("test.model-aware.json", 1500, {"DM": 562, "MT": 563, "PG": 375}),
    ("test.model-aware.fixed-crlf.json", 1500, {"DM": 562, "MT": 563, "PG": 375}),
    ("train.model-agnostic.json.gz", 30_000, {"DM": 10_000, "MT": 10_000, "PG": 10_000}),
    ("train.model-aware.json.gz", 30_000, {"DM": 10_000, "MT": 10_000, "PG": 10_000}),
]


@pytest.mark.real
@pytest.mark.parametrize(("name", "rows", "tasks"), FILES, ids=lambda value: str(value)[:40])
def test_every_real_file_reads(name, rows, tasks):
    problems = Problems()
    points = read(REAL / name, problems)
    assert len(points) == rows
    if name == "test.model-aware.fixed-crlf.json":  # the same rows, in other words of the source
        plain = read(REAL / "test.model-aware.json")
        assert [(p.id, p.hyp, p.task) for p in points] == [(p.id, p.hyp, p.task) for p in plain]
    assert {task: sum(p.task.name == task for p in points) for task in tasks} == tasks
    if name == "train.model-aware.json.gz":
        (warning,) = problems
        assert (warning.code, warning.index, warning.key) == ("value-finite", 20519, "src")
        assert (warning.found, points[20519].src) == ("NaN", "")
    else:
        assert problems.codes == set()
    for point in points:
        if point.src or point.tgt:  # the row of the bare NaN has neither
            assert all(text.strip() for text in premises(point))
        if point.labels:
            assert point.p == pytest.approx(
                sum(label is Label.HALLUCINATION for label in point.labels) / len(point.labels)
            )
            assert (point.label is Label.HALLUCINATION) == (point.p > 0.5)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"task": "QA"}, "task-value"),
        *(({"task": missing}, "task-value") for missing in (None, float("nan"), "")),
        ({"ref": "left"}, "ref-value"),
        ({"ref": ["src"]}, "ref-value"),
        ({"hyp": 3}, "text-string"),
        ({"src": 5}, "text-string"),
        ({"id": 1.5}, "id-integer"),
        ({"label": "maybe"}, "label-value"),
        ({"labels": ["maybe"]}, "label-value"),
        ({"labels": 3}, "label-value"),
        ({"labels": {"a": "Hallucination", "b": "maybe"}}, "label-value"),
        ({"p(Hallucination)": "0.5"}, "p-number"),
        ({"p(Hallucination)": 7}, "p-range"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, change, code):
    rows = gold(3, first_id=10)
    rows[1].update(change)
    with pytest.raises(InvalidInput, match="item 1") as caught:
        read(write_json(tmp_path / "x.json", rows))
    assert caught.value.problems.codes == {code}


@pytest.mark.parametrize("key", ["hyp", "src", "tgt", "ref", "model"])
@pytest.mark.parametrize("missing", [None, float("nan")])
def test_null_and_nan_are_a_missing_text(tmp_path, key, missing):
    rows = gold(3, first_id=10)
    path = write_json(tmp_path / "x.json", [rows[0], {**rows[1], key: missing}, rows[2]])
    problems = Problems()
    point = read(path, problems)[1]
    assert (getattr(point, key) or "") == ""
    expected = [("value-finite", 1, key, "a text (a missing value is read as an empty text)")]
    assert [(p.code, p.index, p.key, p.expected) for p in problems] == expected
    checked = check(write_json(tmp_path / "p.json", predictions(3, first_id=10)), path)
    assert checked.problems.codes <= {"value-finite"}  # scores need no texts
