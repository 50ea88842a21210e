"""Bundles made from editions: phases, columns, worst scores, and what participants see."""

import datetime as dt
import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest
import yaml
from conftest import gold, predictions, write_json
from platform_worker import bare_python
from spanish_task import gold_folder, gold_rows, spanish, unpacked, written

from shroom.bundle import build, check
from shroom.core.atomic_writing import zipped
from shroom.core.problems import Problems, ShroomError
from shroom.scoring.editions.plain import from_plain, to_plain
from shroom.scoring.metric_registry import METRICS, metric
from shroom.scoring.platforms import platform_scores, worst_scores
from shroom.scoring.scores import score

TRACKS = [{"name": "open", "title": "Open"}, {"name": "closed"}]
COLUMN = {"key": "open_brier", "metric": "brier", "track": "open", "title": "Brier score"}


def two(**changes):
    """An edition of two tracks, whose bundle has two phases."""
    splits = [{"name": "dev"}, {"name": "test", "ids": True}]
    plain = {"name": "two", "title": "Two", "year": 2027, "tracks": TRACKS, "splits": splits}
    return from_plain({**plain, **changes})


def two_gold(folder, tracks=("open", "closed")):
    for track in tracks:
        write_json(folder / f"dev.{track}.json", gold(20))
        write_json(folder / f"test.{track}.json", gold(20, first_id=100))
    return folder


def built(reference, edition, **more):
    bundle = build(reference, edition=edition, **more)["codabench.zip"]
    assert check(bundle).refused == []
    files = unpacked(bundle)
    return files, yaml.safe_load(files["competition.yaml"])


@pytest.fixture
def no_trial(monkeypatch):
    """Builds without running the scoring program, where its scores do not matter."""
    monkeypatch.setattr("shroom.bundle.building.try_program", lambda *_: None)


untried = pytest.mark.usefixtures("no_trial")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return built(gold_folder(tmp_path_factory.mktemp("gold")), spanish())[0]


def test_the_phases_and_columns_are_those_of_the_edition(files):
    about = yaml.safe_load(files["competition.yaml"])
    assert [(it["name"], it["start"], it["end"]) for it in about["phases"]] == [
        ("Practice", dt.date(2027, 1, 10), "2027-01-31 23:59:59"),
        ("Development", dt.date(2027, 2, 1), "2027-02-28 23:59:59"),
        ("Test", dt.date(2027, 3, 1), "2027-03-14 23:59:59"),
    ]
    second = about["phases"][1]
    assert (second["max_submissions_per_day"], second["max_submissions"]) == (2, 20)
    hidden = [{key for key in phase if key.startswith("hide")} for phase in about["phases"]]
    assert hidden == [set(), set(), {"hide_score_output"}]
    (board,) = about["leaderboards"]
    assert "hidden" not in board  # all phases share it
    columns = [(column["key"], column["sorting"]) for column in board["columns"]]
    assert columns == [("accuracy", "desc"), ("brier", "asc")]
    assert "lower is better" in files["pages/evaluation.html"].decode()


@untried
def test_any_text_is_described(tmp_path):
    texts = ["a: b", "# 'x' \"y\"", "1.0", "2027-01-01", "é\u2028x\ny", "{{ x }}", ""]
    phases = [{"name": f"<{text}>", "split": "dev", "about": text} for text in texts]
    _, about = built(gold_folder(tmp_path), spanish(phases=phases))
    assert [phase["description"] for phase in about["phases"]] == texts
    assert [phase["name"] for phase in about["phases"]] == [f"<{text}>" for text in texts]


def visible(files):
    """The files of a bundle without the gold and the programs."""
    return {
        name: visible(content) if isinstance(content, dict) else content
        for name, content in files.items()
        if not name.startswith(("reference_data", "shroom/"))
    }


@untried
def test_what_participants_see_does_not_depend_on_the_annotations(files, tmp_path):
    for split in ("dev", "eval"):
        rows = json.loads(files[f"public_data_{split}.zip"][f"{split}.d.json"])
        assert [row["clave"] for row in rows] == [f"es-{split}-{index}" for index in range(40)]
        assert {key for row in rows for key in row} == {"clave", "respuesta", "src", "tgt", "task"}
    turned, _ = built(gold_folder(tmp_path, turned=True), spanish())
    assert visible(turned) == visible(files)
    text = repr(visible(files))
    shares = {str(row["p(Hallucination)"]) for row in gold_rows("dev")} - {"0.0", "1.0"}
    assert len(shares) > 3
    assert not [part for part in ("secret", *shares) if part in text]


