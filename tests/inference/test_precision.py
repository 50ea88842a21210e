"""What a classifier computes in: what is tried, what is trusted, and what is gone back on."""

import weakref
from itertools import count

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import NLI_ARCHITECTURES, TEXT, nli_model

from shroom.core.problems import ShroomError
from shroom.detectors.nli import NLI
from shroom.inference import batching, hub, sequence_classifier
from shroom.inference.cache_key import CacheKey
from shroom.inference.computation import compute
from shroom.inference.precision import TOLERANCE, Trusted, apart, precision_for, softmax
from shroom.inference.result_cache import Cache
from shroom.inference.resume_log import Journal
from shroom.inference.run_settings import Run
from shroom.inference.sequence_classifier import SAMPLE, SequenceClassifier

PAIRS = [(premise, hyp) for premise in TEXT for hyp in TEXT]


def loader(off=None, bad_from=None):
    """Return a loader whose other precisions are off by some logit, and what was loaded.

    From a batch on they give no number at all.
    """
    loaded, seen = [], []

    def load(precision):
        loaded.append(precision)
        if (off or {}).get(precision) == "nothing":
            raise ShroomError("there is none")

        def forward(batch):
            seen.append(batch)
            values = np.array(batch, np.float32)
            values[:, 0] += (off or {}).get(precision, 0)
            if precision != "float32" and bad_from is not None and len(seen) >= bad_from:
                values[-1] = np.nan
            return values

        return forward

    return load, loaded


def settled(load, precision="float32", sample=(((0.0, 0.0), (1.0, -1.0)),), **how):
    notes = []
    forward = Trusted(load, precision, **how)
    forward.settle([np.array(batch) for batch in sample], notes.append)
    return forward, notes


# --- what is tried


def capabilities(monkeypatch, *flags):
    told = {"avx2": True, "avx512_vnni": False, **dict.fromkeys(flags, True)}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: told)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), "float32"),
        (("avx512_vnni",), "float32"),
        (("avx512_bf16",), "bfloat16"),
        (("amx_bf16",), "bfloat16"),
    ],
)
def test_a_processor_is_tried_in_what_it_does_well(flags, expected, monkeypatch):
    capabilities(monkeypatch, *flags)
    assert precision_for("auto", "cpu") == expected
    assert precision_for(None, "cpu") == precision_for("float32", "cpu") == "float32"
    assert precision_for("bfloat16", "cpu") == "bfloat16"


def test_where_torch_does_not_report_capabilities_it_is_float32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert precision_for("auto", "cpu") == "float32"


@pytest.mark.parametrize(("can", "expected"), [(True, "bfloat16"), (False, "float16")])
def test_a_gpu_is_tried_in_sixteen_bits(can, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: can)
    assert precision_for("auto", "cuda:1") == expected
    assert precision_for(None, "cuda:1") == precision_for("auto", "mps") == "float32"


@pytest.mark.parametrize(
    ("asked", "message"),
    [("int8", "is for models stored in integers"), ("int4", "expected one of auto, float32")],
)
def test_a_precision_that_no_model_of_the_users_has_is_an_error(asked, message):
    with pytest.raises(ShroomError, match=message):
        precision_for(asked, "cpu")


# --- what is trusted


def test_what_agrees_is_used_and_the_difference_reported():
    load, loaded = loader({"float16": 0.04})
    forward, notes = settled(load, "float16")
    assert (forward.precision, loaded) == ("float16", ["float32", "float16"])
    assert notes == ["float16 is at most 0.0100 off float32 on a sample of 2"]
    assert forward(np.zeros((1, 2)))[0, 0] == np.float32(0.04)


@pytest.mark.parametrize(
    ("off", "note"),
    [
        (0.5, "float16 is 0.1225 off float32 on a sample of 2, so it is not used"),
        (np.nan, "float16 is 1.0000 off float32 on a sample of 2, so it is not used"),
        ("nothing", "float16 cannot be used: there is none"),
    ],
)
def test_where_it_does_not_agree_it_is_float32(off, note):
    load, loaded = loader({"float16": off})
    forward, notes = settled(load, "float16")
    assert (forward.precision, loaded[-1], notes) == ("float32", "float32", [note])
    assert forward(np.ones((1, 2))).tolist() == [[1, 1]]


@pytest.mark.parametrize("off", [0.079, 0.081])
def test_the_most_that_one_may_be_off(off):
    load, _ = loader({"float16": off})  # at p = 0.5, a logit of d moves p by d / 4
    expected = "float16" if off / 4 < TOLERANCE else "float32"
    assert settled(load, "float16")[0].precision == expected


def test_it_is_settled_once_and_float32_is_not_tried():
    load, loaded = loader()
    forward, notes = settled(load, "float16")
    forward.settle([np.ones((1, 2))], notes.append)
    assert (loaded, len(notes)) == (["float32", "float16"], 1)
    load, loaded = loader()
    forward, notes = settled(load)
    assert (loaded, notes) == (["float32"], [])


