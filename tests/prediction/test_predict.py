"""`shroom predict`, `fit`, `detectors` and recipes, at the command line."""

import importlib.util
import io
import json
import re
import shlex
import shutil
import sys

import numpy as np
import pytest
from conftest import ROOT, SAMPLE, gold, write_json

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.core.registry import Entry
from shroom.detectors.base import Detector
from shroom.detectors.registry import DEFAULT, REGISTRY, Recipe
from shroom.inference import hub
from shroom.inference.compute import compute

BASELINES = ROOT / "baselines"
LEXICAL = ROOT / "shroom" / "models" / "lexical" / "model.json"
RECIPES = [*sorted(BASELINES.glob("*.toml")), BASELINES / "training" / "cross-encoder.toml"]


class Slow(Detector):
    """A detector that tells what it was asked, and can be interrupted or break down."""

    name = "slow"
    asked: list = []  # noqa: RUF012 - each test has its own
    stops = None

    def __init__(self, threshold=0.5):
        self.threshold = threshold

    def p(self, datapoints, run):
        def work(batch):
            if self.stops is not None and len(self.asked) + len(batch) > self.stops[0]:
                raise self.stops[1]
            self.asked.extend(batch)
            return np.array([len(hyp) / 100 for hyp in batch])

        texts = [point.hyp for point in datapoints]
        return compute(texts, work, lengths=[1] * len(texts), scope=lambda: "slow", run=run)[:, 0]


@pytest.fixture
def slow(monkeypatch):
    monkeypatch.setitem(REGISTRY, "slow", Entry(f"{__name__}:Slow", "takes its time"))
    monkeypatch.setattr(Slow, "asked", [])
    monkeypatch.setattr(Slow, "stops", None)
    return Slow


@pytest.fixture
def data(tmp_path):
    return write_json(tmp_path / "in" / "data.json", gold(12))


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def recipe(folder, text, name="mine.toml"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def of_splits(folder, *splits):
    """Write a file of each split, and return their folder."""
    for split in splits:
        write_json(folder / "d" / f"{split}.model-aware.json", gold(3, first_id=1))
    return folder / "d"


def listing(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def piped(monkeypatch):
    """Give a text to stdin."""

    def give(text):
        stream = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", stream)

    return give


# --- which detector


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("lexical {data} --set threshold=0.25", 0, ""),
        ("lexical {data} --set ' threshold = \"0.25\" '", 0, ""),
        ("lexical {data} --set threshold=0 --set threshold=1", 0, ""),
        ("lexical {data} --threshold 0.25", 0, ""),
        ("lexical {data} --set model={model}", 0, ""),
        ("lexical {data} --set model=nowhere", 1, "nowhere is not a model of the detector lexical"),
        ("lexical {data} --set threshold", 2, "expected NAME=VALUE, got 'threshold'"),
        ("lexical {data} --threshold 1.5", 2, "--threshold"),
        ("lexical {data}", 0, "wrote 12"),
        ("{recipe} {data}", 0, "wrote 12"),
        ("lexical", 2, "Path 'lexical' does not exist"),
        ("{data} lexical", 2, "Path 'lexical' does not exist"),
        ("lexical {data} {data}", 2, "got 3 arguments"),
        ("", 2, "Missing argument"),
        ("lexical {data} --device foo", 2, "expected cpu, cuda, cuda:N or mps, got foo"),
        ("lexical - -", 2, "got 3 arguments"),
        ("lexical {data} --max-cost 3", 1, "has no setting 'max_cost'"),
        ("lexical {data} --dry-run", 1, "sends no requests, so --dry-run"),
    ],
)
def test_the_detector_its_data_and_settings(arguments, code, said, data, out, tmp_path, shroom):
    names = {"data": data, "model": LEXICAL, "recipe": recipe(tmp_path, 'detector = "lexical"')}
    arguments = [word.format(**names) for word in shlex.split(arguments)]
    found, text, err = shroom("predict", *arguments, "-o", out / "p.json")
    assert (found, text) == (code, "")
    assert said in err
    assert listing(out) == ([] if code else ["p.json"])


@pytest.mark.parametrize(
    "detector", sorted(REGISTRY.keys() - {"cross-encoder", "lexical", "unigram"})
)
def test_what_a_detector_needs_is_told_by_options_that_exist(detector, data, out, shroom, refused):
    err = refused("predict", detector, data, "-o", out / "p.json")
    assert listing(out) == []
    verb = "fit" if "shroom fit" in err else "predict"
    options = shroom(verb, "--help")[1]
    assert all(option in options for option in re.findall("--[a-z-]+", err))


