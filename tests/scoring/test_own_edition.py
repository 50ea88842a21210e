"""Editions, and a shared task of others: Spanish, string ids, QA and SUM, one track, 7 votes."""

from __future__ import annotations

import ast
import csv
import json
import random
import re
import shutil
import tomllib
import zipfile
from dataclasses import replace
from html import unescape

import jsonschema
import pandas as pd
import pytest
from conftest import ROOT, write_json
from conftest import gold as made_up_gold
from made_up import AGNOSTIC, AWARE, answers, contest

from shroom.core.atomic_writing import encoded
from shroom.core.problems import InvalidInput, ShroomError
from shroom.detectors.recipe import Recipe
from shroom.metrics.intervals import Intervals
from shroom.scoring.check import check
from shroom.scoring.display.html import scores_page
from shroom.scoring.editions import files
from shroom.scoring.editions.edition import Edition, Files, Split, Track
from shroom.scoring.editions.files import built_in, read
from shroom.scoring.editions.plain import from_plain, to_plain
from shroom.scoring.editions.validation import validated
from shroom.scoring.scores import score
from shroom.scoring.scores import score as kit_score
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


def write_text(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


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


@pytest.mark.parametrize("pattern", ["gold{split}.csv", "{split}gold.tsv", "{split}_gold.csv"])
def test_tables_of_gold_are_checked_as_a_submission(task, pattern, shroom):
    edition = EDITION.replace('json"', f'json"\ngold = "{pattern}"')
    options = ("--edition", write_text(task / "folder" / "edition.toml", edition).parent)
    code, _, err = shroom("check", "folder", *options)
    assert (code, f"expected a .json or {pattern[-4:]} file, got" in err) == (1, True), err
    separator = "," if pattern.endswith(".csv") else "\t"
    for split in SIZES:
        rows = pd.DataFrame(rows_of(task / "gold" / f"{split}.json"))
        rows.to_csv(task / "folder" / pattern.format(split=split), index=False, sep=separator)
    code, out, err = shroom("check", "folder", *options)
    assert (code, "valid: dev (100 items), eval (200 items)" in out) == (0, True), err


LINES = {
    "score systems/near/dev.json gold/dev.json --format codalab": "accuracy: .+\nrho: .+\n",
    "compare systems/near systems/far gold --trials 99": r".*dev, accuracy, n = 100.*",
    "leaderboard systems gold --split eval --trials 99 --format csv": r".*,1,\S*near.*,2,\S*far.*",
    "gold agreement gold --format json --no-ci": r'.*"dev".*"QA".*"SUM".*"eval".*"QA".*"SUM".*',
    "predict lexical gold -o lexical.zip": "",
    "score lexical.zip gold --no-ci": r".*task SUM.*",
    "report systems/near gold -o report.html --no-ci": "",
}


def test_every_verb_goes_by_the_edition_beside_the_gold(task, shroom):
    for line, expected in LINES.items():
        code, out, err = shroom(*line.split())
        assert (code, "note: the edition is halu-es, by gold/" in err) == (0, True), err
        assert re.fullmatch(expected, out, re.DOTALL), out
    with zipfile.ZipFile("lexical.zip") as archive:
        assert json.loads(archive.read("dev.json"))[0]["id"] == "es-dev-0"
    assert "SUM" in (task / "report.html").read_text()


def rows_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_ids_are_strings_and_fixing_keeps_them(task, shroom):
    rows, gold = rows_of(task / "systems/near/dev.json"), rows_of(task / "gold/dev.json")
    write_json(task / "numbers.json", [*rows[:3], {**rows[3], "id": 3}, *rows[4:]])
    code, _, err = shroom("check", "numbers.json", "--gold", "gold/dev.json")
    assert code == 1
    assert "numbers.json: item 3: id: expected a string of at most 100 characters, got 3" in err
    write_json(task / "DEV.json", [{**row, "label": row["label"].lower()} for row in rows[::-1]])
    assert shroom("check", "DEV.json", "--gold", "gold", "--fix", "fixed.json")[0] == 0
    assert rows_of(task / "fixed.json") == rows
    for row in (*rows, *gold):
        row["id"] = f"{row['id'][7:]:0>3}"
    write_json(task / "gold/dev.json", gold)
    lines = [f"{row['id']},{row['label']},{row['p(Hallucination)']}" for row in rows]
    (task / "dev.csv").write_text("\n".join(["id,label,p", *lines]))
    assert shroom("check", "dev.csv", "--gold", "gold/dev.json")[0] == 0
    for row in (*rows, *gold):
        del row["id"]
    write_json(task / "gold/dev.json", gold)
    code, _, err = shroom("score", write_json(task / "dev.json", rows), "gold/dev.json")
    assert (code, "expected an id in every row, got none on 100 items" in err) == (1, True)


def test_an_edition_that_is_named_counts(task, shroom):
    gold = rows_of(task / "gold/dev.json")
    with pytest.raises(InvalidInput):  # a frame is no folder of its name; 2024 has integer ids
        score(gold, gold)
    assert score(gold, gold, edition="gold/edition.toml").results[0].n == 100
    code, _, err = shroom("leaderboard", "systems", "gold", "--split", "evl")
    assert (code, "no split 'evl' of halu-es; did you mean 'eval'?" in err) == (2, True)
    row = {"index": "en-1", "has_factual_mistakes": "y", "has_fluency_mistakes": "n"}
    cap = write_json(task / "cap.json", [row])
    assert "taken as that" in shroom("score", cap, cap)[2]
    assert "taken as that" not in shroom("score", cap, cap, "--edition", "semeval2024")[2]


def averaged(tmp_path, more=""):
    """Write the edition of 2024 with a mean over tracks under another name."""
    text = files.text_of("semeval2024").replace("year = 2024", "year = 2024\naverage = true")
    (tmp_path / "edition.toml").write_text(text.replace('"semeval2024"', '"averaged"', 1) + more)
    return ("--edition", tmp_path / "edition.toml")


def test_the_mean_over_tracks_is_scored_and_ranked(tmp_path, shroom):
    edition = averaged(tmp_path)
    systems, gold = contest(tmp_path, {"good": 0.3, "poor": 0.7}, files=(AGNOSTIC, AWARE))
    options = (*edition, "--resamples", "50")
    call = ("score", systems / "good", gold, *options)
    found = json.loads(shroom(*call, "--format", "json")[1])
    expected = sum(result["rho"] for result in found["results"]) / 2
    assert found["mean"]["rho"] == pytest.approx(expected, rel=1e-12)
    _, out, _ = shroom("leaderboard", systems, gold, *options, "--trials", "99", "--format", "json")
    rows = [row for row in json.loads(out)["rows"] if row["track"] == "mean of 2 tracks"]
    assert [(row["system"], row["rank"]) for row in rows] == [("good", 1), ("poor", 2)]
    assert rows[0]["rho"] == pytest.approx(expected, rel=1e-12)
    assert rows[0]["rho_ci"][0] < expected < rows[0]["rho_ci"][1]
    # The tracks have 60 items each: the interval of their mean is narrower by the square root of 2.
    widths = [width(result["accuracy_ci"]) for result in found["results"]]
    low, high = found["mean"]["accuracy_ci"]
    assert high - low == pytest.approx(sum(widths) / 2 / 2**0.5, rel=0.02)
    assert rows[0]["accuracy_ci"] == found["mean"]["accuracy_ci"]
    assert found["mean"]["tracks"] == 2
    (row,) = (
        row
        for row in csv.DictReader(shroom(*call, "--format", "csv")[1].splitlines())
        if "mean" in row["track"]
    )
    assert (float(row["accuracy_low"]), row["n"]) == (low, "120")
    page = tmp_path / "report.html"
    assert shroom("report", systems / "good", gold, *edition, "-o", page)[0] == 0
    result = kit_score(systems / "good", gold, edition=edition[1], intervals=Intervals(50))
    for text, place in (
        (shroom(*call)[1], "mean over 2 tracks"),
        (scores_page(result), "mean over 2 tracks"),
        (result._repr_html_(), "mean over 2 tracks"),
        (page.read_text(encoding="utf-8"), '<h2 id="mean-1">'),
    ):
        assert f"[{low:.3f}, {high:.3f}]" in text.partition(place)[2]


@pytest.mark.parametrize("key", ["id", "src", "question", ""])
def test_a_mean_over_tracks_with_common_items_has_a_wider_interval(tmp_path, shroom, key):
    """A system may be wrong on the same questions in every language."""
    options = (*averaged(tmp_path, '[item]\nunit = "question"\n'), "--format", "json")
    systems, truth = tmp_path / "systems", tmp_path / "gold"
    for track in (AGNOSTIC, AWARE):
        rows = [
            {**row, "id": n + 100 * (track == AWARE)}
            | {it: f"{track} {n} {it}" for it in ("src", "tgt", "hyp", "question")}
            | ({key: n if key == "id" else f"{n}"} if key else {})
            for n, row in enumerate(made_up_gold(40, first_id=1))
        ]
        if key == "src":
            rows = [{k: v for k, v in row.items() if k != "id"} for row in rows]
        write_json(truth / track, rows)
        write_json(
            systems / "one" / track, [row | said for row, said in zip(rows, answers(rows, 0.6))]
        )
    options = (*options, "--resamples", "50")
    code, out, err = shroom("score", systems / "one", truth, *options)
    assert code == 0, err
    found = json.loads(out)
    wide = sum(width(result["accuracy_ci"]) for result in found["results"]) / 2
    expected = pytest.approx(wide if key else wide / 2**0.5, rel=0.02)
    assert width(found["mean"]["accuracy_ci"]) == expected
    board = json.loads(shroom("leaderboard", systems, truth, *options)[1])
    (row,) = (row for row in board["rows"] if row["track"] == "mean of 2 tracks")
    assert row["accuracy_ci"] == found["mean"]["accuracy_ci"]


def test_of_two_splits_each_has_a_mean_over_its_own_tracks(tmp_path, shroom):
    edition = averaged(tmp_path)
    both = ("val.model-aware.json", "val.model-agnostic.json")
    every = (*both, *(name.replace("val", "test") for name in both))
    systems, gold = contest(tmp_path, {"one": 0.5}, n=30, files=every)
    line = ("score", systems / "one", gold, *edition)
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
    gold |= {"beside": gold["data"] / "dev.json", "alone": write("alone")}
    one = ("score", systems / "one" / "dev.json")
    found = {
        place: json.loads(shroom(*one, folder, *options, "--format", "json")[1])
        for place, folder in gold.items()
    }
    alone = found.pop("alone")
    for of_units in found.values():
        assert of_units["results"] == found["rows"]["results"]
        assert of_units["intervals"]["unit"] == "question"
        assert of_units["warnings"] == found["rows"]["warnings"]
    assert "unit" not in alone["intervals"]
    assert any("no item has question" in line for line in alone["warnings"])
    wide, narrow = found["rows"]["results"][0], alone["results"][0]
    for whole, part in (
        (wide, narrow),
        (wide["slices"]["task"]["MT"], narrow["slices"]["task"]["MT"]),
    ):
        assert width(whole["accuracy_ci"]) > 1.5 * width(part["accuracy_ci"])
    assert wide["accuracy"] == narrow["accuracy"]
    _, out, _ = shroom(*one, gold["rows"], *options)
    assert "1000 bootstrap resamples of whole units (question), seed 0" in out


def test_systems_are_compared_by_units(answered, shroom):
    write, systems, options = answered
    found = {}
    for place, gold in (("units", write("rows", data=False)), ("items", write("alone"))):
        line = (systems / "one", systems / "other", gold, *options)
        _, out, _ = shroom("compare", *line, "--trials", "999", "--format", "json")
        rows = json.loads(out)["comparisons"]
        (found[place],) = (row for row in rows if row["metric"] == "accuracy")
    units, items = found["units"], found["items"]
    assert units["difference"] == items["difference"]
    assert width(units["ci"]) > 2 * width(items["ci"])
    # Five questions of 15 differ: all signs alike have a chance of 2/32. Of 40 answers it is tiny.
    assert units["p"] == pytest.approx(2 / 32, abs=0.03)
    assert items["p"] < 0.01
    assert "mcnemar" not in units
    assert items["mcnemar"]["p"] < 0.01
    line = ("leaderboard", systems, write("rows", data=False), *options, "--trials", "99")
    assert "resamples of whole units (question)" in shroom(*line)[1]


@pytest.mark.parametrize(("data", "is_missing"), [(False, False), (True, False), (None, True)])
def test_units_that_the_gold_lacks_are_named(answered, shroom, data, is_missing):
    """Rows name their question themselves (False), a data file does (True), or nothing (None)."""
    write, systems, options = answered
    gold, page = write("gold", data), systems.parent / "r.html"
    one, other = systems / "one" / "dev.json", systems / "other" / "dev.json"
    for line in (
        ("score", one, gold),
        ("compare", one, other, gold, "--trials", "99"),
        ("leaderboard", systems, gold, "--trials", "99"),
        ("gold", "rescore", gold, gold, systems),
        ("report", one, gold, "-o", page),
    ):
        code, out, err = shroom(*line, *options, "--resamples", "50")
        assert code == 0, err
        shown = page.read_text(encoding="utf-8") if line[0] == "report" else out
        assert ("(without question, each item counts as independent)" in shown) == is_missing
    assert shroom("gold", "check", gold, *options)[1].count("unit-missing") == is_missing
    call = ("bundle", "--gold", gold, *options, "-o", gold.parent / "out", "--no-predictions")
    assert shroom(*call, "--allow")[2].count("[unit-missing]") == is_missing


def test_a_new_gold_is_judged_by_units(answered, shroom):
    write, systems, options = answered
    widths = []
    for data in (False, None):
        old = write(f"{data}-old", data)
        rows = rows_of(old / "dev.json")
        for row in rows[:40]:
            row["label"], row["p(Hallucination)"] = "Not Hallucination", 0.1
        new = write_json(systems.parent / f"{data}-new" / "dev.json", rows).parent
        _, out, _ = shroom("gold", "rescore", old, new, systems, *options, "--format", "json")
        of_systems = {row["system"]: row for row in json.loads(out)["tracks"][0]["systems"]}
        widths.append(width(of_systems["one"]["scores"]["accuracy"]["ci"]))
    assert widths[0] > 2 * widths[1]


#: A part of the edition, what stands in its place, or new tables if there is no such part, and what
#: is said.
WRONG = [
    ('halu-es"', 'halu es"', "name: expected lower-case letters"),
    ("year = 2027", 'year = "x"', "year: expected `int`, got `str`"),
    ("SUM = {", 'SUM = {like = "QA", ', "tasks.SUM.like: invalid enum value 'QA'"),
    ("[item]", '[item]\nreferense = "tgt"', "item.referense: no such key; did you mean"),
    ('"string"', '"string"\nkeys = {idd = "x"}', "item.keys.idd: no such key; did"),
    ('"{split}.json"', '"*{split}*.json"', "files.predictions: expected one * at most"),
    ('"{split}.json"', '"{split}.txt"', "files.predictions: expected a file name that ends"),
    ('"{split}.json"', '"sub.json"', "files.predictions: expected {split} in it"),
    ('name = "eval"', 'name = "dev"', "splits[1]: expected a name of its own"),
    ("[files]", 'metrics = ["rho", "rho"]\n[files]', "metrics[1]: expected a name"),
    ("[files]", 'metrics = ["acc"]\n[files]', "metrics[0]: no metric 'acc'"),
    ("start = 2027-01-10", "start = 2027-01-10\nper_day = 0", "per_day and total of"),
    ("start = 2027-02-01", "start = 2027-01-01", "phases[1].start: expected a day after"),
    ('split = "eval"\n', 'split = "test"\n', "phases[2].split: no split 'test'"),
    ("start = 2027-01-10", "start = 0001-01-01T00:00:00+14:00", "phases[0]: 0001-01-01"),
    ("end = 2027-03-14", "end = 9999-12-31T23:59:59-12:00", "phases[2]: 9999-12-31"),
    (
        "",
        '[[tracks]]\nname = "a-b"\n[[tracks]]\nname = "a_b"',
        "two tracks have the column a_b_acc",
    ),
    (
        "",
        '[[columns]]\nkey = "a"\nmetric = "rho"\nundefined = nan',
        "columns[0].undefined: expected",
    ),
    ("", f'[[columns]]\nkey = "{"k" * 36}"\nmetric = "rho"', "at most 35"),
    ("", '[annotation]\nlabels = ["a"]', "annotation.labels: expected two words, the one for"),
    ("", '[annotation]\nlabels = ["Not Hallucination", "x"]', "annotation.labels: expected two"),
    (
        "",
        '[annotation]\nkind = "spans"\nlabels = ["a"]',
        "labels: expected none for the kind spans",
    ),
    ("", '[pages]\noverview = "none.html"', "pages.overview: no file"),
    ("", '[pages]\n"../../evil" = "edition.toml"', "pages.../../evil: expected a name of letters"),
    ("", '[pages]\n"/etc/x" = "edition.toml"', "pages./etc/x: expected a name of letters"),
    ("", '[pages]\n"a.b" = "edition.toml"', "pages.a.b: expected a name of letters"),
    ("", '[pages]\nOVERVIEW = "edition.toml"', "there is a page overview already"),
    ("", '[pages]\na_b = "edition.toml"\n"A b" = "edition.toml"', "there is a page a b already"),
]


@pytest.mark.parametrize(("part", "change", "sentence"), WRONG)
def test_what_is_wrong_with_an_edition_is_said_with_its_place(tmp_path, part, change, sentence):
    path = tmp_path / "edition.toml"
    assert part in EDITION
    path.write_text(EDITION.replace(part, change) if part else EDITION + change)
    with pytest.raises(ShroomError, match=re.escape(sentence)):
        read(path)


def test_all_unknown_keys_and_wrong_types_are_said_at_once(tmp_path):
    path = tmp_path / "edition.toml"
    path.write_text('name = 3\n[item]\nkind = "x"\n[[phases]]\nname = "a"\nend = 5')
    with pytest.raises(ShroomError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: name: expected `str`, got `int`; item.kind: no such key;"
        " did you mean 'id'? there are id, keys, reference, unit; phases[0].end: expected `date |"
        " null`, got `int`; phases[0]: object missing required field `split`; the file: object"
        " missing required field `title`; the file: object missing required field `year`"
    )


@pytest.mark.parametrize("name", files.NAMES)
def test_the_kits_editions_are_valid(name):
    plain = tomllib.loads(files.text_of(name))
    again = from_plain(to_plain(validated(plain)))
    assert to_plain(again) == to_plain(built_in(name))
    assert built_in(name).name == name


def test_the_names_of_the_kits_editions_are_those_of_its_files():
    folder = ROOT / "shroom" / "scoring" / "editions"
    assert sorted(files.NAMES) == sorted(path.stem for path in folder.glob("*.toml"))


@pytest.mark.parametrize("name", files.NAMES)
def test_a_name_of_the_kits_editions_means_the_kits_and_no_other(name, task, shroom):
    (task / name).write_text(EDITION)
    (task / f"{name}.d").mkdir()
    assert files.resolve(name) == (built_in(name), None)
    (task / name).unlink()
    (task / name).mkdir()
    (task / name / "edition.toml").write_text(EDITION)
    assert files.resolve(name) == (built_in(name), None)
    assert files.resolve(f"./{name}/")[0].name == "halu-es"
    path = task / "taken.toml"
    path.write_text(files.text_of(name).replace("\n[", "\n\n# a comment\n["))
    assert files.digest(read(path)) == ""
    path.write_text(EDITION.replace("halu-es", name))
    code, _, err = shroom("edition", "check", path)
    assert (code, "has other rules; choose another name" in err) == (1, True)


def test_the_hash_in_a_signature_is_of_the_content_and_not_of_its_form(tmp_path):
    forms = {
        "as.toml": EDITION,
        "spaced.toml": EDITION.replace(" = ", "=").replace("\n\n", "\n# a comment\n\n"),
        "defaults.toml": EDITION.replace("year = 2027", "year = 2027\naverage = false", 1),
        "as.json": json.dumps(tomllib.loads(EDITION), default=str),
        "other.toml": EDITION.replace("2027-03-14", "2027-03-15"),
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text)
    first, *same, other = (files.digest(read(tmp_path / name)) for name in forms)
    assert same == [first] * 3
    assert (len(first), other != first) == (6, True)
    packed = from_plain(json.loads(json.dumps(to_plain(read(tmp_path / "as.toml")))))
    assert files.digest(packed) == first  # in the scoring program


DEEP = {
    "key.toml": "a" + ".a" * 30_000 + " = 1",
    "quoted.toml": "'a'" + ' . "a"' * 10_000 + " = 1",
    "header.toml": "[a" + ".a" * 30_000 + "]",
    "tables.toml": "[[a" + ".a" * 30_000 + "]]",
    "list.toml": "a = " + "[" * 30_000,
    "inline.toml": "a = " + "{a = " * 30_000,
    "mixed.toml": "a = " + "[{a = " * 30_000,
    "after a text.toml": 'a = """\\""" # [\n"""\nb' + ".b" * 30_000 + " = 1",
    "list.json": '{"a": ' + "[" * 30_000,
    "object.json": '{"a":' * 30_000,
}


@pytest.mark.parametrize("read_file", [read, lambda path: Recipe.of(str(path))])
@pytest.mark.parametrize("name", DEEP)
def test_a_file_is_not_read_beyond_ten_levels(name, read_file, tmp_path, monkeypatch):
    if read_file is not read and name.endswith(".json"):
        name = "key.toml"  # there are no recipes in JSON
    (tmp_path / name).write_text(DEEP[name])
    for parser in (tomllib, json):
        monkeypatch.setattr(parser, "loads", lambda _: pytest.fail("was parsed"))
    with pytest.raises(ShroomError, match="nests too deeply; use at most 10 levels"):
        read_file(tmp_path / name)


@pytest.mark.parametrize("name", ["big.toml", "big.json"])
def test_a_file_is_not_read_beyond_a_mebibyte(name, tmp_path):
    (tmp_path / name).write_text("#" * (1 << 20) + "\n")
    with pytest.raises(ShroomError, match="is larger than 1048576 bytes"):
        read(tmp_path / name)


def test_dots_and_brackets_in_texts_are_no_levels(tmp_path):
    texts = ["a.b." * 20 + "[{" * 20, "it's \\\" " + "[" * 20, "\n" + "." * 20 + "''' #"]
    for text in texts:
        path = tmp_path / "edition.toml"
        named = EDITION.replace('"Alucinaciones"', json.dumps(text))
        path.write_text(f"# {'[' * 20} {'a.' * 20}\n{named}")
        assert read(path).title == text


@pytest.mark.parametrize("kind", ["..", "absolute", "link", "linked folder"])
def test_pages_lie_in_the_folder_of_the_edition(kind, task, shroom):
    secret = task / "secret.md"
    secret.write_text("Not for participants.")
    (task / "gold" / "own.md").write_text("Terms.")
    (task / "gold" / "link.md").symlink_to("own.md")
    (task / "gold" / "edition.toml").write_text(f'{EDITION}[pages]\nterms = "link.md"\n')
    assert shroom("edition", "check", "gold/edition.toml")[0] == 0
    page = {"..": "../secret.md", "absolute": str(secret), "link": "l.md"}.get(kind, "f/secret.md")
    (task / "gold" / "l.md").symlink_to(secret)
    (task / "gold" / "f").symlink_to(task)
    (task / "gold" / "edition.toml").write_text(f'{EDITION}[pages]\nterms = "{page}"\n')
    for line in ("edition check gold/edition.toml", "bundle --gold gold -o out"):
        code, _, err = shroom(*line.split())
        assert (code, "lies outside the folder of the edition" in err) == (1, True), err
    from shroom.bundle.building import build

    edition = replace(built_in("semeval2024"), pages={"terms": page})
    with pytest.raises(ShroomError, match="lies outside the folder of the edition"):
        build(ROOT / "shroom" / "sample", edition=edition, folder=task / "gold")


@pytest.mark.parametrize("odd", ["\x1b[31m", "\x9b31m", "\u202e", "\u2066", "\x07", "\r"])
def test_no_title_steers_a_terminal(odd, task, shroom):
    title = json.dumps(f"Task {odd}")
    tracks = f'[[tracks]]\nname = "es"\ntitle = {title}\n'
    text = EDITION.replace('"Alucinaciones"', title) + tracks
    (task / "gold" / "edition.toml").write_text(text)
    gold, near = "gold/dev.json", "systems/near/dev.json"
    for line in (
        ("edition", "check", "gold/edition.toml"),
        ("edition", "show", "gold/edition.toml"),
        ("score", near, gold, "--no-ci"),
        ("leaderboard", "systems", "gold", "--no-ci", "--split", "dev"),
        ("report", near, gold, "-o", "r.html", "--no-ci"),
        ("gold", "check", "gold", "--no-ci"),
    ):
        _, out, err = shroom(*line)
        assert odd not in out + err
    shown = json.loads(shroom("edition", "show", "gold/edition.toml")[1])
    assert shown["title"] == f"Task {odd}"
    (task / "gold" / "edition.toml").write_text(text.replace('"es"', json.dumps(f"es{odd}")))
    assert "expected a name without control characters" in shroom("gold", "check", "gold")[2]


@pytest.mark.parametrize("packed", ["folder", "zip", "tar"])
def test_an_edition_in_a_submission_is_not_followed(packed, task, shroom):
    """Even where it is a valid one; that beside the gold is."""
    sub = shutil.copytree(task / "systems" / "near", task / "sub")
    (sub / "edition.toml").write_text(EDITION.replace("halu-es", "theirs"))
    named = sub
    if packed != "folder":
        named = shutil.make_archive(str(sub / "packed"), packed, sub)
    for source in (named, sub / "dev.json"):
        code, out, err = shroom("check", source)
        assert (code, "theirs" in out + err) == (1, False)  # 2024 has integer ids
        assert check(source).edition.name == "semeval2024"
    _, out, err = shroom("check", sub, "--gold", "gold", "--format", "json")
    assert "note: the edition is halu-es, by gold/edition.toml" in err
    assert check(sub, "gold").edition.name == score(sub, "gold").edition.name == "halu-es"
    assert shroom("ensemble", sub, sub, "-o", "both")[0] == 1
    assert shroom("ensemble", sub, sub, "-o", "both", "--edition", "gold/edition.toml")[0] == 0
    calibrator = ("--method", "platt", "-o", "c.json")
    assert shroom("calibrate", sub / "dev.json", "gold/dev.json", *calibrator)[0] == 0
    assert shroom("calibrate", "--apply", "c.json", sub / "dev.json", "-o", "dev.json")[0] == 1


def test_the_template_and_a_copy_are_valid_editions(tmp_path, shroom):
    for line, name in (([], "my-task"), (["--like", "cap2025"], "my-cap2025")):
        path = tmp_path / f"{name}.toml"
        assert shroom("edition", "init", *line, "-o", path)[0] == 0
        assert read(path).name == name


def test_the_schema_takes_what_the_kit_takes():
    schema = files.schema()
    jsonschema.validate(to_plain(built_in("semeval2024")), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": 3}, schema)


NAMES = {"label": "verdict", "p(Hallucination)": "confidence", "labels": "votes"}
WORDS = {"Hallucination": "refuted", "Not Hallucination": "supported"}


def in_own_words(row):
    row = {NAMES.get(key, key): value for key, value in row.items()}
    row["verdict"] = WORDS[row["verdict"]]
    if "votes" in row:
        row["votes"] = [WORDS[vote] for vote in row["votes"]]
    return row


@pytest.fixture
def worded(task):
    """Return the folder of the task, whose files have keys and words of their own."""
    keys = 'keys = {label = "verdict", p = "confidence", labels = "votes"}'
    edition = EDITION.replace('id = "string"', f'id = "string"\n{keys}')
    edition += '[annotation]\nlabels = ["refuted", "supported"]\n'
    expected = figures(score(task / "systems/near", task / "gold"))
    (task / "gold/edition.toml").write_text(edition)
    for folder in ("gold", "systems/near", "systems/far"):
        for path in (task / folder).glob("*.json"):
            (task / "kit" / folder).mkdir(parents=True, exist_ok=True)
            (task / "kit" / folder / path.name).write_bytes(path.read_bytes())
            write_json(path, list(map(in_own_words, json.loads(path.read_text()))))
    return task, expected


def figures(result):
    return [(each.scores, each.intervals) for each in result.results]


def test_labels_and_keys_of_a_binary_edition_can_be_set(worded, shroom):
    task, expected = worded
    assert figures(score(task / "systems/near", task / "gold")) == expected
    # the kit's own words and keys, as detectors write them, are understood as well
    assert figures(score(task / "kit/systems/near", task / "gold")) == expected
    rows = rows_of(task / "systems/near/dev.json")
    (task / "dev.csv").write_text(pd.DataFrame(rows).to_csv(index=False))
    checked = check(task / "dev.csv", task / "gold/dev.json")
    assert (checked.ok, checked.problems.codes) == (True, set())
    assert shroom("gold", "check", "gold", "--edition", "gold/edition.toml")[0] == 0
    assert shroom("gold", "agreement", "gold/dev.json")[0] == 0
    assert shroom("fit", "lexical", "gold/dev.json", "-o", "model")[0] == 0
    assert shroom("edition", "show", "gold/edition.toml")[0] == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"verdict": "Refuted "}, 'verdict: expected "refuted" or "supported", got "Refuted "'),
        ({"confidence": "0.25"}, 'confidence: expected a number, got "0.25"'),
        ({"confidence": None}, "confidence: expected a number, got null"),
        ({"verdict": "unsure"}, 'verdict: expected "refuted" or "supported", got "unsure"'),
        ({"verdict": ...}, 'expected the key "verdict", got keys'),
    ],
)
def test_problems_and_fixes_have_the_keys_and_words_of_the_edition(worded, shroom, change, said):
    task, _ = worded
    rows = rows_of(task / "systems/near/dev.json")
    spoiled = {key: value for key, value in {**rows[0], **change}.items() if value is not ...}
    write_json(task / "dev.json", [spoiled, *rows[1:]])
    code, _, err = shroom("check", "dev.json", "--gold", "gold/dev.json")
    assert (code, said in err) == (1, True), err
    code, _, err = shroom("check", "dev.json", "--gold", "gold/dev.json", "--fix", "fixed.json")
    is_fixed = "Refuted " in change.values() or "0.25" in change.values()
    assert code == (0 if is_fixed else 1)
    if is_fixed:
        meant = {"verdict": "refuted"} if "verdict" in change else {"confidence": 0.25}
        assert rows_of(task / "fixed.json") == [{**rows[0], **meant}, *rows[1:]]
        ((key, value),) = change.items()
        assert f"item 0: {key}: {json.dumps(value)} became {json.dumps(meant[key])} [" in err


