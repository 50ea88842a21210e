"""``shroom rate``: the share of hallucinations in outputs without labels."""

import json
from dataclasses import replace

import numpy as np
import pytest
from conftest import DATA, SAMPLE, gold, write_json

from shroom.core.datapoint import Label
from shroom.core.problems import ShroomError
from shroom.detectors.base import Detector
from shroom.detectors.registry import detector
from shroom.inference.run_settings import RUN
from shroom.metrics.prediction_powered import estimate_mean, prediction_powered_mean
from shroom.prediction.hallucination_rate import hallucination_rate
from shroom.scoring.datapoint_files import read


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
    names = [(group.by, group.group, group.n_outputs) for group in rate.groups]
    assert names[0] == ("", "", 120)
    assert names[1:5] == [("task", task, 30) for task in ("DM", "MT", "PG", "TS")]
    assert names[5:] == [("model", "a", 60), ("model", "b", 60)]
    (few,) = [
        g for g in hallucination_rate(TooLow(), points, points[:60]).groups if g.group == "TS"
    ]
    assert (few.n_labelled, few.corrected) == (15, None)


def test_outputs_that_are_labelled_too_are_counted(shroom, tmp_path, points):
    assert hallucination_rate(TooLow(), points[:60], points[30:]).labelled_outputs == 30
    labelled = write_json(tmp_path / "labelled.json", gold(40))
    command = ("rate", labelled, "--labelled", labelled, "--detector", "lexical")
    assert "40 of the outputs are among the labelled ones as well" in shroom(*command)[1]
    assert json.loads(shroom(*command, "--format", "json")[1])["labelled_outputs"] == 40


def test_too_few_labels_are_refused(points):
    unlabelled = [replace(point, label=None) for point in points]
    with pytest.raises(ShroomError, match="at least 30 labelled items and two outputs, got 0"):
        hallucination_rate(TooLow(), points, unlabelled)


def test_a_detector_that_has_seen_the_labels_is_refused(points):
    class Seen(TooLow):
        def in_sample(self, datapoints, run=RUN):
            del run
            return np.ones(len(datapoints), bool)

    with pytest.raises(ShroomError, match="fitted on 120 of the labelled items"):
        hallucination_rate(Seen(), points, points)


def test_the_command_prints_a_table_or_json(shroom, tmp_path):
    outputs = write_json(tmp_path / "outputs.json", gold(50))
    labelled = write_json(tmp_path / "labelled.json", gold(40))
    command = ("rate", outputs, "--labelled", labelled, "--detector", "lexical")
    code, out, err = shroom(*command)
    assert (code, err) == (0, "")
    assert out.splitlines()[2].split()[:2] == ["all", "50"]
    code, out, _ = shroom(*command, "--format", "json")
    found = json.loads(out)
    assert found["groups"][0]["n_labelled"] == 40
    assert found["groups"][1]["corrected"] is None
    wider = json.loads(shroom(*command, "--format", "json", "--confidence", "0.99")[1])
    assert (
        wider["groups"][0]["corrected"]["interval"][0]
        < found["groups"][0]["corrected"]["interval"][0]
    )


def test_nan_is_not_a_confidence(shroom):
    line = ("rate", SAMPLE, "--labelled", SAMPLE, "--detector", "lexical", "--confidence", "nan")
    code, _, err = shroom(*line)
    assert (code, "nan is not a number" in err) == (2, True)


def simulated(y, p, n, m, trials=1000):
    """Return how often the interval holds the rate of all, and its width beside the labels' own."""
    generator = np.random.default_rng(0)
    covered, width, width_alone = 0, 0.0, 0.0
    for _ in range(trials):
        labelled, others = generator.integers(0, len(y), n), generator.integers(0, len(y), m)
        low, high = prediction_powered_mean(y[labelled], p[labelled], p[others]).interval
        alone = estimate_mean(y[labelled]).interval
        covered += low <= y.mean() <= high
        width += high - low
        width_alone += alone[1] - alone[0]
    return covered / trials, width / width_alone


def labels_and_p(points):
    points = [point for point in points if point.label is not None]
    y = np.array([point.label is Label.HALLUCINATION for point in points], float)
    return y, detector("lexical").p(points)


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
    coverage, width = simulated(*labels_and_p(read(path)), n=200, m=2000)
    assert 0.93 <= coverage <= 0.97
    assert width < 1.001  # useless predictions get no weight
