"""What the benchmarks share: measuring a process, printing the results, and storing them."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MIB = 1 << 20
#: The packages whose versions are recorded, if they are installed.
PACKAGES = (
    "numpy",
    "scipy",
    "msgspec",
    "tokenizers",
    "onnxruntime",
    "torch",
    "transformers",
    "sentence-transformers",
)
#: Of ``ru_maxrss``: bytes on macOS, kibibytes elsewhere.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1 << 10
#: Over the last minute, before the benchmark added its own.
_LOAD = os.getloadavg()[0]
_shown: list[str] = []


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

    The measured peak is at least that of this process, since the child begins as a copy of it; so
    the benchmarks keep no data themselves.

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
            output = err.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{output}")
        cpu = usage.ru_utime + usage.ru_stime
        return Run(seconds, cpu, usage.ru_maxrss * _RSS_UNIT, out.read().decode())


def memory(command: Sequence[str | Path]) -> int:
    """Return the most bytes that a command and its child processes held at once.

    Pages that several share count once (the proportional set size), sampled every 10 ms. Where
    the system does not report them (all but Linux), it is the peak of the largest process.

    Raises
    ------
    RuntimeError
        Where it fails.
    """
    if not Path("/proc/self/smaps_rollup").exists():
        return run(command).peak
    words, quiet = list(map(str, command)), subprocess.DEVNULL
    most = 0
    with subprocess.Popen(words, stdout=quiet, stderr=quiet) as process:
        while process.poll() is None:
            most = max(most, sum(map(_shared_once, _family(process.pid))))
            time.sleep(0.01)
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} failed")
    return most


def _family(pid: int) -> Iterator[int]:
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for child in children.read_text(encoding="ascii").split():
                yield from _family(int(child))


def _shared_once(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return 0


@dataclass(frozen=True)
class Beside:
    """A figure of the kit beside that of what people use without it, for the page's first table.

    Attributes
    ----------
    work : str
        What both do.
    peer : str
        What people use.
    ours, theirs : float
        The two figures.
    ratio : float
        How many times better the kit's is; below 1 the peer is ahead.
    unit : str
        Of both figures.
    """

    work: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    unit: str = "s"


def machine() -> dict[str, Any]:
    """Return what the figures depend on: date, processor, memory, load, system and versions."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": round(_LOAD, 2),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"Python": platform.python_version(), **dict(_installed())},
    }


def _installed() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            yield package, version(package)


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def machine_line(about: Mapping[str, Any] | None = None) -> str:
    """Return a machine (this one) in one line, without what changes from run to run."""
    about = about or machine()
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return (
        f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']:g} GiB, {about['system']}, "
        f"{versions}"
    )


def progress(text: str) -> None:
    """Print on stderr what is being done."""
    print(text, file=sys.stderr, flush=True)


def show(lines: Iterable[str]) -> None:
    """Print lines of the report, the machine above the first, and keep them for ``save``."""
    if not _shown:
        print(machine_line(), f"load before: {_LOAD:.2f}", "", sep="\n")
    for text in lines:
        _shown.extend(text.split("\n"))
        print(text, flush=True)


def save(path: Path | None, figures: dict[str, Any], beside: Iterable[Beside] = ()) -> None:
    """Write the figures as json where a file was named, with all that the page shows of them.

    Parameters
    ----------
    path : Path or None
        The file.
    figures : dict
        What was measured.
    beside : iterable of Beside
        The most telling of it, for the page's first table.
    """
    if path is None:
        return
    stored = {
        "machine": machine(),
        "command": _command(sys.argv),
        "beside": [asdict(each) for each in beside],
        "report": _shown,
        "figures": figures,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(stored, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def _command(arguments: Sequence[str]) -> str:
    """Return the command line, without where its result goes and the folders of one machine."""
    words = [Path(word).name if Path(word).is_absolute() else word for word in arguments[1:]]
    if "--json" in words:
        place = words.index("--json")
        del words[place : place + 2]
    return shlex.join(["python", f"benchmarks/{Path(arguments[0]).name}", *words])
