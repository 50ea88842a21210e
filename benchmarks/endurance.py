"""A long run: whether its memory stays constant, and whether it survives being killed.

`shroom predict` runs as a process of its own over many datapoints, once undisturbed and once
killed (SIGKILL) at random moments and taken up again with --resume. Both must write the same bytes,
and no process may hold memory that is more than 10% off its median after the first minute. Else
the exit code is 1. What stands after `--` is the detector with its settings, by default the kit's
own model. Needs Linux, which shows the memory of a process in /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import math
import os
import random
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from common import MIB, progress, save, show
from enlarging import write_data
from watching import Watched, watch

from shroom.core.problems import ShroomError
from shroom.inference.resume_log import Journal
from shroom.scoring.display.text import align

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watching import Sample

ROOT = Path(__file__).parent.parent
#: How far the memory may be off its median, in percent.
ALLOWED = 10.0
#: The last tenth of a run is not killed, since the second run may be that much faster.
LAST = 0.9
#: The most points of a series in the figures.
POINTS = 200


def main() -> int:
    """Measure, print the table, and return 1 if the run is not what it should be."""
    options = _options()
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C does, end what was started
        if signal.getsignal(number) != signal.SIG_IGN:  # that is how nohup asks to go on
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        with _folder(options.keep) as folder:
            return _measure(options, folder)
    except (OSError, RuntimeError, ShroomError) as error:
        progress(str(error))
        return 1
    except KeyboardInterrupt:
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, usage="%(prog)s [OPTIONS] [-- DETECTOR [SETTINGS]]"
    )
    parser.add_argument("--data", type=Path, nargs="+", help="(default: SHROOM's train files)")
    parser.add_argument("--n", type=int, default=100_000, help="datapoints (default 100000)")
    parser.add_argument("--kills", type=int, default=3, help="(default 3)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default 0)")
    parser.add_argument(
        "--settle", type=float, default=60, help="seconds after which memory counts (default 60)"
    )
    parser.add_argument("--keep", type=Path, help="a folder for the data and the predictions")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    parser.add_argument(
        "--undisturbed", type=Path, help="take the undisturbed run from figures written earlier"
    )
    parser.add_argument(
        "--length",
        type=float,
        help="seconds that the killed run is expected to take (default: as the undisturbed one)",
    )
    parser.add_argument("detector", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.n < 1 or options.kills < 0:
        parser.error("--n must be at least 1, and --kills at least 0")
    if not Path("/proc/self/stat").is_file():
        parser.error("the memory of a process can be read on Linux alone")
    options.data = options.data or _train()
    return options


def _train() -> list[Path]:
    real = Path(os.environ.get("SHROOM_DATA") or ROOT.parent / "shared" / "data")
    found = sorted((real / "semeval2024").glob("train.*.json*"))
    return found or [ROOT / "shroom" / "sample" / "val.model-agnostic.json"]


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
    else:
        with tempfile.TemporaryDirectory(prefix="shroom-bench-") as folder:
            yield Path(folder)


def _measure(options: argparse.Namespace, folder: Path) -> int:
    data = folder / "data.json"
    real = write_data(data, options.data, options.n)
    words = [Path(word).name if Path(word).is_absolute() else word for word in options.detector]
    setting = {
        "detector": shlex.join(words) or "the kit's own model",
        "datapoints": options.n,
        "data": _digest(data),
        "settle": options.settle,
    }
    own, others = f"{real:,} of {', '.join(path.name for path in options.data)}", options.n - real
    show([f"{setting['detector']} on {options.n:,} datapoints: {own}, all their texts different"])
    if others:
        show([f"and {others:,} with the hypothesis of another row of the same task"])
    command = [sys.executable, "-m", "shroom", "predict", *options.detector, str(data)]
    if options.undisturbed:
        undisturbed = _earlier(options.undisturbed, setting)
    else:
        undisturbed = run(command, folder / "undisturbed.json", [], options.settle)
    figures = {"setting": setting, "undisturbed": undisturbed, "killed": None}
    save(options.json, figures)  # it may have taken hours
    if options.kills:
        kills = moments(options.kills, options.length or undisturbed["seconds"], options.seed)
        figures["killed"] = run(command, folder / "killed.json", kills, options.settle)
    sound = _report(figures, options)
    save(options.json, {**figures, "sound": sound})
    return 0 if sound else 1


def moments(kills: int, seconds: float, seed: int) -> list[float]:
    """Return when to kill a run of this length: one random moment in each equal part of it.

    Examples
    --------
    >>> [round(moment) for moment in moments(3, 1000, seed=0)]
    [253, 527, 726]
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    return [(part + chance.random()) / kills * LAST * seconds for part in range(kills)]


