"""As many different datapoints as a benchmark wants, of real texts."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from shroom.scoring.datapoint_files import read
from shroom.scoring.in_memory import row_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from shroom.core.datapoint import Datapoint


def write_data(place: Path, files: Sequence[Path], n: int) -> int:
    """Write a file of ``n`` datapoints whose texts are all different; return how many are real.

    They are evenly spread over the files. Where there are too few, hypotheses go round within each
    task: each stands beside the reference of the row before it, then of the one before that.

    Raises
    ------
    RuntimeError
        Where that does not give enough.
    """
    found: dict[tuple[str, str, str], Datapoint] = {}
    for point in (point for path in files for point in read(path)):
        if point.src.strip() or point.tgt.strip():
            unjudged = replace(point, id=None, labels=(), label=None, p=None)
            found.setdefault((point.src, point.tgt, point.hyp), unjudged)
    rows = list(found.values())
    for src, tgt, hyp, point in _mixed(rows):
        if len(found) >= n:
            break
        found.setdefault((src, tgt, hyp), replace(point, hyp=hyp))
    points = list(found.values())
    if len(points) < n:
        raise RuntimeError(f"the data make {len(points)} different datapoints, not {n}")
    real = min(n, len(rows))
    points[:real] = [rows[row * len(rows) // real] for row in range(real)]
    place.write_text(json.dumps([row_of(point) for point in points[:n]]), encoding="utf-8")
    return real


def _mixed(rows: Sequence[Datapoint]) -> Iterator[tuple[str, str, str, Datapoint]]:
    """Yield the rows with another hypothesis of their task: that of the next, of the next but one.

    Comes to an end when each has stood beside each.
    """
    by_task = sorted(rows, key=lambda point: point.task.name)
    tasks = [list(group) for _, group in groupby(by_task, key=lambda point: point.task)]
    for step in range(1, max(map(len, tasks), default=0)):
        for group in tasks:
            for point, other in zip(group, group[step:] + group[:step]):
                yield point.src, point.tgt, other.hyp, point
