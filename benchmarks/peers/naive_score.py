"""Accuracy and rho as a plain script computes them: json, a dict by id, scipy's spearmanr.

Usage: python naive_score.py PRED GOLD
"""

import json
import sys

from scipy.stats import spearmanr


def main() -> None:
    """Print accuracy and rho of PRED against GOLD, aligned by id if the rows have one."""
    with open(sys.argv[1], encoding="utf-8") as stream:  # noqa: PTH123 - as such scripts do
        predictions = json.load(stream)
    with open(sys.argv[2], encoding="utf-8") as stream:  # noqa: PTH123
        gold = json.load(stream)
    if "id" in gold[0] and "id" in predictions[0]:
        by_id = {row["id"]: row for row in predictions}
        predictions = [by_id[row["id"]] for row in gold]
    right = sum(one["label"] == other["label"] for one, other in zip(predictions, gold))
    rho = spearmanr(
        [row["p(Hallucination)"] for row in predictions],
        [row["p(Hallucination)"] for row in gold],
    ).correlation
    print(right / len(gold), float(rho), sep="\n")


if __name__ == "__main__":
    main()