@pytest.mark.parametrize(
    ("cost", "expected"),
    [(1, "bfloat16, 4.0 times as fast as float32"), (5, "float32")],
)
def test_auto_computes_in_the_faster_of_those_that_agree(cost, expected):
    exact, loaded = loader()
    now = [0.0]

    def load(precision):
        forward = exact(precision)

        def timed(batch):
            now[0] += cost if precision == "bfloat16" else 4
            return forward(batch)

        return timed

    forward, notes = settled(load, "bfloat16", clock=lambda: now[0])
    assert forward.precision == expected.partition(",")[0]
    assert len(notes) == 2
    assert notes[1].startswith(f"--precision auto computes in {expected}")
    forward(np.zeros((1, 2)))
    assert loaded[-1] == forward.precision


def test_auto_does_not_take_what_does_not_agree_however_fast():
    load, _ = loader({"bfloat16": 0.5})
    forward, notes = settled(load, "bfloat16", clock=lambda: 0.0)
    assert forward.precision == "float32"
    assert notes[1] == "--precision auto computes in float32"


def test_auto_says_that_a_device_has_nothing_else():
    load, _ = loader()
    _, notes = settled(load, clock=lambda: 0.0)
    assert notes == ["--precision auto computes in float32: nothing else is fast on this device"]


LOGITS = st.lists(st.lists(st.floats(-30, 30), min_size=3, max_size=3), min_size=1, max_size=5).map(
    np.array
)


@given(LOGITS, LOGITS)
def test_apart_is_the_greatest_difference_of_probabilities(exact, found):
    n = min(len(exact), len(found))
    exact, found = exact[:n], found[:n]
    expected = abs(torch.tensor(exact).softmax(1) - torch.tensor(found).softmax(1)).max()
    assert apart(exact, found) == pytest.approx(float(expected), abs=1e-12)
    assert apart(found, exact) == apart(exact, found)
    np.testing.assert_allclose(softmax(exact), torch.tensor(exact).softmax(1), atol=1e-15)


@pytest.mark.parametrize("score", [-500.0, 0.0, 3.0])
def test_one_logit_is_off_by_the_chance_of_a_preference(score):
    off = apart(np.array([[score]]), np.array([[score + 0.2]]))
    assert off == pytest.approx(1 / (1 + np.exp(-0.2)) - 0.5)


# --- what is gone back on


def test_a_precision_is_left_for_good_where_it_gives_no_number():
    load, loaded = loader(bad_from=3)
    forward, _ = settled(load, "float16")
    assert np.isnan(forward(np.ones((2, 2)))).any()
    assert forward.fall_back()
    assert (loaded, forward.precision) == (["float32", "float16", "float32"], "float32")
    np.testing.assert_array_equal(forward(np.ones((2, 2))), np.ones((2, 2)))
    assert not forward.fall_back()


# --- real architectures


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    def make(architecture="bert", **more):
        folder = tmp_path_factory.mktemp(architecture)
        return str(nli_model(folder, architecture, length=256, **more))

    return make


def probabilities(folder, precision, **how):
    notes = []
    nli = NLI(folder)
    return nli.probabilities(PAIRS, Run(precision=precision, note=notes.append, **how)), notes


def calmed(folder, tmp_path, factor=0.02):
    """Save a model whose logits are nearer to each other, as a trained one's on hard pairs."""
    model = hub.model("nli", folder, device="cpu")
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.startswith(("classifier", "classification_head")):
                weights.mul_(factor)
    model.save_pretrained(tmp_path)
    hub.tokenizer(folder).save_pretrained(tmp_path)
    return str(tmp_path)


def test_auto_is_measured_on_a_model(made, tmp_path, monkeypatch):
    capabilities(monkeypatch, "avx512_bf16")
    folder = calmed(made(), tmp_path)
    used: set[str] = set()
    found, (compared, chosen) = probabilities(folder, "auto", precisions=used)
    (precision,) = used
    assert precision in ("bfloat16", "float32")
    assert compared.startswith("bfloat16 is at most 0.0")
    assert chosen.startswith(f"--precision auto computes in {precision}")
    np.testing.assert_array_equal(found, probabilities(folder, precision)[0])


def test_the_fast_way_is_named_once_a_run_where_it_pays(made, monkeypatch):
    capabilities(monkeypatch, "avx512_bf16")
    monkeypatch.setattr(sequence_classifier, "HINTED", len(PAIRS))
    folders, notes = [made(), made("roberta")], []
    run = Run(note=notes.append)
    for pairs in (PAIRS, PAIRS[::-1]):
        NLI(folders).probabilities(pairs, run)
    (note,) = notes
    assert note.startswith("float32 is the default; --precision auto may be over twice as fast")
    assert run.precisions == {"float32"}


