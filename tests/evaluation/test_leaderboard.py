"""`shroom leaderboard`: ranks, groups, and folders as they come."""

import csv
import io
import json
import os
import runpy
import shutil
import zipfile
from dataclasses import replace

import pytest
from conftest import ROOT, SAMPLE, gold, write_json, write_lines
from made_up import AGNOSTIC, AWARE, answers, contest

from shroom.core.problems import InvalidInput, ShroomError
from shroom.evaluation.comparison import compare
from shroom.evaluation.leaderboard import leaderboard
from shroom.evaluation.submissions import submissions_in
from shroom.metrics.intervals import Intervals
from shroom.metrics.rank_intervals import rank_intervals
from shroom.scoring.annotator_agreement import agreement
from shroom.scoring.editions.edition import Column, Edition, Files, Split, Track
from shroom.scoring.platforms import worst_scores
from shroom.scoring.rows import P
from shroom.scoring.scores import score

FEW = ("--resamples", "200", "--trials", "2000")
NOISES = {"good": 0.2, "fair": 0.6, "poor": 1.0, "worst": 0.95}


@pytest.fixture
def places(tmp_path):
    return contest(tmp_path, NOISES)


def ranked(shroom, *args, code=0):
    found, out, err = shroom("leaderboard", *args, *FEW, "--format", "json")
    assert found == code, err
    return json.loads(out, parse_constant=pytest.fail)


def zipped(path, name, rows):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, json.dumps(rows))


def said(places, system="good"):
    return json.loads((places[0] / system / AWARE).read_text())


def systems_of(found):
    return [row for row in found["rows"] if row["kind"] == "system"]


def spoil(places, system):
    rows = said(places, system)
    rows[2][P] = "0.5"
    write_json(places[0] / system / AWARE, rows)


@pytest.mark.parametrize("n", [1, 9])
def test_fewer_than_ten_items_have_no_intervals(tmp_path, shroom, n):
    rows = systems_of(ranked(shroom, *contest(tmp_path, {"a": 0.1, "b": 0.2}, n=n)))
    assert rows[0]["rank"] == 1
    assert {row[f"{name}_ci"] for row in rows for name in ("rank", "accuracy", "rho")} == {None}


def test_the_scores_of_a_system_are_those_of_shroom_score(places):
    for method in ("percentile", "bca"):
        how = Intervals(300, seed=4, confidence=0.9, method=method)
        for row in leaderboard(*places, intervals=how).rows[:4]:
            own = score(places[0] / row.system, places[1], intervals=how).results[0]
            assert (row.scores, row.intervals) == (own.scores, own.intervals)
            assert row.rank_ci[0] <= row.rank <= row.rank_ci[1]


def test_rank_intervals_are_of_joint_resamples(places):
    from shroom.evaluation.board import boards
    from shroom.scoring.check import check
    from shroom.scoring.kinds.base import ranking_metrics

    how = Intervals(300)
    found = {row.system: row.rank_ci for row in leaderboard(*places, intervals=how).rows[:4]}
    (joint,) = boards({name: check(places[0] / name, places[1]) for name in NOISES})
    drawn = joint.resampled(ranking_metrics(joint.edition), how)
    expected = rank_intervals(drawn["accuracy"].T, drawn["rho"].T)
    assert found == {name: tuple(ci) for name, ci in zip(NOISES, expected.tolist())}


@pytest.mark.parametrize("by", ["accuracy", "rho"])
def test_groups_are_those_of_the_corrected_tests(places, by):
    board = leaderboard(*places, metric=by, intervals=Intervals(0), trials=2000)
    rows = [row for row in board.rows if row.kind == "system"]
    paths = [places[0] / row.system for row in rows]
    found = compare(paths, places[1], trials=2000, intervals=Intervals(0)).comparisons
    told_apart = {(it.a, it.b) for it in found if it.metric == by and it.significant}
    opener, expected = rows[0], [1]
    for row in rows[1:]:
        real = (opener.system, row.system) in told_apart
        opener = row if real else opener
        expected.append(expected[-1] + real)
    assert [row.group for row in rows] == expected
    assert expected[-1] > 1


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("accuracy", [("b", 1), ("c", 1), ("a", 3), ("d", 4)]),
        ("rho", [("b", 1), ("c", 1), ("d", 3), ("a", 4)]),
    ],
)
def test_ties_are_broken_by_the_other_score(by, expected):
    truth = gold(30)
    # p ranks alike in all systems but a, and d has one label wrong
    base = [{**row, P: round(0.2 + 0.6 * row[P], 4)} for row in answers(truth, 0.6)]
    label = ({"Hallucination", "Not Hallucination"} - {truth[0]["label"]}).pop()
    systems = {"b": base, "a": [{**row, P: 1 - row[P]} for row in base], "c": base}
    systems["d"] = [{**base[0], "label": label}, *base[1:]]
    board = leaderboard(systems, truth, metric=by, intervals=Intervals(50))
    assert [(row.system, row.rank) for row in board.rows if row.kind == "system"] == expected


