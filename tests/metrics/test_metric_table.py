"""Every metric x what must hold of it, in one table.

A metric that is registered is tested here without a further line: only the exceptions are named,
and each of them is shown to be one.
"""

import importlib
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as sklearn
from sklearn.calibration import calibration_curve

from shroom.metrics.bootstrap import bootstrap, jackknife, joint_bootstrap, resamples
from shroom.metrics.paired_tests import randomisation
from shroom.scoring.metric_registry import METRICS, metric

EVERY = {name: metric(name) for name in METRICS}
COLUMNS = ("label", "p", "gold_label", "gold_p")
TINY = 1e-12
#: How many systems each metric meets in each test, of the smallest kind.
FEW = 20

over_metrics = pytest.mark.parametrize("metric", EVERY.values(), ids=EVERY)


def with_(attribute):
    """Take the metrics that have an optional part."""
    chosen = {name: each for name, each in EVERY.items() if getattr(each, attribute)}
    return pytest.mark.parametrize("metric", chosen.values(), ids=chosen)


def drawn(n=60, seed=0, steps=None):
    """Return a system that is right more often than not; ``steps`` makes p tied."""
    generator = np.random.default_rng(seed)
    gold_p = generator.integers(0, 6, n) / 5
    gold_p[:2] = 0, 1  # both classes, however small n is
    p = np.clip(gold_p * 0.6 + 0.2 + generator.normal(0, 0.25, n), 0.001, 0.999)
    p = np.round(p * steps) / steps if steps else p
    return p > 0.5, p, gold_p > 0.5, gold_p


def scored(metric, columns):
    """Return the metric of a system's columns."""
    return metric(metric.statistics(*columns))


def at(columns, place):
    return tuple(column[place] for column in columns)


# Systems small enough to hit every corner: ties, constants, one class, one item.
SYSTEMS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        *(
            st.lists(values, min_size=n, max_size=n).map(np.array)
            for values in (
                st.booleans(),
                st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.55, 0.7, 1.0]),
                st.booleans(),
                st.sampled_from([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            )
        )
    )
)

# --- what may be done to a system without changing its score ---------------------------------


def shuffled(*columns):
    return at(columns, np.random.default_rng(5).permutation(len(columns[0])))


def one_replaced(place):
    def replaced(*columns):
        other = drawn(len(columns[0]), seed=99)[place]
        return (*columns[:place], other, *columns[place + 1 :])

    return replaced


def all_but(*names):
    return set(EVERY) - set(names)


#: What is computed from sums of whole numbers, so that no order of summation changes a digit.
EXACT = {"accuracy", "rho", "balanced_accuracy", "auroc"}
P_AS_NUMBER = {"brier", "log_loss", "ece", "mce"}
#: What is done, and the metrics that it does change.
INVARIANCES = {
    "items permuted": (shuffled, set()),
    "every item twice": (lambda *columns: at(columns, np.arange(120) % 60), set()),
    "Hallucination and Not swapped": (
        lambda label, p, gold_label, gold_p: (~label, 1 - p, ~gold_label, 1 - gold_p),
        {"average_precision"},
    ),
    "p to the third power": (
        lambda label, p, gold_label, gold_p: (label, p**3, gold_label, gold_p),
        P_AS_NUMBER,
    ),
    "p squeezed": (
        lambda label, p, gold_label, gold_p: (label, np.exp(p) / 3, gold_label, gold_p),
        P_AS_NUMBER,
    ),
    "system and gold swapped": (
        lambda label, p, gold_label, gold_p: (gold_label, gold_p, label, p),
        # drawn() gives both sides equally many hallucinations, so balanced accuracy stays, too.
        all_but("accuracy", "rho", "balanced_accuracy"),
    ),
    **{
        f"another {column}": (
            one_replaced(place),
            {name for name, each in EVERY.items() if column in each.inputs},
        )
        for place, column in enumerate(COLUMNS)
    },
}


