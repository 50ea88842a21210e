"""Bundles made from editions: two and three phases, and what participants get to see."""

import datetime as dt
import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest
import yaml
from conftest import gold, write_json
from platform_worker import Worker, bare_python, unzip

from shroom.bundle import build, check, write
from shroom.core.problems import Problems, ShroomError
from shroom.evaluation.leaderboard import leaderboard
from shroom.metrics.intervals import Intervals
from shroom.scoring.editions.edition import (
    Annotation,
    Aspect,
    Column,
    Edition,
    Files,
    Item,
    Phase,
    Split,
    TaskRule,
    Track,
)
from shroom.scoring.editions.plain import to_plain
from shroom.scoring.platforms import platform_scores
from shroom.scoring.scores import score

SPANISH = Edition(
    "halu-es",
    "Alucinaciones: ¿qué es 'verdad'?",
    2027,
    contact="task@example.org",
    languages=("es",),
    splits=(Split("dev"), Split("eval")),
    files=Files("{split}.json", gold="{split}.gold.json", data="{split}.data.json"),
    item=Item("string", {"id": "clave", "hyp": "respuesta"}),
    tasks={"QA": TaskRule(title="question answering"), "SUM": TaskRule()},
    metrics=("accuracy", "brier"),
    phases=(
        Phase("Practice", "dev", start=dt.date(2027, 1, 10)),
        Phase("Development", "dev", "Two a day.", dt.date(2027, 2, 1), per_day=2, total=20),
        Phase("Evaluation", "eval", "", dt.date(2027, 3, 1), dt.date(2027, 3, 14), blind=True),
    ),
)
TWO = Edition(
    "two",
    "Two tracks",
    2027,
    tracks=(Track("open", "Open"), Track("closed")),
    splits=(Split("dev"), Split("test", ids=True)),
    files=Files("{split}.{track}.json"),
    columns=(
        Column("open_brier", "brier", "open", "Brier score"),
        Column("closed_acc", "accuracy", "closed", "Accuracy", hidden=True),
    ),
)


LABELS = ("Not Hallucination", "Hallucination")


def spanish_rows(split, *, turned=False):
    rows = []
    for index in range(30):
        votes = [vote < index % 8 for vote in range(7)]
        share = sum(votes) / 7
        yes = share > 0.5
        rows.append(
            {
                "clave": f"es-{split}-{index}",
                "respuesta": f"La respuesta {index}.",
                "src": f"¿Pregunta {index}?",
                "tgt": "",
                "task": "QA" if index % 3 else "SUM",
                "labels": [LABELS[vote != turned] for vote in votes],
                "label": LABELS[yes != turned],
                "p(Hallucination)": round(1 - share if turned else share, 9),
                "note": "turned" if turned else "secret",
            }
        )
    return rows


def spanish_gold(folder, **more):
    for split in ("dev", "eval"):
        write_json(folder / f"{split}.gold.json", spanish_rows(split, **more))
    return folder


def two_gold(folder):
    for track in ("open", "closed"):
        write_json(folder / f"dev.{track}.json", gold(20))
        write_json(folder / f"test.{track}.json", gold(20, first_id=100))
    return folder


@pytest.fixture(scope="module")
def spanish(tmp_path_factory):
    """The bundle of an edition of three phases, with its gold beside it."""
    folder = tmp_path_factory.mktemp("spanish")
    write(build(spanish_gold(folder / "gold"), edition=SPANISH), folder)
    return folder


@pytest.fixture(scope="module")
def numpy_alone(tmp_path_factory):
    return bare_python(tmp_path_factory.mktemp("numpy-alone"))


def described(bundle):
    with zipfile.ZipFile(bundle / "codabench.zip") as archive:
        return yaml.safe_load(archive.read("competition.yaml"))


def member(bundle, *names):
    """The bytes of a file of a zip within the bundle."""
    data = (bundle / "codabench.zip").read_bytes()
    for name in names:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            data = archive.read(name)
    return data


def test_codabench_takes_three_phases(spanish):
    findings = check(spanish / "codabench.zip")
    assert (findings.refused, findings.warnings) == ([], [])


def test_codabench_takes_two_phases(tmp_path):
    write(build(two_gold(tmp_path / "gold"), dt.date(2027, 1, 15), edition=TWO), tmp_path)
    findings = check(tmp_path / "codabench.zip")
    assert findings.refused == []
    (warning,) = findings.warnings
    assert "columns[1].hidden: expected false for a column that breaks ties" in warning


