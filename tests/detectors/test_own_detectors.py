"""Detectors, metrics and data sets of others, by the code of the page that explains them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT, SAMPLE, write_lines

from shroom.core import registry
from shroom.core.problems import ShroomError
from shroom.datasets.registry import DATA_SETS, data_set
from shroom.detectors.recipe import Recipe
from shroom.detectors.registry import REGISTRY, detector
from shroom.prediction.ray.shards import Worker, shards_of
from shroom.scoring.datapoint_files import read
from shroom.scoring.metric_registry import METRICS

PAGE = (ROOT / "docs" / "own-detector.md").read_text(encoding="utf-8")
DATA_SET_PAGE = (ROOT / "docs" / "own-data-set.md").read_text(encoding="utf-8")
DATA = SAMPLE / "val.model-aware.json"
PACKAGE = ROOT / "docs" / "examples" / "own-detector"


def blocks(language, page=PAGE):
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def forget():
    """Have the entry points read again."""
    registry._entry_points.cache_clear()
    for names in (REGISTRY, METRICS, DATA_SETS):
        for cached in ("_others", "_collisions"):
            names.__dict__.pop(cached, None)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a package with entry points, as pip would."""

    def call(name, module, code, points):
        (tmp_path / f"{module}.py").write_text(code)
        folder = tmp_path / f"{module}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [
            line
            for group, named in points.items()
            for line in (f"[{group}]", *(f"{key} = {value}" for key, value in named.items()))
        ]
        (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
        monkeypatch.delitem(sys.modules, module, raising=False)
        forget()

    monkeypatch.syspath_prepend(tmp_path)
    yield call
    monkeypatch.undo()
    forget()


@pytest.fixture
def documented(install):
    """Install the packages of the page."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    code = (PACKAGE / "new_words.py").read_text()
    install(project["name"], "new_words", code, project["entry-points"])
    points = tomllib.loads(blocks("toml")[0])["project"]["entry-points"]
    install("office", "office", blocks("python")[2], points)
    points = tomllib.loads(blocks("toml", DATA_SET_PAGE)[0])["project"]["entry-points"]
    install("kitchen", "kitchen", blocks("python", DATA_SET_PAGE)[0], points)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working folder, with a function that writes a module into it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)

    def write(body="return np.full(len(datapoints), 0.5)", head=""):
        lines = (
            "import numpy as np",
            "from shroom.detectors.base import Detector",
            head,
            "class Mine(Detector):",
            "    name = 'mine'",
            "    def p(self, datapoints):",
            f"        {body}",
        )
        (tmp_path / "mine.py").write_text("\n".join(lines))
        return tmp_path

    return write


@pytest.fixture
def unusable(install):
    """Install packages that collide, cannot be imported, or are something else."""
    install("other-lexical", "other_lexical", "", {"shroom.detectors": {"lexical": "x:X"}})
    install("broken", "broken", "import no_such_module", {"shroom.detectors": {"bad": "broken:A"}})
    points = {"shroom.metrics": {"accuracy": "odd:A", "odd": "odd:A", "odder": "odd:B"}}
    code = "from shroom.scoring.metric_registry import metric\nA, B = 3, metric('rho')\n"
    install("odd", "odd", code, points)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install a copy of the page's package, and return a function that runs Python with it."""
    folder = tmp_path_factory.mktemp("stranger")

    def python(*args, site=()):
        path = os.pathsep.join(map(str, (*site, ROOT)))
        return subprocess.run(
            [sys.executable, *map(str, args)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
        )

    shutil.copytree(PACKAGE, folder / "new-words")
    assert python("-m", "shroom", "list", "detectors").stdout.count("new-words") == 0
    pip = ("pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    done = python("-m", *pip, "--target", folder / "site", folder / "new-words")
    assert done.returncode == 0, done.stderr
    return lambda *args: python(*args, site=[folder / "site"])


@pytest.mark.parametrize(
    "command",
    [
        ("pytest", "-q", "-p", "no:cacheprovider", "new-words"),
        ("shroom", "predict", "new-words", SAMPLE, "--set", "case=true", "-o", "submission"),
        ("shroom", "evaluate", "new-words", "lexical", "--on", SAMPLE, "--no-ci", "--runs", "runs"),
        ("shroom", "explain", "new-words", DATA, "--index", "0"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_new_package_is_installed_and_runs(installed, command):
    done = installed("-m", *command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_shows_the_package():
    assert blocks("python")[0] == (PACKAGE / "new_words.py").read_text()


def test_it_is_listed_and_works_in_recipes(documented, shroom, in_json, tmp_path, monkeypatch):
    listed = in_json("list", "detectors")[-1]
    assert (listed["name"], listed["package"]) == ("new-words", "new-words 1.0")
    assert listed["missing"] == []
    assert listed["about"].startswith("The share of words in the hypothesis")
    recipe = tmp_path / "mine.toml"
    recipe.write_text('detector = "new-words"\ncase = true\n')
    assert shroom("predict", recipe, DATA, "-o", tmp_path / "p.json")[0] == 0
    code, _, err = shroom("predict", "new-wrods", DATA, "-o", tmp_path / "p.json")
    assert (code, "did you mean 'new-words'?" in err) == (2, True)
    monkeypatch.chdir(tmp_path)
    Path("mine.py").touch()
    for name, place in (("mine.py", "mine:NAME"), ("mine", "mine:NAME"), ("mine.py:A", "mine:A")):
        code, _, err = shroom("predict", name, DATA, "-o", tmp_path / "p.json")
        assert (code, err.endswith(f"import path of your detector: {place}\n")) == (2, True)


@pytest.mark.parametrize("metric", ["distance", "mine:DISTANCE"])
def test_a_metric_of_a_package_or_module_scores(metric, folder, documented, shroom, done):
    folder()
    Path("mine.py").write_text(blocks("python")[2], encoding="utf-8")
    given = ("--no-ci", "--format", "json", "--metrics", metric)
    out = done("score", SAMPLE, SAMPLE, *given)
    assert [result["distance"] for result in json.loads(out)["results"]] == [0.0, 0.0]
    assert "distance between p" in shroom("list", "metrics")[1]
    assert "from office" in shroom("list", "metrics", "distance")[1]


def claims(path, **changed):
    """Write claims in the form of the page's data set, the second of them with changes."""
    (row,) = map(json.loads, blocks("json", DATA_SET_PAGE))
    rows = [{**row, "id": f"r{n}", "verdicts": ["right", "wrong"][: n % 3]} for n in range(12)]
    rows[1] = {key: value for key, value in (rows[1] | changed).items() if value is not ...}
    return write_lines(path, rows)


@pytest.mark.parametrize("name", ["recipes", "kitchen:RECIPES"])
def test_an_installed_data_set_is_described_and_evaluated(
    name, documented, shroom, in_json, tmp_path
):
    listed = in_json("list", "datasets")[-1]
    assert (listed["name"], listed["path"]) == ("recipes", None)
    assert "the kit cannot fetch it" in shroom("list", "datasets", "recipes")[1]
    path = claims(tmp_path / "claims.jsonl")
    code, _, err = shroom("datasets", "convert", name, path, "-o", tmp_path / "items.json")
    assert (code, len(json.loads((tmp_path / "items.json").read_text()))) == (0, 8), err
    code, out, err = shroom("datasets", "describe", name, path, "--no-ci", "--format", "json")
    row = {"cuisine": "Thai", "claims": 12, "verdicts": 12, "wrong_share": 1 / 3}
    assert json.loads(out)["tables"]["cuisine"] == [row | {"wrong_share_ci": None}]
    assert "expected two verdicts, got one (the first of 4)" in err
    given = ("--on", f"recipes={path}", "--no-ci", "--runs", tmp_path / "runs", "--format", "json")
    code, out, err = shroom("evaluate", "lexical", *given)
    assert (code, json.loads(out)["datasets"][0]["n"]) == (0, 8), err
    code, _, err = shroom("datasets", "fetch", "recipes")
    way_out = "the kit cannot download recipes; for its files, see our kitchen"
    assert (code, err) == (1, f"shroom: {way_out}\n")


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"recipe": " "}, "row-value"),
        ({"claim": ...}, "row-value"),
        ({"verdicts": ["perhaps"]}, "row-value"),
        ({"verdicts": "wrong"}, "row-value"),
        ({"cuisine": 5}, "text-odd"),
        ({"cuisine": "Danish"}, "word-odd"),
        ({"model": float("nan")}, "value-finite"),
        ({"id": "r0", "verdicts": []}, "row-doubled"),
    ],
)
def test_an_odd_row_of_it_has_its_place(changed, code, documented, tmp_path):
    found = data_set("recipes").read(claims(tmp_path / "claims.jsonl", **changed))
    odd = [problem for problem in found.problems if problem.code != "judgement-missing"]
    assert [(problem.code, problem.index) for problem in odd] == [(code, 1)]
    assert found.dropped == (code == "row-value")


def test_a_worker_of_ray_imports_the_module_itself(folder):
    (shard,) = shards_of(str(DATA), ())
    worker = Worker(str(DATA), Recipe.of("mine:Mine"))
    folder()
    assert worker.judge(shard).lines.count(b"\n") == 60
    del sys.modules["mine"]
    folder("raise KeyError('a')")
    stop = Worker(str(DATA), Recipe.of("mine:Mine")).judge(shard).stop
    assert "mine.py, line 7, in p raised KeyError: 'a'; the traceback is in " in stop


def test_a_changed_module_is_evaluated_again(folder, shroom):
    given = ("evaluate", "mine:Mine", "--on", DATA, "--no-ci", "--runs", "runs", "--format", "json")
    folder()
    first = shroom(*given)[1]
    del sys.modules["mine"]
    folder("return np.linspace(0, 1, len(datapoints))")
    assert shroom(*given)[1] != first


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("return [0.5]", "an array of 60 numbers from 0 to 1, got an array of shape (1,)"),
        ("return [0.5] * 59 + [float('nan')]", "got nan for datapoint 59"),
        ("return np.full(60, 1.5)", "got 1.5 for datapoint 0"),
        ("return (0.5 for _ in datapoints)", "got a value of type generator"),
        ("pass", "got a value of type NoneType"),
        ("open('absent')", "mine.py, line 7, in p raised FileNotFoundError: "),
        ("np.ones(2) @ np.ones(3)", "mine.py, line 7, in p raised ValueError: "),
        ("exit(3)", "mine.py, line 7, in p raised SystemExit: 3"),
    ],
)
def test_what_a_detector_does_wrong_is_a_sentence(body, sentence, folder, refused):
    folder(body)
    assert sentence in refused("predict", "mine:Mine", DATA, "-o", "p.json")


#: The verbs that run a detector, on a module of the working folder.
VERBS = {
    "predict": ("mine:Mine", DATA, "-o", "p.json", "--resume"),
    "evaluate": ("mine:Mine", "lexical", "--on", DATA, "--no-ci", "--runs", "runs"),
    "explain": ("mine:Mine", DATA, "--index", "0"),
    "rate": (DATA, "--labelled", DATA, "--detector", "mine:Mine"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_a_module_and_stores_its_traceback(verb, folder, shroom, tmp_path):
    folder(head="import beside, numpy.random")
    (tmp_path / "beside.py").touch()
    (tmp_path / "decimal.py").write_text("raise SystemExit")  # has the name of an installed one
    code, _, err = shroom(verb, *VERBS[verb])
    assert code == 0, err
    assert sys.path[-1] == str(tmp_path)
    del sys.modules["mine"]
    folder("raise KeyError('a')")
    code, out, err = shroom(verb, *VERBS[verb])
    start, _, path = err.rstrip().rpartition(" is in ")
    assert (code, out) == (1, "")
    assert start.endswith("mine.py, line 7, in p raised KeyError: 'a'; the traceback")
    assert "KeyError: 'a'" in Path(path).read_text(encoding="utf-8")
    with pytest.raises(KeyError):  # in Python, it is the plug-in's own
        detector("mine:Mine").p(read(DATA))
    with pytest.raises(ShroomError, match="no setting 'size'; it has no settings"):
        detector("mine:Mine", size=3)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("absent:Mine", "cannot be imported: ModuleNotFoundError: No module named 'absent'; it is"),
        ("mine:Mien", "has no attribute 'Mien'; did you mean 'Mine'?"),
        ("mine:np", "the detector 'mine:np' is not a shroom.detectors.base.Detector"),
        ("mine:MADE", "the detector 'mine:MADE' is not a class; use the import path of its class"),
        ("mine:Nameless", "the detector 'mine:Nameless' has no name; add one"),
        ("mine:Empty", "the detector empty has no method p(datapoints)"),
        ("mine:Needy", "the detector mine:Needy needs the setting 'size'"),
        *(
            (head, "-c 'import mine' shows where it fails")
            for head in ("1 / 0", "def (", "exit(0)")
        ),
    ],
)
def test_a_place_without_a_detector_is_refused(name, sentence, folder, refused, tmp_path):
    broken = not name.partition(":")[2]  # a module that cannot be imported
    path = folder(head=name if broken else "") / "mine.py"
    path.write_text(
        f"{path.read_text()}\nMADE = Mine()\n"
        "class Nameless(Mine):\n    name = ''\n"
        "class Empty(Detector):\n    name = 'empty'\n"
        "class Needy(Mine):\n    def __init__(self, size):\n        self.size = size\n"
    )
    assert sentence in refused("predict", "mine:Mine" if broken else name, DATA, "-o", "p.json")
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("lexical", "the detector 'lexical' is defined by the kit and by other-lexical 1.0"),
        ("bad", "the detector 'bad' of broken 1.0 (broken:A) cannot be imported: Modul"),
    ],
)
def test_a_detector_that_cannot_be_used_is_reported(unusable, shroom, tmp_path, name, sentence):
    code, _, err = shroom("predict", name, DATA, "-o", tmp_path / "p.json")
    assert (code, sentence in err) == (1, True), err
    code, _, err = shroom("list", "detectors")
    assert (code, sentence in err) == (0, True)
    other = ("unigram", DATA, "--set", "language=other", "-o", tmp_path / "p.json")
    assert shroom("predict", *other)[0] == 0