@over_metrics
@pytest.mark.parametrize("name", INVARIANCES)
def test_invariance(metric, name):
    change, exceptions = INVARIANCES[name]
    columns = drawn()
    before, after = scored(metric, columns), scored(metric, change(*columns))
    assert (after != pytest.approx(before, abs=TINY)) == (metric.name in exceptions)


def test_bins_have_their_upper_edges_so_p_on_one_is_not_symmetric():
    p, gold = np.array([0.5, 0.45]), np.array([False, True])
    swapped = (~gold, 1 - p, ~gold, 1.0 - gold)
    for name, here, there in (("ece", 0.025, 0.525), ("mce", 0.025, 0.55)):
        assert scored(EVERY[name], (gold, p, gold, gold * 1.0)) == pytest.approx(here)
        assert scored(EVERY[name], swapped) == pytest.approx(there)


# --- resampling and slicing ------------------------------------------------------------------


@over_metrics
@settings(max_examples=FEW)
@given(columns=SYSTEMS, data=st.data())
def test_weights_are_repetitions(metric, columns, data):
    n = len(columns[0])
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    found = metric.score(metric.statistics(*columns), weights[None].astype(float))[0]
    repeated = [np.repeat(column, weights) for column in columns]
    expected = scored(metric, repeated) if weights.sum() else None
    np.testing.assert_allclose(found, np.nan if expected is None else expected, atol=TINY)


@over_metrics
@pytest.mark.parametrize("steps", [None, 4])
def test_many_resamples_are_each_as_one(metric, steps):
    statistics = metric.statistics(*drawn(40, steps=steps))
    weights = np.concatenate(list(resamples(40, 25, seed=3)))
    together = metric.score(statistics, weights)
    assert together.shape == (25,)
    assert together.dtype == np.float64
    one_by_one = [metric.score(statistics, row[None])[0] for row in weights]
    if metric.name in EXACT:
        np.testing.assert_array_equal(together, one_by_one)
    np.testing.assert_allclose(together, one_by_one, rtol=0, atol=1e-15)


@over_metrics
def test_scoring_leaves_its_input_alone(metric):
    columns = drawn(30)
    copies = [column.copy() for column in columns]
    statistics = metric.statistics(*columns)
    kept, weights = statistics.copy(), np.ones((2, 30))
    metric.score(statistics, weights)
    if metric.influence:
        metric.influence(statistics)
    if metric.exchange:
        metric.exchange.terms(statistics)
    np.testing.assert_array_equal(statistics, kept)
    np.testing.assert_array_equal(weights, 1)
    for column, copy in zip(columns, copies):
        np.testing.assert_array_equal(column, copy)


@over_metrics
@settings(max_examples=FEW)
@given(columns=SYSTEMS, data=st.data())
def test_a_slice_is_a_selection_of_statistics(metric, columns, data):
    n = len(columns[0])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    found = metric(metric.statistics(*columns)[mask])
    expected = scored(metric, at(columns, mask))
    assert found == (expected if expected is None else pytest.approx(expected, abs=TINY))


@over_metrics
@settings(max_examples=FEW)
@given(columns=SYSTEMS)
def test_jackknife_leaves_out_each_item_in_turn(metric, columns):
    found = jackknife(metric, metric.statistics(*columns))
    n = len(columns[0])
    expected = [scored(metric, at(columns, np.arange(n) != i)) for i in range(n)]
    as_floats = [np.nan if value is None else value for value in expected]
    np.testing.assert_allclose(found, as_floats, rtol=0, atol=TINY)


@over_metrics
def test_joint_resamples_are_those_of_each_alone(metric):
    first, second = (metric.statistics(*drawn(40, seed=seed)) for seed in (1, 2))
    rows = joint_bootstrap([(metric, first), (metric, second)], 50, seed=4)
    for row, statistics in zip(rows, (first, second)):
        np.testing.assert_array_equal(row, bootstrap(metric, statistics, 50, seed=4))


# --- values ----------------------------------------------------------------------------------


