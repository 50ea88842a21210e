"""Fitting: the logistic model, thresholds, and out-of-fold p."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import TASKS, Datapoint, Label
from shroom.detectors.fitted import FittedDetector
from shroom.learners.calibrators import smoothed
from shroom.learners.folds import even_splits, linked, random_splits
from shroom.learners.logistic import Logistic
from shroom.metrics.accuracy_by_threshold import thresholds_by_task

RNG = np.random.default_rng
NAMES = np.array(list(TASKS))


def points(n=120, seed=0):
    """Return datapoints whose hypotheses say nothing, and whose p is by chance."""
    p = RNG(seed).integers(0, 6, n) / 5
    return [
        Datapoint(
            hyp=f"hypothesis {place}",
            src=f"source {place}",
            tgt=f"target {place}",
            task=list(TASKS.values())[place % 3],
            p=float(value),
            label=Label.HALLUCINATION if value > 0.5 else Label.NOT_HALLUCINATION,
        )
        for place, value in enumerate(p)
    ]


def gold_of(datapoints):
    return np.array([point.p for point in datapoints])


class Parrot(FittedDetector):
    """Remembers what it was fitted on, and knows nothing else."""

    name = "parrot"
    threshold = 0.5
    known: dict = {}  # noqa: RUF012

    def _p(self, datapoints, _):
        return np.array([self.known.get(point.hyp, 0.5) for point in datapoints])

    def _fit(self, datapoints, p, _run):
        self.known = {point.hyp: float(value) for point, value in zip(datapoints, p)}


def columns(n=300, k=4, seed=0):
    values = RNG(seed).normal(size=(n, k))
    values[: n // 3, 0] = np.round(values[: n // 3, 0])  # ties
    tasks = NAMES[RNG(seed).integers(0, 4, n)]
    p = np.round(1 / (1 + np.exp(-values[:, 0] * (tasks == "DM") - values[:, 1])) * 5) / 5
    return values, tasks, p


# the learners


def test_our_logistic_model_is_sklearns():
    from sklearn.linear_model import LogisticRegression

    values, tasks, p = columns()
    standard = (values - values.mean(0)) / values.std(0)
    rows = np.column_stack((np.ones(len(values)), standard))
    design = np.hstack([standard, *[rows * (tasks == task)[:, None] for task in TASKS]])
    truth, weight = np.repeat([True, False], len(p)), np.concatenate((p, 1 - p))
    for c in (0.01, 1.0):
        ours = Logistic.fit(values, tasks, p, c)
        model = LogisticRegression(C=c, max_iter=10_000, tol=1e-10)
        model.fit(np.vstack((design, design)), truth, sample_weight=weight)
        expected = model.predict_proba(design)[:, 1]
        np.testing.assert_allclose(ours.p(values, tasks), expected, atol=1e-5)
    assert smoothed(np.array([1.0, 1.0, 0.0, 0.0])).tolist() == [0.75, 0.75, 0.25, 0.25]


@pytest.mark.parametrize("case", ["usual", "constant column", "all sure", "one row each"])
def test_the_logistic_model_survives_json_and_odd_data(case):
    values, tasks, p = columns()
    if case == "constant column":
        values[:, 2] = 3.0
    elif case == "all sure":
        p = np.ones(len(p))
    elif case == "one row each":
        values, tasks, p = values[:2], tasks[:2], np.array([0.0, 1.0])
    fitted = Logistic.fit(values, tasks, p, 1)
    again = Logistic.from_dict(json.loads(json.dumps(fitted.to_dict())), values.shape[1])
    np.testing.assert_array_equal(fitted.p(values, tasks), again.p(values, tasks))
    found = fitted.p(values, np.repeat("TS", len(values)))
    assert ((found >= 0) & (found <= 1)).all()


# thresholds


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=80))
def test_a_tuned_threshold_is_never_worse_where_it_was_tuned(rows):
    p, truth = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    tasks = np.repeat(["DM", "MT"], len(p))[: len(p)]
    common, own = thresholds_by_task(p, truth, tasks)
    assert 0.05 <= common <= 0.95
    assert ((p > common) == truth).sum() >= ((p > 0.5) == truth).sum()
    for task, threshold in own.items():
        here = tasks == task
        assert (((p > threshold) == truth)[here]).sum() > (((p > common) == truth)[here]).sum()


def test_thresholds_move_for_reasons_and_not_by_chance():
    p = RNG(0).random(400)
    tasks = np.repeat(["DM", "MT"], 200)
    shifted = np.where(tasks == "DM", p > 0.25, p > 0.5)
    common, own = thresholds_by_task(p, shifted, tasks)
    assert own.get("DM", common) == pytest.approx(0.25, abs=0.06)
    assert own.get("MT", common) == pytest.approx(0.5, abs=0.06)
    moved = 0
    for seed in range(20):
        truth = RNG(seed).random(400) < p  # 0.5 is best, and chance says otherwise
        moved += thresholds_by_task(p, truth, tasks) != (0.5, {})
    assert moved <= 3


# cross-validation


@pytest.mark.parametrize(
    "shared",
    [
        lambda place: {"hyp": f"hypothesis {place // 3}"},
        lambda place: {"tgt": f"target {place // 3} "},
        lambda place: {"tgt": "", "src": f"source {place // 3}"},
        # a chain: the first two of three share the hypothesis, the last two the target
        lambda place: {
            "hyp": f"hypothesis {place // 3} {place % 3 == 2}",
            "tgt": f"target {place // 3} {place % 3 == 0}",
        },
    ],
    ids=["hypothesis", "target", "source without a target", "chain"],
)
def test_datapoints_that_share_a_text_stay_in_one_fold(shared):
    found = [replace(point, **shared(place)) for place, point in enumerate(points(30))]
    assert linked(found).tolist() == [place // 3 for place in range(30)]
    for train, test in even_splits(found, 5):
        assert not set(train // 3) & set(test // 3)
    lacking = [replace(point, src="", tgt=" ") for point in points(4)]
    assert linked(lacking).tolist() == [0, 1, 2, 3]  # without a reference, none is shared
    assert linked([]).tolist() == []


def test_a_group_is_in_one_random_fold():
    groups = np.arange(40) // 4
    splits = random_splits(groups, 3, seed=1)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(40))
    for train, test in splits:
        assert sorted(np.concatenate((train, test))) == list(range(40))
        assert not set(groups[train]) & set(groups[test])
    assert (random_splits(groups, 3, seed=2)[0][1] != splits[0][1]).any()


def test_out_of_fold_fits_on_the_p_that_it_is_given():
    found = points(21)
    twice = found * 2  # a parrot in the other fold knows nothing of it
    np.testing.assert_array_equal(Parrot().out_of_fold(twice, gold_of(twice), 4), 0.5)

    class Mean(Parrot):
        def _fit(self, _datapoints, p, _run):
            self.known = dict.fromkeys((point.hyp for point in found), float(p.mean()))

    nameless = [replace(point, p=None) for point in found]
    for asked in (found, nameless):
        p = Mean().out_of_fold(asked, np.full(21, 0.25), 3)
        np.testing.assert_allclose(p, 0.25)
