"""Detectors and metrics of other packages, by the code of the page that explains them."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT, SAMPLE

from shroom.core import registry
from shroom.core.toml import parsed_toml
from shroom.detectors.base import Detector
from shroom.detectors.registry import REGISTRY, detector
from shroom.scoring.datapoint_files import read
from shroom.scoring.metric_registry import METRICS

PAGE = (ROOT / "docs" / "own-detector.md").read_text(encoding="utf-8")
DATA = SAMPLE / "val.model-aware.json"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)[1]


def forget():
    """Have the entry points read again."""
    registry._entry_points.cache_clear()
    for names in (REGISTRY, METRICS):
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
    """Install the package of the page."""
    project = parsed_toml(block("toml"))["project"]
    install(project["name"], "new_words", block("python"), project["entry-points"])


@pytest.fixture
def unusable(install):
    """Install packages that collide, cannot be imported, or are something else."""
    install("other-lexical", "other_lexical", "", {"shroom.detectors": {"lexical": "x:X"}})
    install("broken", "broken", "import no_such_module", {"shroom.detectors": {"bad": "broken:A"}})
    points = {"shroom.metrics": {"accuracy": "odd:A", "odd": "odd:A", "odder": "odd:B"}}
    code = "from shroom.scoring.metric_registry import metric\nA, B = 3, metric('rho')\n"
    install("odd", "odd", code, points)


def test_an_installed_detector_predicts(documented, tmp_path):
    out = tmp_path / "out.json"
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from shroom.cli import main; main()"
    arguments = ["predict", "new-words", DATA, "--set", "case=true", "-o", out]
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path, *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    p = [row["p(Hallucination)"] for row in json.loads(out.read_text())]
    expected = detector("new-words", case=True).predict(read(DATA))
    np.testing.assert_array_equal(p, expected.round(6))


def test_it_is_listed_and_works_in_recipes(documented, shroom, tmp_path):
    listed = json.loads(shroom("detectors", "--format", "json")[1])[-1]
    assert (listed["name"], listed["package"]) == ("new-words", "new-words 1.0")
    assert (listed["missing"], listed["problem"]) == ([], None)
    assert listed["line"].startswith("The share of the hypothesis' words")
    recipe = tmp_path / "mine.toml"
    recipe.write_text('detector = "new-words"\ncase = true\n')
    assert shroom("predict", recipe, DATA, "-o", tmp_path / "p.json")[0] == 0
    code, _, err = shroom("predict", "new-wrods", DATA, "-o", tmp_path / "p.json")
    assert (code, "did you mean 'new-words'?" in err) == (2, True)


def test_an_installed_metric_scores(documented, shroom):
    code, out, err = shroom(
        "score", SAMPLE, SAMPLE, "--no-ci", "--format", "json", "--metrics", "distance"
    )
    assert code == 0, err
    assert [result["distance"] for result in json.loads(out)["results"]] == [0.0, 0.0]
    assert "distance of p" in shroom("metrics")[1]
    assert "new_words" in shroom("metrics", "distance")[1]


@pytest.mark.parametrize("p", [[0.5], [0.5] * 59 + [float("nan")], [1.5] * 60])
def test_p_that_cannot_be_is_refused(p, shroom, tmp_path, monkeypatch):
    class Odd(Detector):
        name = "odd"

        def predict(self, *_):
            return np.array(p)

    monkeypatch.setitem(globals(), "Odd", Odd)
    monkeypatch.setitem(REGISTRY, "odd", registry.Entry(f"{__name__}:Odd"))
    code, _, err = shroom("predict", "odd", DATA, "-o", tmp_path / "p.json")
    assert (code, "did not return a p from 0 to 1 for each of 60" in err) == (1, True), err


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
    code, out, _ = shroom("detectors")
    assert (code, sentence in out) == (0, True)
    assert shroom("predict", "unigram", DATA, "-o", tmp_path / "p.json")[0] == 0


def test_a_metric_that_cannot_be_used_is_reported(unusable, shroom):
    sentences = {
        "accuracy": "the metric 'accuracy' is defined by the kit and by odd 1.0; uninstall odd",
        "odd": "the metric 'odd' of odd 1.0 (odd:A) is not a shroom.metrics.base.Metric",
        "odder": "the metric 'odder' of odd 1.0 (odd:B) has the name 'rho'; give it the name",
    }
    code, out, listed = shroom("metrics")
    assert (code, "brier" in out) == (0, True)
    for name, sentence in sentences.items():
        assert sentence in listed
        code, _, err = shroom("score", SAMPLE, SAMPLE, "--metrics", name)
        assert (code, sentence in err) == (2, True), err


def test_entry_points_are_read_only_when_needed(monkeypatch, shroom):
    forget()
    monkeypatch.setattr(registry, "_entry_points", lambda _: pytest.fail("was read"))
    assert shroom("--help")[0] == 0
    assert shroom("score", SAMPLE, SAMPLE, "--no-ci")[0] == 0
