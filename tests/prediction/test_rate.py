"""``shroom rate``: the share of hallucinations in outputs without labels."""

import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import DATA, SAMPLE, gold, write_json

from shroom.core.datapoint import Label, Task
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.registry import detector
from shroom.inference.run_settings import RUN
from shroom.metrics.prediction_powered import prediction_powered_mean
from shroom.prediction.hallucination_rate import hallucination_rate
from shroom.scoring.datapoint_files import read
from shroom.scoring.display.text import figure


class TooLow(Detector):
    """The annotators' proportion, less a fifth: right in order, wrong in level."""

    name = "too-low"

    def p(self, datapoints, run=RUN):
        del run
        return np.array([max(point.p - 0.2, 0) for point in datapoints])


@pytest.fixture
def points():
    return [replace(point, id=None) for point in read(SAMPLE)]


def test_the_detectors_errors_are_corrected(points):
    rate = hallucination_rate(TooLow(), points[::2], points[1::2])
    whole = rate.groups[0]
    true = np.mean([point.label is Label.HALLUCINATION for point in points[::2]])
    assert whole.naive < true - 0.05
    assert abs(whole.corrected.mean - true) < abs(whole.naive - true)
    assert whole.corrected.interval[0] <= true <= whole.corrected.interval[1]


def test_each_task_and_model_has_its_own_rate(points):
    labelled = [replace(point, model="ab"[i % 2]) for i, point in enumerate(points)]
    rate = hallucination_rate(TooLow(), labelled, labelled)
    assert re.fullmatch(
        r"HallucinationRate\(0\.\d{3} \[0\.\d{3}, 0\.\d{3}\], 120 outputs, too-low\)", repr(rate)
    )
    names = [(group.by, group.group, group.n_outputs) for group in rate.groups]
    assert names[0] == ("", "", 120)
    assert names[1:5] == [("task", task, 30) for task in ("DM", "MT", "PG", "TS")]
    assert names[5:] == [("model", "a", 60), ("model", "b", 60)]
    (few,) = [
        g for g in hallucination_rate(TooLow(), points, points[:60]).groups if g.group == "TS"
    ]
    assert (few.n_labelled, few.corrected) == (15, None)


def labelled_as(points, label):
    return [replace(point, label=label) for point in points]


@pytest.mark.parametrize("label", list(Label))
def test_labels_of_one_kind_leave_an_interval(points, label):
    whole = hallucination_rate(TooLow(), points[:60], labelled_as(points[60:], label)).groups[0]
    share = float(label is Label.HALLUCINATION)
    for estimate in (whole.corrected, whole.labels_alone):
        low, high = estimate.interval
        assert estimate.mean == share
        assert low <= share <= high
        assert high - low > 0.05


def of_task(points, *tasks):
    return [point for point in points if point.task.name in tasks]


def test_only_the_labels_of_the_outputs_tasks_count(points):
    outputs, labelled = of_task(points[::2], "PG"), points[1::2] * 3
    rate = hallucination_rate(TooLow(), outputs, labelled)
    only = hallucination_rate(TooLow(), outputs, of_task(labelled, "PG"))
    assert rate == only
    assert rate.groups[0].n_labelled == 42


def test_the_outputs_mix_of_tasks_counts(points):
    bad = labelled_as(of_task(points, "DM"), Label.HALLUCINATION)
    good = labelled_as(of_task(points, "PG"), Label.NOT_HALLUCINATION)
    whole = hallucination_rate(TooLow(), bad[:5] + good * 2, bad * 2 + good).groups[0]
    assert whole.labels_alone.mean == pytest.approx(5 / 65)
    assert whole.corrected.mean == pytest.approx(5 / 65, abs=0.02)
    assert whole.corrected.interval[0] <= 5 / 65 <= whole.corrected.interval[1]


@pytest.mark.parametrize("side", ["outputs", "labelled"])
def test_some_items_without_a_task_are_refused(points, side):
    sides = {"outputs": points[::2], "labelled": points[1::2]}
    sides[side] = [replace(point, task=Task("")) for point in sides[side]]
    with pytest.raises(ShroomError, match="some items have a task, but others do not"):
        hallucination_rate(TooLow(), **sides)


def test_the_verdict(points):
    rate = hallucination_rate(TooLow(), points[::2], points[1::2], confidence=0.9)
    whole = f"The hallucination rate is {figure(rate.groups[0].corrected.mean)} (90% interval "
    assert rate.render("text").startswith(whole)


