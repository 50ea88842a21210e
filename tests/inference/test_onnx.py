"""NLI models as ONNX files: the same numbers without torch, and what is said of wrong files."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import SAMPLE
from tiny_models import NLI_ARCHITECTURES, TEXT, nli_graph

from shroom.core.problems import ShroomError
from shroom.detectors.nli import NLI
from shroom.inference import hub
from shroom.inference.run_settings import Run
from shroom.inference.store import Store

PAIRS = [(premise, hyp) for premise in TEXT for hyp in TEXT]


def as_graph(folder, to):
    """Save a model's graph with its configuration and tokenizer, and without its weights."""
    model, tokenizer = hub.model("nli", folder, device="cpu"), hub.tokenizer(folder)
    batch = dict(tokenizer(["a b", "c"], ["d", "e"], padding=True, return_tensors="pt"))
    to.mkdir(parents=True, exist_ok=True)
    (to / "model.onnx").write_bytes(nli_graph(model, batch))
    model.config.save_pretrained(to)
    tokenizer.save_pretrained(to)
    return to


@pytest.fixture(scope="module")
def graph(tiny, tmp_path_factory):
    return as_graph(tiny("nli_model", "bert", length=256), tmp_path_factory.mktemp("graph"))


@pytest.fixture
def copy(graph, tmp_path):
    return shutil.copytree(graph, tmp_path / "copy")


def probabilities(model, **how):
    return NLI(str(model)).probabilities(PAIRS, Run(**how))


@pytest.mark.parametrize("architecture", NLI_ARCHITECTURES)
def test_a_graph_says_what_its_model_says(architecture, tiny, tmp_path):
    weights = tiny("nli_model", architecture, length=256)
    graph = as_graph(weights, tmp_path / "graph")
    np.testing.assert_allclose(probabilities(graph), probabilities(weights), atol=1e-4)
    small = probabilities(graph, batch_tokens=1)
    np.testing.assert_allclose(small, probabilities(graph), atol=1e-4)


def test_where_a_graph_may_be(tiny, copy):
    expected = probabilities(copy)
    np.testing.assert_array_equal(probabilities(copy / "model.onnx"), expected)
    (copy / "onnx").mkdir()
    (copy / "model.onnx").rename(copy / "onnx" / "model.onnx")
    np.testing.assert_array_equal(probabilities(copy), expected)
    np.testing.assert_array_equal(probabilities(copy / "onnx" / "model.onnx"), expected)
    for file in Path(tiny("nli_model", "bert", length=256)).glob("*.safetensors"):
        shutil.copy(file, copy)
    assert hub.onnx_file(str(copy)) is None  # weights come before a graph
    assert hub.onnx_file(str(copy / "onnx" / "model.onnx"))


def test_torch_is_not_needed(graph):
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from shroom.detectors.nli import NLI\n"
        f"print(NLI({str(graph)!r}).probabilities([('A cat.', 'A dog.')]).sum().round(6))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("1.0\n", 0), done.stderr


@pytest.mark.parametrize(
    "name", ["model.onnx", "config.json", "tokenizer.json", "vocab.txt", "weights.pb"]
)
def test_the_cache_tells_graphs_and_what_lies_beside_them_apart(name, copy, tmp_path):
    store = Store(tmp_path / "cache")
    for _ in range(2):
        probabilities(copy, stores=[store])
        assert store.n == 25
    with (copy / name).open("ab") as stream:  # a graph ends with a field that is not known
        stream.write(b"\x7a\x00" if name == "model.onnx" else b"\n")
    probabilities(copy, stores=[store])
    assert store.n == 50
    (copy / "training_args.bin").write_bytes(b"no weights")
    assert hub.onnx_file(str(copy)) == copy / "model.onnx"


