"""The help: an overview in 40 lines, two sentences a verb, and examples that run."""

import re

import click
import pytest
import tiny_models
from conftest import ROOT
from doc_pages import Folder

from shroom.cli import OPTION_GROUPS
from shroom.cli import shroom as group


def leaves(command, path):
    """Yield the command lines of all commands that are no groups."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(click.Context(command)):
        yield from leaves(command.get_command(click.Context(command), name), f"{path} {name}")


COMMANDS = dict(leaves(group, "shroom"))
#: What the examples name besides the folders and files of every page (``doc_pages``).
MODELS = {
    "./nli-model": tiny_models.nli_model,
    "./encoder": tiny_models.encoder,
    "./language-model": tiny_models.causal_model,
}


def examples(command):
    text = (command.epilog or "").partition("Examples:")[2]
    joined = re.sub(r"\\\n\s*", "", text.partition("\n\n")[0])
    return [line.strip() for line in joined.splitlines() if line.strip()]


def test_the_overview_fits_on_a_screen(shroom):
    code, out, _ = shroom("--help")
    assert code == 0
    lines = out.splitlines()
    assert (len(group.verbs), len(lines) <= 40, max(map(len, lines)) <= 80) == (18, True, True)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_has_two_sentences_and_groups(name, monkeypatch, shroom):
    command = COMMANDS[name]
    text = " ".join(command.help.split("\b")[0].split())
    assert text.endswith(".")
    assert len(re.findall(r"[.?!](?= [A-Z]|$)", text)) <= 2, text
    options = [p for p in command.params if isinstance(p, click.Option)]
    known = {option for group in OPTION_GROUPS.values() for option in group.split()}
    assert {option.name for option in options} <= known


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_run(name, tmp_path):
    lines = examples(COMMANDS[name])
    assert len(lines) == 3
    page = Folder(ROOT / "docs" / "reference" / "commands.md", tmp_path)
    for path, make in MODELS.items():
        if any(path in line for line in lines):
            make(page.folder / path)
    for line in lines:
        assert line.startswith(name), line
        code, out, err = page._call(line, merged=False)
        assert code == 0, f"{line}\n{out}{err}"
