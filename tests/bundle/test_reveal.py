"""A blind phase on Codabench: no score before the reveal, and the right ranks after it."""

import functools
import json

import pytest
from codabench import AUTOMATIC, Codabench, contents
from conftest import write_json
from spanish_task import LABELS, gold_folder, gold_rows, spanish, submission, written

from shroom.bundle import build
from shroom.core.problems import ShroomError
from shroom.scoring.editions.plain import to_plain
from shroom.scoring.platforms import platform_scores
from shroom.scoring.scores import score

RULES = (*AUTOMATIC, "Add", "Add_And_Delete", "Add_And_Delete_Multiple")
#: How many labels of each team's submissions are wrong: the second one is better for two of them.
WRONG = {"ada": (9, 4), "bob": (12, 15), "eve": (20, 2)}
#: Which phases are blind, of which the last one is looked at, and the metrics of the columns.
TASKS = [
    ((True,), {"accuracy": 0.0, "rho": -1.0}),
    ((False, True), {"accuracy": 0.0, "brier": 1.0}),
    ((False, True, True), {"brier": 1.0, "accuracy": 0.0}),
]


def edition_of(blind, **changes):
    """An edition whose phases are blind or not, the last one of the split eval."""
    splits = ["dev"] * (len(blind) - 1) + ["eval"]
    named = [{"name": f"{it}", "split": split} for it, split in enumerate(splits)]
    phases = [{**phase, "blind": is_blind} for phase, is_blind in zip(named, blind)]
    return spanish(phases=phases, **changes)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the files of the bundle of a task, made once, and its gold."""
    reference = gold_folder(tmp_path_factory.mktemp("gold"))

    @functools.cache
    def make(task):
        blind, worst = TASKS[task]
        return build(reference, edition=edition_of(blind, metrics=[*worst])), reference

    return make


def reveal(platform, files, phase):
    """What docs/bundle.md says: another scoring program for the task, then rerun the phase."""
    program = platform.root / "revealed.zip"
    program.write_bytes(files["scoring_program.zip"])
    (task,) = platform.about["phases"][phase]["tasks"]
    platform.programs[task] = program
    return platform.rerun(phase)


@pytest.mark.parametrize(
    ("task", "rule"), [*((0, rule) for rule in RULES), (1, "Force_Best"), (2, "Force_Best")]
)
def test_a_blind_phase_is_revealed_by_a_rerun(tmp_path, built, task, rule):
    (files, reference), (blind, names) = built(task), TASKS[task]
    platform = Codabench(files["codabench.zip"], tmp_path)
    platform.board["submission_rule"] = rule
    phase, worst = len(blind) - 1, dict(enumerate(names.values()))
    for place in range(phase):
        platform.submit("ada", place, submission("dev", 5))
    for number in (0, 1):
        for team, wrong in WRONG.items():
            sent = platform.submit(team, phase, submission("eval", wrong[number]))
            if rule not in AUTOMATIC:
                platform.add(sent)

    before = platform.leaderboard(phase)
    assert {row.owner for row in before} == set(WRONG)
    assert [row.scores for row in before] == [worst] * len(before)
    for sent in platform.submissions:
        if sent.phase == phase:
            scores, page, logs, output = platform.seen(sent)
            assert (scores, output) == (worst, [])
            hidden = json.loads(contents(sent.output)["hidden_scores.json"])
            assert not [f"{x:.3f}" for x in hidden.values() if f"{x:.3f}" in page + logs]

    rerun = reveal(platform, files, phase)
    if rule not in AUTOMATIC:  # then the organiser adds the best one of each team
        for team in WRONG:
            own = [it for it in rerun if it.owner == team]
            platform.add(max(own, key=lambda it: abs(it.scores[0] - worst[0])))
    after = platform.leaderboard(phase)
    number = {"Force_Last": [1, 1, 1]}.get(rule, [0 if x < y else 1 for x, y in WRONG.values()])
    counting = {team: WRONG[team][place] for team, place in zip(WRONG, number, strict=True)}
    assert list(dict.fromkeys(row.owner for row in after)) == sorted(WRONG, key=counting.get)
    edition = spanish(metrics=[*names])
    for team in WRONG:
        best = next(row for row in after if row.owner == team)
        files = {name: text.encode() for name, text in submission("eval", counting[team]).items()}
        sent = written(files, tmp_path / "true")
        true = platform_scores(score(sent, reference / "eval.gold.json", edition=edition))
        assert best.scores == {place: round(true[name], 10) for place, name in enumerate(names)}
    if rule in ("Force_Best", "Force_Last"):
        assert len(after) == len(WRONG)
    for place in range(phase):  # the other phases stay as they were, and empty until one is added
        shown = [row.scores == worst for row in platform.leaderboard(place)]
        assert shown == ([blind[place]] if rule in AUTOMATIC else [])


def test_what_a_blind_phase_shows_does_not_depend_on_the_labels(tmp_path):
    inverted = json.loads(submission("eval")["eval.json"])
    for row in inverted:
        row["p(Hallucination)"] = round(1 - row["p(Hallucination)"], 4)
    broken = [{**inverted[0], "label": "?"}, *inverted[1:]]
    seen = []
    for turned in (False, True):
        reference = gold_folder(tmp_path / f"{turned}" / "gold", turned=turned)
        bundle = build(reference, edition=edition_of((True,)))["codabench.zip"]
        platform = Codabench(bundle, tmp_path / f"{turned}" / "platform")
        texts = [json.dumps(rows) for rows in (inverted, broken)]
        sent = [platform.submit("ada", 0, {"eval.json": text}) for text in texts]
        assert [it.status for it in sent] == ["Finished", "Failed"]
        parts = [part for it in sent for part in platform.seen(it)[1:3]]
        seen.append([part.replace(str(platform.root), "") for part in parts])
    assert seen[0] == seen[1]
    _, accepted, page, refused = seen[0]
    assert "[label-against-p]" in accepted  # which its own labels show
    assert "[label-value]" in page
    assert "[label-value]" in refused


@pytest.mark.parametrize(("first", "is_told"), [("eval", True), ("dev", False)])
def test_scores_before_a_blind_phase_are_a_warning(tmp_path, first, is_told, shroom, monkeypatch):
    monkeypatch.setattr("shroom.bundle.building.try_program", lambda *_: None)
    phases = [{"name": "Early", "split": first}, {"name": "Final", "split": "eval", "blind": True}]
    edition = spanish(phases=[*phases, {"name": "After", "split": "eval"}])
    path = write_json(gold_folder(tmp_path / "gold") / "edition.json", to_plain(edition))
    bundle = ("bundle", "--gold", path.parent, "--edition", path, "--no-predictions")
    sentence = "phases[1]: the phase Final is blind, but the earlier phase Early shows scores of"
    for line in (("edition", "check", path), (*bundle, "-o", tmp_path / "out")):
        code, _, err = shroom(*line)
        assert (code, sentence in err) == (0, is_told), err


def test_the_description_has_what_the_edition_says_of_the_competition(tmp_path):
    said = {"description": "Find.", "docker_image": "python:3.12", "queue": "abc"}
    times = {"start": "2027-02-15T12:00:00+02:00", "end": "2027-02-28T23:59:59-12:00"}
    edition = spanish(phases=[{"name": "All", "split": "eval", **times}], **said)
    bundle = build(gold_folder(tmp_path / "gold"), edition=edition)["codabench.zip"]
    about = Codabench(bundle, tmp_path / "platform").about
    assert {key: about[key] for key in said} == said
    (phase,) = about["phases"]  # in UTC, since the platform ignores zones
    assert (phase["start"], phase["end"]) == ("2027-02-15 10:00:00", "2027-03-01 11:59:59")


def test_a_program_that_does_not_score_the_sample_is_not_built(tmp_path, monkeypatch):
    monkeypatch.setattr("shroom.bundle.building.PACKAGES", ("core", "metrics"))
    with pytest.raises(ShroomError, match=r"No module named 'shroom\.scoring'"):
        build(gold_folder(tmp_path / "gold"), edition=edition_of((True,)))


def test_errors_of_the_gold_stop_a_bundle_unless_they_are_allowed(tmp_path, shroom):
    rows, out = gold_rows("eval"), tmp_path / "out"
    rows[4].update(label=LABELS[0])  # four of seven votes are for a hallucination
    path = write_json(tmp_path / "gold" / "eval.gold.json", rows)
    edition = write_json(tmp_path / "edition.json", to_plain(edition_of((True,))))
    call = ("bundle", "--gold", path, "--edition", edition, "-o", out, "--no-predictions")
    for options, expected in (((), 1), (("--allow",), 0)):
        code, _, err = shroom(*call, *options)
        assert (code, "[label-p]" in err, out.exists()) == (expected, True, not expected)
