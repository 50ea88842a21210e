"""Editions, and a shared task of others: Spanish, string ids, QA and SUM, one track, 7 votes."""

from __future__ import annotations

import ast
import json
import random
import re
import tomllib
import zipfile

import jsonschema
import pytest
from conftest import ROOT, write_json
from made_up import AGNOSTIC, AWARE, contest

from shroom.core.problems import InvalidInput, ShroomError
from shroom.scoring.editions import files
from shroom.scoring.editions.edition import Edition, Files, Split, Track
from shroom.scoring.editions.files import built_in, read
from shroom.scoring.editions.plain import from_plain, to_plain
from shroom.scoring.editions.validation import problems_of
from shroom.scoring.scores import score
from shroom.scoring.table import Role

EDITION = """
name = "halu-es"
title = "Alucinaciones"
year = 2027
contact = "organisers@example.org"
languages = ["es"]

[files]
predictions = "{split}.json"

[[splits]]
name = "dev"

[[splits]]
name = "eval"

[item]
id = "string"
reference = "src"

[tasks]
QA = {title = "question answering", reference = "src"}
SUM = {title = "summarisation", reference = "src"}

[[phases]]
name = "Practice"
split = "dev"
start = 2027-01-10

[[phases]]
name = "Development"
split = "dev"
start = 2027-02-01

[[phases]]
name = "Evaluation"
split = "eval"
start = 2027-03-01
end = 2027-03-14
"""
SUBJECTS = ("el gato", "la niña", "un médico", "la ciudad", "un tren", "la abuela")
VERBS = ("cruza", "mira", "olvida", "pinta", "compra", "vende")
OBJECTS = ("la plaza", "dos libros", "el puente", "una manzana", "tres cartas")
SIZES = {"dev": 100, "eval": 200}


def sentence(chance: random.Random) -> str:
    return " ".join(map(chance.choice, (SUBJECTS, VERBS, OBJECTS)))


def item(split: str, number: int, chance: random.Random) -> dict:
    src = sentence(chance)
    invented = chance.random() < 0.4
    votes = [chance.random() < (0.8 if invented else 0.15) for _ in range(7)]
    return {
        "id": f"es-{split}-{number}",
        "task": chance.choice(["QA", "SUM"]),
        "src": src,
        "tgt": "",
        "hyp": sentence(chance) if invented else src,
        "labels": ["Hallucination" if vote else "Not Hallucination" for vote in votes],
        "label": "Hallucination" if sum(votes) > 3 else "Not Hallucination",
        "p(Hallucination)": sum(votes) / 7,
    }