@pytest.mark.parametrize("name", ["dev.json", "dev.csv"])
def test_keys_of_the_edition_are_recognised_in_another_spelling(worded, shroom, name):
    task, _ = worded
    path = task / "gold/edition.toml"
    path.write_text(path.read_text().replace("keys = {", 'keys = {id = "uid", '))
    for folder in ("gold", "systems/near"):
        rows = rows_of(task / folder / "dev.json")
        rows = [{"uid" if key == "id" else key: row[key] for key in row} for row in rows]
        write_json(task / folder / "dev.json", rows)
    rows = [{key: row[key] for key in ("uid", "verdict", "confidence")} for row in rows]
    spelled = [{f" {key.upper()}_": value for key, value in row.items()} for row in rows]
    if name == "dev.json":
        write_json(task / name, spelled)
    else:
        (task / name).write_text(pd.DataFrame(spelled).to_csv(index=False))
    code, _, err = shroom("check", name, "--gold", "gold/dev.json")
    expected = (
        'keys [" UID_", " VERDICT_"' if name == "dev.json" else 'the columns "uid", "verdict"'
    )
    assert (code, expected in err) == (1 if name == "dev.json" else 0, True), err
    code, _, err = shroom("check", name, "--gold", "gold/dev.json", "--fix", "fixed.json")
    assert (code, "[key-unknown]" in err or "[column-name]" in err) == (0, True), err
    assert rows_of(task / "fixed.json") == rows


