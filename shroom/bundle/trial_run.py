"""A trial run of the scoring program on the sample submission, as a platform runs it."""

from __future__ import annotations

import io
import json
import math
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection
from pathlib import Path
from string import Template

from shroom.core.printing import printable
from shroom.core.problems import ShroomError

#: The time limit of Codabench's public queue, in seconds.
TIME_LIMIT = 600
#: Runs a program that can import only numpy and the standard library, as in the platform's image.
_WITH_NUMPY_ALONE = """
import runpy, sys
sys.path.append(sys.argv[1])
import numpy
sys.path.remove(sys.argv[1])
del sys.argv[:2]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
#: The most lines of its messages that are shown.
_LINES = 20


def try_program(program: bytes, reference: bytes, submission: bytes, keys: Collection[str]) -> None:
    """Raise an error unless the program gives the submission finite scores for ``keys``."""
    import numpy as np
    import yaml

    with tempfile.TemporaryDirectory() as root:
        places = {name: Path(root, name) for name in ("program", "input", "output")}
        zips = {"program": program, "input/ref": reference, "input/res": submission}
        for folder, content in zips.items():
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                archive.extractall(Path(root, folder))
        places["output"].mkdir()
        command = yaml.safe_load((places["program"] / "metadata").read_bytes())["command"]
        words = [Template(word).substitute(places) for word in shlex.split(command)[1:]]
        site = str(Path(np.__file__).parents[1])
        try:
            done = subprocess.run(  # noqa: S603 - of the kit's own program
                [sys.executable, "-I", "-S", "-c", _WITH_NUMPY_ALONE, site, *words],
                cwd=places["program"],
                capture_output=True,
                timeout=TIME_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise _failed(f"it took longer than {TIME_LIMIT} seconds") from error
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").splitlines()[-_LINES:]
            raise _failed("\n".join(map(printable, lines)))
        scores = json.loads((places["output"] / "scores.json").read_bytes())
    lacking = [key for key in keys if not math.isfinite(scores.get(key, math.nan))]
    if lacking:
        raise _failed(f"it returned no finite score for {', '.join(lacking)}")


def _failed(reason: str) -> ShroomError:
    return ShroomError(
        "nothing was written, because the scoring program failed on the sample submission (with "
        f"Python {sys.version_info[0]}.{sys.version_info[1]} and numpy): {reason}"
    )