def test_the_edition_is_in_the_description(spanish):
    about = described(spanish)
    assert (about["title"], about["contact_email"]) == (SPANISH.title, "task@example.org")
    first, second, third = about["phases"]
    assert first["name"] == "Practice"
    assert (first["start"], first["end"]) == (dt.date(2027, 1, 10), "2027-01-31 23:59:59")
    assert (second["start"], second["end"]) == (dt.date(2027, 2, 1), "2027-02-28 23:59:59")
    assert (third["start"], third["end"]) == (dt.date(2027, 3, 1), "2027-03-14 23:59:59")
    assert (second["max_submissions_per_day"], second["max_submissions"]) == (2, 20)
    hidden = [{key for key in phase if key.startswith("hide")} for phase in about["phases"]]
    assert hidden == [set(), set(), {"hide_score_output"}]
    (board,) = about["leaderboards"]
    assert board["submission_rule"] == "Force_Best"
    assert "hidden" not in board  # all phases share it
    accuracy, brier = board["columns"]
    assert (accuracy["key"], accuracy["sorting"]) == ("accuracy", "desc")
    assert (brier["key"], brier["sorting"]) == ("brier", "asc")


@pytest.mark.parametrize("phase", [0, 1, 2])
def test_each_phase_scores_a_submission(spanish, numpy_alone, tmp_path, phase):
    split = ("dev", "dev", "eval")[phase]
    worker = Worker(tmp_path, spanish, numpy_alone, phase=phase)
    chances = {"Hallucination": 0.9, "Not Hallucination": 0.2}
    rows = [
        {"clave": row["clave"], "label": row["label"], "p(Hallucination)": chances[row["label"]]}
        for row in spanish_rows(split)
    ]
    done = worker.submit({f"{split}.json": rows}).run()
    assert (done.returncode, done.stderr) == (0, "")
    given = tmp_path / "input"
    result = score(given / "res", given / "ref", edition=SPANISH)
    scores = platform_scores(result)
    assert scores["accuracy"] == 1.0
    figure = f"{scores['brier']:.3f}"
    if phase < 2:
        assert worker.scores == scores
        assert figure in worker.page
        assert "Wilson for shares" in worker.page
        assert figure in done.stdout
        return
    # Whatever a phase hides, Codabench shows participants the scores of their submissions.
    output = tmp_path / "output"
    assert "Accepted" in worker.page
    assert worker.scores == {"accuracy": 0.0, "brier": 1.0}
    assert "shown after the end of this phase" in done.stdout
    assert [figure in text for text in (worker.page, done.stdout, done.stderr)] == [False] * 3
    assert "brier" not in worker.page
    assert json.loads((output / "hidden_scores.json").read_text()) == scores


def test_a_blind_phase_shows_the_problems_of_a_submission(spanish, numpy_alone, tmp_path):
    worker = Worker(tmp_path, spanish, numpy_alone, phase=2)
    assert worker.submit({"eval.json": [{"clave": "es-eval-0"}]}).run().returncode == 1
    assert "key-missing" in worker.page


def test_the_sample_submission_is_scored(spanish, numpy_alone, tmp_path):
    worker = Worker(tmp_path, spanish, numpy_alone)
    sample = member(spanish, "starting_kit.zip", "sample_submission.zip")
    unzip(io.BytesIO(sample), tmp_path / "input" / "res")
    done = worker.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert set(worker.scores) == {"accuracy", "brier"}


def test_the_public_data_have_the_keys_of_data_alone(spanish):
    for split in ("dev", "eval"):
        rows = json.loads(member(spanish, f"public_data_{split}.zip", f"{split}.data.json"))
        assert [row["clave"] for row in rows] == [f"es-{split}-{index}" for index in range(30)]
        assert {key for row in rows for key in row} == {"clave", "respuesta", "src", "tgt", "task"}


def visible(data):
    """Every file of a bundle but the gold, and those of zips within, by name."""
    files = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if not name.startswith("reference_data"):
                content = archive.read(name)
                files[name] = visible(content) if name.endswith(".zip") else content
    return files


