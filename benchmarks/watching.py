"""A process watched from second to second, and perhaps killed: how much memory it holds."""

from __future__ import annotations

import contextlib
import math
import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common import MIB, progress

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Seconds between two samples, between two looks whether it has ended, and between two reports.
_SAMPLE, _LOOK, _TELL = 1.0, 0.05, 30
_PROCESSES = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Sample:
    """One look at a process.

    Attributes
    ----------
    seconds : float
        Since it was started.
    resident : int
        Bytes of memory that were resident, its children's included.
    journal : int
        Bytes that its journal had.
    """

    seconds: float
    resident: int
    journal: int


@dataclass(frozen=True)
class Watched:
    """One process from its start to its end, or to when it was killed.

    Attributes
    ----------
    seconds : float
        By the wall clock, the interpreter's start included.
    peak : int
        The most memory that was resident, in bytes; of the process alone, between samples, too.
    killed : bool
        Whether it was; it may have ended before.
    samples : list of Sample
        In order.
    output : str
        What it wrote to stderr.
    """

    seconds: float
    peak: int
    killed: bool
    samples: list[Sample]
    output: str


def watch(command: Sequence[str], journal: Path, name: str, kill: float = math.inf) -> Watched:
    """Run a command to its end, or kill it with all its children after so many seconds.

    It has a process group of its own, of which nothing is left when this function is left.

    Raises
    ------
    RuntimeError
        Where it fails.
    """
    samples: list[Sample] = []
    peak = 0
    killed = False
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)
        try:
            while process.poll() is None:
                time.sleep(_LOOK)
                peak = max(peak, _most(process.pid))
                seconds = time.perf_counter() - began
                if seconds >= kill:
                    os.killpg(process.pid, signal.SIGKILL)
                    killed = process.wait() == -signal.SIGKILL
                elif seconds >= _SAMPLE * (len(samples) + 1):
                    resident = _resident(process.pid)
                    if resident:  # none of a process that is just ending
                        samples.append(Sample(seconds, resident, _size(journal)))
                        _report(name, samples)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        seconds = time.perf_counter() - began
        err.seek(0)
        output = err.read().decode(errors="replace")
    if process.returncode and not killed:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{output}")
    return Watched(seconds, peak, killed, samples, output)


def _most(process: int) -> int:
    """Return the most bytes that were resident; 0 of a process that has ended.

    What the system reports for a process that has ended cannot be used: it is at least the memory
    of the process that started it.
    """
    status = (_PROCESSES / str(process) / "status").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found.group(1)) << 10 if found else 0


def _resident(group: int) -> int:
    """Return the resident bytes of a group's processes; what two of them share counts twice."""
    pages = 0
    for process in _PROCESSES.glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            stat = (process / "stat").read_text(encoding="utf-8", errors="replace")
            fields = stat.rpartition(")")[2].split()  # the name before may hold anything
            pages += int(fields[21]) if int(fields[2]) == group else 0
    return pages * _PAGE


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _report(name: str, samples: Sequence[Sample]) -> None:
    if len(samples) % _TELL == 0:
        last = samples[-1]
        memory, journal = f"{last.resident / MIB:.0f} MiB", f"{last.journal >> 10} KiB"
        progress(f"{name}: {last.seconds:.0f} s, {memory}, {journal} of results")
