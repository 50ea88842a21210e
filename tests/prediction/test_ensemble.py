"""Ensembles of submissions: the methods, the learner, and that nothing is judged in-sample."""

import json
import os
import zipfile

import numpy as np
import pytest
from conftest import DATA, nli_models, nli_submission, write_json
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from shroom.learners.logistic import Logistic
from shroom.metrics.correlation import rho
from shroom.prediction.ensemble import combine
from shroom.prediction.ensemble.combine import (
    Combined,
    Training,
    Weighted,
    cross_validated,
    mean,
    rank,
    vote,
)
from shroom.prediction.ensemble.ensemble import ensemble

P = "p(Hallucination)"
RNG = np.random.default_rng
WORDS = ("a", "small", "cat", "sat", "on", "some", "old", "mat", "and", "slept")


# what is scored: a world in which the members know something of p


def world(n, seed=0, first_id=None):
    """Return n labelled datapoints, with ids where a first one is given."""
    rng = RNG(seed)
    rows = []
    for i in range(n):
        p = int(rng.integers(0, 6)) / 5
        hyp = " ".join(rng.choice(WORDS, 5)) + f" {seed} {i}"
        row = {
            "hyp": hyp,
            "src": f"source {seed} {i}",
            "tgt": " ".join(rng.choice(WORDS, 5)),
            "task": ("DM", "MT", "PG")[i % 3],
            "label": "Hallucination" if p > 0.5 else "Not Hallucination",
            P: p,
        }
        rows.append(row if first_id is None else {"id": first_id + i, **row})
    return rows


def unlabelled(rows):
    return [{key: row[key] for key in row if key not in ("label", P)} for row in rows]


def member(rows, noise=0.3, seed=0):
    """Return predictions of a system that sees p through noise."""
    rng, found = RNG(seed), []
    for row in rows:
        p = round(float(np.clip(row[P] + noise * rng.normal(), 0, 1)), 4)
        said = {"label": "Hallucination" if p > 0.5 else "Not Hallucination", P: p}
        found.append({"id": row["id"], **said} if "id" in row else said)
    return found


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
        for seed, system in enumerate("ab"):
            made = member(rows, seed=seed + 10)
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
    monkeypatch.setattr(combine, "STRENGTHS", (0.1,))


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


def test_mean_and_vote_by_hand():
    p = np.array([[0.2, 0.9, 0.7], [0.1, 0.3, 0.6]])
    label = np.array([[False, True, True], [True, True, False]])
    assert mean(p, label).p.tolist() == [0.6, 0.333333]
    assert mean(p, label).label.tolist() == [True, False]
    assert vote(p, label).p.tolist() == [0.666667, 0.666667]
    assert vote(p, label).label.tolist() == [True, True]


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


@pytest.mark.parametrize("n", [10, 11, 30])
def test_few_datapoints(n, quick):
    data = training(n)
    said = cross_validated(data)
    assert np.isfinite(said.p).all()


# the command


@pytest.mark.parametrize("method", ["mean", "rank", "vote", "logistic"])
@pytest.mark.parametrize("out", ["out", "out.zip"])
def test_folders(shroom, files, method, out):
    command = files.logistic("--data", files("data"), out=out)
    if method != "logistic":
        command = ("ensemble", files("pred-a"), files("pred-b"), "-o", files(out))
        command += ("--method", method, "--data", files("data"))
    code, shown, err = shroom(*command)
    assert code == 0, err
    assert shown == ""
    assert "wrote 80 predictions" in err
    code, shown, err = shroom("check", files(out), "--data", files("data"))
    assert (code, err) == (0, "")
    code, shown, err = shroom("score", files(out), files("key"), "--format", "json", "--no-ci")
    results = json.loads(shown)["results"]
    assert [result["track"] for result in results] == ["model-agnostic", "model-aware"]
    assert all(result["rho"] > 0.6 for result in results)


