"""Editions, and a shared task of others: string ids, QA and SUM, one track."""

import json
import re
import shutil
import tomllib
from dataclasses import replace

import jsonschema
import pandas as pd
import pytest
from conftest import ROOT, SAMPLE, write_json
from conftest import gold as made_up_gold
from made_up import AGNOSTIC, AWARE, answers, contest

from shroom.bundle.building import build
from shroom.core.atomic_writing import encoded
from shroom.core.problems import InvalidInput, ShroomError
from shroom.detectors.registry import Recipe
from shroom.metrics.intervals import Intervals
from shroom.scoring.annotator_agreement import agreement
from shroom.scoring.check import check
from shroom.scoring.editions import files
from shroom.scoring.editions.edition import Edition, Files, Split, Track
from shroom.scoring.editions.files import built_in, read
from shroom.scoring.editions.plain import from_plain, to_plain
from shroom.scoring.editions.validation import validated
from shroom.scoring.rows import Role
from shroom.scoring.scores import score

OWN = ROOT / "tests" / "golden" / "inputs" / "own-gold" / "edition.toml"
EDITION = OWN.read_text(encoding="utf-8") + '[[splits]]\nname = "eval"\n'
SIZES = {"dev": 100, "eval": 200}
H, N, P = "Hallucination", "Not Hallucination", "p(Hallucination)"


def rows_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def written(folder, more, first='name = "x"\ntitle = "X"\nyear = 2027\n'):
    """Write an edition of a few lines, and return its path."""
    (folder / "edition.toml").write_text(first + more)
    return folder / "edition.toml"


def width(ci):
    return ci[1] - ci[0]


@pytest.fixture
def task(tmp_path, monkeypatch):
    """Return the folder of a shared task: gold with its edition, and two systems' submissions."""
    monkeypatch.chdir(tmp_path)
    for split, size in SIZES.items():
        gold = [
            {**row, "id": f"es-{split}-{n}", "task": ("QA", "SUM")[n % 2]}
            for n, row in enumerate(made_up_gold(size))
        ]
        write_json(tmp_path / "gold" / f"{split}.json", gold)
        for system, noise in (("near", 0.2), ("far", 0.6)):
            write_json(tmp_path / "systems" / system / f"{split}.json", answers(gold, noise))
    written(tmp_path / "gold", EDITION, first="")
    return tmp_path


@pytest.mark.parametrize(
    "own", ["gold{split}.csv", "{split}gold.tsv", "{split}.gold.json", "gold-{split}*.json"]
)
def test_gold_under_names_of_its_own_is_checked(task, shroom, own):
    (task / "own").mkdir()
    written(task / "own", EDITION.replace("[files]", f'[files]\ngold = "{own}"'), first="")
    for split in SIZES:
        path = task / "own" / own.replace("{split}", split).replace("*", "-v1")
        gold = (task / "gold" / f"{split}.json").read_text()
        path.write_bytes(encoded(path.name, gold))
    code, out, err = shroom("check", "own", "--edition", "own/edition.toml")
    assert (code, out[:43]) == (0, "valid: dev (100 items), eval (200 items); 0"), err
    assert shroom("check", "systems/near", "--gold", "own")[0] == 0
    assert shroom("predict", "lexical", "own", "-o", "lexical.zip")[0] == 0
    assert shroom("score", "lexical.zip", "own", "--no-ci")[0] == 0


