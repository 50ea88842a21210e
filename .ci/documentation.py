"""Hooks of mkdocs: pages generated from the code, and corrections of the HTML."""

from __future__ import annotations

import json
import logging
import re
from html import escape, unescape
from typing import TYPE_CHECKING

import click
from mkdocs.structure.files import File

import shroom
from shroom.cli import VERBS
from shroom.cli import shroom as group
from shroom.core.problem_codes import CODES, ERROR, WARNING
from shroom.scoring.metric_registry import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

logging.getLogger("jieba").setLevel(logging.WARNING)  # it segments words for the search


def help_of(command: click.Command, path: str, level: int = 3) -> Iterator[str]:
    """Yield the lines of a command's help, and of the help of its subcommands."""
    context = click.Context(command, info_name=path, terminal_width=80)
    yield from ("#" * level + f" {path}", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from help_of(command.get_command(context, name), f"{path} {name}", level + 1)


def commands() -> Iterator[str]:
    """Yield the lines of the help of every command, under the headings of the overview."""
    context = click.Context(group)
    for heading, verbs in VERBS.items():
        yield f"## {heading}\n"
        for name in verbs:
            yield from help_of(group.get_command(context, name), f"shroom {name}")


def functions() -> Iterator[str]:
    """Yield a directive of mkdocstrings for each public name of the package."""
    for name in sorted(shroom.__all__, key=lambda name: (name[0].isupper(), name)):
        value = getattr(shroom, name)
        if callable(value):
            yield f"::: {value.__module__}.{name}\n    options:\n      heading: shroom.{name}\n"


def notebook(content: str, name: str) -> Iterator[str]:
    """Yield the lines of a notebook as a page: text, code, tables, plots and output."""
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


def commands_in(session: str) -> str:
    """Return the commands of a highlighted session, without prompts and output."""
    lines: list[str] = []
    for line in session.splitlines():
        if '<span class="gp">' in line or (lines and lines[-1].endswith("\\")):
            command = re.sub('<span class="gp">.*?</span>|<.*?>', "", line)
            lines.append(unescape(command))
    return "\n".join(lines)


def with_commands(match: re.Match[str]) -> str:
    """Return a code block that tells the copy button what to copy if it is a session."""
    if '<span class="gp">' not in match[1]:
        return match[0]
    return f'<pre data-copy="{escape(commands_in(match[1]))}">{match[1]}</pre>'


def metrics(markdown: str) -> Iterator[str]:
    """Yield the page of metrics, with facts and docstring below the heading of each metric."""
    known: dict[str, str] = {}
    for line in markdown.split("\n"):
        yield line
        name = line.removeprefix("### ")
        if name == line:
            continue
        metric = describe(name)
        yield f"\n{metric.about[0].upper()}{metric.about[1:]}.\n\n| | |\n|---|---|"
        for fact, value in metric.facts().items():
            is_code = fact in ("in Python", "command")
            shown = value.replace("|", "\\|")
            yield f"| {fact} | {f'`{shown}`' if is_code else shown} |"
        first = known.setdefault(metric.function, name)
        if first != name:
            yield f"\nThe function is the same as for [{first}](#{first})."
            continue
        options = "show_root_heading: false\n      show_root_toc_entry: false"
        yield f"\n::: {metric.function.replace(':', '.')}\n    options:\n      {options}\n"


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
    """Add the generated part of a page, and link to the pages of notebooks."""
    if page.file.src_uri == "metrics.md":
        return "\n".join(metrics(markdown))
    lines = PAGES.get(page.file.src_uri, lambda: ())()
    return "\n".join([markdown.replace(".ipynb)", ".md)"), *lines])


def on_page_content(html: str, **_) -> str:
    """Correct the HTML of numpydoc docstrings, of sessions and of wide tables."""
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
    html = re.sub(r"<pre>(<span></span><code>.*?)</pre>", with_commands, html, flags=re.DOTALL)
    return html.replace("<table>", '<table tabindex="0">')  # scrollable by keyboard


def on_post_page(output: str, **_) -> str:
    """Name the theme's search for screen readers."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