def data_folder(folder, change=lambda rows: rows, splits=("dev", "eval")):
    for split in splits:
        rows = [
            {**{key: row[key] for key in ("clave", "respuesta", "src")}, "url": "x"}
            for row in gold_rows(split)
        ]
        write_json(folder / f"{split}.d.json", change(rows))
    return folder


@untried
def test_the_organisers_data_are_taken_as_they_are_and_predicted(tmp_path):
    def predict(files):
        assert set(files) == {"dev.d.json", "eval.d.json"}
        return {"dev.json": b"[]"}

    data = data_folder(tmp_path / "data")
    files, _ = built(gold_folder(tmp_path / "gold"), spanish(), data=data, predict=predict)
    rows = json.loads(files["public_data_dev.zip"]["dev.d.json"])
    assert rows == json.loads((data / "dev.d.json").read_text())
    assert files["starting_kit.zip"]["predictions/dev.json"] == b"[]"
    assert b"predictions" in files["starting_kit.zip"]["README.md"]


@untried
def test_pages_of_the_edition_are_taken_as_they_are(tmp_path):
    edition = two(title="<Own>", pages={"overview": "mine.md", "frequent_questions": "mine.md"})
    (tmp_path / "mine.md").write_text("# Mine $title {{ x }}\n")
    files, about = built(two_gold(tmp_path), edition, folder=tmp_path)
    titles = [page["title"] for page in about["pages"]]
    assert titles == ["Overview", "Evaluation", "Data", "Frequent questions"]
    assert files["pages/overview.md"] == b"# Mine $title {{ x }}\n"
    assert b"&lt;Own&gt;" in files["pages/terms.html"]
    for content, part in ((b" ", "expected a text file"), (b"\xe4", "expected a UTF-8 text file")):
        (tmp_path / "mine.md").write_bytes(content)
        with pytest.raises(ShroomError, match=rf"pages\[0\]\.file: {part}"):
            build(tmp_path, edition=edition, folder=tmp_path)


FIRST = {"name": "A", "split": "dev", "start": "2027-02-01"}
SECOND = {"name": "B", "split": "eval", "start": "2027-01-10", "end": "2027-03-14"}


@untried
@pytest.mark.parametrize(
    ("change", "start", "part"),
    [
        ({"phases": [FIRST, SECOND]}, None, "expected a later day than 2027-02-01"),
        ({}, dt.date(2027, 5, 1), "expected a later day than 2027-05-01"),
        ({"phases": [SECOND]}, dt.date(2027, 5, 1), "before its start"),
        (
            {"phases": [{**FIRST, "split": "train"}]},
            None,
            "expected labelled gold for a split with a phase",
        ),
        ({"phases": []}, dt.date.max, "leaves no time for the next phases"),
        ({"phases": [{**FIRST, "end": "9999-12-31T23:59:59-12:00"}]}, None, "is outside the years"),
        ({"title": "t" * 257}, None, "title: expected a text of at most 256 characters"),
        ({"phases": [{**FIRST, "name": "p" * 257}]}, None, "phases[0].name: expected a text of"),
        ({"columns": [COLUMN, COLUMN]}, None, "columns[1].key: expected a unique key"),
        ({"columns": [{**COLUMN, "hidden": True}]}, None, "column that is not hidden"),
    ],
)
def test_what_codabench_would_refuse_is_not_built(tmp_path, change, start, part):
    with pytest.raises(ShroomError) as error:
        build(gold_folder(tmp_path), start, edition=spanish(**change))
    assert part in str(error.value)


@untried
@pytest.mark.parametrize(
    ("data", "part"),
    [
        ([lambda rows: [{**row, "label": "Hallucination"} for row in rows]], "without annotations"),
        ([lambda rows: rows[1:]], "[count]"),
        ([lambda rows: [{**row, "clave": row["clave"] + "x"} for row in rows]], "[id-"),
        ([list, ["dev"]], "contains no data for eval"),
    ],
)
def test_data_that_are_labelled_or_of_other_items_are_refused(tmp_path, data, part):
    given = data_folder(tmp_path / "data", *data)
    with pytest.raises(ShroomError) as error:
        build(gold_folder(tmp_path / "gold"), edition=spanish(), data=given)
    assert part in str(error.value)


@untried
def test_only_tracks_of_the_competition_are_missing(tmp_path, shroom):
    """Of four tracks, the gold has two, and a submission one."""
    edition = two(tracks=[*TRACKS, {"name": "third"}, {"name": "fourth"}])
    build(two_gold(tmp_path / "gold"), edition=edition)
    sent = write_json(tmp_path / "sent" / "dev.open.json", gold(20)).parent
    path = write_json(tmp_path / "edition.json", to_plain(edition))
    for reference, count in (("gold", 1), ("gold/dev.open.json", 0)):
        line = ("score", sent, tmp_path / reference, "--edition", path, "--format", "codalab")
        code, _, err = shroom(*line)
        assert (code, err.count("[track-missing]")) == (0, count), err
        assert ("the closed track" in err) == bool(count)


