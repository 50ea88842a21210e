"""How often copies of a submission are listed, and how often honest pairs are.

On made-up data sets (see latent.py) one of 20 systems is copied: some labels are changed, and p
gets noise. What honest systems get wrong is correlated more or less, as if they used more or less
the same models.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import latent
import numpy as np
from scipy.special import ndtr

from shroom.evaluation.contest import Contest
from shroom.evaluation.duplicates import duplicates
from shroom.scoring.align import AlignedTrack
from shroom.scoring.editions.files import default
from shroom.scoring.file_names import Name
from shroom.scoring.kinds.registry import ranking_metrics
from shroom.scoring.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

NAME = Name("val", "model-aware")
#: r of the systems: accuracies from about .65 to .80.
STRENGTHS = np.linspace(0.45, 0.82, 20)
#: What a copy changes: the share of labels, and the standard deviation of the noise of p.
COPIES = ((0.0, 0.0), (0.01, 0.02), (0.02, 0.05), (0.03, 0.05), (0.04, 0.05), (0.05, 0.1))
SHARED = (0.0, 0.5, 0.8, 0.9, 0.95)


def main() -> int:
    """Measure, and print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    print("| labels changed | noise of p | listed, n = 150 | n = 500 | n = 1500 |")
    print("|---:|---:|---:|---:|---:|")
    for changed, noise in COPIES:
        shares = []
        for n in (150, 500, 1500):
            count = 0
            for _ in range(options.trials):
                systems, gold_p = drawn(n, 0.5, generator)
                label, p = systems["15"]
                flipped = generator.random(n) < changed
                jittered = np.clip(p + generator.normal(0, noise, n), 0, 1)
                pairs = listed({**systems, "copy": (label ^ flipped, jittered)}, gold_p)
                count += ("15", "copy") in pairs
            shares.append(f"{count / options.trials:.0%}")
        print(f"| {changed:.0%} | {noise} | {' | '.join(shares)} |")
    print("\n| correlation of errors | pairs | listed, n = 150 | n = 500 | n = 1500 |")
    print("|---:|---:|---:|---:|---:|")
    for shared in SHARED:
        counts = [
            sum(len(listed(*drawn(n, shared, generator))) for _ in range(options.trials))
            for n in (150, 500, 1500)
        ]
        print(f"| {shared} | {190 * options.trials} | {' | '.join(map(str, counts))} |")
    return 0


def drawn(
    n: int, shared: float, generator: np.random.Generator
) -> tuple[dict[str, tuple[Array, Array]], Array]:
    """Return the label and p of honest systems by their names, and the gold's p."""
    u, seen = latent.draw(n, list(STRENGTHS), generator, shared)
    return {str(i): (z > 0, np.round(ndtr(z), 3)) for i, z in enumerate(seen)}, latent.gold_p(u)


def listed(systems: dict[str, tuple[Array, Array]], gold_p: Array) -> list[tuple[str, str]]:
    """Return the pairs that are listed."""
    n = len(gold_p)
    gold = Table("gold", n, (gold_p > 0.5).astype(np.int8), gold_p)
    tracks = {}
    for name, (label, p) in systems.items():
        table = Table(name, n, np.asarray(label, np.int8), p)
        tracks[name] = AlignedTrack(NAME, table, gold, 0, default(), np.arange(n))
    pairs = duplicates([Contest(NAME, gold, default(), tracks)], ranking_metrics(default())).pairs
    return [(pair.a, pair.b) for pair in pairs]


if __name__ == "__main__":
    sys.exit(main())
