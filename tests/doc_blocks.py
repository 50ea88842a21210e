"""The code blocks of the documentation: which are run, compared, or only parsed.

- ``sh``: commands that must end with exit code 0. A ``text`` block right below shows their stdout.
- ``console``: commands after ``$``, each with its stdout and stderr.
- ``python`` and ``pycon`` share one namespace. A ``text`` block right below ``python`` shows its
  output.
- A block with a title, as in `````yaml title="recipe.yaml"```, is written to that file.
- Other ``toml``, ``yaml`` and ``json`` blocks must be valid; other ``text`` blocks are not read.

In an output, ``...`` or a line with only ``…`` matches any text. A comment above a block changes
how it is run:

- ``<!-- first: COMMAND -->`` (or one command a line) runs commands before the block.
- ``<!-- model: KIND FOLDER -->`` makes a tiny model with random weights: ``nli_model`` or
  ``encoder``.
- ``<!-- shows: COMMAND -->``: the ``text`` block shows the stdout of a command.
- ``<!-- real data -->``: the block runs only if the real data are available, in their folder.
- ``<!-- not run: REASON -->``: its commands are only parsed, for a reason in ``NOT_RUN``;
  ``<!-- not run: REASON: TEXT -->``: only those that contain the text. There may be several.
"""

import ast
import re
import shlex
import sys
import textwrap
from collections import Counter
from configparser import ConfigParser
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from conftest import ROOT

from shroom.cli import shroom as group

