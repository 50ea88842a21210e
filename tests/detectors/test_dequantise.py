"""The cross-encoder in float32: its integers brought back to floats, and multiplied as such."""

import numpy as np
import onnx
import pytest
import tiny_models
import torch
from conftest import SAMPLE
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder import quantization
from shroom.detectors.cross_encoder.detector import MODEL, CrossEncoder
from shroom.detectors.cross_encoder.model_folder import GRAPH, in_float32
from shroom.detectors.cross_encoder.quantization import in_steps
from shroom.inference.run_settings import Run
from shroom.inference.store import Store
from shroom.scoring.datapoint_files import read

POINTS = read(SAMPLE / "val.model-aware.json")[:24]
P = np.array([point.p for point in POINTS])
FLOAT32 = Run(precision="float32")


def made(architecture, folder):
    """Return a tiny model in torch, saved with integers in all of its matrices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(quantization, "_LEAST", 1)
        encoder = tiny_models.encoder(folder / "encoder", architecture)
        fitted = CrossEncoder(encoder=str(encoder), epochs=1)
        fitted.fit(POINTS, P).save(folder / "model")
    return fitted


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    made("mpnet", folder)
    return folder / "model"


@pytest.mark.parametrize("architecture", ["mpnet", "bert"])
def test_p_is_that_of_the_network_with_the_stored_weights(architecture, tmp_path):
    fitted = made(architecture, tmp_path)
    matrix = quantization.MATRIX_STEPS, quantization.MATRIX_MOST, 0
    table = quantization.TABLE_STEPS, quantization.TABLE_MOST, 1
    for module in fitted._model.model.encoder.modules():
        if isinstance(module, torch.nn.Linear):
            stored(module.weight.data.T, *matrix)
        elif isinstance(module, torch.nn.Embedding):
            stored(module.weight.data, *table)
    expected = fitted.p(POINTS)
    model = CrossEncoder(tmp_path / "model")
    np.testing.assert_allclose(model.p(POINTS, FLOAT32), expected, atol=1e-5)
    assert np.abs(model.p(POINTS) - expected).max() > 1e-4


def stored(weights, *form):
    """Change weights in torch to what their integers stand for."""
    values, sizes = in_steps(weights.numpy(), *form)
    weights.copy_(torch.from_numpy(values * sizes))


def test_p_of_the_shipped_model_is_that_of_its_network(monkeypatch):
    monkeypatch.syspath_prepend(str(SAMPLE.parents[1] / "benchmarks"))
    import shipped

    network, model = shipped.network(), CrossEncoder(reference="tgt")
    expected = []
    for point in POINTS[:8]:
        (ref,) = model.premises(point)
        (pair,), _ = model._model.encoding([(point.task.name, ref, point.hyp)])
        with torch.inference_mode():
            logits = network(torch.from_numpy(pair[:1])).logits
        expected.append(float(torch.softmax(logits, dim=-1)[0, 1]))
    found = model.p(POINTS[:8], FLOAT32)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_a_graph_without_integers_stays():
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = onnx.helper.make_graph([node], "product", [], [])
    content = onnx.helper.make_model(graph).SerializeToString()
    assert onnx.load_model_from_string(in_float32(content)).graph == graph


@given(st.binary(max_size=60), st.integers(0, 4_000))
def test_a_damaged_graph_is_refused_or_left_to_the_runtime(noise, place):
    whole = MODEL.joinpath(GRAPH).read_bytes()
    for content in (noise, whole[:place] + noise + whole[place:]):
        try:
            made = in_float32(content)
        except ValueError as error:
            made = str(error)
        assert isinstance(made, bytes) or "not an ONNX model" in made or "utf-8" in made
    with pytest.raises(ValueError, match="not an ONNX model"):
        in_float32(whole[: max(30, place)])


# --- one precision is never taken for the other


def test_a_cache_keeps_them_apart(tiny, tmp_path):
    model, stores = CrossEncoder(tiny), [Store(tmp_path / "pairs.sqlite")]
    expected = model.p(POINTS, FLOAT32)
    model.p(POINTS, Run(stores=stores))
    found = model.p(POINTS, Run(stores=stores, precision="float32"))
    np.testing.assert_array_equal(found, expected)


# --- what can be asked for


def test_a_run_keeps_which_precision_was_used(tiny):
    for precision, used in ((None, "int8"), ("int8", "int8"), ("float32", "float32")):
        run = Run(precision=precision)
        CrossEncoder(tiny).p(POINTS[:2], run)
        assert run.precisions == {used}
    with pytest.raises(ShroomError, match="computes in int8 or float32, not in bfloat16"):
        CrossEncoder(tiny).p(POINTS, Run(precision="bfloat16"))
