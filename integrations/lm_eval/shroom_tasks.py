"""Functions for the tasks of lm-evaluation-harness: the kit's data, prompts and metrics.

A row is a pair of hypothesis and context. A datapoint with two contexts has two rows, of which the
one with the lower p counts, as for the kit's own judge.
"""

import functools
import math

import datasets
import numpy as np

from shroom.core.problems import Problems, ShroomError
from shroom.datasets.download import place_of, read_here
from shroom.datasets.registry import data_set
from shroom.detectors.judge.detector import Judge
from shroom.scoring.metric_registry import metric


def datapoints(name, paths=(), view=None, files=(), **_):
    """Return the rows of a data set, read from ``paths`` or found on this machine.

    ``paths`` and ``view`` come from ``--metadata '{"paths": ["val.json"]}'``; ``files`` are the
    default files in the folder of the data set.
    """
    folder = place_of(name)
    paths = paths or [folder / file for file in files if folder and (folder / file).exists()]
    source = data_set(name)
    collection = source.read(*paths) if paths else read_here(name, Problems())
    points = source.view(view).datapoints(collection.records)
    if not points:
        raise ShroomError(f"{name} has no labelled datapoints to evaluate; specify other files")
    prompts, pairs = Judge(model="any").prompts(points)
    rows = {
        "datapoint": pairs.owner.tolist(),
        "prompt": list(map(str, prompts)),
        "answer": [int(points[i].label.value == "Hallucination") for i in pairs.owner],
        "p": [points[i].p for i in pairs.owner],
    }
    return {"test": datasets.Dataset.from_dict(rows)}


def process_results(doc, results):
    """Return for each metric a row's datapoint, p(no) of the two answers, gold label and gold p."""
    (yes, _), (no, _) = results
    p = 0.5 * (1 + math.tanh((no - yes) / 2))
    return dict.fromkeys(_METRICS, (doc["datapoint"], p, doc["answer"], doc["p"]))


def _score(name, rows):
    table = np.array(rows, np.float64)
    # The row of a datapoint with the lowest p comes first.
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    _, first = np.unique(table[:, 0], return_index=True)
    _, p, gold_label, gold_p = table[first].T
    measure = metric(name)
    value = measure(measure.statistics(p > 0.5, p, gold_label, gold_p))
    return math.nan if value is None else value


_METRICS = ("accuracy", "rho", "balanced_accuracy", "auroc")
accuracy, rho, balanced_accuracy, auroc = (functools.partial(_score, name) for name in _METRICS)