def run(command: list[str], out: Path, kills: list[float], settle: float) -> dict[str, Any]:
    """Return the figures of one run, killed at moments of its running time and taken up again."""
    journal = Path(f"{out}.partial")
    command = [*command, "-o", str(out), "--no-cache"]
    for earlier in (out, journal):  # an early kill would leave them as they were
        earlier.unlink(missing_ok=True)
    processes: list[dict[str, Any]] = []
    spent, kept = 0.0, 0
    for number, moment in enumerate([*kills, math.inf]):
        name = out.stem if not kills else f"{out.stem}, process {number + 1}"
        progress(f"{name} begins")
        resume = ["--resume"] if number else []
        watched = watch([*command, *resume], journal, name, moment - spent)
        for line in watched.output.splitlines():
            progress(f"    {line}")
        processes.append({"began_with": kept, **_figures(watched, settle)})
        spent += watched.seconds
        if not watched.killed:
            break
        kept = Journal(journal, resume=True).read().kept
    return {"seconds": spent, "sha256": _digest(out), "processes": processes}


def _figures(watched: Watched, settle: float) -> dict[str, Any]:
    samples = watched.samples
    held = [sample.resident / MIB for sample in samples if sample.seconds >= settle]
    memory = None
    if held:
        middle, least, most = median(held), min(held), max(held)
        off = max(most - middle, middle - least) / middle * 100
        memory = {"min": least, "median": middle, "max": most, "off": off}
    return {
        "seconds": watched.seconds,
        "killed": watched.killed,
        "peak_mib": watched.peak / MIB,
        "memory_mib": memory,
        "series": [_point(sample) for sample in samples[:: len(samples) // POINTS + 1]],
    }


def _point(sample: Sample) -> dict[str, float]:
    seconds, memory = round(sample.seconds, 1), round(sample.resident / MIB, 1)
    return {"seconds": seconds, "memory_mib": memory, "journal_kib": sample.journal >> 10}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _earlier(path: Path, setting: dict[str, Any]) -> dict[str, Any]:
    """Return the undisturbed run that a file of figures has.

    Raises
    ------
    RuntimeError
        Where it has none, or that of another setting.
    """
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
        was, found = figures["setting"], dict(figures["undisturbed"])
    except (KeyError, TypeError, ValueError) as error:
        raise RuntimeError(f"{path}: has no figures of this benchmark") from error
    for key, value in setting.items():
        if was.get(key) != value:
            raise RuntimeError(f"{path}: {key} was {was.get(key)}, it is {value} now")
    return found


def _report(figures: dict[str, Any], options: argparse.Namespace) -> bool:
    """Print what was found; return whether all is as it should be."""
    undisturbed, killed = figures["undisturbed"], figures["killed"]
    head = ("", "began with", "seconds", "ended", "median MiB", "min", "max", "off %", "peak")
    rows: list[tuple[str, ...] | None] = [head, None]
    rows += [_row("undisturbed", each) for each in undisturbed["processes"]]
    processes = killed["processes"] if killed else []
    rows += [_row(f"process {number}", each) for number, each in enumerate(processes, start=1)]
    show(["", *align(rows)])
    rate = options.n / undisturbed["seconds"]
    show([f"undisturbed: {undisturbed['seconds']:.1f} s, {rate:.1f} datapoints/s"])
    sound = _tell_memory([*undisturbed["processes"], *processes], options.settle)
    if killed:
        lost = killed["seconds"] - undisturbed["seconds"]
        times = sum(process["killed"] for process in processes)
        asked = "" if times == options.kills else f" of {options.kills}, since it ended before"
        took = f"{killed['seconds']:.1f} s in all ({lost:+.1f} s)"
        show([f"killed {times} times{asked}; {took}"])
        same: bool = killed["sha256"] == undisturbed["sha256"]
        show([f"the predictions are {'the same, byte for byte' if same else 'NOT the same'}"])
        sound = sound and same and times == options.kills
    return sound


def _row(name: str, process: dict[str, Any]) -> tuple[str, ...]:
    ended = "killed" if process["killed"] else "well"
    held = process["memory_mib"]
    shown = [f"{held[key]:.0f}" for key in ("median", "min", "max")] if held else ["", "", ""]
    off = f"{held['off']:.1f}" if held else ""
    began, seconds = f"{process['began_with']:,}", f"{process['seconds']:.1f}"
    return (name, began, seconds, ended, *shown, off, f"{process['peak_mib']:.0f}")


def _tell_memory(processes: list[dict[str, Any]], settle: float) -> bool:
    """Print whether the memory was constant; return whether it was not found otherwise."""
    off = [process["memory_mib"]["off"] for process in processes if process["memory_mib"]]
    if not off:
        show([f"memory is not judged: no process lasted longer than {settle:g} s"])
        return True
    constant: bool = max(off) <= ALLOWED
    word = "constant" if constant else "NOT constant"
    show([f"memory after {settle:g} s is {word}: at most {max(off):.1f}% off a process's median"])
    return constant


if __name__ == "__main__":
    sys.exit(main())
