"""The help: an overview on one screen, two sentences for each verb, and examples that run."""

import json
import re

import click
import pytest
from conftest import ROOT
from doc_pages import Folder
from tiny_models import causal_model, nli_model

from shroom.cli import OPTION_GROUPS
from shroom.cli import shroom as group
from shroom.datasets.download import sources


def commands(command, path):
    """Yield a command line with its command, and those below a group."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands(command.get_command(click.Context(command), name), f"{path} {name}")


COMMANDS = dict(list(commands(group, "shroom"))[1:])
LEAVES = {name: it for name, it in COMMANDS.items() if not isinstance(it, click.Group)}
QUESTIONS = [
    {
        "question": f"Who wrote book {n}?",
        "answer": "A man",
        "generation": ["A man", "I do not know"],
    }
    for n in range(20)
]
SEEDS = [{"query": f"Should people read book {n}?"} for n in range(20)]
CONFIG = {
    "data": "questions.jsonl",
    "scorers": [{"unigram": {"language": "en"}}],
    "output": "o.jsonl",
}


def examples(command):
    text = (command.epilog or "").partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in text.splitlines()]


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A folder with what the examples name, besides what every page finds there."""
    page = Folder(ROOT / "docs" / "reference" / "commands.md", tmp_path)
    write = {
        "questions.jsonl": QUESTIONS[:2],
        "labelled.jsonl": [
            {**row, "category": ("all-right", "all-wrong")[n % 2]}
            for n, row in enumerate(QUESTIONS)
        ],
        "seeds.jsonl": SEEDS,
        "annotate.yaml": [CONFIG],
    }
    (page.folder / "other-names.csv").write_text("verdict,score\nHallucination,0.9\n")
    for name, rows in write.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (page.folder / name).write_text(text, encoding="utf-8")
    return page


def test_the_overview_fits_on_a_screen(shroom, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = shroom("--help")[1].splitlines()
    assert len(group.verbs) == 18
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


@pytest.mark.parametrize("verb", group.verbs)
def test_each_verb_has_three_examples(verb):
    assert len(examples(COMMANDS[f"shroom {verb}"])) == 3


@pytest.mark.linux
@pytest.mark.parametrize("name", [name for name in LEAVES if name != "shroom datasets fetch"])
def test_the_examples_run(name, page):
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
    assert lines
    for line in lines:
        assert line.startswith(("shroom", name))
        code, out, err = page._call(line, merged=False)
        assert code == 0, f"{line}\n{out}{err}"


def test_the_examples_of_fetch_run(page, monkeypatch):
    """With a data set of no files, since no other machine is asked."""
    monkeypatch.setitem(sources.SOURCES, "felm", sources.Source("felm", ()))
    for line in examples(COMMANDS["shroom datasets fetch"]):
        code, out, err = page._call(line, merged=False)
        assert code == 0, f"{line}\n{out}{err}"
