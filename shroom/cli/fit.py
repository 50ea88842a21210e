"""``shroom fit``."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from shroom.cli.options import INPUT, OUTPUT, refuse_two_pipes, say
from shroom.datapoint import Label
from shroom.datasets.semeval2024 import DataFile, read_files
from shroom.detectors.base import detector as detector_named
from shroom.problems import Problems, ShroomError
from shroom.report.text import align, number
from shroom.writing import refuse_overwriting

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLES = """\b
Examples:
  shroom fit lexical trial-v1.json val.model-agnostic.json -o model.json
  shroom predict lexical test.model-agnostic.json --model model.json -o predictions.json
"""


@click.command(epilog=EXAMPLES)
@click.argument("detector")
@click.argument("data", nargs=-1, required=True, type=INPUT)
@click.option("-o", "--output", type=OUTPUT, required=True, help="Where the model goes.")
@click.option("--folds", type=click.IntRange(2, 100), default=10, show_default=True)
def command(*, detector: str, data: tuple[str, ...], output: str, folds: int) -> None:
    """Fit DETECTOR on labelled DATA and write the model.

    The figures that are printed are out of fold: each datapoint is judged by a model that was
    fitted without it and without those that have the same hypothesis.
    """
    refuse_two_pipes(*data)
    refuse_overwriting([output], data)
    problems = Problems()
    files = [file for source in data for file in read_files(source, problems)]
    say(problems)
    for file in files:
        if any(point.p is None or point.label is None for point in file.datapoints):
            raise ShroomError(f"{file.base}: has datapoints without label or p(Hallucination)")
    from shroom.detectors.crossval import out_of_fold

    chosen: Any = detector_named(detector)
    if not hasattr(chosen, "fit"):
        raise ShroomError(f"{detector} has nothing to fit")
    points = [point for file in files for point in file.datapoints]
    predicted = out_of_fold(lambda: detector_named(detector), points, folds)  # type: ignore[arg-type, return-value]
    chosen.fit(points, np.array([point.p for point in points], np.float64))
    chosen.remember([file.datapoints for file in files])
    figures = _figures(files, predicted, chosen.threshold)
    names = [file.base for file in files] + ["-o", Path(output).name]
    command_line = shlex.join(["shroom", "fit", detector, *names])
    chosen.save(output, command=command_line, out_of_fold=figures, folds=folds)
    rows: list[tuple[str, ...] | None] = [("out of fold", "n", "accuracy", "rho"), None]
    for base, figure in figures.items():
        shown = number(figure["accuracy"]), number(figure["rho"])
        rows.append((base, str(figure["n"]), *shown))
    click.echo("\n".join(align(rows)))


def _figures(
    files: list[DataFile], p: NDArray[np.float64], threshold: float
) -> dict[str, dict[str, Any]]:
    from shroom.metrics.classification import accuracy
    from shroom.metrics.correlation import rho

    figures = {}
    start = 0
    for file in files:
        part = p[start : start + len(file.datapoints)]
        start += len(part)
        labels = np.array([point.label is Label.HALLUCINATION for point in file.datapoints])
        gold = np.array([point.p for point in file.datapoints], np.float64)
        figures[file.base] = {
            "n": len(part),
            "accuracy": round(accuracy(part > threshold, labels), 4),
            "rho": None if math.isnan(value := rho(part, gold)) else round(value, 4),
        }
    return figures
