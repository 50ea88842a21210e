"""Building the competition bundle; its scoring program is a copy of the kit's modules."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from string import Template
from typing import Any

from shroom.bundle.checking import check
from shroom.bundle.competition import (
    columns,
    dated,
    metrics_of,
    pages,
    phases_of,
    rendered,
    scorer_folder,
)
from shroom.bundle.contents import FILE
from shroom.bundle.data_files import (
    check_sample,
    labelled,
    public_files,
    reference_zips,
    unlabelled,
    written,
)
from shroom.core.atomic_writing import write_atomically, zipped
from shroom.core.extras import require
from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError, printable
from shroom.core.version import __version__
from shroom.scoring.editions.competition import Phase
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.editions.plain import to_plain
from shroom.scoring.metric_registry import METRICS
from shroom.scoring.platforms import worst_scores

#: The packages that scoring needs; they import only numpy, and no others are copied.
PACKAGES = ("core", "metrics", "scoring")
#: A function from public data to predictions; both are contents of files by name.
Predict = Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
Content = Mapping[str, str | bytes]
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")
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


def build(
    gold: Source,
    start: dt.date | None = None,
    problems: Problems | None = None,
    *,
    edition: Edition | Source | None = None,
    data: Source | None = None,
    folder: Source = ".",
    predict: Predict | None = None,
) -> dict[str, bytes]:
    """Return ``codabench.zip`` and ``scoring_program.zip``; equal inputs give equal bytes.

    Parameters
    ----------
    gold : path
        Labelled data.
    start : date, optional
        Start of the first phase; by default, the start in the edition, or else today.
    problems : Problems, optional
        Collects warnings, for example about splits without gold.
    edition : Edition, name or path, optional
        The shared task; by default, the ``edition.toml`` next to the gold.
    data : path, optional
        Unlabelled data for participants; by default, the gold without its labels.
    folder : path
        Folder of the edition's pages.
    predict : callable, optional
        Function that makes the predictions of the starting kit.

    Raises
    ------
    ShroomError
        If the gold, the data or the edition is wrong, if Codabench would reject the bundle, or if
        its scoring program does not score the sample submission.
    """
    require("bundle", "jinja2", "jsonschema", "pyyaml")
    problems = Problems() if problems is None else problems
    edition, _ = resolve(edition, gold)
    _refuse_own_metrics(edition)
    references = labelled(gold, problems, edition)
    listed = phases_of(edition, {split for split, _ in references})
    for phase in edition.phases:
        if phase not in listed:
            expected = f"gold for the phase {phase.name}"
            problems.add("gold-skipped", str(gold), expected, "none; this phase is left out")
    splits = list(dict.fromkeys(phase.split for phase in listed))
    references = {place: file for place, file in references.items() if place[0] in splits}
    documents = references if data is None else unlabelled(data, references, problems, edition)
    public, sample = public_files(documents, edition, problems, is_gold=data is None)
    check_sample(sample, gold, edition)
    values = {
        "columns": columns(edition, {track for _, track in references}),
        "data": public,
        "edition": edition,
        "email": edition.contact if _EMAIL.fullmatch(edition.contact) else "",
        "keys": dict.fromkeys(
            key for own in public.values() for rows in own.values() for row in rows for key in row
        ),
        "metrics": metrics_of(edition),
        "phases": dated(listed, start, dt.date.today()),
        "program_of": _program_of,
        "sample": sample,
        "version": __version__,
    }
    about = pages(Path(folder), values)
    program = _program_files(edition)
    files = {
        **reference_zips(references, gold if data is None else data, edition),
        **{_program_of(phase): _program(program, blind=phase.blind) for phase in listed},
        **{f"public_data_{split}.zip": zipped(written(public[split])) for split in splits},
        "starting_kit.zip": _starting_kit(values, program, splits, predict),
        "logo.png": (scorer_folder() / "logo.png").read_bytes(),
        **dict(about.values()),
    }
    for split, name in dict.fromkeys((phase.split, _program_of(phase)) for phase in listed):
        reference, submission = files[f"reference_data_{split}.zip"], zipped(written(sample[split]))
        try_program(files[name], reference, submission, worst_scores(edition))
    values["pages"] = {title: file for title, (file, _) in about.items()}
    bundle = zipped({**files, FILE: rendered(FILE, values)})
    if refused := check(bundle, "codabench.zip").refused:
        raise ShroomError("\n".join(refused))
    return {"codabench.zip": bundle, "scoring_program.zip": _program(program)}


def write(files: Mapping[str, bytes], out: Source) -> None:
    for name, data in files.items():
        write_atomically(Path(out) / name, data)


def _refuse_own_metrics(edition: Edition) -> None:
    """Refuse metrics of other packages, which the scoring program does not contain."""
    for name in (*edition.metrics, *(column.metric for column in edition.columns)):
        entry = METRICS.get(name)
        if entry is not None and not entry.where.startswith("shroom."):
            raise ShroomError(
                f"metrics: '{name}' is defined in {entry.where}, but the scoring program contains "
                "only the kit's metrics; use one of them, or rank with 'shroom leaderboard'"
            )


def _starting_kit(
    values: Mapping[str, Any], program: Content, splits: list[str], predict: Predict | None
) -> bytes:
    data = {name: rows for split in splits for name, rows in values["data"][split].items()}
    predictions = predict(written(data)) if predict else {}
    return zipped(
        {
            "README.md": re.sub("</?code>", "`", rendered("starting_kit.md", values)),
            "edition.json": program["edition.json"],
            "sample_submission.zip": zipped(written(values["sample"][splits[0]])),
            **{f"kit/{name}": content for name, content in program.items()},
            **{f"predictions/{name}": content for name, content in predictions.items()},
        }
    )


def _program_of(phase: Phase) -> str:
    return "scoring_program_blind.zip" if phase.blind else "scoring_program.zip"


def _program(files: Content, *, blind: bool = False) -> bytes:
    metadata = (
        f"command: python3 $program/score.py $input $output{' --blind' if blind else ''}\n"
        "description: Scores a submission with the SHROOM kit.\n"
    )
    return zipped({**files, "metadata": metadata, "metadata.yaml": metadata})


def _program_files(edition: Edition) -> Content:
    package = Path(__file__).parents[1]
    modules = [package / "__init__.py"]
    for name in PACKAGES:
        files = sorted((package / name).rglob("*"))
        modules += [path for path in files if path.suffix in (".py", ".css")]
    return {
        "score.py": (scorer_folder() / "scoring_program" / "score.py").read_bytes(),
        "edition.json": json.dumps(to_plain(edition), indent=1, ensure_ascii=False) + "\n",
        **{path.relative_to(package.parent).as_posix(): path.read_bytes() for path in modules},
    }


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
            lines = done.stderr.decode("utf-8", "replace").splitlines()[-20:]
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
