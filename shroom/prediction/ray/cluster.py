"""Predict shards with Ray Data: a pool of workers, each with its own detector."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from typing import Any

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.detectors.registry import Recipe
from shroom.inference.run_settings import RUN, Run
from shroom.prediction.ray.shards import Outcome, Shard, Worker

#: Number of retries of a shard whose worker was lost; then the shard is the likely reason.
RETRIES = 3


def outcomes(
    shards: Sequence[Shard],
    recipe: Recipe,
    *,
    run: Run = RUN,
    address: str | None = None,
    workers: int | None = None,
    retries: int = RETRIES,
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each shard; a shard that keeps losing its workers is left out."""
    if not shards:
        return
    gpus = int(run.device == "cuda")
    with _cluster(address, workers):
        import ray

        there = int(ray.cluster_resources().get("GPU" if gpus else "CPU", 0))
        if gpus and not there:
            raise ShroomError("--device cuda: the Ray cluster has no GPU")
        ray.data.DataContext.get_current().enable_progress_bars = False
        # Ray itself would retry forever, and lose one worker after another.
        counter = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(_Attempts)
        attempts = counter.remote()  # Ray ends it once nothing refers to it
        rows = [{"shard": shard} for shard in shards]
        judged = ray.data.from_items(rows, override_num_blocks=len(rows)).flat_map(
            _Actor,
            fn_constructor_args=(
                *(attempts, 1 + retries),
                *(recipe, replace(run, device=run.device or "cpu")),
            ),
            compute=ray.data.ActorPoolStrategy(
                size=max(1, min(workers or there, len(shards))), max_tasks_in_flight_per_actor=1
            ),
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
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ShroomError(f"--engine ray needs Ray: {install_hint('ray')}") from error
    own = {} if address else {"num_cpus": workers, "include_dashboard": False}
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    joined = ray.is_initialized()
    try:
        if not joined:
            _knock(address)
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


def _knock(address: str | None) -> None:
    """Raise :class:`OSError` if nothing listens at an address: Ray would wait forever."""
    host, _, port = (address or "").rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


class _Attempts(Counter[int]):
    def begin(self, number: int) -> int:
        """Count an attempt at a shard, and return the number of attempts."""
        self[number] += 1
        return self[number]


class _Actor(Worker):
    """A worker as Ray Data calls it; it returns nothing for a shard that is given up."""

    def __init__(self, attempts: Any, most: int, recipe: Recipe, run: Run) -> None:
        super().__init__(recipe, run)
        self._attempts, self._most = attempts, most

    def __call__(self, row: dict[str, Any]) -> list[dict[str, Outcome]]:
        import ray

        shard = row["shard"]
        attempt = ray.get(self._attempts.begin.remote(shard.number))
        return [{"outcome": self.judge(shard)}] if attempt <= self._most else []
