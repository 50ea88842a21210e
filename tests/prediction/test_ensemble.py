"""Ensembles of submissions: the methods, the learner, and that nothing is judged in-sample."""

import json
import os

import numpy as np
import pytest
from conftest import DATA, gold, nli_models, nli_submission, write_json
from hypothesis import given
from hypothesis import strategies as st
from made_up import answers
from scipy import stats

from shroom.core.problems import ShroomError
from shroom.learners.logistic import Logistic
from shroom.metrics.correlation import rho
from shroom.prediction import ensemble_methods
from shroom.prediction.ensemble import ensemble
from shroom.prediction.ensemble_methods import (
    Combined,
    Training,
    Weighted,
    cross_validated,
    mean,
    rank,
    vote,
)

P = "p(Hallucination)"
RNG = np.random.default_rng


# what is scored: a world in which the members know something of p


def world(n, seed, first_id=None):
    """Return labelled datapoints with texts that no other seed has."""
    texts = ("hyp", "src", "tgt")
    rows = gold(n, first_id=first_id)
    return [{**row, **{key: f"{row[key]} of {seed}" for key in texts}} for row in rows]


def unlabelled(rows):
    return [{k: v for k, v in row.items() if k not in ("label", "labels", P)} for row in rows]


class World:
    """Files of two systems: what they said of a labelled val and of an unlabelled test."""

    def __init__(self, folder, n=90):
        self.folder = folder
        self.gold = {track: world(n, seed) for seed, track in enumerate(("agnostic", "aware"))}
        self.test = {t: world(40, seed, 100) for seed, t in enumerate(("agnostic", "aware"), 7)}
        for track, rows in self.gold.items():
            write_json(folder / "gold" / f"val.model-{track}.json", rows)
            self.members(f"val.model-{track}.json", rows, "train")
        for track, rows in self.test.items():
            write_json(folder / "data" / f"test.model-{track}.json", unlabelled(rows))
            write_json(folder / "key" / f"test.model-{track}.json", rows)
            self.members(f"test.model-{track}.json", rows, "pred")

    def members(self, name, rows, kind):
        for place, system in enumerate("ab"):
            made = answers(rows, 0.5, 100 * place + len(name))  # other noise in each file
            write_json(self.folder / f"{kind}-{system}" / name, made)

    def __call__(self, name):
        return self.folder / name

    def logistic(self, *more, preds=("pred-a", "pred-b"), out="out"):
        train = "--train", self("train-a"), "--train", self("train-b")
        gold = "--train-gold", self("gold"), "--method", "logistic"
        return "ensemble", *map(self, preds), "-o", self(out), *train, *gold, *more


@pytest.fixture
def quick(monkeypatch):
    """Fit with less care, where the care is not what is tested."""
    monkeypatch.setattr(ensemble_methods, "STRENGTHS", (0.1,))


@pytest.fixture
def files(tmp_path, quick):
    return World(tmp_path)


def rows_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


# the methods that need no training

TABLES = st.integers(1, 25).flatmap(
    lambda n: st.integers(1, 4).flatmap(
        lambda m: st.lists(
            st.lists(st.integers(0, 10), min_size=m, max_size=m), min_size=n, max_size=n
        )
    )
)


@given(TABLES, st.randoms(use_true_random=False))
def test_what_every_method_keeps(table, random):
    p = np.array(table) / 10
    label = np.array([[random.random() < value for value in row] for row in p.tolist()])
    order = RNG(0).permutation(len(p))
    for method in (mean, rank, vote):
        found = method(p, label)
        assert ((found.p >= 0) & (found.p <= 1)).all()
        assert not (found.label & (found.p < 0.5)).any()
        assert not (~found.label & (found.p > 0.5)).any()
        moved = method(p[order], label[order])
        np.testing.assert_array_equal(moved.p, found.p[order])
        swapped = method(p[:, ::-1], label[:, ::-1])
        np.testing.assert_allclose(swapped.p, found.p, atol=2e-6)


