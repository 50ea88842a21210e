"""Rows and data frames in the place of files."""

import html
import json

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import SAMPLE, gold, predictions

import shroom
from shroom.core.problem_codes import CODES
from shroom.core.problems import Problems
from shroom.metrics.intervals import Intervals
from shroom.scoring.datapoint_files import from_items
from shroom.scoring.fix import fix_submission

GOLD = SAMPLE / "val.model-aware.json"
ROWS = json.loads(GOLD.read_text(encoding="utf-8"))
PREDICTIONS = [{key: row[key] for key in ("label", "p(Hallucination)")} for row in ROWS]


def datapoints(rows):
    return from_items(rows, "rows", Problems()) if "hyp" in rows[0] else rows


FORMS = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.Table.from_pylist,
    "stream": lambda rows: pa.Table.from_pylist(rows).to_reader(),
    "datasets": datasets.Dataset.from_list,
    "datapoints": datapoints,
    "by name": lambda rows: {"val.model-aware": rows},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_score_of_the_file(form):
    expected = shroom.score(GOLD, GOLD).results[0]
    result = shroom.score(FORMS[form](PREDICTIONS), FORMS[form](ROWS)).results[0]
    assert (result.scores, result.intervals) == (expected.scores, expected.intervals)
    assert result.slices["task"] == expected.slices["task"]


def test_what_is_missing_in_a_frame_is_missing_in_the_data_but_not_p():
    missing = pd.NA, np.nan, None, pd.NaT
    table = pd.DataFrame(ROWS[:4]).assign(ref=missing, id=pd.array([1, 2, 3, 4], "Int64"))
    points = shroom.read(table.assign(seen=pd.Timestamp("2024-01-31")))
    assert [(point.id, point.ref) for point in points] == [(i, None) for i in range(1, 5)]
    with pytest.raises(shroom.InvalidInput, match=r"item 0: p.* expected a finite number, got NaN"):
        shroom.check(
            pd.DataFrame(PREDICTIONS).assign(**{"p(Hallucination)": np.nan})
        ).raise_for_errors()


ANYTHING_ELSE = "predictions: expected a path, rows or a data frame, got "
COLUMNS = pd.DataFrame(PREDICTIONS).to_dict("list")
BAD = [*PREDICTIONS[:3], {"label": "Hallucination", "p(Hallucination)": 2}, *PREDICTIONS[4:]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        *((data, ANYTHING_ELSE) for data in (3, object(), ["a"], pd.Series(["a"]), pd.DataFrame)),
        ([3], f"{ANYTHING_ELSE}list of int"),
        (pl.LazyFrame(PREDICTIONS), f"{ANYTHING_ELSE}LazyFrame"),
        (PREDICTIONS[0], "predictions: expected rows, got one row; put it in a list"),
        (COLUMNS, "predictions: expected rows, got columns; convert them to a data frame"),
        ([{"label": {"a", "b"}}], "predictions: a value cannot be represented in JSON"),
        (pd.DataFrame([[1, 2]], columns=["p", "p"]), "predictions: Expected unique column names"),
        ({1: PREDICTIONS}, "1.json: expected a name like"),
        (pd.DataFrame(BAD), "predictions: item 3: p(Hallucination): expected a number in [0, 1]"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_sentence(data, message):
    with pytest.raises(shroom.ShroomError) as error:
        shroom.score(data, GOLD)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"columns": "p=score"}, 'columns: expected a dict such as {"p": "score"}, got "p=score"'),
        ({"columns": ["score"]}, 'columns: expected a dict such as {"p": "score"}, got ["score"]'),
        ({"columns": {"p": ["a"]}}, 'columns: expected a dict such as {"p": "score"}, got {"p": '),
        ({"labels": "ab"}, 'labels: expected a list such as ["refuted", "supported"], got "ab"'),
        ({"labels": 5}, 'labels: expected a list such as ["refuted", "supported"], got 5'),
        ({"labels": {"a": 1, "b": 2}}, "labels: expected a list such as "),
        ({"labels": {"a", "b"}}, "labels: expected a list such as "),
    ],
)
def test_names_of_another_type_are_refused(names, message):
    with pytest.raises(shroom.ShroomError) as error:
        shroom.check(PREDICTIONS, **names)
    assert str(error.value).startswith(message)