# --- recipes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("detector = ", "mine.toml is not valid TOML: "),
        ("\x00", "mine.toml is not valid TOML: "),
        ("", "mine.toml: detector: expected a name, got null"),
        ('detector = ["lexical"]', "mine.toml: detector: expected a name, got ["),
        ('detector = "lexical"\nthreshold = 2', "mine.toml: threshold: expected a number from 0"),
        ('detector = "lexical"\ndata = "val"', "mine.toml: data: expected a list of splits"),
        ('detector = "lexical"\nprecision = "half"', "mine.toml: precision: expected one of"),
        ('detector = "lexical"\ndata = ["vall"]', "contains no file named vall.model-"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        (b"\xff\xfe", "mine.toml is not valid TOML: "),
        ("folder", "mine.toml"),
        ("none", "mine.toml: No such file or directory"),
    ],
    ids=lambda text: repr(text)[:45],
)
def test_what_is_wrong_with_a_recipe_is_told(text, said, out, tmp_path, shroom):
    path = tmp_path / "mine.toml"
    if text == "folder":
        path.mkdir()
    elif text != "none":
        recipe(tmp_path, text)
    code, _, err = shroom("predict", path, SAMPLE, "-o", out / "sub")
    assert (code, listing(out)) == (1, [])
    assert err.startswith(f"shroom: {path}") or "vall" in said
    assert said in err
    assert err.count("\n") == 1


def test_the_splits_of_a_recipe_and_of_the_command_line(tmp_path, out, shroom):
    data = of_splits(tmp_path, "val", "test", "trial")
    only_test = 'data = ["test"]'
    cases = (("", "", "test val"), (only_test, "", "test"), (only_test, "--split val", "val"))
    for number, (splits, more, made) in enumerate(cases):
        path = recipe(tmp_path, f'detector = "lexical"\n{splits}\n')
        assert shroom("predict", path, data, *more.split(), "-o", out / str(number))[0] == 0
        names = [f"{split}.model-aware.json" for split in made.split()]
        assert set(listing(out / str(number))) == {*names, "run.json"}
    one = data / "trial.model-aware.json"  # a file that is named is meant
    assert shroom("predict", path, one, "-o", out / "p.json")[0] == 0
    for where, said in ((data, "contains no file named dev.model-"), (one, "only trial.model-")):
        code, _, err = shroom("predict", path, where, "--split", "dev", "-o", out / "dev")
        assert (code, said in err, (out / "dev").exists()) == (1, True, False), err