def test_ids_are_strings_and_fixing_keeps_them(task, shroom):
    rows, gold = rows_of(task / "systems/near/dev.json"), rows_of(task / "gold/dev.json")
    write_json(task / "dev.json", [*rows[:3], {**rows[3], "id": 3}, *rows[4:]])
    code, _, err = shroom("check", "dev.json", "--gold", "gold/dev.json")
    said = "dev.json: item 3: id: expected a string of at most 100 characters, got 3"
    assert (code, said in err) == (1, True), err
    write_json(task / "dev.json", [{**row, "label": row["label"].lower()} for row in rows[::-1]])
    assert shroom("check", "dev.json", "--gold", "gold", "--fix", "fixed.json")[0] == 0
    assert rows_of(task / "fixed.json") == rows
    for row in (*rows, *gold):
        row["id"] = f"{row['id'][7:]:0>3}"
    write_json(task / "gold/dev.json", gold)
    pd.DataFrame(rows).to_csv(task / "dev.csv", index=False)
    assert shroom("check", "dev.csv", "--gold", "gold/dev.json")[0] == 0
    for row in (*rows, *gold):
        del row["id"]
    write_json(task / "gold/dev.json", gold)
    code, _, err = shroom("score", write_json(task / "dev.json", rows), "gold/dev.json")
    assert (code, "expected an id in every row, got 100 items without an id" in err) == (1, True)
    write_json(task / "gold/dev.json", [{**row, "nr": str(n)} for n, row in enumerate(gold)])
    written(task / "gold", EDITION.replace("[item]", '[item]\nkeys = {id = "nr"}'), first="")
    _, _, err = shroom("check", "dev.json", "--gold", "gold")
    assert "dev.json: nr: expected an id in every item, got 100 items without an id" in err
    write_json(task / "gold/dev.json", [{**row, "id": "a"} for row in gold])
    _, _, err = shroom("check", "dev.json", "--gold", "gold")
    assert re.search(r'nr: .* got 100 items without an id; the first has .*\["hyp", .*"id"', err)


@pytest.mark.parametrize("label", ["verdict", "label"])
def test_keys_are_shown_as_they_are_in_the_file(label):
    item = {"keys": {"label": "verdict", "p": "confidence"}}
    edition = from_plain({"name": "x", "title": "X", "year": 2027, "item": item})
    problem, *_ = check([{"id": 1, label: H, "p": 0.5}], edition=edition).problems
    assert problem.expected == 'the key "confidence"'
    assert problem.found == f'keys ["id", "{label}", "p"] (rename "p" to "confidence")'


def test_an_edition_that_is_named_counts(task, shroom):
    gold = rows_of(task / "gold/dev.json")
    with pytest.raises(InvalidInput):  # a frame is no folder of its name; 2024 has integer ids
        score(gold, gold)
    assert score(gold, gold, edition="gold/edition.toml").results[0].n == 100
    assert agreement("gold", Intervals(0)).verdict.startswith("On dev, the annotators' agreement")
    code, _, err = shroom("leaderboard", "systems", "gold", "--split", "evl")
    assert (code, "halu-es has no split 'evl'; did you mean 'eval'?" in err) == (2, True)
    row = {"index": "en-1", "has_factual_mistakes": "y", "has_fluency_mistakes": "n"}
    cap = write_json(task / "cap.json", [row])
    assert "is read as such" in shroom("score", cap, cap)[2]
    assert "is read as such" not in shroom("score", cap, cap, "--edition", "semeval2024")[2]


def averaged(tmp_path, more=""):
    """Write the edition of 2024 with a mean over tracks under another name."""
    text = files.text_of("semeval2024").replace("year = 2024", "year = 2024\naverage = true")
    return ("--edition", written(tmp_path, more, text.replace('"semeval2024"', '"averaged"', 1)))


@pytest.mark.parametrize("key", ["id", "src", "question", ""])
def test_a_mean_over_tracks_with_common_items_has_a_wider_interval(tmp_path, shroom, key):
    """A system may be wrong on the same questions in every language."""
    options = (*averaged(tmp_path, '[item]\nunit = "question"\n'), "--format", "json")
    options = (*options, "--resamples", "50")
    systems, truth = tmp_path / "systems", tmp_path / "gold"
    for track in (AGNOSTIC, AWARE):
        rows = []
        for n, row in enumerate(made_up_gold(40)):
            own = {it: f"{track} {n} {it}" for it in ("src", "tgt", "hyp", "question")}
            if key != "src":
                own["id"] = n + 100 * (track == AWARE)
            rows.append({**row, **own, **({key: n if key == "id" else f"{n}"} if key else {})})
        write_json(truth / track, rows)
        said = [row | own for row, own in zip(rows, answers(rows, 0.6))]
        write_json(systems / "one" / track, said)
    found = json.loads(shroom("score", systems / "one", truth, *options)[1])
    results, mean = found["results"], found["mean"]
    assert mean["rho"] == pytest.approx(sum(each["rho"] for each in results) / 2, rel=1e-12)
    # The tracks have 40 items each: of other items, the interval is narrower by the root of 2.
    wide = sum(width(result["accuracy_ci"]) for result in results) / 2
    assert width(mean["accuracy_ci"]) == pytest.approx(wide if key else wide / 2**0.5, rel=0.02)
    board = json.loads(shroom("leaderboard", systems, truth, *options)[1])
    (row,) = (row for row in board["rows"] if row["track"] == "mean of 2 tracks")
    assert [row[name] for name in ("rho", "accuracy_ci")] == [mean["rho"], mean["accuracy_ci"]]