def test_figures_out_of_fold_are_told(shroom, files):
    code, _, err = shroom(*files.logistic("--data", files("data")))
    assert code == 0
    lines = err.splitlines()
    assert lines[0].split() == ["out", "of", "fold", "(10", "folds)", "n", "accuracy", "rho"]
    assert [line.split()[:3] for line in lines[2:4]] == [
        ["val", "model-agnostic", "90"],
        ["val", "model-aware", "90"],
    ]
    assert "inverse penalty" in lines[4]


def test_two_runs_write_the_same_bytes(shroom, files):
    written = []
    for out in ("one", "two"):
        assert shroom(*files.logistic("--data", files("data"), out=out))[0] == 0
        written.append([path.read_bytes() for path in sorted(files(out).iterdir())])
    assert written[0] == written[1]


def test_files_and_folders_and_zips_give_the_same(shroom, files):
    for kind in ("pred-a", "train-a", "gold", "data"):
        with zipfile.ZipFile(files(f"{kind}.zip"), "w") as archive:
            for path in files(kind).iterdir():
                archive.write(path, path.name)
    assert shroom(*files.logistic("--data", files("data"), out="folders"))[0] == 0
    command = (
        "ensemble", files("pred-a.zip"), files("pred-b"), "-o", files("zips"), "--method",
        "logistic", "--train", files("train-a.zip"), "--train", files("train-b"), "--train-gold",
        files("gold.zip"), "--data", files("data.zip"),
    )  # fmt: skip
    assert shroom(*command)[0] == 0
    for path in files("folders").iterdir():
        assert path.read_text() == (files("zips") / path.name).read_text()


def test_one_track_may_be_judged_by_weights_of_both(shroom, files):
    name = "test.model-aware.json"
    preds = f"pred-a/{name}", f"pred-b/{name}"
    data = "--data", files("data")
    code, _, err = shroom(*files.logistic(*data, preds=preds, out="aware.json"))
    assert code == 0, err
    assert shroom(*files.logistic(*data, out="both"))[0] == 0
    assert files("aware.json").read_text() == (files("both") / name).read_text()


def test_without_data_there_are_no_tasks(shroom, files):
    code, _, err = shroom(*files.logistic())
    assert code == 0, err
    code, _, err = shroom("check", files("out"), "--data", files("data"))
    assert (code, err) == (0, "")


def test_order_by_id(shroom, files):
    rows = rows_of(files("pred-b") / "test.model-aware.json")
    moved = write_json(files("moved.json"), rows[::-1])
    first = files("pred-a") / "test.model-aware.json"
    data = files("data") / "test.model-aware.json"
    for out, second in (("x.json", files("pred-b") / "test.model-aware.json"), ("y.json", moved)):
        code, _, err = shroom("ensemble", first, second, "-o", files(out), "--data", data)
        assert code == 0, err
    assert files("x.json").read_text() == files("y.json").read_text()
    assert [row["id"] for row in rows_of(files("y.json"))] == list(range(100, 140))
    code, _, err = shroom("ensemble", moved, first, "-o", files("z.json"), "--data", data)
    assert rows_of(files("z.json")) == rows_of(files("x.json"))
    code, _, err = shroom("ensemble", moved, first, "-o", files("w.json"))  # in the first's order
    assert [row["id"] for row in rows_of(files("w.json"))] == list(range(100, 140))[::-1]


def test_val_has_no_ids_and_keeps_its_order(shroom, files):
    train = files("train-a"), files("train-b")
    code, _, err = shroom("ensemble", *train, "-o", files("out"), "--method", "mean")
    assert code == 0, err
    rows = [rows_of(folder / "val.model-aware.json") for folder in train]
    expected = [round((a[P] + b[P]) / 2, 6) for a, b in zip(*rows)]
    assert [row[P] for row in rows_of(files("out") / "val.model-aware.json")] == expected
    assert all("id" not in row for row in rows_of(files("out") / "val.model-aware.json"))


def test_one_submission(shroom, files):
    code, _, err = shroom("ensemble", files("pred-a"), "-o", files("out"))
    assert code == 0
    assert "the only submission" in err
    command = "ensemble", files("pred-a"), "-o", files("out2"), "--method", "logistic"
    code, _, err = shroom(*command, "--train", files("train-a"), "--train-gold", files("gold"))
    assert code == 0, err
    for path in files("out2").iterdir():
        p = [row[P] for row in rows_of(path)]
        assert len(set(p)) > 10


