"""Agreement and the scores of one annotator: against the oracle packages, and from hostile gold."""

import gzip
import itertools
import json
import shutil
import warnings

import krippendorff
import numpy as np
import pytest
from conftest import DATA, gold, write_json
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from statsmodels.stats import inter_rater

from shroom.core.problems import InvalidInput
from shroom.metrics.agreement import (
    AGREEMENT,
    bootstrap_votes,
    fleiss_kappa,
    krippendorff_alpha,
    pairwise_agreement,
    unanimous,
)
from shroom.metrics.bootstrap import resamples
from shroom.metrics.human_ceiling import CEILING, human_accuracy, human_rho, label_accuracy
from shroom.metrics.intervals import Intervals
from shroom.scoring.annotator_agreement import agreement

FUNCTIONS = {
    "krippendorff_alpha": krippendorff_alpha,
    "fleiss_kappa": fleiss_kappa,
    "pairwise_agreement": pairwise_agreement,
    "unanimous": unanimous,
    "accuracy": human_accuracy,
    "rho": human_rho,
    "label_accuracy": label_accuracy,
}
SHAPES = st.tuples(st.integers(1, 25), st.integers(1, 6))
COMPLETE = arrays.arrays(np.int8, SHAPES, elements=st.integers(0, 1))
SPARSE = arrays.arrays(np.int8, SHAPES, elements=st.integers(-1, 1))
NO_CI = Intervals(resamples=0)
H, N = "Hallucination", "Not Hallucination"