def test_systems_are_compared_under_the_names_that_they_are_given():
    systems = {"mine": PREDICTIONS, "other": pd.DataFrame(PREDICTIONS[::-1])}
    found = shroom.compare(systems, ROWS, intervals=Intervals(100), trials=99)
    assert {(pair.a, pair.b) for pair in found.comparisons} == {("mine", "other")}


def test_float_ids_and_float32_of_a_frame():
    rows, truth = predictions(12, first_id=7), gold(12, first_id=7)
    table = pd.DataFrame(rows).astype({"id": float})
    checked = shroom.check(table, truth)
    assert (checked.ok, checked.problems.codes) == (True, {"id-string"})
    table["p(Hallucination)"] = table["p(Hallucination)"].astype("float32")
    table.loc[3, "p(Hallucination)"] = np.nextafter(np.float32(1), np.float32(2))
    assert shroom.check(table, truth).problems.count("p-range") == 1
    fixed = fix_submission(table, truth)
    assert (fixed.checked.ok, fixed.checked.problems.codes) == (True, set())
    (text,) = fixed.files.values()
    assert [row["id"] for row in json.loads(text)] == [row["id"] for row in rows]
    assert json.loads(text)[3]["p(Hallucination)"] == 1


def test_ids_as_the_index_of_a_frame_are_read():
    rows, truth = predictions(12, first_id=7), pd.DataFrame(gold(12, first_id=7))
    for shown in (rows[::-1], rows):
        table = pd.DataFrame(shown).set_index("id")
        (track,) = shroom.check(table, truth.set_index("id")).tracks
        assert track.predictions.ids.tolist() == [row["id"] for row in shown]
    assert shroom.check(table.rename_axis("uid"), truth).problems.codes >= {"id-missing"}


@pytest.mark.parametrize(
    ("id_", "is_read"),
    [
        *((2.0**53 - 1, True), (repr(2.0**53 - 1), True), (2.0**53, False), (0.5, False)),
        *(("0.5", False), ("1e+00", False), ("1e", False)),
    ],
)
def test_ids_are_read_from_floats_if_nothing_is_lost(id_, is_read):
    row = {"id": id_, "label": "Hallucination", "p(Hallucination)": 0.5}
    assert ("id-integer" in shroom.check([row]).problems.codes) != is_read


NAMES = {"columns": {"p": "score", "label": "verdict"}, "labels": ("refuted", "supported")}


@pytest.mark.parametrize("form", [list, pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_users_own_columns_and_labels_are_read_and_named_in_errors(form):
    words = dict(zip(("Hallucination", "Not Hallucination"), NAMES["labels"]))
    rows = [{"verdict": words[r["label"]], "score": r["p(Hallucination)"]} for r in PREDICTIONS]
    assert shroom.score(form(rows), GOLD, **NAMES) == shroom.score(PREDICTIONS, GOLD)
    rows[3]["score"], rows[5]["verdict"] = 2.0, "maybe"
    checked = shroom.check(form(rows), GOLD, **NAMES)
    assert [problem.sentence.partition(": ")[2] for problem in checked.problems] == [
        "item 3: score: expected a number in [0, 1], got 2.0 [p-range]",
        'item 5: verdict: expected "refuted" or "supported", got "maybe" [label-value]',
    ]
    assert repr(checked.problems) == "Problems(errors: 2, warnings: 0; p-range 1, label-value 1)"
    assert html.escape(CODES["label-value"].fix) in checked._repr_html_()
    rows = form([{"verdict": row["verdict"], "points": 0.5} for row in rows[:2]])
    problem = next(iter(shroom.check(rows, **NAMES).problems))
    assert problem.sentence == (
        'predictions: item 0: expected the key "score", got keys ["verdict", "points"] '
        "[key-missing]"
    )


def test_a_missing_p_of_a_users_own_column_is_an_error():
    table = pd.DataFrame({"label": ["Hallucination"] * 2, "score": [0.5, np.nan]})
    (problem,) = (it for it in shroom.check(table, columns={"p": "score"}).problems if it.index)
    assert (problem.code, problem.key) == ("p-finite", "score")


def test_gold_without_a_name_is_told_how_to_get_one():
    mine = {f"{split}.model-aware": predictions(12, first_id=1) for split in ("val", "test")}
    problem = [*shroom.check(mine, gold(12)).problems][-1]
    assert problem.found == 'none in gold (name it, as in {"test.model-aware": gold})'