@given(TABLES)
def test_rank_is_the_mean_of_scipys_ranks(table):
    p = np.array(table) / 10
    found = rank(p, p > 0.5)
    ranks = np.mean([stats.rankdata(column) for column in p.T], axis=0)
    for i in range(len(p)):
        for j in range(len(p)):
            if ranks[i] < ranks[j] - 1e-9:
                assert found.p[i] < found.p[j]
            elif abs(ranks[i] - ranks[j]) < 1e-9:
                assert found.p[i] == pytest.approx(found.p[j], abs=2e-6)


def test_rank_flags_as_many_as_the_members_do():
    p = RNG(2).random((200, 3)) ** [1, 2, 3]
    label = p > [0.9, 0.8, 0.7]
    ties = 3  # those with the border's own rank stay below it
    wanted = round(label.sum() / 3)
    assert wanted - ties <= rank(p, label).label.sum() <= wanted
    for flagged in (np.zeros_like(label), np.ones_like(label)):
        assert (rank(p, flagged).label == flagged[:, 0]).all()


def test_an_even_vote_goes_by_the_mean():
    p = np.array([[0.4, 0.8], [0.4, 0.55], [0.5, 0.5]])
    label = np.array([[False, True]] * 3)
    assert vote(p, label).p.tolist() == [0.5] * 3
    assert vote(p, label).label.tolist() == [True, False, False]


def test_labels_go_by_p_as_it_is_written():
    said = Combined.by(np.array([0.5000001, 0.500001, -1e-9, 1 + 1e-9]), 0.5)
    assert said.p.tolist() == [0.5, 0.500001, 0, 1]
    assert said.label.tolist() == [False, True, False, True]


# the learner


def training(n=150, seed=0, k=3, noise=1.0):
    rng = RNG(seed)
    values = rng.normal(size=(n, k))
    tasks = np.array(["DM", "MT", "PG"])[np.arange(n) % 3]
    p = np.round(1 / (1 + np.exp(-2 * values[:, 0] + noise * rng.normal(size=n))) * 5) / 5
    return Training(values, tasks, p, p > 0.5, np.arange(n))


def test_a_task_never_seen_has_what_the_others_share():
    data = training()
    fitted = Logistic.fit(data.values, data.tasks, data.p, 0.1)
    said = fitted.p(data.values, np.repeat("TS", len(data.p)))
    assert np.isfinite(said).all()
    assert rho(said, data.p) > 0.5


