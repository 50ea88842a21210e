"""The help: an overview on one screen, two sentences for each verb, examples; and completion."""

import os
import re
import subprocess
import sys

import click
import pytest
from conftest import ROOT, annotate_inputs
from doc_pages import Folder
from tiny_models import causal_model, nli_model

from shroom.cli import OPTION_GROUPS
from shroom.cli import shroom as group
from shroom.datasets import download


def commands(command, path):
    """Yield a command line with its command, and those below a group."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands(command.get_command(click.Context(command), name), f"{path} {name}")


COMMANDS = dict(list(commands(group, "shroom"))[1:])
LEAVES = {name: it for name, it in COMMANDS.items() if not isinstance(it, click.Group)}


def examples(command):
    text = (command.epilog or "").partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in text.splitlines()]


@pytest.fixture
def page(tmp_path, shared_cache):
    page = Folder(ROOT / "docs" / "reference" / "commands.md", tmp_path, cache=shared_cache)
    (page.folder / "other-names.csv").write_text("verdict,score\nHallucination,0.9\n")
    annotate_inputs(page.folder, "unigram")
    return page


def test_the_overview_fits_on_a_screen(shroom, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = shroom("--help")[1].splitlines()
    assert len(group.list_commands(None)) == 18
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_has_at_most_two_sentences(name):
    text = " ".join(COMMANDS[name].help.split())
    assert re.fullmatch(r"[A-Z][^.]*(\.\w[^.]*)*\.( [-A-Z'][^.]*(\.\w[^.]*)*\.)?", text), text


@pytest.mark.parametrize("name", LEAVES)
def test_shared_options_are_below_their_headings(name, shroom):
    sections = re.split(r"^(\w+):$", shroom(*name.split()[1:], "--help")[1], flags=re.MULTILINE)
    shown = dict(zip(sections[1::2], sections[2::2]))
    for option in LEAVES[name].params:
        for heading, names in OPTION_GROUPS.items():
            if isinstance(option, click.Option) and option.name in names.split():
                assert option.opts[-1] in shown[heading]


@pytest.mark.parametrize("verb", group.list_commands(None))
def test_each_verb_has_three_examples(verb):
    assert len(examples(COMMANDS[f"shroom {verb}"])) == 3


@pytest.mark.linux
@pytest.mark.parametrize("name", LEAVES)
def test_the_examples_run(name, page, monkeypatch):
    lines = examples(LEAVES[name])
    text = "\n".join(lines)
    if "./lm" in text or "my-probe" in text:
        causal_model(page.folder / "lm")
    if "./nli-model" in text:
        nli_model(page.folder / "nli-model")
    if "--probe my-probe" in text or "report my-probe" in text:
        lines.insert(0, examples(LEAVES["shroom annotate probe train"])[0])
    if "edition check edition.toml" in text:
        lines.insert(0, "shroom edition init")
    if name == "shroom datasets fetch":  # a data set of no files, so that no machine is asked
        monkeypatch.setitem(download.SOURCES, "felm", download.Source(()))
    assert lines
    for line in lines:
        assert line.startswith(("shroom", name))
        code, out, err = page._call(line, merged=False)
        assert code == 0, f"{line}\n{out}{err}"


COMPLETE = """
. <(_SHROOM_COMPLETE=bash_source shroom)
for line in "$@"; do
    read -ra COMP_WORDS <<< "$line"
    [[ $line == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    _shroom_completion shroom
    echo "${COMPREPLY[*]}"
done
"""


@pytest.mark.linux
def test_bash_completes_verbs_options_and_values(tmp_path):
    lines = {
        "shroom sc": "score",
        "shroom datasets ": "convert corrupt describe fetch",
        "shroom score --official --fo": "--format",
        "shroom score --format ": "text json markdown csv codalab",
        "shroom score --format nothing": "",
    }
    program = tmp_path / "shroom"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shroom "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    command = ["bash", "-c", COMPLETE, "bash", *lines]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.stdout.splitlines(), done.stderr) == (list(lines.values()), "")
