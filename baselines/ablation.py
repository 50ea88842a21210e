"""Print how the reference rule affects the scores of a detector, for each task.

    python baselines/ablation.py DETECTOR DATA_FILE... [--model MODEL]

DETECTOR must not have been fitted on the data. Each cell is accuracy / rho.
"""

from __future__ import annotations

import argparse

import numpy as np
from table import shown

from shroom.core.datapoint import Label, Rule, Task
from shroom.detectors.registry import Recipe
from shroom.metrics.classification import accuracy
from shroom.metrics.correlation import rho
from shroom.scoring.datapoint_files import read


def main(detector: str, files: list[str], model: str | None) -> None:
    """Print a Markdown table for each file."""
    for file in files:
        points = read(file)
        tasks = [task for task in Task if any(point.task is task for point in points)]
        print(f"\n| {file.rsplit('/', 1)[-1]} | {' | '.join(task.value for task in tasks)} | all |")
        print("|---" * (len(tasks) + 2) + "|")
        for rule in Rule:
            more = {"model": model} if model else {}
            chosen = Recipe.of(detector).make(reference=rule.value, **more)
            p = chosen.p(points)
            cells = [figure(points, p, chosen.threshold_, task) for task in [*tasks, None]]
            print(f"| {rule.value} | {' | '.join(cells)} |")


def figure(points: list, p: np.ndarray, threshold: float, task: Task | None) -> str:
    """Return accuracy / rho of the datapoints of a task, or of all."""
    places = [i for i, point in enumerate(points) if task in (None, point.task)]
    labels = np.array([points[i].label is Label.HALLUCINATION for i in places])
    gold = np.array([points[i].p for i in places], np.float64)
    value = rho(p[places], gold)
    return shown(
        {
            "accuracy": accuracy(p[places] > threshold, labels),
            "rho": None if np.isnan(value) else value,
        }
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("detector")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--model")
    main(**vars(parser.parse_args()))
