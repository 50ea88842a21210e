"""Every function takes objects as it takes paths, and every result can be shown."""

import json
import os
import subprocess
import sys

import datasets
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import ROOT, SAMPLE, write_json
from matplotlib.axes import Axes

import shroom as kit
from shroom.detectors.base import Detector
from shroom.evaluation.matrix.detectors import Store
from shroom.inference.run_settings import RUN
from shroom.metrics.intervals import Intervals
from shroom.report import results

GOLD = SAMPLE / "val.model-aware.json"
ROWS = json.loads(GOLD.read_text(encoding="utf-8"))
FEW = Intervals(50)
TESTS = {"intervals": FEW, "trials": 99}


class Length(Detector):
    """A detector that is an object, and may have seen what it judges."""

    name = "length"

    def __init__(self, scale=100, seen=False):
        self.scale, self.seen = scale, seen

    def p(self, datapoints, run=RUN):
        del run
        return np.array([min(1, len(point.hyp) / self.scale) for point in datapoints])

    def in_sample(self, datapoints, run=RUN):
        del run
        return np.full(len(datapoints), self.seen)


@pytest.fixture(scope="module")
def lexical():
    return kit.predict("lexical", GOLD)


@pytest.fixture
def folder_of_names(monkeypatch, tmp_path):
    """Work in a folder whose files have the names of arguments."""
    for name in ("gold", "data", "predictions", "a"):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "val.model-aware.json", ROWS[:3])
    monkeypatch.chdir(tmp_path)


# Paths and objects

#: Each function of predictions and gold, and a form in which it gets both.
FUNCTIONS = {
    "read": (lambda _, gold: kit.read(gold), pl.DataFrame),
    "check": (kit.check, datasets.Dataset.from_list),
    "score": (lambda own, gold: kit.score(own, gold, intervals=FEW), pl.DataFrame),
    "compare": (lambda own, gold: kit.compare({"a": own, "b": gold}, gold, **TESTS), pd.DataFrame),
    "leaderboard": (
        lambda own, gold: kit.leaderboard({"a": own, "b": gold}, gold, **TESTS),
        datasets.Dataset.from_list,
    ),
    "agreement": (lambda _, gold: kit.agreement(gold, FEW), pl.DataFrame),
    "calibrate": (kit.calibrate, pd.DataFrame),
    "ensemble": (lambda own, gold: kit.ensemble([own, gold], data=gold), list),
    "predict": (lambda _, gold: kit.predict("lexical", gold), pl.DataFrame),
    "describe": (lambda _, gold: kit.describe("semeval2024", gold, FEW), pd.DataFrame),
    "evaluate": (lambda _, gold: kit.evaluate("lexical", {"a": gold}, intervals=FEW), list),
}
DRAWN = ("score", "compare", "leaderboard", "calibrate")


def figures(result):
    """Return everything in a result but names of files and times."""
    if isinstance(result, list):
        return result
    names = ("file", "ms_per_item", "of")
    return repr(result), [{k: row[k] for k in row if k not in names} for row in result.records()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_objects_have_the_figures_of_paths(name, lexical, tmp_path):
    function, form = FUNCTIONS[name]
    own = tmp_path / "val.model-aware.json"
    assert lexical.write(own) is None
    objects = ({"val.model-aware": form(rows)} for rows in (lexical.records(), ROWS))
    assert figures(function(*objects)) == figures(function(own, GOLD))


def test_an_invalid_object_is_listed_and_the_others_are_ranked():
    board = kit.leaderboard({"a": ROWS, "b": {"val.model-aware": ROWS[:9]}}, ROWS, **TESTS)
    assert [row.system for row in board.rows if row.kind == "system"] == ["a"]
    (entry,) = board.invalid
    assert entry.system == "b"
    assert repr(board) == "Leaderboard(1 system by accuracy, 1 invalid)"
    assert "b/val.model-aware.json: expected 60 items" in entry.problems[0]


def test_a_file_of_the_same_name_is_not_read_in_the_place_of_an_object(folder_of_names):
    board = kit.leaderboard({"a": ROWS}, ROWS, **TESTS)
    assert [row.n for row in board.rows if row.system in ("a", "one annotator")] == [60, 60]
    assert kit.predict(Length(), kit.read(GOLD)).n == kit.predict(Length(), ROWS).n == 60
    assert kit.evaluate(Length(), {"a": ROWS}, intervals=FEW).subjects[0].n == 60


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kit.compare(pl.DataFrame(ROWS), ROWS), "got one data frame; put it in a list"),
        (lambda: kit.ensemble("a.json"), "expected a list or a dict of submissions, got one"),
        (lambda: kit.leaderboard({}, ROWS), "there is no submission to rank"),
        (lambda: kit.ensemble([]), "expected at least one submission"),
        (lambda: kit.ensemble([ROWS], method="logistic"), "needs --train and --train-gold"),
        (lambda: kit.calibrate(ROWS, ROWS, method="plat"), "no method 'plat'"),
        (lambda: kit.calibrate(ROWS, ROWS, folds=1), "folds: expected at least 2 folds, got 1"),
        (lambda: kit.evaluate("lexical", []), "nothing to evaluate; choose"),
        (lambda: kit.evaluate([], ROWS), "nothing to evaluate; choose"),
        (lambda: kit.predict(Length(), ROWS, scale=3), "scale: these settings cannot be applied"),
        (lambda: kit.predict("lexical", {"a": 3}), "a: expected a path, rows or a data frame"),
        (lambda: kit.predict("lexical", pd.DataFrame()), "data: expected at least one item"),
        (lambda: kit.evaluate("lexical", [{"x": 1}]), "unknown format; rows need"),
        (lambda: kit.describe("felm", ROWS), "is in the format of semeval2024, not of felm"),
        (lambda: kit.score(ROWS, ROWS).plot("scores", track="test"), "has no such figure"),
        (lambda: kit.check(ROWS, ROWS).plot(), "it has no figures"),
        (lambda: kit.check(ROWS, ROWS).to_frame("duckdb"), "unknown data frame library 'duckdb'"),
        (lambda: kit.evaluate([3], ROWS), "expected the name of a detector, got int"),
        (lambda: kit.evaluate(3, ROWS), "expected the name of a detector, got int"),
        (lambda: kit.predict(pd.DataFrame(ROWS), "lexical"), "a detector, got DataFrame"),
        (lambda: kit.predict(Length, ROWS), "got the class Length; pass an instance of it"),
        (lambda: kit.detector(None), "expected the name of a detector, got NoneType"),
        (lambda: kit.describe(pd.DataFrame(ROWS)), "the name of a data set, got DataFrame"),
        (lambda: kit.score(ROWS, None), "gold: expected a path, rows or a data frame"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call, message):
    with pytest.raises(kit.ShroomError) as error:
        call()
    assert message in str(error.value)