def test_other_words_and_keys_are_named_by_those_of_the_edition(worded, shroom):
    task, _ = worded
    rows = rows_of(task / "systems/near/dev.json")
    words = {"refuted": "Yes", "supported": "no"}
    write_json(task / "dev.json", [{**row, "verdict": words[row["verdict"]]} for row in rows])
    named = "dev.json", "--gold", "gold/dev.json", "--labels", "yes,no"
    assert shroom("check", *named[:3])[0] == 1
    assert shroom("check", *named, "--fix", "fixed.json")[0] == 0
    assert rows_of(task / "fixed.json") == rows
    rows = rows_of(task / "gold/dev.json")
    for changed, expected in (
        ([{**rows[0], "verdict": "unsure"}], 'whose verdict is not "refuted" or "supported"'),
        ([{**rows[0], "confidence": 7}], "whose confidence is not a number in [0, 1]"),
        ([{**row, "verdict": "refuted"} for row in rows], "verdict is the same on all 100 items"),
    ):
        write_json(task / "gold/dev.json", [*changed, *rows[len(changed) :]])
        code, out, _ = shroom("gold", "check", "gold", "--edition", "gold/edition.toml")
        assert (code, expected in out) == (1, True), out


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "tsv"])
def test_what_the_kit_predicts_has_the_keys_and_words_of_the_edition(worded, shroom, ending):
    task, _ = worded
    path = task / "gold/edition.toml"
    files = f'predictions = "{{split}}.{ending}"\ngold = "{{split}}.json"\n'
    path.write_text(path.read_text().replace('predictions = "{split}.json"\n', files))
    assert shroom("predict", "lexical", "gold", "-o", "made")[0] == 0
    assert shroom("ensemble", "made", "systems/near", "--data", "gold", "-o", "both")[0] == 0
    for folder in ("made", "both"):
        text = (task / folder / f"dev.{ending}").read_text()
        assert ("verdict" in text, "confidence" in text) == (True, True)
        assert ("Hallucination" in text, "refuted" in text) == (False, True)
        code, _, err = shroom("score", folder, "gold", "--no-ci")
        assert (code, "[column-name]" in err) == (0, False), err
    if ending in ("csv", "tsv"):  # the kit's own names are read as well
        separator = "," if ending == "csv" else "\t"
        kit = pd.DataFrame(rows_of(task / "kit/systems/near/dev.json"))
        kit.to_csv(task / f"dev.{ending}", index=False, sep=separator)
        assert shroom("check", f"dev.{ending}", "--gold", "gold/dev.json")[0] == 0


