"""Every metric x what must hold of it, in one table.

A metric that is registered is tested here without a further line: only the exceptions are named,
and each of them is shown to be one.
"""

import importlib
import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import drawn
from scipy import stats
from sklearn import metrics as sklearn
from sklearn.calibration import calibration_curve

from shroom.metrics.bootstrap import bootstrap, jackknife
from shroom.metrics.classification import COHEN_KAPPA, MACRO_F1
from shroom.metrics.paired_tests import randomisation
from shroom.scoring.metric_registry import METRICS, metric

EVERY = {each.name: each for each in (*map(metric, METRICS), MACRO_F1, COHEN_KAPPA)}
COLUMNS = ("label", "p", "gold_label", "gold_p")
TINY = 1e-12
#: How many systems each metric meets in each test, of the smallest kind.
FEW = 20

over_metrics = pytest.mark.parametrize("metric", EVERY.values(), ids=EVERY)


def scored(metric, columns):
    """Return the metric of a system's columns."""
    return metric(metric.statistics(*columns))


def close(value, expected, within=TINY):
    """Assert that numbers are nearly the same; None is an undefined one."""
    found, expected = (np.nan if each is None else each for each in (value, expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=within)


def inputs(metric, columns):
    """Return the columns that a metric says it reads: the system's, then the gold's."""
    return [columns[COLUMNS.index(each)] for each in metric.inputs]


def function_of(metric):
    module, _, name = metric.function.partition(":")
    return getattr(importlib.import_module(module), name)


def frozen(array):
    """Return the array; whoever writes to it fails."""
    array.flags.writeable = False
    return array


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


def one_replaced(place):
    def replaced(*columns):
        other = drawn(len(columns[0]), seed=99)[place]
        return (*columns[:place], other, *columns[place + 1 :])

    return replaced


P_AS_NUMBER = {"brier", "log_loss", "ece", "mce"}
#: What is done, and the metrics that it does change.
INVARIANCES = {
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
        {"auroc", "average_precision", *P_AS_NUMBER},
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


# --- values ----------------------------------------------------------------------------------


@over_metrics
@settings(max_examples=FEW)
@given(columns=SYSTEMS, data=st.data())
def test_any_system_has_a_score_within_bounds_or_none_and_no_part_warns(metric, columns, data):
    n = len(columns[0])
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        statistics = frozen(metric.statistics(*map(frozen, columns)))
        value, weighted = metric(statistics), metric.weighted(statistics, times)
        metric.score(statistics, frozen(np.ones((2, n))))
        jackknife(metric, statistics)
        bootstrap(metric, statistics, 20)
        moved = metric.influence(statistics) if metric.influence else None
        if metric.exchange:
            terms = metric.exchange.terms(statistics)
            exchanged = metric.exchange.score(terms.sum(axis=0), n)
    low, high = metric.bounds
    assert value is None or low - TINY <= value <= high + TINY
    repeated = [np.repeat(column, times) for column in columns]
    close(weighted, scored(metric, repeated) if times.sum() else None)
    if metric.influence:
        assert moved.shape == (n,)
        assert np.isnan(moved).any() if value is None else abs(moved.sum()) < 1e-9
    if metric.exchange:
        assert (len(terms), terms.dtype) == (n, np.float64)
        close(exchanged, value)
    if metric.function:
        function, given_columns = function_of(metric), inputs(metric, columns)
        assert isinstance(function(*given_columns), float)
        close(function(*given_columns), value)
        assert np.isnan(function(*(column[:0] for column in given_columns)))
        if "weights" in inspect.signature(function).parameters:
            close(function(*given_columns, times), weighted)


@over_metrics
def test_a_perfect_system_has_the_best_value_and_one_that_is_always_wrong_the_worst(metric):
    gold = np.arange(20) % 2 == 0
    best, worst = metric.bounds[:: -1 if metric.higher_is_better else 1]
    if metric.name == "average_precision":  # all hallucinations come last, among half of all items
        worst = 0.5
    for said, expected in ((gold, best), (~gold, worst)):
        value = scored(metric, (said, said.astype(float), gold, gold.astype(float)))
        assert value == pytest.approx(expected, abs=TINY)


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
    one = np.array([only])
    value = scored(metric, (one, one.astype(float), one, one.astype(float)))
    if metric.name in WITHOUT_THE_OTHER[only] | {"rho", "cohen_kappa"}:
        assert value is None
    else:
        assert value == pytest.approx(metric.bounds[metric.higher_is_better], abs=TINY)


@over_metrics
@pytest.mark.parametrize(
    ("label_type", "p_type"),
    [(np.int8, float), (np.uint8, np.float32), (float, np.float16), (bool, np.longdouble)],
)
def test_values_of_any_type_are_scored_as_numbers(metric, label_type, p_type):
    label, p, gold_label, gold_p = drawn(50)
    p = p.astype(p_type)
    of_types = label.astype(label_type), p, gold_label.astype(label_type), gold_p
    assert scored(metric, of_types) == scored(metric, (label, p.astype(float), gold_label, gold_p))


# --- the parts that are not in every metric --------------------------------------------------


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
@pytest.mark.parametrize("unit", [None, np.arange(40) % 23], ids=["items", "units"])
def test_randomisation_is_what_exchanging_the_systems_gives(metric, seed, unit):
    n, trials = 40, 100
    first, second = drawn(n, seed=9), drawn(n, seed=seed, steps=1)
    gold, systems = first[2:], [first[:2], second[:2]]  # the second's p are 0 or 1
    statistics = [metric.statistics(*system, *gold) for system in systems]
    if metric.name in BY_RANK:
        systems = [(label, stats.rankdata(p)) for label, p in systems]
    units = np.arange(n) if unit is None else unit
    size = trials, units.max() + 1
    draws = np.random.default_rng(seed).integers(0, 2, size=size, dtype=np.int8)[:, units]
    differences = []
    for exchanged in (np.zeros(n), *draws):
        one, other = (
            [np.where(exchanged, b, a) for a, b in zip(mine, yours)]
            for mine, yours in (systems, systems[::-1])
        )
        one, other = ((column[0].astype(bool), column[1], *gold) for column in (one, other))
        differences.append(abs(of_exchanged(metric, one) - of_exchanged(metric, other)))
    expected = np.mean(np.array(differences) >= differences[0] - TINY)
    found = randomisation(metric, statistics, [(0, 1), (1, 1), (1, 0)], trials, seed, unit)
    assert found == pytest.approx([expected, 1.0, expected])


# --- oracles ---------------------------------------------------------------------------------


def gaps(truth, p):
    share, mean = calibration_curve(truth, p, n_bins=10)
    return np.abs(share - mean)


def expected_error(truth, p):
    counts = np.bincount(np.searchsorted(np.linspace(0, 1, 11)[1:-1], p), minlength=10)
    return np.sum(gaps(truth, p) * counts[counts > 0]) / len(p)


TO_THE_LAST_DIGIT = {"rho", "macro_f1"}
#: What others make of the arrays that the metric says it reads, the gold first.
ORACLES = {
    "accuracy": sklearn.accuracy_score,
    "rho": lambda gold_p, p: stats.spearmanr(p, gold_p).statistic,
    "balanced_accuracy": sklearn.balanced_accuracy_score,
    "brier": sklearn.brier_score_loss,
    "log_loss": lambda truth, p: sklearn.log_loss(truth, p, labels=[0, 1]),
    "ece": expected_error,
    "mce": lambda truth, p: gaps(truth, p).max(),
    "auroc": sklearn.roc_auc_score,
    "average_precision": sklearn.average_precision_score,
    "macro_f1": lambda truth, label: sklearn.f1_score(truth, label, average="macro"),
    "cohen_kappa": sklearn.cohen_kappa_score,
}


@over_metrics
@pytest.mark.parametrize("steps", [None, 3, 10, 0.5])  # of a half: p is constant
@pytest.mark.parametrize("n", [7, 60, 1000])
def test_oracle(metric, steps, n):
    for seed in range(1, 6):
        columns = drawn(n, seed, steps)
        ours, gold = inputs(metric, columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a constant
            expected = ORACLES[metric.name](gold, ours)
        within = 0 if metric.name in TO_THE_LAST_DIGIT else TINY
        close(scored(metric, columns), expected, within)
        if metric.function:
            close(function_of(metric)(ours, gold), expected, within)


def test_rho_beyond_exact_sums_is_scipys_to_1e_12():
    generator = np.random.default_rng(0)
    x = generator.random(400_000)
    y = np.round(x + generator.normal(0, 1, len(x)), 1)
    assert function_of(EVERY["rho"])(x, y) == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)


@pytest.mark.parametrize("name", ["accuracy", "brier", "log_loss"])
def test_one_value_does_not_stand_for_all(name):
    one, many = np.ones(1), np.array([1.0, 0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"the same shape, got \(1,\) and \(4,\)"):
        EVERY[name].statistics(one, one, many, many)
