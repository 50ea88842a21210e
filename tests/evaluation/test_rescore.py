"""`shroom gold rescore`: what another version of the gold changes."""

import json

import numpy as np
import pytest
from conftest import gold, write_json
from made_up import AWARE, answers

from shroom.core.problems import InvalidInput, ShroomError
from shroom.evaluation.rescore import Change, rescore
from shroom.metrics.bootstrap import resamples
from shroom.metrics.intervals import Intervals
from shroom.metrics.rank_intervals import ranks
from shroom.scoring.metric_registry import metric
from shroom.scoring.scores import score

FILE = "test.model-aware.json"
NOISES = {"good": 0.2, "fair": 0.6, "poor": 0.9, "worst": 0.95}
FEW = Intervals(80, seed=3)
NO_CI = Intervals(0)


def relabelled(row, p):
    return {**row, "p(Hallucination)": p, "label": ("Not Hallucination", "Hallucination")[p > 0.5]}


@pytest.fixture
def truth():
    return gold(40, first_id=100)


@pytest.fixture
def corrected(truth):
    """The gold with two rows corrected, one of them in p alone, three removed and two added."""
    rows = [dict(row) for row in truth]
    rows[4] = relabelled(rows[4], 1 - rows[4]["p(Hallucination)"])
    rows[9] = relabelled(rows[9], rows[9]["p(Hallucination)"] * 0.9)
    del rows[20:23]
    return [*rows[::-1], *gold(2, first_id=300)]


@pytest.fixture
def places(tmp_path, truth, corrected):
    """Both golds, and systems that have predicted all items of both."""
    every = [*truth, *corrected[-2:]]
    for seed, (system, noise) in enumerate(NOISES.items()):
        write_json(tmp_path / "systems" / system / FILE, answers(every, noise, seed))
    write_json(tmp_path / "old" / FILE, truth)
    write_json(tmp_path / "new" / FILE, corrected)
    return tmp_path / "old", tmp_path / "new", [tmp_path / "systems"]


def only(rescoring):
    (track,) = rescoring.tracks
    return track


def predictions(places, system, rows):
    """Return a system's predictions of some rows."""
    predicted = {row["id"]: row for row in json.loads((places[2][0] / system / FILE).read_text())}
    return [predicted[row["id"]] for row in rows]


def test_scores_and_ranks_are_those_of_each_gold(places, truth, corrected):
    track = only(rescore(*places, intervals=NO_CI))
    assert (track.old_n, track.new_n, track.common_n) == (40, 39, 37)
    for side, (place, rows) in enumerate(zip(places, (truth, corrected))):
        own = {it: score(predictions(places, it, rows), place).results[0] for it in NOISES}
        order = sorted(own, key=lambda name: (-own[name].accuracy, -own[name].rho))
        for row in track.systems:
            result = own[row.system]
            for name in ("accuracy", "rho"):
                change = row.scores[name]
                assert (change.old, change.new)[side] == getattr(result, name)
                assert change.difference == change.new - change.old
                assert change.ci is None
            assert (row.rank.old, row.rank.new)[side] == 1 + order.index(row.system)


def columns_by_id(places, rows):
    """Return each system's label, p, gold label and gold p of a gold's rows."""
    columns = {}
    for name in NOISES:
        columns[name] = []
        for side in (predictions(places, name, rows), rows):
            columns[name].append(np.array([row["label"] == "Hallucination" for row in side]))
            columns[name].append(np.array([row["p(Hallucination)"] for row in side]))
    return columns


def test_intervals_are_of_joint_resamples_of_the_items_of_both(places, truth, corrected):
    measures = [metric(name) for name in ("accuracy", "rho", "brier")]
    track = only(rescore(*places, metrics=measures, intervals=FEW))
    ids = [*(row["id"] for row in truth), *(row["id"] for row in corrected[-2:])]
    drawn = np.concatenate(list(resamples(len(ids), FEW.resamples, FEW.seed)))
    scores = {}
    for side, rows in (("old", truth), ("new", corrected)):
        by_system = columns_by_id(places, rows)
        counts = drawn[:, [ids.index(row["id"]) for row in rows]].astype(int)
        for measure in measures:
            scores[side, measure.name] = []
            for columns in by_system.values():
                resampled = ([np.repeat(it, w) for it in columns] for w in counts)
                own = [measure(measure.statistics(*columns)) for columns in resampled]
                scores[side, measure.name].append(own)
    scores = {key: np.array(own) for key, own in scores.items()}
    ranked = {s: ranks(scores[s, "accuracy"].T, scores[s, "rho"].T) for s in ("old", "new")}
    for row in track.systems:
        number = list(NOISES).index(row.system)
        for measure in measures:
            change = scores["new", measure.name][number] - scores["old", measure.name][number]
            assert row.scores[measure.name].ci == pytest.approx(np.quantile(change, (0.025, 0.975)))
        change = (ranked["new"] - ranked["old"])[:, number]
        assert row.rank.ci == pytest.approx(np.quantile(change, (0.025, 0.975)))