@pytest.mark.parametrize(
    "call", ["predict -o x.json", "fit --folds 0 -o x.json", "explain --index 0"]
)
def test_an_option_of_its_own_goes_before_a_setting(call, data, tmp_path, done, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done(*call.split(), "lexical", data, "--model", LEXICAL, "--set", "model=nowhere")


# --- models


def test_a_long_premise_and_an_empty_hypothesis_are_noted(tiny, out, tmp_path, noted):
    rows = gold(3)
    rows[0].update(src="word " * 10_000, ref="src")
    rows[2]["hyp"] = ""
    write_json(tmp_path / "d" / "val.model-aware.json", rows)
    made = ("predict", recipe(tmp_path, 'detector = "nli"\nmodel = "x/y"\n'), tmp_path / "d")
    err = noted(*made, "--model", tiny("nli_model"), "-o", out / "sub")
    assert re.search("note: 1 of . premises had to be split ", err)
    assert "hyp is empty in 1 item, first in item 2" in err
    record = json.loads((out / "sub" / "run.json").read_text())
    assert "x/y" not in json.dumps(record)  # what was run is another model
    assert re.search("[0-9a-f]{8}", record["weights"] or "")


@pytest.mark.parametrize("detector", ["lexical", "cross-encoder", "similarity"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory"),
        *((text, "the JSON does not describe a model") for text in ("[]", "[" * 100_000, "{}")),
        ("x", "Expecting value: line 1"),
    ],
    ids=["none", "list", "deep", "object", "text"],
)
def test_a_file_that_is_not_a_model(detector, content, said, data, out, tmp_path, shroom):
    path = tmp_path / "model.json"
    about = path / "about.json" if detector == "cross-encoder" else path
    if content is not None:
        about.parent.mkdir(exist_ok=True)
        about.write_text(content)
    code, _, err = shroom("predict", detector, data, "--model", path, "-o", out / "p.json")
    assert (code, listing(out)) == (1, [])
    assert err.startswith(f"shroom: {path} is not a model of the ")
    assert said in err
    assert "Errno" not in err


# --- run.json


@pytest.fixture
def ran(tmp_path, out, shroom):
    """Run a recipe on two files; return the folder and the record."""
    for track in ("agnostic", "aware"):
        write_json(tmp_path / "d" / f"val.model-{track}.json", gold(12))
    path = recipe(tmp_path, 'detector = "lexical"\nthreshold = 0.4\n')
    code, _, err = shroom("predict", path, tmp_path / "d", "-o", out / "sub")
    assert (code, err) == (0, f"wrote 24 predictions to {out / 'sub'}\n")
    return out / "sub", json.loads((out / "sub" / "run.json").read_text())


def test_the_record(ran, tmp_path, in_json):
    folder, record = ran
    assert (record["recipe"], record["detector"]) == ("mine", "lexical")
    assert (record["settings"], record["precision"]) == ({"threshold": 0.4}, None)
    assert re.search("[0-9a-f]{8}", record["weights"] or "")
    assert record["datapoints"] == {f"val.model-{t}.json": 12 for t in ("agnostic", "aware")}
    assert (record["in_sample"], record["out_of_fold"]) == ({}, {})
    assert 0 <= record["seconds"] < 60
    assert {"shroom-kit", "python", "numpy", "sacrebleu"} <= set(record["versions"])
    for kept, result in zip(
        record["scores"], in_json("score", folder, tmp_path / "d", "--no-ci")["results"]
    ):
        assert kept.items() <= {**result, "signature": kept["signature"]}.items()
        assert f"|track:{kept['track']}|n:12|" in kept["signature"]


@pytest.mark.parametrize(
    ("asked", "given", "computed"),
    [(None, (), "float32"), ("float16", (), "float16"), ("float16", ("float32",), "float32")],
)
def test_the_record_names_the_precision(asked, given, computed, tiny, out, tmp_path, shroom):
    write_json(tmp_path / "d" / "val.model-aware.json", gold(3))
    line = f'precision = "{asked}"\n' if asked else ""
    path = recipe(tmp_path, f'detector = "nli"\nmodel = "{tiny("nli_model")}"\n{line}')
    options = [word for one in given for word in ("--precision", one)]
    assert shroom("predict", path, tmp_path / "d", "-o", out / "sub", *options)[0] == 0
    assert json.loads((out / "sub" / "run.json").read_text())["precision"] == computed


def test_the_record_tells_of_its_own_run_alone(ran, tmp_path, shroom):
    """It disturbs no verb, and without labels has no scores."""
    folder, _ = ran
    verbs = [["check", folder, "--gold", tmp_path / "d"], ["score", folder, tmp_path / "d"]]
    with_it = [shroom(*verb) for verb in verbs]
    path = recipe(tmp_path, 'detector = "lexical"\ndata = ["test"]\n')
    rows = gold(12, first_id=1)
    bare = [{key: row[key] for key in ("id", "hyp", "src", "tgt", "task")} for row in rows]
    for given, scored in ((rows, [("test", "model-aware")]), (bare, [])):
        write_json(tmp_path / "d" / "test.model-aware.json", given)
        assert shroom("predict", path, tmp_path / "d", "-o", folder)[0] == 0
        record = json.loads((folder / "run.json").read_text())
        assert [(one["split"], one["track"]) for one in record["scores"]] == scored
    for file in ("run.json", "test.model-aware.json"):
        (folder / file).unlink()
    (tmp_path / "d" / "test.model-aware.json").unlink()
    assert [shroom(*verb) for verb in verbs] == with_it
    assert with_it[0][0] == with_it[1][0] == 0


@pytest.mark.parametrize("form", ["sub.zip", "p.json", "-"])
def test_only_a_folder_has_a_record(form, tmp_path, out, shroom, monkeypatch):
    monkeypatch.chdir(out)
    path = recipe(tmp_path, 'detector = "lexical"')
    assert shroom("predict", path, of_splits(tmp_path, "val"), "-o", form)[0] == 0
    assert listing(out) == ([] if form == "-" else [form])


# --- interrupted, failed, resumed


def interrupted(slow, shroom, data, target, *more, after=8, error=KeyboardInterrupt):
    slow.stops = after, error
    found = shroom("predict", "slow", data, "-o", target, "--batch-tokens", 4, *more)
    slow.stops = None
    slow.asked.clear()
    return found


def test_an_interrupted_run_keeps_its_results_and_goes_on(slow, data, out, shroom):
    args = ("predict", "slow", data, "--batch-tokens", 4, "-o")
    assert shroom(*args, out / "whole.json")[0] == 0
    whole = (out / "whole.json").read_bytes()
    slow.asked.clear()
    interrupted(slow, shroom, data, out / "p.json")
    assert listing(out) == ["p.json.partial", "whole.json"]
    code = shroom(*args, out / "p.json", "--resume", "--threshold", 0)[0]
    assert (code, slow.asked) == (0, [row["hyp"] for row in gold(12)][8:])
    assert listing(out) == ["p.json", "whole.json"]
    assert (out / "p.json").read_bytes() == whole.replace(b"Not Hall", b"Hall")


def test_results_of_earlier_runs_are_read_and_written(slow, data, out, shroom, monkeypatch):
    monkeypatch.setenv("SHROOM_CACHE", str(out / "cache"))
    monkeypatch.delenv("SHROOM_NO_CACHE")
    cache, call = out / "cache" / "pairs.sqlite", ("predict", "slow", data, "-o")
    code, _, err = shroom(*call, out / "without.json", "--no-cache")
    assert (code, cache.exists(), "cache" in err) == (0, False, False)
    code, _, err = shroom(*call, out / "first.json")
    assert (code, cache.exists(), "cache" in err) == (0, True, False)
    shroom(*call, out / "again.json")
    assert len(slow.asked) == 24
    for file in cache.parent.iterdir():
        file.unlink()
    cache.write_text("no database")
    code, _, err = shroom(*call, out / "broken.json")
    assert (code, len(slow.asked), err.count("note: the cache ")) == (0, 36, 1)
    assert len({path.read_bytes() for path in out.glob("*.json")}) == 1


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt, ShroomError("no power"), OSError(28, "No space left"), MemoryError],
    ids=str,
)
@pytest.mark.parametrize("form", ["p.json", "p.zip", "sub/val.model-aware.json"])
def test_a_failed_run_leaves_what_was_there(error, form, slow, tmp_path, out, shroom):
    data = write_json(tmp_path / "val.model-aware.json", gold(12))
    (out / "sub").mkdir()
    (out / form).write_text("precious")
    before = listing(out)
    target = out / "sub" if form.startswith("sub") else out / form
    found, text, err = interrupted(slow, shroom, data, target, after=8, error=error)
    assert (found, text) == (130 if error is KeyboardInterrupt else 1, "")
    assert f"stored 8 results in {target}.partial; to continue, add --resume\n" in err
    assert (out / form).read_text() == "precious"
    assert [name for name in listing(out) if not name.endswith(".partial")] == before
    assert shroom("predict", "slow", data, "-o", target, "--resume")[0] == 0
    assert len(slow.asked) == 4
    assert [name for name in listing(out) if name != "sub/run.json"] == before