def alpha_of_the_package(votes, _):
    rows = np.where(votes < 0, np.nan, votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides 0 by 0 where all votes are the same
        return krippendorff.alpha(
            reliability_data=rows.T, value_domain=[0, 1], level_of_measurement="nominal"
        )


def kappa_of_statsmodels(votes, _):
    assume(votes.shape[1] > 1)
    counts = np.column_stack((votes.sum(axis=1), (1 - votes).sum(axis=1)))
    with np.errstate(invalid="ignore"):
        return inter_rater.fleiss_kappa(counts)


def agreeing_pairs(_, rows):
    return np.mean([np.mean([a == b for a, b in itertools.combinations(row, 2)]) for row in rows])


def chance_of_being_right(vote, among):
    """Return how likely a vote is that of the majority, where a tie is decided by a coin."""
    ones, zeros = among.count(1), among.count(0)
    outcomes = {1} if ones > zeros else {0} if zeros > ones else {0, 1}
    return np.mean([vote == outcome for outcome in outcomes])


def right_by_the_others(_, rows):
    chances = [
        chance_of_being_right(vote, row[:i] + row[i + 1 :])
        for row in rows
        for i, vote in enumerate(row)
    ]
    return np.mean(chances)


def right_by_all(_, rows):
    return np.mean([chance_of_being_right(vote, row) for row in rows for vote in row])


def mean_rho_of_scipy(votes, _):
    found, items = [], []
    for j, vote in enumerate(votes.T):
        rest = np.delete(votes, j, axis=1)
        judged = (vote >= 0) & (rest >= 0).any(axis=1)
        others = [rest[i][rest[i] >= 0].mean() for i in np.flatnonzero(judged)]
        if len(set(others)) > 1 and len(set(vote[judged])) > 1:
            found.append(stats.spearmanr(vote[judged], others)[0])
            items.append(judged.sum())
    return np.average(found, weights=items) if found else np.nan


#: What each figure is of votes, and of those of each item that has two or more.
ORACLES = {
    "krippendorff_alpha": alpha_of_the_package,
    "fleiss_kappa": kappa_of_statsmodels,
    "pairwise_agreement": agreeing_pairs,
    "unanimous": lambda _, rows: np.mean([len(set(row)) == 1 for row in rows]),
    "accuracy": right_by_the_others,
    "rho": mean_rho_of_scipy,
    "label_accuracy": right_by_all,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(st.data())
def test_each_figure_is_that_of_an_oracle(name, data):
    votes = data.draw(COMPLETE if name == "fleiss_kappa" else SPARSE)
    rows = [[int(vote) for vote in row if vote >= 0] for row in votes]
    rows = [row for row in rows if len(row) >= 2]
    assume(rows)
    expected = ORACLES[name](votes, rows)
    for given_votes in (votes, np.where(votes < 0, np.nan, votes)):
        np.testing.assert_allclose(FUNCTIONS[name](given_votes), expected, rtol=0, atol=1e-12)


def test_kappa_wants_as_many_raters_for_each_item_but_not_the_same():
    votes = [[1, 1, -1, -1], [-1, 0, 1, -1], [-1, -1, 0, 0]]
    assert fleiss_kappa(votes) == pytest.approx(fleiss_kappa([[1, 1], [0, 1], [0, 0]]), abs=1e-15)
    assert fleiss_kappa([*votes, [-1] * 4]) == fleiss_kappa(votes)
    assert np.isnan(fleiss_kappa([*votes, [1, 1, 1, -1]]))


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=40)
@given(st.data())
def test_weights_are_repetitions(name, data):
    votes = data.draw(COMPLETE if name == "fleiss_kappa" else SPARSE)
    size = len(votes)
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    repeated = FUNCTIONS[name](np.repeat(votes, weights, axis=0))
    found = FUNCTIONS[name](votes, weights)
    np.testing.assert_allclose(found, repeated, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        # all the same: nothing to expect by chance, yet the votes agree
        ([[1, 1], [1, 1]], (np.nan, np.nan, 1, 1, 1, np.nan, 1)),
        ([[1, 1], [0, 0]], (1, 1, 1, 1, 1, 1, 1)),
        ([[1, 0], [0, 1]], (-0.5, -1, 0, 0, 0, -1, 0.5)),
        # one item: its own votes are all there is to expect from
        ([[1, 1, 0]], (0, -0.5, 1 / 3, 0, 1 / 3, np.nan, 2 / 3)),
        ([[1, 1, 1]], (np.nan, np.nan, 1, 1, 1, np.nan, 1)),
        # one annotator
        ([[1], [0]], (np.nan,) * 7),
        ([[1, -1], [-1, 0]], (np.nan,) * 7),
        # nobody
        ([[-1, -1]], (np.nan,) * 7),
        (np.empty((0, 3)), (np.nan,) * 7),
        (np.empty((2, 0)), (np.nan,) * 7),
    ],
)
def test_extremes(votes, expected):
    found = [function(votes) for function in FUNCTIONS.values()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("votes", [[1, 0], [[[1]]], [[2, 0]], [[0.5, 1]], [[np.inf, 1]]])
def test_what_are_no_votes_is_refused(votes):
    with pytest.raises(ValueError, match="votes: expected"):
        krippendorff_alpha(votes)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_each_resample_is_computed_as_if_alone(missing):
    generator = np.random.default_rng(2)
    votes = generator.integers(0, 2, (40, 4))
    votes[generator.random((40, 4)) < missing] = -1
    found = bootstrap_votes({**AGREEMENT, **CEILING}, votes, 25, seed=3)
    weights = np.concatenate(list(resamples(40, 25, seed=3)))
    for name, function in FUNCTIONS.items():
        if name == "fleiss_kappa" and missing:
            continue
        alone = [function(np.repeat(votes, row.astype(int), axis=0)) for row in weights]
        np.testing.assert_allclose(found[name], alone, rtol=0, atol=1e-12, err_msg=name)


def rows_of(*votes, **more):
    """Return gold rows with these votes, such as "HHN"."""
    rows = []
    for row, said in zip(gold(len(votes)), votes):
        p = said.count("H") / max(len(said), 1)
        labels = [H if vote == "H" else N for vote in said]
        own = {"labels": labels, "p(Hallucination)": p, "label": H if p > 0.5 else N}
        rows.append({**row, **own, **more})
    return rows


@pytest.fixture
def figures(tmp_path):
    """Return the figures of one gold file that is made of rows."""

    def of(rows, **settings):
        path = write_json(tmp_path / "val.model-agnostic.json", rows)
        return agreement(path, **{"intervals": NO_CI, **settings}).results[0].whole

    return of


@pytest.mark.parametrize(
    ("votes", "name", "reason"),
    [
        (["HHH", "HHH"], "krippendorff_alpha", "all votes are the same"),
        (["HHH", "HHH"], "fleiss_kappa", "all votes are the same"),
        (["HHH", "HHH"], "human_ceiling.rho", "the votes of the others are constant"),
        (["HHH", "HHH"], "binary_p_ceiling", "the same gold label or the same gold p"),
        (["HHH", "HN"], "fleiss_kappa", "items have 2 to 3 votes"),
        (["H", "N"], "human_ceiling.accuracy", "no item has two votes"),
    ],
)
def test_undefined_has_a_reason_in_place_of_an_interval(votes, name, reason, figures):
    found = figures(rows_of(*votes), intervals=Intervals(20)).to_dict()
    assert reason in found["undefined"][name]
    flat = {**found, **{f"human_ceiling.{k}": v for k, v in found["human_ceiling"].items()}}
    values = {each: value for each, value in flat.items() if f"{each}_ci" in flat}
    assert found["undefined"].keys() == {each for each in values if values[each] is None}
    assert all(flat[f"{each}_ci"] is None for each in found["undefined"])


@pytest.mark.parametrize("empty", [None, [], [None, None], float("nan"), "absent"])
def test_items_without_labels_are_left_out_and_told(empty, tmp_path):
    rows = rows_of("HHN", "NNN", "HNH", "HHH")
    rows[1]["labels"] = empty
    if empty == "absent":
        del rows[1]["labels"]
    found = agreement(write_json(tmp_path / "val.model-agnostic.json", rows), Intervals(20))
    whole = found.results[0].whole
    assert whole.n == 3
    assert whole["fleiss_kappa"].value == fleiss_kappa([[1, 1, 0], [1, 0, 1], [1, 1, 1]])
    assert any("1 of 4 items ignored (no labels)" in line for line in found.warnings)
    assert "|n:4|" in found.signature  # the signature tells the gold, and that is whole


@pytest.mark.parametrize(
    "labels",
    ["Hallucination", "H", 1, {"a": 1}, ["hallucination"], [1, 0], [[H]], [True], [float("nan")]],
    ids=repr,
)
def test_labels_that_are_none_are_named_with_their_place(labels, tmp_path):
    rows = rows_of("HHN", "NNN")
    rows[1]["labels"] = labels
    with pytest.raises(InvalidInput, match=r"item 1: labels: expected a list of .*\[label-value\]"):
        agreement(write_json(tmp_path / "g.json", rows))


@pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])
def test_a_folder_gives_the_latest_version_of_each(as_zip, tmp_path):
    source, agnostic = tmp_path / "gold", rows_of("HH", "HN", "NN", "NN")
    write_json(source / "val.model-aware.v1.json", rows_of("HHH", "HHN"))
    write_json(source / "val.model-aware.v2.json", rows_of("HHH", "NNN", "HHN"))
    write_json(source / "test.model-aware.json", [{"id": 1, "hyp": "a"}])
    write_json(source / "trial-v1.json", rows_of("HNN", "HHH"))
    write_json(source / "notes.json", {"no": "gold"})
    packed = gzip.compress(json.dumps(agnostic).encode())
    (source / "val.model-agnostic.json.gz").write_bytes(packed)
    (source / "README.md").write_text("about")
    if as_zip:
        source = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "gold")
    found = agreement(source, NO_CI)
    assert [(r.title, r.file, r.whole.n) for r in found.results] == [
        ("trial-v1.json", "trial-v1.json", 2),
        ("val model-agnostic", "val.model-agnostic.json.gz", 4),
        ("val model-aware", "val.model-aware.v2.json", 3),
    ]
    left_out = {line.split("/")[-1] for line in found.warnings}
    assert left_out == {
        "notes.json: ignored, because it cannot be read as gold",
        "test.model-aware.json: ignored, because no item has labels",
    }
    assert "|n:2+4+3|" in found.signature


@pytest.mark.real
def test_the_figures_of_the_task():
    names = ("krippendorff_alpha", "human_accuracy", "human_rho", "human_label_accuracy")
    results = {it.file: it.whole for it in agreement(DATA / "semeval2024", NO_CI).results}
    assert {
        file: [round(whole[name].value, 3) for name in (*names, "binary_p_ceiling")]
        for file, whole in results.items()
    } == {
        "trial-v1.json": [0.684, 0.842, 0.750, 0.921, 0.919],
        "val.model-agnostic.json": [0.373, 0.728, 0.509, 0.815, 0.872],
        "val.model-aware.v2.json": [0.327, 0.705, 0.463, 0.802, 0.866],
    }
