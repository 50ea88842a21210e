"""Count the rule-made pairs that a cross-encoder labels Hallucination.

    python baselines/training/probe.py rule_probe.jsonl.gz [MODEL]

``rule_pairs.py`` writes the file, whose references are never used for training. For each kind of
error, 50 pairs are drawn, and 100 faithful pairs. MODEL is a folder; by default, the shipped model.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from typing import Any

from shroom.core.datapoint import TASKS, Datapoint
from shroom.detectors.cross_encoder.detector import CrossEncoder

#: The rules of each kind, and how many pairs are drawn.
KINDS = {
    "roles swapped": (("roles", "passive_roles"), 50),
    "negations": (("negation",), 50),
    "one word, number or name changed": (("word", "antonym", "number", "entity"), 50),
    "words repeated in loops": (("loop",), 50),
    "faithful": (("passive", "order", "contraction", "synonym"), 100),
    "definitions cut down to their head": (("general",), 50),
}


def datapoint(row: dict[str, Any]) -> Datapoint:
    """Return a pair as SHROOM would have it: paraphrases have no target."""
    task = row["task"].split(":")[0]
    reference = row["premise"]
    return Datapoint(
        hyp=row["hypothesis"],
        src=reference,
        tgt="" if task == "PG" else reference,
        task=TASKS[task],
    )


def main(path: str, model: str | None = None) -> None:
    """Print a line for each kind."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    detector = CrossEncoder(model=model)
    chance = random.Random(0)  # noqa: S311 - a draw, not a secret
    for kind, (rules, most) in KINDS.items():
        pairs = [row for row in rows if row["task"].split(":")[1] in rules]
        chance.shuffle(pairs)
        p = detector.p([datapoint(row) for row in pairs[:most]])
        print(f"{kind}: {(p > detector.threshold_).sum()} of {len(p)}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
