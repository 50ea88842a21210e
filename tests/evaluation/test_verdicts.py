"""The sentence that each result begins with: what it claims, and when it claims nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from shroom.evaluation.differences import Comparison, Comparisons
from shroom.evaluation.leaderboard_result import Leaderboard, Row
from shroom.evaluation.rescore import Change, Rescored, Rescoring, TrackChange
from shroom.evaluation.submissions import Invalid
from shroom.metrics.intervals import Intervals
from shroom.scoring.tables import Estimate

CASES = yaml.safe_load(Path(__file__).with_name("verdicts.yaml").read_text(encoding="utf-8"))


def pair_of(line, fitted=0):
    a, b, metric, *numbers = line.split()
    track = numbers.pop() if len(numbers) > 4 else "model-aware"
    difference, p, *ci = map(float, numbers) if numbers else (None, None)
    values = (difference, tuple(ci) or None, p, p, "test", None, None, fitted, 0)
    return Comparison(a, b, track, "val", 501, metric, None, None, *values, metric != "brier")


@pytest.mark.parametrize("case", CASES["comparisons"])
def test_of_comparisons(case):
    pairs = [pair_of(line, case.get("fitted", 0)) for line in case["pairs"]]
    trials, baseline = case.get("trials", 10_000), case.get("baseline")
    found = Comparisons(pairs, "", Intervals(), trials, baseline=baseline)
    assert found.verdict == case["verdict"]
    assert found.render("text").startswith(f"{found.verdict}\n\n")


def row_of(line):
    name, rank, *more = line.split()
    value = None if "undefined" in more else 0.814
    cells = {"accuracy": Estimate(value, value and (0.777, 0.845))}
    group, fitted = None if "untested" in more else 1, 9 * ("fitted" in more)
    place = (int(rank), None, cells, group, 60, fitted)
    return Row(name, "model-aware", "system", *place, "alike" in more)


@pytest.mark.parametrize("case", CASES["leaderboards"])
def test_of_leaderboards(case):
    rows = [row_of(line) for line in case["systems"]]
    floors = {"all": case.get("floor"), "none": 0.1}
    rows += [
        Row(name, "model-aware", "floor", estimates={"accuracy": Estimate(value)})
        for name, value in floors.items()
        if rows
    ]
    board = Leaderboard(
        rows, [], ("accuracy", "rho"), "val", "", Intervals(), trials=case.get("trials")
    )
    assert board.verdict == case["verdict"]
    invalid = replace(board, invalid=[Invalid("bad", ["worse"])]).verdict
    assert invalid == f"{case['verdict']} 1 submission is not ranked because of errors."


def rescored_of(line):
    name, *numbers = line.split()
    old, new, change, *ci = map(float, numbers)
    rank = Change(int(old), int(new), int(new - old), tuple(ci) or None)
    return Rescored(name, rank, {"accuracy": Change(0.8, 0.8 + change, change, None)})


@pytest.mark.parametrize("case", CASES["rescorings"])
def test_of_rescorings(case):
    systems = [rescored_of(line) for line in case["systems"]]
    track = TrackChange("val", "model-aware", 9, 9, 9, systems, "x", "y")
    found = Rescoring([track], [], "accuracy", Intervals(0))
    assert found.verdict == case["verdict"]
    same, shown = sum(not it.changed for it in systems), found.render("text")
    assert (f"{same} system" in shown) == bool(same)
    assert ("↑" in shown.split("Ranked")[0]) == any(it.changed for it in systems)


def test_a_verdict_fits_the_terminal(table_width):
    table_width(60)
    found = Comparisons([pair_of("mine theirs rho .2 .01 .1 .3")], "", Intervals(), 99)
    lines = found.render("text").split("\n\n")[0].split("\n")
    assert len(lines) == 2
    assert max(map(len, lines)) <= 60
