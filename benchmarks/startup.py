"""How long the command takes to start: each verb's help, and short runs of those used most.

All are whole processes, from starting Python to the end, run in turn: beside `python -c pass`, and
beside importing what the kit's light path does without. The short runs read the kit's sample. What
each has imported at its end is found in a separate run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from common import MIB, Beside, Run, progress, run, save, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Words = tuple[str | Path, ...]

SAMPLE = Path(__file__).resolve().parent.parent / "shroom" / "sample" / "val.model-agnostic.json"
BARE = "python -c pass"
PEERS = {
    BARE: "pass",
    **{
        f"import {module}": f"import {module}"
        for module in ("scipy.stats", "torch")
        if find_spec(module.partition(".")[0])
    },
}
#: What is slow to import, and the one of them that no help may import.
HEAVY = (
    "matplotlib",
    "onnxruntime",
    "pandas",
    "ray",
    "scipy",
    "scipy.stats",
    "sklearn",
    "torch",
    "transformers",
)
FORBIDDEN = "torch"
#: Runs a module's command line, and prints what it has imported.
IMPORTED = """
import atexit, runpy, sys
atexit.register(lambda: print("", *sorted(set({heavy}) & set(sys.modules))))
runpy.run_module("shroom", run_name="__main__", alter_sys=True)
"""


def main() -> int:
    """Measure, print the table, and return 1 if a help imports torch."""
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        verbs = {f"{verb} --help": (verb, "--help") for verb in options.verbs or _verbs()}
        lines = {**verbs, **_uses(Path(scratch) / "predictions.json")}
        rows = measure(lines, options.rounds)
        imported = {name: _imported(words) for name, words in lines.items()}
    show(_report(rows, imported, options.rounds))
    save(options.json, {"rows": rows, "imported": imported}, _beside(rows, list(verbs)))
    return int(any(FORBIDDEN in imported[name] for name in verbs))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="of which the medians count (default 5)"
    )
    parser.add_argument("--verbs", nargs="+", metavar="VERB", help="(default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("rounds are at least 1")
    return options


def _verbs() -> list[str]:
    # Not imported here: this process must be smaller than those it measures; see common.run.
    return run([sys.executable, "-c", "from shroom.cli import VERBS; print(*VERBS)"]).out.split()


def _uses(out: Path) -> dict[str, Words]:
    return {
        "score": ("score", SAMPLE, SAMPLE),
        "check": ("check", SAMPLE, "--gold", SAMPLE),
        "predict lexical": ("predict", "lexical", SAMPLE, "-o", out),
        "datasets list": ("datasets", "list"),
    }


def measure(lines: Mapping[str, Words], rounds: int) -> list[dict[str, Any]]:
    """Return a row for each command line and peer, run in turn."""
    commands: dict[str, Words] = {name: ("-c", code) for name, code in PEERS.items()}
    commands.update((name, ("-m", "shroom", *words)) for name, words in lines.items())
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for turn in range(rounds + 1):  # the first compiles what is not, and fills the page cache
        for name, words in commands.items():
            progress(f"round {turn} of {rounds}: {name}")
            runs[name].append(run([sys.executable, *words]))
    return [
        {
            "name": name,
            "seconds": median(each.seconds for each in found[1:]),
            "cpu": median(each.cpu for each in found[1:]),
            "peak": median(each.peak for each in found[1:]),
            "ratio": median(a.seconds / b.seconds for a, b in zip(found[1:], runs[BARE][1:])),
        }
        for name, found in runs.items()
    ]


def _imported(words: Words) -> list[str]:
    """Return what is slow to import and has been by the end of a command line."""
    out = run([sys.executable, "-c", IMPORTED.format(heavy=HEAVY), *words]).out
    return out.splitlines()[-1].split()


def _report(
    rows: list[dict[str, Any]], imported: Mapping[str, list[str]], rounds: int
) -> Iterator[str]:
    from shroom.scoring.display.text import align

    yield f"Whole processes, medians; rounds: {rounds}"
    table: list[tuple[str, ...] | None] = [("", "seconds", "it / bare", "cpu s", "MiB", "imports")]
    table.append(None)
    for row in rows:
        figures = (f"{row['seconds']:.3f}", f"{row['ratio']:.1f}", f"{row['cpu']:.3f}")
        heavy = ", ".join(imported[row["name"]]) or "–" if row["name"] in imported else ""
        table.append((row["name"], *figures, f"{row['peak'] / MIB:.0f}", heavy))
    yield from align(table)
    yield f"imports: those of {', '.join(HEAVY)}"


def _beside(rows: list[dict[str, Any]], helps: list[str]) -> Iterator[Beside]:
    """Yield the slowest help beside what it does without."""
    ours = max((row for row in rows if row["name"] in helps), key=lambda row: row["seconds"])
    for name in list(PEERS)[1:]:
        (theirs,) = (row["seconds"] for row in rows if row["name"] == name)
        work = f"the slowest help, {ours['name']}"
        yield Beside(work, name, ours["seconds"], theirs, theirs / ours["seconds"])


if __name__ == "__main__":
    sys.exit(main())
