"""Speed and memory of ``shroom.score`` and ``shroom check`` beside a plain script.

First the whole process on one file of the val split's size, then on 10^3 to 10^6 rows. The plain
script (``peers/naive_score.py``) does what people write without the kit: json.load and
scipy.stats.spearmanr, without checks, intervals or slices.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import MIB, Beside, Run, memory, progress, run, save, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "shroom" / "sample"
NAIVE = Path(__file__).resolve().parent / "peers" / "naive_score.py"
P = "p(Hallucination)"
ROWS = (1_000, 10_000, 100_000, 1_000_000)
#: Up to so many, little of the time is beyond start-up: such runs are repeated more often, and
#: growth is computed from here on.
MOSTLY_STARTUP = 10_000
#: As many as the val split has of the model-aware track.
VAL_ROWS = 501
#: So few that all the time is start-up.
FEW_ROWS = 20
#: Of scores by the kit and by the plain script.
TOLERANCE = 1e-12
SEED = 0

#: Each command, by the name that the tables have for it; the peer comes first.
COMMANDS = ("naive script", "score", "score --no-ci --format codalab", "check --gold")
PEER, KIT = COMMANDS[:2]


def command(name: str, pred: Path, gold: Path) -> list[str | Path]:
    """Return the command line of one of ``COMMANDS``."""
    python = sys.executable
    if name == PEER:
        return [python, NAIVE, pred, gold]
    if name.startswith("check"):
        return [python, "-m", "shroom", "check", pred, "--gold", gold]
    return [python, "-m", "shroom.score", pred, gold, *name.split()[1:]]


def main() -> int:
    """Measure, print the tables, and return 1 if scores differ."""
    options = _options()
    data = Path(os.environ.get("SHROOM_DATA") or ROOT.parent / "shared" / "data")
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="shroom-bench-") as folder:
        place = Path(folder)
        source, pred, gold = _val_files(data, place)
        figures["startup"] = {"data": source, **startup(pred, gold, options.pairs)}
        if options.rows:
            few = _made(data, place / "few", FEW_ROWS)
            figures["rows_of"] = _rows_of(data)[0]
            figures["rows"] = [measure(data, place, few, n, options.repeats) for n in options.rows]
            figures["exponent"] = exponents(figures["rows"])
    show(_report(figures))
    save(options.json, figures, _beside(figures))
    same = figures["startup"]["same"] and all(size["same"] for size in figures.get("rows", []))
    return 0 if same else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=15, help="of the start-up (default 15)")
    parser.add_argument(
        "--rows",
        type=int,
        nargs="*",
        default=list(ROWS),
        help="sizes to measure (default 1000 10000 100000 1000000; none to leave this out)",
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="of which the best counts (default 3)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args()
    if options.pairs < 1 or options.repeats < 1 or min(options.rows, default=2) < 2:
        parser.error("pairs and repeats are at least 1, rows at least 2")
    options.rows.sort()
    return options


def _val_files(data: Path, place: Path) -> tuple[str, Path, Path]:
    """Return a prediction and its gold of the val split's size, real ones if there are any."""
    gold = data / "semeval2024" / "val.model-aware.v2.json"
    found = sorted((data / "submissions").glob("*/val.model-aware.json"))
    if gold.exists() and found:
        return f"val.model-aware of {found[0].parent.name}", found[0], gold
    return f"{VAL_ROWS} rows made of the sample", *_made(data, place / "val", VAL_ROWS)


def _rows_of(data: Path) -> tuple[str, Path]:
    real = data / "semeval2024" / "val.model-agnostic.json"
    return ("val.model-agnostic", real) if real.exists() else ("sample", SAMPLE / real.name)


def _made(data: Path, folder: Path, n: int) -> tuple[Path, Path]:
    """Write ``n`` rows of predictions and gold that repeat the val file under new ids."""
    paths = folder / "pred" / "val.model-agnostic.json", folder / "gold" / "val.model-agnostic.json"
    rows = json.loads(_rows_of(data)[1].read_text(encoding="utf-8"))
    for path, lines in zip(paths, (_predictions(rows, n), _gold(rows, n))):
        path.parent.mkdir(parents=True)
        with path.open("w", encoding="ascii") as stream:
            for row, line in enumerate(lines):
                stream.write(("," if row else "[") + line)
            stream.write("]")
    return paths


