"""Run the command lines of ``tests/golden``, and return everything they print and write."""

import contextlib
import functools
import importlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from unittest import mock

import tiny_models
from chat_server import Server, chat
from conftest import ROOT, SAMPLE

from shroom.cli import run, shroom
from shroom.core.version import __version__

GOLDEN = ROOT / "tests" / "golden"
#: What a command line may name; whatever it names is copied into the folder in which it runs.
INPUTS = {
    **{path.name: path for path in sorted((GOLDEN / "inputs").iterdir())},
    "sample": SAMPLE,
    "formats": ROOT / "tests" / "scoring" / "formats",
    "examples": ROOT / "docs" / "examples",
}
#: Models that a command line may name, each made once.
MODELS = {
    **{f"nli-{kind}": (tiny_models.nli_model, kind) for kind in tiny_models.NLI_ARCHITECTURES},
    **{f"encoder-{kind}": (tiny_models.encoder, kind) for kind in ("bert", "mpnet")},
    "reward-roberta": (tiny_models.nli_model, "roberta", ["score"]),
    "causal-chat": (tiny_models.causal_model,),
}
PROGRAMS = {"score.py": ROOT / "scorer" / "scoring_program" / "score.py"}
#: Settings of the user that a command reads.
SETTINGS = ("SHROOM_DATA", "FORCE_COLOR", "NO_COLOR", "OPENAI_API_KEY", "PYTHONPATH")
DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
CAPTION = re.compile(r"<(?:title|desc)\b[^>]*>([^<]+)|<!-- (.*?) -->")
LONG_NUMBER = re.compile(r"-?\d+\.\d{9,}(?:e[-+]?\d+)?")
#: Where a text depends on the machine, and what stands there instead.
RULES = (
    (r'"versions": \{[^}]*\}', '"versions": {}'),  # of the libraries
    (rf"(?<=v:){re.escape(__version__)}(?=\|)", "VERSION"),  # changes with each release
    (rf"(?<=SHROOM kit ){re.escape(__version__)}", "VERSION"),
    (r"(?<=\.zip  )\d+ bytes", "N bytes"),  # the kit's code is in it
    (r'"seconds": [\d.]+', '"seconds": 0.0'),
    (r"http://127\.0\.0\.1:\d+/v1", "SERVER"),
)


def normal(text: str, folder: str) -> str:
    """Return a text without the parts that depend on the machine.

    The last digits of a number depend on the processor's order of additions, and the drawing of a
    figure on the version of matplotlib, so only its words are kept.
    """
    text = text.replace(folder, "FOLDER")
    for pattern, instead in RULES:
        text = re.sub(pattern, instead, text)
    text = DRAWING.sub(
        lambda found: "\n".join(["<svg>", *map("".join, CAPTION.findall(found[0])), "</svg>"]), text
    )
    # + 0.0 makes 0.0 of -0.0
    return LONG_NUMBER.sub(lambda found: str(round(float(found[0]), 10) + 0.0), text)


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


@functools.cache
def model(name: str) -> tempfile.TemporaryDirectory:
    folder = tempfile.TemporaryDirectory()
    make, *args = MODELS[name]
    make(Path(folder.name), *args)
    return folder


def answer(body: dict, _: int) -> dict:
    """Answer a chat as a model would that is sure of some things, and knows none."""
    said = zlib.crc32(body["messages"][-1]["content"].encode()) % 100
    top = [("Yes", -0.01 * said), ("No", -0.01 * (100 - said))]
    return chat(f"Answer: {said % 2 + 1}" if "egment" in str(body) else "Yes", top)


def copy_inputs(run_lines: str, folder: Path) -> None:
    """Copy to a folder whatever a case's command lines name."""
    for name, source in INPUTS.items():
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", run_lines):
            (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    for name in MODELS:
        if name in run_lines:
            shutil.copytree(model(name).name, folder / name)


def executed(line: str) -> int:
    """Run one command line, and return its exit code."""
    program, *args = shlex.split(line, comments=True)
    if program == "shroom":
        return run(shroom, args, program)
    if program == "cp":  # -r
        shutil.copytree(args[1], args[2])
        return 0
    if args[0] == "-m":  # shroom.score
        command = importlib.import_module("shroom.cli.score").with_organisers_call
        return run(command, args[2:], " ".join(args[:2]))
    with mock.patch.object(sys, "argv", args), mock.patch.object(sys, "path", [*sys.path]):
        try:
            runpy.run_path(str(PROGRAMS.get(args[0], args[0])), run_name="__main__")
        except SystemExit as ended:
            if isinstance(ended.code, str):  # as Python does
                print(ended.code, file=sys.stderr)
                return 1
            return int(ended.code or 0)
    return 0


def outcome(case: dict, folder: Path) -> dict[str, str]:
    """Run a case in a folder, and return the exit code and every text by its place."""
    copy_inputs(case["run"], folder)
    before = files_of(folder)
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", "\n") for _ in "oe"]
    given = io.TextIOWrapper(io.BytesIO(before.get(case.get("stdin"), b"")), encoding="utf-8")
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(contextlib.redirect_stdout(streams[0]))
        stack.enter_context(contextlib.redirect_stderr(streams[1]))
        stack.enter_context(mock.patch.object(sys, "stdin", given))
        stack.enter_context(mock.patch("time.perf_counter", return_value=0.0))  # evaluate has one
        cache = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(mock.patch.dict(os.environ, COLUMNS="80", SHROOM_CACHE=cache))
        for name in SETTINGS:
            os.environ.pop(name, None)
        lines = case["run"]
        if "SERVER" in lines:
            server = stack.enter_context(contextlib.closing(Server(answer)))
            lines = lines.replace("SERVER", server.url)
        codes = [executed(line) for line in lines.splitlines() if line]
    shown = {}
    for name, stream in zip(("stdout", "stderr"), streams):
        stream.flush()
        shown |= contents(name, stream.buffer.getvalue())
    after, hidden = files_of(folder), tuple(case.get("hide", ()))
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path) and not path.startswith(hidden):
            shown |= contents(path, after.get(path, b"deleted\n"))
    first = {text: place for place, text in reversed(shown.items())}  # a bundle has copies
    for place, text in shown.items():
        same = f"the same as {first[text]}\n" if first[text] != place and len(text) > 100 else text
        shown[place] = normal(same, str(folder))
    return {"exit": str(codes[-1]), **{place: text for place, text in shown.items() if text}}