def test_external_data(copy):
    expected = probabilities(copy)
    model = onnx.load(copy / "model.onnx")
    (copy / "model.onnx").unlink()
    onnx.save(
        model, copy / "model.onnx", save_as_external_data=True, location="w", size_threshold=0
    )
    assert (copy / "w").stat().st_size > (copy / "model.onnx").stat().st_size
    np.testing.assert_allclose(probabilities(copy), expected, atol=1e-6)


def test_a_batch_that_does_not_fit_is_made_smaller(graph, monkeypatch):
    import onnxruntime

    expected, sizes = probabilities(graph, batch_tokens=10_000), []
    fail = onnxruntime.capi.onnxruntime_pybind11_state.Fail
    really = onnxruntime.InferenceSession.run

    def run(self, names, given):
        sizes.append(len(given["input_ids"]))
        if sizes[-1] > 5:
            raise fail(
                "Non-zero status code: BFCArena::AllocateRawInternal Failed to allocate memory"
            )
        return really(self, names, given)

    monkeypatch.setattr(onnxruntime.InferenceSession, "run", run)
    found = probabilities(graph, batch_tokens=10_000)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert min(sizes) <= 5 < sizes[0]


# --- what is wrong


@pytest.mark.parametrize("content", [b"", b"no graph", b"\x08\x08\x12"])
def test_a_file_that_is_no_graph(content, copy):
    (copy / "model.onnx").write_bytes(content)
    with pytest.raises(ShroomError, match=r"model\.onnx: ONNX Runtime cannot load the graph"):
        probabilities(copy)
    (copy / "config.json").unlink()
    with pytest.raises(ShroomError, match=r"no config\.json next to the graph or"):
        probabilities(copy)
    with pytest.raises(ShroomError, match=r"none\.onnx: no such file"):
        probabilities(copy / "none.onnx")


def changed(copy, change):
    model = onnx.load(copy / "model.onnx")
    change(model.graph)
    onnx.save(model, copy / "model.onnx")
    return copy


def gives(name, dims, kind, inputs=("logits",), **how):
    """Return a change that has a graph return what a node makes of its logits."""

    def change(graph):
        graph.node.append(onnx.helper.make_node(kind, [*inputs], [name], **how))
        result = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)
        graph.output[0].CopyFrom(result)

    return change


gives_a_vector = gives("most", ["batch"], "ReduceMax", axes=[1], keepdims=0)
gives_six = gives("both", ["batch", 6], "Concat", ("logits", "logits"), axis=1)


def wants_more(graph):
    more = onnx.helper.make_tensor_value_info("pixels", onnx.TensorProto.INT64, ["batch"])
    graph.input.append(more)


def takes_one_pair(graph):
    for put in graph.input:
        put.type.tensor_type.shape.dim[0].dim_value = 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (wants_more, "needs pixels, but the tokenizer returns input_ids, "),
        (gives_a_vector, "returns 1 numbers for a pair, but its config.json has 3 classes"),
        (gives_six, "returns 6 numbers for a pair, but its config.json has 3 classes"),
        (takes_one_pair, "ONNX Runtime cannot run the graph: "),
    ],
)
def test_a_graph_of_something_else(change, said, copy):
    with pytest.raises(ShroomError, match=said):
        probabilities(changed(copy, change), batch_tokens=10_000)


def test_on_the_command_line(graph, shroom, tmp_path):
    model = graph / "model.onnx"
    args = ("predict", "nli", SAMPLE / "val.model-aware.json", "--model", model)
    args += ("-o", tmp_path / "p.json")
    assert shroom(*args)[0] == 0
    for more, exit_code, said in (
        (("--device", "cuda"), 1, "an ONNX graph runs only on the CPU"),
        (("--precision", "bfloat16"), 1, "has a fixed precision; omit"),
        (("--precision", "int4"), 2, "'int4' is not one of 'float32', 'bfloat16', 'float16', "),
    ):
        code, _, err = shroom(*args, *more)
        assert (code, said in err) == (exit_code, True), err
