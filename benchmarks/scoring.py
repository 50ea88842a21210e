"""The benchmark measures the time to check and score a submission.

The peer is a plain script (`peers/naive_score.py`). It reads JSON and calls
`scipy.stats.spearmanr`, without checks, intervals or slices. Both measurements include the start
of the process. The rows of `val.model-agnostic.json` are repeated under new ids, with made-up
predictions. Both programs must print the same accuracy and the same rho.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from run import DATA, HERE, MIB, SAMPLE, check, figure, main, progress, run, watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAME = "val.model-agnostic.json"
P = "p(Hallucination)"
PEER = "plain script"
COMMANDS = ("score", "check --gold")
#: The val split's size on the model-aware track.
VAL_ROWS = 501
#: Up to here most of the time is start-up, so such runs are repeated more often.
FEW = 10_000
#: From here on the plain script is slow and runs once.
MANY = 1_000_000


def measure(
    rows: Sequence[int] = (1_000, FEW, 100_000, MANY), repeats: int = 3, pairs: int = 15
) -> Iterator[dict[str, Any]]:
    """Yield seconds by the number of rows, and the memory of the largest."""
    with tempfile.TemporaryDirectory() as folder:
        files = made_files(Path(folder), VAL_ROWS)
        check_scores(*files)
        runs = []
        for pair in range(pairs):
            progress(f"start-up: pair {pair + 1} of {pairs}")
            runs.append([run(command(name, *files)).seconds for name in ("score", PEER)])
        ours, theirs = (statistics.median(side) for side in zip(*runs))
        ratio = statistics.median(b / a for a, b in runs)
        yield figure(f"`score`, {VAL_ROWS} rows", ours, theirs, PEER, ratio=ratio)
        for n in rows:
            files = made_files(Path(folder), n)
            check_scores(*files)
            best = fastest(files, n, repeats)
            for name in COMMANDS:
                yield figure(f"`{name}`, {n:,} rows", best[name], best[PEER], PEER)
        ours, theirs = (
            max(held for _, held in watch(command(name, *files)).memory) / MIB
            for name in ("score", PEER)
        )
        yield figure(f"`score`, {n:,} rows", ours, theirs, PEER, "MiB")


def fastest(files: tuple[Path, Path], n: int, repeats: int) -> dict[str, float]:
    """Return the best seconds of each command; all run in turn."""
    found: dict[str, list[float]] = {}
    for turn in range(repeats * 5 if n <= FEW else repeats):
        for name in (PEER, *COMMANDS):
            if name != PEER or turn < (1 if n >= MANY else repeats):
                progress(f"{n} rows: {name}, turn {turn + 1}")
                found.setdefault(name, []).append(run(command(name, *files)).seconds)
    return {name: min(times) for name, times in found.items()}


def command(name: str, pred: Path, gold: Path) -> list[str | Path]:
    """Return the command line of a command or of the plain script."""
    python = sys.executable
    if name == PEER:
        return [python, HERE / "peers" / "naive_score.py", pred, gold]
    if name.startswith("check"):
        return [python, "-m", "shroom", "check", pred, "--gold", gold]
    return [python, "-m", "shroom.score", pred, gold]


def made_files(folder: Path, n: int) -> tuple[Path, Path]:
    """Write ``n`` rows of predictions and gold, which repeat the val file under new ids."""
    source = DATA / "semeval2024" / NAME
    rows = json.loads((source if source.exists() else SAMPLE / NAME).read_text(encoding="utf-8"))
    texts = [json.dumps({**row, "id": None}, separators=(",", ":")) for row in rows]
    generator = random.Random(0)  # noqa: S311
    paths = folder / "pred" / NAME, folder / "gold" / NAME
    for path in paths:
        path.parent.mkdir(exist_ok=True)
    with paths[0].open("w", encoding="ascii") as pred, paths[1].open("w", encoding="ascii") as gold:
        for number in range(n):
            begin = "," if number else "["
            # p rises with that of the gold, so that no check warns
            p = round((rows[number % len(rows)][P] + 2 * generator.random()) / 3, 6)
            label = "Hallucination" if p > 0.5 else "Not Hallucination"
            row = json.dumps({"id": number + 1, "label": label, P: p}, separators=(",", ":"))
            pred.write(begin + row)
            text = texts[number % len(texts)]
            gold.write(begin + text.replace('"id":null', f'"id":{number + 1}'))
        pred.write("]")
        gold.write("]")
    return paths


def check_scores(pred: Path, gold: Path) -> None:
    """Check that the kit and the plain script find the same accuracy and rho."""
    out = run([*command("score", pred, gold), "--no-ci", "--format", "codalab"]).out
    scores = dict(line.split(": ") for line in out.splitlines())
    kit = [float(scores[f"agnostic_{name}"]) for name in ("acc", "rho")]
    peer = [float(line) for line in run(command(PEER, pred, gold)).out.split()]
    same = all(abs(a - b) <= 1e-12 for a, b in zip(kit, peer))
    check(same, f"scores differ: kit {kit}, plain script {peer}")


if __name__ == "__main__":
    sys.exit(main("scoring"))
