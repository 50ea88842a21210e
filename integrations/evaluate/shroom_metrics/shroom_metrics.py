"""The kit's metrics of p(Hallucination) as a module of Hugging Face evaluate."""

import datasets
import evaluate
import numpy as np

from shroom.core.problems import ShroomError
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.metric_registry import metric
from shroom.scoring.results import flat

_DESCRIPTION = """\
How well p(Hallucination) agrees with the annotators: accuracy, Spearman's rho and the other metrics
of the SHROOM kit, with confidence intervals.
"""
_INPUTS = """
Args:
    predictions: p(Hallucination) of each text, in [0, 1].
    references: the share of annotators who chose Hallucination, in [0, 1].
    labels: the labels of the system, 1 for a hallucination, else 0; by default, 1 if p > 0.5.
    gold_labels: the labels of the annotators; by default, 1 if the share is above 0.5.
    metrics: names from `shroom list metrics`.
    resamples: number of bootstrap resamples (random seed 0); 0 for no intervals.
Returns:
    the score of each metric by its name, and its 95% interval by its name with `_ci`. Undefined
    scores and intervals for fewer than ten texts are `None`.
Examples:
    >>> shroom_metrics = evaluate.load("integrations/evaluate/shroom_metrics")
    >>> shroom_metrics.compute(predictions=[0.9, 0.2, 0.7], references=[1, 0, 0.4], resamples=0)
    {'accuracy': 0.6666666666666666, 'rho': 1.0, 'accuracy_ci': None, 'rho_ci': None}
"""
_CITATION = """\
@inproceedings{mickus-etal-2024-semeval,
  title = {{SemEval}-2024 Task 6: {SHROOM}, a Shared-task on Hallucinations and Related Observable
    Overgeneration Mistakes},
  author = {Mickus, Timothee and Zosa, Elaine and V{\\'a}zquez, Ra{\\'u}l and Vahtola, Teemu and
    Tiedemann, J{\\"o}rg and Segonne, Vincent and Raganato, Alessandro and Apidianaki, Marianna},
  booktitle = {Proceedings of the 18th International Workshop on Semantic Evaluation},
  year = {2024},
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _INPUTS)
class ShroomMetrics(evaluate.Metric):
    """Metrics of p(Hallucination)."""

    def _info(self):
        number = datasets.Value("float64")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features({"predictions": number, "references": number}),
        )

    def _compute(
        self,
        *,
        predictions,
        references,
        labels=None,
        gold_labels=None,
        metrics=("accuracy", "rho"),
        resamples=1000,
    ):
        p, gold_p = _shares("predictions", predictions), _shares("references", references)
        columns = (_labels("labels", labels, p), p, _labels("gold_labels", gold_labels, gold_p))
        chosen = [metric(name) for name in metrics]
        scored = [(measure, measure.statistics(*columns, gold_p)) for measure in chosen]
        return flat(*estimates(scored, Intervals(resamples)))


def _shares(name, values):
    array = np.asarray(values, np.float64)
    if not np.all((array >= 0) & (array <= 1)):
        raise ShroomError(f"{name}: expected numbers in [0, 1]")
    return array


def _labels(name, values, p):
    array = p > 0.5 if values is None else np.asarray(values)
    if array.shape != p.shape or not np.isin(array, (0, 1)).all():
        raise ShroomError(f"{name}: expected 0 or 1 for each of {len(p)} items")
    return array.astype(np.int8)