def test_several_files_share_what_is_kept_even_in_the_folder_of_the_data(slow, tmp_path, shroom):
    other = [{**row, "hyp": f"other {place}"} for place, row in enumerate(gold(12))]
    names = ["val.model-agnostic.json", "val.model-aware.json"]
    data = tmp_path / "d"
    for name, rows in zip(names, (gold(12), other)):
        write_json(data / name, rows)
    code, _, err = interrupted(slow, shroom, data, f"{data}/sub.zip", after=20)
    assert (code, "20 results" in err) == (130, True)
    assert listing(data) == ["sub.zip.partial", *names]
    assert shroom("predict", "slow", data, "-o", data / "sub.zip", "--resume")[0] == 0
    assert slow.asked == [row["hyp"] for row in other][8:]
    assert listing(data) == ["sub.zip", *names]


# --- what is written, and where


FITS = "fit --folds 0"
VAL = "{tmp}/d/val.model-aware.json"
MINE = "{tmp}/mine.toml {tmp}/d --model {tmp}/model.json"


@pytest.mark.parametrize(
    ("call", "target"),
    [
        (f"predict lexical {VAL}", VAL),
        (f"predict lexical {VAL}", "{tmp}/d"),
        ("predict lexical {tmp}/d", "{tmp}/d"),
        ("predict lexical {tmp}/d/../d", VAL),
        pytest.param("predict lexical {tmp}/link", "{tmp}/d", marks=pytest.mark.linux),
        *((f"{verb} {MINE}", "{tmp}/mine.toml") for verb in ("predict", FITS)),
        *((f"{verb} {MINE}", "{tmp}/model.json") for verb in ("predict", FITS)),
    ],
)
def test_neither_data_nor_recipe_nor_model_is_written_over(call, target, tmp_path, refused):
    of_splits(tmp_path, "val")
    recipe(tmp_path, 'detector = "lexical"\n')
    shutil.copy(LEXICAL, tmp_path / "model.json")
    if "link" in call:
        (tmp_path / "link").symlink_to(tmp_path / "d")
    before = contents(tmp_path)
    call = [word.format(tmp=tmp_path) for word in (*call.split(), "-o", target)]
    assert "which is never overwritten" in refused(*call)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("d", "out/p.json", "p.json"),
        ("d", "-", "-"),
        ("in/data.json", "out/sub", "names like"),
        ("in/data.json", "in/data.json", "which is never overwritten"),
        ("double.json", "out/p.json", "a unique id"),
        ("in/data.json", "file/p.json", "file"),
        ("in/data.json", "out/p.csv", "p.csv: the name must end in .json or .jsonl"),
        ("trial.model-aware.json", "out/sub", "a folder needs names like"),
        ("train.model-aware.json", "out/sub", "a folder needs names like"),
        ("d", "mine", "run.json already exists and is not a run record"),
    ],
)
def test_what_cannot_be_written_is_told_before_anything_is_computed(
    source, target, said, slow, data, tmp_path, refused, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ("d/val.model-agnostic", "d/val.model-aware", "train.model-aware"):
        write_json(tmp_path / f"{name}.json", gold(12))
    write_json(tmp_path / "trial.model-aware.json", gold(3))
    write_json(tmp_path / "double.json", [{**row, "id": 7} for row in gold(3)])
    for folder in ("mine", "out"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mine" / "run.json").write_text("mine")
    (tmp_path / "file").write_text("")
    before, code = listing(tmp_path), 2 if "--resume" in target else 1
    assert said in refused("predict", "slow", source, "-o", *target.split(), code=code)
    assert slow.asked == []
    assert listing(tmp_path) == before
    assert (tmp_path / "mine" / "run.json").read_text() == "mine"


def test_pipes(data, monkeypatch, tmp_path, shroom, piped):
    monkeypatch.chdir(tmp_path)
    assert shroom("predict", "lexical", data, "-o", "p.json")[0] == 0
    for text in (json.dumps(gold(12)), "\n".join(map(json.dumps, gold(12))), ""):
        piped(text)
        code, written, err = shroom("predict", "lexical", "-", "-o", "-")
        if text:
            assert (code, err) == (0, "wrote 12 predictions to -\n")
            assert (tmp_path / "p.json").read_text() == written
        else:
            assert (code, written, "<stdin>: " in err) == (1, "", True)
    assert listing(tmp_path) == ["in", "in/data.json", "p.json"]


# --- bad data


def rows_with(without=None, **changes):
    first, row, last = gold(3, first_id=40)
    row.pop(without, None)
    return [first, row | changes, last]


SAME = [{**row, "hyp": "same"} for row in gold(6)]
BAD = [
    (rows_with(without="task"), 'd.json: item 1 (id 41): expected the key "task"'),
    (rows_with(task="QA"), 'd.json: item 1 (id 41): task: expected "DM" or "MT"'),
    (rows_with(src="", tgt=""), "d.json: item 1 (id 41): expected src or tgt, got both empty"),
    (rows_with(src=" \n", tgt="\t"), "item 1 (id 41): expected src or tgt, got both empty"),
    (rows_with(src=3), "d.json: item 1 (id 41): src: expected a text, got 3"),
    (rows_with(id=40), "d.json: item 1 (id 40): id: expected a unique id, got 40 again"),
    (rows_with(without="id"), "d.json: item 1: id: expected an id, because other items have one"),
    ([], "d.json: expected at least one item, got none"),
    ("[" * 100_000, "d.json: "),
]
UNFITTED = [
    ("lexical", [{"hyp": "a", "src": "b", "task": "MT"}], "d.json: some datapoints have no"),
    ("lexical", [], "d.json: expected at least one item"),
    ("lexical", gold(1), "at least two groups of datapoints"),
    ("lexical", SAME, "two groups of datapoints"),
    ("nli", gold(6), "the detector nli cannot be fitted"),
    ("judge", gold(6), "the detector judge cannot be fitted"),
    ("similarity", gold(6), "needs --model"),
    ("cross-encoder", gold(6), "needs an encoder to start from"),
]


@pytest.mark.parametrize(
    ("verb", "detector", "rows", "said"),
    [
        *(("predict", "lexical", *case) for case in BAD),
        *(("fit", *case) for case in UNFITTED),
        ("fit --folds 0", "judge", gold(6), "the detector judge cannot be fitted"),
    ],
    ids=lambda value: value[:45] if isinstance(value, str) else "",
)
def test_what_cannot_be_predicted_or_fitted(verb, detector, rows, said, tmp_path, out, refused):
    path = tmp_path / "d.json"
    path.write_text(rows if isinstance(rows, str) else json.dumps(rows))
    (out / "p.json").write_text("precious")
    assert said in refused(*verb.split(), detector, path, "-o", out / "p.json")
    assert (out / "p.json").read_text() == "precious"
    assert listing(out) == ["p.json"]


OWN = """name = "own"
title = "Own"
year = 2027
splits = [{name = "dev"}]
[item]
keys = {id = "key", label = "verdict", p = "score", hyp = "answer"}
"""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hyp": ""}, "note: d.json: hyp is empty in 1 item, first in item 1\n"),
        ({"hyp": "\n \t"}, "note: d.json: hyp is empty in 1 item, first in item 1\n"),
        ({"src": "x " * 25_000}, ""),
        ({"src": "\ud800", "hyp": "\udfff\0\x1b[31m"}, ""),
        (
            {"src": float("nan")},
            "d.json: item 1 (id 41): src: expected a text (a missing value is read as ",
        ),
        ({"id": "41"}, ""),
        ({"more": [[1]]}, ""),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_odd_data_is_judged(changes, said, tmp_path, out, shroom, noted):
    path = write_json(tmp_path / "d.json", rows_with(**changes))
    assert said in noted("predict", "lexical", path, "-o", out / "p.json")
    rows = json.loads((out / "p.json").read_text())
    assert [row["id"] for row in rows] == [40, 41, 42]
    assert shroom("check", out / "p.json", "--data", path)[0] == 0


# --- shroom list detectors


@pytest.mark.parametrize("absent", [[], ["torch"], ["onnxruntime", "sacrebleu", "torch"]])
def test_detectors(absent, monkeypatch, shroom):
    real = importlib.util.find_spec

    def find_spec(name, *more):
        return None if name in absent else real(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    code, text, err = shroom("list", "detectors")
    key = "note: absent: packages are missing; to install them, see 'shroom list detectors NAME'\n"
    assert (code, err) == (0, key if absent else "")
    lines = {line.split()[0]: line for line in text.splitlines()}
    assert list(lines) == list(REGISTRY)
    for name, entry in REGISTRY.items():
        missing = [module for module in entry.needs if module in absent]
        assert entry.line in lines[name]
        assert lines[name].split()[1] == ("absent" if missing else "ready")
        details = shroom("list", "detectors", name)[1]
        assert (install_hint(entry.extra) in details) == bool(missing)
        assert entry.also in details
    assert [name for name in lines if "the default" in lines[name]] == [DEFAULT]


def test_every_extra_exists():
    extras = (ROOT / "setup.cfg").read_text().partition("[options.extras_require]")[2]
    for entry in REGISTRY.values():
        assert bool(entry.extra) == bool(entry.needs)
        assert not entry.extra or f"\n{entry.extra} =" in extras


# --- shroom fit


@pytest.mark.parametrize("rows", [gold(1), SAME])
def test_without_folds_there_are_no_figures(rows, piped, out, shroom):
    piped(json.dumps(rows))
    made = shroom("fit", "lexical", "-", "-o", out / "m.json", "--folds", 0)
    assert made == (0, f"wrote {out / 'm.json'}\n", "")
    assert "out_of_fold" not in json.loads((out / "m.json").read_text())


def test_fitting_a_recipe(tmp_path, data, out, done):
    path = recipe(tmp_path, 'detector = "lexical"\nthreshold = 0.4\ndata = ["test"]\n')
    text = done("fit", path, data, "-o", out / "m.json", "--folds", 3)
    assert re.search(r"^data.json +12 ", text, re.MULTILINE)
    fitted = json.loads((out / "m.json").read_text())
    assert (fitted["folds"], set(fitted["out_of_fold"])) == (3, {"data.json"})


# --- the recipes of the repository


@pytest.fixture
def without_models_or_data(tmp_path, monkeypatch):
    """Load nothing; recipes may name a folder of data also where there are no real data."""
    for name in ("config", "tokenizer", "model"):
        monkeypatch.setattr(hub, name, lambda *_: pytest.fail("a model was loaded"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("SHROOM_DATA", str(tmp_path))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_can_be_made_and_names_revisions(path, without_models_or_data):
    found = Recipe.of(str(path))
    assert found.make().name == found.detector
    assert set(found.data) <= {"val", "test"}
    assert "{data}" not in json.dumps(found.settings)
    if "model" in found.settings and "endpoint" not in found.settings:
        assert "revision" in found.settings


def test_the_makefiles_recipes_exist_and_the_page_names_all(without_models_or_data):
    page = (BASELINES / "README.md").read_text()
    assert all(f"`{path.stem}`" in page for path in BASELINES.glob("*.toml"))
    text = (ROOT / "Makefile").read_text()
    (default,) = re.findall(r"^RECIPE \?= (\S+)$", text, re.MULTILINE)
    assert Recipe.of(str(BASELINES / f"{default}.toml")).detector == DEFAULT
    extras = dict(re.findall(r"^EXTRA_(\S+) := (\S+)$", text, re.MULTILINE))
    assert default in extras
    for name, extra in extras.items():
        assert (BASELINES / f"{name}.toml").is_file()
        needs = REGISTRY[Recipe.of(str(BASELINES / f"{name}.toml")).detector].needs
        assert "torch" not in needs or "models" in extra.split(",")


# --- the table of results


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("table_of_results", BASELINES / "table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RECORD = {
    "recipe": "mine",
    "seconds": 12.4,
    "datapoints": {"val.model-agnostic.json": 499, "val.model-aware.v2.json": 501},
    "in_sample": ["val.model-agnostic.json", "val.model-aware.v2.json"],
    "out_of_fold": {"val.model-aware.v2.json": {"accuracy": 0.6914, "rho": 0.4185}},
    "scores": [
        {"split": "val", "track": "model-agnostic", "accuracy": 0.99, "rho": 0.99},
        {"split": "val", "track": "model-aware", "accuracy": 0.99, "rho": 0.99},
        {"split": "test", "track": "model-aware", "accuracy": 1.0, "rho": None},
    ],
}


def test_the_table(table):
    seen = {"in_sample": {"val.model-agnostic.json": 20}}
    for more, star in (({"in_sample": {}}, ""), (seen, "*")):
        record = {**RECORD, "out_of_fold": {"val.model-agnostic.json": 499}, **more}
        assert table.figures(record, "val", "model-agnostic") == f".990/.990{star}"
    lines = table.table([RECORD]).splitlines()
    assert {line.count("|") for line in lines} == {8}
    assert lines[2] == "| `mine` | .990/.990* | .691/.418 | – | 1.000/– | 12 for 1000 | run |"
    assert len(lines) == 3 + len(table.PUBLISHED)
    assert all(line.endswith("| published |") for line in lines[3:])
    assert table.table([]).splitlines() == [*lines[:2], *lines[3:]]


def test_the_table_is_made_from_the_records(ran, table, tmp_path, monkeypatch):
    page = recipe(tmp_path, f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n", "README.md")
    monkeypatch.setattr(table, "HERE", tmp_path)
    for _ in range(2):  # the second time changes nothing
        table.main(ran[0].parent)
        text = page.read_text()
        assert text.startswith(f"before\n{table.BEGIN}\n| system |")
        assert text.endswith(f"{table.END}\nafter\n")
        assert len(re.findall(r"^\| `mine` \| \.\d+/-?\.\d+ \|", text, re.MULTILINE)) == 1
        assert "old" not in text