def test_zeros_and_ones_alone(shroom, files):
    for kind in ("train-a", "pred-a"):
        for path in files(kind).iterdir():
            rows = rows_of(path)
            write_json(path, [{**row, P: int(row[P] > 0.5)} for row in rows])
    code, _, err = shroom(*files.logistic("--data", files("data")))
    assert code == 0, err


# refusals

USAGE = {
    "logistic alone": (("--method", "logistic"), "needs --train"),
    "no gold": (("--method", "logistic", "--train", "train-a"), "--train-gold"),
    "train too few": (
        ("--method", "logistic", "--train", "train-a", "--train-gold", "gold"),
        "once for each of 2 submissions, got it 1 times",
    ),
    "mean with train": (("--train", "train-a"), "--method logistic, not mean"),
    "vote with gold": (("--method", "vote", "--train-gold", "gold"), "--method logistic, not vote"),
    "pipe": (("--data", "-"), "none can be a pipe"),
    "unknown method": (("--method", "median"), "median"),
}  # fmt: skip


@pytest.mark.parametrize("name", USAGE)
def test_usage(shroom, files, name):
    words, message = USAGE[name]
    words = [files(word) if files(word).exists() else word for word in words]
    command = "ensemble", files("pred-a"), files("pred-b"), "-o", files("out"), *words
    code, _, err = shroom(*command)
    assert code == 2
    assert message in err
    assert not files("out").exists()


CHANGES = {
    "fewer": lambda rows: rows[:-1],
    "other ids": lambda rows: [{**row, "id": row["id"] + 1000} for row in rows],
    "no ids": lambda rows: [{key: row[key] for key in row if key != "id"} for row in rows],
    "twice": lambda rows: [*rows[:-1], rows[0]],
    "not numbers": lambda rows: [{**row, P: float("nan")} for row in rows],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("data", [True, False])
def test_submissions_that_do_not_fit(shroom, files, change, data):
    path = files("pred-b") / "test.model-aware.json"
    write_json(path, change(rows_of(path)))
    more = ("--data", files("data")) if data else ()
    code, _, err = shroom("ensemble", files("pred-a"), files("pred-b"), "-o", files("out"), *more)
    assert code == 1
    assert "pred-b" in err
    assert "Traceback" not in err
    assert not files("out").exists()


def test_problems_of_all_submissions_are_told_at_once(shroom, files):
    for kind in ("pred-a", "pred-b"):
        path = files(kind) / "test.model-aware.json"
        write_json(path, rows_of(path)[:-1])
    preds = files("pred-a"), files("pred-b")
    code, _, err = shroom("ensemble", *preds, "-o", files("out"), "--data", files("data"))
    assert code == 1
    assert "pred-a" in err
    assert "pred-b" in err


@pytest.mark.parametrize("order", [("pred-a", "pred-b"), ("pred-b", "pred-a")])
def test_a_track_that_one_of_them_has_is_never_dropped(shroom, files, order):
    (files("pred-a") / "test.model-agnostic.json").unlink()
    code, _, err = shroom("ensemble", *map(files, order), "-o", files("out"))
    assert code == 1
    assert "must have the same tracks" in err
    assert "gold" not in err
    assert not files("out").exists()


def test_an_empty_folder_is_told_once(shroom, files):
    files("empty").mkdir()
    code, _, err = shroom("ensemble", files("empty"), files("pred-a"), "-o", files("out"))
    assert code == 1
    assert err.count("[no-file]") == 2  # the problem, and how to fix it
    assert "gold" not in err


@pytest.mark.linux
def test_a_named_pipe_is_refused_as_a_pipe(shroom, files):
    os.mkfifo(files("pipe"))
    code, _, err = shroom("ensemble", files("pipe"), files("pred-a"), "-o", files("out"))
    assert code == 2
    assert "none can be a pipe" in err


@pytest.mark.parametrize("with_data", [True, False])
def test_nothing_is_judged_in_sample(shroom, files, with_data):
    more = ("--data", files("gold")) if with_data else ()
    command = files.logistic(*more, preds=("train-a", "train-b"))
    code, _, err = shroom(*command)
    assert code == 1
    assert "the weights would be fitted on" in err
    assert not files("out").exists()


def test_a_few_datapoints_seen_before_are_told(shroom, files):
    path = files("data") / "test.model-aware.json"
    rows = rows_of(path)
    seen = files.gold["agnostic"][0]
    rows[0] |= {"hyp": seen["hyp"], "tgt": seen["tgt"]}
    write_json(path, rows)
    code, _, err = shroom(*files.logistic("--data", files("data")))
    assert code == 0
    assert "note: 1 of the datapoints to judge are in the training gold" in err
    write_json(path, [{**row, "hyp": s["hyp"], "tgt": s["tgt"]}
                      for row, s in zip(rows, files.gold["agnostic"])])  # fmt: skip
    code, _, err = shroom(*files.logistic("--data", files("data")))
    assert code == 1
    assert "the weights would be fitted on" in err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": "Not Hallucination", P: 0.2}, "one label on every item"),
        ({"label": None, P: None}, "gold-unlabelled"),
    ],
)
def test_gold_that_cannot_be_fitted_on(shroom, files, changed, message):
    for path in files("gold").iterdir():
        write_json(path, [{**row, **changed} for row in rows_of(path)])
    code, _, err = shroom(*files.logistic("--data", files("data")))
    assert (code, message in err) == (1, True), err


