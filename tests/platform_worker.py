"""The workers of both platforms, emulated: their layout of files, and how they call a program."""

import compileall
import io
import json
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import yaml


def unzip(source, target):
    with zipfile.ZipFile(source) as archive:
        archive.extractall(target)
    return target


def bare_python(folder):
    """Link numpy into a folder, which as a search path has nothing else that was installed."""
    site = Path(np.__file__).parent.parent
    for name in ("numpy", "numpy.libs"):
        if (site / name).exists():
            (folder / name).symlink_to(site / name)
    return folder


class Worker:
    """One run in the layout of a platform: program, input/ref, input/res, output."""

    def __init__(self, root, bundle, bare_python, *, platform="codabench", phase=0):
        self.root, self.platform, self.bare = root, platform, bare_python
        competition = unzip(bundle / "codabench.zip", root / "competition")
        described = yaml.safe_load((competition / "competition.yaml").read_text())
        task = described["tasks"][phase]
        compiled = bundle / "compiled" / task["scoring_program"]
        if not compiled.exists():  # once, for all runs of this bundle
            compileall.compile_dir(unzip(competition / task["scoring_program"], compiled), quiet=2)
        shutil.copytree(compiled, root / "program")
        unzip(competition / task["reference_data"], root / "input" / "ref")
        self.keys = [column["key"] for column in described["leaderboards"][0]["columns"]]
        (root / "input" / "res").mkdir()
        (root / "output").mkdir()

    def submit(self, files):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in files.items():
                archive.writestr(
                    name, content if isinstance(content, bytes) else json.dumps(content)
                )
        unzip(stream, self.root / "input" / "res")
        return self

    def run(self):
        metadata = "metadata.yaml" if self.platform == "codabench" else "metadata"
        command = yaml.safe_load((self.root / "program" / metadata).read_text())["command"]
        for token, folder in (("$program", "program"), ("$input", "input"), ("$output", "output")):
            command = command.replace(token, str(self.root / folder))
        # CodaLab splits at blanks; Codabench hands the words to docker. There is no shell.
        words = command.split(" ") if self.platform == "codalab" else shlex.split(command)
        assert words[0] == "python3"
        if self.platform == "codalab":  # its worker makes an empty page beforehand
            (self.root / "output" / "detailed_results.html").touch()
        return subprocess.run(
            [sys.executable, "-S", *words[1:]],
            cwd=self.root / ("program" if self.platform == "codabench" else "."),
            env={"PYTHONPATH": str(self.bare), "PYTHONUNBUFFERED": "1"},
            capture_output=True,
            text=True,
        )

    @property
    def scores(self):
        """What the leaderboard gets: known keys alone, as the platform reads them."""
        output = self.root / "output"
        as_yaml = yaml.safe_load((output / "scores.txt").read_text())
        as_json = json.loads((output / "scores.json").read_text())
        assert as_yaml == as_json
        assert not (output / "metadata").exists()  # the platform's own
        return {key: value for key, value in as_json.items() if key in self.keys}

    @property
    def page(self):
        return (self.root / "output" / "detailed_results.html").read_text()
