"""A blind phase on Codabench: no score before the reveal, and the right ranks after it.

The rules of the platform are those of ``tests/codabench.py``, which names their source.
"""

import json
from dataclasses import replace

import pytest
from codabench import AUTOMATIC, RERUN_LIMIT, Codabench, Submission, contents
from conftest import write_json

from shroom.bundle import build
from shroom.core.atomic_writing import zipped
from shroom.core.problems import ShroomError
from shroom.evaluation.leaderboard import leaderboard
from shroom.metrics.intervals import Intervals
from shroom.scoring.editions.competition import Phase
from shroom.scoring.editions.edition import Edition, Item, Split, Track
from shroom.scoring.platforms import platform_scores
from shroom.scoring.scores import score

RULES = (*AUTOMATIC, "Add", "Add_And_Delete", "Add_And_Delete_Multiple")
LABELS = ("Not Hallucination", "Hallucination")
N = 40
EDITION = Edition(
    "blind",
    "Blind",
    2027,
    splits=(Split("dev"), Split("eval")),
    item=Item("string"),
    metrics=("accuracy", "rho"),
)
#: How many labels of each team's submissions are wrong: the second one is better for two of them.
WRONG = {"ada": (9, 4), "bob": (12, 15), "eve": (20, 2)}
#: The blindness of the phases, of which the last one is looked at.
PHASES = {"one": (True,), "two": (False, True), "three": (False, True, True)}


def gold_rows(split, *, turned=False):
    rows = []
    for index in range(N):
        share = index * 3 % 6 / 5
        share = 1 - share if turned else share
        rows.append(
            {
                "id": f"{split}-{index}",
                "hyp": f"An answer, number {index}.",
                "src": f"A question, number {index}?",
                "label": LABELS[share > 0.5],
                "p(Hallucination)": share,
                "labels": [LABELS[vote < share * 5] for vote in range(5)],
            }
        )
    return rows


def predicted(split, wrong):
    rows = []
    for index, row in enumerate(gold_rows(split)):
        is_yes = (row["label"] == LABELS[1]) != (index < wrong)
        p = round((0.6 if is_yes else 0.1) + index / 200, 4)
        rows.append({"id": row["id"], "label": LABELS[is_yes], "p(Hallucination)": p})
    return {f"{split}.json": json.dumps(rows)}


def gold_folder(folder, **more):
    for split in ("dev", "eval"):
        write_json(folder / f"{split}.json", gold_rows(split, **more))
    return folder


def edition_of(blind, **changes):
    """An edition whose phases are blind or not, the last one of the split eval."""
    phases = [
        Phase(f"Phase {place}", "eval" if place == len(blind) - 1 else "dev", blind=is_blind)
        for place, is_blind in enumerate(blind)
    ]
    return replace(EDITION, phases=tuple(phases), **changes)


def competition(tmp_path, edition, **more):
    files = build(gold_folder(tmp_path / "gold"), edition=edition)
    return Codabench(files["codabench.zip"], tmp_path / "platform", **more), files


@pytest.fixture(scope="module", params=PHASES.values(), ids=PHASES)
def built(request, tmp_path_factory):
    """A bundle, and the blindness of its phases."""
    reference = gold_folder(tmp_path_factory.mktemp("gold"))
    return build(reference, edition=edition_of(request.param)), request.param


def reveal(platform, files, phase):
    """What docs/bundle.md says: another scoring program for the task, then rerun the phase."""
    program = platform.root / "revealed.zip"
    program.write_bytes(files["scoring_program.zip"])
    (task,) = platform.about["phases"][phase]["tasks"]
    platform.programs[task] = program
    return platform.rerun(phase)


def truth(tmp_path, wrong):
    (content,) = predicted("eval", wrong).values()
    path = tmp_path / "true" / "eval.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return platform_scores(score(path, tmp_path / "gold" / "eval.json", edition=EDITION))


def teams_in_order(rows):
    return list(dict.fromkeys(row.owner for row in rows))


