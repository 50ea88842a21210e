"""The script that trains an encoder on corpora, before the cross-encoder is fitted on labels."""

import json
import sys

import numpy as np
import pytest
import tiny_models
import torch
from conftest import ROOT, SAMPLE, write_lines

from shroom.detectors.cross_encoder.detector import CrossEncoder
from shroom.detectors.cross_encoder.fitting import Fitting
from shroom.scoring.datapoint_files import read

POINTS = read(SAMPLE / "val.model-aware.json")[:12]
ROWS = [
    {"premise": f"word: ref {i}", "hypothesis": f"word: hyp {i}", "task": f"kind:{i % 3}",
     "label": "entailment" if i % 2 else "contradiction", "p": i / 10, "hter": i % 4}
    for i in range(10)
]  # fmt: skip


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """The script, with the corpus ROWS in the folder of data."""
    monkeypatch.syspath_prepend(ROOT / "baselines" / "training")
    monkeypatch.setenv("SHROOM_DATA", str(tmp_path))
    monkeypatch.setenv("SHROOM_CACHE", str(tmp_path / "cache"))
    write_lines(tmp_path / "pairs.jsonl", ROWS)
    import stage

    monkeypatch.setattr(stage, "RECIPE", tmp_path / "corpora.toml")
    yield stage
    for name in ("stage", "corpora"):
        sys.modules.pop(name)


def test_the_recipe_can_be_read(stage, monkeypatch):
    monkeypatch.setattr(stage, "RECIPE", ROOT / "baselines" / "training" / "corpora.toml")
    stages, seed = stage.stages()
    assert [each["name"] for each in stages] == ["pairs", "inference"]
    assert [stage.schedule_of(each, seed).blend for each in stages] == [0.0, 0.5]
    made = [sys.modules["corpora"].Corpus(**table) for each in stages for table in each["corpora"]]
    assert all(corpus.licence for corpus in made)


def test_a_stage_writes_an_encoder_from_which_fitting_begins(stage, tmp_path):
    table = 'name = "pairs"\nn = 8\nepochs = 2\nrate = 1e-2\n'
    corpus = 'file = "pairs.jsonl"\ntask = "DM"\nn = 9\n'
    stage.RECIPE.write_text(f"seed = 3\n[[stages]]\n{table}[[stages.corpora]]\n{corpus}")
    encoder, out = tiny_models.encoder(tmp_path / "encoder", "mpnet"), tmp_path / "out"
    stage.main("pairs", str(encoder), out)
    assert not [path for path in out.iterdir() if "checkpoint" in path.name]
    one, other = (Fitting(str(each), device="cpu").model().state_dict() for each in (encoder, out))
    for name in ("head.0.weight", "scale", "encoder.encoder.layer.0.intermediate.dense.weight"):
        assert not torch.equal(one[name], other[name])
    fitted = CrossEncoder(encoder=str(out), epochs=1).fit(POINTS, [point.p for point in POINTS])
    fitted.save(tmp_path / "model")
    assert json.loads((tmp_path / "model" / "about.json").read_text())["recipe"]["encoder"] == "out"
    assert np.isfinite(CrossEncoder(tmp_path / "model").p(POINTS)).all()


def examples(leave_out=(), **table):
    table = {"file": "pairs.jsonl", "task": "DM", "n": 99, **table}
    return sorted(sys.modules["corpora"].Corpus(**table).examples(1, set(leave_out)))


@pytest.mark.parametrize(
    ("table", "ps"),
    [
        ({}, [0.97, 0.03] * 5),
        ({"labels": {"entailment": 0.2}}, [0.97, 0.2] * 5),
        ({"p": 0.5}, [0.5] * 10),
        ({"score": "p", "zero_at": 0.8, "one_at": 0.3},
         [0.98, 0.98, 0.98, 0.98, 0.8, 0.6, 0.4, 0.2, 0.02, 0.02]),
        ({"only": ["kind:0"]}, [0.97, 0.03, 0.97, 0.03]),
        ({"without": ["kind:0", "kind:1"]}, [0.97, 0.03, 0.97]),
        ({"below": {"p": 0.25}}, [0.97, 0.03, 0.97]),
        ({"longest": 21}, []),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("stage")
def test_what_a_corpus_says_of_its_rows(table, ps):
    assert [example.p for example in examples(**table)] == pytest.approx(ps)


@pytest.mark.usefixtures("stage")
def test_n_headword_swap_and_what_is_left_out():
    assert len(examples(n=4)) == 4
    assert {x.ref[:3] for x in examples(headword=0)} == {"ref"}
    assert {x.ref[:9] for x in examples(swap=1)} == {"word: hyp"}
    assert len(examples(leave_out=["word ref 3", "word hyp 4"])) == 8
    assert len(examples(rare={"hter": 0})) < 10
    assert examples() == examples()