@pytest.mark.parametrize(
    ("flags", "asked", "n"),
    [
        ((), None, len(PAIRS)),
        (("avx512_bf16",), "float32", len(PAIRS)),
        (("avx512_bf16",), None, len(PAIRS) - 1),
    ],
)
def test_the_fast_way_is_not_named_where_it_does_not_pay(flags, asked, n, made, monkeypatch):
    capabilities(monkeypatch, *flags)
    monkeypatch.setattr(sequence_classifier, "HINTED", len(PAIRS))
    notes = []
    NLI(made()).probabilities(PAIRS[:n], Run(precision=asked, note=notes.append))
    assert notes == []


@pytest.mark.parametrize("architecture", NLI_ARCHITECTURES)
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_architectures_in_other_precisions(architecture, precision, made, tmp_path):
    folder = calmed(made(architecture), tmp_path)
    exact, none = probabilities(folder, "float32")
    found, (note,) = probabilities(folder, precision)
    assert none == []
    assert note.startswith(f"{precision} is at most 0.0")
    assert note.endswith(f" off float32 on a sample of {len(PAIRS)}")
    assert 0 < abs(found - exact).max() <= TOLERANCE


def test_a_precision_that_breaks_in_the_trial_is_not_used():
    def load(precision):
        def forward(batch):
            if precision != "float32":
                raise NotImplementedError('"addmm" not implemented\nfor this type')
            return np.array(batch, np.float32)

        return forward

    forward, notes = settled(load, "bfloat16")
    assert forward.precision == "float32"
    assert notes == ['bfloat16 cannot be used: "addmm" not implemented']


def test_a_trial_that_finds_no_memory_goes_by_what_fits():
    alive = []

    def load(precision):
        def forward(batch):
            if precision == "float32" and len(batch) > 1:
                raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling it")
            return np.array(batch, np.float32)

        alive.append(weakref.ref(forward))
        assert sum(each() is not None for each in alive) == 1  # both may not fit
        return forward

    small, large = [[0.0, 0.0]], [[1.0, 0.0]] * 3
    forward, notes = settled(load, "bfloat16", sample=[small, large])
    assert forward.precision == "bfloat16"
    assert notes == [
        "3 of a sample did not fit into memory, and do not count",
        "bfloat16 is at most 0.0000 off float32 on a sample of 1",
    ]
    del forward
    forward, notes = settled(load, "bfloat16", sample=[large])
    assert forward.precision == "float32"


def test_a_model_that_does_not_fit_is_told():
    def load(precision):
        raise torch.OutOfMemoryError(f"CUDA out of memory, {precision}")

    with pytest.raises(ShroomError, match="the model does not fit into the device's memory"):
        settled(load, "bfloat16")


def test_the_sample_goes_from_the_shortest_to_the_longest():
    items = [(n,) for n in range(100)]
    lengths = [n % 50 + 1 for n in range(100)]
    found = sequence_classifier._sample(items, lengths, Run(batch_tokens=60))
    chosen = [item for batch in found for item in batch]
    sizes = [lengths[n] for (n,) in chosen]
    assert (len(chosen), sizes[0], sizes[-1]) == (SAMPLE, 50, 1)
    assert sizes == sorted(sizes, reverse=True)
    few = sequence_classifier._sample(items[:3] * 2, lengths[:3] * 2, Run())
    assert sorted(item for batch in few for item in batch) == items[:3]


def test_journal_and_cache_keep_precisions_apart(made, tmp_path):
    folder = calmed(made(), tmp_path / "model")
    cache, journal = Cache(tmp_path / "cache"), tmp_path / "journal"
    exact, _ = probabilities(folder, "float32", cache=cache, journal=Journal(journal))
    again = Journal(journal, resume=True).read()
    found, (note,) = probabilities(folder, "bfloat16", cache=cache, journal=again)
    assert "off float32" in note  # and nothing is said of results that are known
    assert not np.array_equal(found, exact)
    known, (_, note) = probabilities(folder, "bfloat16", cache=cache)
    assert note.startswith("25 of 25 results are those of earlier runs")
    np.testing.assert_array_equal(known, found)


