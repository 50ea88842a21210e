"""What of the machine a computation takes: threads, and memory that it no longer needs."""

from __future__ import annotations

import os
from pathlib import Path

#: More threads than any machine has cores.
_MOST = 1024
#: What a container may use of the processor: microseconds, or ``max``, in so many.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def threads() -> int:
    """Return how many threads keep this process's cores busy, at least 1.

    ``OMP_NUM_THREADS`` counts where it is set. Else it is the cores that the process may run on,
    and no more than its container's share of time: more threads would wait for each other.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdecimal() and int(asked):
        return min(int(asked), _MOST)
    here = getattr(os, "sched_getaffinity", None)
    cores = len(here(0)) if here else os.cpu_count() or 1
    return max(1, min(cores, _share(cores)))


def _share(cores: int) -> int:
    """Return the cores that a container's share of time is worth, rounded up."""
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        return cores if quota == "max" else -(-int(quota) // int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return cores


def give_back() -> None:
    """Give memory that has been freed back to the system, where the C library keeps it.

    What is freed between pieces that are still in use stays with the process, and the arrays of
    batches are of ever new sizes: over thousands of batches that is as much as the model itself.
    """
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, TypeError, AttributeError):
        return  # only glibc has it
