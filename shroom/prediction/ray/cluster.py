"""Shards through Ray: workers, each with its own detector."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from itertools import islice

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.detectors.recipe import Recipe
from shroom.inference.run_settings import RUN, Run
from shroom.prediction.ray.shards import Outcome, Shard, Worker

#: Number of retries of a shard whose worker was lost; after that, the shard is likely the reason.
RETRIES = 3


def outcomes(
    shards: Sequence[Shard],
    data: str,
    recipe: Recipe,
    *,
    run: Run = RUN,
    address: str | None = None,
    workers: int | None = None,
    retries: int = RETRIES,
) -> Generator[Outcome, None, None]:
    """Yield the outcome of each shard as it is finished; one that loses its workers is left out."""
    gpus = 1 if run.device == "cuda" else 0
    with _cluster(address, workers):
        import ray

        there = int(ray.cluster_resources().get("GPU" if gpus else "CPU", 0))
        if gpus and not there:
            raise ShroomError("--device cuda: the Ray cluster has no GPU")
        actor = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=-1, max_task_retries=retries)
        given = data, recipe, replace(run, device=run.device or "cpu")
        size = max(1, min(workers or there, len(shards)))
        made = (actor(Worker).remote(*given) for _ in range(size))
        # One that the cluster has no room for yet gets no shard.
        running = {each.__ray_ready__.remote(): (each, False) for each in made}
        waiting, left = iter(shards), len(shards)
        while left:
            [done], _ = ray.wait([*running], num_returns=1)
            worker, is_shard = running.pop(done)
            for shard in islice(waiting, 1):
                running[worker.judge.remote(shard)] = worker, True
            del worker  # Ray ends one without a shard, which makes room for others
            left -= is_shard
            try:
                outcome = ray.get(done)
            except ray.exceptions.RayActorError as error:
                if error.actor_init_failed:
                    raise
                continue  # lost as often as it may be
            if is_shard:
                yield outcome


@contextmanager
def _cluster(address: str | None, workers: int | None) -> Iterator[None]:
    # No usage statistics are sent unless the user asks for it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Of Ray's own log; a lost worker is expected here, and the log's file has the rest.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
    except ImportError as error:
        raise ShroomError(f"--engine ray needs Ray: {install_hint('ray')}") from error
    here = {} if address else {"num_cpus": workers, "include_dashboard": False}
    joined = ray.is_initialized()
    try:
        if not joined:
            _knock(address)
            ray.init(
                address=address or "local",
                logging_level=logging.ERROR,
                log_to_driver=False,
                **here,
            )
        with redirect_stdout(sys.stderr):  # where Ray reports workers that were lost
            yield
    except OSError as error:
        raise ShroomError(
            f"{address or 'this machine'}: no Ray cluster is reachable there: {error}"
        ) from error
    except ray.exceptions.RayError as error:
        reason = str(error).strip().rpartition("\n")[2]
        raise ShroomError(
            f"a worker of Ray failed: {reason}. All machines need the kit and what the detector "
            "needs"
        ) from error
    finally:
        if not joined:
            ray.shutdown()


def _knock(address: str | None) -> None:
    """Raise :class:`OSError` where nothing listens at an address: Ray would wait without end."""
    host, _, port = (address or "").rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()