def test_a_competition_shows_the_keys_and_words_of_its_edition(worded, shroom, tmp_path):
    task, _ = worded
    code, _, err = shroom("bundle", "--gold", "gold", "-o", "competition")
    assert code == 0, err
    with zipfile.ZipFile(task / "competition/codabench.zip") as archive:
        pages = [archive.read(name).decode() for name in archive.namelist() if "html" in name]
    example = '{"id": "es-dev-0", "verdict": "supported", "confidence": 0.25}'
    assert any(example in unescape(page) for page in pages)


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


# Names and forms of files


def tongues(tmp_path, ending, ids):
    """A task in two languages whose gold is one file with a column, and predictions for it."""
    chance = random.Random(1)  # noqa: S311 - made-up items
    rows = []
    for number in range(60):
        row = {**item("dev", number, chance), "lengua": ("es", "FR")[number % 3 == 0]}
        rows.append({**row, "id": number} if ids == "integer" else row)
    folder = tmp_path / "gold"
    folder.mkdir()
    (folder / "edition.toml").write_text(
        f'name = "tongues"\ntitle = "Tongues"\nyear = 2027\n[item]\nid = "{ids}"\n'
        'keys = {lang = "lengua"}\n[[tracks]]\nname = "es"\n[[tracks]]\nname = "fr"\n'
        '[[splits]]\nname = "dev"\n[[splits]]\nname = "eval"\n'
        f'[files]\npredictions = "{{lang}}.{{split}}{ending}"\ngold = "{{split}}.gold{ending}"\n'
        f'data = "{{split}}.data{ending}"\n'
    )
    (folder / f"dev.gold{ending}").write_bytes(encoded(f"x{ending}", json.dumps(rows)))
    for system, wrong in (("right", 0), ("half", 2)):
        for track in ("es", "fr"):
            own = [row for row in rows if row["lengua"].lower() == track]
            answers = [
                {
                    "id": row["id"],
                    "label": "Hallucination"
                    if (row["label"] == "Hallucination") != bool(wrong and place % wrong)
                    else "Not Hallucination",
                    "p(Hallucination)": row["p(Hallucination)"],
                }
                for place, row in enumerate(own)
            ]
            path = tmp_path / "systems" / system / f"{track}.dev{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encoded(path.name, json.dumps(answers)))
    return folder