def test_identical_systems_share_rank_interval_and_group(places, shroom):
    for name in ("z", "copy"):
        shutil.copytree(places[0] / "fair", places[0] / name)
    rows = {row["system"]: row for row in systems_of(ranked(shroom, *places))}
    same = [{**rows[name], "system": ""} for name in ("fair", "z", "copy")]
    assert same[0] == same[1] == same[2]
    assert same[0]["rank"] == 2
    assert rows["poor"]["rank"] in (5, 6)


def test_constant_p_ranks_last_by_rho(places, shroom):
    write_json(places[0] / "flat" / AWARE, [{**row, P: 0.5} for row in said(places)])
    last = systems_of(ranked(shroom, *places, "--metric", "rho"))[-1]
    assert [last[key] for key in ("system", "rank", "rho", "rho_ci")] == ["flat", 5, None, None]
    by_accuracy = {row["system"]: row["rank"] for row in systems_of(ranked(shroom, *places))}
    assert by_accuracy["good"] < by_accuracy["flat"]  # as accurate, and rho breaks the tie
    for form, explained in (("text", True), ("markdown", True), ("csv", False)):
        out = shroom("leaderboard", *places, *FEW, "--format", form)[1]
        assert ("nan" in out.lower(), "rho is undefined" in out) == (False, explained)


def test_floors_and_references_are_rows_without_rank(places, shroom):
    extra = [row for row in ranked(shroom, *places)["rows"] if row["kind"] != "system"]
    by = {row["system"]: row for row in extra}
    assert {(row["rank"], row["rank_ci"], row["group"]) for row in extra} == {(None, None, None)}
    kinds = dict.fromkeys(("one annotator", "gold label as p"), "reference")
    kinds |= dict.fromkeys(("majority label", "constant p"), "floor")
    assert {name: row["kind"] for name, row in by.items()} == kinds
    human, person = agreement(places[1], Intervals(200)).results[0].whole, by["one annotator"]
    for name in ("accuracy", "rho"):
        assert person[name] == human[f"human_{name}"].value
        assert tuple(person[f"{name}_ci"]) == pytest.approx(human[f"human_{name}"].ci)


def test_gold_without_votes_has_no_annotator(places, shroom):
    rows = json.loads((places[1] / AWARE).read_text())
    write_json(places[1] / AWARE, [{k: v for k, v in row.items() if k != "labels"} for row in rows])
    assert "one annotator" not in [row["system"] for row in ranked(shroom, *places)["rows"]]


@pytest.mark.linux
def test_invalid_submissions_are_listed_with_their_problems(places, shroom):
    spoil(places, "fair")
    (places[0] / "empty").mkdir()
    (places[0] / "broken.zip").write_bytes(b"PK\x03\x04 no zip")
    (places[0] / "gone.json").symlink_to("nowhere.json")
    write_json(places[0] / f"short.{AWARE}", answers(gold(60), 0.4)[:-1])
    found = ranked(shroom, *places)
    codes = {"fair": "p-number", "empty": "no-file", "broken": "zip-broken"}
    codes |= {"gone": "file-unreadable", "short": "count"}
    reasons = {entry["system"]: " ".join(entry["problems"]) for entry in found["invalid"]}
    assert set(reasons) == set(codes)
    assert all(f"[{code}]" in reasons[system] for system, code in codes.items())
    assert [row["rank"] for row in systems_of(found)] == [1, 2, 3]
    for form in ("text", "markdown"):
        out = shroom("leaderboard", *places, *FEW, "--format", form)[1]
        assert all(system in out for system in codes)


def test_all_invalid_is_told_and_writes_nothing(places, tmp_path, refused):
    for name in NOISES:
        spoil(places, name)
    target, page = write_json(tmp_path / "board.txt", "before"), tmp_path / "x.html"
    err = refused("leaderboard", *places, "-o", target, "--html", page)
    assert "[p-number]" in err
    assert (target.read_text(), page.exists()) == ('"before"', False)


