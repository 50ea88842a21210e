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

from shroom.metrics import citation_metrics, segment_metrics
from shroom.metrics.agreement import AGREEMENT
from shroom.metrics.bootstrap import bootstrap, jackknife, joint_bootstrap, resamples
from shroom.metrics.classification import COHEN_KAPPA, MACRO_F1
from shroom.metrics.human_ceiling import CEILING
from shroom.metrics.intervals import Intervals, estimates
from shroom.metrics.paired_tests import randomisation
from shroom.scoring.metric_registry import METRICS, metric

EVERY = {each.name: each for each in (*map(metric, METRICS), MACRO_F1, COHEN_KAPPA)}
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
        all_but("accuracy", "rho", "balanced_accuracy", "macro_f1", "cohen_kappa"),
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
    statistics = metric.statistics(*columns)
    kept, weights = statistics.copy(), np.ones((2, 30))
    metric.score(statistics, weights)
    if metric.influence:
        metric.influence(statistics)
    if metric.exchange:
        metric.exchange.terms(statistics)
    for now, before in zip((statistics, weights, *columns), (kept, np.ones((2, 30)), *drawn(30))):
        np.testing.assert_array_equal(now, before)


@over_metrics
def test_joint_resamples_are_those_of_each_alone(metric):
    first, second = (metric.statistics(*drawn(40, seed=seed)) for seed in (1, 2))
    rows = joint_bootstrap([(metric, first), (metric, second)], 50, seed=4)
    for row, statistics in zip(rows, (first, second)):
        np.testing.assert_array_equal(row, bootstrap(metric, statistics, 50, seed=4))


# --- every metric there is, by its rows --------------------------------------------------------


def by_rows():
    """Return all metrics, also of segments, citations and annotators, each with some rows."""
    generator = np.random.default_rng(0)
    yield from ((each, each.statistics(*drawn(30))) for each in EVERY.values())
    votes = generator.integers(0, 2, (30, 4))
    yield from ((figure, votes) for figure in (*AGREEMENT.values(), *CEILING.values()))
    worthy, judged = generator.integers(1, 6, 30), generator.integers(1, 8, 30)
    few = generator.integers(0, worthy + 1), generator.integers(0, judged + 1)
    ratings = generator.integers(1, 6, (2, 30)).astype(float)
    ratings[0, 3] = np.nan
    cited = citation_metrics.statistics(worthy, few[0], judged, few[1], *ratings)
    yield from ((each, cited) for each in citation_metrics.CITATION_METRICS)
    response = np.concatenate((np.arange(30), generator.integers(0, 30, 120)))
    flagged, p, wrong, _ = drawn(150, steps=5)
    yield from segment_metrics.scored(flagged, wrong, response, 32, p)


@pytest.mark.parametrize(
    ("metric", "rows"), [*by_rows()], ids=lambda each: getattr(each, "name", "")
)
def test_rows_may_be_permuted_repeated_drawn_and_left_out(metric, rows):
    n, generator = len(rows), np.random.default_rng(2)
    assert metric(generator.permutation(rows)) == pytest.approx(metric(rows), abs=TINY)
    times = generator.integers(0, 4, n)
    repeated = metric(np.repeat(rows, times, axis=0))
    assert metric.weighted(rows, times) == pytest.approx(repeated, abs=TINY)
    chosen = np.random.default_rng(5).integers(0, n, (1, n))[0]
    assert bootstrap(metric, rows, count=1, seed=5) == pytest.approx(metric(rows[chosen]), abs=TINY)
    left_out = [metric(np.delete(rows, place, axis=0)) for place in range(n)]
    assert jackknife(metric, rows) == pytest.approx(left_out, abs=TINY)
    scores, (low, high) = bootstrap(metric, rows, count=200), metric.bounds
    assert not np.any((scores < low) | (scores > high))
    assert np.isnan(metric.score(rows, np.zeros((2, n)))).all()
    assert metric(rows[:0]) is None
    assert estimates([(metric, rows[:0])], Intervals(9)) == ({metric.name: None},) * 2


# --- values ----------------------------------------------------------------------------------


def inputs(metric, columns):
    """Return the columns that a metric says it reads: the system's, then the gold's."""
    return [columns[COLUMNS.index(each)] for each in metric.inputs]


