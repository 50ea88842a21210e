"""Spans, answers and labelled spans through the verbs that compare systems."""

import json
import shutil

import pytest
from conftest import ROOT, write_lines

EXAMPLES = ROOT / "docs" / "examples"
METRICS = {
    "mushroom2025": ("iou", "rho"),
    "cap2025": ("factual_f1", "fluency_f1"),
    "visions2026": ("cor", "cor_lbl"),
}
FLOORS = dict(zip(METRICS, ("flag everything", "all y", "mark everything")))
KEYS = {"id", "index", "labels", "soft_labels", "hard_labels"}
KEYS |= {"has_factual_mistakes", "has_fluency_mistakes"}


@pytest.fixture(params=METRICS)
def edition(request):
    return request.param


@pytest.fixture
def systems(tmp_path, edition):
    """Return a folder with the example's system and one that has the gold's own answers."""
    folder, gold = tmp_path / "systems", EXAMPLES / edition / "gold"
    shutil.copytree(EXAMPLES / edition / "system", folder / "mine")
    (file,), (truth,) = (folder / "mine").iterdir(), gold.iterdir()
    rows = [json.loads(line) for line in truth.read_text("utf-8").splitlines()]
    own = [{key: row[key] for key in KEYS & row.keys()} for row in rows]
    write_lines(folder / "oracle" / file.name, own)
    return folder, gold


def test_systems_have_the_editions_metrics_and_nothing_of_labels(done, systems, tmp_path, edition):
    folder, gold = systems
    page, options = tmp_path / "page.html", ("--edition", edition, "--trials", "200")
    out = done("leaderboard", folder, gold, *options)
    assert out.index("oracle") < out.index("mine") < out.index(f"floor: {FLOORS[edition]}")
    assert f"Ranked by {METRICS[edition][0]}" in out
    inputs = (folder / "oracle", folder / "mine", gold, *options)
    out = done("compare", *inputs)
    assert all(f", {metric}, n = " in out for metric in METRICS[edition])
    assert f"edition:{edition}|track:en|" in out
    done("report", *inputs, "-o", page)
    text = page.read_text("utf-8")
    assert f"floor: {FLOORS[edition]}" in text
    for heading in ("Reliability</h3>", "Confusion</h3>", "McNemar"):
        assert heading not in text


@pytest.mark.parametrize("verb", ["report --format csv", "ensemble", "gold agreement"])
def test_verbs_of_labels_with_p_refuse_it_in_a_sentence(refused, systems, tmp_path, edition, verb):
    folder, gold = systems
    sources = {"report --format csv": (folder / "mine", gold), "gold agreement": (gold,)}
    sources["ensemble"] = (folder / "mine", folder / "oracle", "-o", tmp_path / "out.json")
    err = refused(*verb.split(), *sources[verb], "--edition", edition)
    assert f"the edition {edition} has the annotation kind" in err
