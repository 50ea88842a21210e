"""The benchmark measures how long the slowest `--help` and commands on 60 items take.

All times include the start of the process. The peer is a process that only imports a library.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from run import SAMPLE, check, figure, main, progress, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PEERS = ("scipy.stats", "torch")
_VERBS = "from shroom.cli import shroom; print(*shroom.list_commands(None))"
#: Runs the command line, and prints at the end whether torch was imported.
_IMPORTED = """
import atexit, runpy, sys
atexit.register(lambda: print("torch" in sys.modules))
runpy.run_module("shroom", run_name="__main__", alter_sys=True)
"""


def measure(rounds: int = 5, verbs: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the slowest help and the short runs, each beside the peers."""
    sample = SAMPLE / "val.model-agnostic.json"
    verbs = verbs or run([sys.executable, "-c", _VERBS]).out.split()
    with tempfile.TemporaryDirectory() as folder:
        uses = {
            "score": ["score", sample, sample],
            "check": ["check", sample, "--gold", sample],
            "predict lexical": ["predict", "lexical", sample, "-o", Path(folder) / "p.json"],
        }
        shroom = [sys.executable, "-m", "shroom"]
        peers = seconds({peer: [sys.executable, "-c", f"import {peer}"] for peer in PEERS}, rounds)
        helps = seconds({verb: [*shroom, verb, "--help"] for verb in verbs}, rounds)
        used = seconds({name: [*shroom, *words] for name, words in uses.items()}, rounds)
    for verb in verbs:
        out = run([sys.executable, "-c", _IMPORTED, verb, "--help"]).out
        check(out.endswith("False\n"), f"{verb} --help imports torch")
    slowest = max(helps, key=lambda verb: helps[verb])
    for peer in PEERS:
        work = f"slowest help (`{slowest} --help`)"
        yield figure(work, helps[slowest], peers[peer], f"`import {peer}`")
    for name, taken in used.items():
        yield figure(f"`{name}`", taken, peers[PEERS[0]], f"`import {PEERS[0]}`")


def seconds(commands: Mapping[str, list[Any]], rounds: int) -> dict[str, float]:
    """Return the median seconds of commands that run in turn."""
    found: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):  # the first compiles modules and fills the page cache
        for name, command in commands.items():
            taken = run(command).seconds
            if turn:
                found[name].append(taken)
    for name, times in found.items():
        progress(f"{name}: {median(times):.3f} s")
    return {name: median(times) for name, times in found.items()}


if __name__ == "__main__":
    sys.exit(main("startup"))
