"""`shroom leaderboard --duplicates`: who hands in the same as another team."""

import json
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import DATA, gold, write_json
from made_up import AWARE, answers, latent
from scipy.special import ndtr
from scipy.stats import spearmanr

from shroom.evaluation.best_of import team_of
from shroom.evaluation.contest import Contest
from shroom.evaluation.duplicates import duplicates
from shroom.metrics.base import mean_of
from shroom.scoring.align import AlignedTrack
from shroom.scoring.editions.edition import Annotation
from shroom.scoring.editions.files import default
from shroom.scoring.file_names import Name
from shroom.scoring.kinds.registry import ranking_metrics
from shroom.scoring.table import Table

METRICS = ranking_metrics(default())


def contest_of(systems, gold_p):
    """Return a contest of systems as (label, p) on made-up gold."""
    n = len(gold_p)
    truth = Table("gold", n, (gold_p > 0.5).astype(np.int8), gold_p)
    name = Name("val", "model-aware")
    tracks = {
        system: AlignedTrack(
            name, Table(system, n, np.asarray(label, np.int8), p), truth, 0, default(), np.arange(n)
        )
        for system, (label, p) in systems.items()
    }
    return Contest(name, truth, default(), tracks)


def honest(strengths, n, seed, shared=0.5):
    """Return a contest of systems that have nothing in common but the items' difficulty."""
    u, seen = latent.draw(n, strengths, np.random.default_rng(seed), shared)
    return {f"t{i}": (z > 0, np.round(ndtr(z), 3)) for i, z in enumerate(seen)}, latent.gold_p(u)


STRENGTHS = (0.5, 0.6, 0.65, 0.7, 0.72, 0.75, 0.8)


def test_similarities_are_what_loops_and_scipy_give():
    systems, gold_p = honest(STRENGTHS[:3], 200, 0)
    label, p = systems["t0"]
    systems["copy"] = (label, p)
    result = duplicates([contest_of(systems, gold_p)], METRICS)
    (pair,) = result.pairs
    right = np.mean(label == (gold_p > 0.5))
    assert (pair.a, pair.b, pair.kind, pair.equal) == ("t0", "copy", "equal", 1.0)
    assert pair.equal_by_chance == pytest.approx(right**2 + (1 - right) ** 2)
    assert pair.rho == pytest.approx(1)
    assert pair.rho_by_chance == pytest.approx(spearmanr(p, gold_p)[0] ** 2)
    pairs = list(combinations(systems.values(), 2))
    (field,) = result.fields
    equal = [np.mean(a == b) for (a, _), (b, _) in pairs]
    rho = [spearmanr(a, b)[0] for (_, a), (_, b) in pairs]
    assert field.pairs == 6
    assert field.equal == pytest.approx((min(equal), np.median(equal), max(equal)))
    assert field.rho == pytest.approx((min(rho), np.median(rho), max(rho)))


def disguised(label, p, kind, generator):
    """Return a copy of a system in disguise."""
    flipped = generator.random(len(label)) < 0.02
    return {
        "equal": (label, 0.3 + p / 3),
        "equal labels": (label, np.where(label, 0.5, 0) + generator.random(len(p)) / 2),
        "equal p": (p > 0.3, p**2),
        "nearly equal": (label ^ flipped, np.clip(p + generator.normal(0, 0.03, len(p)), 0, 1)),
    }[kind]


@pytest.mark.parametrize("kind", ["equal", "equal labels", "equal p", "nearly equal"])
def test_copies_in_disguise_are_listed(kind):
    systems, gold_p = honest(STRENGTHS, 500, 1)
    copy = disguised(*systems["t5"], kind, np.random.default_rng(2))
    result = duplicates([contest_of({**systems, "sly": copy}, gold_p)], METRICS)
    assert [(pair.a, pair.b, pair.kind) for pair in result.pairs] == [("t5", "sly", kind)]


@pytest.mark.parametrize(("n", "shared"), [(60, 0.5), (500, 0.5), (60, 0.8), (500, 0.9)])
def test_honest_systems_are_not_listed(n, shared):
    for seed in range(20):
        systems, gold_p = honest(STRENGTHS, n, seed, shared)
        systems["constant"] = systems["also constant"] = (np.ones(n), np.full(n, 0.9))
        assert duplicates([contest_of(systems, gold_p)], METRICS).pairs == []