def test_of_two_splits_each_has_a_mean_over_its_own_tracks(tmp_path, shroom, in_json):
    both = (AWARE, AGNOSTIC)
    every = (*both, *(name.replace("val", "test") for name in both))
    systems, gold = contest(tmp_path, {"one": 0.5}, n=30, files=every)
    line = ("score", systems / "one", gold, *averaged(tmp_path))
    shown = [line.split("  ")[0] for line in shroom(*line)[1].splitlines() if "mean" in line]
    assert shown == ["val mean over 2 tracks", "test mean over 2 tracks"]
    found = in_json(*line)
    jsonschema.validate(found, json.loads(shroom("score", "--json-schema")[1]))
    assert "mean" not in found
    for split, mean in found["means"].items():
        own = [result["accuracy"] for result in found["results"] if result["split"] == split]
        assert mean["accuracy"] == pytest.approx(sum(own) / 2, rel=1e-12)
        assert mean["accuracy_ci"][0] < mean["accuracy"] < mean["accuracy_ci"][1]
    # A split without one of the tracks has no mean.
    (systems / "one" / "test.model-aware.json").unlink()
    assert shroom(*line)[1].count("mean over") == 1


def test_intervals_and_tests_draw_whole_units(tmp_path, in_json):
    """Eight answers to each of 15 questions are right or wrong together."""
    edition = '[item]\nunit = "question"\n[files]\npredictions = "{split}.json"\n'
    edition = written(tmp_path, f'{edition}[[splits]]\nname = "dev"\n')
    truth = [{"id": n, "question": f"Q{n // 8}", "label": H, P: 0.9} for n in range(120)]
    for name, said in (("one", lambda n: n // 8 % 3), ("other", lambda _: True)):
        rows = [{"id": n, "label": H if said(n) else N, P: 0.6} for n in range(120)]
        write_json(tmp_path / "systems" / name / "dev.json", rows)
    one, other = (tmp_path / "systems" / name for name in ("one", "other"))

    def found(place, gold):
        changed = [{**row, "label": N, P: 0.1} if row["id"] < 40 else row for row in gold]
        old, new = (
            write_json(tmp_path / place / name / "dev.json", rows).parent
            for name, rows in (("old", gold), ("new", changed))
        )
        (scored,), compared, (rescored,) = (
            in_json(*line, "--edition", edition)[key]
            for line, key in (
                (("score", one, old), "results"),
                (("compare", one, other, old, "--trials", "999"), "comparisons"),
                (("gold", "rescore", old, new, tmp_path / "systems"), "tracks"),
            )
        )
        (compared,) = (row for row in compared if row["metric"] == "accuracy")
        (rescored,) = (row for row in rescored["systems"] if row["system"] == "one")
        intervals = scored["accuracy_ci"], compared["ci"], rescored["scores"]["accuracy"]["ci"]
        return compared, [width(each) for each in intervals]

    units, wide = found("units", truth)
    items, narrow = found("items", [{**row, "question": None} for row in truth])
    assert [each > 1.5 * other for each, other in zip(wide, narrow)] == [True] * 3
    assert units["difference"] == items["difference"]
    # Five questions of 15 differ: all signs alike have a chance of 2/32. Of 40 answers it is tiny.
    assert units["p"] == pytest.approx(2 / 32, abs=0.03)
    assert (items["p"] < 0.01, items["mcnemar"]["p"] < 0.01, "mcnemar" in units) == (1, 1, 0)


def test_the_names_of_the_kits_editions_are_those_of_its_files():
    paths = (ROOT / "shroom" / "scoring" / "editions").glob("*.toml")
    assert sorted(files.NAMES) == sorted(path.stem for path in paths)


@pytest.mark.parametrize("name", files.NAMES)
def test_the_kits_editions_are_valid(name):
    plain = tomllib.loads(files.text_of(name))
    again = from_plain(to_plain(validated(plain)))
    assert to_plain(again) == to_plain(built_in(name))
    assert built_in(name).name == name
    jsonschema.validate(to_plain(again), files.schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**to_plain(again), "name": 3}, files.schema())


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
    assert (code, "is an edition of the kit; choose another name" in err) == (1, True)


def test_the_hash_in_a_signature_is_of_the_content_and_not_of_its_form(tmp_path):
    forms = {
        "as.toml": EDITION,
        "spaced.toml": EDITION.replace(" = ", "=").replace("\n\n", "\n# a comment\n\n"),
        "defaults.toml": EDITION.replace("year = 2027", "year = 2027\naverage = false", 1),
        "as.json": json.dumps(tomllib.loads(EDITION), default=str),
        "other.toml": EDITION.replace("2027-01-10", "2027-01-11"),
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text)
    first, *same, other = (files.digest(read(tmp_path / name)) for name in forms)
    assert same == [first] * 3
    assert (len(first), other != first) == (6, True)
    packed = from_plain(json.loads(json.dumps(to_plain(read(tmp_path / "as.toml")))))
    assert files.digest(packed) == first  # in the scoring program


NOT_READ = {
    "key.toml": "a" + ".a" * 30_000 + " = 1",
    "quoted.toml": "'a'" + ' . "a"' * 10_000 + " = 1",
    "list.toml": "a = " + "[" * 30_000,
    "inline.toml": "a = " + "{a = " * 30_000,
    "list.json": '{"a": ' + "[" * 30_000,
    "object.json": '{"a":' * 30_000,
    **dict.fromkeys(("big.toml", "big.json"), "#" * (1 << 20) + "\n"),
}


@pytest.mark.parametrize("read_file", [read, lambda path: Recipe.of(str(path))])
@pytest.mark.parametrize("name", NOT_READ)
def test_a_deep_or_large_file_is_not_read(name, read_file, tmp_path):
    if read_file is not read and name.endswith(".json"):
        name = "key.toml"  # there are no recipes in JSON
    (tmp_path / name).write_text(NOT_READ[name])
    is_big = name.startswith("big")
    why = (
        "is larger than 1048576 bytes" if is_big else "is nested too deeply; use at most 10 levels"
    )
    with pytest.raises(ShroomError, match=why):
        read_file(tmp_path / name)


@pytest.mark.parametrize("page", ["../secret.md", "{0}/secret.md", "link.md", "linked/secret.md"])
def test_pages_lie_in_the_folder_of_the_edition(page, task, shroom):
    folder, page = task / "gold", page.format(task)
    (task / "secret.md").write_text("Not for participants.")
    (folder / "own.md").write_text("Terms.")
    for name, target in (("in.md", "own.md"), ("link.md", "../secret.md"), ("linked", "..")):
        (folder / name).symlink_to(target)
    written(folder, EDITION + '[pages]\nterms = "in.md"\n', first="")
    assert shroom("edition", "check", "gold/edition.toml")[0] == 0
    written(folder, f'{EDITION}[pages]\nterms = "{page}"\n', first="")
    for line in ("edition check gold/edition.toml", "bundle --gold gold -o out"):
        code, _, err = shroom(*line.split())
        assert (code, "is outside the folder of the edition" in err) == (1, True), err
    edition = replace(built_in("semeval2024"), pages={"terms": page})
    with pytest.raises(ShroomError, match="is outside the folder of the edition"):
        build(SAMPLE, edition=edition, folder=folder)


@pytest.mark.parametrize("odd", ["\x1b[31m", "\x9b31m", "\u202e", "\u2066", "\x07", "\r"])
def test_no_title_steers_a_terminal(odd, task, shroom):
    title = json.dumps(f"Task {odd}")
    text = EDITION.replace('"Alucinaciones"', title)
    text += f'[[tracks]]\nname = "es"\ntitle = {title}\n'
    written(task / "gold", text, first="")
    for line in (
        "edition check gold/edition.toml",
        "score systems/near/dev.json gold/dev.json --no-ci",
        "leaderboard systems gold --no-ci --split dev",
        "report systems/near/dev.json gold/dev.json -o r.html --no-ci",
        "gold check gold --no-ci",
        "edition show gold/edition.toml",
    ):
        _, out, err = shroom(*line.split())
        assert odd not in out + err
    assert json.loads(out)["title"] == f"Task {odd}"
    written(task / "gold", text.replace('"es"', json.dumps(f"es{odd}")), first="")
    assert "the name contains control characters" in shroom("gold", "check", "gold")[2]


@pytest.mark.parametrize("packed", ["folder", "zip", "tar"])
def test_an_edition_in_a_submission_is_not_followed(packed, task, shroom):
    """Even where it is a valid one; that beside the gold is."""
    sub = shutil.copytree(task / "systems" / "near", task / "sub")
    (sub / "edition.toml").write_text(EDITION.replace("halu-es", "theirs"))
    is_packed = packed != "folder"
    named = shutil.make_archive(str(sub / "packed"), packed, sub) if is_packed else sub
    for source in (named, sub / "dev.json"):
        code, out, err = shroom("check", source)
        assert (code, "theirs" in out + err) == (1, False)  # 2024 has integer ids
        assert check(source).edition.name == "semeval2024"
    _, out, err = shroom("check", sub, "--gold", "gold", "--format", "json")
    assert "note: using the edition halu-es (gold/edition.toml)" in err
    assert check(sub, "gold").edition.name == score(sub, "gold").edition.name == "halu-es"
    assert shroom("ensemble", sub, sub, "-o", "both")[0] == 1
    assert shroom("ensemble", sub, sub, "-o", "both", "--edition", "gold/edition.toml")[0] == 0
    calibrator = ("--method", "platt", "-o", "c.json")
    assert shroom("calibrate", sub / "dev.json", "gold/dev.json", *calibrator)[0] == 0
    assert shroom("calibrate", "--apply", "c.json", sub / "dev.json", "-o", "dev.json")[0] == 1


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
    names = Files("{lang}_{split}_label.jsonl", data="{lang}_{split}_data.jsonl")
    of = {"tracks": (Track("en"), Track("es")), "splits": (Split("train"), Split("train2"))}
    edition = Edition("x", "X", 2027, files=names, **of)
    assert edition.parse("es_train2_label.v3.jsonl.gz").version == 3
    assert str(edition.parse("en_train_data.jsonl", Role.DATA)) == "train en"
    assert edition.parse("en_train_data.jsonl", Role.GOLD) is None
    assert edition.guess("team.en_train2_label_v1.jsonl").key == ("train2", "en")
    assert edition.expected_name(("train",)) == "{en,es}_train_label.jsonl"


def test_no_other_module_names_a_file_a_track_a_task_or_a_count_of_2024():
    """They belong to the edition, the data set, and detectors that are fitted on it."""
    word = re.compile(r'"[^"]*model-(agnostic|aware)|"(DM|MT|PG|TS)"|\b(499|1500)\b')
    naming = [
        f"{path}:{number}: {line}"
        for path in sorted((ROOT / "shroom").rglob("*.py"))
        if not {"editions", "detectors"}.intersection(path.parts)
        and path.name not in ("semeval2024.py", "datapoint.py")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if word.search(line) and not re.match(r' *(>>>|"""|#|shroom |``)|.*``$', line)
    ]
    assert naming == []


LATER = '[[phases]]\nname = "Later"\nsplit = "test"\n'


@pytest.mark.parametrize(
    "times",
    [
        "end = 2027-02-28T23:59:59-12:00",
        "start = 2027-02-15\nend = 2027-02-28T23:59:59Z",
        f"end = 2027-02-28T23:59:59-12:00\n{LATER}start = 2027-03-01T12:00:00Z",
    ],
)
def test_phases_start_and_end_at_a_time_in_a_zone(tmp_path, times):
    edition = read(written(tmp_path, f'[[phases]]\nname = "All"\nsplit = "test"\n{times}\n'))
    again = read(write_json(tmp_path / "edition.json", to_plain(edition)))
    assert [it.closes for it in again.phases] == [it.closes for it in edition.phases]
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    jsonschema.validate(to_plain(edition), files.schema(), format_checker=checker)