@over_metrics
@settings(max_examples=FEW)
@given(columns=SYSTEMS)
def test_bounds_are_respected_or_the_score_is_undefined(metric, columns):
    value = scored(metric, columns)
    low, high = metric.bounds
    assert value is None or low - TINY <= value <= high + TINY


@over_metrics
@settings(max_examples=FEW)
@given(truth=st.lists(st.booleans(), min_size=2, max_size=12).filter(lambda y: 0 < sum(y) < len(y)))
def test_a_perfect_system_has_the_best_value(metric, truth):
    gold = np.array(truth)
    value = scored(metric, (gold, gold.astype(float), gold, gold.astype(float)))
    best = metric.bounds[metric.higher_is_better]
    assert value == pytest.approx(best, abs=TINY)
    system = drawn(len(gold), seed=len(gold))
    worse = scored(metric, (system[0], system[1], gold, gold.astype(float)))
    assert worse is None or (worse <= value + TINY if metric.higher_is_better else worse >= value)


@over_metrics
def test_a_system_that_is_always_wrong_has_the_worst_value(metric):
    gold = np.arange(20) % 2 == 0
    value = scored(metric, (~gold, 1.0 - gold, gold, gold.astype(float)))
    worst = metric.bounds[not metric.higher_is_better]
    if metric.name == "average_precision":  # all hallucinations come last, among half of all items
        worst = 0.5
    assert value == pytest.approx(worst, abs=TINY)


#: What p = 0.7 everywhere gets, where 3 of 10 gold labels are hallucinations and all labels say so.
CONSTANT = {
    "accuracy": 0.3,
    "rho": None,
    "balanced_accuracy": 0.5,
    "brier": 0.3 * 0.3**2 + 0.7 * 0.7**2,
    "log_loss": -0.3 * np.log(0.7) - 0.7 * np.log(0.3),
    "ece": 0.4,
    "mce": 0.4,
    "auroc": 0.5,
    "average_precision": 0.3,
}


@over_metrics
def test_constant_p(metric):
    gold = np.arange(10) < 3
    value = scored(metric, (np.ones(10, bool), np.full(10, 0.7), gold, gold.astype(float)))
    expected = CONSTANT[metric.name]
    assert value == (expected if expected is None else pytest.approx(expected, abs=TINY))


#: The metrics that have no value where all gold labels are one of these.
WITHOUT_THE_OTHER = {
    True: {"balanced_accuracy", "auroc"},
    False: {"balanced_accuracy", "auroc", "average_precision"},
}


@over_metrics
@pytest.mark.parametrize("only", [True, False], ids=["only Hallucination", "only Not"])
def test_one_class_only(metric, only):
    label, p, _, gold_p = drawn(12)
    value = scored(metric, (label, p, np.full(12, only), gold_p))
    assert (value is None) == (metric.name in WITHOUT_THE_OTHER[only])
    constant = scored(metric, (label, p, np.full(12, only), np.full(12, float(only))))
    assert (constant is None) == (metric.name in WITHOUT_THE_OTHER[only] | {"rho"})


@over_metrics
@pytest.mark.parametrize("only", [True, False], ids=["Hallucination", "Not"])
def test_one_item(metric, only):
    one = np.array([only])
    value = scored(metric, (one, one.astype(float), one, one.astype(float)))
    if metric.name in WITHOUT_THE_OTHER[only] | {"rho"}:
        assert value is None
    else:
        assert value == pytest.approx(metric.bounds[metric.higher_is_better], abs=TINY)


@over_metrics
def test_no_items(metric):
    nothing = tuple(column[:0] for column in drawn(3))
    assert scored(metric, nothing) is None
    assert np.isnan(metric.score(metric.statistics(*nothing), np.ones((3, 0)))).all()


@over_metrics
def test_no_weight(metric):
    assert np.isnan(metric.score(metric.statistics(*drawn(5)), np.zeros((2, 5)))).all()


