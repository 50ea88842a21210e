"""The sentence that each result begins with: what it claims, and when it claims nothing."""

from dataclasses import replace

import pytest
from conftest import gold, write_json
from made_up import AWARE, answers

from shroom.core.printing import TABLE_WIDTH
from shroom.evaluation.differences import Comparison, Comparisons
from shroom.evaluation.gold_quality.quality import gold_quality
from shroom.evaluation.leaderboard_result import Leaderboard, Row
from shroom.evaluation.rescore import Change, Rescored, Rescoring, TrackChange, rescore
from shroom.evaluation.submissions import Invalid
from shroom.metrics.intervals import Intervals
from shroom.scoring.annotator_agreement import agreement
from shroom.scoring.tables import Estimate

PAIR = Comparison(
    *("mine", "theirs", "model-aware", "val", 501, "accuracy", 0.786, 0.755, 0.031, (0.01, 0.052)),
    *(0.004, 0.004, "approximate randomisation", 0.03),
)
UNCLEAR = replace(PAIR, metric="rho", difference=0.01, ci=(-0.02, 0.04), p=0.36, p_adjusted=0.36)
WORSE = replace(PAIR, difference=-0.031, ci=(-0.052, -0.01))
THREE = [PAIR, replace(PAIR, b="others"), replace(PAIR, a="theirs", b="others", p_adjusted=0.12)]
BETTER = "mine is better than theirs in accuracy by .031 (95% interval .010 to .052, p = .004)"
NOT = "in rho the difference is not significant (.010, 95% interval -.020 to .040, p = .360)"


@pytest.mark.parametrize(
    ("pairs", "expected"),
    {
        "clear": ([PAIR], f"{BETTER}."),
        "turned": (
            [WORSE],
            f"{BETTER.replace('mine is better than theirs', 'theirs is better than mine')}.",
        ),
        "less is better": (
            [replace(WORSE, metric="brier", higher_is_better=False)],
            f"{BETTER.replace('accuracy', 'brier')}.",
        ),
        "both": ([PAIR, UNCLEAR], f"{BETTER}; {NOT}."),
        "two clear": (
            [PAIR, replace(PAIR, metric="rho", ci=None)],
            f"{BETTER} and in rho by .031 (p = .004).",
        ),
        "unclear": (
            [UNCLEAR],
            f"It cannot be concluded which of mine and theirs is better: {NOT}.",
        ),
        "undefined": (
            [replace(PAIR, metric="rho", difference=None, ci=None, p=None, p_adjusted=None)],
            (
                "It cannot be concluded which of mine and theirs is better: in rho the difference "
                "is undefined."
            ),
        ),
        "tracks": (
            [PAIR, replace(UNCLEAR, track="model-agnostic")],
            (
                f"On val model-aware: {BETTER}. On val model-agnostic: It cannot be concluded "
                f"which of mine and theirs is better: {NOT}."
            ),
        ),
        "pairs": (
            THREE,
            (
                "In accuracy 2 of the 3 differences are significant (p corrected for 3 pairs): "
                "mine is better than theirs by .031 (p = .004) and mine is better than others by "
                ".031 (p = .004)."
            ),
        ),
        "no pair": (
            [replace(it, p_adjusted=0.12) for it in THREE],
            (
                "It cannot be concluded which system is better: in accuracy none of the 3 "
                "differences is significant (least p = .120, corrected for 3 pairs)."
            ),
        ),
        "in-sample": (
            [replace(PAIR, a_in_sample=9)],
            f"{BETTER}. The test is not fair: mine was fitted on items of the gold.",
        ),
    }.values(),
)
def test_of_comparisons(pairs, expected):
    found = Comparisons(pairs, "", Intervals(), 10_000)
    assert found.verdict == expected
    assert found.render("text").startswith(f"{found.verdict}\n\n")


@pytest.mark.parametrize(
    ("count", "trials", "baseline", "expected"),
    [
        (4, 9999, "b", "In accuracy 4 of the 4 systems are better than b and 0 are worse"),
        (6, 9999, None, "In accuracy all 6 differences are significant (p corrected for 6 pairs)."),
        (30, 99, None, "corrected for 30 pairs, and 99 trials are too few for so many)"),
    ],
)
def test_of_many_comparisons(count, trials, baseline, expected):
    p = 0.004 if trials > 99 else 0.3
    pairs = [replace(PAIR, a=f"a{i}", b="b", p_adjusted=p) for i in range(count)]
    assert expected in Comparisons(pairs, "", Intervals(), trials, baseline=baseline).verdict


def row(system, rank, **more):
    value = None if system == "flat" else 0.814
    cells = {"accuracy": Estimate(value, value and (0.777, 0.845))}
    return Row(system, "model-aware", "system", rank, None, cells, **{"group": 1, **more})


FIRST = "a is first by accuracy (.814, 95% interval .777 to .845)"
ALIKE = {"like_first": True}


