"""Predict the files of a folder with Ray Data: a pool of workers, each with its own detector."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import require
from shroom.core.paths import RUN_RECORD, is_inside, is_junk
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.registry import plug_in_errors
from shroom.detectors.base import Detector
from shroom.detectors.registry import Recipe
from shroom.inference.run_settings import Run
from shroom.prediction.input_data import read_data
from shroom.prediction.predictions import predict_files
from shroom.prediction.submission_files import write_record
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import JSON

#: Number of retries of a file whose worker was lost; then the file is the likely reason.
RETRIES = 3


def files_in(data: str) -> dict[str, Path]:
    """Return the files to predict by their names below the folder, without Spark's empty files."""
    root, files = Path(data), dict[str, Path]()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.lower().endswith(JSON) and not is_junk(name) and path.stat().st_size:
            files[name] = path
    if not files:
        raise ShroomError(
            f"{data}: expected a folder with files named {', '.join(f'*{it}' for it in JSON)}"
        )
    return files


def unfinished(files: Mapping[str, Path], out: Path) -> dict[str, Path]:
    """Return the files without predictions, which are written completely or not at all."""
    return {name: path for name, path in files.items() if not (out / name).exists()}


def started(out: str, data: str, record: dict[str, Any], *, resume: bool) -> dict[str, Any]:
    """Return the record of a new run, or of the run to continue; refuse any other output."""
    path = Path(out, RUN_RECORD)
    if is_inside(out, data):
        raise ShroomError(f"{out} is inside the data folder; choose another folder")
    if not path.exists():
        if path.parent.exists() and any(path.parent.iterdir()):
            raise ShroomError(f"{out} is not empty and has no {path.name}; choose another folder")
        return {**record, "in_sample": {}}
    if not resume:
        raise ShroomError(
            f"{out} already contains the results of a run; add --resume to continue this run, or "
            "choose another folder"
        )
    before = json.loads(path.read_bytes())
    now = json.loads(json.dumps(record, default=str))
    if other := [key for key, value in now.items() if before.get(key) != value]:
        raise ShroomError(
            f"{path} belongs to a run with different {', '.join(other)}; choose another folder"
        )
    return {"in_sample": {}, **before}


@dataclass(frozen=True)
class Outcome:
    """The predictions for a file, or the reason why there are none."""

    name: str
    content: bytes = b""  # empty if there are none
    problems: Problems = field(default_factory=Problems)
    notes: tuple[str, ...] = ()
    in_sample: int = 0  # the number of items that the detector was fitted on
    stop: str = ""  # why no file can be predicted; empty if files can be


class _Attempts:
    """An actor that counts the attempts at each file, because an attempt may end a worker."""

    def __init__(self, most: int) -> None:
        self._most, self._counts = most, Counter[str]()

    def begin(self, name: str) -> bool:
        """Count an attempt at a file; return ``False`` if the file is given up."""
        self._counts[name] += 1
        return self._counts[name] <= self._most


class Worker:
    """A detector that predicts files."""

    def __init__(self, recipe: Recipe, run: Run, edition: Edition, attempts: Any = None) -> None:
        self._recipe, self._run, self._edition, self._attempts = recipe, run, edition, attempts

    @cached_property
    def _detector(self) -> Detector:
        return self._recipe.make()

    def __call__(self, row: dict[str, str]) -> dict[str, Outcome]:
        """Return the outcome for a row of Ray Data, which has the name of a file and its path."""
        import ray

        name, path, problems = row["name"], row["path"], Problems()
        if self._attempts and not ray.get(self._attempts.begin.remote(name)):
            return {"outcome": Outcome(name)}
        try:
            with plug_in_errors():
                files = read_data(path, problems, (), self._edition)
                names = [Path(name).name]
                made = predict_files(self._detector, files, names, self._run, self._edition)
            (content,) = made.files.values()
            in_sample = sum(made.in_sample.values())
            outcome = Outcome(name, content, problems, made.notes, in_sample)
        except InvalidInput as error:
            outcome = Outcome(name, problems=error.problems)
        except ShroomError as error:
            outcome = Outcome(name, stop=str(error))
        return {"outcome": outcome}


