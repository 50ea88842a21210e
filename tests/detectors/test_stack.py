"""Stacking: the learners, the thresholds, and that nothing is fitted on what it has seen."""

import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA, SAMPLE, write_json
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import TASKS, Datapoint, Label, Task
from shroom.core.problems import ShroomError
from shroom.core.registry import Entry
from shroom.detectors.base import Detector
from shroom.detectors.fitted import FittedDetector
from shroom.detectors.lexical import Lexical
from shroom.detectors.out_of_fold import TrainingItems, splits
from shroom.detectors.registry import REGISTRY, detector
from shroom.detectors.stack import Stack
from shroom.inference.run_settings import RUN, Run
from shroom.learners.logistic import Logistic
from shroom.metrics.accuracy_by_threshold import thresholds_by_task
from shroom.metrics.correlation import rho
from shroom.scoring.datapoint_files import read

RNG = np.random.default_rng
NAMES = np.array(list(TASKS))


def points(n=120, seed=0):
    """Return datapoints whose hypotheses say nothing, and whose p is by chance."""
    p = RNG(seed).integers(0, 6, n) / 5
    return [
        Datapoint(
            hyp=f"hypothesis {place}",
            src="a source",
            tgt="a target",
            task=list(TASKS.values())[place % 3],
            p=float(value),
            label=Label.HALLUCINATION if value > 0.5 else Label.NOT_HALLUCINATION,
        )
        for place, value in enumerate(p)
    ]


def gold_of(datapoints):
    return np.array([point.p for point in datapoints])


class Oracle(Detector):
    """Knows p, with some noise; cannot be fitted, and counts what it is asked."""

    name = "oracle"
    asked: list = []  # noqa: RUF012

    def __init__(self, noise=0.2, seen=False):
        self.noise, self.seen = noise, seen

    def p(self, datapoints, _=RUN):
        Oracle.asked.append(len(datapoints))
        if not datapoints:
            return np.empty(0)
        noise = [RNG(zlib.crc32(point.hyp.encode())).normal() for point in datapoints]
        return np.clip(gold_of(datapoints) + self.noise * np.array(noise), 0, 1)

    def in_sample(self, datapoints, _=RUN):
        return np.full(len(datapoints), self.seen)


class Parrot(FittedDetector):
    """Remembers what it was fitted on, and knows nothing else."""

    name = "parrot"
    threshold = 0.5
    thresholds = {}  # noqa: RUF012
    training_items = TrainingItems()

    def __init__(self, model=None):
        self.model = model
        self.known = json.loads(Path(model).read_text(encoding="utf-8")) if model else {}
        self.training_items = TrainingItems()

    def _p(self, datapoints, _):
        return np.array([self.known.get(point.hyp, 0.5) for point in datapoints])

    def _fit(self, datapoints, p, _run):
        self.known = {point.hyp: float(value) for point, value in zip(datapoints, p)}

    def save(self, path, **_):
        Path(path).write_text(json.dumps(self.known), encoding="utf-8")

    def remember(self, items):
        self.training_items = items


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    for made in (Oracle, Parrot):
        entry = Entry(f"{__name__}:{made.__name__}", "for tests")
        monkeypatch.setitem(REGISTRY, made.name, entry)
    Oracle.asked.clear()