@over_metrics
@settings(max_examples=FEW)
@given(columns=SYSTEMS)
def test_any_system_has_a_score_within_bounds_or_none_and_no_part_warns(metric, columns):
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        statistics = metric.statistics(*columns)
        value = metric(statistics)
        jackknife(metric, statistics)
        bootstrap(metric, statistics, 20)
        moved = metric.influence(statistics) if metric.influence else None
        if metric.exchange:
            terms = metric.exchange.terms(statistics)
            exchanged = metric.exchange.score(terms.sum(axis=0), len(statistics))
    low, high = metric.bounds
    assert value is None or low - TINY <= value <= high + TINY
    as_float = np.nan if value is None else value
    if metric.influence:
        assert moved.shape == (len(statistics),)
        assert np.isnan(moved).any() if value is None else abs(moved.sum()) < 1e-9
    if metric.exchange:
        assert (len(terms), terms.dtype) == (len(statistics), np.float64)
        np.testing.assert_allclose(exchanged, as_float, rtol=0, atol=TINY)
    if metric.function:
        module, _, name = metric.function.partition(":")
        found = getattr(importlib.import_module(module), name)(*inputs(metric, columns))
        assert isinstance(found, float)
        np.testing.assert_allclose(found, as_float, rtol=0, atol=TINY)


@over_metrics
@settings(max_examples=FEW)
@given(truth=st.lists(st.booleans(), min_size=2, max_size=12).filter(lambda y: 0 < sum(y) < len(y)))
def test_a_perfect_system_has_the_best_value(metric, truth):
    gold = np.array(truth)
    value = scored(metric, (gold, gold.astype(float), gold, gold.astype(float)))
    best = metric.bounds[metric.higher_is_better]
    assert value == pytest.approx(best, abs=TINY)


@over_metrics
def test_a_system_that_is_always_wrong_has_the_worst_value(metric):
    gold = np.arange(20) % 2 == 0
    value = scored(metric, (~gold, 1.0 - gold, gold, gold.astype(float)))
    worst = metric.bounds[not metric.higher_is_better]
    if metric.name == "average_precision":  # all hallucinations come last, among half of all items
        worst = 0.5
    assert value == pytest.approx(worst, abs=TINY)


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
    label, p, *gold = drawn(50)
    single = p.astype(np.float32)
    as_double = scored(metric, (label, single.astype(float), *gold))
    assert scored(metric, (label, single, *gold)) == as_double


# --- the parts that are not in every metric --------------------------------------------------


@with_("influence")
@pytest.mark.parametrize("steps", [None, 7])
def test_influence_is_the_derivative_by_weight(metric, steps):
    statistics, step = metric.statistics(*drawn(40, 1, steps)), 1e-6
    up, down = (metric.score(statistics, 1 + sign * step * np.eye(40)) for sign in (1, -1))
    found = metric.influence(statistics)
    np.testing.assert_allclose(found, (up - down) / (2 * step), rtol=0, atol=1e-8)
    assert found.sum() == pytest.approx(0, abs=1e-12)


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


def gaps(truth, p):
    share, mean = calibration_curve(truth, p, n_bins=10)
    return np.abs(share - mean)


def expected_error(truth, p):
    counts = np.bincount(np.searchsorted(np.linspace(0, 1, 11)[1:-1], p), minlength=10)
    return np.sum(gaps(truth, p) * counts[counts > 0]) / len(p)


#: What others make of the arrays that the metric says it reads, the gold first.
ORACLES = {
    "accuracy": sklearn.accuracy_score,
    "rho": lambda gold_p, p: stats.spearmanr(gold_p, p).statistic,
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
@pytest.mark.parametrize("steps", [None, 3, 10])
@pytest.mark.parametrize("n", [7, 60, 1000])
def test_oracle(metric, steps, n):
    for seed in range(1, 6):
        columns = drawn(n, seed, steps)
        ours, gold = inputs(metric, columns)
        expected = ORACLES[metric.name](gold, ours)
        assert scored(metric, columns) == pytest.approx(expected, rel=0, abs=TINY)


@over_metrics
def test_constant_p_is_scored_as_by_the_oracle(metric):
    gold = np.arange(10) < 3
    columns = np.ones(10, bool), np.full(10, 0.7), gold, gold.astype(float)
    ours, truth = inputs(metric, columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ORACLES[metric.name](truth, ours)
    value = scored(metric, columns)
    np.testing.assert_allclose(np.nan if value is None else value, expected, atol=TINY)
