"""Seconds to load the data sets: their native rows and the datapoints, beside a plain parse.

Each data set of the folder SHROOM_DATA is read as its reader does (every row checked, everything
odd reported with its place) and turned into datapoints. The peer is json.loads of each line,
json.load of each list or csv.DictReader of each table of the same files, which checks nothing. Both
run in turn in one process; the best time of each counts, and the first run of the kit, in which
modules are imported, is reported separately. The 60,000 rows of SHROOM's train split are left out
unless --train is given.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import Beside, progress, save, show

from shroom.core.problems import Problems
from shroom.datasets.registry import DATA_SETS, data_set
from shroom.scoring.display.text import align as columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Where a data set lies, for those whose folder has another name.
FOLDERS = {"queries": "verifiability/queries"}
ENDINGS = (".json", ".jsonl", ".json.gz", ".csv")
LIMIT = 5.0


def main() -> int:
    """Measure, print the table, and return 1 if all data sets together take too long."""
    options = _options()
    data = Path(os.environ.get("SHROOM_DATA") or Path(__file__).parents[2] / "shared" / "data")
    rows = []
    for name in DATA_SETS:
        files = _files(data / FOLDERS.get(name, name), train=options.train)
        if files:
            progress(f"{name}: {len(files)} files")
            rows.append(_measure(name, files, options.repeats))
    if not rows:
        print(f"no data set in {data}; name the folder of them by SHROOM_DATA", file=sys.stderr)
        return 1
    total = sum(row["first"] for row in rows)
    show(_report(rows, total))
    best, plain = (sum(row[key] for row in rows) for key in ("best", "plain"))
    work = f"reading and checking {len(rows)} data sets"
    peer = "json and csv, which check nothing"
    beside = [Beside(work, peer, best, plain, plain / best)]
    save(options.json, {"rows": rows, "total": total}, beside)
    return 0 if options.train or total < LIMIT else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", action="store_true", help="the 60,000 rows of train as well")
    parser.add_argument(
        "--repeats", type=int, default=5, help="of which the best counts (default 5)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    return parser.parse_args()


def _files(folder: Path, *, train: bool) -> list[Path]:
    found = sorted(path for path in folder.glob("*") if path.name.endswith(ENDINGS))
    return [path for path in found if train or not path.name.startswith("train.")]


def _measure(name: str, files: list[Path], repeats: int) -> dict[str, Any]:
    ours, theirs = [], []
    for _ in range(max(2, repeats)):
        seconds, (rows, points, odd) = _timed(lambda: _load(name, files))
        ours.append(seconds)
        seconds, plain = _timed(lambda: sum(_parsed(path) for path in files))
        theirs.append(seconds)
    return {
        "name": name,
        "files": len(files),
        "bytes": sum(path.stat().st_size for path in files),
        "rows": rows,
        "plain rows": plain,
        "datapoints": points,
        "problems": odd,
        "first": ours[0],
        "best": min(ours),
        "plain": min(theirs),
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def _load(name: str, files: list[Path]) -> tuple[int, int, int]:
    """Return the counts of rows, datapoints and problems of a data set, as the kit reads it."""
    made, problems = data_set(name), Problems()
    found = made.read(*files, problems=problems)
    points = made.view().datapoints(found.records) if made.views else []
    return found.rows, len(points), problems.errors + problems.warnings


def _parsed(path: Path) -> int:
    """Return how many rows a file has, by the standard library."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    if path.suffix == ".csv":
        return len(list(csv.DictReader(io.StringIO(text, newline=""))))
    if text.lstrip("\ufeff \r\n").startswith("["):
        return len(json.loads(text))
    return sum(1 for line in text.split("\n") if line.strip() and json.loads(line) is not None)


def _report(rows: list[dict[str, Any]], total: float) -> Iterator[str]:
    yield "Seconds to read all rows and make the datapoints; plain: json and csv alone"
    heads = ("", "files", "MiB", "rows", "datapoints", "problems", "first", "best", "plain")
    table: list[tuple[str, ...] | None] = [(*heads, "best / plain"), None]
    for row in rows:
        counts = [f"{row[key]}" for key in ("rows", "datapoints", "problems")]
        times = [f"{row[key]:.3f}" for key in ("first", "best", "plain")]
        size, ratio = f"{row['bytes'] / (1 << 20):.1f}", f"{row['best'] / row['plain']:.1f}"
        table.append((row["name"], f"{row['files']}", size, *counts, *times, ratio))
    sums = [sum(row[key] for row in rows) for key in ("first", "best", "plain")]
    ratio = f"{sums[1] / sums[2]:.1f}"
    table += [None, ("all", "", "", "", "", "", *(f"{each:.3f}" for each in sums), ratio)]
    yield from columns(table)
    yield f"all data sets in {total:.2f} s, the first time; at most {LIMIT:g} s are allowed"


if __name__ == "__main__":
    sys.exit(main())