def test_the_same_gold_changes_nothing(places):
    old, _, _ = places
    for name in NOISES:
        path = places[2][0] / name / FILE
        write_json(path, [row for row in json.loads(path.read_text()) if row["id"] < 300])
    rescoring = rescore(old, old, places[2], intervals=FEW)
    page, track = rescoring.render("html"), only(rescoring)
    assert ("4 systems without any change" in page, "<table" in page) == (True, False)
    assert track.common_n == track.old_n == track.new_n
    assert all(row.rank.ci == (0, 0) for row in track.systems)
    assert all(change.ci == (0, 0) for row in track.systems for change in row.scores.values())


def test_submissions_by_name_are_those_of_the_folder(places):
    folder = rescore(*places, intervals=FEW)
    named = [places[2][0] / system for system in NOISES]
    assert rescore(*places[:2], named, intervals=FEW).to_dict() == folder.to_dict()
    (row,) = only(rescore(*places[:2], named[:1], intervals=FEW)).systems
    assert (row.system, row.rank.old, row.rank.new) == ("good", 1, 1)


@pytest.mark.parametrize("lacking", ["an old item", "a new item", "nothing, but one too many"])
def test_a_submission_without_all_items_of_both_is_named(places, lacking):
    path = places[2][0] / "fair" / FILE
    rows = json.loads(path.read_text())
    wrong = {
        "an old item": [row for row in rows if row["id"] != 121],
        "a new item": [row for row in rows if row["id"] != 300],
        "nothing, but one too many": [*rows, {**rows[0], "id": 999}],
    }[lacking]
    write_json(path, wrong)
    rescoring = rescore(*places, intervals=NO_CI)
    assert [row.system for row in only(rescoring).systems] == ["good", "poor", "worst"]
    (entry,) = rescoring.invalid
    assert entry.system == "fair"
    codes = {line.rpartition("[")[2] for line in entry.problems if "expected" in line}
    assert codes == {"id-unknown]" if "many" in lacking else "ids-missing]"}
    with pytest.raises(InvalidInput, match="fair"):
        rescore(*places[:2], [path], intervals=NO_CI)


def test_without_ids_items_are_matched_by_order(tmp_path):
    truth = gold(30)
    changed = [relabelled(row, 0.0) if place == 8 else row for place, row in enumerate(truth)]
    for name, rows in (("old", truth), ("new", changed), ("short", truth[:-1])):
        write_json(tmp_path / name / AWARE, rows)
    write_json(tmp_path / "moved" / AWARE, truth[1:] + truth[:1])
    own = write_json(tmp_path / "mine" / AWARE, answers(truth, 0.5))
    track = only(rescore(tmp_path / "old", tmp_path / "new", [own], intervals=NO_CI))
    assert track.common_n == 30
    assert abs(track.systems[0].scores["accuracy"].difference) == pytest.approx(1 / 30)
    with pytest.raises(InvalidInput, match=r"expected 29 items.*\[count\]"):
        rescore(tmp_path / "old", tmp_path / "short", [own], intervals=NO_CI)
    with pytest.raises(ShroomError, match=r"hyp differs from .*in 30 of 30 items"):
        rescore(tmp_path / "old", tmp_path / "moved", [own], intervals=NO_CI)


def test_one_item(tmp_path):
    for name, p in (("old", 0.2), ("new", 0.8)):
        write_json(tmp_path / name / FILE, [relabelled(gold(1, first_id=1)[0], p)])
    own = write_json(tmp_path / "mine" / FILE, answers(gold(1, first_id=1), 0.1))
    (row,) = only(rescore(tmp_path / "old", tmp_path / "new", [own])).systems
    assert row.scores["accuracy"] == Change(1.0, 0.0, -1.0, None)
    assert row.scores["rho"] == Change(None, None, None, None)


@pytest.mark.parametrize(("n", "is_marked"), [(9, False), (10, True)])
def test_an_interval_of_few_items_is_left_out_or_marked(tmp_path, n, is_marked):
    rows = gold(n, first_id=1)
    for name, p in (("old", 0.1), ("new", 0.2)):
        write_json(tmp_path / name / FILE, [relabelled(rows[0], p), *rows[1:]])
    own = write_json(tmp_path / "mine" / FILE, answers(rows, 0.1))
    out = rescore(tmp_path / "old", tmp_path / "new", [own], intervals=FEW).render("text")
    for shown in ("[0.000, 0.000]‡", "‡ doubtful interval: all resamples equal"):
        assert (shown in out) == is_marked
