"""Agreement and the human ceiling: against the oracle packages, and from hostile gold."""

import gzip
import itertools
import json
import re
import warnings
import zipfile

import krippendorff
import numpy as np
import pytest
from conftest import DATA, gold, write_json
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from statsmodels.stats import inter_rater

from shroom.core.problems import InvalidInput, ShroomError
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


def pairs(votes):
    """Return for each item that has two votes or more the list of them."""
    rows = [[int(vote) for vote in row if vote >= 0] for row in votes]
    return [row for row in rows if len(row) >= 2]


# The figures on arrays


@given(SPARSE)
def test_alpha_is_that_of_the_krippendorff_package(votes):
    rows = np.where(votes < 0, np.nan, votes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it divides 0 by 0 where all votes are the same
        try:
            expected = krippendorff.alpha(
                reliability_data=rows.T, value_domain=[0, 1], level_of_measurement="nominal"
            )
        except ValueError:  # no item with two votes
            expected = np.nan
    np.testing.assert_allclose(krippendorff_alpha(rows), expected, rtol=0, atol=1e-12)


@given(COMPLETE)
def test_kappa_is_that_of_statsmodels(votes):
    counts = np.column_stack((votes.sum(axis=1), (1 - votes).sum(axis=1)))
    with np.errstate(invalid="ignore"):
        expected = inter_rater.fleiss_kappa(counts)
    if votes.shape[1] == 1:
        expected = np.nan
    np.testing.assert_allclose(fleiss_kappa(votes), expected, rtol=0, atol=1e-12)


def test_kappa_wants_as_many_raters_for_each_item_but_not_the_same():
    votes = [[1, 1, -1, -1], [-1, 0, 1, -1], [-1, -1, 0, 0]]
    assert fleiss_kappa(votes) == pytest.approx(fleiss_kappa([[1, 1], [0, 1], [0, 0]]), abs=1e-15)
    assert fleiss_kappa([*votes, [-1] * 4]) == fleiss_kappa(votes)
    assert np.isnan(fleiss_kappa([*votes, [1, 1, 1, -1]]))


@given(SPARSE)
def test_pairwise_agreement_and_unanimity_by_hand(votes):
    rows = pairs(votes)
    assume(rows)
    agree = [np.mean([a == b for a, b in itertools.combinations(row, 2)]) for row in rows]
    assert pairwise_agreement(votes) == pytest.approx(np.mean(agree), abs=1e-12)
    assert unanimous(votes) == pytest.approx(np.mean([len(set(row)) == 1 for row in rows]))


def chance_of_being_right(vote, among):
    """Return how likely a vote is that of the majority, where a tie is decided by a coin."""
    ones, zeros = among.count(1), among.count(0)
    outcomes = {1} if ones > zeros else {0} if zeros > ones else {0, 1}
    return np.mean([vote == outcome for outcome in outcomes])


@given(SPARSE)
def test_human_accuracy_is_what_drawing_lots_for_ties_comes_to(votes):
    rows = pairs(votes)
    assume(rows)
    left_out = [
        chance_of_being_right(vote, row[:i] + row[i + 1 :])
        for row in rows
        for i, vote in enumerate(row)
    ]
    assert human_accuracy(votes) == pytest.approx(np.mean(left_out), abs=1e-12)
    kept_in = [chance_of_being_right(vote, row) for row in rows for vote in row]
    assert label_accuracy(votes) == pytest.approx(np.mean(kept_in), abs=1e-12)
    assert label_accuracy(votes) >= human_accuracy(votes) - 1e-12


@given(SPARSE)
def test_human_rho_is_the_mean_of_scipys_over_annotators(votes):
    found, items = [], []
    for j, vote in enumerate(votes.T):
        rest = np.delete(votes, j, axis=1)
        judged = (vote >= 0) & (rest >= 0).any(axis=1)
        others = [rest[i][rest[i] >= 0].mean() for i in np.flatnonzero(judged)]
        if len(set(others)) > 1 and len(set(vote[judged])) > 1:
            found.append(stats.spearmanr(vote[judged], others)[0])
            items.append(judged.sum())
    expected = np.average(found, weights=items) if found else np.nan
    np.testing.assert_allclose(human_rho(votes), expected, rtol=0, atol=1e-12)


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


INVARIANCES = {
    "items permuted": lambda votes: votes[::-1],
    "annotators permuted": lambda votes: votes[:, [2, 0, 3, 1, 4]],
    "labels flipped": lambda votes: np.where(votes < 0, votes, 1 - votes),
    "an item without votes": lambda votes: np.vstack((votes, np.full((1, 5), -1))),
    "an annotator without votes": lambda votes: np.hstack((votes, np.full((len(votes), 1), -1))),
    "nan for what is missing": lambda votes: np.where(votes < 0, np.nan, votes),
}


@pytest.mark.parametrize("change", INVARIANCES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_invariance(name, change):
    generator = np.random.default_rng(1)
    votes = generator.integers(0, 2, (30, 5))
    if name != "fleiss_kappa":
        votes[generator.random((30, 5)) < 0.2] = -1
    before, after = FUNCTIONS[name](votes), FUNCTIONS[name](INVARIANCES[change](votes))
    assert before == pytest.approx(after, abs=1e-12)
    assert not np.isnan(before)


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


# From gold files


def rows_of(*votes, **more):
    """Return gold rows with these votes, such as "HHN"."""
    rows = gold(len(votes))
    for row, said in zip(rows, votes):
        ones = said.count("H")
        row.update(more)
        row["labels"] = [H if vote == "H" else N for vote in said]
        row["p(Hallucination)"] = ones / max(len(said), 1)
        row["label"] = H if 2 * ones > len(said) else N
    return rows


@pytest.fixture
def figures(tmp_path):
    """Return the figures of one gold file that is made of rows."""

    def of(rows, **settings):
        path = write_json(tmp_path / "val.model-agnostic.json", rows)
        return agreement(path, **{"intervals": NO_CI, **settings}).results[0].whole

    return of


def test_the_columns_of_a_file_are_the_votes(figures):
    found = figures(rows_of("HHN", "NNN", "HNH", "HHH"))
    votes = [[1, 1, 0], [0, 0, 0], [1, 0, 1], [1, 1, 1]]
    assert (found.n, found.annotators) == (4, 3)
    assert found["krippendorff_alpha"].value == krippendorff_alpha(votes)
    assert found["fleiss_kappa"].value == fleiss_kappa(votes)
    assert found["pairwise_agreement"].value == pairwise_agreement(votes)
    assert found["unanimous"].value == 0.5
    assert found["human_accuracy"].value == human_accuracy(votes)
    assert found["human_rho"].value == human_rho(votes)
    assert found["human_label_accuracy"].value == label_accuracy(votes)


def test_tasks_are_as_files_of_their_own(tmp_path, figures):
    rows = gold(40)
    path = write_json(tmp_path / "whole" / "val.model-agnostic.json", rows)
    by_task = agreement(path, Intervals(50)).results[0].by_task
    assert list(by_task) == ["DM", "MT", "PG", "TS"]
    for task, part in by_task.items():
        alone = figures([row for row in rows if row["task"] == task], intervals=Intervals(50))
        assert part == alone


@pytest.mark.parametrize("rows", [rows_of("HHN"), rows_of("H", "N", "H")], ids=["item", "rater"])
def test_undefined_has_a_reason_in_place_of_an_interval(rows, figures):
    found = figures(rows, intervals=Intervals(20)).to_dict()
    flat = {**found, **{f"human_ceiling.{k}": v for k, v in found["human_ceiling"].items()}}
    for name, value in flat.items():
        if f"{name}_ci" in flat:
            assert (name in found["undefined"]) == (value is None), name
            assert value is not None or flat[f"{name}_ci"] is None


REASONS = [
    (["HHH", "HHH"], "krippendorff_alpha", "all votes are the same"),
    (["HHH", "HHH"], "fleiss_kappa", "all votes are the same"),
    (["HHH", "HHH"], "human_ceiling.rho", "voted the same on all items"),
    (["HHH", "HHH"], "binary_p_ceiling", "the same on all items"),
    (["HHH", "HN"], "fleiss_kappa", "from 2 to 3 votes"),
    (["H", "N"], "human_ceiling.accuracy", "no item has two votes"),
    (["H", "N"], "human_ceiling.label_accuracy", "no item has two votes"),
]


@pytest.mark.parametrize(("votes", "name", "why"), REASONS)
def test_the_reason_says_why(votes, name, why, figures):
    assert why in figures(rows_of(*votes)).to_dict()["undefined"][name]


def test_lists_of_different_length_leave_votes_missing(figures):
    found = figures(rows_of("HHNHN", "NNN", "HN", "H", "HHHH"))
    votes = [[1, 1, 0, 1, 0], [0, 0, 0, -1, -1], [1, 0, -1, -1, -1]]
    votes += [[1, -1, -1, -1, -1], [1, 1, 1, 1, -1]]
    assert found.annotators == 5
    assert found["krippendorff_alpha"].value == krippendorff_alpha(votes)
    assert found["fleiss_kappa"].value is None
    assert found["human_accuracy"].value == human_accuracy(votes)


@pytest.mark.parametrize("empty", [None, [], [None, None], float("nan"), "absent"])
def test_items_without_labels_are_left_out_and_told(empty, tmp_path):
    rows = rows_of("HHN", "NNN", "HNH", "HHH")
    rows[1]["labels"] = empty
    if empty == "absent":
        del rows[1]["labels"]
    path = write_json(tmp_path / "val.model-agnostic.json", rows)
    found = agreement(path, Intervals(20))
    whole = found.results[0].whole
    assert whole.n == 3
    assert whole["fleiss_kappa"].value == fleiss_kappa([[1, 1, 0], [1, 0, 1], [1, 1, 1]])
    assert any("1 of 4 items have no labels" in line for line in found.warnings)
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


@pytest.mark.parametrize("drop", [("labels",), ("labels", "label", "p(Hallucination)")])
def test_gold_without_votes_is_refused_with_a_sentence(drop, tmp_path):
    rows = [{k: v for k, v in row.items() if k not in drop} for row in gold(4)]
    with pytest.raises(ShroomError, match=r"no item has the annotators' votes.*such as val"):
        agreement(write_json(tmp_path / "test.model-aware.json", rows))


# Folders, zips and names


def folder_of(tmp_path):
    """Return a folder with two versions, an odd name, what has no votes and what is no gold."""
    write_json(tmp_path / "val.model-aware.v1.json", rows_of("HHH", "HHN"))
    write_json(tmp_path / "val.model-aware.v2.json", rows_of("HHH", "NNN", "HHN"))
    write_json(tmp_path / "test.model-aware.json", [{"id": 1, "hyp": "a"}])
    write_json(tmp_path / "trial-v1.json", rows_of("HNN", "HHH"))
    write_json(tmp_path / "notes.json", {"no": "gold"})
    (tmp_path / "val.model-agnostic.json.gz").write_bytes(
        gzip.compress(json.dumps(rows_of("HH", "HN", "NN", "NN")).encode())
    )
    (tmp_path / "README.md").write_text("about")
    return tmp_path


def zip_of(folder, target):
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"gold/{path.name}")
    return target


@pytest.mark.parametrize("as_zip", [False, True], ids=["folder", "zip"])
def test_a_folder_gives_the_latest_version_of_each(as_zip, tmp_path):
    source = folder_of(tmp_path / "gold")
    source = zip_of(source, tmp_path / "gold.zip") if as_zip else source
    found = agreement(source, NO_CI)
    assert [(r.title, r.file, r.whole.n) for r in found.results] == [
        ("trial-v1.json", "trial-v1.json", 2),
        ("val model-agnostic", "val.model-agnostic.json.gz", 4),
        ("val model-aware", "val.model-aware.v2.json", 3),
    ]
    left_out = {line.split("/")[-1] for line in found.warnings}
    assert left_out == {
        "notes.json: left out, since it cannot be read as gold",
        "test.model-aware.json: left out, since no item has labels",
    }
    assert "|n:2+4+3|" in found.signature


# The command


def test_one_file_stands_at_the_top_as_well(shroom, tmp_path):
    path = write_json(tmp_path / "val.model-agnostic.json", gold(20))
    code, out, err = shroom("gold", "agreement", path, "--format", "json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert {name: found[name] for name in found["results"][0]} == found["results"][0]
    assert found["by_task"]["DM"]["human_ceiling"].keys() == found["human_ceiling"].keys()
    for name in ("accuracy", "rho", "label_accuracy"):
        low, high = found["human_ceiling"][f"{name}_ci"]
        assert low <= found["human_ceiling"][name] <= high
    for name in (*AGREEMENT, "binary_p_ceiling"):
        low, high = found[f"{name}_ci"]
        assert low <= found[name] <= high
    assert found["intervals"]["resamples"] == 1000


def test_less_confidence_is_a_narrower_interval(shroom, tmp_path):
    path = write_json(tmp_path / "g.json", gold(40))
    wide, narrow = (
        json.loads(shroom("gold", "agreement", path, "--format", "json", "--confidence", c)[1])
        for c in (0.99, 0.5)
    )
    low, high = wide["krippendorff_alpha_ci"]
    assert low < narrow["krippendorff_alpha_ci"][0] < narrow["krippendorff_alpha_ci"][1] < high
    assert "50% interval" in shroom("gold", "agreement", path, "--confidence", 0.5)[1]


HOSTILE = {
    "one item": rows_of("HHN"),
    "one unanimous item": rows_of("HHH"),
    "one vote": rows_of("H"),
    "one annotator": rows_of("H", "N", "N"),
    "two items": rows_of("HHN", "NNN"),
    "all the same": rows_of("HHH", "HHH", "HHH"),
    "different lengths": rows_of("HHHNN", "", "H", "HN"),
    "no task": [{k: v for k, v in row.items() if k != "task"} for row in gold(6)],
    "an escape in the task": rows_of("HHN", "NNN", task="\x1b[31m"),
    "many labels": rows_of("HN" * 300, "N", "H"),
}


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_gold_shows_no_nan(name, form, shroom, tmp_path):
    path = write_json(tmp_path / "g.json", HOSTILE[name])
    code, out, _ = shroom("gold", "agreement", path, "--format", form, "--resamples", 20)
    assert code == 0
    assert not re.search(r"\bnan\b", out, flags=re.IGNORECASE)
    assert "\x1b" not in out
    if form == "json":
        json.loads(out, parse_constant=pytest.fail)


def test_a_failed_run_leaves_what_was_there(shroom, tmp_path):
    unlabelled = write_json(tmp_path / "gold" / "test.model-aware.json", [{"id": 1}])
    out = tmp_path / "kept.json"
    out.write_text("kept")
    code, said, err = shroom("gold", "agreement", unlabelled, "-o", out)
    assert (code, said, out.read_text()) == (1, "", "kept")
    assert "no item has the annotators' votes" in err
    assert shroom("gold", "agreement", tmp_path / "gold", "-o", unlabelled)[0] == 1
    assert json.loads(unlabelled.read_text()) == [{"id": 1}]


# The real data

REAL = {
    "trial-v1.json": (0.684, 0.842, 0.750, 0.921, 0.919),
    "val.model-agnostic.json": (0.373, 0.728, 0.509, 0.815, 0.872),
    "val.model-aware.v2.json": (0.327, 0.705, 0.463, 0.802, 0.866),
}


@pytest.mark.real
def test_the_figures_of_the_task():
    found = agreement(DATA / "semeval2024", NO_CI)
    shown = {
        result.file: tuple(
            round(estimate.value, 3)
            for estimate in (
                result.whole["krippendorff_alpha"],
                result.whole["human_accuracy"],
                result.whole["human_rho"],
                result.whole["human_label_accuracy"],
                result.whole["binary_p_ceiling"],
            )
        )
        for result in found.results
    }
    assert shown == REAL