@pytest.mark.parametrize("ids", ["integer", "string"])
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_gold_in_one_file_has_a_column_for_the_language(tmp_path, shroom, ending, ids):
    reference = tongues(tmp_path, ending, ids)
    result = score(tmp_path / "systems" / "right", reference)
    assert [(it.track, it.n, it.accuracy) for it in result.results] == [
        ("es", 40, 1.0),
        ("fr", 20, 1.0),
    ]
    one = score(tmp_path / f"systems/right/fr.dev{ending}", reference / f"dev.gold{ending}")
    assert [(it.track, it.n) for it in one.results] == [("fr", 20)]
    code, out, _ = shroom("leaderboard", tmp_path / "systems", reference, "--format", "csv")
    assert code == 0
    assert [line.split(",")[:3] for line in out.splitlines()[1:] if "system" in line]
    assert shroom("gold", "check", reference)[0] == 0
    out = tmp_path / "bundle"
    code, _, err = shroom("bundle", "--gold", reference, "-o", out, "--no-predictions")
    assert code == 0, err
    with zipfile.ZipFile(out / "codabench.zip") as bundle:
        bundle.extract("public_data_dev.zip", tmp_path)
    with zipfile.ZipFile(tmp_path / "public_data_dev.zip") as public:
        assert public.namelist() == [f"dev.data{ending}"]
        text = public.read(f"dev.data{ending}").decode()
    assert (text.count("FR"), "Not Hallucination" in text) == (20, False)
    code, _, err = shroom("predict", "lexical", reference, "-o", tmp_path / "mine")
    assert code == 0, err
    assert shroom("check", tmp_path / "mine", "--gold", reference)[:2] == (
        0,
        "valid: dev es (40 items), dev fr (20 items); 0 errors, 0 warnings\n",
    )


