"""Make the pictures of the first page: commands in a terminal, and the beginning of a report.

``python .ci/pictures.py`` writes them from the kit's sample: ``terminal.svg``, ``report.png`` and
``report-dark.png``. The pictures of the report need Chromium. A test compares the terminal with the
output of the commands.
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
#: The reader's own font, since pictures ask other hosts for nothing.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
#: Seconds from one command, and from one line of its output, to the next.
PAUSE, STEP = 2, 0.05


def run(command: str, folder: Path) -> str:
    """Return what a command prints, in a folder, without the kit's cache."""
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
    """Return a terminal in which the commands appear one after the other, as an SVG."""
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    starts, now = [], 0.0
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
                starts.append(now)
                now += STEP
            now += PAUSE
    svg = console.export_svg(
        title="shroom", theme=MONOKAI, code_format=FORMAT, unique_id="terminal"
    )
    steps = "\n".join(
        f'[clip-path$="line-{line})"]{{animation:show 1ms {start:.2f}s backwards}}'
        for line, start in enumerate(starts)
        if start
    )
    frames = "@keyframes show{from{visibility:hidden}}"
    moving = f"@media (prefers-reduced-motion:no-preference){{\n{frames}\n{steps}\n}}"
    return svg.replace("</style>", f"{moving}\n</style>", 1)


def report(paths: dict[str, Path]) -> None:
    """Write the beginning of a report on the sample, as a browser shows it in each scheme."""
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
        for scheme, path in paths.items():
            page = browser.new_page(viewport={"width": 960, "height": 960}, color_scheme=scheme)
            page.goto((folder / "report.html").as_uri())
            page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    (ROOT / "docs" / "terminal.svg").write_text(terminal(), encoding="utf-8", newline="\n")
    docs = ROOT / "docs"
    report({"light": docs / "report.png", "dark": docs / "report-dark.png"})