def test_no_more_labels_are_needed_than_there_are_outputs(points):
    groups = hallucination_rate(TooLow(), points[:40], points).groups
    assert all(group.labels_for_half <= group.n_outputs for group in groups if group.corrected)
    assert groups[0].labels_for_half == 40


def test_more_confidence_gives_a_wider_interval(refused, in_json, tmp_path):
    labelled = write_json(tmp_path / "labelled.json", gold(40))
    command = ("rate", labelled, "--labelled", labelled, "--detector", "lexical")
    found, wider = (in_json(*command, "--confidence", confidence) for confidence in (0.95, 0.99))
    low, wider_low = (it["groups"][0]["corrected"]["interval"][0] for it in (found, wider))
    assert wider_low < low
    assert "expected a number, got nan" in refused(*command, "--confidence", "nan", code=2)


@pytest.mark.parametrize(
    ("tasks", "more", "said"),
    [
        (("DM", "MT", "PG"), 0, "some outputs have the task TS, but fewer than two"),
        (("DM", "MT", "PG"), 1, "some outputs have the task TS, but fewer than two"),
        ((), 0, r"at least 30 labelled items .*; got 0"),
    ],
)
def test_too_few_labels_are_refused(points, tasks, more, said):
    labelled = of_task(points, *tasks) + of_task(points, "TS")[:more]
    with pytest.raises(ShroomError, match=said):
        hallucination_rate(TooLow(), points, labelled or labelled_as(points, None))


def test_a_detector_that_has_seen_the_labels_is_refused(points):
    class Seen(TooLow):
        def in_sample(self, datapoints, run=RUN):
            del run
            return np.ones(len(datapoints), bool)

    with pytest.raises(ShroomError, match="fitted on 120 of the labelled items"):
        hallucination_rate(Seen(), points, points)


def simulated(y, p, n, m, trials=1000):
    """Return how often the interval holds the rate of all, and its width beside the labels' own."""
    generator = np.random.default_rng(0)
    covered, width, width_alone = 0, 0.0, 0.0
    for _ in range(trials):
        labelled, others = generator.integers(0, len(y), n), generator.integers(0, len(y), m)
        low, high = prediction_powered_mean(y[labelled], p[labelled], p[others]).interval
        alone = prediction_powered_mean(y[labelled], np.zeros(n), np.zeros(m)).interval
        covered += low <= y.mean() <= high
        width += high - low
        width_alone += alone[1] - alone[0]
    return covered / trials, width / width_alone


def labels_and_p(points):
    points = [point for point in points if point.label is not None]
    y = np.array([point.label is Label.HALLUCINATION for point in points], float)
    return y, detector("lexical").p(points)


@pytest.mark.parametrize("n", [30, 50, 100])
@pytest.mark.parametrize("rate", [0.01, 0.02, 0.05, 0.24, 0.95])
@pytest.mark.parametrize("sensitivity", [0.5, 0.95])
def test_intervals_cover_rare_and_frequent_hallucinations(rate, n, sensitivity):
    """Also of a detector that is nearly always right, whose few errors the labels may not show."""
    generator = np.random.default_rng(3)
    y = np.repeat([1.0, 0.0], [round(1000 * rate), 1000 - round(1000 * rate)])
    right = generator.random(1000) < np.where(y == 1, sensitivity, 0.97)
    coverage, _ = simulated(y, np.where(right, y, 1 - y), n=n, m=2000, trials=400)
    assert coverage >= 0.92


@pytest.mark.real
def test_intervals_cover_the_rate_and_are_shorter_on_val():
    files = ("val.model-agnostic.json", "val.model-aware.v2.json")
    y, p = labels_and_p([x for name in files for x in read(DATA / "semeval2024" / name)])
    coverage, width = simulated(y, p, n=200, m=2000)
    assert 0.93 <= coverage <= 0.97
    assert width < 0.95


@pytest.mark.real
@pytest.mark.parametrize(
    "name", ["factual_consistency", "felm", "verifiability", "mushroom2025", "dreamcatcher"]
)
def test_intervals_cover_the_rate_on_other_data(shroom, tmp_path, name):
    path = tmp_path / "converted.json"
    assert shroom("datasets", "convert", name, DATA / name, "-o", path)[0] == 0
    points = read(path)
    some = labels_and_p(points[:: len(points) // 1000 + 1])
    coverage, width = simulated(*some, n=200, m=2000, trials=500)
    assert 0.93 <= coverage <= 0.97
    assert width < 1.001  # useless predictions get no weight