@over_metrics
@settings(max_examples=FEW)
@given(columns=SYSTEMS)
def test_nothing_warns(metric, columns):
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        statistics = metric.statistics(*columns)
        metric(statistics)
        jackknife(metric, statistics)
        bootstrap(metric, statistics, 20)
        if metric.influence:
            metric.influence(statistics)
        if metric.exchange:
            metric.exchange.score(metric.exchange.terms(statistics).sum(axis=0), len(statistics))


TYPES = {
    "labels as int8": (np.int8, np.float64),
    "labels as uint8": (np.uint8, np.float64),
    "labels as floats": (np.float64, np.float64),
    "p as float32": (bool, np.float32),
    "p as float16": (bool, np.float16),
    "p as long double": (bool, np.longdouble),
}


@over_metrics
@pytest.mark.parametrize("name", TYPES)
def test_types(metric, name):
    label_type, p_type = TYPES[name]
    label, p, gold_label, gold_p = drawn(50, steps=64)  # 1/64 is exact in each type
    given_columns = (label.astype(label_type), p.astype(p_type))
    given_columns += (gold_label.astype(label_type), gold_p)
    assert scored(metric, given_columns) == scored(metric, (label, p, gold_label, gold_p))


@over_metrics
def test_p_in_single_precision_is_scored_as_the_number_that_it_is(metric):
    label, p, gold_label, gold_p = drawn(50)
    single = p.astype(np.float32)
    assert scored(metric, (label, single, gold_label, gold_p)) == scored(
        metric, (label, single.astype(float), gold_label, gold_p)
    )


# --- the parts that are not in every metric --------------------------------------------------


def derivative(metric, statistics, step=1e-6):
    """Return how the score changes with each item's weight, by finite differences."""
    n = len(statistics)
    up, down = (metric.score(statistics, 1 + sign * step * np.eye(n)) for sign in (1, -1))
    return (up - down) / (2 * step)


@with_("influence")
@pytest.mark.parametrize("steps", [None, 7])
@pytest.mark.parametrize("seed", range(3))
def test_influence_is_the_derivative_by_weight(metric, steps, seed):
    statistics = metric.statistics(*drawn(40, seed, steps))
    found = metric.influence(statistics)
    np.testing.assert_allclose(found, derivative(metric, statistics), rtol=0, atol=1e-8)
    assert found.sum() == pytest.approx(0, abs=1e-12)


@with_("influence")
@settings(max_examples=FEW)
@given(columns=SYSTEMS)
def test_influences_add_up_to_0_or_are_undefined_with_the_score(metric, columns):
    statistics = metric.statistics(*columns)
    found = metric.influence(statistics)
    assert found.shape == (len(statistics),)
    if metric(statistics) is None:
        assert np.isnan(found).any()
    else:
        assert found.sum() == pytest.approx(0, abs=1e-9)


@with_("exchange")
@settings(max_examples=FEW)
@given(columns=SYSTEMS)
def test_exchange_gives_the_score(metric, columns):
    statistics = metric.statistics(*columns)
    terms = metric.exchange.terms(statistics)
    assert terms.shape[0] == len(statistics)
    assert terms.dtype == np.float64
    found = metric.exchange.score(terms.sum(axis=0), len(statistics))
    value = metric(statistics)
    np.testing.assert_allclose(found, np.nan if value is None else value, rtol=0, atol=TINY)


@with_("exchange")
def test_exchange_takes_many_sums_at_once(metric):
    systems = [metric.statistics(*drawn(30, seed)) for seed in range(6)]
    sums = np.array([metric.exchange.terms(each).sum(axis=0) for each in systems])
    found = metric.exchange.score(sums.reshape(2, 3, -1), 30)
    np.testing.assert_allclose(found.ravel(), [metric(each) for each in systems], atol=TINY)


#: Where the systems of a randomisation test exchange ranks, since their p are on other scales.
BY_RANK = {"rho", "auroc", "average_precision"}


