"""What the benchmarks share: running a process under measurement, and telling the results."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

MIB = 1 << 20
#: Of ``ru_maxrss``: bytes on macOS, kibibytes elsewhere.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1 << 10
#: Over the last minute, before the benchmark added its own.
_LOAD = os.getloadavg()[0]


@dataclass(frozen=True)
class Run:
    """One process from start to end.

    Attributes
    ----------
    seconds : float
        By the wall clock, the interpreter's start included.
    cpu : float
        Seconds of processor time, user and system; other work on the machine hardly touches them.
    peak : int
        The most memory that was resident, in bytes; mapped files count.
    out : str
        What it wrote to stdout.
    """

    seconds: float
    cpu: float
    peak: int
    out: str


def run(command: Sequence[str | Path]) -> Run:
    """Run a command to its end.

    Its peak memory cannot be told below that of this process, which the child is at first a copy
    of; so the benchmarks keep no data themselves.

    Raises
    ------
    RuntimeError
        Where it fails.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = 0  # it has been waited for
        out.seek(0)
        err.seek(0)
        if status:
            said = err.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{said}")
        cpu = usage.ru_utime + usage.ru_stime
        return Run(seconds, cpu, usage.ru_maxrss * _RSS_UNIT, out.read().decode())


def machine() -> dict[str, Any]:
    """Return what the figures depend on: processor, cores and load, system and versions."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": round(_LOAD, 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: version(package) for package in ("numpy", "scipy", "msgspec")},
    }


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def machine_line() -> str:
    """Return the machine in one line."""
    told = machine()
    versions = ", ".join(f"{k} {told[k]}" for k in ("numpy", "scipy", "msgspec"))
    return (
        f"{told['cpu']}, {told['cores']} cores (load {told['load']}), {told['system']}, "
        f"Python {told['python']}, {versions}"
    )


def progress(text: str) -> None:
    """Tell on stderr what is being done."""
    print(text, file=sys.stderr, flush=True)


def save(path: Path | None, figures: dict[str, Any]) -> None:
    """Write the figures as json, with the machine, where a file was named."""
    if path is not None:
        text = json.dumps({"machine": machine(), **figures}, indent=2)
        path.write_text(text + "\n", encoding="utf-8")
