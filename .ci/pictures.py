"""Draw the pictures on the home page: commands in a terminal, and the beginning of a report.

``python .ci/pictures.py`` writes them from the sample that ships with the kit: ``terminal.svg``,
``report-light.png`` and ``report-dark.png``. The report needs Chromium. A test compares the
terminal with the output of the commands.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "shroom" / "sample"
COMMANDS = (
    "shroom check mine.json --gold gold.json --fix fixed.json",
    "shroom score fixed.json gold.json --by task",
)
#: Without rich's web fonts: pictures load nothing from other hosts.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def run(command: str, folder: Path) -> str:
    """Run a command in a folder, without the kit's cache, and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SHROOM_NO_CACHE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def terminal() -> str:
    """Return an SVG of a terminal with the commands and their output."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copy(SAMPLE / "val.model-aware.json", folder / "gold.json")
        run("shroom predict lexical gold.json -o mine.json", folder)
        rows = json.loads((folder / "mine.json").read_text(encoding="utf-8"))
        rows[3]["label"] = rows[3]["label"].upper()
        rows[17]["p(Hallucination)"] = f"{rows[17]['p(Hallucination)']:.0%}"
        (folder / "mine.json").write_text(json.dumps(rows), encoding="utf-8")
        for command in COMMANDS:
            prompt = Text.assemble(("$ ", "bold green"), (command, "bold"))
            output = Text(run(command, folder))
            output.highlight_words(["fixed:", "valid:"], "green")
            output.highlight_words(["warning:"], "yellow")
            for line in (prompt, *output.wrap(console, console.width)):
                console.print(line)
    return console.export_svg(
        title="shroom", theme=MONOKAI, code_format=FORMAT, unique_id="terminal"
    )


def report(docs: Path) -> None:
    """Write the beginning of a report on the sample, in light and in dark colours."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        folder = Path(scratch)
        shutil.copytree(SAMPLE, folder / "gold")
        (folder / "gold" / "README.md").unlink()
        for detector in ("lexical", "cross-encoder"):
            run(f"shroom predict {detector} gold -o {detector}", folder)
        run("shroom report lexical cross-encoder gold -o report.html", folder)
        # The sandbox of Chromium does not start for root, whom containers run as.
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for look in ("light", "dark"):
            page = browser.new_page(viewport={"width": 960, "height": 960}, color_scheme=look)
            page.goto((folder / "report.html").as_uri())
            page.screenshot(path=docs / f"report-{look}.png")
        browser.close()


if __name__ == "__main__":
    (ROOT / "docs" / "terminal.svg").write_text(terminal(), encoding="utf-8", newline="\n")
    report(ROOT / "docs")
