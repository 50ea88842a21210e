"""Macro-F1 and accuracy of questions answered with yes or no, against scikit-learn."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn

from shroom.metrics.aspect_metrics import of_aspect
from shroom.metrics.bootstrap import bootstrap, jackknife, resamples
from shroom.metrics.classification import MACRO_F1, counts, macro_f1
from shroom.metrics.paired_tests import randomisation

SIDES = st.integers(1, 12).flatmap(
    lambda n: st.tuples(*(st.lists(st.booleans(), min_size=n, max_size=n).map(np.array),) * 2)
)


def loop(said, gold):
    """Return macro-F1 by its formula, a label at a time."""
    values = []
    for label in sorted({*said, *gold}):
        both = sum(a == b == label for a, b in zip(said, gold))
        values.append(2 * both / (sum(a == label for a in said) + sum(b == label for b in gold)))
    return sum(values) / len(values)


@given(SIDES)
def test_macro_f1_is_scikit_learns_to_the_last_digit(sides):
    said, gold = sides
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn divides nothing by 0 here either
        expected = sklearn.f1_score(gold, said, average="macro")
    assert macro_f1(said, gold) == expected == loop(said.tolist(), gold.tolist())


@given(SIDES, st.data())
def test_weights_are_repetitions_also_where_a_label_falls_out(sides, data):
    said, gold = sides
    n = len(said)
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    if not weights.sum():
        assert np.isnan(macro_f1(said, gold, weights))
        return
    repeated = (np.repeat(side, weights) for side in (gold, said))
    assert macro_f1(said, gold, weights) == sklearn.f1_score(*repeated, average="macro")


@pytest.fixture
def two_aspects():
    generator = np.random.default_rng(4)
    gold = generator.random((60, 2)) < (0.8, 0.3)
    said = np.where(generator.random((60, 2)) < 0.7, gold, ~gold)
    return said.astype(np.int8), gold.astype(np.int8)


@pytest.mark.parametrize(("column", "aspect"), [(0, "factual"), (1, "fluency")])
def test_each_aspect_has_its_own_metrics(two_aspects, column, aspect):
    said, gold = two_aspects
    for name, function in (
        ("f1", lambda y, x: sklearn.f1_score(y, x, average="macro")),
        ("accuracy", sklearn.accuracy_score),
    ):
        metric = of_aspect(name, aspect, column)
        assert metric.name == f"{aspect}_{name}"
        statistics = metric.statistics(said, said * 1.0, gold, gold * 1.0)
        assert metric(statistics) == function(gold[:, column], said[:, column])


def test_resamples_at_once_are_those_of_a_loop(two_aspects):
    said, gold = two_aspects
    metric = of_aspect("f1", "fluency", 1)
    drawn = bootstrap(metric, metric.statistics(said, said, gold, gold), 40, seed=3)
    for value, weights in zip(drawn, np.concatenate(list(resamples(60, 40, seed=3)))):
        sides = (np.repeat(side[:, 1], weights.astype(int)) for side in (gold, said))
        assert value == sklearn.f1_score(*sides, average="macro")


def test_its_influence_is_what_leaving_an_item_out_changes():
    generator = np.random.default_rng(0)
    gold, noise = generator.random(3000) < 0.3, generator.random(3000) < 0.2
    statistics = counts(gold ^ noise, gold)
    changes = MACRO_F1(statistics) - jackknife(MACRO_F1, statistics)
    np.testing.assert_allclose(MACRO_F1.influence(statistics), changes, rtol=0.01, atol=1e-9)


def test_the_randomisation_test_by_sums_is_that_of_exchanged_rows():
    generator = np.random.default_rng(1)
    gold = generator.random(12) < 0.5
    first, second = (np.where(generator.random(12) < right, gold, ~gold) for right in (0.9, 0.5))
    systems = [counts(side, gold) for side in (first, second)]
    (p,) = randomisation(MACRO_F1, systems, [(0, 1)], trials=20_000, seed=0)

    def difference(a, b):
        return abs(macro_f1(a, gold) - macro_f1(b, gold))

    observed, larger = difference(first, second), 0
    for number in range(1 << 12):  # every exchange that there is
        exchanged = (number >> np.arange(12)) & 1 == 1
        sides = np.where(exchanged, second, first), np.where(exchanged, first, second)
        larger += difference(*sides) >= observed - 1e-12
    assert p == pytest.approx(larger / (1 << 12), abs=0.01)