@pytest.mark.parametrize("own", ["lengua", "lang"])
@pytest.mark.parametrize("kind", ["binary", "spans"])
def test_the_keys_of_tracks_and_units_are_known(tmp_path, shroom, own, kind):
    path = tongues(tmp_path, ".jsonl", "string") / "edition.toml"
    text = path.read_text().replace('"lengua"', f'"{own}"') + f'[annotation]\nkind = "{kind}"\n'
    text = text.replace('keys = {lang = "lang"}\n', "")
    path.write_text(text.replace("[item]", '[item]\nunit = "question"'))
    answer = {"label": "Hallucination", "p(Hallucination)": 0.75}
    if kind == "spans":
        answer = {"soft_labels": [{"start": 0, "end": 2, "prob": 0.5}]}
    keys = {own: "es", "question": "Q1"}
    rows = [{"id": f"{n}", "hyp": "a text", **answer, **keys, "typo": 1} for n in range(4)]
    (tmp_path / "es.dev.jsonl").write_bytes(encoded("es.dev.jsonl", json.dumps(rows)))
    options = ("--edition", path, "--all", "--fix", tmp_path / "out.jsonl")
    _, _, err = shroom("check", tmp_path / "es.dev.jsonl", *options)
    assert ('"typo"' in err, f'"{own}"' in err, '"question"' in err) == (True, False, False), err
    if kind == "binary":
        fixed = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
        assert fixed == {key: value for key, value in rows[0].items() if key != "typo"}


