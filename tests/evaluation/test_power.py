"""What a test set can show: each formula against a simulation, or an independent computation."""

import numpy as np
import pytest
from scipy import stats

from shroom.evaluation.gold_quality import power
from shroom.metrics.classification import macro_f1
from shroom.metrics.paired_tests import detectable_difference


@pytest.mark.parametrize(("alpha", "share"), [(0.05, 0.8), (0.01, 0.95), (0.2, 0.5)])
def test_so_many_studies_detect_the_difference_in_accuracy(alpha, share):
    n, differ, rng = 400, 0.3, np.random.default_rng(1)
    least = detectable_difference(power.spread_of_accuracy(n, differ), alpha, share)
    chances = [(differ + least) / 2, (differ - least) / 2, 1 - differ]
    first, second, _ = rng.multinomial(n, chances, 3000).T
    difference = (first - second) / n
    errors = np.sqrt(((first + second) / n - difference**2) / n)
    detected = np.abs(difference) > stats.norm.ppf(1 - alpha / 2) * errors
    assert np.mean(detected) == pytest.approx(share, abs=0.025)


def test_the_spread_by_annotators_is_that_of_two_of_them():
    rng = np.random.default_rng(2)
    p = rng.beta(0.8, 0.9, 100_000)
    votes = (rng.random((len(p), 5)) < p[:, None]).astype(float)
    differ = np.mean(votes[:, 0] != votes[:, 1])
    spread = power.spread_by_annotators(votes)
    assert spread**2 * len(p) == pytest.approx(differ, abs=0.01)


def test_the_spread_of_macro_f1_is_that_of_simulated_systems():
    yes, no, differ, wrong = 170, 70, 0.2, 0.25
    rng, gold = np.random.default_rng(4), np.repeat([1, 0], [yes, no])
    chances = [wrong - differ / 2, differ / 2, differ / 2, 1 - wrong - differ / 2]
    differences = []
    for _ in range(1500):
        cell = rng.choice(4, len(gold), p=chances)  # both wrong, the one, the other, neither
        one, other = (np.where(np.isin(cell, odd), 1 - gold, gold) for odd in ((0, 1), (0, 2)))
        differences.append(macro_f1(one, gold) - macro_f1(other, gold))
    assert np.std(differences) == pytest.approx(power.spread_of_macro_f1(yes, no), rel=0.06)


def test_the_spread_of_rho_is_that_of_resampled_items():
    rng = np.random.default_rng(5)
    p = rng.beta(0.8, 0.9, 400)
    votes = (rng.random((400, 2)) < p[:, None]).astype(np.int8)
    gold = rng.binomial(5, p) / 5
    drawn = []
    for _ in range(1500):
        rows = rng.integers(0, 400, 400)
        of = [stats.spearmanr(votes[rows, column], gold[rows])[0] for column in (0, 1)]
        drawn.append(of[0] - of[1])
    assert power.spread_of_rho(votes, gold) == pytest.approx(np.std(drawn), rel=0.06)


def test_one_class_has_no_macro_f1_and_no_votes_no_spread():
    assert np.isnan(power.spread_of_macro_f1(10, 0))
    assert np.isnan(power.spread_by_annotators(np.array([[1.0, np.nan]])))
    assert np.isnan(power.spread_of_rho(np.ones((3, 2), np.int8), np.array([0.0, 0.5, 1.0])))
