"""The documentation says what the code does."""

import importlib
import re
import subprocess
import sys

import click
import pytest
from conftest import ROOT

from shroom.cli import shroom as group
from shroom.core.problem_codes import CODES

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]


def table_of_codes() -> str:
    lines = ["| code | | to mend it |", "|---|---|---|"]
    lines += [f"| `{code}` | {severity} | {mend} |" for code, (severity, mend) in CODES.items()]
    return "\n".join(lines)


def test_every_code_is_documented_as_it_is():
    page = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    assert table_of_codes() in page, f"docs/problems.md should have this table:\n{table_of_codes()}"


def test_every_code_is_used():
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("shroom", "scorer")
        for path in (ROOT / folder).rglob("*.py")
    )
    uses = re.sub(r"CODES: dict.*?^}", "", code, flags=re.DOTALL | re.MULTILINE)
    assert [name for name in CODES if f'"{name}"' not in uses] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_verb_and_option_on_a_page_exists(page):
    for line in re.findall(r"^shroom .*|`shroom [^`]*`", page.read_text(), flags=re.MULTILINE):
        words = line.strip("`").split()
        assert words[1] in group.verbs or words[1] == "COMMAND", line
        command = importlib.import_module(f"shroom.cli.{words[1]}").command
        if isinstance(command, click.Group) and len(words) > 2:
            command = command.get_command(click.Context(command), words[2])
            assert command is not None, line
        known = {name for parameter in command.params for name in parameter.opts}
        options = [re.match(r"-[-a-z]+", word.strip("[]")) for word in words]
        assert {option[0] for option in options if option} <= known | {"--help"}, line


def test_python_examples_of_the_readme_and_index_parse():
    for page in PAGES:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
            compile(block, str(page), "exec")


def test_nothing_names_a_place_of_one_machine():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, tracked):
        path = ROOT / name
        if path.suffix in {
            ".py",
            ".md",
            ".cfg",
            ".toml",
            ".txt",
            ".yaml",
            ".yml",
            ".json",
            ".html",
        }:
            assert not re.search(
                r"/(work|root)/[a-z]", path.read_text(encoding="utf-8", errors="replace")
            ), name


def test_the_public_face():
    code = (
        "import shroom;"
        "print(*map(callable, (shroom.read, shroom.check, shroom.score, shroom.detector)));"
        "import shroom.score;"
        "print(shroom.score('shroom/sample', 'shroom/sample').results[0].rho)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["True"] * 4 + ["1.0"], done.stderr


def test_the_architecture_names_modules_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:core|metrics|scoring|inference|detectors|prediction)\.\w+)", page)
    assert len(names) > 20
    for name in names:
        path = ROOT / "shroom" / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file(), name
