"""Compare speed and memory with the programs that people use instead; write docs/benchmarks.md.

    python benchmarks/run.py                         # every benchmark except endurance
    python benchmarks/run.py scoring rows=1000,      # one benchmark, on fewer rows
    python benchmarks/run.py --page                  # only write the page

A benchmark is a module whose function ``measure`` yields rows made by :func:`figure`; KEY=VALUE
sets its keyword arguments. The module's docstring is its section of the page.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import math
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SAMPLE = ROOT / "shroom" / "sample"
DATA = Path(os.environ.get("SHROOM_DATA") or ROOT.parent / "shared" / "data")
RESULTS = HERE / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
MIB = 1 << 20
#: In the order of the page; the last one takes an hour and runs only if it is named.
MEASURES = (
    "engine",
    "startup",
    "scoring",
    "resampling",
    "comparing",
    "loading",
    "scale",
    "endurance",
)
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
#: The rows that the page leaves out, as patterns of their names.
LEFT_OUT = {
    "engine": "^bfloat16$",
    "scoring": " (501|10,000|100,000) rows",
    "loading": " rows$",
    "scale": "^(1 of|workers)",
}
HEAD = """\
# Benchmarks

This page compares the kit's speed and memory use with those of the *peers*: the programs that
people would use instead. The ratio shows how many times better the kit is; if it is below 1, the
kit is worse. The kit and the peer were measured in turn. Times vary between runs, so only the first
digit of a ratio is reliable.

    make bench                  # all benchmarks except endurance; writes this page
    make bench ONLY=endurance   # takes an hour or more
    python benchmarks/scoring.py rows=1000, repeats=1   # a quick run; stores nothing

Settings such as `rows=1000` are arguments of the benchmark's `measure` function. The benchmarks use
the real data in `$SHROOM_DATA` or `../shared/data` if available; otherwise, they use the sample.
All benchmarks need Linux. The tables show only the most important rows; `benchmarks/results`
contains all rows.
"""


def figure(
    work: str,
    ours: float,
    theirs: float | None,
    peer: str,
    unit: str = "s",
    ratio: float | None = None,
) -> dict[str, Any]:
    """Return a figure of the kit and of its peer, with their ratio."""
    if ratio is None and theirs is not None:
        ratio = ours / theirs if unit.endswith("/s") else theirs / ours
    row = {"work": work, "ours": ours, "theirs": theirs, "peer": peer, "unit": unit}
    return {**row, "ratio": ratio}


class Run(NamedTuple):
    """One process: wall-clock and processor seconds, peak of resident bytes, its stdout."""

    seconds: float
    cpu: float
    peak: int
    out: str


def run(command: Sequence[str | Path], **environment: str) -> Run:
    """Run a command to its end, or raise RuntimeError if it fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            [*map(str, command)], stdout=out, stderr=err, env={**os.environ, **environment}
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = 0  # it has been waited for
        out.seek(0)
        err.seek(0)
        if status:
            output = err.read().decode(errors="replace")
            raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{output}")
        cpu = usage.ru_utime + usage.ru_stime
        return Run(seconds, cpu, usage.ru_maxrss << 10, out.read().decode())


class Watched(NamedTuple):
    """One process, perhaps killed: its seconds, and pairs of second and resident bytes."""

    seconds: float
    killed: bool
    memory: list[tuple[float, int]]


def watch(command: Sequence[str | Path], every: float = 0.01, kill: float = math.inf) -> Watched:
    """Run a command and sample its memory, or kill it with its children after some seconds.

    The memory is that of all its processes; pages that they share count once.
    """
    memory: list[tuple[float, int]] = []
    killed = False
    with tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            [*map(str, command)], stdout=subprocess.DEVNULL, stderr=err, start_new_session=True
        )
        try:
            while process.poll() is None:
                time.sleep(min(every, 0.05))
                seconds = time.perf_counter() - start
                if seconds >= kill:
                    os.killpg(process.pid, signal.SIGKILL)
                    killed = process.wait() == -signal.SIGKILL
                elif seconds >= every * (len(memory) + 1):
                    memory.append((seconds, _memory(process.pid)))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        seconds = time.perf_counter() - start
        err.seek(0)
        if process.returncode and not killed:
            output = err.read().decode(errors="replace")
            raise RuntimeError(f"{command} ended with {process.returncode}:\n{output}")
    return Watched(seconds, killed, [sample for sample in memory if sample[1]])


