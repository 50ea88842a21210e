"""Detectors, metrics and data sets of others, by the code of the page that explains them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from configparser import ConfigParser
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, SAMPLE, write_lines

from shroom.core import registry
from shroom.core.problems import ShroomError
from shroom.datasets.registry import DATA_SETS, data_set
from shroom.detectors.registry import REGISTRY, Recipe, detector
from shroom.inference.run_settings import RUN
from shroom.prediction.predictions import predict
from shroom.prediction.ray_data import Worker
from shroom.scoring.check import check
from shroom.scoring.datapoint_files import read
from shroom.scoring.editions.files import default
from shroom.scoring.metric_registry import METRICS
from shroom.scoring.scores import score

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
        listed = ConfigParser()
        listed.read_dict(points)
        with (folder / "entry_points.txt").open("w") as stream:
            listed.write(stream)
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
    for name, page, n in (("office", PAGE, 2), ("kitchen", DATA_SET_PAGE, 0)):
        points = tomllib.loads(blocks("toml", page)[0])["project"]["entry-points"]
        install(name, name, blocks("python", page)[n], points)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the working folder, with a function that writes a module into it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)

    def write(body="return np.full(len(datapoints), 0.5)", head=""):
        (tmp_path / "mine.py").write_text(
            "import numpy as np\nfrom shroom.detectors.base import Detector\n"
            f"{head}\nclass Mine(Detector):\n    name = 'mine'\n"
            f"    def p(self, datapoints):\n        {body}"
        )
        sys.modules.pop("mine", None)
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
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*site, ROOT)))}
        command = [sys.executable, *map(str, args)]
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

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


def test_with_p_stretched_as_on_the_page_another_threshold_gives_no_warning(documented):
    assert "np.interp(p, (0, 0.3, 1), (0, 0.5, 1))" in PAGE
    own = detector("new-words", threshold=0.3)

    class Stretched(type(own)):
        def p(self, datapoints):
            return np.interp(own.p(datapoints), (0, 0.3, 1), (0, 0.5, 1))

    made = [predict(one, SAMPLE) for one in (own, Stretched())]
    assert [check(one).problems.codes for one in made] == [{"label-p"}, set()]
    before, after = (score(one, SAMPLE).results for one in made)
    assert [result.scores for result in before] == [result.scores for result in after]


def test_it_is_listed_and_works_in_recipes(documented, done, refused, folder):
    line = done("list", "detectors").splitlines()[-1]
    assert line.split()[:6] == ["new-words", "ready", "The", "share", "of", "words"]
    assert line.endswith("(from new-words 1.0)")
    Path("mine.toml").write_text('detector = "new-words"\ncase = true\n', "utf-8")
    done("predict", "mine.toml", DATA, "-o", "p.json")
    told = refused("predict", "new-wrods", DATA, "-o", "p.json", code=2)
    assert "did you mean 'new-words'?" in told
    Path("mine.py").touch()
    for name, place in (("mine.py", "mine:NAME"), ("mine", "mine:NAME"), ("mine.py:A", "mine:A")):
        told = refused("predict", name, DATA, "-o", "p.json", code=2)
        assert told.endswith(f"import path of your detector: {place}\n")


@pytest.mark.parametrize("metric", ["distance", "mine:DISTANCE"])
def test_a_metric_of_a_package_or_module_scores(metric, folder, documented, done, in_json):
    Path("mine.py").write_text(blocks("python")[2], encoding="utf-8")
    found = in_json("score", SAMPLE, SAMPLE, "--no-ci", "--metrics", metric)
    assert [result["distance"] for result in found["results"]] == [0.0, 0.0]
    assert "distance between p" in done("list", "metrics")
    assert "from office" in done("list", "metrics", "distance")


def claims(path, **changed):
    """Write claims in the form of the page's data set, the second of them with changes."""
    (row,) = map(json.loads, blocks("json", DATA_SET_PAGE))
    rows = [{**row, "id": f"r{n}", "verdicts": ["right", "wrong"][: n % 3]} for n in range(12)]
    rows[1] = {key: value for key, value in (rows[1] | changed).items() if value is not ...}
    return write_lines(path, rows)


@pytest.mark.parametrize("name", ["recipes", "kitchen:RECIPES"])
@pytest.mark.usefixtures("documented")
def test_an_installed_data_set_is_evaluated(name, shroom, done, in_json, refused, tmp_path):
    assert done("list", "datasets").splitlines()[-1].split()[:2] == ["recipes", "absent"]
    assert "the kit cannot fetch it" in done("list", "datasets", "recipes")
    path = claims(tmp_path / "claims.jsonl")
    done("datasets", "convert", name, path, "-o", tmp_path / "items.json")
    assert len(json.loads((tmp_path / "items.json").read_text())) == 8
    _, out, err = shroom("datasets", "describe", name, path, "--no-ci", "--format", "json")
    row = {"cuisine": "Thai", "claims": 12, "verdicts": 12, "wrong_share": 1 / 3}
    assert json.loads(out)["tables"]["cuisine"] == [row | {"wrong_share_ci": None}]
    assert "expected two verdicts, got one (the first of 4)" in err
    given = ("--on", f"recipes={path}", "--no-ci", "--runs", tmp_path / "runs")
    assert in_json("evaluate", "lexical", *given)["datasets"][0]["n"] == 8
    way_out = "the kit cannot download recipes; for its files, see our kitchen"
    assert refused("datasets", "fetch", "recipes") == f"shroom: {way_out}\n"


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
    row = {"name": "a.jsonl", "path": str(DATA)}
    worker = Worker(Recipe.of("mine:Mine"), RUN, default())
    folder()
    assert worker(row)["outcome"].content.count(b"\n") == 60
    folder("raise KeyError('a')")
    stop = Worker(Recipe.of("mine:Mine"), RUN, default())(row)["outcome"].stop
    assert "mine.py, line 7, in p raised KeyError: 'a'; the traceback is in " in stop