def test_what_is_gone_back_on_is_told_and_kept_apart(made, tmp_path, monkeypatch):
    folder = calmed(made(), tmp_path / "model")
    exact, _ = probabilities(folder, "float32", batch_tokens=100)
    really, seen, numbers = sequence_classifier.of_torch, [], count(1)

    def breaking(model, **how):
        forward = really(model, **how)

        def broken(batch):
            number, dtype = next(numbers), str(model.dtype)
            seen.append(dtype)
            found = forward(batch)
            return found * np.nan if number == 8 and "float16" in dtype else found

        return broken

    monkeypatch.setattr(sequence_classifier, "of_torch", breaking)
    monkeypatch.setattr(sequence_classifier, "SAMPLE", 2)
    journal = tmp_path / "journal"
    used: set[str] = set()
    how = {"batch_tokens": 100, "journal": Journal(journal), "precisions": used}
    found, notes = probabilities(folder, "float16", **how)
    assert notes[1:] == ["float16 gave a value that is not finite: from there on, float32"]
    assert len(set(seen)) == 2
    np.testing.assert_allclose(found, exact, atol=TOLERANCE)
    assert used == {"float16", "float32"}
    again = Journal(journal, resume=True).read()
    halves, _ = probabilities(folder, "float32", journal=again)
    assert 0 < (halves == found).all(axis=1).sum() < len(PAIRS)  # float32 is known as float32
    np.testing.assert_allclose(halves, exact, atol=1e-6)


def test_what_was_computed_after_going_back_is_not_computed_again(tmp_path):
    computed = []

    def load(precision):
        def forward(batch):
            computed.extend(batch)
            values = np.array([[float(n), 0.0] for (n,) in batch])
            if precision == "float16":
                values[[n == 60 for (n,) in batch], 0] = np.inf
            return values

        return forward

    def run(**more):
        forward = Trusted(load, "float16")
        forward.settle([[(1,)]], lambda _: None)
        computed.clear()
        items = [(n,) for n in range(100)]
        found = compute(
            items,
            forward,
            lengths=[n for (n,) in items],
            key=lambda: CacheKey("a model", lambda: "a model", forward.precision),
            run=Run(200, **more),
            fall_back=forward.fall_back,
        )
        assert found[:, 0].tolist() == list(range(100))

    run(journal=Journal(tmp_path / "journal"))
    run(journal=Journal(tmp_path / "journal", resume=True).read())
    assert {(60,)} <= set(computed)
    assert len(computed) <= 3  # the batch that does not go
    run(cache=Cache(tmp_path / "cache"))
    run(cache=Cache(tmp_path / "cache"))
    assert len(computed) <= 3


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_does_not_shift_what_a_model_reads(side, made, tmp_path):
    """A tokenizer that pads on the left, as those of language models do."""
    folder = made()
    expected = [NLI(folder).probabilities([one])[0] for one in PAIRS]
    hub.model("nli", folder, device="cpu").save_pretrained(tmp_path)
    tokenizer = hub.tokenizer(folder)
    tokenizer.padding_side = side
    tokenizer.save_pretrained(tmp_path)
    found, _ = probabilities(str(tmp_path), "float32", batch_tokens=10_000)
    np.testing.assert_allclose(found, expected, atol=1e-5)


# --- threads


@pytest.mark.parametrize(
    ("asked", "quota", "expected"),
    [
        ("", "max 100000", 8),
        ("", "250000 100000", 3),
        ("", "50000 100000", 1),
        ("", "nonsense", 8),
        ("", "100 0", 8),
        ("2", "max 100000", 2),
        ("3,2", "max 100000", 3),
        ("0", "max 100000", 8),
        ("x", "max 100000", 8),
        ("²", "max 100000", 8),
        ("9" * 30, "max 100000", 1024),
    ],
)
def test_threads_are_the_cores_that_are_there(asked, quota, expected, monkeypatch, tmp_path):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(batching, "_QUOTA", tmp_path / "cpu.max")
    assert batching.threads() == expected
    monkeypatch.setattr(batching, "_QUOTA", tmp_path / "none")
    assert batching.threads() >= expected


# --- compiled


def compiled_by(monkeypatch, backend):
    """Have torch compile with a backend, as it is done on a GPU for many items."""
    seen, really = [], torch.compile

    def compiling(model, **how):
        seen.append(how)
        return really(model, backend=backend, **how)

    monkeypatch.setattr(torch, "compile", compiling)
    monkeypatch.setattr(SequenceClassifier, "_of_many", lambda *_: True)
    return seen


def test_a_model_is_compiled_once_for_all_batches(made, monkeypatch):
    expected, _ = probabilities(made(), "float32")
    shapes = []

    def backend(graph, inputs):
        shapes.append([len(one.shape) for one in inputs if hasattr(one, "shape")])
        return graph.forward

    seen = compiled_by(monkeypatch, backend)
    found, _ = probabilities(made(), "float32", batch_tokens=60)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert seen == [{"dynamic": True}]
    assert 1 <= len(shapes) <= 4  # and not one for each batch


def test_where_the_compiler_fails_the_model_runs_as_it_is(made, monkeypatch):
    def backend(graph, inputs):
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(sequence_classifier, "threads", lambda: 1)  # as where it is compiled
    expected, _ = probabilities(made(), "float32")
    compiled_by(monkeypatch, backend)
    found, _ = probabilities(made(), "float32")
    np.testing.assert_array_equal(found, expected)