@pytest.mark.parametrize(
    ("rows", "expected"),
    {
        "one system": ([row("a", 1)], f"{FIRST}; there is no other system to rank."),
        "all differ": (
            [row("a", 1), row("b", 2), row("c", 3)],
            f"{FIRST}; the difference from each of the 2 others is significant.",
        ),
        "some alike": (
            [row("a", 1), row("b", 2), row("c", 3, **ALIKE)],
            f"{FIRST}; 1 of the 2 others cannot be told apart from it: c.",
        ),
        "one alike": (
            [row("a", 1), row("b", 2, **ALIKE)],
            f"{FIRST}; b cannot be told apart from it.",
        ),
        "all alike": (
            [row("a", 1), row("b", 2, **ALIKE), row("c", 3, **ALIKE)],
            f"{FIRST}; none of the 2 others can be told apart from it.",
        ),
        "tied": (
            [row("a", 1), row("b", 1, **ALIKE), row("c", 3)],
            FIRST.replace("a is first", "a and b share the first rank")
            + "; the difference from the other system is significant.",
        ),
        "not tested": (
            [row("a", 1, group=None), row("b", 2, group=None)],
            f"{FIRST}; whether the other system is worse by more than chance was not tested.",
        ),
        "undefined": (
            [row("flat", 1)],
            "flat is first by accuracy (undefined); there is no other system to rank.",
        ),
        "in-sample": (
            [row("a", 1, in_sample=9)],
            f"{FIRST[:-1]}, fitted on items of this gold); there is no other system to rank.",
        ),
        "nothing": ([], "No submission can be ranked."),
    }.values(),
)
def test_of_leaderboards(rows, expected):
    board = Leaderboard(rows, [], ("accuracy", "rho"), "val", "", Intervals())
    assert board.verdict == expected
    invalid = replace(board, invalid=[Invalid("bad", ["worse"])])
    assert invalid.verdict == f"{expected} 1 submission is not ranked because of errors."


def changed(system, ranks, change=0.0, ci=None):
    rank = Change(*ranks, ranks[1] - ranks[0], ci)
    return Rescored(system, rank, {"accuracy": Change(0.8, 0.8 + change, change, None)})


@pytest.mark.parametrize(
    ("systems", "expected"),
    {
        "nothing": (
            [changed("a", (1, 1)), changed("b", (2, 2))],
            "Nothing changes: all scores and ranks are the same by both golds.",
        ),
        "scores": (
            [changed("a", (1, 1), -0.02), changed("b", (2, 2), 0.01)],
            "No rank changes; accuracy changes by -.020 to +.010.",
        ),
        "by chance": (
            [changed("b", (2, 1), 0.01, (-2, 1)), changed("a", (1, 2), 0.01, (-1, 2))],
            (
                "2 of 2 ranks change, none by more than chance; b is first instead of a; accuracy "
                "changes by +.010."
            ),
        ),
        "more than by chance": (
            [changed("a", (1, 1), 0, (0, 0)), changed("c", (3, 2), 0.1, (-2, -1))],
            (
                "1 of 2 ranks change, 1 by more than chance: c from 3 to 2 (intervals not "
                "corrected for 2 systems); a remains first; accuracy changes by .000 to +.100."
            ),
        ),
        "no intervals": (
            [changed("b", (2, 1)), changed("a", (1, 2))],
            "2 of 2 ranks change; b is first instead of a; accuracy does not change.",
        ),
        "one system": ([changed("a", (1, 1), 0.1)], "Accuracy changes by +.100 for a."),
    }.values(),
)
def test_of_rescorings(systems, expected):
    track = TrackChange("val", "model-aware", 9, 9, 9, systems, "x", "y")
    found = Rescoring([track], [], "accuracy", Intervals(0))
    assert found.verdict == expected
    same = sum(not it.changed for it in systems)
    shown = found.render("text")
    assert (f"{same} system" in shown) == bool(same)
    assert ("↑" in shown.split("Ranked")[0]) == any(it.changed for it in systems)


def test_a_rescoring_by_the_same_gold_has_no_table(tmp_path):
    path = write_json(tmp_path / AWARE, gold(12))
    mine = write_json(tmp_path / "mine" / AWARE, answers(gold(12), 0.4))
    page = rescore(path, path, [mine], intervals=Intervals(50)).render("html")
    assert "Nothing changes" in page
    assert "1 system without any change" in page
    assert "<table" not in page


def test_of_golds(tmp_path):
    rows = gold(30, first_id=1)
    path = write_json(tmp_path / AWARE, rows)
    few = Intervals(50)
    shown = "The smallest difference between systems that it can show is .2"
    verdict = gold_quality(path, intervals=few).verdict
    assert verdict.startswith(f"The gold can be used: no errors, no warnings. {shown}")
    assert agreement(path, few).verdict.startswith("The annotators agree more than by chance: alp")
    no_interval = agreement(path, Intervals(0)).verdict
    assert no_interval.startswith("The agreement of the annotators is alpha .")
    for row_ in rows:
        row_["labels"] = row_["labels"][:1]
    undefined = agreement(write_json(path, rows), few).verdict
    assert undefined == (
        "Whether the annotators agree by more than chance is undefined: no item has two votes."
    )
    rows[3]["id"] = rows[2]["id"]
    verdict = gold_quality(write_json(path, rows), intervals=few).verdict
    assert verdict.startswith("Correct the gold before it is used: ")
    assert "errors make scores undefined or wrong" in verdict


def test_a_verdict_fits_the_terminal():
    token = TABLE_WIDTH.set(60)
    try:
        lines = Comparisons([PAIR], "", Intervals(), 99).render("text").split("\n\n")[0].split("\n")
    finally:
        TABLE_WIDTH.reset(token)
    assert len(lines) == 2
    assert max(map(len, lines)) <= 60