def test_what_participants_see_does_not_depend_on_the_annotations(tmp_path):
    bundles = [
        build(spanish_gold(tmp_path / name, turned=turned), edition=SPANISH)
        for name, turned in (("a", False), ("b", True))
    ]
    one, other = (visible(bundle["codabench.zip"]) for bundle in bundles)
    assert one == other
    assert b"secret" not in bundles[0]["codabench.zip"]
    text = repr({key: value for key, value in one.items() if "program" not in key})
    assert "secret" not in text
    shares = {str(row["p(Hallucination)"]) for row in spanish_rows("dev")} - {"0.0", "1.0"}
    assert len(shares) > 3
    assert not [share for share in shares if share in text]


def test_the_kits_model_predicts_the_public_data(tmp_path):
    def predict(files):
        assert set(files) == {"dev.data.json", "eval.data.json"}
        return {"dev.json": b"[]"}

    write(build(spanish_gold(tmp_path / "gold"), edition=SPANISH, predict=predict), tmp_path)
    assert member(tmp_path, "starting_kit.zip", "predictions/dev.json") == b"[]"
    assert "predictions" in member(tmp_path, "starting_kit.zip", "README.md").decode()


def data_of(folder, change=lambda rows: rows):
    for split in ("dev", "eval"):
        rows = [
            {**{key: row[key] for key in ("clave", "respuesta", "src")}, "url": "x"}
            for row in spanish_rows(split)
        ]
        write_json(folder / f"{split}.data.json", change(rows))
    return folder


def with_questions(rows):
    return [{**row, "pregunta": f"¿{place // 2}?"} for place, row in enumerate(rows)]


def test_the_organisers_data_are_taken_as_they_are(tmp_path):
    reference, data = spanish_gold(tmp_path / "gold"), data_of(tmp_path / "data")
    write(build(reference, edition=SPANISH, data=data), tmp_path)
    rows = json.loads(member(tmp_path, "public_data_dev.zip", "dev.data.json"))
    assert rows == json.loads((data / "dev.data.json").read_text())


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda rows: [{**row, "label": "Hallucination"} for row in rows], "without annotations"),
        (lambda rows: rows[1:], "[count]"),
        (lambda rows: [{**row, "clave": row["clave"] + "x"} for row in rows], "[id-"),
    ],
)
def test_data_that_are_labelled_or_of_other_items_are_refused(tmp_path, change, part):
    data = data_of(tmp_path / "data", change)
    with pytest.raises(ShroomError) as error:
        build(spanish_gold(tmp_path / "gold"), edition=SPANISH, data=data)
    assert part in str(error.value)
    (data / "eval.data.json").unlink()
    with pytest.raises(ShroomError, match="has no data for eval"):
        build(tmp_path / "gold", edition=SPANISH, data=data_of(tmp_path / "other") and data)


def test_pages_of_the_edition_are_taken_as_they_are(tmp_path, shroom):
    reference = two_gold(tmp_path / "gold")
    (reference / "mine.md").write_text("# Mine $title\n")
    (reference / "edition.toml").write_text(
        'name = "own"\ntitle = "Own <pages>"\nyear = 2027\n[files]\n'
        'predictions = "{split}.{track}.json"\n'
        '[[tracks]]\nname = "open"\n[[tracks]]\nname = "closed"\n[[splits]]\nname = "dev"\n'
        '[[splits]]\nname = "test"\n[pages]\noverview = "mine.md"\nfrequent_questions = "mine.md"\n'
    )
    code, _, err = shroom("bundle", "-o", tmp_path / "out", "--gold", reference)
    assert (code, "the edition is own" in err) == (0, True)
    about = described(tmp_path / "out")
    assert [page["title"] for page in about["pages"]] == [
        *("Overview", "Evaluation", "Data", "Frequent questions")
    ]
    assert member(tmp_path / "out", "pages/overview.md") == b"# Mine $title\n"
    assert b"Own &lt;pages&gt;" in member(tmp_path / "out", "pages/terms.html")
    assert b"$" not in member(tmp_path / "out", "pages/evaluation.html")
    (reference / "mine.md").write_text(" ")
    code, _, err = shroom("bundle", "-o", tmp_path / "none", "--gold", reference)
    assert (code, "pages.overview" in err, "is empty" in err) == (1, True, True)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("change", "start", "part"),
    [
        (
            {"phases": SPANISH.phases[:2] + SPANISH.phases[:1]},
            None,
            "expected a day after 2027-02-01",
        ),
        ({}, dt.date(2027, 5, 1), "expected a day after 2027-05-01"),
        ({"phases": SPANISH.phases[2:]}, dt.date(2027, 5, 1), "before its start"),
        ({"phases": (Phase("Train", "train"),)}, None, "no labelled file of a phase's split"),
        ({"phases": ()}, dt.date.max, "leaves no time for the phases"),
        (
            {
                "phases": (
                    Phase(
                        "Far",
                        "dev",
                        end=dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=12))),
                    ),
                )
            },
            None,
            "lies outside the years 1 to 9999",
        ),
        ({"title": "t" * 257}, None, "title: expected a text of at most 256 characters"),
        (
            {"phases": (Phase("p" * 257, "dev"),)},
            None,
            "phases[0].name: expected a text of at most 256 characters",
        ),
        (
            {"columns": (Column("a", "accuracy"), Column("a", "brier"))},
            None,
            "columns[1].key: expected one of its own",
        ),
        (
            {"columns": (Column("a", "accuracy", hidden=True),)},
            None,
            "at least one column that is not hidden",
        ),
    ],
)
def test_what_codabench_would_refuse_is_not_built(tmp_path, change, start, part):
    with pytest.raises(ShroomError) as error:
        build(spanish_gold(tmp_path), start, edition=replace(SPANISH, **change))
    assert part in str(error.value)


