"""Made-up systems with their gold, as the columns that metrics take."""

import numpy as np


def drawn(n=60, seed=0, steps=None):
    """Return a system that is right more often than not; ``steps`` makes p tied."""
    generator = np.random.default_rng(seed)
    gold_p = generator.integers(0, 6, n) / 5
    gold_p[:2] = 0, 1  # both classes, however small n is
    p = np.clip(gold_p * 0.6 + 0.2 + generator.normal(0, 0.25, n), 0.001, 0.999)
    p = np.round(p * steps) / steps if steps else p
    return p > 0.5, p, gold_p > 0.5, gold_p