def test_gold_of_a_few_items(shroom, tmp_path, quick):
    files = World(tmp_path, n=4)
    code, _, err = shroom(*files.logistic("--data", files("data")))
    assert code == 1
    assert "fewer than 10 different datapoints" in err


def test_gold_without_texts_serves_where_no_data_are_given(shroom, files):
    for path in files("gold").iterdir():
        write_json(path, [{key: row[key] for key in ("label", P)} for row in rows_of(path)])
    code, _, err = shroom(*files.logistic())
    assert code == 0, err
    code, _, err = shroom(*files.logistic("--data", files("data"), out="again"))
    assert code == 0, err  # then the texts cannot serve, on either side


def constant(path):
    write_json(path, [{**row, P: 0.5, "label": "Not Hallucination"} for row in rows_of(path)])


def test_constant_p(shroom, files):
    for kind in ("train-a", "pred-a"):
        for path in files(kind).iterdir():
            constant(path)
    code, _, err = shroom(*files.logistic("--data", files("data")))
    assert code == 0, err
    assert "[p-constant]" in err
    for kind in ("train-b", "pred-b"):
        for path in files(kind).iterdir():
            constant(path)
    code, _, err = shroom(*files.logistic("--data", files("data"), out="again"))
    assert code == 1
    assert "nothing to weigh" in err
    for method in ("mean", "rank", "vote"):
        preds = files("pred-a"), files("pred-b")
        command = "ensemble", *preds, "-o", files(method), "--method", method
        assert shroom(*command)[0] == 0


@pytest.mark.parametrize("target", ["pred-a", "train-b", "gold"])
def test_inputs_are_never_touched(shroom, files, target):
    before = {path: path.read_bytes() for path in files.folder.rglob("*.json")}
    name = "val.model-aware.json" if target != "pred-a" else "test.model-aware.json"
    preds = (f"pred-a/{p}" for p in ["test.model-aware.json"]), ("pred-b/test.model-aware.json",)
    command = files.logistic(preds=(*preds[0], *preds[1]), out=f"{target}/{name}")
    code, _, err = shroom(*command)
    assert code == 1
    assert "inputs are never touched" in err
    assert {path: path.read_bytes() for path in files.folder.rglob("*.json")} == before


def test_two_tracks_want_a_folder(shroom, files):
    preds = files("pred-a"), files("pred-b")
    code, _, err = shroom("ensemble", *preds, "-o", files("out.json"))
    assert code == 1
    assert "name a .zip or a folder" in err


# real data


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