def test_only_tracks_of_the_competition_are_missing(tmp_path, numpy_alone, shroom):
    """Of four tracks, the gold has two, and a submission one."""
    edition = replace(TWO, tracks=(*TWO.tracks, Track("third"), Track("fourth")), columns=())
    write(build(two_gold(tmp_path / "gold"), edition=edition), tmp_path)
    worker = Worker(tmp_path / "run", tmp_path, numpy_alone)
    rows = json.loads((tmp_path / "gold" / "dev.open.json").read_text())
    done = worker.submit({"dev.open.json": rows}).run()
    assert (done.returncode, done.stderr.count("[track-missing]")) == (0, 1), done.stderr
    assert "the closed track" in done.stderr
    path = tmp_path / "edition.json"
    path.write_text(json.dumps(to_plain(edition), default=str))
    for reference, count in (("gold", 1), ("gold/dev.open.json", 0)):
        line = (
            "score",
            tmp_path / "run" / "input" / "res",
            tmp_path / reference,
            "--edition",
            path,
        )
        code, _, err = shroom(*line, "--format", "codalab")
        assert (code, err.count("[track-missing]")) == (0, count), err


@pytest.mark.parametrize("is_there", [True, False], ids=["unlabelled", "missing"])
def test_a_phase_without_labels_is_named(tmp_path, is_there):
    path = spanish_gold(tmp_path / "gold") / "eval.gold.json"
    rows = json.loads(path.read_text())
    path.unlink()
    if is_there:
        hidden = ("label", "labels", "p(Hallucination)")
        write_json(path, [{k: v for k, v in row.items() if k not in hidden} for row in rows])
    problems = Problems()
    files = build(tmp_path / "gold", problems=problems, edition=SPANISH)
    write(files, tmp_path)
    assert [it["name"] for it in described(tmp_path)["phases"]] == ["Practice", "Development"]
    split, phase = (it for it in problems if it.code == "gold-skipped")
    assert split.expected == "gold for eval, to be scored"
    assert split.found == ("rows without labels in eval.gold.json" if is_there else "none")
    assert "the phase Evaluation" in phase.expected


def test_an_edition_without_phases_has_one_for_each_split(tmp_path):
    edition = replace(SPANISH, phases=())
    write(build(spanish_gold(tmp_path / "gold"), dt.date(2027, 1, 1), edition=edition), tmp_path)
    assert [phase["name"] for phase in described(tmp_path)["phases"]] == ["Dev", "Eval"]
    assert "hidden" not in described(tmp_path)["leaderboards"][0]


