"""Cor, Cor+Lbl and IoU of one text as the tasks define them, character by character."""

import warnings

import numpy as np
from scipy import stats


def loop_cor(predicted, gold, length, *, is_rho=False):
    """Return Cor, or the rho of 2025: there gold spans overwrite, too, and constants are alike."""
    vectors = np.zeros((2, length))
    for start, end, prob, *_ in predicted:
        for place in range(start, min(end, length)):
            vectors[0, place] = prob
    for start, end, prob, *_ in gold:
        for place in range(start, min(end, length)):
            vectors[1, place] = prob if is_rho else vectors[1, place] + prob
    constant = [len({round(value, 8) for value in vector}) <= 1 for vector in vectors.tolist()]
    zero = [all(round(value, 8) == 0 for value in vector) for vector in vectors.tolist()]
    if all(constant):
        return float(is_rho or zero[0] == zero[1])
    if any(constant):
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return float(stats.spearmanr(*vectors)[0])


def loop_cor_lbl(predicted, gold, length):
    labels = {span[3] for span in (*predicted, *gold)}
    values = [
        loop_cor(*([s for s in side if s[3] == label] for side in (predicted, gold)), length)
        for label in sorted(labels)
    ]
    return sum(values) / len(values) if values else 1.0


def loop_iou(predicted, gold):
    a, b = ({i for span in side for i in range(*span[:2])} for side in (predicted, gold))
    return len(a & b) / len(a | b) if a | b else 1.0