def test_rows_of_no_language_are_named(tmp_path, shroom):
    reference = tongues(tmp_path, ".jsonl", "string")
    path = reference / "dev.gold.jsonl"
    path.write_text(path.read_text().replace('"FR"', '"de"', 1))
    code, _, err = shroom("score", tmp_path / "systems/right/es.dev.jsonl", reference)
    assert code == 0
    assert 'item 0: lengua: expected one of es, fr, got "de" [row-track]' in err


@pytest.mark.parametrize("verb", ["score systems/right gold", "bundle --gold gold --allow"])
def test_gold_without_its_column_is_refused(tmp_path, shroom, verb, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tongues(tmp_path, ".jsonl", "string") / "dev.gold.jsonl"
    path.write_text(path.read_text().replace('"lengua"', '"language"'))
    code, _, err = shroom(*verb.split())
    assert code == 1
    assert "lengua: expected one of es, fr, got no item with this key [key-missing]" in err


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_predictions_are_tables(task, shroom, ending):
    path = task / "gold" / "edition.toml"
    path.write_text(EDITION.replace("{split}.json", f"{{split}}{ending}"))
    code, _, err = shroom("bundle", "--gold", "gold", "-o", "out", "--no-predictions")
    assert code == 0, err
    with zipfile.ZipFile("out/codabench.zip") as bundle:
        bundle.extract("starting_kit.zip")
    with zipfile.ZipFile("starting_kit.zip") as kit:
        kit.extract("sample_submission.zip")
    with zipfile.ZipFile("sample_submission.zip") as sample:
        assert sample.namelist() == [f"dev{ending}"]
        header = sample.read(f"dev{ending}").decode().splitlines()[0]
    assert (
        header
        == {".csv": "id,label,p(Hallucination)", ".tsv": "id\tlabel\tp(Hallucination)"}[ending]
    )
    assert shroom("check", "sample_submission.zip", "--gold", "gold")[0] == 0
    assert shroom("predict", "lexical", "gold", "-o", "mine")[0] == 0
    assert (task / "mine" / f"dev{ending}").read_text().startswith(header)
    assert shroom("check", "mine", "--gold", "gold")[0] == 0


@pytest.mark.parametrize("kind", ["spans", "aspects"])
def test_lists_do_not_fit_into_tables(kind):
    aspects = [{"key": "bad", "name": "bad"}] if kind == "aspects" else []
    plain = {"name": "x", "title": "X", "year": 2027, "files": {"predictions": "{split}.csv"}}
    message = "^files.predictions: expected a file name that ends in .json, .jsonl$"
    with pytest.raises(ShroomError, match=message):
        validated({**plain, "annotation": {"kind": kind, "aspects": aspects}})


@pytest.mark.parametrize("own", ["{split}.gold.json", "gold-{split}*.json"])
def test_gold_under_names_of_its_own_is_checked(task, shroom, own):
    path = task / "gold" / "edition.toml"
    path.write_text(EDITION.replace("[files]", f'[files]\ngold = "{own}"'))
    for split in SIZES:
        name = own.replace("{split}", split).replace("*", "-v1")
        (task / "gold" / f"{split}.json").rename(task / "gold" / name)
    code, out, err = shroom("check", "gold", "--edition", "gold/edition.toml")
    assert (code, out[:43]) == (0, "valid: dev (100 items), eval (200 items); 0"), err
    assert shroom("check", "systems/near", "--gold", "gold")[0] == 0
    assert shroom("predict", "lexical", "gold", "-o", "lexical.zip")[0] == 0
    assert shroom("score", "lexical.zip", "gold", "--no-ci")[0] == 0


# Times


@pytest.mark.parametrize(
    ("times", "problem"),
    [
        ("end = 2027-02-28T23:59:59-12:00", ""),
        ("start = 2027-02-15\nend = 2027-02-28T23:59:59Z", ""),
        ("end = 2027-02-28T23:59:59", "phases[0].end: expected a time with its zone"),
        ("start = 2027-02-15 12:00:00", "phases[0].start: expected a time with its zone"),
        ('end = "soon"', "phases[0].end: invalid date (expected 2027-01-31, or a time"),
        ("end = 23:59:59", "phases[0].end: expected `date | null`"),
        (
            "start = 2027-03-01T01:00:00Z\nend = 2027-02-28T23:00:00-01:00",
            "phases[0].end: expected a day or a time after the start",
        ),
    ],
)
def test_phases_start_and_end_at_a_time_in_a_zone(tmp_path, shroom, times, problem):
    text = (
        f'name = "x"\ntitle = "X"\nyear = 2027\n[[phases]]\nname = "All"\nsplit = "test"\n{times}\n'
    )
    path = tmp_path / "edition.toml"
    path.write_text(text)
    code, _, err = shroom("edition", "check", path)
    assert (code, problem in err) == (bool(problem), True), err
    if not problem:
        edition = read(path)
        assert from_plain(to_plain(edition)).phases[0].closes == edition.phases[0].closes
        write_json(tmp_path / "edition.json", to_plain(edition))
        assert read(tmp_path / "edition.json").phases[0].closes == edition.phases[0].closes
        found = to_plain(edition)
        jsonschema.validate(
            found, files.schema(), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
        )


def test_a_phase_begins_after_the_one_before_it_in_utc(tmp_path, shroom):
    path = tmp_path / "edition.toml"
    for start, problem in (
        ("2027-03-01", "phases[1].start: expected a day after 2027-02-28 23:59:59-12:00"),
        ("2027-03-01T12:00:00Z", ""),
    ):
        path.write_text(
            'name = "x"\ntitle = "X"\nyear = 2027\n'
            '[[phases]]\nname = "A"\nsplit = "val"\nend = 2027-02-28T23:59:59-12:00\n'
            f'[[phases]]\nname = "B"\nsplit = "test"\nstart = {start}\n'
        )
        code, _, err = shroom("edition", "check", path)
        assert (code, problem in err) == (bool(problem), True), err
