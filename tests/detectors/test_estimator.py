"""Detectors as estimators of scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import SAMPLE
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import check_estimator

from shroom.core.datapoint import pair
from shroom.core.problems import ShroomError
from shroom.detectors.lexical import Lexical
from shroom.detectors.registry import detector
from shroom.learners.folds import even_splits
from shroom.scoring.datapoint_files import read

FILE = SAMPLE / "val.model-aware.json"
POINTS = read(FILE)
P = np.array([point.p for point in POINTS])
Y = P > 0.5


class OfNumbers(Lexical):
    """The lexical detector, for the numbers that scikit-learn's checks have instead of texts."""

    def fit(self, X, y):
        y = np.asarray(y)
        return super().fit(texts(X), y == np.unique(y)[-1])

    def predict(self, X):
        return super().predict(texts(X))

    def predict_proba(self, X):
        return super().predict_proba(texts(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.classifier_tags.poor_score = True  # numbers are odd texts
        return tags


def texts(X):
    rows = [" ".join(f"{value:.0f}" for value in row) for row in check_array(X)]
    return [pair(f"{row[: len(row) // 2]} 0", row) for row in rows]


#: The checks of scikit-learn that do not apply to a detector.
EXPECTED = {
    "check_set_params": "a setting that is not valid is refused when it is given",
    "check_do_not_raise_errors_in_init_or_set_params": "likewise",
    "check_classifiers_classes": "the classes are False and True, not the names of labels",
    "check_classifier_not_supporting_multiclass": "proportions are numbers, not many classes",
}


def test_scikit_learns_own_checks_pass():
    how = {"on_fail": None, "on_skip": None, "expected_failed_checks": EXPECTED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the detector has no base class of scikit-learn
        results = check_estimator(OfNumbers(), **how)
    outcomes = {result["check_name"]: result["status"] for result in results}
    assert {name for name, outcome in outcomes.items() if outcome == "failed"} == set()
    assert {name for name, outcome in outcomes.items() if outcome == "xfail"} == set(EXPECTED)
    assert outcomes["check_fit_idempotent"] == outcomes["check_dict_unchanged"] == "passed"


def test_cross_validation_gives_the_kits_own_out_of_fold_p():
    kits = Lexical().out_of_fold(POINTS, Y.astype(float), 5)
    how = {"cv": even_splits(POINTS, 5), "method": "predict_proba"}
    proba = cross_val_predict(Lexical(), POINTS, Y, **how)
    np.testing.assert_array_equal(proba, np.column_stack([1 - kits, kits]))


def test_fit_takes_proportions():
    expected = np.empty(len(POINTS))
    kits = Lexical().out_of_fold(POINTS, P, 3)
    for train, test in even_splits(POINTS, 3):
        fitted = clone(Lexical()).fit([POINTS[i] for i in train], P[train])
        expected[test] = fitted.predict_proba([POINTS[i] for i in test])[:, 1]
    np.testing.assert_array_equal(kits, expected)


@pytest.mark.parametrize(
    "X", [pd.read_json(FILE), pd.read_json(FILE).to_dict("records"), POINTS], ids=type
)
def test_rows_frames_and_datapoints_are_the_same_to_a_pipeline(X):
    fitted = make_pipeline(Lexical()).fit(X, P)
    expected = Lexical().fit(POINTS, P)
    np.testing.assert_array_equal(fitted.predict_proba(X)[:, 1], expected.p(POINTS))
    np.testing.assert_array_equal(fitted.predict(X), expected.decide(POINTS)[1])
    assert fitted.score(X, Y) == np.mean(fitted.predict(X) == Y)


def test_scikit_learns_scores_take_a_detector():
    for scoring in ("accuracy", "f1", "roc_auc", "neg_brier_score", None):
        scores = cross_val_score(Lexical(), POINTS, Y, cv=3, scoring=scoring)
        assert np.isfinite(scores).all()


def test_settings_are_searched_and_cloned():
    search = GridSearchCV(Lexical(), {"threshold": [0.5, 0.999]}, cv=3).fit(POINTS, Y)
    assert search.best_params_ == {"threshold": 0.5}
    assert repr(clone(search.best_estimator_)) == "Lexical(threshold=0.5)"
    assert detector("unigram", language="en").get_params()["language"] == "en"


def test_what_is_not_fitted_is_calibrated_too():
    unigram = detector("unigram", language="other")  # needs no spaCy
    assert unigram.fit(POINTS, Y) is unigram
    calibrated = CalibratedClassifierCV(unigram, cv=3).fit(POINTS, Y)
    p = calibrated.predict_proba(POINTS)[:, 1]
    assert np.mean((p - Y) ** 2) < np.mean((unigram.p(POINTS) - Y) ** 2)


def test_a_setting_that_is_refused_changes_nothing():
    lexical = Lexical(threshold=0.3)
    for settings in ({"threshold": 2}, {"treshold": 0.2}):
        with pytest.raises(ShroomError, match="threshold"):
            lexical.set_params(**settings)
    assert (lexical.threshold, lexical.get_params()["threshold"]) == (0.3, 0.3)


def test_a_fit_outlasts_a_new_threshold_but_no_other_setting(tmp_path):
    lexical = Lexical().fit(POINTS, Y)
    fitted = lexical.p(POINTS)
    np.testing.assert_array_equal(lexical.set_params(threshold=0.3).p(POINTS), fitted)
    assert lexical.in_sample(POINTS).all()
    lexical.save(tmp_path / "other.json")
    shipped = Lexical()
    assert np.abs(shipped.p(POINTS) - fitted).max() > 0.01
    np.testing.assert_array_equal(
        shipped.set_params(model=tmp_path / "other.json").p(POINTS), fitted
    )


@pytest.mark.parametrize("y", [None, P[1:], P * 5, [point.label.value for point in POINTS], [[1]]])
def test_y_that_is_not_a_proportion_is_refused(y):
    with pytest.raises(ShroomError, match="y: expected True, False or a number from 0 to 1"):
        Lexical().fit(POINTS, y)