@pytest.mark.linux
def test_what_is_no_submission(places, shroom):
    (places[0] / ".hidden").mkdir()
    write_json(places[0] / ".cache.json", [])
    write_json(places[0] / "__MACOSX" / f"._{AWARE}", [])
    (places[0] / "notes.txt").write_text("no submission")
    (places[0] / "README.md").write_text("read me")
    (places[0] / "csvteam.csv").write_text("label")
    os.mkfifo(places[0] / "pipe.json")
    _, out, err = shroom("leaderboard", *places, *FEW, "--format", "json", "--all")
    found = json.loads(out)
    assert (found["invalid"], len(systems_of(found))) == ([], 4)
    for name in ("notes.txt", "pipe.json", "csvteam.csv"):
        assert f"{name}: ignored, because submissions are folders, .json, .jsonl and .zip" in err
    assert "README" not in err


@pytest.mark.linux
def test_files_zips_folders_and_links_of_any_kind(tmp_path, shroom):
    folder, truth = contest(tmp_path / "c", {"folder": 0.3}, files=(AGNOSTIC, AWARE))
    rows = said((folder, truth), "folder")
    write_json(folder / f"files.{AWARE}", rows)
    write_json(folder / f"files.{AGNOSTIC}", rows)
    write_lines(folder / f"lines.{AWARE}l", rows)
    zipped(folder / "Packed.ZIP", f"deep/er/{AWARE}", rows)
    (folder / "linked").symlink_to(folder / "folder")
    found = ranked(shroom, folder, truth)
    assert found["invalid"] == []
    agnostic, aware = (
        {row["system"] for row in systems_of(found) if row["track"] == track}
        for track in ("model-agnostic", "model-aware")
    )
    assert (agnostic, len(aware)) == ({"folder", "files", "linked"}, 5)
    assert {"lines", "files"} < aware


@pytest.mark.parametrize("other", [f"good.{AWARE}", "good.val.model-aware.v2.json", "good.zip"])
def test_two_files_for_one_track_are_no_choice(places, shroom, other):
    if other.endswith(".zip"):
        zipped(places[0] / other, AWARE, said(places, "fair"))
    else:
        write_json(places[0] / other, said(places, "fair"))
    (entry,) = ranked(shroom, *places)["invalid"]
    assert entry["system"] == "good"
    assert "[file-twice]" in entry["problems"][0]


@pytest.mark.linux
@pytest.mark.parametrize("kind", ["folder", "file", "symbolic link", "another name"])
def test_the_gold_in_the_folder_is_no_system(places, shroom, kind):
    folder, truth = places
    inside, source = folder / "gold.json", truth if kind == "folder" else truth / AWARE
    # On macOS and Windows, GOLD.json and gold.json are one file: another name, like a hard link.
    by_kind = {"folder": shutil.copytree, "file": shutil.copy, "symbolic link": os.symlink}
    by_kind.get(kind, os.link)(source, inside)
    given = source if kind == "another name" else inside
    found = ranked(shroom, folder, given)
    assert {row["system"] for row in systems_of(found)} == set(NOISES)


def test_refusals(places, tmp_path, refused):
    folder, truth = places
    (tmp_path / "empty").mkdir()
    table = write_json(tmp_path / "tables" / "csvteam.csv", [])
    for name in ("a.json", f"a.{AWARE}", f"b.{AWARE}"):
        write_json(tmp_path / "twice" / name, said(places))
    plain = shutil.copy(truth / AWARE, tmp_path / "gold.json")
    single = "a single submission; put all submissions into one folder"
    for args, expected, told in (
        ((tmp_path / "empty", truth), 1, "contains no submission"),
        ((table.parent, truth), 1, "and tables with a split and a track in their names"),
        ((tmp_path / "twice", plain), 1, "the same system and track as"),
        ((truth, truth), 1, "the submissions and the gold are the same folder"),
        ((folder, "-"), 1, "cannot come from a pipe"),
        ((folder / "good" / AWARE, truth), 2, single),
        ((folder / "good", truth), 1, single),
        ((folder, tmp_path / "nowhere"), 2, "does not exist"),
    ):
        assert told in refused("leaderboard", *args, code=expected)
    for call in (leaderboard, submissions_in):
        with pytest.raises(ShroomError):
            call(folder / "good" / AWARE, truth)


