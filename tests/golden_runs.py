"""Run a command line of ``tests/golden``, and return all that it prints and writes."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from unittest import mock

from conftest import ROOT, SAMPLE

from shroom.cli import run, shroom, with_all_option
from shroom.core.version import __version__

GOLDEN = ROOT / "tests" / "golden"
#: What a command line may name; whatever it names is copied into the folder in which it runs.
INPUTS = {
    **{path.name: path for path in sorted((GOLDEN / "inputs").iterdir())},
    "sample": SAMPLE,
    "formats": ROOT / "tests" / "scoring" / "formats",
    "examples": ROOT / "docs" / "examples",
}
#: Settings of the user that a command reads.
SETTINGS = ("SHROOM_DATA", "FORCE_COLOR", "NO_COLOR", "OPENAI_API_KEY", "PYTHONPATH")
DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
CAPTION = re.compile(r"<(?:title|desc)\b[^>]*>([^<]+)|<!-- (.*?) -->")
LONG_NUMBER = re.compile(r"-?\d+\.\d{9,}(?:e[-+]?\d+)?")


def normal(text: str, folder: str, digits: int = 10) -> str:
    """Return a text without what depends on the machine.

    The version changes with each release, those of libraries with the machine, and the size of a
    zip with the code in it. The last digits of a number depend on the order in which the processor
    adds. How a figure is drawn depends on the version of matplotlib, so only its words are kept.
    """

    def words(drawing: re.Match) -> str:
        found = ["".join(pair) for pair in CAPTION.findall(drawing[0])]
        return "\n".join(["<svg>", *found, "</svg>"])

    def rounded(number: re.Match) -> str:
        return str(round(float(number[0]), digits) + 0.0)  # no -0.0

    text = DRAWING.sub(words, text.replace(folder, "FOLDER"))
    text = re.sub(r'"versions": \{[^}]*\}', '"versions": {}', text)
    text = re.sub(r"(?<=\.zip  )\d+ bytes", "N bytes", text)
    text = re.sub(rf"(?<=v:){re.escape(__version__)}(?=\|)", "VERSION", text)
    return LONG_NUMBER.sub(rounded, text)


def contents(path: str, data: bytes) -> dict[str, str]:
    """Return the text of a file, or those of a zip's members; the kit's own code is left out."""
    if path.endswith(".zip"):
        with zipfile.ZipFile(io.BytesIO(data)) as opened:
            members = [contents(f"{path}/{name}", opened.read(name)) for name in opened.namelist()]
        return {place: text for member in members for place, text in member.items()}
    if path.endswith(".py") or "/shroom/" in path:
        return {}
    text = data.decode() if b"\0" not in data else f"binary, {data[:4]!r}\n"
    with contextlib.suppress(ValueError):  # a long line of JSON is kept on several
        value = json.loads(text)
        if len(text) > 200 and text == json.dumps(value, ensure_ascii=False) + "\n":
            text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
            return {f"{path}.indented.json": text}
    return {path: text}


def files_of(folder: Path) -> dict[str, bytes]:
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def outcome(case: dict, folder: Path) -> dict[str, str]:
    """Run a case in a folder, and return the exit code and every text by its place."""
    for name, source in INPUTS.items():
        if re.search(rf"\b{name}\b", case["run"]):
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    before, code = files_of(folder), 0
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", "\n") for _ in "oe"]
    given = io.TextIOWrapper(io.BytesIO(before.get(case.get("stdin"), b"")), encoding="utf-8")
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(contextlib.redirect_stdout(streams[0]))
        stack.enter_context(contextlib.redirect_stderr(streams[1]))
        stack.enter_context(mock.patch.object(sys, "stdin", given))
        stack.enter_context(mock.patch("time.perf_counter", return_value=0.0))  # no time passes
        stack.enter_context(mock.patch("time.monotonic", return_value=0.0))
        cache = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(mock.patch.dict(os.environ, COLUMNS="80", SHROOM_CACHE=cache))
        for name in SETTINGS:
            os.environ.pop(name, None)
        for line in filter(None, case["run"].splitlines()):
            program, *args = shlex.split(line, comments=True)
            command = shroom
            if program == "python":  # -m shroom.score
                organisers = importlib.import_module("shroom.cli.score").with_organisers_call
                command, program, args = with_all_option(organisers), " ".join(args[:2]), args[2:]
            code = run(command, args, program)
    after = files_of(folder)
    shown = {}
    for name, stream in zip(("stdout", "stderr"), streams):
        stream.flush()
        shown |= contents(name, stream.buffer.getvalue())
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            shown |= contents(path, after.get(path, b"deleted\n"))
    first = {text: place for place, text in reversed(shown.items())}  # a bundle has copies
    for place, text in shown.items():
        same = f"the same as {first[text]}\n" if first[text] != place and len(text) > 100 else text
        shown[place] = normal(same, str(folder), case.get("digits", 10))
    return {"exit": str(code), **{place: text for place, text in shown.items() if text}}
