"""What is installed: requirements and their pins, the extras of recipes and of messages."""

import configparser
import functools
import re
import runpy
import subprocess
import sys
import zipfile
from types import SimpleNamespace

import pytest
from conftest import ROOT
from packaging.requirements import Requirement

from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.detectors.registry import REGISTRY

CONFIG = configparser.ConfigParser()
CONFIG.read(ROOT / "setup.cfg")
EXTRAS = CONFIG["options.extras_require"]
RELEASE = runpy.run_path(str(ROOT / ".ci" / "check_release.py"))
#: Versions of Python for which constraints.txt has pins.
PYTHONS = ("3.11.7", "3.12.1", "3.13.0", "3.14.0")


def requirements(text):
    return [Requirement(line) for line in text.split("\n") if line]


def all_extras(names):
    """Return extras with all that they include."""
    found = set()
    for name in names:
        found.add(name)
        for each in requirements(EXTRAS[name]):
            if each.name == "shroom-kit":
                found |= all_extras(each.extras)
    return found


@pytest.mark.parametrize("python", PYTHONS)
def test_all_that_is_installed_is_pinned_once_for_each_python(python):
    here = {"python_version": python.rpartition(".")[0], "python_full_version": python}
    here.update(sys_platform="linux", platform_machine="x86_64")
    pins = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            pin = Requirement(line)
            if pin.marker is None or pin.marker.evaluate(here):
                assert pin.name not in pins, line
                pins[pin.name] = str(pin.specifier).removeprefix("==")
    asked = [CONFIG["options"]["install_requires"], *EXTRAS.values()]
    for each in [one for text in asked for one in requirements(text)]:
        if each.name != "shroom-kit" and (each.marker is None or each.marker.evaluate(here)):
            name = re.sub("[-_.]+", "-", each.name).lower()
            assert pins.get(name, "no pin") in each.specifier, f"{each} on Python {python}"


@pytest.mark.linux
@pytest.mark.parametrize(
    "recipe", sorted((ROOT / "baselines").glob("*.toml")), ids=lambda p: p.stem
)
def test_make_installs_what_a_recipe_needs(recipe):
    command = ["make", "-nB", "-C", ROOT, "baseline", f"RECIPE={recipe.stem}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    installed = re.search(r"with-(\S+)$", shown, re.MULTILINE)[1].split(",")
    packages = {one.name for name in all_extras(installed) for one in requirements(EXTRAS[name])}
    entry = REGISTRY[re.search(r'^detector = "(.+)"', recipe.read_text(), re.MULTILINE)[1]]
    needed = requirements(EXTRAS[entry.extra]) if entry.extra else []
    assert {each.name for each in needed} <= packages
    steps = re.findall(r'echo "next: (.*?) +#', shown)
    begin = [". .venv/bin/activate", "shroom score", "shroom compare"]
    assert [" ".join(step.split()[:2]) for step in steps] == begin
    assert f"submissions/{recipe.stem} " in steps[2]


def test_every_extra_that_a_message_names_exists():
    source = {path: path.read_text() for path in (ROOT / "shroom").rglob("*.py")}
    named = r"\b(?:install_hint|require)\(['\"](\w+)['\"]"
    found = set(re.findall(named, "".join(source.values())))
    assert {"annotate", "data", "fit", "judge", "models", "onnx", "ray", "report"} <= found
    assert found <= set(EXTRAS)
    assert not [path for path, text in source.items() if "pip install 'shroom-kit" in text]


def test_what_is_missing_is_named_at_once():
    with pytest.raises(ShroomError) as caught:
        require("report", "click", "no-such-package", "nor-this-one")
    assert str(caught.value) == (
        "this command requires no-such-package and nor-this-one: "
        "run pip install -e '.[report]' in your clone of the kit"
    )


def test_the_core_requires_only_small_packages():
    names = {each.name for each in requirements(CONFIG["options"]["install_requires"])}
    assert names == {"click", "msgspec", "numpy", "rich"}


def test_the_description_on_an_index_has_no_link_into_the_repository(monkeypatch):
    given = {}
    monkeypatch.setitem(sys.modules, "setuptools", SimpleNamespace(setup=given.update))
    runpy.run_path(str(ROOT / "setup.py"))
    description = given["long_description"]
    assert all(url.startswith("https://") for url in re.findall(r"\]\(([^)]*)\)", description))
    assert "- **Participants**: get your first score, then choose a detector." in description
    assert "![" not in description
    assert "$ shroom check docs/examples/wrong.json" in description


@pytest.fixture
def release(tmp_path):
    """Make what ``make release`` looks at, for version 1.2.0, and return its problems by tag."""
    (tmp_path / "shroom" / "core").mkdir(parents=True)
    (tmp_path / "shroom" / "core" / "version.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.0 (2026-01-31)\n\n## 1.1.0\n")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "shroom_kit-1.2.0.tar.gz").touch()
    with zipfile.ZipFile(tmp_path / "dist" / "shroom_kit-1.2.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("shroom_kit-1.2.0.dist-info/METADATA", "Version: 1.2.0\n")
        wheel.writestr("shroom/core/version.py", "")
    return functools.partial(RELEASE["problems"], tmp_path)


def test_a_release_has_one_version_a_date_and_one_wheel_with_all_files(release, tmp_path):
    assert release("v1.2.0") == release() == []
    assert release("v1.3.0") == ["the tag is v1.3.0, expected v1.2.0 (shroom/core/version.py)"]
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 1.2.0 (unreleased)\n")
    expected = "CHANGELOG.md begins with '1.2.0 (unreleased)', expected '1.2.0 (YYYY-MM-DD)'"
    assert release() == [expected]
    changelog.write_text("# Changelog\n\n## 1.2.0 (2026-01-31)\n")
    (tmp_path / "shroom" / "template.html").touch()
    assert release() == ["the wheel does not contain shroom/template.html"]
    (tmp_path / "dist" / "shroom_kit-1.1.0.tar.gz").touch()
    (problem,) = release()
    assert problem.startswith("dist/ has shroom_kit-1.1.0.tar.gz, shroom_kit-1.2.0-py3")


def test_every_file_of_the_package_is_installed():
    globs = CONFIG["options.package_data"]["shroom"].split()
    installed = {path for glob in globs for path in (ROOT / "shroom").glob(glob)}
    command = ["git", "ls-files", "-z", "--", "shroom"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = {ROOT / name for name in listed.split("\0") if name and not name.endswith(".py")}
    assert files - installed == set()