@pytest.fixture
def task(tmp_path, monkeypatch):
    """Return the folder of a shared task: gold with its edition, and two systems' submissions."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(0)  # noqa: S311 - made-up items
    for split, size in SIZES.items():
        gold = [item(split, number, chance) for number in range(size)]
        write_json(tmp_path / "gold" / f"{split}.json", gold)
        for system, noise in (("near", 0.2), ("far", 0.6)):
            rows = []
            for row in gold:
                p = (1 - noise) * row["p(Hallucination)"] + noise * chance.random()
                label = "Hallucination" if p > 0.5 else "Not Hallucination"
                rows.append({"id": row["id"], "label": label, "p(Hallucination)": p})
            write_json(tmp_path / "systems" / system / f"{split}.json", rows)
    (tmp_path / "gold" / "edition.toml").write_text(EDITION)
    return tmp_path


def test_the_edition_beside_the_gold_is_found_and_named(task, shroom):
    code, out, err = shroom("check", "systems/near", "--gold", "gold")
    assert (code, out) == (0, "valid: dev (100 items), eval (200 items); 0 errors, 0 warnings\n")
    assert "note: the edition is halu-es, by gold/edition.toml" in err


def test_ids_are_strings(task, shroom):
    rows = json.loads((task / "systems/near/dev.json").read_text())
    rows[3]["id"] = 3
    write_json(task / "numbers.json", rows)
    code, _, err = shroom("check", "numbers.json", "--gold", "gold/dev.json")
    assert code == 1
    assert "numbers.json: item 3: id: expected a string of at most 100 characters, got 3" in err


def test_fixing_keeps_string_ids_and_restores_the_order(task, shroom):
    rows = json.loads((task / "systems/near/dev.json").read_text())
    for row in rows:
        row["label"] = row["label"].lower()
    write_json(task / "DEV.json", rows[::-1])
    assert shroom("check", "DEV.json", "--gold", "gold", "--fix", "fixed.json")[0] == 0
    assert json.loads((task / "fixed.json").read_text()) == json.loads(
        (task / "systems/near/dev.json").read_text()
    )


def test_a_single_track_has_no_other_columns(task, shroom):
    code, out, _ = shroom("score", "systems/near/dev.json", "gold/dev.json", "--format", "json")
    assert code == 0
    (result,) = json.loads(out)["results"]
    assert (result["track"], result["split"], result["n"]) == ("", "dev", 100)
    assert set(result["slices"]["task"]) == {"QA", "SUM"}
    assert result["signature"].startswith("shroom|v:0.1.0|edition:halu-es|n:100|")
    _, out, _ = shroom("score", "systems/near/dev.json", "gold/dev.json", "--format", "codalab")
    assert re.fullmatch(r"accuracy: [\d.]+\nrho: [\d.]+\n", out)


def test_systems_are_compared_and_ranked(task, shroom):
    code, out, _ = shroom("compare", "systems/near", "systems/far", "gold", "--trials", "99")
    assert code == 0
    assert "dev, accuracy, n = 100" in out
    code, out, _ = shroom(
        "leaderboard", "systems", "gold", "--split", "eval", "--trials", "99", "--format", "json"
    )
    assert code == 0
    ranks = {row["system"]: row["rank"] for row in json.loads(out)["rows"]}
    assert (ranks["near"], ranks["far"]) == (1, 2)


def test_a_report_names_the_tasks(task, shroom):
    code, _, _ = shroom("report", "systems/near", "gold", "-o", "report.html", "--no-ci")
    assert code == 0
    page = (task / "report.html").read_text()
    assert "SUM" in page


def test_detectors_take_its_tasks_and_ids(task, shroom):
    code, _, _ = shroom("predict", "lexical", "gold", "-o", "lexical.zip")
    assert code == 0
    with zipfile.ZipFile("lexical.zip") as archive:
        assert {"dev.json", "eval.json"} <= set(archive.namelist())
        assert json.loads(archive.read("dev.json"))[0]["id"] == "es-dev-0"
    assert shroom("score", "lexical.zip", "gold", "--no-ci")[0] == 0


def test_the_annotators_agreement_is_measured_by_task(task, shroom):
    code, out, _ = shroom("gold", "agreement", "gold", "--format", "json", "--no-ci")
    assert code == 0
    dev, evaluation = json.loads(out)["results"]
    assert (dev["split"], evaluation["split"]) == ("dev", "eval")
    assert set(dev["by_task"]) == {"QA", "SUM"}


def test_the_mean_over_tracks_is_scored_and_ranked(tmp_path, shroom):
    text = files.text_of("semeval2024").replace("year = 2024", "year = 2024\naverage = true")
    edition = tmp_path / "edition.toml"
    edition.write_text(text)
    noises = {"good": 0.3, "poor": 0.7}
    systems, gold = contest(tmp_path, noises, files=(AGNOSTIC, AWARE))
    options = ("--edition", edition, "--format", "json", "--resamples", "50")
    _, out, _ = shroom("score", systems / "good", gold, *options)
    score = json.loads(out)
    expected = sum(result["rho"] for result in score["results"]) / 2
    assert score["mean"]["rho"] == pytest.approx(expected, rel=1e-12)
    _, out, _ = shroom("leaderboard", systems, gold, *options, "--trials", "99")
    rows = [row for row in json.loads(out)["rows"] if row["track"] == "mean of 2 tracks"]
    assert [(row["system"], row["rank"]) for row in rows] == [("good", 1), ("poor", 2)]
    assert rows[0]["rho"] == pytest.approx(expected, rel=1e-12)
    assert rows[0]["rho_ci"][0] < expected < rows[0]["rho_ci"][1]
    # The tracks have 60 items each: the interval of their mean is narrower by the square root of 2.
    widths = [result["accuracy_ci"][1] - result["accuracy_ci"][0] for result in score["results"]]
    low, high = score["mean"]["accuracy_ci"]
    assert high - low == pytest.approx(sum(widths) / 2 / 2**0.5, rel=0.02)
    assert rows[0]["accuracy_ci"] == score["mean"]["accuracy_ci"]
    assert score["mean"]["tracks"] == 2
    _, out, _ = shroom("score", systems / "good", gold, *options[:2], "--resamples", "50")
    (line,) = (line for line in out.splitlines() if line.startswith("mean over 2 tracks"))
    assert f"[{low:.3f}, {high:.3f}]" in line


def test_of_two_splits_each_has_a_mean_over_its_own_tracks(tmp_path, shroom):
    text = files.text_of("semeval2024").replace("year = 2024", "year = 2024\naverage = true")
    (tmp_path / "edition.toml").write_text(text)
    both = ("val.model-aware.json", "val.model-agnostic.json")
    every = (*both, *(name.replace("val", "test") for name in both))
    systems, gold = contest(tmp_path, {"one": 0.5}, n=30, files=every)
    line = ("score", systems / "one", gold, "--edition", tmp_path / "edition.toml")
    code, out, err = shroom(*line)
    assert code == 0, err
    shown = [line for line in out.splitlines() if "mean over" in line]
    assert [line.split("  ")[0] for line in shown] == [
        "val mean over 2 tracks",
        "test mean over 2 tracks",
    ]
    found = json.loads(shroom(*line, "--format", "json")[1])
    jsonschema.validate(found, json.loads(shroom("score", "--json-schema")[1]))
    assert "mean" not in found
    for split, mean in found["means"].items():
        own = [result["accuracy"] for result in found["results"] if result["split"] == split]
        assert mean["accuracy"] == pytest.approx(sum(own) / 2, rel=1e-12)
        assert mean["accuracy_ci"][0] < mean["accuracy"] < mean["accuracy_ci"][1]
    # A split without one of the tracks has no mean.
    (systems / "one" / "test.model-aware.json").unlink()
    assert shroom(*line)[1].count("mean over") == 1


UNIT = """
name = "answers"
title = "Answers"
year = 2030
[item]
unit = "question"
[files]
predictions = "{split}.json"
data = "{split}_data.json"
[[splits]]
name = "dev"
"""


@pytest.fixture
def answered(tmp_path):
    """Gold with eight answers to each of 15 questions, which are right or wrong together."""
    (tmp_path / "edition.toml").write_text(UNIT)
    truth = [
        {"id": n, "label": "Hallucination", "p(Hallucination)": 0.9, "hyp": "x"} for n in range(120)
    ]
    said = [
        {
            "id": n,
            "label": "Hallucination" if n // 8 % 3 else "Not Hallucination",
            "p(Hallucination)": 0.9 if n // 8 % 3 else 0.1,
        }
        for n in range(120)
    ]
    other = [{**row, "label": "Hallucination", "p(Hallucination)": 0.6} for row in said]
    for name, rows in (("one", said), ("other", other)):
        write_json(tmp_path / "systems" / name / "dev.json", rows)

    def write(folder, data=None):
        rows = [{**row, "question": f"Q{row['id'] // 8}"} for row in truth]
        rows = [{**row, "task": "MT" if row["id"] % 2 else "DM"} for row in rows]
        plain = [{k: v for k, v in row.items() if k != "question"} for row in rows]
        write_json(tmp_path / folder / "dev.json", plain if data is not False else rows)
        if data:
            write_json(tmp_path / folder / "dev_data.json", rows[::-1])
        return tmp_path / folder

    return write, tmp_path / "systems", ("--edition", tmp_path / "edition.toml")


def width(ci):
    return ci[1] - ci[0]


def test_an_edition_may_name_the_units_that_intervals_draw(answered, shroom):
    write, systems, options = answered
    gold = {"rows": write("rows", data=False), "data": write("data", data=True)}
    gold["beside"] = gold["data"] / "dev.json"
    alone = write("alone")
    one = ("score", systems / "one" / "dev.json")
    found = {
        place: json.loads(shroom(*one, folder, *options, "--format", "json")[1])
        for place, folder in {**gold, "alone": alone}.items()
    }
    for place in gold:
        assert found[place]["results"] == found["rows"]["results"]
        assert found[place]["intervals"]["unit"] == "question"
        assert found[place]["warnings"] == found["rows"]["warnings"]
    assert "unit" not in found["alone"]["intervals"]
    assert any("no item has question" in line for line in found["alone"]["warnings"])
    wide, narrow = (found[place]["results"][0] for place in ("rows", "alone"))
    assert width(wide["accuracy_ci"]) > 2 * width(narrow["accuracy_ci"])
    part = wide["slices"]["task"]["MT"]
    assert width(part["accuracy_ci"]) > 1.5 * width(narrow["slices"]["task"]["MT"]["accuracy_ci"])
    assert wide["accuracy"] == narrow["accuracy"]
    _, out, _ = shroom(*one, gold["rows"], *options)
    assert "1000 bootstrap resamples of whole units (question), seed 0" in out


def test_systems_are_compared_by_units(answered, shroom):
    write, systems, options = answered
    found = {}
    for place, gold in (("units", write("rows", data=False)), ("items", write("alone"))):
        line = (systems / "one", systems / "other", gold, *options)
        _, out, err = shroom("compare", *line, "--trials", "999", "--format", "json")
        assert "Traceback" not in err
        (found[place],) = (
            row for row in json.loads(out)["comparisons"] if row["metric"] == "accuracy"
        )
    assert found["units"]["difference"] == found["items"]["difference"]
    assert width(found["units"]["ci"]) > 2 * width(found["items"]["ci"])
    # Five questions of 15 differ: all signs alike have a chance of 2/32. Of 40 answers it is tiny.
    assert found["units"]["p"] == pytest.approx(2 / 32, abs=0.03)
    assert found["items"]["p"] < 0.01
    assert "mcnemar" not in found["units"]
    assert found["items"]["mcnemar"]["p"] < 0.01
    _, out, _ = shroom(
        "leaderboard", systems, write("rows", data=False), *options, "--trials", "99"
    )
    assert "resamples of whole units (question)" in out


def test_a_new_gold_is_judged_by_units(answered, shroom):
    write, systems, options = answered
    widths = {}
    for place, data in (("units", False), ("items", None)):
        old = write(f"{place}-old", data)
        rows = json.loads((old / "dev.json").read_text(encoding="utf-8"))
        for row in rows[:40]:
            row["label"], row["p(Hallucination)"] = "Not Hallucination", 0.1
        new = write_json(systems.parent / f"{place}-new" / "dev.json", rows).parent
        line = ("gold", "rescore", old, new, systems, *options, "--format", "json")
        code, out, err = shroom(*line)
        assert code == 0, err
        (row,) = (row for row in json.loads(out)["tracks"][0]["systems"] if row["system"] == "one")
        widths[place] = width(row["scores"]["accuracy"]["ci"])
    assert widths["units"] > 2 * widths["items"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('halu-es"', 'halu es"'), "name: expected lower-case letters"),
        (('"{split}.json"', '"*{split}*.json"'), "files.predictions: expected one * at most"),
        (
            ("[files]", '[[columns]]\nkey = "a"\nmetric = "rho"\nundefined = nan\n[files]'),
            "columns[0].undefined: expected a finite number",
        ),
        (
            ("[[splits]]", '[[tracks]]\nname = "a-b"\n[[tracks]]\nname = "a_b"\n[[splits]]'),
            "two tracks have the column a_b_accuracy",
        ),
        (("SUM = {", 'SUM = {like = "QA", '), "invalid enum value 'QA'"),
        (('"{split}.json"', '"{split}.csv"'), "files.predictions: expected a file name that ends"),
        (
            ("[item]", '[pages]\noverview = "none.html"\n[item]'),
            "pages.overview: no file",
        ),
        (('id = "string"', 'id = "string"\nkeys = {idd = "x"}'), "item.keys.idd: no such key; did"),
        (
            ("[files]", 'metrics = ["rho", "rho"]\n[files]'),
            "metrics[1]: expected a name",
        ),
        (
            ("start = 2027-01-10", "start = 2027-01-10\nper_day = 0"),
            "per_day and total of",
        ),
        (("year = 2027", 'year = "x"'), "year: expected `int`, got `str`"),
        (("start = 2027-02-01", "start = 2027-01-01"), "phases[1].start: expected a day after"),
        (('split = "eval"\n', 'split = "test"\n'), "phases[2].split: no split 'test'"),
        (("[item]", '[item]\nreferense = "tgt"'), "item.referense: no such key; did you mean"),
        (("[files]", 'metrics = ["acc"]\n[files]'), "metrics[0]: no metric 'acc'"),
        (('"{split}.json"', '"sub.json"'), "files.predictions: expected {split} in it"),
        (('name = "eval"', 'name = "dev"'), "splits[1]: expected a name of its own"),
        (
            ("[files]", '[[columns]]\nkey = "' + "k" * 36 + '"\nmetric = "rho"\n[files]'),
            "at most 35",
        ),
    ],
)
def test_what_is_wrong_with_an_edition_is_reported_with_its_place(tmp_path, change, sentence):
    path = tmp_path / "edition.toml"
    assert EDITION.replace(*change) != EDITION
    path.write_text(EDITION.replace(*change))
    with pytest.raises(ShroomError, match=re.escape(sentence)):
        read(path)


@pytest.mark.parametrize("name", files.built_in_names())
def test_the_kits_editions_are_valid(name):
    plain = tomllib.loads(files.text_of(name))
    assert problems_of(plain) == []
    again = from_plain(to_plain(built_in(name)))
    assert to_plain(again) == to_plain(built_in(name))
    assert built_in(name).name == name


def test_the_template_is_a_valid_edition(tmp_path, shroom):
    path = tmp_path / "edition.toml"
    assert shroom("edition", "init", "-o", path)[0] == 0
    assert shroom("edition", "check", path)[0] == 0
    code, _, err = shroom("edition", "init", "-o", path)
    assert code == 1
    assert "exists already" in err
    shroom("edition", "init", "--like", "cap2025", "-o", tmp_path / "like.toml")
    assert read(tmp_path / "like.toml").name == "my-cap2025"


def test_the_schema_takes_what_the_kit_takes():
    schema = files.schema()
    jsonschema.validate(to_plain(built_in("semeval2024")), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": 3}, schema)


def test_gold_without_the_string_ids_of_its_edition_is_refused(task, shroom):
    for file in ("gold/dev.json", "systems/near/dev.json"):
        rows = json.loads((task / file).read_text())
        write_json(task / file, [{k: v for k, v in row.items() if k != "id"} for row in rows])
    code, _, err = shroom("score", "systems/near/dev.json", "gold/dev.json")
    assert (code, "expected an id in every row, got none on 100 items" in err) == (1, True)


def test_an_edition_that_is_named_counts_more_than_the_form_of_the_gold(task, shroom):
    gold = [{"index": "en-1", "has_factual_mistakes": "y", "has_fluency_mistakes": "n"}]
    write_json(task / "cap.json", gold)
    (task / "gold/edition.toml").unlink()
    _, _, err = shroom("score", "cap.json", "cap.json", "--edition", "semeval2024")
    assert "taken as that" not in err


def test_the_votes_may_have_a_key_of_their_own(task, shroom):
    rows = json.loads((task / "gold/dev.json").read_text())
    write_json(task / "gold/dev.json", [{**row, "votes": row.pop("labels")} for row in rows])
    edition = EDITION.replace('id = "string"', 'id = "string"\nkeys = {labels = "votes"}')
    (task / "gold/edition.toml").write_text(edition)
    code, out, _ = shroom("gold", "agreement", "gold/dev.json", "--format", "json", "--no-ci")
    assert (code, json.loads(out)["results"][0]["n"]) == (0, 100)


def test_names_are_found_between_words_alone_and_in_no_time():
    tracks = (Track("en"), Track("e"))
    edition = Edition("x", "X", 2027, tracks=tracks, files=Files("{track}_{split}.json"))
    names = ("open_val.json", "golden_val.json", "value_test.json", "en_value.json")
    assert [edition.guess(name) for name in names] == [None] * 4
    assert edition.guess("team.en_val_v2.json").key == ("val", "en")
    assert edition.guess("e_val" * 20_000) is None
    twice = Edition("x", "X", 2027, files=Files("{split}_{split}.json"))
    assert twice.parse("val_val.json").split == "val"
    assert twice.parse("val_test.json") is None
    assert str(Edition("x", "X", 2027).parse("val.json")) == "val"


def test_a_frame_is_not_taken_for_a_folder_of_its_name(task):
    gold = json.loads((task / "gold/dev.json").read_text())
    with pytest.raises(InvalidInput):  # 2024 has integer ids
        score(gold, gold)
    assert score(gold, gold, edition="gold/edition.toml").results[0].n == 100


def test_ids_of_tables_stay_the_texts_that_they_are(task, shroom):
    gold = json.loads((task / "gold/dev.json").read_text())[:30]
    for number, row in enumerate(gold):
        row["id"] = f"{number:03}"
    write_json(task / "gold/dev.json", gold)
    lines = [f"{row['id']},{row['label']},{row['p(Hallucination)']}" for row in gold]
    (task / "dev.csv").write_text("\n".join(["id,label,p", *lines]))
    assert shroom("check", "dev.csv", "--gold", "gold/dev.json")[0] == 0


def test_gold_with_a_name_of_its_own_serves_as_data(task, shroom):
    edition = task / "gold/edition.toml"
    pattern = 'predictions = "{split}.json"'
    edition.write_text(EDITION.replace(pattern, pattern + '\ngold = "{split}.gold.json"'))
    for split in SIZES:
        (task / f"gold/{split}.json").rename(task / f"gold/{split}.gold.json")
    assert shroom("predict", "lexical", "gold", "-o", "lexical.zip")[0] == 0
    assert shroom("score", "lexical.zip", "gold", "--no-ci")[0] == 0


def test_a_split_that_there_is_not_is_refused(task, shroom):
    code, _, err = shroom("leaderboard", "systems", "gold", "--split", "evl")
    assert (code, "no split 'evl' of halu-es; did you mean 'eval'?" in err) == (2, True)


def test_file_names_by_language_and_role():
    edition = Edition(
        "x",
        "X",
        2027,
        tracks=tuple(Track(lang) for lang in ("en", "es")),
        splits=(Split("train"), Split("train2")),
        files=Files("{lang}_{split}_label.jsonl", data="{lang}_{split}_data.jsonl"),
    )
    assert edition.parse("es_train2_label.v3.jsonl.gz").version == 3
    assert str(edition.parse("en_train_data.jsonl", Role.DATA)) == "train en"
    assert edition.parse("en_train_data.jsonl", Role.GOLD) is None
    assert edition.guess("team.en_train2_label_v1.jsonl").key == ("train2", "en")
    assert edition.expected_name(("train",)) == "{en,es}_train_label.jsonl"


#: Where the names of 2024 belong: its edition, its data set, and detectors that are fitted on it.
OF_2024 = (
    "shroom/scoring/editions/",
    "shroom/datasets/semeval2024/",
    "shroom/core/datapoint.py",
    "shroom/detectors/",
)


def constants(path):
    """Yield the texts and numbers of a module's code, without its documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_example = isinstance(node, ast.Constant) and str(node.value).startswith("shroom ")
        if isinstance(node, ast.Constant) and id(node) not in documentation and not is_example:
            yield node.lineno, node.value


def test_no_other_module_names_a_file_a_track_a_task_or_a_count_of_2024():
    naming = [
        f"{path}:{line}: {value!r}"
        for path in sorted((ROOT / "shroom").rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(OF_2024)
        for line, value in constants(path)
        if re.search("model-(agnostic|aware)|^(DM|MT|PG|TS)$", str(value)) or value in (499, 1500)
    ]
    assert naming == []