@pytest.mark.parametrize("rule", RULES)
def test_a_blind_phase_is_revealed_by_a_rerun(tmp_path, built, rule):
    files, blind = built
    platform = Codabench(files["codabench.zip"], tmp_path)
    platform.board["submission_rule"] = rule
    phase = len(blind) - 1
    for place in range(phase):
        platform.submit("ada", place, predicted("dev", 5))
    for number in (0, 1):
        for team, wrong in WRONG.items():
            submission = platform.submit(team, phase, predicted("eval", wrong[number]))
            if rule not in AUTOMATIC:
                platform.add(submission)

    worst = {0: 0.0, 1: -1.0}
    before = platform.leaderboard(phase)
    assert {row.owner for row in before} == set(WRONG)
    assert [row.scores for row in before] == [worst] * len(before)
    for submission in platform.submissions:
        if submission.phase == phase:
            scores, page, logs, output = platform.seen(submission)
            assert (scores, output) == (worst, [])
            hidden = json.loads(contents(submission.output)["hidden_scores.json"])
            assert not [f"{x:.3f}" for x in hidden.values() if f"{x:.3f}" in page + logs]

    rerun = reveal(platform, files, phase)
    if rule not in AUTOMATIC:  # then the organiser adds the best one of each team
        for team in WRONG:
            own = (it for it in rerun if it.owner == team)
            platform.add(max(own, key=lambda it: it.scores[0]))
    after = platform.leaderboard(phase)
    number = {"Force_Last": [1, 1, 1]}.get(rule, [0 if x < y else 1 for x, y in WRONG.values()])
    counting = {team: WRONG[team][place] for team, place in zip(WRONG, number, strict=True)}
    expected = sorted(counting, key=counting.__getitem__)
    assert teams_in_order(after) == expected
    for team in WRONG:
        best = next(row for row in after if row.owner == team)
        true = truth(gold_folder(tmp_path / "gold").parent, counting[team])
        assert best.scores == {0: round(true["accuracy"], 10), 1: round(true["rho"], 10)}
    if rule in ("Force_Best", "Force_Last"):
        assert len(after) == len(WRONG)
    for place in range(phase):  # the other phases stay as they were, and empty until one is added
        shown = [row.scores == worst for row in platform.leaderboard(place)]
        assert shown == ([blind[place]] if rule in AUTOMATIC else [])


@pytest.mark.parametrize("rule", AUTOMATIC)
@pytest.mark.parametrize("first", ["accuracy", "brier"])
def test_the_direction_of_the_first_column_does_not_matter(tmp_path, first, rule):
    names = (first, "brier" if first == "accuracy" else "accuracy")
    edition = edition_of((True,), metrics=names, submission_rule=rule)
    platform, files = competition(tmp_path, edition)
    for team, (_, wrong) in WRONG.items():
        platform.submit(team, 0, predicted("eval", wrong))
    worst = {"accuracy": 0.0, "brier": 1.0}
    assert [list(row.scores.values()) for row in platform.leaderboard(0)] == [
        [worst[name] for name in names]
    ] * len(WRONG)
    reveal(platform, files, 0)
    expected = sorted(WRONG, key=lambda team: WRONG[team][1])
    assert teams_in_order(platform.leaderboard(0)) == expected


def test_the_mean_over_tracks_is_revealed(tmp_path):
    edition = replace(
        edition_of((True,)), tracks=(Track("a"), Track("b")), average=True, metrics=("accuracy",)
    )
    for track in "ab":
        write_json(tmp_path / "gold" / f"eval.{track}.json", gold_rows("eval"))
    files = build(tmp_path / "gold", edition=edition)
    platform = Codabench(files["codabench.zip"], tmp_path / "platform")
    for team, wrong in {
        "ada": {"a": 0, "b": 30},
        "bob": {"a": 10},
        "eve": {"a": 9, "b": 9},
    }.items():
        texts = {track: predicted("eval", n)["eval.json"] for track, n in wrong.items()}
        platform.submit(team, 0, {f"eval.{track}.json": text for track, text in texts.items()})
    assert {tuple(row.scores.values()) for row in platform.leaderboard(0)} == {(0.0, 0.0, 0.0)}
    reveal(platform, files, 0)
    assert teams_in_order(platform.leaderboard(0)) == ["eve", "ada", "bob"]


def test_submissions_without_scores_would_stay_first(tmp_path):
    """Why a blind phase writes scores at all: NULL sorts first, and a rerun replaces nothing."""
    platform, files = competition(tmp_path, edition_of((True,)))
    empty = Submission(next(platform.ids), "ada", 0, predicted("eval", 3), 0, "Finished")
    platform.submissions.append(empty)
    platform.upload_scores(empty, {})
    reveal(platform, files, 0)
    assert platform.leaderboard(0) == [empty]