def test_the_default_pages_name_the_rules(spanish):
    page = member(spanish, "pages/evaluation.html").decode()
    for part in ("<code>dev.json", "<code>clave<", "es-dev-0", "brier", "less is better"):
        assert part in page
    assert "question answering" in member(spanish, "pages/overview.html").decode()
    assert "dev.data.json</code>: 30 items" in member(spanish, "pages/data.html").decode()


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("Force_Best", "Your best submission is on the leaderboard."),
        ("Force_Last", "Your last submission is on the leaderboard."),
        ("Force_Latest_Multiple", "All your submissions are on the leaderboard."),
        ("Add", "only after you click <em>Add to Leaderboard</em>"),
        ("Add_And_Delete", "only after you click <em>Add to Leaderboard</em>"),
        ("Add_And_Delete_Multiple", "only after you click <em>Add to Leaderboard</em>"),
    ],
)
def test_the_page_says_what_is_on_the_leaderboard(tmp_path, rule, sentence):
    edition = replace(SPANISH, submission_rule=rule)
    write(build(spanish_gold(tmp_path / "gold"), edition=edition), tmp_path)
    assert described(tmp_path)["leaderboards"][0]["submission_rule"] == rule
    page = " ".join(member(tmp_path, "pages/evaluation.html").decode().split())
    assert sentence in page
    assert "ordered by its first column, accuracy" in page
    assert "Scores of Evaluation are shown after its end" in page
    assert "CSV (<code>.csv</code>)" in page


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("Test",), "Scores of Test are shown after its end. Until then"),
        (("Dev", "Test"), "Scores of Dev and Test are shown after their own ends. Until then"),
    ],
)
def test_the_page_says_when_scores_are_shown(tmp_path, names, sentence):
    phases = tuple(Phase(name, "dev", blind=True) for name in names)
    edition = replace(TWO, phases=phases)
    write(build(two_gold(tmp_path / "gold"), edition=edition), tmp_path)
    assert sentence in member(tmp_path, "pages/evaluation.html").decode()


@pytest.mark.parametrize("odd", ["\x1b[31m", "\u202e", "\x07"])
def test_no_page_has_characters_that_steer_a_screen(tmp_path, odd):
    edition = replace(
        TWO,
        title=f"Two{odd}",
        contact=f"us{odd}",
        tracks=(Track("open", f"O{odd}"), Track("closed")),
        tasks={"DM": TaskRule(title=f"DM{odd}"), "PG": TaskRule(), "MT": TaskRule()},
    )
    write(build(two_gold(tmp_path / "gold"), edition=edition), tmp_path)
    with zipfile.ZipFile(tmp_path / "codabench.zip") as archive:
        names = [name for name in archive.namelist() if name.startswith("pages/")]
        assert [name for name in names if odd[0] in archive.read(name).decode()] == []
    gold_file = tmp_path / "gold" / "dev.open.json"
    board = leaderboard({"one": gold_file}, gold_file, edition=edition, intervals=Intervals(0))
    assert odd[0] not in board.render("html")


def test_no_page_claims_that_the_platform_ranks_tracks_by_themselves(tmp_path):
    write(build(two_gold(tmp_path / "gold"), edition=replace(TWO, columns=())), tmp_path)
    pages = [member(tmp_path, f"pages/{name}.html").decode() for name in ("overview", "evaluation")]
    assert not [page for page in pages if "ranked by itself" in page]
    assert "ordered by its first column, Open accuracy;" in pages[1]
    assert "shown after its end" not in pages[1]


def test_participants_check_with_the_starting_kit(spanish, numpy_alone, tmp_path):
    unzip(io.BytesIO(member(spanish, "starting_kit.zip")), tmp_path)
    unzip(io.BytesIO(member(spanish, "public_data_dev.zip")), tmp_path / "data")
    readme = (tmp_path / "README.md").read_text()
    assert "python3 kit/score.py --check submission.zip data" in readme
    assert "`.csv`" in readme

    def check(*arguments):
        return subprocess.run(
            [sys.executable, "-S", "kit/score.py", "--check", *arguments],
            cwd=tmp_path,
            env={"PYTHONPATH": str(numpy_alone)},
            capture_output=True,
            text=True,
        )

    done = check("sample_submission.zip", "data")
    assert (done.returncode, done.stdout, done.stderr) == (0, "valid\n", "")
    rows = json.loads(member(spanish, "starting_kit.zip", "sample_submission.zip", "dev.json"))
    write_json(tmp_path / "dev.json", rows[1:])
    assert check("dev.json").stdout == "valid\n"
    done = check("dev.json", "data")
    assert (done.returncode, done.stdout) == (1, "not valid\n")
    assert "[count]" in done.stderr


