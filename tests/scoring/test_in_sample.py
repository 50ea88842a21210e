"""Figures of items that a detector was fitted on: starred in whatever shows them."""

from __future__ import annotations

import csv
import io
import json
import runpy
import zipfile

import pytest
from conftest import ROOT, gold, predictions, write_json

from shroom.evaluation.report import report
from shroom.report.figure_files import file as figure
from shroom.report.report_plots import KINDS, panels
from shroom.scoring.display.text import footnote
from shroom.scoring.scores import score

AGNOSTIC, AWARE = "val.model-agnostic.json", "val.model-aware.json"
NOTE = "* in-sample: the detector was fitted on 9 of these 12 items"
RECORD = {"in_sample": {AGNOSTIC: 9}}


@pytest.fixture
def folder(tmp_path):
    """Return gold, and two systems beside each other, the first of which has a record."""
    for track in (AGNOSTIC, AWARE):
        write_json(tmp_path / "gold" / track, gold())
        for system in ("fitted", "other"):
            write_json(tmp_path / "systems" / system / track, predictions())
    write_json(tmp_path / "systems" / "fitted" / "run.json", RECORD)
    return tmp_path


def counts(submission, folder):
    found = score(submission, folder / "gold")
    return [result.in_sample for result in found.results]


# The record


def test_a_record_counts_by_split_and_track(folder):
    assert counts(folder / "systems" / "fitted", folder) == [9, 0]


def test_a_record_names_the_data_with_their_version(folder):
    own = folder / "systems" / "fitted"
    write_json(own / "run.json", {"in_sample": {"val.model-aware.v2.json": 5}})
    assert counts(own, folder) == [0, 5]


def test_a_record_counts_for_a_file_beside_it(folder):
    assert counts(folder / "systems" / "fitted" / AGNOSTIC, folder) == [9]


def test_a_record_counts_for_no_file_of_another_name(folder):
    other = folder / "systems" / "fitted" / f"team7.{AGNOSTIC}"
    other.write_text(json.dumps(predictions()))
    assert counts(other, folder) == [0]


@pytest.mark.parametrize("inside", ["", "mine/"])
def test_a_record_counts_in_a_zip(folder, inside):
    made = folder / "mine.zip"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{inside}{AGNOSTIC}", json.dumps(predictions()))
        archive.writestr(f"{inside}run.json", json.dumps(RECORD))
    assert counts(made, folder) == [9]


def test_more_items_than_there_are_count_as_all(folder):
    own = folder / "systems" / "fitted"
    write_json(own / "run.json", {"in_sample": {AGNOSTIC: 10**30}})
    assert counts(own, folder) == [12, 0]


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "[" * 100_000,
        '{"in_sample": null}',
        '{"in_sample": "all"}',
        '{"in_sample": {"val.model-agnostic.json": "9"}}',
        '{"in_sample": {"val.model-agnostic.json": -1}}',
        '{"in_sample": {"val.model-agnostic.json": true}}',
        '{"in_sample": {"val.model-agnostic.json": NaN}}',
        '{"in_sample": {"val.model-agnostic.json": [[]]}}',
        '{"in_sample": ["val.model-agnostic.json"]}',
    ],
)
def test_a_malformed_record_is_reported_in_one_line_and_changes_no_score(folder, text):
    own = folder / "systems" / "fitted"
    (own / "run.json").write_text(text)
    found, plain = (score(each, folder / "gold") for each in (own, own.parent / "other"))
    assert [each.code for each in found.warnings if each.code != "label-p"] == ["run-record"]
    assert found.to_dict()["results"] == plain.to_dict()["results"]


@pytest.mark.parametrize("text", ["[]", "3", "{}", '{"in_sample": {"data.json": 4}}'])
def test_a_record_of_something_else_says_nothing(folder, text):
    own = folder / "systems" / "fitted"
    (own / "run.json").write_text(text)
    found = score(own, folder / "gold")
    assert not {each.code for each in found.warnings} & {"run-record", "in-sample"}


def test_the_scoring_program_reads_no_record(folder, capsys):
    main = runpy.run_path(str(ROOT / "scorer" / "scoring_program" / "score.py"))["main"]
    given = folder / "input"
    given.mkdir()
    (folder / "gold").rename(given / "ref")
    (folder / "systems" / "fitted").rename(given / "res")

    def written():
        assert main([str(given), str(folder / "output")]) == 0
        files = {path.name: path.read_bytes() for path in (folder / "output").iterdir()}
        return files, capsys.readouterr()

    with_record = written()
    (given / "res" / "run.json").unlink()
    assert with_record == written()


# What shows figures


def test_a_footnote_names_what_differs():
    assert footnote([("a", 9, 12), ("b", 0, 12)]) == [NOTE]
    (both,) = footnote([("a\x1b", 9, 12), ("b", 3, 12)])
    assert both.endswith("fitted on 9 of these 12 items (a\\u001b), 3 of these 12 items (b)")
    assert footnote([("b", 0, 12)]) == []


def test_score_stars_one_track(folder, shroom):
    _, out, err = shroom("score", folder / "systems" / "fitted", folder / "gold", "--by", "task")
    agnostic, aware = out.split("val model-aware")
    assert agnostic.splitlines()[2].split()[3].endswith("*")
    assert all("*" in line for line in agnostic.splitlines() if "task" in line)
    assert not any("*" in line for line in agnostic.splitlines() if "floor" in line)
    assert aware.count("*") == 1
    assert NOTE in aware
    assert "expected items that the detector was not fitted on, got 9 of 12" in err