def test_what_a_blind_phase_shows_does_not_depend_on_the_labels(tmp_path):
    inverted = json.loads(predicted("eval", 0)["eval.json"])
    for row in inverted:
        row["p(Hallucination)"] = round(1 - row["p(Hallucination)"], 4)
    files = {"eval.json": json.dumps(inverted)}
    broken = {"eval.json": json.dumps([{**inverted[0], "label": "?"}, *inverted[1:]])}
    seen = []
    for name, turned in (("a", False), ("b", True)):
        reference = gold_folder(tmp_path / name / "gold", turned=turned)
        bundle = build(reference, edition=edition_of((True,)))["codabench.zip"]
        platform = Codabench(bundle, tmp_path / name / "platform")
        found = [platform.submit("ada", 0, these) for these in (files, broken)]
        assert [it.status for it in found] == ["Finished", "Failed"]
        seen.append(
            [
                [part.replace(str(platform.root), "") for part in platform.seen(it)[1:3]]
                for it in found
            ]
        )
    assert seen[0] == seen[1]
    ((_, accepted), (page, refused)), _ = seen
    assert "[label-against-p]" in accepted  # which its own labels show
    assert "[label-value]" in page
    assert "[label-value]" in refused


@pytest.fixture
def crowded(tmp_path):
    """A blind phase with 31 submissions, one of which is refused."""
    platform, files = competition(tmp_path, edition_of((False, True)))
    for place in range(RERUN_LIMIT + 1):
        platform.submit(f"team-{place}", 1, predicted("eval", place))
    platform.submit("late", 1, {"eval.json": "[]"})
    return platform, files


def test_more_than_thirty_submissions_are_not_rerun_on_the_public_queue(tmp_path, crowded):
    platform, files = crowded
    with pytest.raises(PermissionError):
        reveal(platform, files, 1)
    own = edition_of((False, True), queue="12345678-aaaa-bbbb-cccc-1234567890ab")
    other, files = competition(tmp_path / "own", own, is_queue_ours=True)
    other.submissions = platform.submissions
    reveal(other, files, 1)
    assert teams_in_order(other.leaderboard(1)) == [f"team-{i}" for i in range(RERUN_LIMIT + 1)]


@pytest.mark.parametrize("named", [True, False], ids=["renamed", "as downloaded"])
def test_outputs_of_31_submissions_are_ranked_without_a_rerun(tmp_path, crowded, named):
    platform, _ = crowded
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    names = {}
    for place, submission in enumerate(platform.submissions):
        name = "scoring_result" + (f" ({place})" if place else "")
        name = submission.owner if named else name
        names[name] = submission.owner
        (downloads / f"{name}.zip").write_bytes(submission.output)
    board = leaderboard(downloads, tmp_path / "gold", split="eval", edition=EDITION)
    systems = [row for row in board.rows if row.kind == "system"]
    expected = [f"team-{place}" for place in range(RERUN_LIMIT + 1)]
    assert [names[row.system] for row in systems] == expected
    assert [row.rank for row in systems] == list(range(1, RERUN_LIMIT + 2))
    for place in (0, 7, RERUN_LIMIT):
        assert systems[place].scores == truth(tmp_path, place)
    (refused,) = board.invalid
    assert names[refused.system] == "late"
    assert "was not scored" in refused.problems[0]


def test_downloaded_submissions_are_ranked_as_well(tmp_path, crowded):
    platform, _ = crowded
    downloads = tmp_path / "bulk_submissions"
    downloads.mkdir()
    for it in platform.submissions:
        # As ``download_many`` in src/apps/api/views/submissions.py names them.
        name = f"{it.id}_{it.owner}_PhaseId2_2027-03-01_11-05_submission.zip"
        (downloads / name).write_bytes(zipped(it.files))
    board = leaderboard(
        downloads, tmp_path / "gold", split="eval", edition=EDITION, intervals=Intervals(100)
    )
    systems = [row.system.split("_")[1] for row in board.rows if row.kind == "system"]
    assert systems == [f"team-{place}" for place in range(RERUN_LIMIT + 1)]


