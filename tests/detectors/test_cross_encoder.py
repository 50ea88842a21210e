"""The kit's own model: encoding, training, what is made small of it, and what ships."""

import json
import os
import shutil
import zlib
from dataclasses import replace

import numpy as np
import pytest
import tiny_models
import torch
from conftest import SAMPLE
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import TASKS, Datapoint
from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder import fitting
from shroom.detectors.cross_encoder.detector import MODEL, CrossEncoder
from shroom.detectors.cross_encoder.fitting import Example, Fitting, train
from shroom.detectors.cross_encoder.model_folder import (
    ABOUT,
    GRAPH,
    INTEGERS,
    TOKENIZER,
    TRAINING_ITEMS,
)
from shroom.detectors.cross_encoder.pair_model import exported, packed
from shroom.detectors.cross_encoder.quantization import in_steps
from shroom.detectors.cross_encoder.schedule import Schedule
from shroom.detectors.out_of_fold import TrainingItems
from shroom.detectors.pairs import HYP, REF, Encoding
from shroom.inference.run_settings import Run
from shroom.scoring.datapoint_files import read

POINTS = read(SAMPLE / "val.model-aware.json")[:24]
P = np.array([point.p for point in POINTS])
PAIR = ("MT", "The cat sat on the mat.", "A dog was lying there.")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return tiny_models.encoder(tmp_path_factory.mktemp("encoder"), "mpnet")


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "shroom" / "training"