def _gold(rows: list[dict[str, Any]], n: int) -> Iterator[str]:
    texts = [
        json.dumps({k: v for k, v in row.items() if k != "id"}, separators=(",", ":"))[1:]
        for row in rows
    ]
    for row in range(n):
        yield f'{{"id":{row + 1},{texts[row % len(texts)]}'


def _predictions(rows: list[dict[str, Any]], n: int) -> Iterator[str]:
    """Yield predictions whose p rises with the gold's, so that no check warns."""
    generator = random.Random(SEED)  # noqa: S311
    for row in range(n):
        p = round((rows[row % len(rows)][P] + 2 * generator.random()) / 3, 6)
        label = "Hallucination" if p > 0.5 else "Not Hallucination"
        yield json.dumps({"id": row + 1, "label": label, P: p}, separators=(",", ":"))


def startup(pred: Path, gold: Path, pairs: int) -> dict[str, Any]:
    """Measure the kit and the plain script in turn, so that both meet the same disturbances."""
    kit, naive = command("score", pred, gold), command(PEER, pred, gold)
    same = _same(pred, gold, run(naive))
    run(kit)  # compiles what is not, and fills the page cache
    runs = []
    for pair in range(pairs):
        progress(f"start-up: pair {pair + 1} of {pairs}")
        runs.append((run(kit), run(naive)))
    columns = {"score": [a for a, _ in runs], PEER: [b for _, b in runs]}
    return {
        "pairs": pairs,
        **{
            what: {
                name: statistics.median(getattr(r, what) for r in column)
                for name, column in columns.items()
            }
            for what in ("seconds", "cpu", "peak")
        },
        "ratio": statistics.median(naive.seconds / kit.seconds for kit, naive in runs),
        "same": same,
    }


def measure(
    data: Path, place: Path, few: tuple[Path, Path], n: int, repeats: int
) -> dict[str, Any]:
    """Measure all commands in turn on ``n`` rows, each followed by its start-up on a few rows."""
    progress(f"{n} rows: writing the files")
    pred, gold = _made(data, place / str(n), n)
    runs: dict[str, list[tuple[Run, Run]]] = {name: [] for name in COMMANDS}
    peer_turns = 1 if n >= ROWS[-1] else repeats  # it is slow there
    for turn in range(repeats * 5 if n <= MOSTLY_STARTUP else repeats):
        for name in COMMANDS:
            if name == PEER and turn >= peer_turns:
                continue
            progress(f"{n} rows: {name}, turn {turn + 1}")
            runs[name].append((run(command(name, pred, gold)), run(command(name, *few))))
    figures = {
        "n": n,
        "bytes": {"predictions": pred.stat().st_size, "gold": gold.stat().st_size},
        **{
            what: {name: min(getattr(r, what) for r, _ in pairs) for name, pairs in runs.items()}
            for what in ("seconds", "cpu", "peak")
        },
        "memory": {name: memory(command(name, pred, gold)) for name in COMMANDS},
        "startup": {name: min(s.cpu for _, s in pairs) for name, pairs in runs.items()},
        "beyond": {
            name: statistics.median(r.cpu - s.cpu for r, s in pairs) for name, pairs in runs.items()
        },
        "same": _same(pred, gold, runs[PEER][0][0]),
    }
    pred.unlink()
    gold.unlink()
    return figures


def _same(pred: Path, gold: Path, naive: Run) -> bool:
    """Return whether kit and plain script find the same accuracy and rho; say so if not."""
    output = run(command("score --no-ci --format codalab", pred, gold)).out
    scores = dict(line.split(": ") for line in output.splitlines())
    track = "aware" if "model-aware" in pred.name else "agnostic"
    kit = [float(scores[f"{track}_{name}"]) for name in ("acc", "rho")]
    peer = [float(line) for line in naive.out.split()]
    same = all(abs(a - b) <= TOLERANCE for a, b in zip(kit, peer))
    if not same:
        progress(f"scores differ on {pred}: kit {kit}, naive script {peer}")
    return same