def test_wrong_gold_is_told_once_and_not_of_each_system(places, refused):
    path = places[1] / AWARE
    path.write_text(path.read_text().replace(f'"{P}": 0.2', f'"{P}": NaN'))
    err = refused("leaderboard", *places)
    assert str(path) in err
    assert "good" not in err
    with pytest.raises(InvalidInput):
        leaderboard(*places)


@pytest.fixture
def outputs(tmp_path):
    """Return predictions, and what the scoring program writes for them: c is a zip."""
    main = runpy.run_path(str(ROOT / "scorer" / "scoring_program" / "score.py"))["main"]
    ref = shutil.copytree(SAMPLE, tmp_path / "ref")
    for place, name in enumerate("abc"):
        for file in (AGNOSTIC, AWARE):
            rows = answers(json.loads((ref / file).read_text()), 0.4 + place / 5, place)
            write_json(tmp_path / "predictions" / name / file, rows)
        shutil.rmtree(tmp_path / "res", ignore_errors=True)
        shutil.copytree(tmp_path / "predictions" / name, tmp_path / "res")
        assert main([str(tmp_path), str(tmp_path / "out" / name)]) == 0
    shutil.make_archive(str(tmp_path / "out" / "c"), "zip", tmp_path / "out" / "c")
    shutil.rmtree(tmp_path / "out" / "c")
    return tmp_path / "predictions", tmp_path / "out"


def test_outputs_are_ranked_by_their_scores(outputs, shroom):
    from_scores = ranked(shroom, outputs[1], SAMPLE)
    from_predictions = ranked(shroom, outputs[0], SAMPLE)
    assert {row["system"] for row in systems_of(from_scores)} == {"a", "b", "c"}
    keys = ("system", "track", "kind", "rank", "accuracy", "rho", "n")
    for one, other in zip(from_scores["rows"], from_predictions["rows"], strict=True):
        assert [one[key] for key in keys] == [other[key] for key in keys]
        assert {one[f"{key}_ci"] for key in ("rank", "accuracy", "rho")} == {one["group"]} == {None}
    assert (from_scores["split"], from_scores["signature"]) == ("val", "")
    for form in ("text", "markdown"):
        out = shroom("leaderboard", outputs[1], SAMPLE, "--format", form)[1]
        assert "Without predictions, there are no intervals" in out
        assert "None" not in out
    by_rho = systems_of(ranked(shroom, outputs[1], SAMPLE / AWARE, "--metric", "rho"))
    assert {row["track"] for row in by_rho} == {"model-aware"}
    rho = [row["rho"] for row in by_rho]
    assert rho == sorted(rho, reverse=True)
    assert ">None<" not in leaderboard(outputs[1], SAMPLE).render("html")


def test_outputs_without_scores_are_listed(outputs, shroom):
    folder = outputs[1]
    none, number = "expected scores in scores.json, got none", "a finite number"
    texts = {
        "empty": ("{}", f'{number} under "agnostic_acc"'),
        "part": ('{"agnostic_acc": 0.5, "agnostic_rho": 0.5}', f'{number} under "aware_acc"'),
        "list": ("[1]", "expected a JSON object of scores"),
        "odd": ('{"agnostic_acc": NaN}', f'{number} under "agnostic_acc"'),
        "large": ('{"agnostic_acc": 1%s}' % ("0" * 400), f'{number} under "agnostic_acc"'),
        "failed": ("", none),
    }
    for name, (text, _) in texts.items():
        (folder / name).mkdir()
        (folder / name / ("scores.json" if text else "detailed_results.html")).write_text(text)
    (folder / "broken.zip").write_bytes(b"PK no zip")
    found = ranked(shroom, folder, SAMPLE)
    assert len(systems_of(found)) == 2 * 3
    why = {entry["system"]: entry["problems"][0] for entry in found["invalid"]}
    assert why.keys() == {*texts, "broken"}
    assert none in why["broken"]
    assert all(sentence in why[name] for name, (_, sentence) in texts.items())


