"""The documentation agrees with the code, and its links lead somewhere."""

import importlib
import re
import runpy
import subprocess
import sys

import click
from conftest import ROOT

from shroom.cli import shroom as group
from shroom.core.problem_codes import CODES

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
ALL_PAGES = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)


def test_the_page_of_codes_has_every_code_and_check_explains_no_other():
    lines = "\n".join(runpy.run_path(str(ROOT / ".ci" / "documentation.py"))["codes"]())
    for name, code in CODES.items():
        assert f'| <a id="{name}"></a>`{name}` | {code.fix} |' in lines
        assert not re.search("used anyway|still used|are used", code.fix), name  # see the page
    page = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    assert {*re.findall(r"^- `([a-z0-9-]+)`", page, re.MULTILINE)} <= {*CODES}


def test_every_code_is_used():
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("shroom", "scorer")
        for path in (ROOT / folder).rglob("*.py")
    )
    uses = re.sub(r"CODES: dict.*?^}", "", code, flags=re.DOTALL | re.MULTILINE)
    assert [name for name in CODES if f'"{name}"' not in uses] == []


def test_every_verb_and_option_in_the_prose_exists():
    for line in re.findall(r"`shroom [^`]*`", ALL_PAGES):
        words = line.strip("`").split()
        assert words[1] in group.list_commands(None) or words[1] == "COMMAND", line
        command = importlib.import_module(f"shroom.cli.{words[1].replace('-', '_')}").command
        for word in words[2:]:
            if isinstance(command, click.Group):
                command = command.get_command(click.Context(command), word)
                assert command is not None, line
        known = {name for parameter in command.params for name in parameter.opts}
        options = [re.match(r"-[-a-z]+", word.strip("[]")) for word in words]
        assert {option[0] for option in options if option} <= known | {"--help"}, line


def anchors(path):
    """Return the anchors of a page's headings, as GitHub and mkdocs make them."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in headings}


def test_links_lead_to_pages_and_headings():
    broken = []
    for page in [*PAGES, *sorted(ROOT.glob("[!R]*.md")), ROOT / "baselines" / "README.md"]:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", link):
                continue
            # The anchor of a picture chooses light or dark.
            name, _, anchor = re.sub(r"\.png#only-\w+$", ".png", link).partition("#")
            path = (page.parent / name) if name else page
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append((page.name, link))
    assert broken == []


def test_the_tests_that_pages_name_exist():
    for path, test in re.findall(r"\b(tests/[\w/]+\.\w+)(?:::(\w+))?", ALL_PAGES):
        assert (ROOT / path).exists(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), test


def test_nothing_names_a_place_of_one_machine():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, tracked):
        path = ROOT / name
        if re.fullmatch(r"\.(py|md|cfg|toml|txt|ya?ml|json|html)", path.suffix):
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not re.search(r"/(work|root)/[a-z]", text), name


def test_the_public_face():
    code = (
        "import shroom;"
        "print({*shroom.__all__} <= {*dir(shroom)});"  # what notebooks complete
        "import shroom.score;"
        "print(shroom.score('shroom/sample', 'shroom/sample').results[0].rho)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "1.0"], done.stderr