def test_a_field_of_one_model_accuses_nobody():
    """Where every team has asked the same model, no two answers stand out."""
    (base,), gold_p = (
        list(x.values()) if isinstance(x, dict) else x for x in honest([0.7], 500, 3)
    )
    generator = np.random.default_rng(4)
    systems = {f"t{i}": disguised(*base, "nearly equal", generator) for i in range(6)}
    assert duplicates([contest_of(systems, gold_p)], METRICS).pairs == []


def test_versions_of_one_team_are_not_compared():
    systems, gold_p = honest(STRENGTHS, 200, 5)
    named = {f"{system}/v1": columns for system, columns in systems.items()}
    contest = contest_of({**named, "t0/v2": systems["t0"], "other": systems["t0"]}, gold_p)
    result = duplicates([contest], METRICS, team_of)
    assert {(pair.a, pair.b) for pair in result.pairs} == {("t0/v1", "other"), ("t0/v2", "other")}


def test_other_annotations_are_compared_by_what_the_metrics_see():
    """Spans and the like are lists: what is compared are the statistics of the items."""
    generator = np.random.default_rng(6)
    n, name = 200, Name("test", "en")
    shared = mean_of(
        "shared", lambda label, *_: np.array([len(spans) / 7 for spans in label]), (0.0, 1.0)
    )
    lists = [[[0] * k for k in generator.integers(0, 7, n)] for _ in range(3)]
    truth = SimpleNamespace(label=lists[0], p=lists[0], n=n)
    tracks = {
        system: SimpleNamespace(
            columns=(own, own, truth.label, truth.p), predictions=SimpleNamespace(p=own)
        )
        for system, own in zip("abcd", [*lists, lists[1]])
    }
    edition = replace(default(), annotation=Annotation(kind="spans"))
    (pair,) = duplicates([Contest(name, truth, edition, tracks)], [shared]).pairs
    assert (pair.a, pair.b, pair.kind, pair.equal, pair.rho) == ("b", "d", "equal", 1.0, None)


def test_the_leaderboard_lists_them(tmp_path, shroom):
    truth = gold(120)
    write_json(tmp_path / "gold" / AWARE, truth)
    for seed, system in enumerate(("red/a", "red/b", "blue/a")):
        rows = answers(truth, 0.8, min(seed, 1))
        write_json(tmp_path / "teams" / system / AWARE, rows)
    where = ("leaderboard", tmp_path / "teams", tmp_path / "gold", "--no-ci", "--trials", 99)
    code, out, err = shroom(*where, "--best-of", "--duplicates", "--format", "json")
    assert code == 0, err
    (pair,) = json.loads(out)["duplicates"]["pairs"]
    assert (pair["a"], pair["b"], pair["kind"]) == ("blue/a", "red/b", "equal")
    page = tmp_path / "page.html"
    text = shroom(*where, "--best-of", "--duplicates", "--html", page)[1]
    for shown in (text, page.read_text(encoding="utf-8")):
        assert "blue/a" in shown
        assert "Equal or nearly equal submissions of different teams" in shown
    for form in ("csv", "markdown"):
        plain = shroom(*where, "--best-of", "--format", form)
        assert shroom(*where, "--best-of", "--duplicates", "--format", form) == plain


@pytest.mark.real
def test_of_the_real_submissions_three_settings_of_one_prompt_are_listed(shroom):
    """They are one team's; as different teams' they would be pointed out, and no others."""
    args = (DATA / "submissions", DATA / "semeval2024", "--no-ci", "--trials", 99, "--duplicates")
    result = json.loads(shroom("leaderboard", *args, "--format", "json")[1])["duplicates"]
    pairs = [(pair["a"][14:20], pair["b"][14:20], pair["track"]) for pair in result["pairs"]]
    assert pairs == [
        ("v13-1-", "v13-20", "model-aware"),
        ("v13-1-", "v13-25", "model-aware"),
        ("v13-20", "v13-25", "model-aware"),
    ]
    assert [field["pairs"] for field in result["fields"]] == [91, 91]