def test_a_metric_that_cannot_be_used_is_reported(unusable, shroom, refused):
    sentences = {
        "accuracy": "the metric 'accuracy' is defined by the kit and by odd 1.0; uninstall odd",
        "odd": "the metric 'odd' of odd 1.0 (odd:A) is not a shroom.metrics.base.Metric",
        "odder": "the metric 'odder' of odd 1.0 (odd:B) has the name 'rho'; set its name",
    }
    code, out, listed = shroom("list", "metrics")
    assert (code, "brier" in out) == (0, True)
    for name, sentence in sentences.items():
        assert sentence in listed
        assert sentence in refused("score", SAMPLE, SAMPLE, "--metrics", name, code=2)


@pytest.mark.parametrize("place", ["metrics", "columns"])
def test_a_bundle_with_a_metric_of_another_package_is_refused(documented, tmp_path, shroom, place):
    shutil.copytree(SAMPLE, tmp_path / "gold")
    edition = tmp_path / "gold" / "edition.toml"
    text = (ROOT / "shroom/scoring/editions/semeval2024.toml").read_text()
    changes = {
        "metrics": ('metrics = ["accuracy", "rho"]', 'metrics = ["accuracy", "distance"]'),
        "columns": ('metric = "rho"', 'metric = "distance"'),
    }
    edition.write_text(text.replace(*changes[place]).replace('"semeval2024"', '"own"'))
    out = tmp_path / "out"
    code, _, err = shroom("bundle", "--gold", tmp_path / "gold", "-o", out, "--no-predictions")
    assert code == 1
    assert "'distance' is defined in office:DISTANCE, but the scoring program contains" in err
    assert not out.exists()


def test_entry_points_are_read_only_when_needed(monkeypatch, shroom):
    forget()
    monkeypatch.setattr(registry, "_entry_points", lambda _: pytest.fail("was read"))
    assert shroom("--help")[0] == 0
    assert shroom("score", SAMPLE, SAMPLE, "--no-ci")[0] == 0
