"""Calibrators against their oracles, and the command that fits and applies them."""

import json
import re
from dataclasses import asdict, replace
from functools import partial

import msgspec
import numpy as np
import pytest
from conftest import SAMPLE, write_json
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from shroom.learners.calibrators import METHODS, Isotonic, Platt, Temperature, smoothed
from shroom.learners.folds import random_splits
from shroom.learners.logistic import log_odds
from shroom.metrics.calibration import log_loss
from shroom.prediction.calibration import calibrate, cross_validated, fitted_on
from shroom.scoring.tables import Estimate

CURVES = ("platt", "isotonic", "temperature")
P_KEY = "p(Hallucination)"
#: As detectors write it; at a distance of 1e-17, the loss itself is lost to rounding.
P_OF_6_DIGITS = st.floats(0, 1).map(lambda p: round(p, 6))


def system(n=60, seed=0):
    """Return p and the annotators' proportions, which it follows overconfidently."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 6, n) / 5
    return np.clip(np.round(y + generator.normal(0, 0.45, n), 2), 0, 1), y


def rows(p, y=None, first_id=None, **more):
    """Return predictions, or with y gold, as the files have them."""
    made = []
    for i, value in enumerate(np.ravel(p if y is None else y).tolist()):
        row = {"label": "Hallucination" if value > 0.5 else "Not Hallucination", P_KEY: value}
        if more:
            texts = {"hyp": f"hypothesis {i}", "src": "", "tgt": f"target {i}", "task": "DM"}
            row |= texts | more
        made.append(row if first_id is None else {"id": first_id + i, **row})
    return made


@pytest.fixture
def pair(tmp_path):
    """Write predictions, gold for them and the name of a calibrator, as arguments."""

    def make(p, y, **of_gold):
        return (
            write_json(tmp_path / "p.json", rows(p, first_id=of_gold.get("first_id"))),
            write_json(tmp_path / "g.json", rows(p, y, **of_gold)),
            *("-o", tmp_path / "c.json"),
        )

    return make


@pytest.fixture
def files(tmp_path):
    p, y = system()
    return (
        write_json(tmp_path / "val.model-aware.json", rows(p)),
        write_json(tmp_path / "gold" / "val.model-aware.json", rows(p, y, model="m")),
        tmp_path / "calibrator.json",
    )


@pytest.fixture
def fitted(files, shroom):
    submission, gold, calibrator = files
    assert shroom("calibrate", submission, gold, "-o", calibrator)[0] == 0
    return files


# The calibrators


@example([(0.0, 0.5), (0.0, 0.5), (0.0, 0.5)])  # where no slope is likelier than 0
@example([(0.0, 0.5), (0.0, 0.5), (1.0, 0.5)])
@example([(0.2, 0.5), (0.2, 0.5), (0.8, 0.5007), (0.8, 0.5007)])  # all but flat
@given(st.lists(st.tuples(P_OF_6_DIGITS, st.floats(0, 1)), min_size=2, max_size=40))
def test_nothing_near_a_fitted_curve_is_likelier(items):
    p, y = np.array(items).T
    x, wanted = log_odds(p), smoothed(y)

    def loss(slope, intercept):
        odds = slope * x + intercept
        return np.sum(np.logaddexp(0, odds) - wanted * odds)

    platt, temperature = Platt.fitted(p, y), Temperature.fitted(p, y)
    best = loss(platt.slope, platt.intercept)
    slope = 1 / temperature.temperature
    for step in (1e-3, -1e-3):
        assert loss(platt.slope, platt.intercept + step) >= best - 1e-9
        if platt.slope + step >= 0:
            assert loss(platt.slope + step, platt.intercept) >= best - 1e-9
        if slope + step >= 0:
            assert loss(slope + step, 0) >= loss(slope, 0) - 1e-9


@pytest.mark.parametrize("p", [(0.6, 0.7, 0.9), (0.2, 0.7, 0.9)])
@pytest.mark.parametrize("y", [(0.8, 0.2), (0.6, 0.4)])
@pytest.mark.parametrize("curve", [Platt, Temperature])
def test_a_slope_of_rounding_alone_does_not_rise(curve, p, y):
    assert not curve.fitted(np.repeat(p, 2), np.tile(y, 3)).rises


@given(
    st.lists(
        st.tuples(st.integers(0, 20).map(lambda k: k / 20), st.integers(0, 5).map(lambda k: k / 5)),
        min_size=1,
        max_size=60,
    )
)
def test_isotonic_is_scikit_learns(items):
    p, y = np.array(items).T
    oracle = IsotonicRegression(out_of_bounds="clip").fit(p, y)
    at = np.linspace(0, 1, 101)
    found = Isotonic.fitted(p, y)
    np.testing.assert_allclose(found(at), oracle.predict(at), atol=1e-12)
    assert (np.diff(found(at)) >= 0).all()


@pytest.mark.parametrize("method", CURVES)
def test_a_curve_never_falls_and_stays_within_0_and_1(method):
    curve = METHODS[method].fitted(*system())
    at = curve(np.concatenate(([-1e-10, 0.0], np.geomspace(1e-12, 1, 200), [1.0000000000000002])))
    assert (np.diff(at) >= 0).all()
    assert at.min() >= 0
    assert at.max() <= 1
    if curve.keeps_order:
        assert (np.diff(at[1:-1]) > 0).all()


@pytest.mark.parametrize("method", CURVES)
def test_calibration_repairs_what_was_distorted(method):
    generator = np.random.default_rng(4)
    truth = generator.uniform(0.02, 0.98, 5000)
    y = generator.binomial(5, truth) / 5
    p = 1 / (1 + np.exp(-3 * np.log(truth / (1 - truth))))  # three times too sure
    curve = METHODS[method].fitted(p, y)
    assert np.abs(curve(p) - truth).mean() < 0.02
    assert log_loss(curve(p), y) < log_loss(p, y)


@pytest.mark.parametrize("method", CURVES)
def test_classes_that_p_sets_apart_give_a_finite_curve(method):
    curve = METHODS[method].fitted(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1.0, 1.0]))
    state = [value for values in asdict(curve).values() for value in np.atleast_1d(values)]
    assert np.isfinite(state).all()


@pytest.mark.parametrize("method", METHODS)
def test_what_is_written_reads_alike(method):
    p, y = system()
    curve = METHODS[method].fitted(p, y)
    again = msgspec.convert(json.loads(json.dumps(asdict(curve))), METHODS[method])
    np.testing.assert_array_equal(curve(p), again(p))


# Out of fold


def test_no_item_has_a_say_in_its_own_p_or_label():
    p, y = system(40)
    fit = partial(fitted_on, method="isotonic")
    splits = random_splits(np.arange(40) // 2, 8)
    _, before = cross_validated(fit, p, y, y > 0.5, splits)
    for item in range(0, 40, 7):
        changed = y.copy()
        changed[item] = 1 - changed[item]
        _, after = cross_validated(fit, p, changed, changed > 0.5, splits)
        assert after[item] == before[item]
        assert after[item ^ 1] == before[item ^ 1]  # nor in that of the other item of its group


# Fitting


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.5, 0.5, 0.5, 0.5], [0, 0.2, 0.8, 1]),
        ([0.1, 0.4, 0.6, 0.9], [1, 0.8, 0.2, 0]),
        ([0.1, 0.4, 0.6, 0.9], [0.2, 0.2, 0.2, 0.2]),
        ([0.3], [1.0]),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_fitted_is_told(refused, pair, p, y, method):
    sentence = "p does not increase with the share of"
    if method == "none":  # a threshold can be fitted, and judged if there are two items
        p, y = p[:1], y[:1]
        sentence = (
            "all items are linked by shared hypotheses or targets, so cross-validation is "
            "impossible"
        )
    arguments = pair(p, y)
    assert sentence in refused("calibrate", *arguments, "--method", method)
    assert not arguments[-1].exists()


@pytest.mark.parametrize("key", ["hyp", "tgt"])
@pytest.mark.parametrize("first_id", [None, 1])
def test_items_that_share_a_text_are_in_one_fold(shroom, pair, key, first_id):
    p, y = system(12)
    arguments = pair(p, y, first_id=first_id, model="m")
    content = json.loads(arguments[1].read_text())
    shared = [{**row, key: f"the same {place // 4}"} for place, row in enumerate(content)]
    write_json(arguments[1], shared)
    code, out, _ = shroom("calibrate", *arguments)
    assert (code, "|fit:out-of-fold.3" in out) == (0, True)
    folders = arguments[1].parent / "mine", arguments[1].parent / "gold", *arguments[2:]
    plain = rows(p, y, first_id=first_id)
    for name, own in (("val.model-agnostic.json", shared), ("val.model-aware.json", plain)):
        write_json(folders[0] / name, rows(p, first_id=first_id))
        write_json(folders[1] / name, own)
    assert shroom("calibrate", *folders)[1].count("|fit:out-of-fold.3") == 1


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_few_items_of_one_class_show_no_nan(shroom, in_json, pair, n, method):
    arguments = ("calibrate", *pair(np.linspace(0.2, 0.6, n), np.linspace(0, 0.4, n)))
    code, out, _ = shroom(*arguments, "--method", method)
    assert (code, "AUROC" in out, "–" in out, "nan" in out) == (0, True, True, False)
    (result,) = in_json(*arguments, "--method", method)["results"]
    assert result["before"]["label"]["auroc"] is None


def test_two_splits_of_one_track_are_refused(refused, tmp_path):
    p, y = system(12)
    for split, first_id in (("val", None), ("test", 5)):
        write_json(tmp_path / "s" / f"{split}.model-aware.json", rows(p, first_id=first_id))
        write_json(tmp_path / "g" / f"{split}.model-aware.json", rows(p, y, first_id=first_id))
    call = "calibrate", tmp_path / "s", tmp_path / "g", "-o", tmp_path / "c.json"
    assert "one file for each track" in refused(*call)


BETTER, WORSE, NEITHER = (-0.2, -0.1), (0.1, 0.2), (-0.1, 0.1)


@pytest.mark.parametrize(
    ("brier", "accuracy", "verdict"),
    [
        (BETTER, WORSE, "improves p and the labels. In cross-validation (n = 60), "),
        (BETTER, NEITHER, "improves p. "),
        (BETTER, BETTER, "improves p and makes the labels worse. "),
        (WORSE, BETTER, "makes p and the labels worse. "),
        (NEITHER, NEITHER, "has no significant effect. "),
        (NEITHER, None, "has no significant effect. "),
        (None, None, "cannot be judged on so few items. "),
    ],
)
def test_the_verdict(files, brier, accuracy, verdict):
    calibration = calibrate(*files[:2])
    (result,) = calibration.results
    change = {"brier": Estimate(0.1, brier), "accuracy": Estimate(0.1, accuracy)}
    found = replace(calibration, results=[replace(result, change=change)])
    assert found.verdict.startswith(f"On model-aware, calibration {verdict}")
    shown = sum(it is not None for it in (brier, accuracy))
    assert found.verdict.count("95% interval of the change ") == shown
    two = replace(found, results=[result, result]).verdict
    assert two.endswith(" The intervals are not corrected for the 4 comparisons.")


def test_the_change_is_the_mean_difference_and_in_sample_figures_have_no_verdict(files):
    (result,) = calibrate(*files[:2]).results
    for name, against in (("brier", "proportion"), ("accuracy", "label")):
        before, after = (getattr(it, against)[name] for it in (result.before, result.after))
        change = result.change[name]
        assert change.value == pytest.approx(after - before, abs=1e-12)
        assert change.ci[0] < change.value < change.ci[1]
    calibration = calibrate(*files[:2], in_sample=True)
    sentence = "On model-aware, calibration cannot be judged: the figures are in-sample."
    assert calibration.verdict == sentence
    assert repr(calibration).startswith("Calibration(model-aware platt: Brier score 0.")


# Applying


def test_apply_to_other_gold_scores_before_and_after(fitted, shroom, in_json, done, pair):
    other, gold, _, out = pair(*system(50, seed=7), first_id=1, model="m")
    arguments = ("calibrate", "--apply", fitted[2], other, gold, "-o", out)
    (track,) = in_json(*arguments)["results"]
    assert track["fit"] == "other-gold"
    assert track["after"]["proportion"]["log_loss"] < track["before"]["proportion"]["log_loss"]
    assert "fitted on other gold labels" in shroom(*arguments)[1]
    scored = in_json("score", out, gold, "--no-ci")["results"][0]
    assert scored["accuracy"] == track["after"]["label"]["accuracy"]
    assert scored["rho"] == track["after"]["proportion"]["rho"]


def test_the_gold_that_was_fitted_on_is_refused_by_its_hash(fitted, refused, done, tmp_path):
    submission, gold, calibrator = fitted
    out = tmp_path / "o.json"
    content = json.loads(gold.read_text())
    renamed = write_json(tmp_path / "elsewhere.json", [{**row, "tgt": "y"} for row in content])
    for known in (gold, gold.parent, renamed):
        err = refused("calibrate", "--apply", calibrator, submission, known, "-o", out)
        words = "is the gold that the calibrator was fitted on", "cross-validated", "--in-sample"
        assert all(part in err for part in words)
        assert not out.exists()
    arguments = ("calibrate", "--apply", calibrator, submission, renamed, "-o", out, "--in-sample")
    shown = done(*arguments)
    assert "in-sample: scored on the training data" in shown
    assert shown.strip().endswith("|fit:in-sample")


def test_the_track_is_that_of_the_name_or_the_only_one(fitted, shroom, refused, tmp_path):
    both, out, one = (tmp_path / name for name in ("both.json", "o.json", fitted[2].name))
    unnamed = write_json(tmp_path / "mine.json", rows(system(10)[0]))
    agnostic = write_json(tmp_path / "val.model-agnostic.json", rows(system(10)[0]))
    assert shroom("calibrate", "--apply", one, unnamed, "-o", out)[0] == 0
    assert shroom("calibrate", SAMPLE, SAMPLE, "-o", both)[0] == 0
    for calibrator, submission, target, said in (
        (one, agnostic, out, "model-agnostic, but the calibrator was fitted on model-aware"),
        (both, unnamed, out, "the name does not show the track"),
        (one, unnamed, tmp_path / "folder", "write a .json file"),
    ):
        assert said in refused("calibrate", "--apply", calibrator, submission, "-o", target)


@pytest.mark.parametrize("verb", ["calibrate", "ensemble"])
def test_what_is_made_of_in_sample_predictions_is_marked(
    verb, fitted, shroom, noted, refused, tmp_path
):
    record = {"recipe": "r", "detector": "lexical", "versions": {}}
    seen, other, out = (tmp_path / name for name in ("seen", "other", "out"))
    for seed, folder in enumerate((seen, other)):
        write_json(folder / "val.model-aware.json", rows(system(seed=seed)[0]))
    write_json(seen / "run.json", {**record, "in_sample": {"val.model-aware.v2.json": 7}})
    old = {**record, "in_sample": {"val.model-aware.json": 50}}
    write_json(out / "run.json", old)
    call = {"calibrate": ["calibrate", "--apply", fitted[2]], "ensemble": ["ensemble", other]}[verb]
    assert shroom(*call, other, "-o", out)[0] == 0
    assert not (out / "run.json").exists()
    assert shroom(*call, seen, "-o", out)[0] == 0
    scored = shroom("score", out, fitted[1], "--format", "json", "--no-ci")[1]
    assert json.loads(scored)["results"][0]["in_sample"] == 7
    assert shroom(*call, seen, "-o", out)[0] == 0  # over a record of its own
    err = noted(*call, seen, "-o", tmp_path / "out.zip")
    assert re.search(r"note: .*out.zip contains 7 in-sample predictions", err)
    (out / "run.json").write_text("mine")
    said = "run.json already exists and is not a run record"
    assert said in refused(*call, seen, "-o", out)
    assert (out / "run.json").read_text() == "mine"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[" * 100_000,
        b"\xff\xfe\x00",
        {"shroom_calibrator": 2},
        {"shroom_calibrator": 1},
        {"shroom_calibrator": 1, "tracks": {"model-blind": {}}},
        {"method": []},
        {"threshold": float("nan")},
        {"threshold": 1.5},
        {"calibrator": {"slope": 1.0}},
        {"calibrator": {"slope": float("nan"), "intercept": 0.0}},
        {"calibrator": {"slope": -1.0, "intercept": 0.0}},
        {"method": "temperature", "calibrator": {"temperature": 0.0}},
        {"method": "isotonic", "calibrator": {"knots": [0, 1], "values": [0.1]}},
        {"method": "isotonic", "calibrator": {"knots": [0, 1], "values": [0.9, 0.1]}},
        {"method": "isotonic", "calibrator": {"knots": [1, 0], "values": [0.1, 0.9]}},
        {"method": "isotonic", "calibrator": {"knots": [], "values": []}},
    ],
    ids=repr,
)
def test_a_broken_calibrator_is_told(fitted, refused, tmp_path, content):
    submission, _, calibrator = fitted
    broken, out = tmp_path / "broken.json", tmp_path / "o.json"
    if isinstance(content, dict) and "shroom_calibrator" not in content:
        whole = json.loads(calibrator.read_text())
        whole["tracks"]["model-aware"].update(content)
        content = whole
    if isinstance(content, bytes):
        broken.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        broken.write_text(text, encoding="utf-8", errors="backslashreplace")
    assert "broken.json" in refused("calibrate", "--apply", broken, submission, "-o", out)
    assert not out.exists()


# The command line


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("BROKEN G -o O", "[p-number]"),
        ("--apply C S -o S", "which is never overwritten"),
        ("--apply C S -o C", "which is never overwritten"),
        ("S G", "Missing option '-o'"),
        ("- - -o O", "only one input"),
        ("--apply C S -o O --method isotonic", "--method cannot be combined with --apply"),
        ("--apply C S -o O --no-threshold", "cannot be combined with --apply"),
        ("--apply C S -o O --folds 5", "--folds cannot be combined with --apply"),
    ],
)
def test_wrong_command_lines(fitted, shroom, tmp_path, arguments, sentence):
    out, before = tmp_path / "out.json", [path.read_bytes() for path in fitted]
    names = {"S": fitted[0], "G": fitted[1], "C": fitted[2], "O": out}
    names["BROKEN"] = write_json(tmp_path / "b.json", [{"label": "no", P_KEY: "0.5"}])
    words = [str(names.get(word, word)) for word in arguments.split()]
    code, shown, err = shroom("calibrate", *words)
    assert (code, shown) == (1 if "[" in sentence or "which" in sentence else 2, "")
    assert sentence in err
    assert [path.read_bytes() for path in fitted] == before
    assert not out.exists()


def test_a_threshold_may_cost_out_of_fold(in_json, pair):
    generator = np.random.default_rng(11)
    y = generator.integers(0, 2, 40).astype(float)
    p = np.where(y > 0.5, 0.55, 0.45) + np.round(generator.normal(0, 0.1, 40), 2)
    label = in_json("calibrate", *pair(p, y))["results"][0]["after"]["label"]
    assert label["accuracy"] < label["accuracy_at_half"]