README = ROOT / "README.md"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), README]
#: The comments of README.md, which shows none to its readers, by the first line of the block.
README_COMMENTS = {"git clone": "not run: an installation"}
#: Why a block is only parsed.
NOT_RUN = {
    "a download": "needs a model's weights or a file from a host that the tests do not ask",
    "a server": "asks a service, which may cost money, or another machine",
    "an installation": "installs packages or an image",
    "minutes": "computes for more than a minute",
    "a form": "has NAMES in the place of files, to show how a program is called",
}
LANGUAGES = {"sh", "console", "python", "pycon", "text", "json", "toml", "yaml", ""}
_BLOCK = re.compile(
    r"<!--\s*(?P<comment>.*?)\s*-->"
    r"|^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n"
    r"(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A block of code: its line, its language and text, and what the comments above it ask for."""

    line: int
    language: str
    text: str
    title: str | None = None
    output: str | None = None
    first: str = ""
    model: str = ""
    real: bool = False
    not_run: tuple[str, ...] = ()

    def is_run(self, command: str = "") -> bool:
        """Return whether a command of the block, or all of it, is run."""
        texts = [note.partition(": ")[2] for note in self.not_run]
        return not any(text in command for text in texts)


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page in order, outputs together with the blocks that print them."""
    text = page.read_text(encoding="utf-8")
    for line, comment in README_COMMENTS.items() if page == README else ():
        text = re.sub(rf"\n(\n```\w+\n{line})", rf"\n<!-- {comment} -->\1", text)
    blocks: list[Block] = []
    notes: dict[str, Any] = {}
    end = 0
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"] is not None:
            key, _, value = match["comment"].partition(":")
            if key == "not run":
                reason = value.strip()
                assert reason.partition(":")[0] in NOT_RUN, f"{page.name}:{line}: {reason}"
                notes["not_run"] = (*notes.get("not_run", ()), reason)
            else:
                assert key in ("first", "model", "shows", "real data"), f"{page.name}:{line}: {key}"
                notes[key.partition(" ")[0]] = value.strip() or True
            continue
        body = textwrap.dedent(match["text"])
        for reason in notes.get("not_run", ()):
            assert reason.partition(": ")[2] in body, f"{page.name}:{line}: nothing is {reason}"
        assert match["language"] in LANGUAGES, f"{page.name}:{line}: {match['language']}"
        shown = match["language"] in ("", "text") and body.startswith("$ ")
        assert not shown, f"{page.name}:{line}: a session, which is a block of console"
        follows = blocks and not notes and not text[end : match.start()].strip()
        if match["language"] == "text" and follows and blocks[-1].language in ("sh", "python"):
            assert blocks[-1].output is None, f"{page.name}:{line}: a second output"
            blocks[-1] = replace(blocks[-1], output=body)
        elif command := notes.pop("shows", None):
            blocks.append(Block(line, "sh", command, output=body, **notes))
        else:
            blocks.append(Block(line, match["language"], body, match["title"], **notes))
        end, notes = match.end(), {}
    assert not notes, f"{page.name}: a comment with nothing below it"
    return blocks


def commands_of(block: Block) -> list[tuple[str, str | None]]:
    """Return the commands of a block, each with its output, or ``None`` if none is shown."""
    text = re.sub(r"\\\n\s*", "", block.text)
    if block.language == "sh":
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return [(line, None) for line in lines]
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)
    assert not parts[0].strip(), f"line {block.line}: output without a command"
    return list(zip(parts[1::2], parts[2::2]))


def run_imports(block: Block) -> None:
    """Parse a block that cannot run, and run its imports from the kit."""
    tree = ast.parse(block.text)
    tree.body = [
        node
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("shroom.")
    ]
    exec(compile(tree, "imports", "exec"), {})  # noqa: S102


def parse_command(command: str) -> None:
    """Raise if a command line names a verb, option, target, extra or script that does not exist."""
    words = shlex.split(re.sub(r" [|>] .*| 2>&1.*", "", command), comments=True)
    if words[:2] == ["docker", "run"]:
        words = words[words.index("shroom") :]
    program, *arguments = words
    if program == "shroom":
        parse_shroom(arguments)
    elif program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert {word for word in arguments if "=" not in word} <= set(targets), words
    elif program == "pip":
        setup = ConfigParser()
        setup.read(ROOT / "setup.cfg")
        asked = ",".join(re.findall(r"\[([\w,]+)\]", " ".join(arguments))).split(",")
        assert set(asked) - {""} <= set(setup["options.extras_require"]), words
    elif program in ("python", "python3"):
        assert arguments[0].startswith("-") or list(ROOT.rglob(arguments[0])), words
    else:
        assert program in ("git", "cd", ".", "docker", "ray", "head", "lm_eval"), words


def parse_shroom(arguments: list[str]) -> None:
    """Raise if a verb or an option does not exist, or a value other than a file is invalid."""
    command: click.Command = group
    # A command remembers its help option: it must be the one that the group gives it.
    context = click.Context(command, **command.context_settings)
    while isinstance(command, click.Group):
        _, command, arguments = command.resolve_command(context, arguments)
        context = click.Context(command, parent=context)
    values, extra, order = command.make_parser(context).parse_args(list(arguments))
    assert not extra, f"{command.name}: unexpected {extra}"
    for parameter in dict.fromkeys(order):
        value = values.get(parameter.name)
        if not isinstance(parameter.type, (click.Path, click.File)):
            parameter.type_cast_value(context, value)
    needed = [it.name for it in command.params if it.required and values.get(it.name) in (None, ())]
    assert not needed, f"{command.name}: needs {needed}"


def counts() -> Counter[str]:
    """Return how many commands and snippets of all pages are run or only parsed."""
    kinds: Counter[str] = Counter()
    for page in PAGES:
        for block in blocks_of(page):
            if block.title or block.language not in ("sh", "console", "python", "pycon"):
                continue
            is_shell = block.language in ("sh", "console")
            for command, _ in commands_of(block) if is_shell else [("", None)]:
                reasons = [note for note in block.not_run if note.partition(": ")[2] in command]
                kind = "real data" if block.real else "run"
                kinds[reasons[0].partition(":")[0] if reasons else kind] += 1
    return kinds


if __name__ == "__main__":
    for kind, number in counts().most_common():
        sys.stdout.write(f"{number:4}  {kind}\n")
