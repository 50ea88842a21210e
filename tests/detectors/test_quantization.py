"""The cross-encoder in 8 bits: its rows, its graph, and the same graph in float32."""

import warnings

import numpy as np
import onnx
import pytest
import tiny_models
import torch
from conftest import SAMPLE

from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder import quantization
from shroom.detectors.cross_encoder.detector import CrossEncoder
from shroom.detectors.cross_encoder.model_folder import in_float32
from shroom.detectors.cross_encoder.quantization import (
    LOW,
    MATRIX_MOST,
    MATRIX_STEPS,
    MIDDLE,
    in_steps,
    layout_of,
    layouts_of,
    plain,
    quantised,
    sources,
)
from shroom.inference.classifier import session
from shroom.inference.run_settings import Run
from shroom.inference.store import Store
from shroom.scoring.datapoint_files import read

CHANCE = np.random.default_rng(5)
POINTS = read(SAMPLE / "val.model-aware.json")[:24]
P = np.array([point.p for point in POINTS])
FLOAT32 = Run(precision="float32")


def rounded(rows, layout):
    """What a row's integers stand for, by the definition: each number rounded once."""
    below, above = layout.steps
    parts = rows / layout.copies
    steps = np.maximum(parts.max(axis=1) / above, -parts.min(axis=1) / below)
    steps = np.maximum(steps, 1e-9 / above)[:, None]
    return np.floor(rows / steps + 0.5) * steps


def laid_out(k, zero, copies):
    found = plain(k, zero)
    for column, count in copies.items():
        found.copies[column] = count
    return found


LAYOUTS = {
    "plain": plain(64),
    "low": plain(64, LOW),
    "shared": laid_out(64, MIDDLE, {3: 5, 40: 2}),
    "low and shared": laid_out(64, LOW, {0: 2, 63: 12}),
}