@untried
@pytest.mark.parametrize("is_there", [True, False], ids=["unlabelled", "missing"])
def test_a_phase_without_labels_is_named(tmp_path, is_there):
    path, problems = gold_folder(tmp_path) / "eval.gold.json", Problems()
    path.unlink()
    if is_there:
        write_json(path, [{"clave": row["clave"], "respuesta": ""} for row in gold_rows("eval")])
    _, about = built(tmp_path, spanish(), problems=problems)
    assert [it["name"] for it in about["phases"]] == ["Practice", "Development"]
    split, phase = (it for it in problems if it.code == "gold-skipped")
    assert split.expected == "gold for eval"
    assert split.found == ("rows without labels in eval.gold.json" if is_there else "none")
    assert "the phase Test" in phase.expected


@untried
@pytest.mark.parametrize(
    ("rule", "blind", "sentence"),
    [
        ("Force_Last", [], "Your last submission is on the leaderboard."),
        ("Force_Latest_Multiple", [], "All your submissions are on the leaderboard."),
        ("Add", [], "<em>Add to Leaderboard</em> next to it. If you add another submission"),
        ("Add_And_Delete", [], "it replaces the previous one. You can also remove"),
        ("Add_And_Delete_Multiple", [], "next to it. You can add several submissions, and"),
        ("Add", ["A"], "The scores of A are shown after the end of the phase. Until then, the"),
        ("Add", ["A", "B"], "The scores of A and B are shown after the end of each phase."),
    ],
)
def test_the_page_says_what_the_leaderboard_shows(tmp_path, rule, blind, sentence):
    phases = [{"name": name, "split": "dev", "blind": True} for name in blind]
    files, about = built(two_gold(tmp_path), two(submission_rule=rule, phases=phases))
    assert about["leaderboards"][0]["submission_rule"] == rule
    shown = " ".join(files["pages/evaluation.html"].decode().split())
    assert (sentence in shown, "shown after" in shown) == (True, bool(blind))


@untried
def test_no_page_has_characters_that_steer_a_screen(tmp_path):
    odd = "\x1b[31m\u202e\x07"
    tracks = [{"name": "open", "title": odd}, {"name": "closed"}]
    tasks = {"DM": {"title": f"DM{odd}"}, "PG": {}, "MT": {}}
    edition = two(title=f"Two{odd}", contact=f"us{odd}", tracks=tracks, tasks=tasks)
    files, _ = built(two_gold(tmp_path), edition)
    texts = [content.decode() for name, content in files.items() if name.startswith("pages/")]
    assert len(texts) == 4
    assert not [text for text in texts if set("\x1b\u202e\x07").intersection(text)]


def test_participants_check_with_the_starting_kit(files, tmp_path, tmp_path_factory):
    bare = bare_python(tmp_path_factory.mktemp("numpy-alone"))
    kit, data = dict(files["starting_kit.zip"]), files["public_data_dev.zip"]
    sample = kit.pop("sample_submission.zip")
    rows = json.loads(sample["dev.json"])
    contents = {**kit, "sample.zip": zipped(sample), "dev.json": json.dumps(rows[1:]).encode()}
    written({**contents, "data/dev.d.json": data["dev.d.json"]}, tmp_path)

    options = {"env": {"PYTHONPATH": str(bare)}, "capture_output": True, "text": True}

    def checked(*arguments):
        line = [sys.executable, "-S", "kit/score.py", "--check", *arguments]
        done = subprocess.run(line, cwd=tmp_path, **options)
        return done.returncode, done.stdout, done.stderr

    assert checked("sample.zip", "data") == (0, "valid\n", "")
    assert checked("dev.json") == (0, "valid\n", "")
    code, out, err = checked("dev.json", "data")
    assert (code, out, "[count]" in err) == (1, "not valid\n", True)
    written(
        {"dev.json": json.dumps([{**rows[0], "label": "no"}, {"clave": "x"}]).encode()}, tmp_path
    )
    code, out, err = checked("dev.json")  # the program has no --columns and no --labels
    fixes = sorted(line for line in err.splitlines() if "to fix" in line)
    assert fixes == [
        "  to fix [key-missing]: add or rename the key in every item",
        "  to fix [label-value]: use exactly these words",
    ]


HIDDEN = {"key": "acc", "metric": "accuracy", "track": "closed", "hidden": True}