def _memory(group: int) -> int:
    """Return the resident bytes of a process group, 0 if it has just ended."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile, or belongs to others
            stat = (process / "stat").read_text(encoding="utf-8", errors="replace")
            if int(stat.rpartition(")")[2].split()[2]) == group:  # the name may hold anything
                rollup = (process / "smaps_rollup").read_text(encoding="ascii")
                found += int(rollup.partition("Pss:")[2].split()[0]) << 10
    return found


def check(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise RuntimeError if something does not hold."""
    if not holds:
        raise RuntimeError(otherwise)


def progress(text: str) -> None:
    """Print on stderr what is being done."""
    print(text, file=sys.stderr, flush=True)


def main(*only: str) -> int:
    """Run the named measures, or these only; return 1 if one of them fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", metavar="NAME|KEY=VALUE", help=", ".join(MEASURES))
    parser.add_argument(
        "--json", type=Path, metavar="FOLDER", help="store results as NAME.json there"
    )
    parser.add_argument("--page", action="store_true", help="only write docs/benchmarks.md")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page(stored(RESULTS)), encoding="utf-8")
        return 0
    settings = dict(word.split("=", 1) for word in options.words if "=" in word)
    names = [*only, *(word for word in options.words if "=" not in word)] or MEASURES[:-1]
    if unknown := set(names) - set(MEASURES):
        listed = ", ".join(MEASURES)
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; choose from {listed}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no child is left
    failed = [name for name in names if not _measured(name, settings, options.json)]
    if failed:
        progress(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _measured(name: str, settings: Mapping[str, str], folder: Path | None) -> bool:
    """Run a measure, print and store its figures; return whether it succeeded."""
    about = machine()
    print(f"== {name}: {machine_line(about)}, load {about['load']:.2f}")
    figures = []
    try:
        values = {key: _value(text) for key, text in settings.items()}
        for row in importlib.import_module(name).measure(**values):
            figures.append(row)
            print("  ".join(_cells(row)), flush=True)
    except Exception:  # noqa: BLE001 - the other measures run all the same
        traceback.print_exc()
        return False
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        found = {"machine": about, "settings": settings, "figures": figures}
        text = json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    return True


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def machine() -> dict[str, Any]:
    """Return what the figures depend on: date, processor, memory, load, system and versions."""
    versions = {"Python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions,
    }


def machine_line(about: Mapping[str, Any]) -> str:
    """Return a machine in one line, without its load."""
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    memory = f"{about['cores']} cores, {about['memory_gib']:g} GiB"
    return f"{about['cpu']}, {memory}, {about['system']}, {versions}"


def stored(folder: Path) -> dict[str, Any]:
    """Return the stored results by the names of their measures."""
    places = {name: folder / f"{name}.json" for name in MEASURES}
    return {
        name: json.loads(place.read_text(encoding="utf-8"))
        for name, place in places.items()
        if place.exists()
    }


def page(results: Mapping[str, Any]) -> str:
    """Return docs/benchmarks.md from the docstrings of the measures and the stored results."""
    ran: dict[str, dict[str, list[str]]] = {}
    for name, result in results.items():
        days = ran.setdefault(machine_line(result["machine"]), {})
        days.setdefault(result["machine"]["date"], []).append(name)
    lines = [HEAD]
    for about, days in ran.items():
        lines.append(f"Measured on {about}:\n")
        lines += [f"- {day}: {', '.join(names)}" for day, names in sorted(days.items())]
    for name in MEASURES:
        module = ast.parse((HERE / f"{name}.py").read_text(encoding="utf-8"))
        lines += ["", f"## {name}", "", ast.get_docstring(module) or "", ""]
        lines += (
            table(results[name], LEFT_OUT.get(name))
            if name in results
            else [f"`make bench ONLY={name}` fills it."]
        )
    return "\n".join(lines) + "\n"


def table(result: Mapping[str, Any], left_out: str | None = None) -> Iterator[str]:
    """Yield a measure's figures as Markdown, without the rows that a pattern leaves out."""
    yield "| | kit | peer | peer name | ratio |"
    yield "|---|---:|---:|---|---:|"
    for row in result["figures"]:
        if not (left_out and re.search(left_out, row["work"])):
            yield f"| {' | '.join(_cells(row))} |"
    words = " ".join(f"{key}={value}" for key, value in result["settings"].items())
    if words:
        yield from ("", f"With `{words}`.")


def _cells(row: Mapping[str, Any]) -> list[str]:
    values = row["ours"], row["theirs"]
    sides = (
        "" if value is None else f"{_rounded(value)} {row['unit']}".strip() for value in values
    )
    ratio = "" if row["ratio"] is None else _rounded(row["ratio"])
    return [row["work"], *sides, row["peer"], ratio]


def _rounded(value: float) -> str:
    """Return a figure with two digits, which is more than is certain."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:#.2g}"


if __name__ == "__main__":
    sys.exit(main())
