"""What mkdocs calls while it builds the documentation: pages that are made of the code."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING

import click
from mkdocs.structure.files import File

import shroom
from shroom.cli import VERBS
from shroom.cli import shroom as group
from shroom.core.problem_codes import CODES, ERROR, WARNING

if TYPE_CHECKING:
    from collections.abc import Iterator

logging.getLogger("jieba").setLevel(logging.WARNING)  # it splits the words for the search


def help_of(command: click.Command, path: str, level: int = 3) -> Iterator[str]:
    """Return the lines of a command's help, and of those of its commands."""
    context = click.Context(command, info_name=path, terminal_width=80)
    yield from ("#" * level + f" {path}", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from help_of(command.get_command(context, name), f"{path} {name}", level + 1)


def commands() -> Iterator[str]:
    """Return the lines of the help of every command, under the headings of the overview."""
    context = click.Context(group)
    for heading, verbs in VERBS.items():
        yield f"## {heading}\n"
        for name in verbs:
            yield from help_of(group.get_command(context, name), f"shroom {name}")


def functions() -> Iterator[str]:
    """Return a directive of mkdocstrings for each name that the package offers."""
    for name in sorted(shroom.__all__, key=lambda name: (name[0].isupper(), name)):
        value = getattr(shroom, name)
        if callable(value):
            yield f"::: {value.__module__}.{name}\n    options:\n      heading: shroom.{name}\n"


def notebook(content: str, name: str) -> Iterator[str]:
    """Return the lines of a notebook as a page: texts, code, tables, plots and printed results."""
    for cell in json.loads(content)["cells"]:
        source = "".join(cell["source"])
        yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        for output in cell.get("outputs", ()):
            data = {kind: "".join(lines) for kind, lines in output.get("data", {}).items()}
            if "image/png" in data:
                yield f"![Plot by this code](data:image/png;base64,{data['image/png'].strip()})"
            elif "<table" in data.get("text/html", ""):
                rows = re.search("<table.*?>(.*)</table>", data["text/html"], re.DOTALL)
                yield re.sub("<(t[hr]) [^>]*>", r"<\1>", f"<table>{rows[1]}</table>")
            else:
                text = data.get("text/plain") or "".join(output.get("text", ()))
                yield f"```text\n{text}\n```"
    yield f"This page is the notebook `docs/{name}`."


def codes() -> Iterator[str]:
    """Return a table of the codes of each severity, with an anchor for each code."""
    for title, severity in (("Errors", ERROR), ("Warnings", WARNING)):
        yield f"\n## {title}\n\n| code | how to fix it |\n|---|---|"
        for name, code in CODES.items():
            if code.severity == severity:
                yield f'| <a id="{name}"></a>`{name}` | {code.fix} |'


PAGES = {
    "reference/codes.md": codes,
    "reference/commands.md": commands,
    "reference/functions.md": functions,
}


def on_files(files, *, config):
    """Add a page for each notebook."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        page = "\n\n".join(notebook(file.content_string, file.src_uri))
        name = file.src_uri.replace(".ipynb", ".md")
        files.append(File.generated(config, name, content=page))
    return files


def on_page_markdown(markdown: str, *, page, **_) -> str:
    """Add to a page what is made of the code, and lead to the pages of notebooks."""
    lines = PAGES.get(page.file.src_uri, lambda: ())()
    return "\n".join([markdown.replace(".ipynb)", ".md)"), *lines])


def on_page_content(html: str, **_) -> str:
    """Correct what Markdown and the parser of docstrings make of numpydoc, and of wide tables."""
    html = re.sub(  # the names that Sphinx would link
        r":(?:attr|class|data|exc|func|meth|mod):<code>~?((?:[\w.]*\.)?(\w+))</code>",
        r'<autoref identifier="\1" optional><code>\2</code></autoref>',
        html,
    )
    html = re.sub(  # "array, shape [n]" and "int, str or path", which are read as tuples
        r"<code>\(((?:(?!</code>).)*(?:shape\[[^<]*\]| or \w+))\)</code>",
        lambda match: f"<code>{match[1].replace('shape[', 'shape [').replace(' - ', '-')}</code>",
        html,
        flags=re.DOTALL,
    )
    return html.replace("<table>", '<table tabindex="0">')  # so that the keyboard can scroll it


def on_post_page(output: str, **_) -> str:
    """Name the theme's search for screen readers."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