def exponents(sizes: Sequence[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return the growth: time less start-up is n^exponent, over large sizes and the last two."""
    sizes = [size for size in sizes if size["n"] >= MOSTLY_STARTUP] or sizes
    return {
        name: {
            "all": _slope(sizes[0], sizes[-1], name),
            "last": _slope(sizes[-2:][0], sizes[-1], name),
        }
        for name in COMMANDS
    }


def _slope(small: dict[str, Any], large: dict[str, Any], name: str) -> float | None:
    before, after = small["beyond"][name], large["beyond"][name]
    if small["n"] == large["n"] or min(before, after) <= 0:
        return None
    return math.log(after / before) / math.log(large["n"] / small["n"])


def _report(figures: dict[str, Any]) -> Iterator[str]:
    # Not above: this process must be smaller than those it measures; see common.run.
    from shroom.scoring.display.text import align

    start = figures["startup"]
    yield f"Start-up: whole processes on {start['data']}, medians of {start['pairs']} pairs"
    rows: list[tuple[str, ...] | None] = [("", "seconds", "naive / it", "cpu s", "MiB"), None]
    for name, seconds in start["seconds"].items():
        ratio = "" if name == PEER else f"{start['ratio']:.2f}"
        cpu, peak = f"{start['cpu'][name]:.3f}", f"{start['peak'][name] / MIB:.0f}"
        rows.append((name, f"{seconds:.3f}", ratio, cpu, peak))
    yield from align(rows)
    yield _verdict(start)
    if "rows" not in figures:
        return
    yield f"\nRows of {figures['rows_of']}, repeated: best times, peak memory"
    rows = [("", "seconds", "naive / it", "cpu s", "naive / it", "MiB", "naive / it")]
    for size in figures["rows"]:
        files = sum(size["bytes"].values()) / MIB
        rows += [None, (f"{size['n']} rows, {files:.1f} MiB", *[""] * 6)]
        rows.extend(_row(name, size) for name in COMMANDS)
    yield from align(rows)
    for size in figures["rows"]:
        yield f"{size['n']} rows: {_verdict(size)}"
    sizes = [str(size["n"]) for size in figures["rows"]]
    yield ""
    yield "Memory: MiB of all processes of a command at once, shared pages once, by rows"
    rows = [("", *sizes), None]
    for name in COMMANDS:
        rows.append((name, *(f"{size['memory'][name] / MIB:.0f}" for size in figures["rows"])))
    yield from align(rows)
    yield ""
    yield (
        f"Growth: cpu s beyond start-up = c * rows^exponent, from {MOSTLY_STARTUP} rows on and "
        "over the last two"
    )
    rows = [("", "start-up", *sizes, "exponent", "last"), None]
    for name in COMMANDS:
        started = min(size["startup"][name] for size in figures["rows"])
        beyond = [f"{size['beyond'][name]:.3f}" for size in figures["rows"]]
        slopes = ["–" if v is None else f"{v:.2f}" for v in figures["exponent"][name].values()]
        rows.append((name, f"{started:.3f}", *beyond, *slopes))
    yield from align(rows)


def _beside(figures: dict[str, Any]) -> Iterator[Beside]:
    start, peer = figures["startup"], "json.load and scipy.stats"
    ours, theirs = (start["seconds"][name] for name in (KIT, PEER))
    yield Beside(f"scoring {VAL_ROWS} rows", peer, ours, theirs, start["ratio"])
    if "rows" not in figures:
        return
    large = figures["rows"][-1]
    for what, unit, size in (("seconds", "s", 1), ("memory", "MiB", MIB)):
        ours, theirs = (large[what][name] / size for name in (KIT, PEER))
        yield Beside(f"scoring {large['n']:,} rows", peer, ours, theirs, theirs / ours, unit)


def _row(name: str, size: dict[str, Any]) -> tuple[str, ...]:
    cells = []
    for what, form, unit in (("seconds", ".3f", 1), ("cpu", ".3f", 1), ("peak", ".0f", MIB)):
        values = size[what]
        ratio = "" if name == PEER else f"{values[PEER] / values[name]:.2f}"
        cells += [f"{values[name] / unit:{form}}", ratio]
    return (f"  {name}", *cells)


def _verdict(figures: dict[str, Any]) -> str:
    how = "the same" if figures["same"] else "DIFFERENT"
    return f"accuracy and rho of kit and naive script: {how} (to {TOLERANCE:g})"


if __name__ == "__main__":
    sys.exit(main())