@pytest.fixture(scope="module")
def fitted(encoder, tmp_path_factory):
    """A tiny model, fitted and saved."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        made = CrossEncoder(encoder=str(encoder)).fit(POINTS, P)
        made.remember(TrainingItems.of(POINTS))
        folder = tmp_path_factory.mktemp("model")
        made.save(folder, command="shroom fit cross-encoder")
    return made, folder


@pytest.fixture
def encoding(fitted):
    return Encoding(fitted[1] / TOKENIZER, padding=1, room=40)


# -- encoding -----------------------------------------------------------------------------------


def test_sides_are_those_of_the_text(encoding):
    ((ids, sides),), cut = encoding([PAIR])
    assert cut == [False]
    assert ids.shape == sides.shape
    text = encoding._tokenizer
    assert "dog" in text.decode(ids[sides == HYP].tolist())
    assert "cat" in text.decode(ids[sides == REF].tolist())
    assert text.decode(ids[sides == REF].tolist()).startswith("MT")


@pytest.mark.parametrize("hyp", ["", " ", "</s> <s>", "\ud800", "\0", "文字", "a\u200bb", "<pad>"])
def test_a_text_is_only_ever_text(encoding, hyp):
    ((ids, sides),), _ = encoding([("DM", "a cat", hyp)])
    special = ids[(sides != HYP) & (sides != REF)]
    assert len(special) == 4  # <s> ref </s></s> hyp </s>, whatever the texts say
    assert not np.isin(ids[(sides == HYP) | (sides == REF)], special).any()


def test_the_reference_gives_way_first(encoding):
    ((_, sides),), cut = encoding([("MT", "the cat sat " * 5000, "a dog")])
    assert cut == [True]
    assert len(sides) == 40
    ((_, short),), _ = encoding([("MT", "the cat", "a dog")])
    assert (sides == HYP).sum() == (short == HYP).sum()
    ((_, sides),), _ = encoding([("MT", "the cat", "a dog " * 5000)])
    assert (len(sides), (sides == REF).any()) == (40, True)


# -- integers -----------------------------------------------------------------------------------


@given(
    st.integers(0, 2**32 - 1),
    st.floats(1e-6, 1e6),
    st.sampled_from([0, 1]),
    st.sampled_from([(6.5, 63), (8.0, 127)]),
)
def test_no_weight_is_off_by_more_than_half_a_step(seed, scale, axis, form):
    steps, most = form
    weights = np.random.default_rng(seed).standard_t(4, size=(16, 12)).astype(np.float32) * scale
    values, sizes = in_steps(weights.astype(np.float32), steps, most, axis)
    assert np.abs(values).max() <= most
    assert (np.abs(values * sizes - weights) <= sizes * 0.501).all()


def test_packing_is_near_the_entropy_and_any_zlib_reads_it():
    values = np.rint(np.random.default_rng(0).normal(0, 6.5, 1_000_000)).astype(np.int8).tobytes()
    small = packed(values)
    assert zlib.decompress(small) == values
    counts = np.unique(np.frombuffer(values, np.int8), return_counts=True)[1] / len(values)
    entropy = -(counts * np.log2(counts)).sum()
    assert 8 * len(small) / len(values) < 1.02 * entropy
    assert len(small) < len(zlib.compress(values, 9))


# -- training -----------------------------------------------------------------------------------

EXAMPLES = [
    Example("PG", f"a {one} thing", f"a {other} thing", float(one != other))
    for one in ("red", "small", "old")
    for other in ("red", "small", "old")
] * 4


def weights(model):
    return torch.cat([value.flatten() for value in model.state_dict().values()])


def trained(encoder, **schedule):
    fitting = Fitting(str(encoder), device="cpu")
    model, losses = fitting.model(), []
    schedule = Schedule(**{"epochs": 1, "batch": 4, "rate": 1e-3, **schedule})
    train(model, fitting.encoding, EXAMPLES, schedule, report=lambda at: losses.append(at.loss))
    return model, losses


def test_the_loss_falls(encoder):
    _, losses = trained(encoder, epochs=12, rate=5e-3)
    assert len(losses) == 12 * 9
    assert np.mean(losses[-9:]) < 0.8 * np.mean(losses[:9])


def test_the_seed_decides_and_frozen_layers_stay(encoder):
    before = Fitting(str(encoder), device="cpu").model()
    (_, one), (after, again), (_, other) = (
        trained(encoder, seed=seed, rate=1e-2, frozen=1) for seed in (1, 1, 2)
    )
    assert one == again != other
    same = [
        all(map(torch.equal, x.parameters(), y.parameters()))
        for x, y in zip(before.layers(), after.layers())
    ]
    assert same == [True] + [False] * (len(same) - 1)
    tables = (model.encoder.embeddings.word_embeddings.weight for model in (before, after))
    assert torch.equal(*tables)


def test_a_second_process_leaves_the_tokenizer_of_the_first_whole(encoder, tmp_path):
    with Fitting(str(encoder), device="cpu", work=tmp_path).tokenizer.open() as reading:
        Fitting(str(encoder), device="cpu", work=tmp_path)
        assert os.fstat(reading.fileno()).st_nlink == 0  # replaced, not written over


def test_cross_validation_keeps_its_folds(encoder, work):
    made = CrossEncoder(encoder=str(encoder), epochs=2)
    p = made.out_of_fold(POINTS, P, folds=3)
    assert p.shape == P.shape
    assert ((p >= 0) & (p <= 1)).all()
    assert len(list(work.glob("*of3.npy"))) == 3
    steps = []
    made.report = steps.append
    np.testing.assert_array_equal(made.out_of_fold(POINTS, P, folds=3), p)
    assert steps == []
    others = [replace(point, tgt=point.tgt + " indeed", src=point.src + " so") for point in POINTS]
    assert not np.array_equal(made.out_of_fold(others, P, folds=3), p)


def test_a_fold_that_was_interrupted_is_resumed(encoder, work, monkeypatch):
    monkeypatch.setattr(fitting, "SAVED_EVERY", 2)
    made = {"encoder": str(encoder), "epochs": 2, "batch": 4}
    whole = CrossEncoder(**made).out_of_fold(POINTS, P, folds=2)
    for kept in work.glob("*.npy"):
        kept.unlink()

    def kill(at):
        if at.step == at.steps - 1:
            raise KeyboardInterrupt

    broken = CrossEncoder(**made)
    broken.report = kill
    with pytest.raises(KeyboardInterrupt):
        broken.out_of_fold(POINTS, P, folds=2)
    again = CrossEncoder(**made).out_of_fold(POINTS, P, folds=2)
    np.testing.assert_array_equal(again, whole)


def test_a_blend_keeps_a_share_of_the_weights_from_before(encoder, tmp_path):
    def fitted(blend):
        schedule = Schedule(epochs=1, rate=1e-2, bfloat16=True, blend=blend)
        fitting = Fitting(str(encoder), schedule=schedule, device="cpu", work=tmp_path)
        return fitting.model(), fitting.fit(POINTS, P).model

    before, after = fitted(0.0)
    _, blended = fitted(0.25)
    assert not torch.equal(weights(before), weights(after))
    expected = 0.25 * weights(before) + 0.75 * weights(after)
    torch.testing.assert_close(weights(blended), expected)
    assert list(tmp_path.glob("*.checkpoint")) == []


# -- what is saved --------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", ["mpnet", "bert", "roberta"])
def test_the_saved_model_says_what_the_trained_one_says(architecture, tmp_path):
    folder = tiny_models.encoder(tmp_path / "encoder", architecture)
    made = CrossEncoder(encoder=str(folder), epochs=1)
    made.fit(POINTS, P)
    before = made.p(POINTS)
    made.save(tmp_path / "model")
    after = CrossEncoder(tmp_path / "model").p(POINTS)
    assert before.std() > 1e-3
    np.testing.assert_allclose(before, after, atol=0.08)
    assert np.corrcoef(before, after)[0, 1] > 0.9


def test_nothing_that_could_run_code_is_saved(fitted):
    names = {path.name for path in fitted[1].iterdir()}
    texts = {"about.json", "tokenizer.json", "training_items.json"}
    assert names == {*texts, "model.onnx", "weights.z"}
    about = json.loads((fitted[1] / ABOUT).read_text())
    assert about["command"] == "shroom fit cross-encoder"
    assert about["recipe"]["reference"] == "given"


def test_exporting_twice_gives_the_same_bytes(fitted):
    made, _ = fitted
    one, other = (exported(made._model.model, made._model.encoding) for _ in range(2))
    assert one[0] == other[0]
    assert all(map(np.array_equal, one[1].values(), other[1].values()))


def test_predictions_depend_on_nothing_but_the_datapoint(fitted):
    model = CrossEncoder(fitted[1])
    p = model.p(POINTS)
    np.testing.assert_allclose(model.p(POINTS, Run(batch_tokens=1)), p, atol=1e-6)
    np.testing.assert_allclose(model.p(POINTS[::-1])[::-1], p, atol=1e-6)
    np.testing.assert_allclose(model.p(POINTS[:1]), p[:1], atol=1e-6)
    assert model.p([]).shape == (0,)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (ABOUT, None, "not a model of the cross-encoder"),
        (ABOUT, b"[]", "not a model of the cross-encoder"),
        (TRAINING_ITEMS, b"[]", r"cross-encoder \(the JSON does not describe a model\)"),
        (TOKENIZER, None, "no tokenizer.json"),
        (INTEGERS, None, "cannot be loaded"),
        (INTEGERS, b"damaged", "cannot be loaded"),
        (INTEGERS, zlib.compress(b"too few"), "cannot be loaded"),
        (GRAPH, b"damaged", "ONNX Runtime cannot load the graph"),
        (GRAPH, b"damaged", r"the model cannot be loaded \(Error parsing"),
    ],
)
def test_damaged_models_are_refused_with_a_sentence(fitted, tmp_path, file, content, message):
    shutil.copytree(fitted[1], tmp_path, dirs_exist_ok=True)
    (tmp_path / file).unlink() if content is None else (tmp_path / file).write_bytes(content)
    run = Run(precision="float32" if "Error parsing" in message else None)
    with pytest.raises(ShroomError, match=message):
        CrossEncoder(tmp_path).p(POINTS[:1], run)
    with pytest.raises(ShroomError, match="needs an encoder to start from"):
        CrossEncoder().fit(POINTS, P)


# -- what ships -----------------------------------------------------------------------------------


def test_what_ships_is_small():
    assert sum(path.stat().st_size for path in MODEL.iterdir()) <= 70_000_000


def test_a_faithful_hypothesis_has_less_p_than_an_invented_one():
    tgt = "The museum was closed on Sunday because of the storm."
    good = "Because of the storm, the museum stayed shut on Sunday."
    bad = "The museum opened on Monday in spite of the strike."
    points = [Datapoint(hyp, tgt, tgt, task) for task in TASKS.values() for hyp in (good, bad)]
    low, high = CrossEncoder().p(points).reshape(-1, 2).T
    assert (low < 0.5).all()
    assert (high > 0.5).all()
