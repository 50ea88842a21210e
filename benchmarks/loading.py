"""The benchmark measures the time to read all data sets, except SHROOM's training data.

The kit checks every row and converts it to a datapoint. The peer parses the same files with `json`
or `csv`, without checks. Each figure is the best of five runs.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from typing import TYPE_CHECKING, Any

from resampling import timed
from run import DATA, check, figure, main, progress

from shroom.core.problems import Problems
from shroom.datasets.registry import DATA_SETS, data_set

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Where a data set lies, if its folder has another name.
FOLDERS = {"queries": "verifiability/queries"}
ENDINGS = (".json", ".jsonl", ".json.gz", ".csv")


def measure(repeats: int = 5) -> Iterator[dict[str, Any]]:
    """Yield the seconds of each data set, and of all."""
    totals = [0.0, 0.0]
    for name in DATA_SETS:
        found = sorted((DATA / FOLDERS.get(name, name)).glob("*"))
        files = [path for path in found if path.name.endswith(ENDINGS)]
        files = [path for path in files if not path.name.startswith("train.")]
        if not files:
            continue
        progress(f"{name}: {len(files)} files")
        ours, theirs = [], []
        for _ in range(repeats):
            seconds, rows = timed(lambda name=name, files=files: load(name, files))
            ours.append(seconds)
            seconds, _ = timed(lambda files=files: sum(map(parse, files)))
            theirs.append(seconds)
        best, least = min(ours), min(theirs)
        totals = [totals[0] + best, totals[1] + least]
        yield figure(f"{name}, {rows:,} rows", best, least, "plain parser")
    check(totals[0] > 0, f"{DATA} contains no data sets; set SHROOM_DATA to their folder")
    yield figure("all data sets", *totals, "plain parser")


def load(name: str, files: list[Path]) -> int:
    """Return the number of rows of a data set, as the kit reads it."""
    made = data_set(name)
    found = made.read(*files, problems=Problems())
    if made.views:
        made.view().datapoints(found.records)
    return int(found.rows)


def parse(path: Path) -> int:
    """Return how many rows a file has, by the standard library."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    if path.suffix == ".csv":
        return len(list(csv.DictReader(io.StringIO(text, newline=""))))
    if text.lstrip("\ufeff \r\n").startswith("["):
        return len(json.loads(text))
    return sum(1 for line in text.split("\n") if line.strip() and json.loads(line) is not None)


if __name__ == "__main__":
    sys.exit(main("loading"))
