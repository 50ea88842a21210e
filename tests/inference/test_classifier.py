"""Classifiers: their precision, their threads, and by what stores know their logits."""

import functools
import threading

import numpy as np
import pytest
import torch
from tiny_models import NLI_ARCHITECTURES, TEXT, nli_model

from shroom.core.datapoint import pair
from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.detector import CrossEncoder
from shroom.detectors.nli import NLI
from shroom.inference import classifier, hub
from shroom.inference.run_settings import Run
from shroom.inference.store import Store

PAIRS = [(premise, hyp) for premise in TEXT for hyp in TEXT]
#: How far probabilities in 16 bits may be from those in float32.
CLOSE = 0.02


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a maker of models whose logits are near to each other, as a trained one's may be."""

    @functools.cache
    def make(architecture="bert"):
        folder = nli_model(tmp_path_factory.mktemp(architecture), architecture, length=256)
        model = hub.model("nli", str(folder), device="cpu")
        with torch.no_grad():
            for name, weights in model.named_parameters():
                if name.startswith(("classifier", "classification_head")):
                    weights.mul_(0.02)
        model.save_pretrained(folder)
        return str(folder)

    return make


def probabilities(folder, precision=None, pairs=PAIRS, **how):
    notes = []
    nli = NLI(str(folder))
    return nli.probabilities(pairs, Run(precision=precision, note=notes.append, **how)), notes


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


def test_a_precision_that_no_model_of_the_users_has_is_an_error(made):
    with pytest.raises(ShroomError, match="is available only for the detector cross-encoder"):
        probabilities(made(), "int8")


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


def test_a_classifier_has_a_worker_for_each_core(made, monkeypatch):
    folder = made()
    pairs = [(f"a cat {'sleeps ' * n}", f"a dog {m}") for n in range(12) for m in range(3)]
    one, _ = probabilities(folder, pairs=pairs, device="cpu", batch_tokens=64)
    monkeypatch.setattr(classifier, "threads", lambda: 3)
    model = classifier.load("nli", folder, None, Run(device="cpu"))
    seen, together, really = set(), threading.Barrier(3), model.forward

    def waiting(batch):
        if len(seen) < together.parties:
            seen.add(threading.current_thread())
            together.wait(20)  # for a batch in each other thread
        return really(batch)

    monkeypatch.setattr(classifier.TorchClassifier, "forward", property(lambda _: waiting))
    found, _ = probabilities(folder, pairs=pairs, device="cpu", batch_tokens=64)
    np.testing.assert_allclose(found, one, atol=1e-6)
    assert len(seen) == 3


# --- what is stored


def test_stores_keep_precisions_models_and_runs_apart(made, tmp_path):
    folder, store = made(), Store(tmp_path / "cache")
    exact, _ = probabilities(folder, "float32", stores=[store])
    found, _ = probabilities(folder, "bfloat16", stores=[store])
    assert not np.array_equal(found, exact)
    known, _ = probabilities(folder, "bfloat16", stores=[store])
    assert known.tobytes() == found.tobytes()
    other = nli_model(tmp_path / "other", seed=1, length=256)
    probabilities(other, stores=[store])
    assert store.n == 3 * 25


def test_versions_of_what_computes_count(made, tmp_path, monkeypatch):
    store = Store(tmp_path / "cache")
    run = Run(stores=[store])

    def compute():
        nli.probabilities(PAIRS, run)
        shipped.p([pair("Two cats sat here.", "A dog.")], run)

    nli, shipped = NLI(made()), CrossEncoder()
    compute()
    new = {"tokenizers": 26, "transformers": 25, "torch": 25, "onnxruntime": 1}
    for module, n in new.items():
        before = store.n
        with monkeypatch.context() as patched:
            patched.setattr(f"{module}.__version__", "99")
            compute()
        assert store.n == before + n, module


def test_a_folder_is_known_by_its_content(made, tmp_path):
    folder = tmp_path / "under another name"
    nli_model(folder)
    before = hub.content(str(folder))
    copied = folder.rename(tmp_path / "copied")
    (copied / "README.md").write_text("what is never read")
    (copied / "p.json.partial").write_text("what an unfinished run keeps")
    assert hub.content(str(copied)) == before
    (copied / "config.json").write_text((copied / "config.json").read_text() + " ")
    assert hub.content(str(copied)) != before
    (copied / "adapter_config.json").write_text("{}")
    assert hub.content(str(copied)) is None