def outcomes(
    files: Mapping[str, Path],
    recipe: Recipe,
    run: Run,
    edition: Edition,
    *,
    address: str | None = None,
    workers: int | None = None,
) -> Generator[Outcome, None, None]:
    """Yield the outcome for each file; a file that keeps losing its workers is left out."""
    if not files:
        return
    gpus = int(run.device == "cuda")
    run = replace(run.bare(), device=run.device or "cpu")
    with _cluster(address, workers):
        import ray

        there = int(ray.cluster_resources().get("GPU" if gpus else "CPU", 0))
        if gpus and not there:
            raise ShroomError("--device cuda: the Ray cluster has no GPU")
        ray.data.DataContext.get_current().enable_progress_bars = False
        # Ray itself would retry forever, and lose one worker after another.
        attempts = ray.remote(num_cpus=0)(_Attempts).remote(1 + RETRIES)
        rows = [{"name": name, "path": str(path.absolute())} for name, path in files.items()]
        size = max(1, min(workers or there, len(rows)))
        judged = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
            Worker,
            fn_constructor_args=(recipe, run, edition, attempts),
            compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            num_gpus=gpus,
        )
        for row in judged.iter_rows():
            yield row["outcome"]


@contextmanager
def _cluster(address: str | None, workers: int | None) -> Iterator[None]:
    """Connect to a Ray cluster within the context."""
    # Send no usage statistics unless the user asks for it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # A lost worker is expected here, and Ray's log files have the details.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    require("ray", "ray")
    import ray
    import ray.data

    own = {} if address else {"num_cpus": workers, "include_dashboard": False}
    joined = ray.is_initialized()
    try:
        if not joined:
            host, _, port = (address or "").rpartition(":")
            if port.isdecimal():  # Ray would wait forever if nothing listens
                socket.create_connection((host, int(port)), timeout=10).close()
            quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
            ray.init(address=address or "local", **quiet, **own)
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        with redirect_stdout(sys.stderr):  # where Ray reports workers that were lost
            yield
    except OSError as error:
        where = address or "this machine"
        raise ShroomError(f"{where}: no Ray cluster is reachable: {error}") from error
    except ray.exceptions.RayError as error:
        reason = str(error).strip().rpartition("\n")[2]
        raise ShroomError(
            f"a Ray worker failed: {reason}; install the kit and the detector's extras on all "
            "machines"
        ) from error
    finally:
        if not joined:
            ray.shutdown()


def write_outcomes(
    judged: Generator[Outcome, None, None],
    missing: dict[str, Path],
    out: Path,
    record: dict[str, Any],
    *,
    report: Callable[[int, int], None],
    note: Callable[[str], None],
) -> Problems:
    """Write the record and the predictions, and remove each written file from the missing ones."""
    problems, n = Problems(), len(missing)
    try:
        for outcome in judged:
            if outcome.stop:
                raise ShroomError(outcome.stop)
            problems.extend(outcome.problems)
            for text in outcome.notes:
                note(f"{outcome.name}: {text}")
            if outcome.content:
                if outcome.in_sample:
                    record["in_sample"][outcome.name] = outcome.in_sample
                write_record(out / RUN_RECORD, record)
                write_atomically(out / outcome.name, outcome.content)
                del missing[outcome.name]
                report(n - len(missing), n)
    finally:
        judged.close()  # ends the cluster now, not when the generator is collected
    if problems.errors:
        raise InvalidInput(problems)
    if missing:
        raise ShroomError(
            f"{len(missing)} of {counted(n, 'file')} failed (the first is {next(iter(missing))}): "
            "workers were lost repeatedly, perhaps because they ran out of memory (see Ray's "
            "logs); to continue, add --resume and reduce --workers"
        )
    return problems