def graph_of(nodes, inputs, outputs, **arrays):
    """A graph of nodes over named arrays; inputs and outputs have a name, a type and a shape."""
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node(kind, [*given], [result], **how) for kind, given, result, how in nodes],
        "a graph",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [helper.make_tensor_value_info(*each) for each in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def product(rows, matrix, layout):
    """What the runtime makes of rows and a matrix in integers."""
    (k, width), real = matrix.shape, onnx.TensorProto.FLOAT
    nodes = [("MatMul", ("x", "w"), "y", {})]
    model = graph_of(nodes, [("x", real, [None, k])], [("y", real, [None, width])], w=matrix)
    made, integers = quantised(model, {"x": layout})
    return session(made.SerializeToString(), "a graph", integers).run(None, {"x": rows})[0]


def some_rows(n=40, k=64):
    rows = CHANCE.normal(size=(n, k)).astype(np.float32)
    rows[:, 3] *= 30
    rows[7] *= 1000
    rows[8] *= 0.001
    rows[9] = 0
    rows[10] = -np.abs(rows[10])
    rows[11] = np.abs(rows[11])
    return rows


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_graph_multiplies_as_numpy_does_with_the_same_integers(layout):
    rows = some_rows()
    matrix = CHANCE.normal(size=(64, 96)).astype(np.float32)
    found = product(rows, matrix, layout)
    values, sizes = in_steps(matrix, MATRIX_STEPS, MATRIX_MOST, axis=0)
    expected = rounded(rows.astype(np.float64), layout) @ (values * sizes.astype(np.float64))
    step = np.abs(rows / layout.copies).max(axis=1, keepdims=True) / layout.steps[0]
    # A number halfway between two integers may go to either.
    np.testing.assert_allclose(found / (step + 1e-9), expected / (step + 1e-9), atol=3)
    close = np.abs(found - expected) <= 2e-4 * np.abs(expected).max(axis=1, keepdims=True) + 1e-9
    assert close.mean() > 0.95


def test_a_row_of_any_size_is_off_by_little():
    rows = CHANCE.normal(size=(6, 128)).astype(np.float32)
    rows *= np.array([[1], [100], [0.01], [1], [1e6], [1e-6]], np.float32)
    rows[3, 7] = 50  # an outlying number takes the steps of its own row only
    matrix = CHANCE.normal(size=(128, 96)).astype(np.float32)
    exact = rows.astype(np.float64) @ matrix
    found = product(rows, matrix, plain(128))
    errors = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert (errors < 0.06).all()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_rows_do_not_depend_on_their_neighbours(layout):
    rows, matrix = some_rows(), CHANCE.normal(size=(64, 64)).astype(np.float32)
    whole = product(rows, matrix, layout)
    for part in (slice(0, 1), slice(5, 9), slice(30, 40)):
        np.testing.assert_allclose(whole[part], product(rows[part], matrix, layout), rtol=1e-6)


@pytest.mark.parametrize("size", [-25, 25])
def test_an_outlying_column_is_shared_out_and_no_column_is_coarse(size):
    rows = CHANCE.normal(size=(200, 192)).astype(np.float32)
    rows[:, 17] = size + rows[:, 17]
    found = layout_of(rows)
    assert found.zero == MIDDLE
    assert set(found.added) == {17}
    exact = rows.astype(np.float64)
    errors = {
        name: np.square(rounded(exact, layout) - exact).mean(axis=0)
        for name, layout in (("plain", plain(192)), ("shared", found))
    }
    others = np.arange(192) != 17
    assert (errors["shared"] < errors["plain"] / 9)[others].all()
    assert errors["shared"][17] < 2 * errors["shared"][others].mean()  # its parts make up for it


def test_rows_that_hardly_go_below_zero_have_more_steps_above():
    x = CHANCE.normal(size=(100, 48)).astype(np.float32) * 3
    gelu = 0.5 * x * (1 + np.tanh(0.79788 * (x + 0.044715 * x**3)))
    found = layout_of(gelu)
    assert found.zero == LOW
    exact = gelu.astype(np.float64)
    once = np.square(rounded(exact, plain(48)) - exact).mean()
    assert np.square(rounded(exact, found) - exact).mean() < once / 2.5
    assert layout_of(-gelu).zero == MIDDLE


def test_odd_rows_have_a_layout():
    same = [np.full((3, 48), value) for value in (0, 7.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (*same, np.eye(48)):
            found = layout_of(rows.astype(np.float32))
            assert found.zero in (MIDDLE, LOW)
            assert (found.copies >= 1).all()


def classifier(columns=96):
    """A graph from token ids to logits, with an outlying column in what its products read."""
    proto = onnx.TensorProto
    table = CHANCE.normal(size=(50, columns)).astype(np.float32)
    table[:, 11] *= 40
    a, b = (CHANCE.normal(size=(columns, n)).astype(np.float32) for n in (columns, 2))
    nodes = [
        ("Gather", ("table", "input_ids"), "states", {}),
        ("MatMul", ("states", "a"), "mixed", {}),
        ("ReduceMax", ("mixed",), "widest", {"axes": [1], "keepdims": 0}),
        ("MatMul", ("widest", "b"), "logits", {}),
    ]
    inputs = [("input_ids", proto.INT64, ["batch", "tokens"])]
    states = ("states", proto.FLOAT, ["batch", "tokens", columns])
    outputs = [("logits", proto.FLOAT, ["batch", 2]), states]
    return graph_of(nodes, inputs, outputs, table=table, a=a, b=b)


def test_a_layout_is_found_for_what_large_products_read():
    model = classifier()
    assert sources(model.graph) == {"states": 96}  # the other matrix is hardly worth it
    sample = [{"input_ids": CHANCE.integers(0, 50, (1, n))} for n in (5, 9, 30)]
    found = layouts_of(model, "a graph", sample)
    assert set(found["states"].added) == {11}
    again = layouts_of(model, "a graph", sample)
    assert all(np.array_equal(found[name].copies, again[name].copies) for name in found)


# In float32


def saved(architecture, folder):
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
    saved("mpnet", folder)
    return folder / "model"


@pytest.mark.parametrize("architecture", ["mpnet", "bert"])
def test_p_is_that_of_the_network_with_the_stored_weights(architecture, tmp_path):
    fitted = saved(architecture, tmp_path)
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
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = onnx.helper.make_graph([node], "product", [], [output])
    content = onnx.helper.make_model(graph).SerializeToString()
    assert onnx.load_model_from_string(in_float32(content)).graph == graph


def test_a_cache_keeps_them_apart(tiny, tmp_path):
    model, stores = CrossEncoder(tiny), [Store(tmp_path / "pairs.sqlite")]
    expected = model.p(POINTS, FLOAT32)
    model.p(POINTS, Run(stores=stores))
    found = model.p(POINTS, Run(stores=stores, precision="float32"))
    np.testing.assert_array_equal(found, expected)


def test_a_run_keeps_which_precision_was_used(tiny):
    for precision, used in ((None, "int8"), ("int8", "int8"), ("float32", "float32")):
        run = Run(precision=precision)
        CrossEncoder(tiny).p(POINTS[:2], run)
        assert run.precisions == {used}
    with pytest.raises(ShroomError, match="computes in int8 or float32, not in bfloat16"):
        CrossEncoder(tiny).p(POINTS, Run(precision="bfloat16"))