# Predictions


def test_predictions_are_what_the_command_writes(lexical, shroom, tmp_path):
    assert shroom("predict", "lexical", GOLD, "-o", tmp_path / "a.zip")[0] == 0
    lexical.write(tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_in_sample_predictions_are_marked_in_memory_and_in_a_folder(tmp_path):
    predictions = kit.predict(Length(seen=True), GOLD)
    assert "was fitted on the texts of 60 of 60 items" in predictions.notes[0]
    assert kit.score(predictions, GOLD).results[0].in_sample == 60
    with pytest.raises(kit.ShroomError, match="the detector was fitted on 60"):
        kit.calibrate(predictions, GOLD)
    assert predictions.write(tmp_path / "folder") is None
    assert kit.score(tmp_path / "folder", GOLD).results[0].in_sample == 60
    assert "contains 60 in-sample predictions" in predictions.write(tmp_path / "a.zip")


def test_p_of_a_detector_that_is_an_object_are_never_those_of_another(tmp_path):
    scores = [
        kit.evaluate(Length(scale), {"a": ROWS}, Store(tmp_path), intervals=Intervals(0)).records()
        for scale in (50, 100)
    ]
    assert scores[0][0]["accuracy"] != scores[1][0]["accuracy"]


# How results are shown


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "read"])
def test_every_result_is_short_in_words_a_frame_and_a_part_of_a_page(name, lexical):
    function, form = FUNCTIONS[name]
    result = function(lexical, form(ROWS))
    assert len(repr(result)) < 200
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
    frames = [result.to_frame(backend) for backend in ("pandas", "polars", "pyarrow")]
    assert {len(frame) for frame in frames} == {len(result.records())}
    html = result._repr_html_()
    assert html.startswith('<div class="shroom">')
    assert "<script" not in html
    panels = result.panels()
    assert ("<svg" in html) == bool(panels) == (name in DRAWN)
    for kind, drawn in panels.items():
        axes = result.plot(kind)
        assert isinstance(axes, Axes)
        assert axes.has_data()
        assert axes.get_title(loc="left").startswith(drawn[0].title)
    plt.close("all")


def test_a_result_without_rows_has_the_heads_of_others():
    fine = kit.check(ROWS, GOLD)
    found = kit.check([{"p": 2}], GOLD)
    assert fine.render("csv") == ",".join(found.records()[0]) + "\n"
    assert list(fine.to_frame()) == list(found.to_frame())


def test_a_data_set_of_csv_files_is_read_from_a_frame():
    row = {"conv_index": 3, "model_type": "GPT2-small", "decoding": "DBS", "context": "A: Pho?"}
    row |= {"knowledge": "Pho is a soup.", "response": "It is a cake."}
    row |= {"Avg Factual Correctness": 0.25, "Hallucination": "Yes", "Verifiable": "Yes"}
    frame = pd.DataFrame([row, {**row, "conv_index": None, "Hallucination": "No"}])
    described = kit.describe("factual_consistency", frame)
    assert repr(described).startswith("Description(factual_consistency: 2 records in 1 file; ")


def test_a_figure_is_drawn_on_the_axes_that_are_given():
    figure, axes = plt.subplots()
    score = kit.score(SAMPLE, SAMPLE)
    assert score.plot("scores", track="model-aware", metric="rho", ax=axes) is axes
    assert axes.get_title(loc="left") == "rho\nval model-aware"
    plt.close(figure)


def test_without_plots_a_result_is_an_escaped_table(monkeypatch):
    monkeypatch.setattr(results.importlib.util, "find_spec", lambda _: None)
    html = kit.leaderboard({"<script>": ROWS}, ROWS, **TESTS)._repr_html_()
    assert "<svg" not in html
    assert html.count("<tr") == 6
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_notebook_that_shows_figures_goes_on_showing_them(tmp_path):
    """A backend may switch to showing figures when the first one is made, as that of Jupyter."""
    backend = "from matplotlib.backends.backend_agg import *\nimport matplotlib\n"
    (tmp_path / "shows.py").write_text(f"{backend}matplotlib.interactive(True)\n", encoding="utf-8")
    code = (
        "import matplotlib, shroom; shroom.score('shroom/sample', 'shroom/sample').plot();"
        "print(matplotlib.is_interactive())"
    )
    paths = os.pathsep.join([str(ROOT), str(tmp_path)])
    env = {**os.environ, "MPLBACKEND": "module://shows", "PYTHONPATH": paths}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert run.stdout.strip() == "True", run.stderr