def columns(n=300, k=4, seed=0):
    values = RNG(seed).normal(size=(n, k))
    values[: n // 3, 0] = np.round(values[: n // 3, 0])  # ties
    tasks = NAMES[RNG(seed).integers(0, 4, n)]
    p = np.round(1 / (1 + np.exp(-values[:, 0] * (tasks == "DM") - values[:, 1])) * 5) / 5
    return values, tasks, p


# the learners


def doubled(rows, p):
    sure = np.clip(p, 1e-3, 1 - 1e-3)
    truth = np.repeat([True, False], len(rows))
    return np.vstack((rows, rows)), truth, np.concatenate((sure, 1 - sure))


def test_our_logistic_model_is_sklearns():
    from sklearn.linear_model import LogisticRegression

    values, tasks, p = columns()
    standard = (values - values.mean(0)) / values.std(0)
    rows = np.column_stack((np.ones(len(values)), standard))
    design = np.hstack([standard, *[rows * (tasks == task)[:, None] for task in TASKS]])
    X, y, _ = doubled(design, p)  # noqa: N806
    weight = np.concatenate((p, 1 - p))
    for c in (0.01, 1.0):
        ours = Logistic.fit(values, tasks, p, c)
        model = LogisticRegression(C=c, max_iter=10_000, tol=1e-10)
        model.fit(X, y, sample_weight=weight)
        expected = model.predict_proba(design)[:, 1]
        np.testing.assert_allclose(ours.p(values, tasks), expected, atol=1e-5)


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
    assert limits_of(common, own, "DM") == pytest.approx(0.25, abs=0.06)
    assert limits_of(common, own, "MT") == pytest.approx(0.5, abs=0.06)
    moved = 0
    for seed in range(20):
        truth = RNG(seed).random(400) < p  # 0.5 is best, and chance says otherwise
        moved += thresholds_by_task(p, truth, tasks) != (0.5, {})
    assert moved <= 3


def limits_of(common, own, task):
    return own.get(task, common)


# cross-validation


def test_duplicates_stay_in_one_fold():
    doubled_points = points(30) * 2
    for train, test in splits(doubled_points, 5):
        hyps = [{doubled_points[i].hyp for i in part} for part in (train, test)]
        assert not hyps[0] & hyps[1]


def test_out_of_fold_fits_on_the_p_that_it_is_given():
    found = points(20)
    twice = found * 2  # a parrot in the other fold knows nothing of it
    np.testing.assert_array_equal(Parrot().out_of_fold(twice, gold_of(twice), 4)[0], 0.5)

    class Mean(Parrot):
        def _fit(self, _, p, _run):
            self.known = dict.fromkeys((point.hyp for point in found), float(p.mean()))

    np.testing.assert_allclose(Mean().out_of_fold(found, np.full(20, 0.25), 4)[0], 0.25)
    nameless = [replace(point, p=None) for point in found]
    np.testing.assert_allclose(Mean().out_of_fold(nameless, np.full(20, 0.25), 4)[0], 0.25)


def test_thresholds_come_from_the_fold_that_judges():
    class Counting(Parrot):
        def _fit(self, datapoints, *_):
            self.threshold = len(datapoints) / 100
            self.thresholds = {"MT": 0.9}

    found = points(21)
    _, held = Counting().out_of_fold(found, gold_of(found), 3)
    expected = [0.9 if point.task == Task.MT else 0.14 for point in found]
    assert held.tolist() == expected


# the stack


def test_a_detector_that_knows_by_heart_is_not_believed():
    found = points(150)
    p = gold_of(found)
    settings = {"detectors": "parrot", "features": False, "folds": 3}
    judged, _ = Stack(**settings).out_of_fold(found, p, 3)
    assert abs(judged - p.mean()).max() < 0.35
    stack = Stack(**settings).fit(found, p)
    # fitted on everything, the parrot repeats all of it; the stack has learnt not to listen
    assert np.std(stack.p(found)) < 0.25
    assert rho(judged, p) < 0.25


def test_a_detector_that_knows_is_believed():
    found = points(150)
    stack = Stack(None, ["parrot", "oracle"], features=False, folds=3)
    judged, _ = stack.out_of_fold(found, gold_of(found), 3)
    assert rho(judged, gold_of(found)) > 0.7


def test_what_is_not_fitted_is_asked_once():
    found = points(60)
    stack = Stack(detectors=["oracle"], features=False, folds=3)
    stack.out_of_fold(found, gold_of(found), 5)
    assert Oracle.asked == [60]


def test_samples_without_ids_can_be_stacked(tmp_path):
    found = points(40)
    rows = [{"samples": ["hypothesis 1", "hypothesis"], "hyp": point.hyp} for point in found]
    table = {"name": "selfcheck", "samples": str(write_json(tmp_path / "s.json", rows))}
    p, _ = Stack(detectors=[table], folds=3).out_of_fold(found, gold_of(found), 3)
    assert p.shape == (40,)


def test_what_was_saved_says_the_same(tmp_path):
    found = read(SAMPLE)
    inputs = ["lexical", {"name": "oracle", "noise": 0.4}, "parrot"]
    stack = Stack(detectors=inputs, folds=3).fit(found, gold_of(found))
    stack.remember(TrainingItems.of(found))
    path = tmp_path / "deep" / "stack.json"
    stack.save(path, command="shroom fit stack", folds=3)
    again = detector("stack", model=str(path))
    seen = Run(in_sample=True)
    np.testing.assert_allclose(again.p(found, seen), stack.p(found, seen), atol=2e-5)
    assert again.thresholds == stack.thresholds
    assert again.threshold == stack.threshold
    assert again.in_sample(found).all()
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert content["command"] == "shroom fit stack"
    assert [row["name"] for row in content["inputs"]] == ["lexical", "oracle", "parrot"]
    assert all(not row.get("fitted", "").startswith("/") for row in content["inputs"])
    assert not list(tmp_path.rglob("*.pkl"))
    # what lies beside it goes with it, and without it there is a sentence
    path.rename(tmp_path / "stack.json")
    with pytest.raises(ShroomError, match="is missing: expected"):
        Stack(model=tmp_path / "stack.json").p(found)


def test_saving_again_leaves_an_older_file_whole(tmp_path):
    found = points(40)
    path, older = tmp_path / "stack.json", tmp_path / "older.json"
    Stack(detectors="parrot", features=False).fit(found, gold_of(found)).save(path)
    older.write_bytes(path.read_bytes())
    before = Stack(model=older).p(found)
    Stack(detectors="parrot", features=False).fit(found, 1 - gold_of(found)).save(path)
    np.testing.assert_array_equal(Stack(model=older).p(found), before)


def test_every_task_has_weights_also_those_without_data():
    found = points(60)
    stack = Stack(detectors=["lexical", "oracle"]).fit(found, gold_of(found))
    simplification = [replace(found[0], task=Task.TS)]
    assert 0 <= stack.p(simplification)[0] <= 1
    assert set(stack.thresholds) <= {"DM", "MT", "PG"}
    assert stack.p([]).shape == (0,)


def test_thresholds_of_tasks_are_kept_and_a_given_one_wins(tmp_path):
    found = points(60)
    path = tmp_path / "s.json"
    Stack(detectors="oracle", features=False).fit(found, gold_of(found)).save(path)
    write_json(path, {**json.loads(path.read_text()), "threshold": 0.4, "thresholds": {"DM": 0.3}})
    assert Stack(model=path).thresholds_of(found[:2]).tolist() == [0.3, 0.4]
    assert Stack(model=path, threshold=0.7).thresholds_of(found[:2]).tolist() == [0.7, 0.7]
    again = Stack(model=path, features=False, threshold=0.9).fit(found, gold_of(found))
    again.save(path)  # with the detectors of the file that it was read from
    again = Stack(model=path)
    assert (again.threshold, again.thresholds) == (0.9, {})
    assert again.thresholds_of(found[:3]).tolist() == [0.9] * 3


# what must not be


def test_a_kept_detector_that_answers_in_sample_is_refused():
    found = points(40)
    table = {"name": "oracle", "seen": True}
    with pytest.raises(ShroomError, match=r"oracle was fitted on 40 of these 40.* other data"):
        Stack(detectors=[table], features=False).fit(found, gold_of(found))


def frozen(path, points, items):
    """Return an input that was fitted on points and remembers items."""
    lexical = Lexical().fit(points, gold_of(points))
    lexical.remember(items)
    lexical.save(path)
    return {"name": "lexical", "model": str(path), "frozen": True}


@pytest.mark.parametrize(
    "part", [lambda found: found, lambda found: found[::-1], lambda found: found[39:]]
)
def test_a_frozen_detector_without_out_of_fold_p_is_refused(tmp_path, monkeypatch, part):
    found = points(40)
    table = frozen(tmp_path / "lexical.json", found, TrainingItems.of(found))
    others = [replace(point, hyp=f"other {place}") for place, point in enumerate(found)]
    together = [*part(found), *others]
    # a cross-validation scatters the datapoints, so it is refused before the folds
    monkeypatch.setattr(Parrot, "fit", None)
    stack = Stack(detectors=["parrot", table])
    for refuse in (
        lambda: stack.fit(together, gold_of(together)),
        lambda: stack.out_of_fold(together, gold_of(together), 3),
    ):
        with pytest.raises(ShroomError, match="leave out frozen = true"):
            refuse()


def test_a_frozen_detector_is_stacked_by_its_out_of_fold_p(tmp_path):
    found = points(60)
    unseen = RNG(1).random(60)
    items = TrainingItems.of(found, unseen, np.full(60, 0.5))
    table = frozen(tmp_path / "lexical.json", found, items)
    stack = Stack(detectors=[table], features=False).fit(found, gold_of(found))
    others = [replace(point, hyp=point.hyp + "!") for point in found]
    fresh = Stack(detectors=[{"name": "oracle"}], features=False).fit(found, gold_of(found))
    # noise has no weight, which an in-sample p would have had
    spread = [np.ptp(one.p(others)) for one in (stack, fresh)]
    assert spread[0] < spread[1] / 2
    assert not stack.in_sample(others).any()


def test_fitted_out_of_fold_inside_nothing_is_refused():
    found = read(SAMPLE)
    stack = Stack(detectors=[{"name": "lexical"}])
    stack.fit(found, gold_of(found))
    # its own weights have seen them, and nobody has cross-validated these
    stack.remember(TrainingItems.of(found))
    assert stack.in_sample(found).all()


def test_a_stack_inside_a_stack_remembers_its_items(tmp_path):
    found = points(60)
    inner = Stack(detectors="parrot", features=False).fit(found[:40], gold_of(found[:40]))
    inner.remember(TrainingItems.of(found[:40]))
    inner.save(tmp_path / "inner.json")
    table = {"name": "stack", "model": str(tmp_path / "inner.json"), "frozen": True}
    with pytest.raises(ShroomError, match="stack was fitted on 35 of these 45 datapoints"):
        Stack(detectors=[table], features=False).fit(found[5:50], gold_of(found[5:50]))
    fresh = [replace(point, hyp=point.hyp + "!") for point in found]
    again = Stack(detectors=[table], features=False).fit(fresh, gold_of(fresh))
    assert again.in_sample(found).tolist() == [True] * 40 + [False] * 20


def test_the_command_refuses_before_it_fits(tmp_path, shroom, monkeypatch):
    found = read(SAMPLE)
    table = frozen(tmp_path / "lexical.json", found, TrainingItems.of(found))
    recipe = tmp_path / "stack.toml"
    listed = f'{{name = "lexical", model = "{table["model"]}", frozen = true}}'
    recipe.write_text(f'detector = "stack"\ndetectors = ["parrot", {listed}]\n')
    monkeypatch.setattr(Parrot, "fit", None)
    for folds in (0, 3):
        code, _, err = shroom("fit", recipe, SAMPLE, "-o", tmp_path / "s.json", "--folds", folds)
        assert (code, "lexical was fitted on 120 of these 120" in err) == (1, True), err


# what a record says of it


def test_its_identity_is_that_of_its_file_and_its_detectors(tmp_path):
    found = read(SAMPLE)[:40]
    stack = Stack(detectors=["lexical", "oracle"]).fit(found, gold_of(found))
    assert stack.identity == "stack as fitted"
    stack.save(tmp_path / "s.json")
    again = Stack(model=tmp_path / "s.json")
    assert re.fullmatch("stack [0-9a-f]{16}", again.identity)
    assert Stack(model=str(tmp_path / "s.json")).identity == again.identity
    (inside,) = tmp_path.glob("s.inputs-*/0-lexical")
    inside.write_text(inside.read_text() + "\n")
    assert Stack(model=tmp_path / "s.json").identity != again.identity
    inside.write_text(inside.read_text()[:-1])
    (tmp_path / "s.json").write_text((tmp_path / "s.json").read_text() + "\n")
    assert Stack(model=tmp_path / "s.json").identity != again.identity
    # fitted again, it is no longer what the file says
    again.fit(found, gold_of(found))
    assert again.identity == "stack as fitted"


def test_it_is_held_against_what_its_detectors_read(tmp_path):
    samples = write_json(tmp_path / "s.json", [{"samples": ["one", "a target"], "id": 1}])
    table = {"name": "selfcheck", "samples": str(samples)}
    found = points(40)
    one = replace(found[0], id=1, task=Task.DM)
    many = [replace(point, id=1) for point in found]
    alone = Stack(detectors=[table], features=False).fit(many, gold_of(many))
    assert alone.premises(one) == ("one", "a target")
    both = Stack(detectors=["oracle", table], features=False).fit(many, gold_of(many))
    assert both.premises(one) == ("a target", "one")
    assert Stack(detectors=[table]).fit(many, gold_of(many)).premises(one) == ("one", "a target")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"c": 0}, "c: expected a number"),
        ({"folds": 1}, "folds: expected a whole number from 2"),
        ({"detectors": []}, "detectors: expected a list"),
        ({"detectors": {"name": "lexical"}}, "detectors: expected a list"),
        ({"detectors": ["lexicle"]}, "did you mean 'lexical'"),
        ({"detectors": [3]}, "detectors: 0: expected a name or a table"),
        ({"detectors": ["lexical", {"model": "x"}]}, "detectors: 1: expected a name or a table"),
        ({"detectors": [{"name": "lexical", "modle": "x"}]}, "did you mean 'model'"),
        ({"detectors": [{"name": "lexical", "frozen": "no"}]}, "frozen: expected true or false"),
        ({"detector": ["lexical"]}, "did you mean 'detectors'"),
        ({"detectors": [{"name": "lexical", "model": 3}]}, "model: expected a path, got 3"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(ShroomError, match=message):
        detector("stack", **settings)


def test_a_stack_of_nothing():
    with pytest.raises(ShroomError, match="needs the detectors that it is made of"):
        Stack().fit(points(10), gold_of(points(10)))
    with pytest.raises(ShroomError, match="has not been fitted"):
        Stack(detectors="lexical").p(points(1))
    assert Stack().p([]).shape == (0,)


@pytest.mark.parametrize(
    "change",
    [
        {"learner": "boosting"},
        {"features": ["others"]},
        {"combined": {}},
        {"threshold": 2},
        {"thresholds": {"DM": -1}},
        {"thresholds": []},
        {"inputs": []},
        {"inputs": [{"name": "oracle"}]},
        {"inputs": [{"name": "nonsense", "settings": {}, "frozen": False}]},
        {"inputs": [{"name": "oracle", "settings": {}, "frozen": False}] * 2},
        {"inputs": [{"name": "parrot", "settings": {}, "frozen": False, "fitted": "../s.json"}]},
        {"inputs": [{"name": "parrot", "settings": {}, "frozen": False, "fitted": "/etc/passwd"}]},
        {"inputs": [{"name": "parrot", "settings": {}, "frozen": False}]},
    ],
)
def test_files_that_are_no_stack(tmp_path, change):
    found = points(40)
    Stack(detectors="oracle", features=False).fit(found, gold_of(found)).save(tmp_path / "s.json")
    content = json.loads((tmp_path / "s.json").read_text())
    path = write_json(tmp_path / "t.json", {**content, **change})
    with pytest.raises(ShroomError, match=r"t\.json: "):
        Stack(model=path).p(found)


def test_fit_predict_and_explain_by_a_recipe(tmp_path, shroom):
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'detector = "stack"\ndetectors = ["lexical", {name = "oracle", noise = 0.5}]\n'
    )
    model, out = tmp_path / "stack.json", tmp_path / "sub"
    code, table, err = shroom("fit", recipe, SAMPLE, "-o", model, "--folds", 3)
    assert (code, "out of fold" in table) == (0, True), err
    assert set(json.loads(model.read_text())["out_of_fold"]["val.model-aware.json"]) >= {"rho", "n"}
    code, _, err = shroom("predict", "stack", SAMPLE, "-o", out, "--model", model)
    assert (code, "fitted on 120 of these 120 items" in err, "in-sample" in err) == (0, True, False)
    assert json.loads((out / "run.json").read_text())["out_of_fold"] == {
        f"val.model-{track}.json": 60 for track in ("agnostic", "aware")
    }
    # what it hands in scores what cross-validation says
    code, scores, _ = shroom("score", out, SAMPLE, "--no-ci", "--format", "json")
    figures = json.loads(model.read_text())["out_of_fold"]
    for result in json.loads(scores)["results"]:
        figure = figures[f"{result['split']}.{result['track']}.json"]
        assert (round(result["accuracy"], 4), round(result["rho"], 4)) == (
            figure["accuracy"],
            figure["rho"],
        )
    assert shroom("check", out, "--gold", SAMPLE)[0] == 0
    data = SAMPLE / "val.model-aware.json"
    assert shroom("explain", "stack", data, "--index", 1, "--model", model)[0] == 0


@pytest.mark.real
def test_on_trial_and_val_the_stack_is_no_worse_than_its_detector():
    names = ("trial-v1.json", "val.model-agnostic.json")
    found = [point for name in names for point in read(DATA / "semeval2024" / name)]
    p = gold_of(found)
    alone, _ = Lexical().out_of_fold(found, p, 3)
    stacked, held = Stack(detectors=["lexical"], folds=3).out_of_fold(found, p, 3)
    assert rho(stacked, p) > rho(alone, p) - 0.005
    truth = p > 0.5
    assert ((stacked > held) == truth).mean() > ((alone > 0.5) == truth).mean() - 0.005