def test_outputs_of_an_edition_that_ranks_by_the_mean(tmp_path):
    shown = {"a": (0.5, 0.75, 0, 0.5), "b": (0.75, 0.625, 0, 0.5)}.items()
    keys = ("en_accuracy", "es_accuracy", "en_rho", "es_rho")
    scores = {system: dict(zip(keys, values)) for system, values in shown}
    folder, truth = outputs_of(tmp_path, scores)
    edition = replace(TWO_TRACKS, average=True)
    board = leaderboard(folder, truth, edition=edition)
    found = [(row.track, row.system, row.scores["accuracy"]) for row in board.rows if row.rank == 1]
    assert found == [("en", "b", 0.75), ("es", "a", 0.75), ("mean of 2 tracks", "b", 0.6875)]
    with pytest.raises(ShroomError, match="the scoring output of only one submission"):
        leaderboard(folder / "a", truth, edition=edition)


TRACKS = {"tracks": (Track("en"), Track("es")), "splits": (Split("dev"),)}
TWO_TRACKS = Edition("x", "X", 2027, **TRACKS, files=Files("{split}.{track}.json"))


def outputs_of(folder, scores, hidden=()):
    for track in ("en", "es"):
        write_json(folder / "gold" / f"dev.{track}.json", gold(12))
    for system, values in scores.items():
        write_json(folder / "out" / system / "scores.json", values)
    for system, values in hidden and hidden.items():
        write_json(folder / "out" / system / "hidden_scores.json", values)
    return folder / "out", folder / "gold"


def test_outputs_of_a_blind_phase_need_their_hidden_scores(tmp_path):
    worst = worst_scores(TWO_TRACKS)
    good = dict.fromkeys(worst, 0.5)
    hidden = {"a": good, "poor": worst}
    shown = dict.fromkeys(("blind", *hidden), worst)
    board = leaderboard(*outputs_of(tmp_path, shown, hidden), edition=TWO_TRACKS)
    assert [entry.system for entry in board.invalid] == ["blind"]
    assert "expected scores in hidden_scores.json, got none" in board.invalid[0].problems[0]
    ranks = {row.system: row.rank for row in board.rows if row.kind == "system"}
    assert ranks == {"a": 1, "poor": 2}


def test_the_columns_of_an_edition_must_have_the_ranking_metric(tmp_path):
    edition = replace(TWO_TRACKS, columns=(Column("order", "rho", "es"),))
    places = outputs_of(tmp_path, {"a": {"order": 0.5}})
    with pytest.raises(ShroomError, match="do not contain accuracy for every track"):
        leaderboard(*places, edition=edition)


def test_splits_are_not_ranked_together(tmp_path, shroom, refused):
    folder, truth = contest(tmp_path, {"a": 0.2, "b": 0.6, "c": 0.4})
    rows = gold(20, first_id=100)
    write_json(truth / "test.model-aware.json", rows)
    for name in "ab":
        write_json(folder / name / "test.model-aware.json", answers(rows, 0.5, ord(name)))
    err = refused("leaderboard", folder, truth)
    assert "gold labels for the splits test and val" in err
    assert "--split" in err
    for split, systems in (("val", "abc"), ("test", "ab")):
        found = ranked(shroom, folder, truth, "--split", split)
        names = sorted(row["system"] for row in systems_of(found))
        assert (found["split"], names) == (split, [*systems])
    (entry,) = found["invalid"]
    assert entry["system"] == "c"
    assert "no predictions for the split test" in entry["problems"][0]


@pytest.mark.parametrize("form", ["text", "json", "csv", "markdown"])
def test_odd_names(places, done, form):
    odd = ["=cmd()", "a|b", "<script>", "x\x1b[31m\n", "[a](javascript:1)", "*_`", "é中", "-"]
    for name in odd:
        shutil.copytree(places[0] / "good", places[0] / name)
    out = done("leaderboard", *places, *FEW, "--format", form)
    assert "\x1b" not in out
    if form == "json":
        assert {row["system"] for row in json.loads(out)["rows"]} >= set(odd)
    if form == "csv":
        names = {row["system"] for row in csv.DictReader(io.StringIO(out))}
        assert "'=cmd()" in names
        assert not any(name[:1] in "=+-@" for name in names)
    if form == "markdown":
        assert ("<script>" in out, "[a](" in out) == (False, False)


def test_systems_without_a_track_are_listed_with_it(tmp_path):
    folders = contest(tmp_path, NOISES, files=(AGNOSTIC, AWARE))
    (folders[0] / "poor" / AGNOSTIC).unlink()
    board = leaderboard(*folders, intervals=Intervals(0), trials=200)
    assert board.to_dict()["absent"] == {"model-agnostic": ["poor"]}
    for form in ("text", "markdown", "html"):
        assert board.render(form).count("no file for this track: poor") == 1