@pytest.mark.parametrize(("first", "is_told"), [("eval", True), ("dev", False)])
def test_scores_before_a_blind_phase_are_a_warning(tmp_path, first, is_told, shroom):
    path = gold_folder(tmp_path / "gold") / "edition.toml"
    path.write_text(
        'name = "blind"\ntitle = "Blind"\nyear = 2027\n[item]\nid = "string"\n'
        '[[splits]]\nname = "dev"\n[[splits]]\nname = "eval"\n'
        f'[[phases]]\nname = "Early"\nsplit = "{first}"\n'
        '[[phases]]\nname = "Final"\nsplit = "eval"\nblind = true\n'
        '[[phases]]\nname = "After"\nsplit = "eval"\n'
    )
    bundle = ("bundle", "--gold", path.parent, "-o", tmp_path / "out", "--no-predictions")
    sentence = "phases[1]: Final is blind, but Early shows scores of the same split, eval"
    for line in (("edition", "check", path), bundle):
        code, _, err = shroom(*line)
        assert (code, sentence in err) == (0, is_told), err


@pytest.mark.parametrize("rule", ["Best", "force_best", ""])
def test_an_unknown_rule_is_named(tmp_path, rule, shroom):
    path = tmp_path / "edition.toml"
    path.write_text(f'name = "x"\ntitle = "X"\nyear = 2027\nsubmission_rule = "{rule}"\n')
    code, _, err = shroom("edition", "check", path)
    assert (code, "submission_rule" in err) == (1, True)


def test_the_competition_of_an_edition_file(tmp_path, shroom):
    reference = gold_folder(tmp_path / "gold")
    (reference / "edition.toml").write_text(
        'name = "x"\ntitle = "X"\nyear = 2027\nsubmission_rule = "Add"\n'
        'description = "Find what was made up."\ndocker_image = "python:3.12"\nqueue = "abc"\n'
        '[item]\nid = "string"\n[[splits]]\nname = "dev"\n[[splits]]\nname = "eval"\n'
        '[[phases]]\nname = "All"\nsplit = "eval"\n'
        "start = 2027-02-15T12:00:00+02:00\nend = 2027-02-28T23:59:59-12:00\n"
    )
    code, _, err = shroom("bundle", "--gold", reference, "-o", tmp_path / "out", "--no-predictions")
    assert code == 0, err
    bundle = (tmp_path / "out" / "codabench.zip").read_bytes()
    about = Codabench(bundle, tmp_path / "platform").about
    assert about["leaderboards"][0]["submission_rule"] == "Add"
    assert about["description"] == "Find what was made up."
    assert (about["docker_image"], about["queue"]) == ("python:3.12", "abc")
    (phase,) = about["phases"]  # in UTC, since the platform ignores zones
    assert (phase["start"], phase["end"]) == ("2027-02-15 10:00:00", "2027-03-01 11:59:59")


def test_a_program_that_does_not_score_the_sample_is_not_built(tmp_path, monkeypatch):
    monkeypatch.setattr("shroom.bundle.building.PACKAGES", ("core", "metrics"))
    with pytest.raises(ShroomError, match=r"No module named 'shroom\.scoring'"):
        build(gold_folder(tmp_path / "gold"), edition=edition_of((True,)))


@pytest.mark.parametrize(
    ("change", "code"),
    [({"label": LABELS[0]}, "label-p"), ({"labels": [LABELS[1]] * 5}, "p-votes")],
)
def test_errors_of_the_gold_stop_a_bundle_unless_they_are_allowed(tmp_path, shroom, change, code):
    rows = gold_rows("eval")
    place = next(i for i, row in enumerate(rows) if row["p(Hallucination)"] == 0.6)
    rows[place].update(change)
    write_json(tmp_path / "gold" / "eval.json", rows)
    (tmp_path / "gold" / "edition.toml").write_text(
        'name = "x"\ntitle = "X"\nyear = 2027\n[item]\nid = "string"\n'
        '[[splits]]\nname = "dev"\n[[splits]]\nname = "eval"\n'
    )
    call = ("bundle", "--gold", tmp_path / "gold", "-o", tmp_path / "out", "--no-predictions")
    status, _, err = shroom(*call)
    assert status == 1
    assert f"[{code}]" in err
    assert "--allow" in err
    assert not (tmp_path / "out").exists()
    status, _, err = shroom(*call, "--allow")
    assert status == 0
    assert f"[{code}]" in err
    assert (tmp_path / "out" / "codabench.zip").is_file()