def test_codabench_computes_the_mean_over_tracks(tmp_path):
    edition = replace(TWO, columns=(), average=True)
    write(build(two_gold(tmp_path / "gold"), edition=edition), tmp_path)
    findings = check(tmp_path / "codabench.zip")
    assert (findings.refused, findings.warnings) == ([], [])
    columns = described(tmp_path)["leaderboards"][0]["columns"]
    keys = [column["key"] for column in columns]
    assert keys[:2] == ["mean_accuracy", "mean_rho"]
    for column, name in zip(columns[:2], ("accuracy", "rho")):
        of = [keys[index] for index in column["computation_indexes"]]
        assert of == [f"open_{name}", f"closed_{name}"]


def test_a_track_without_gold_has_no_column(tmp_path):
    reference = two_gold(tmp_path / "gold")
    for split in ("dev", "test"):
        (reference / f"{split}.closed.json").unlink()
    write(build(reference, edition=replace(TWO, columns=(), average=True)), tmp_path)
    columns = described(tmp_path)["leaderboards"][0]["columns"]
    assert [column["key"] for column in columns] == ["open_accuracy", "open_rho"]


@pytest.mark.parametrize("place", ["beside the gold", "apart"])
def test_the_platform_draws_the_units_of_the_data(tmp_path, place):
    edition = replace(SPANISH, item=replace(SPANISH.item, unit="pregunta"))
    reference = spanish_gold(tmp_path / "gold")
    is_beside = place == "beside the gold"
    data = data_of(reference if is_beside else tmp_path / "data", with_questions)
    write(build(reference, edition=edition, data=None if is_beside else data), tmp_path)
    zipped = tmp_path / "reference_data_dev.zip"
    zipped.write_bytes(member(tmp_path, zipped.name))
    said = spanish_rows("dev", turned=True)
    keys = ("clave", "label", "p(Hallucination)")
    rows = [{key: row[key] for key in keys} for row in said]
    sent = write_json(tmp_path / "sent" / "dev.json", rows).parent
    found = score(sent, zipped, edition=edition)
    write_json(
        tmp_path / "local" / "dev.data.json", json.loads((data / "dev.data.json").read_text())
    )
    write_json(tmp_path / "local" / "dev.gold.json", spanish_rows("dev"))
    expected = score(sent, tmp_path / "local", edition=edition)
    assert expected.intervals.unit == "pregunta"
    assert found.to_dict() == expected.to_dict()


@pytest.mark.parametrize(
    ("annotation", "answer"),
    [
        (Annotation("aspects", (Aspect("wrong", "wrong"),)), {"wrong": "y"}),
        (Annotation("spans"), {"soft_labels": [{"start": 2, "end": 5, "prob": 0.625}]}),
        (
            Annotation("labelled-spans", labels=("OCR", "other")),
            {"labels": [{"start": 2, "end": 5, "prob": 0.625, "label": "OCR"}]},
        ),
    ],
)
def test_other_annotations_are_scored(tmp_path, numpy_alone, annotation, answer):
    empty = {key: [] if isinstance(value, list) else "n" for key, value in answer.items()}
    rows = [
        {"id": f"{index}", "hyp": f"An answer, number {index}.", **(answer if index % 3 else empty)}
        for index in range(20)
    ]
    edition = Edition(
        "other",
        "Others",
        2027,
        splits=(Split("dev"),),
        files=Files("{split}.jsonl"),
        item=Item("string"),
        annotation=annotation,
    )
    write_json(tmp_path / "gold" / "dev.json", rows)
    write(build(tmp_path / "gold", edition=edition), tmp_path)
    worker = Worker(tmp_path / "run", tmp_path, numpy_alone)
    sample = member(tmp_path, "starting_kit.zip", "sample_submission.zip")
    unzip(io.BytesIO(sample), tmp_path / "run" / "input" / "res")
    done = worker.run()
    assert done.returncode == 0, done.stderr
    assert set(worker.scores) == set(worker.keys)
    public = member(tmp_path, "public_data_dev.zip", "dev.jsonl").decode()
    assert public.count("\n") == 20
    assert ("0.625" in public, "labels" in public, "wrong" in public) == (False, False, False)