def test_score_as_json(folder, shroom):
    own = folder / "systems" / "fitted"
    found = json.loads(shroom("score", own, folder / "gold", "--format", "json")[1])
    assert [result["in_sample"] for result in found["results"]] == [9, 0]
    assert "*" not in json.dumps(found["results"])


def test_official_scores_are_starred_too(folder):
    from shroom.scoring.editions import official

    own = folder / "systems" / "fitted"
    assert [each.in_sample for each in official.score(own / AGNOSTIC, folder / "gold").results] == [
        9
    ]


def test_compare_warns_that_it_is_not_fair(folder, shroom):
    systems = [folder / "systems" / name for name in ("fitted", "other")]
    arguments = ("compare", *systems, folder / "gold", "--trials", "9", "--resamples", "9")
    _, out, err = shroom(*arguments)
    assert "fitted*  other" in out
    assert f"{NOTE}; comparing it with others is not fair" in out
    warning = "fitted: compared on items that the detector was fitted on, which is not fair"
    assert err.count(warning) == 1
    found = json.loads(shroom(*arguments, "--format", "json")[1])
    assert [(e["a_in_sample"], e["b_in_sample"]) for e in found["comparisons"][::2]] == [
        (9, 0),
        (0, 0),
    ]
    assert found["warnings"][-1].startswith(warning)


def test_the_leaderboard_stars_in_every_form(folder, shroom):
    arguments = ("leaderboard", folder / "systems", folder / "gold", "--resamples", "9")
    _, out, _ = shroom(*arguments, "--html", folder / "page.html")
    note = f"{NOTE}, so its rank says little"
    assert "fitted*" in out
    assert out.count(note) == 1
    page = (folder / "page.html").read_text()
    assert "<bdi>fitted*</bdi>" in page
    assert page.count(note) == 1
    assert "| fitted\\* |" in shroom(*arguments, "--format", "markdown")[1]
    rows = list(csv.DictReader(io.StringIO(shroom(*arguments, "--format", "csv")[1])))
    assert {row["in_sample"] for row in rows if row["system"] == "fitted"} == {"9", "0"}
    found = json.loads(shroom(*arguments, "--format", "json")[1])
    assert {row["in_sample"] for row in found["rows"] if row["system"] == "other"} == {0}


def test_the_report_stars_tables_and_figures(folder, shroom):
    systems = [folder / "systems" / name for name in ("fitted", "other")]
    page = folder / "page.html"
    shroom("report", *systems, folder / "gold", "-o", page, "--trials", "9", "--resamples", "9")
    agnostic, aware = page.read_text().split('id="track-2"')
    assert "<bdi>fitted</bdi>*" in agnostic
    assert ">fitted*<" in agnostic
    assert NOTE in agnostic
    assert "fitted</bdi>*" not in aware
    assert NOTE not in aware


@pytest.mark.parametrize("kind", KINDS)
def test_every_plot_has_the_star_and_its_footnote(folder, kind):
    systems = [folder / "systems" / name for name in ("fitted", "other")]
    found = report(systems, folder / "gold", trials=9, track="model-agnostic")
    drawn = panels(kind, found)
    assert {panel.star for panel in drawn} == {NOTE}
    assert any("fitted*" in panel.title + panel.about for panel in drawn)
    assert len(figure(drawn, "svg")) > len(figure([*map(_without_star, drawn)], "svg"))


def _without_star(panel):
    from dataclasses import replace

    return replace(panel, star="")


def test_rows_of_items_have_the_number_of_in_sample_items(folder, shroom):
    own = folder / "systems" / "fitted"
    code, out, err = shroom("report", own, folder / "gold", "--format", "json")
    assert code == 0
    assert "[in-sample]" in err
    marked = {
        (row["track"], row["systems"]["fitted"]["in_sample"]) for row in json.loads(out)["items"]
    }
    assert marked == {("model-agnostic", 9), ("model-aware", 0)}


# What is fitted on predictions


def test_calibrate_refuses_what_the_detector_was_fitted_on(folder, shroom):
    own, out = folder / "systems" / "fitted" / AGNOSTIC, folder / "calibrator.json"
    code, _, err = shroom("calibrate", own, folder / "gold", "-o", out)
    assert (code, out.exists()) == (1, False)
    assert "its detector was fitted on 9 of these 12 items" in err
    assert "--in-sample" in err


def test_calibrate_stars_what_it_is_told_to_show(folder, shroom):
    rising = [
        {"label": row["label"], "p(Hallucination)": row["p(Hallucination)"]} for row in gold()
    ]
    own = write_json(folder / "systems" / "fitted" / AGNOSTIC, rising)
    arguments = ("calibrate", own, folder / "gold", "--in-sample", "-o", folder / "c.json")
    _, out, _ = shroom(*arguments)
    assert NOTE in out
    assert all(row.count("*") == 2 for row in out.splitlines() if row.startswith("  rho"))
    (result,) = json.loads(shroom(*arguments, "--format", "json")[1])["results"]
    assert result["in_sample"] == 9


def test_an_ensemble_refuses_to_fit_on_it(folder, shroom):
    own, out = folder / "systems" / "fitted", folder / "out"
    given = ("--method", "logistic", "--train", own, "--train-gold", folder / "gold")
    code, _, err = shroom("ensemble", folder / "systems" / "other", *given, "-o", out)
    assert (code, out.exists()) == (1, False)
    assert "so weights fitted on them would trust it too much on others" in err


def test_an_ensemble_warns_of_an_in_sample_member(folder, shroom):
    systems = [folder / "systems" / name for name in ("fitted", "other")]
    code, _, err = shroom("ensemble", *systems, "-o", folder / "out")
    assert (code, err.count("[in-sample]")) == (0, 2)  # the warning, and what to do