@untried
@pytest.mark.parametrize(
    ("change", "tracks", "keys"),
    [
        ({"average": True}, ("open", "closed"), ["mean_rho", "open_rho", "closed_rho"]),
        ({"average": True}, ("open",), ["open_rho"]),
        ({"columns": [COLUMN, HIDDEN]}, ("open", "closed"), ["open_brier", "acc"]),
    ],
)
def test_the_columns_are_those_of_the_tracks_with_gold(tmp_path, change, tracks, keys):
    _, about = built(two_gold(tmp_path, tracks), two(metrics=["rho"], **change))
    assert [phase["name"] for phase in about["phases"]] == ["Dev", "Test"]  # one for each split
    columns = about["leaderboards"][0]["columns"]
    assert [column["key"] for column in columns] == keys
    hidden = [column["key"] for column in columns if column.get("hidden")]
    assert hidden == (["acc"] if "columns" in change else [])
    of = [column.get("computation_indexes") for column in columns]  # of means over tracks
    assert of == ([[1, 2], None, None] if keys[0] == "mean_rho" else [None] * len(keys))


@untried
@pytest.mark.parametrize("place", ["gold", "data"])
def test_the_platform_gets_the_units_of_the_data(tmp_path, place):
    def with_questions(rows):
        return [{**row, "pregunta": f"¿{index // 2}?"} for index, row in enumerate(rows)]

    item = {"id": "string", "unit": "pregunta", "keys": {"id": "clave", "hyp": "respuesta"}}
    reference, data = gold_folder(tmp_path / "gold"), data_folder(tmp_path / place, with_questions)
    given = {"data": data} if place == "data" else {}
    files, _ = built(reference, spanish(item=item), **given)
    expected = {"dev.gold.json": reference, "dev.d.json": data}
    assert files["reference_data_dev.zip"] == {
        name: (folder / name).read_bytes() for name, folder in expected.items()
    }


MARK = {"start": 2, "end": 5, "prob": 0.625, "label": "OCR"}


@pytest.mark.parametrize(
    ("kind", "more", "key", "answer"),
    [
        ("aspects", {"aspects": [{"key": "wrong", "name": "wrong"}]}, "wrong", "y"),
        ("labelled-spans", {"labels": ["OCR", "other"]}, "labels", [MARK]),
    ],
)
def test_other_annotations_are_scored(tmp_path, kind, more, key, answer):
    plain = {"name": "other", "title": "Others", "year": 2027, "splits": [{"name": "dev"}]}
    form = {"files": {"predictions": "{split}.jsonl"}, "item": {"id": "string"}}
    answers = [answer, [] if isinstance(answer, list) else "n"]
    rows = [{"id": f"{i}", "hyp": f"An answer, {i}.", key: answers[i % 2]} for i in range(20)]
    write_json(tmp_path / "dev.json", rows)
    files, _ = built(tmp_path, from_plain({**plain, **form, "annotation": {"kind": kind, **more}}))
    public = files["public_data_dev.zip"]["dev.jsonl"].decode()
    assert public.count("\n") == 20
    assert not [part for part in ("0.625", "labels", "wrong") if part in public]
    assert key in files["starting_kit.zip"]["sample_submission.zip"]["dev.jsonl"].decode()


@pytest.mark.parametrize("name", METRICS)
def test_undefined_and_missing_scores_rank_last(tmp_path, name):
    columns = [{"key": key, "metric": name, "track": key} for key in ("open", "closed")]
    edition, reference = two(metrics=["accuracy"], columns=columns), two_gold(tmp_path / "gold")
    constant = [{"label": "Hallucination", "p(Hallucination)": 0.5}] * 20
    turned = [{**row, "p(Hallucination)": 1 - row["p(Hallucination)"]} for row in predictions(20)]
    wrong = [{**row, "label": "Not Hallucination"} for row in turned]
    for rows in (predictions(20), wrong, constant):
        path = write_json(tmp_path / "mine" / "dev.open.json", rows)
        result = score(path, reference, edition=edition, metrics=[name])
        shown, own = platform_scores(result), result.results[0].scores[name]
        assert abs(shown["closed"]) < 1e10, "Codabench stores ten digits before the point"
        assert (max if metric(name).higher_is_better else min)(shown.values()) == shown["open"]
        assert shown["open"] == (shown["closed"] if own is None else own)
    assert (own is None) == (name == "rho")


@pytest.mark.parametrize(
    ("place", "worst"), [("calibration.BRIER", 1e9), ("discrimination.AUROC", -1e9)]
)
def test_a_metric_without_bounds_has_a_worst_score_that_can_be_stored(monkeypatch, place, worst):
    name = place.partition(".")[2].lower()
    unbounded = replace(metric(name), bounds=(-math.inf, math.inf))
    monkeypatch.setattr(f"shroom.metrics.{place}", unbounded)
    assert worst_scores(two(metrics=[name])) == {f"open_{name}": worst, f"closed_{name}": worst}
