"""Speed of IoU and rho of marked spans beside a straightforward version, character by character.

The gold is the German test of Mu-SHROOM where the real data are, else made-up texts of its size.
The predictions are made up: once about as many spans as the gold has, once one span for each
character, as systems write that give every character its own probability. Reading the files is
timed apart, and is in the whole. The straightforward version makes a set and a list for each text
and calls scipy.stats.spearmanr.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import scipy.stats
from common import Beside, progress, save, show

from shroom.datasets.mushroom2025.reader import read
from shroom.metrics.span_metrics import IOU, RHO
from shroom.scoring.check import check
from shroom.scoring.display.text import align as columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shroom.scoring.align import AlignedTrack

    Record = dict[str, Any]

FILE = Path("mushroom2025") / "mushroom.de-tst.v1.extra.jsonl"
SEED = 0
TOLERANCE = 1e-12


def main() -> int:
    """Measure, print the table, and return 1 if the two versions differ."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        gold = _gold(Path(folder))
        rows = [_measure(gold, Path(folder), each, options.repeats) for each in (False, True)]
    show(_report(rows))
    save(options.json, {"rows": rows}, map(_beside, rows))
    return 0 if all(row["same"] for row in rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="of which the best counts (default 5)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    return parser.parse_args()


def _gold(folder: Path) -> Path:
    """Return the real file, or one of made-up texts of its size."""
    data = os.environ.get("SHROOM_DATA") or Path(__file__).parents[2] / "shared" / "data"
    path = Path(data) / FILE
    if path.is_file():
        return path
    generator = np.random.default_rng(SEED)
    texts = ["x" * int(size) for size in generator.integers(40, 260, 150)]
    rows = [{"id": f"tst-de-{i}", "model_output_text": text} for i, text in enumerate(texts)]
    for row in rows:
        row.update(_spans(len(row["model_output_text"]), generator, each=False))
    return _write(folder / "gold.jsonl", rows)


def _spans(length: int, generator: np.random.Generator, *, each: bool) -> Record:
    """Return soft labels and the hard ones that follow: five spans, or one for each character."""
    cuts = np.arange(length + 1) if each else np.sort(generator.integers(0, length + 1, 10))
    pairs = list(zip(cuts[:-1].tolist(), cuts[1:].tolist()))[:: 1 if each else 2]
    probs = np.round(generator.random(len(pairs)), 4).tolist()
    soft = [{"start": a, "end": b, "prob": p} for (a, b), p in zip(pairs, probs) if a < b]
    hard = [[span["start"], span["end"]] for span in soft if span["prob"] > 0.5]
    return {"soft_labels": soft, "hard_labels": hard}


def _write(path: Path, rows: list[Record]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _measure(gold: Path, folder: Path, each: bool, repeats: int) -> dict[str, Any]:  # noqa: FBT001
    generator = np.random.default_rng(SEED + 1)
    rows = [
        {"id": record.id, **_spans(len(record.model_output_text), generator, each=each)}
        for record in read(gold).records
    ]
    predictions = _write(folder / f"predictions-{each}.jsonl", rows)
    spans = sum(len(row["soft_labels"]) for row in rows)
    progress(f"{len(rows)} texts, {spans} predicted soft spans")
    reading, checked = _timed(lambda: check(predictions, gold, edition="mushroom2025"), repeats)
    (track,) = checked.aligned
    ours, found = _timed(lambda: _vectorised(track), repeats)
    naive_reading, pairs = _timed(lambda: _read_naively(gold, predictions), repeats)
    naive, expected = _timed(lambda: _straightforward(pairs), repeats)
    return {
        "texts": len(rows),
        "characters": int(track.gold.lengths.sum()),
        "spans": spans,
        "seconds": {"shroom": [reading, ours], "straightforward": [naive_reading, naive]},
        "iou": found[0],
        "rho": found[1],
        "same": bool(np.allclose(found, expected, rtol=0, atol=TOLERANCE)),
    }


def _timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the best time of some runs, and the result."""
    times, result = [], None
    for _ in range(max(1, repeats)):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def _vectorised(track: AlignedTrack) -> list[float | None]:
    columns = track.columns
    return [metric(metric.statistics(*columns)) for metric in (IOU, RHO)]


def _read_naively(gold: Path, predictions: Path) -> list[tuple[Record, Record]]:
    sides = []
    for path in (gold, predictions):
        lines = path.read_text(encoding="utf-8").split("\n")
        sides.append({row["id"]: row for row in map(json.loads, filter(None, lines))})
    return [(row, sides[1][name]) for name, row in sides[0].items()]


def _straightforward(pairs: list[tuple[Record, Record]]) -> list[float]:
    scores = [(_iou(gold, predicted), _rho(gold, predicted)) for gold, predicted in pairs]
    return [float(mean) for mean in np.mean(scores, axis=0)]


def _iou(gold: Record, predicted: Record) -> float:
    sides = [
        {place for start, end in row["hard_labels"] for place in range(start, end)}
        for row in (gold, predicted)
    ]
    return len(sides[0] & sides[1]) / len(sides[0] | sides[1]) if any(sides) else 1.0


def _rho(gold: Record, predicted: Record) -> float:
    sides = []
    for row in (gold, predicted):
        values = [0.0] * len(gold["model_output_text"])
        for span in row["soft_labels"]:
            for place in range(span["start"], span["end"]):
                values[place] = span["prob"]
        sides.append(values)
    constant = [len({round(value, 8) for value in values}) <= 1 for values in sides]
    if any(constant):
        return float(all(constant))
    return float(scipy.stats.spearmanr(*sides).statistic)


def _report(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{rows[0]['texts']} texts of {rows[0]['characters']} characters; best times in seconds"
    table: list[tuple[str, ...] | None] = [("", "reading", "scoring", "whole", "naive / it")]
    for row in rows:
        table += [None, (f"{row['spans']} predicted spans", *[""] * 4)]
        naive = row["seconds"]["straightforward"][1]
        for name, (reading, scoring) in row["seconds"].items():
            times = [f"{seconds:.4f}" for seconds in (reading, scoring, reading + scoring)]
            ratio = f"{naive / scoring:.1f}" if name == "shroom" else ""
            table.append((f"  {name}", *times, ratio))
    yield from columns(table)
    for row in rows:
        how = "the same" if row["same"] else "DIFFERENT"
        scores = f"iou {row['iou']:.6f}, rho {row['rho']:.6f}"
        yield f"{row['spans']} spans: {scores}: {how} (to {TOLERANCE:g})"


def _beside(row: dict[str, Any]) -> Beside:
    work = f"IoU and rho of {row['spans']:,} spans, reading included"
    ours, theirs = (sum(seconds) for seconds in row["seconds"].values())
    return Beside(work, "character by character", ours, theirs, theirs / ours)


if __name__ == "__main__":
    sys.exit(main())
