"""What a classifier computes in, and what is done where that gives no number."""

import numpy as np
import pytest
import torch
from tiny_models import NLI_ARCHITECTURES, TEXT, nli_model

from shroom.core.problems import ShroomError
from shroom.detectors.nli import NLI
from shroom.inference import batching, hub
from shroom.inference.result_cache import Cache
from shroom.inference.resume_log import Journal
from shroom.inference.run_settings import Run

PAIRS = [(premise, hyp) for premise in TEXT for hyp in TEXT]
#: How far probabilities in 16 bits may be from those in float32.
CLOSE = 0.02


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a maker of models whose logits are near to each other, as a trained one's may be."""

    def make(architecture="bert"):
        folder = tmp_path_factory.mktemp(architecture)
        nli_model(folder, architecture, length=256)
        model = hub.model("nli", str(folder), device="cpu")
        with torch.no_grad():
            for name, weights in model.named_parameters():
                if name.startswith(("classifier", "classification_head")):
                    weights.mul_(0.02)
        model.save_pretrained(folder)
        return str(folder)

    return make


def probabilities(folder, precision, **how):
    notes = []
    nli = NLI(folder)
    return nli.probabilities(PAIRS, Run(precision=precision, note=notes.append, **how)), notes


@pytest.mark.parametrize("architecture", NLI_ARCHITECTURES)
def test_architectures_in_all_precisions(architecture, made):
    folder, used = made(architecture), set()
    exact, _ = probabilities(folder, None, precisions=used)
    assert used == {"float32"}
    np.testing.assert_array_equal(probabilities(folder, "float32")[0], exact)
    for precision in ("bfloat16", "float16"):
        found, notes = probabilities(folder, precision, precisions=(used := set()))
        assert (used, notes) == ({precision}, [])
        assert 0 < abs(found - exact).max() <= CLOSE


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("int8", "is for models stored in integers"),
        ("int4", "expected one of float32, bfloat16, float16, int8, got int4"),
    ],
)
def test_a_precision_that_no_model_of_the_users_has_is_an_error(asked, message, made):
    with pytest.raises(ShroomError, match=message):
        probabilities(made(), asked)


def test_a_model_that_does_not_fit_is_told(made, monkeypatch):
    folder = made()

    def model(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(hub, "model", model)
    with pytest.raises(ShroomError, match="the model does not fit into the device's memory"):
        probabilities(folder, "bfloat16")


def test_journal_and_cache_keep_precisions_apart(made, tmp_path):
    folder = made()
    cache, journal = Cache(tmp_path / "cache"), tmp_path / "journal"
    exact, _ = probabilities(folder, "float32", cache=cache, journal=Journal(journal))
    again = Journal(journal, resume=True).read()
    found, notes = probabilities(folder, "bfloat16", cache=cache, journal=again)
    assert notes == []  # nothing is said of results that are known
    assert not np.array_equal(found, exact)
    known, (note,) = probabilities(folder, "bfloat16", cache=cache)
    assert note.startswith("25 of 25 results are those of earlier runs")
    np.testing.assert_array_equal(known, found)


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


@pytest.mark.parametrize(
    ("asked", "quota", "expected"),
    [
        ("", "max 100000", 8),
        ("", "250000 100000", 3),
        ("", "50000 100000", 1),
        ("", "nonsense", 8),
        ("", "100 0", 8),
        ("3,2", "max 100000", 3),
        ("0", "max 100000", 8),
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
