"""Every command and snippet of the documentation does what its page shows."""

import click
import pytest
from conftest import ROOT
from doc_blocks import NOT_RUN, PAGES, blocks_of, counts
from doc_pages import Folder

#: How many commands and snippets are only parsed, by the reason. Their outputs may be wrong, so one
#: more is a decision (``python tests/doc_blocks.py`` counts them).
ONLY_PARSED = {"a download": 12, "a server": 19, "an installation": 29, "minutes": 5, "a form": 7}
BLOCKS = {page.relative_to(ROOT).with_suffix("").as_posix(): blocks_of(page) for page in PAGES}
ON_REAL_DATA = [name for name, blocks in BLOCKS.items() if any(block.real for block in blocks)]


def run_page(name, folder, cache, *, real):
    """Run all blocks of a page, and report each whose output differs from what is shown."""
    page = Folder(ROOT / f"{name}.md", folder, real=real, cache=cache)
    problems = []
    for block in BLOCKS[name]:
        if block.real == real:
            try:
                page.run(block)
            except Exception as error:  # noqa: BLE001 - it is shown
                problems.append(f"{name}.md:{block.line}: {error!r}\n{error}")
    assert not problems, "\n\n".join(problems)


@pytest.mark.linux
@pytest.mark.parametrize("name", BLOCKS)
def test_a_page_shows_what_happens(name, tmp_path, shared_cache):
    run_page(name, tmp_path, shared_cache, real=False)


@pytest.mark.real
@pytest.mark.linux
@pytest.mark.parametrize("name", ON_REAL_DATA)
def test_a_page_shows_what_happens_on_real_data(name, tmp_path, shared_cache):
    run_page(name, tmp_path, shared_cache, real=True)


@pytest.mark.linux
@pytest.mark.parametrize(
    "text",
    [
        "```sh\nshroom list editions\n```\n\n```text\nanother output\n```\n",
        "```sh\nshroom check none.json\n```\n",
        "```sh\nls none | cat none\n```\n",
        "```console\n$ echo one\ntwo\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "```python\nimport shroom.none\n```\n",
        "```pycon\n>>> 1 + 1\n3\n```\n",
        "```json\n{\n```\n",
        "```text\n$ echo one\none\n```\n",
        "<!-- first: cat none -->\n```sh\ntrue\n```\n",
        "<!-- real date -->\n```sh\ntrue\n```\n",
        "<!-- not run: tired -->\n```sh\ntrue\n```\n",
        "<!-- not run: minutes: none -->\n```sh\ntrue\n```\n",
        "<!-- not run: minutes -->\n```sh\nshroom predict\n```\n",
        "<!-- not run: minutes -->\n```sh\nshroom predict data/ --non -o out\n```\n",
        "<!-- not run: minutes -->\n```sh\nshroom score a b --format none\n```\n",
        "<!-- not run: an installation -->\n```sh\npip install '.[none]'\n```\n",
        "<!-- not run: minutes -->\n```python\nfrom shroom.none import run\n```\n",
    ],
)
def test_a_wrong_page_is_found(text, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises((AssertionError, ImportError, ValueError, click.UsageError)):
        Folder(path, tmp_path).run(blocks_of(path)[0])


def test_few_commands_are_only_parsed():
    parsed = counts()
    assert {kind: parsed[kind] for kind in NOT_RUN} == ONLY_PARSED