def test_a_changed_module_is_evaluated_again(folder, in_json):
    given = ("evaluate", "mine:Mine", "--on", DATA, "--no-ci", "--runs", "runs")
    folder()
    first = in_json(*given)
    folder("return np.linspace(0, 1, len(datapoints))")
    assert in_json(*given) != first


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("return [0.5]", "an array of 60 numbers from 0 to 1, got an array of shape (1,)"),
        ("return [0.5] * 59 + [float('nan')]", "got nan for datapoint 59"),
        ("return np.full(60, 1.5)", "got 1.5 for datapoint 0"),
        ("return (0.5 for _ in datapoints)", 'got "<generator object'),
        ("pass", "got an array of shape ()"),
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
def test_every_verb_takes_a_module_and_stores_its_traceback(verb, folder, done, refused, tmp_path):
    folder(head="import beside, numpy.random")
    (tmp_path / "beside.py").touch()
    (tmp_path / "decimal.py").write_text("raise SystemExit")  # has the name of an installed one
    done(verb, *VERBS[verb])
    assert sys.path[-1] == str(tmp_path)
    folder("raise KeyError('a')")
    start, _, path = refused(verb, *VERBS[verb]).rstrip().rpartition(" is in ")
    assert start.endswith("mine.py, line 7, in p raised KeyError: 'a'; the traceback")
    assert "KeyError: 'a'" in Path(path).read_text(encoding="utf-8")
    with pytest.raises(KeyError):  # in Python, it is the plug-in's own
        detector("mine:Mine").p(read(DATA))
    with pytest.raises(ShroomError, match="no setting 'size'; it has no settings"):
        detector("mine:Mine", size=3)


#: Lines with which a module cannot be imported.
BROKEN = ("1 / 0", "def (", "exit(0)")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("absent:Mine", "cannot be imported: ModuleNotFoundError: No module named 'absent'; it is"),
        ("mine:Mien", "has no attribute 'Mien'; did you mean 'Mine'?"),
        ("mine:np", "the detector 'mine:np' is not a Detector; derive its class from Detector"),
        ("mine:MADE", "the detector 'mine:MADE' is not a class; use the import path of a class"),
        ("mine:Nameless", "the detector 'mine:Nameless' has no name; add one"),
        ("mine:Empty", "the detector empty has no method p(datapoints)"),
        ("mine:Needy", "the detector mine:Needy needs the setting 'size'"),
        *((head, "run python -c 'import mine'") for head in BROKEN),
    ],
)
def test_a_place_without_a_detector_is_refused(name, sentence, folder, refused, tmp_path):
    broken = name in BROKEN
    path = folder(head=name if broken else "") / "mine.py"
    path.write_text(
        f"{path.read_text()}\nMADE = Mine()\n"
        "class Nameless(Mine):\n    name = ''\n"
        "class Empty(Detector):\n    name = 'empty'\n"
        "class Needy(Mine):\n    def __init__(self, size):\n        self.size = size\n"
    )
    assert sentence in refused("predict", "mine:Mine" if broken else name, DATA, "-o", "p.json")
    assert not (tmp_path / "p.json").exists()


def test_a_detector_that_cannot_be_used_is_reported(unusable, shroom, done, refused, tmp_path):
    out = ("-o", tmp_path / "p.json")
    code, _, listed = shroom("list", "detectors")
    assert code == 0
    for name, sentence in {
        "lexical": "the detector 'lexical' is defined by the kit and by other-lexical 1.0",
        "bad": "the detector 'bad' of broken 1.0 (broken:A) cannot be imported: Modul",
    }.items():
        assert sentence in listed
        assert sentence in refused("predict", name, DATA, *out)
    done("predict", "unigram", DATA, "--set", "language=other", *out)


def test_a_metric_that_cannot_be_used_is_reported(unusable, shroom, refused):
    sentences = {
        "accuracy": "the metric 'accuracy' is defined by the kit and by odd 1.0; uninstall odd",
        "odd": "the metric 'odd' of odd 1.0 (odd:A) is not a Metric; derive its class from Metric",
        "odder": "the metric 'odder' of odd 1.0 (odd:B) has the name 'rho'; set its name",
    }
    code, out, listed = shroom("list", "metrics")
    assert (code, "brier" in out) == (0, True)
    for name, sentence in sentences.items():
        assert sentence in listed
        assert sentence in refused("score", SAMPLE, SAMPLE, "--metrics", name)


@pytest.mark.parametrize("place", ["metrics", "columns"])
def test_a_bundle_with_a_metric_of_a_package_is_refused(documented, tmp_path, refused, place):
    shutil.copytree(SAMPLE, tmp_path / "gold")
    edition = tmp_path / "gold" / "edition.toml"
    text = (ROOT / "shroom/scoring/editions/semeval2024.toml").read_text()
    old = {"metrics": 'metrics = ["accuracy", "rho"]', "columns": 'metric = "rho"'}[place]
    text = text.replace(old, old.replace("rho", "distance"))
    edition.write_text(text.replace('"semeval2024"', '"own"'))
    out = tmp_path / "out"
    told = refused("bundle", "--gold", tmp_path / "gold", "-o", out, "--no-predictions")
    assert "'distance' is defined in office:DISTANCE, but the scoring program contains" in told
    assert not out.exists()


def test_entry_points_are_read_only_when_needed(monkeypatch, done):
    forget()
    monkeypatch.setattr(registry, "_entry_points", lambda _: pytest.fail("was read"))
    done("--help")
    done("score", SAMPLE, SAMPLE, "--no-ci")
