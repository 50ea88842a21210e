"""Figures of items that a detector was fitted on: starred in whatever shows them."""

from __future__ import annotations

import csv
import io
import json
import runpy
import zipfile
from dataclasses import replace

import pytest
from conftest import ROOT, gold, predictions, write_json

from shroom.evaluation.report import report
from shroom.report.figure_files import file as figure
from shroom.report.report_plots import KINDS, panels
from shroom.scoring.display.text import footnote
from shroom.scoring.editions import official
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


def counts(submission, folder, scores=score):
    return [result.in_sample for result in scores(submission, folder / "gold").results]


# The record


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({AGNOSTIC: 9}, [9, 0]),
        ({"val.model-aware.v2.json": 5}, [0, 5]),
        ({AGNOSTIC: 10**30}, [12, 0]),
    ],
)
def test_a_record_counts_by_split_and_track(folder, record, expected):
    own = folder / "systems" / "fitted"
    write_json(own / "run.json", {"in_sample": record})
    assert counts(own, folder) == expected


@pytest.mark.parametrize(
    ("before", "scores", "expected"),
    [("", score, 9), ("", official.score, 9), ("team7.", score, 0)],
)
def test_a_record_counts_for_a_file_beside_it_of_the_same_name(folder, before, scores, expected):
    own = write_json(folder / "systems" / "fitted" / f"{before}{AGNOSTIC}", predictions())
    assert counts(own, folder, scores) == [expected]


@pytest.mark.parametrize("inside", ["", "mine/"])
def test_a_record_counts_in_a_zip(folder, inside):
    made = folder / "mine.zip"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{inside}{AGNOSTIC}", json.dumps(predictions()))
        archive.writestr(f"{inside}run.json", json.dumps(RECORD))
    assert counts(made, folder) == [9]


MALFORMED = ["null", '"all"', f'["{AGNOSTIC}"]']
MALFORMED += [f'{{"{AGNOSTIC}": {count}}}' for count in ('"9"', "-1", "true", "NaN", "[[]]")]


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        ("not json", True),
        ("[" * 100_000, True),
        *((f'{{"in_sample": {counts}}}', True) for counts in MALFORMED),
        *((other, False) for other in ("[]", "3", "{}", '{"in_sample": {"data.json": 4}}')),
    ],
)
def test_a_malformed_record_is_reported_in_one_line_and_changes_no_score(folder, text, is_reported):
    own = folder / "systems" / "fitted"
    (own / "run.json").write_text(text)
    found, plain = (score(each, folder / "gold") for each in (own, own.parent / "other"))
    codes = [each.code for each in found.warnings if each.code != "label-p"]
    assert codes == (["run-record"] if is_reported else [])
    assert found.to_dict()["results"] == plain.to_dict()["results"]


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
    found = shroom("score", folder / "systems" / "fitted", folder / "gold", "--format", "json")[1]
    assert "*" not in json.dumps(json.loads(found)["results"])


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
    plain = [replace(panel, star="") for panel in drawn]
    assert len(figure(drawn, "svg")) > len(figure(plain, "svg"))


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


@pytest.mark.parametrize(
    ("verb", "reason", "hint"),
    [
        ("calibrate {own} {gold}", "its detector was fitted on 9 of these 12 items", "--in-sample"),
        (
            "ensemble {other} --method logistic --train {own} --train-gold {gold}",
            "so weights fitted on them would trust it too much on others",
            "use predictions out of fold, or another split",
        ),
    ],
)
def test_nothing_is_fitted_on_what_the_detector_was_fitted_on(folder, shroom, verb, reason, hint):
    systems, out = folder / "systems", folder / "out.json"
    paths = {"own": systems / "fitted", "other": systems / "other", "gold": folder / "gold"}
    code, _, err = shroom(*verb.format(**paths).split(), "-o", out)
    assert (code, out.exists(), reason in err, hint in err) == (1, False, True, True), err


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


def test_an_ensemble_warns_of_an_in_sample_member(folder, shroom):
    systems = [folder / "systems" / name for name in ("fitted", "other")]
    code, _, err = shroom("ensemble", *systems, "-o", folder / "out")
    assert (code, err.count("[in-sample]")) == (0, 2)  # the warning, and what to do
