"""Runs the code on a page of the documentation, and compares its output with the page."""

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_models
import yaml
from conftest import DATA, ROOT, SAMPLE
from doc_blocks import Block, commands_of, parse_command, run_imports

from shroom.cli import run
from shroom.cli import shroom as group

#: Folders that pages name, all copies of the sample. Tutorials start without them.
FOLDERS = (
    *("gold", "gold-v1", "gold-v2", "data", "mine", "baseline", "predictions"),
    *("submissions/one", "submissions/two"),
)
ZIPS = ("submission", "theirs", "a", "b")


def is_same(expected: str, printed: str) -> bool:
    """Return whether a page shows what was printed, apart from the kit's version."""
    pair = []
    for text in (expected, printed):
        lines = [line.rstrip() for line in re.sub(r"\|v:[^|]*", "", text).strip("\n").split("\n")]
        pair.append("\n".join("..." if line.strip() == "…" else line for line in lines) + "\n")
    return doctest.OutputChecker().check_output(*pair, doctest.ELLIPSIS)


class Stream(io.TextIOWrapper):
    """A stream in memory with its text."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode("utf-8")


class PageError(AssertionError):
    """The output of a block differs from the page."""

    def __init__(self, page: Path, block: Block, what: str, expected: str, printed: str) -> None:
        place = f"{page.name}:{block.line}: {what}"
        super().__init__(f"{place}\n--- the page shows\n{expected}\n--- printed\n{printed}")


class Folder:
    """Runs the blocks of one page in a folder with the sample, or with the real data."""

    def __init__(
        self, page: Path, folder: Path, *, real: bool = False, cache: Path | None = None
    ) -> None:
        self.page, self.real = page, real
        self.names: dict[str, object] = {"__name__": "__main__"}
        self.folder = folder / "work"
        self.folder.mkdir()
        bin_folder = folder / "bin"
        bin_folder.mkdir()
        for name, module in (("shroom", "-m shroom"), ("python", ""), ("python3", "")):
            program = bin_folder / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
            program.chmod(0o755)
        path = os.pathsep.join([str(bin_folder), os.environ["PATH"]])
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "SHROOM_NO_CACHE"},
            "PATH": path,
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
            "SHROOM_CACHE": str(cache or folder / "cache"),
        }
        (self._fill_with_real_data if real else self._fill)()

    def _fill(self) -> None:
        shutil.copytree(SAMPLE, self.folder / "shroom" / "sample")
        shutil.copytree(ROOT / "docs" / "examples", self.folder / "docs" / "examples")
        for name in ("baselines", "benchmarks", "integrations"):
            (self.folder / name).symlink_to(ROOT / name)
        if self.page.parent == ROOT / "docs" / "tutorials":
            return
        for name in FOLDERS:
            shutil.copytree(SAMPLE, self.folder / name)
        shutil.copytree(SAMPLE, self.folder, dirs_exist_ok=True)
        for name in ZIPS:
            shutil.make_archive(str(self.folder / name), "zip", SAMPLE)
        for name in ("pred.json", "gold.json"):
            shutil.copy(SAMPLE / "val.model-aware.json", self.folder / name)

    def _fill_with_real_data(self) -> None:
        gold = DATA / "semeval2024"
        for path in [*DATA.iterdir(), *gold.iterdir(), *(DATA / "submissions").iterdir()]:
            (self.folder / path.name).symlink_to(path)
        (self.folder / "gold").symlink_to(gold)
        (self.folder / "docs").symlink_to(ROOT / "docs")
        (self.folder / "baselines").symlink_to(ROOT / "baselines")

    def run(self, block: Block) -> None:
        """Run or parse a block; raise ``PageError`` if the page is wrong."""
        for command in filter(None, block.first.splitlines()):
            self._expect_zero(block, command)
        if block.model:
            kind, path = block.model.split()
            getattr(tiny_models, kind)(self.folder / path)
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language in ("sh", "console"):
            self._run_commands(block)
        elif not block.is_run():
            run_imports(block)
        elif block.language in RUN_PYTHON:
            RUN_PYTHON[block.language](self, block)
        else:
            VALIDATE.get(block.language, str)(block.text)

    def _run_commands(self, block: Block) -> None:
        printed = ""
        for command, expected in commands_of(block):
            if not block.is_run(command):
                parse_command(command)
            elif expected is None:
                printed += self._expect_zero(block, command)
            else:
                self._compare(block, command, expected, self._call(command)[1])
        if block.output is not None and not block.not_run:
            self._compare(block, "the commands", block.output, printed)

    def _compare(self, block: Block, what: str, expected: str, printed: str) -> None:
        if "cache" not in expected:  # which an earlier page may have filled
            printed = re.sub(r"^note: .*\bcache\b.*\n", "", printed, flags=re.MULTILINE)
        if not is_same(expected, printed):
            raise PageError(self.page, block, what, expected, printed)

    def _expect_zero(self, block: Block, command: str) -> str:
        code, printed, errors = self._call(command, merged=False)
        if code:
            what = f"{printed}{errors}\nexit code {code}"
            raise PageError(self.page, block, command, "exit code 0", what)
        return printed

    def _call(self, command: str, *, merged: bool = True) -> tuple[int, str, str]:
        """Return a command's exit code, stdout and stderr, or both merged as stdout."""
        command = re.sub(r" +# .*", "", command)
        program = command.split(maxsplit=1)[0]
        assert program not in ("pip", "docker", "make", "ray", "curl", "git"), command
        if program != "shroom" or re.search(r"[|<>&;?$(){}`]|['\"].*\*", command):
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.folder,
                env={**self.environment, "HOME": str(self.folder.parent)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                encoding="utf-8",
            )
            return done.returncode, done.stdout, done.stderr or ""
        with self._printed(merged=merged) as (out, err):
            code = run(group, list(self._words(command))[1:], "shroom")
        return code, out.text, "" if merged else err.text

    def _words(self, command: str) -> Iterator[str]:
        """Yield the words of a command, with patterns expanded as a shell does."""
        for word in shlex.split(command):
            found = sorted(self.folder.glob(word)) if "*" in word else []
            yield from [str(path.relative_to(self.folder)) for path in found] or [word]

    @contextlib.contextmanager
    def _printed(self, *, merged: bool = True):
        """Work in the folder, and yield the streams that receive stdout and stderr."""
        out = Stream()
        err = out if merged else Stream()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.delenv("SHROOM_NO_CACHE", raising=False)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                yield out, err

    def _run_script(self, block: Block) -> None:
        with self._printed(merged=False) as (out, _):
            exec(compile(block.text, f"{self.page}:{block.line}", "exec"), self.names)  # noqa: S102
        if block.output is not None:
            self._compare(block, "the code", block.output, out.text)

    def _run_session(self, block: Block) -> None:
        session = doctest.DocTestParser().get_doctest(
            block.text, {}, self.page.stem, str(self.page), block.line
        )
        session.globs = self.names
        problems: list[str] = []
        with self._printed():
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
                session, out=problems.append, clear_globs=False
            )
        if problems:
            raise PageError(self.page, block, "the session", "", "".join(problems))


RUN_PYTHON = {"python": Folder._run_script, "pycon": Folder._run_session}
VALIDATE = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