def test_out_of_fold_is_out_of_fold(monkeypatch):
    """Each datapoint is judged by an ensemble whose data did not have its group."""
    data = training(60)
    data = Training(data.values, data.tasks, data.p, data.label, np.arange(60) // 2)
    seen = []

    class Spy:
        def predict(self, values, _):
            return Combined.by(np.full(len(values), 0.3), 0.5)

    def fit(part):
        seen.append(set(part.groups.tolist()))
        return Spy()

    monkeypatch.setattr(Weighted, "fit", fit)
    assert (cross_validated(data).p == 0.3).all()
    assert len(seen) == 10
    assert all(sum(group not in part for part in seen) == 1 for group in range(30))


def test_chance_is_not_flattered(quick):
    """Labels by chance: the figures out of fold say so, where those in-sample would not."""
    found = []
    for seed in range(3):
        data = training(120, seed)
        p = RNG(seed + 50).permutation(data.p)
        data = Training(data.values, data.tasks, p, p > 0.5, data.groups)
        found.append(rho(cross_validated(data).p, p))
    assert abs(np.mean(found)) < 0.15


# the command


def test_one_track_may_be_judged_by_weights_of_both(shroom, done, files):
    name = "test.model-aware.json"
    preds = f"pred-a/{name}", f"pred-b/{name}"
    data = "--data", files("data")
    done(*files.logistic(*data, preds=preds, out="aware.json"))
    assert shroom(*files.logistic(*data, out="both"))[0] == 0
    assert files("aware.json").read_text() == (files("both") / name).read_text()


def test_order_by_id(done, files):
    first, second = (files(f"pred-{it}") / "test.model-aware.json" for it in "ab")
    moved = write_json(files("moved.json"), rows_of(second)[::-1])
    data = "--data", files("data") / "test.model-aware.json"
    made = {}
    for out, *command in (
        ("x", first, second, *data),
        ("y", first, moved, *data),
        ("z", moved, first, *data),
        ("w", moved, first),  # in the first's order
    ):
        done("ensemble", *command, "-o", files(f"{out}.json"))
        made[out] = rows_of(files(f"{out}.json"))
    assert made["x"] == made["y"] == made["z"] == made["w"][::-1]
    assert [row["id"] for row in made["x"]] == list(range(100, 140))


def test_one_submission_with_fitted_weights(done, files):
    command = "ensemble", files("pred-a"), "-o", files("out"), "--method", "logistic"
    done(*command, "--train", files("train-a"), "--train-gold", files("gold"))
    for path in files("out").iterdir():
        assert len({row[P] for row in rows_of(path)}) > 10


def test_zeros_and_ones_alone(done, files):
    for kind in ("train-a", "pred-a"):
        for path in files(kind).iterdir():
            rows = rows_of(path)
            write_json(path, [{**row, P: int(row[P] > 0.5)} for row in rows])
    done(*files.logistic("--data", files("data")))


CHANGES = {
    "fewer": lambda rows: rows[:-1],
    "other ids": lambda rows: [{**row, "id": row["id"] + 1000} for row in rows],
    "no ids": lambda rows: [{key: row[key] for key in row if key != "id"} for row in rows],
    "twice": lambda rows: [*rows[:-1], rows[0]],
    "not numbers": lambda rows: [{**row, P: float("nan")} for row in rows],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("data", [True, False])
def test_submissions_that_do_not_fit(refused, files, change, data):
    path = files("pred-b") / "test.model-aware.json"
    write_json(path, change(rows_of(path)))
    more = ("--data", files("data")) if data else ()
    call = "ensemble", files("pred-a"), files("pred-b"), "-o", files("out"), *more
    assert "pred-b" in refused(*call)
    assert not files("out").exists()


def without_last(files, kind):
    path = files(kind) / "test.model-aware.json"
    write_json(path, rows_of(path)[:-1])


def gold_with(files, **changed):
    for path in files("gold").iterdir():
        write_json(path, [{**row, **changed} for row in rows_of(path)])


def few(files):
    for path in files("gold").iterdir():
        for kind in ("gold", "train-a", "train-b"):
            write_json(files(kind) / path.name, rows_of(files(kind) / path.name)[:4])


def seen_before(files, n):
    """Let the first datapoints of a track be those of the training gold."""
    path = files("data") / "test.model-aware.json"
    rows = rows_of(path)
    for row, seen in zip(rows[:n], files.gold["agnostic"]):
        row |= {"hyp": seen["hyp"], "tgt": seen["tgt"]}
    write_json(path, rows)


#: What is changed, the words of the command after "ensemble -o out", the exit code, the messages.
TWO, DATA_TOO = "pred-a pred-b ", "pred-a pred-b --data data"
IN_SAMPLE = "train-a train-b --method logistic --train train-a --train train-b --train-gold gold"
LOGISTIC = IN_SAMPLE.replace("train-a train-b", TWO, 1)
NAME = "test.model-aware.json"
ONE_TRACK = LOGISTIC.replace(TWO, f"pred-a/{NAME} pred-b/{NAME}")
REFUSALS = {
    "logistic alone": (None, f"{TWO} --method logistic", 2, ["needs --train and --train-gold"]),
    "no gold": (None, f"{TWO} --method logistic --train train-a", 2, ["train_gold); specify both"]),
    "train too few": (
        None, LOGISTIC.replace("--train train-b ", ""), 2, ["1 training submission\n"],
    ),
    "mean with train": (None, f"{TWO} --train train-a", 2, ["the method mean does not use"]),
    "vote with gold": (
        None, f"{TWO} --method vote --train-gold gold", 2, ["the method vote does not use"],
    ),
    "pipe": (None, f"{TWO} --data -", 2, ["no input can be a pipe"]),
    "unknown method": (None, f"{TWO} --method median", 2, ["median"]),
    **{
        f"output {path}": (None, f"{ONE_TRACK} -o {path}", 1, ["which is never overwritten"])
        for path in (f"pred-a/{NAME}", "train-b/val.model-aware.json", "gold/val.model-aware.json")
    },
    "all submissions": (
        lambda files: [without_last(files, kind) for kind in ("pred-a", "pred-b")],
        DATA_TOO, 1, ["pred-a", "pred-b"],
    ),
    "a track less": (
        lambda files: (files("pred-a") / "test.model-agnostic.json").unlink(),
        TWO, 1, ["must have the same tracks"],
    ),
    "a track more": (
        lambda files: (files("pred-b") / "test.model-agnostic.json").unlink(),
        TWO, 1, ["must have the same tracks"],
    ),
    "an empty folder": (lambda files: files("x").mkdir(), "x pred-a", 1, ["[no-file]"]),
    "a named pipe": (lambda files: os.mkfifo(files("x")), "x pred-a", 2, ["can be a pipe"]),
    "in-sample": (None, IN_SAMPLE, 1, ["datapoints of the training gold"]),
    "in-sample data": (None, f"{IN_SAMPLE} --data gold", 1, ["datapoints of the training gold"]),
    "half seen": (
        lambda files: seen_before(files, 40),
        f"{LOGISTIC} --data data", 1, ["datapoints of the training gold"],
    ),
    "one label": (
        lambda files: gold_with(files, label="Not Hallucination", **{P: 0.2}),
        f"{LOGISTIC} --data data", 1, ["with both labels and at least 10 different"],
    ),
    "no labels": (
        lambda files: gold_with(files, label=None, **{P: None}),
        f"{LOGISTIC} --data data", 1, ["gold-unlabelled"],
    ),
    "few": (few, f"{LOGISTIC} --data data", 1, ["with both labels and at least 10 different"]),
    "a file for two tracks": (None, f"{TWO} -o out.json", 1, ["use a .zip, or a folder (NAME/)"]),
}  # fmt: skip


@pytest.mark.linux
@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(shroom, files, name):
    change, words, expected, messages = REFUSALS[name]
    if change:
        change(files)
    named = [files(word) if "." in word or files(word).exists() else word for word in words.split()]
    before = {path: path.read_bytes() for path in files.folder.rglob("*.json")}
    code, _, err = shroom("ensemble", "-o", files("out"), *named)
    assert {path: path.read_bytes() for path in files.folder.rglob("*.json")} == before
    assert code == expected
    assert all(message in err for message in messages), err
    assert "track" not in name or "gold" not in err
    assert not files("out").exists()


def test_an_unknown_method_is_refused_in_python_too(files):
    with pytest.raises(ShroomError, match="no method 'median'"):
        ensemble([files("pred-a")], method="median")


def test_gold_without_texts_serves_where_no_data_are_given(done, files):
    for path in files("gold").iterdir():
        write_json(path, [{key: row[key] for key in ("label", P)} for row in rows_of(path)])
    done(*files.logistic())
    done(*files.logistic("--data", files("data"), out="again"))


def test_constant_p(noted, done, refused, files):
    def constant(system):
        for path in (*files(f"train-{system}").iterdir(), *files(f"pred-{system}").iterdir()):
            same = {P: 0.5, "label": "Not Hallucination"}
            write_json(path, [{**row, **same} for row in rows_of(path)])

    constant("a")
    assert "[p-constant]" in noted(*files.logistic("--data", files("data")))
    constant("b")
    err = refused(*files.logistic("--data", files("data"), out="again"))
    assert "no weights can be fitted" in err
    for method in ("mean", "rank", "vote"):
        preds = files("pred-a"), files("pred-b")
        done("ensemble", *preds, "-o", files(method), "--method", method)


@pytest.mark.real
def test_six_nli_models_out_of_fold_on_val(tmp_path):
    gold, models = DATA / "semeval2024", nli_models()
    train = [nli_submission(model, tmp_path / "val" / model) for model in models]
    test = [nli_submission(model, tmp_path / "test" / model, "test") for model in models]
    combined = ensemble(test, method="logistic", train=train, train_gold=gold, data=gold)
    assert combined.n == 3000
    figures = [line.split() for line in combined.notes if line.startswith("val ")]
    assert figures == [
        ["val", "model-agnostic", "499", "0.814", "0.739"],
        ["val", "model-aware", "501", "0.796", "0.695"],
    ]