def of_exchanged(metric, columns):
    """Return a system's score in a trial: ranks that were exchanged are not ranked again."""
    _, p, gold_label, gold_p = columns
    if metric.name == "rho":
        return np.corrcoef(p, stats.rankdata(gold_p))[0, 1]
    if metric.name == "auroc":
        return 0.5 + (p[gold_label].mean() - p[~gold_label].mean()) / len(p)
    return scored(metric, columns)


@over_metrics
@pytest.mark.parametrize("seed", range(4))
def test_randomisation_is_what_exchanging_the_systems_gives(metric, seed):
    n, trials = 40, 100
    first, second = drawn(n, seed=9), drawn(n, seed=seed, steps=1)
    gold, systems = first[2:], [first[:2], second[:2]]  # the second's p are 0 or 1
    statistics = [metric.statistics(*system, *gold) for system in systems]
    if metric.name in BY_RANK:
        systems = [(label, stats.rankdata(p)) for label, p in systems]
    draws = np.random.default_rng(seed).integers(0, 2, size=(trials, n), dtype=np.int8)
    differences = []
    for exchanged in (np.zeros(n), *draws):
        one, other = (
            [np.where(exchanged, b, a) for a, b in zip(mine, yours)]
            for mine, yours in (systems, systems[::-1])
        )
        one, other = ((column[0].astype(bool), column[1], *gold) for column in (one, other))
        differences.append(abs(of_exchanged(metric, one) - of_exchanged(metric, other)))
    expected = np.mean(np.array(differences) >= differences[0] - TINY)
    assert randomisation(metric, statistics, [(0, 1)], trials, seed)[0] == pytest.approx(expected)


# --- oracles ---------------------------------------------------------------------------------


def bins_of(p):
    return np.searchsorted(np.linspace(0, 1, 11)[1:-1], p)


def gaps(p, truth):
    share, mean = calibration_curve(truth, p, n_bins=10)
    return np.abs(share - mean), np.bincount(bins_of(p), minlength=10)


def expected_error(p, truth):
    gap, counts = gaps(p, truth)
    return np.sum(gap * counts[counts > 0]) / len(p)


def maximum_error(p, truth):
    return gaps(p, truth)[0].max()


#: What others make of the arrays that the metric says it reads, the gold first.
ORACLES = {
    "accuracy": sklearn.accuracy_score,
    "rho": lambda gold_p, p: stats.spearmanr(gold_p, p).statistic,
    "balanced_accuracy": sklearn.balanced_accuracy_score,
    "brier": sklearn.brier_score_loss,
    "log_loss": lambda truth, p: sklearn.log_loss(truth, p, labels=[0, 1]),
    "ece": lambda truth, p: expected_error(p, truth),
    "mce": lambda truth, p: maximum_error(p, truth),
    "auroc": sklearn.roc_auc_score,
    "average_precision": sklearn.average_precision_score,
}


def inputs(metric, columns):
    """Return the columns that a metric says it reads: the system's, then the gold's."""
    return [columns[COLUMNS.index(each)] for each in metric.inputs]


def by_oracle(metric, columns):
    ours, gold = inputs(metric, columns)
    return ORACLES[metric.name](gold, ours)


@over_metrics
@pytest.mark.parametrize("steps", [None, 3, 10])
@pytest.mark.parametrize("n", [7, 60, 1000])
def test_oracle(metric, steps, n):
    for seed in range(1, 6):
        columns = drawn(n, seed, steps)
        expected = by_oracle(metric, columns)
        assert scored(metric, columns) == pytest.approx(expected, rel=0, abs=TINY)


# --- the same from plain arrays --------------------------------------------------------------


@over_metrics
@settings(max_examples=FEW)
@given(columns=SYSTEMS)
def test_the_function_of_arrays_gives_the_same(metric, columns):
    module, _, name = metric.function.partition(":")
    function = getattr(importlib.import_module(module), name)
    value = function(*inputs(metric, columns))
    assert isinstance(value, float)
    expected = scored(metric, columns)
    np.testing.assert_allclose(value, np.nan if expected is None else expected, rtol=0, atol=TINY)
