"""Models from folders and the hub, and the sentence where one cannot be had."""

import logging
import re
import shutil
import sys
from functools import partial
from types import SimpleNamespace

import pytest
from tiny_models import ENCODER_ARCHITECTURES, NLI_ARCHITECTURES, encoder, nli_model

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.inference import hub

LOADS = (partial(hub.model, "nli"), hub.tokenizer, hub.config)


@pytest.fixture(scope="module", params=NLI_ARCHITECTURES)
def nli(request, tmp_path_factory):
    return nli_model(tmp_path_factory.mktemp("nli"), request.param)


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    return nli_model(tmp_path_factory.mktemp("roberta"))


def copied(folder, tmp_path):
    return str(shutil.copytree(folder, tmp_path / "copy"))


def test_a_folder_with_everything(nli, tmp_path):
    import torch

    model = hub.model("nli", str(nli), device="cpu")
    assert not model.training
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert hub.config(str(nli)).id2label == model.config.id2label
    assert hub.tokenizer(str(nli))("a cat")["input_ids"]
    model.half().save_pretrained(tmp_path)
    assert hub.model("nli", str(tmp_path), device="cpu").dtype == torch.float32
    about = hub.model("encoder", str(nli), device="cpu").config  # it needs no pooler
    assert about.model_type == model.config.model_type


@pytest.mark.parametrize("architecture", ENCODER_ARCHITECTURES)
def test_encoders(architecture, tmp_path):
    model = hub.model("encoder", str(encoder(tmp_path, architecture)), device="cpu")
    ids = hub.tokenizer(str(tmp_path))("a cat", return_tensors="pt")
    assert model(**ids).last_hidden_state.shape[-1] == 32
    assert not any("decoder" in name for name, _ in model.named_parameters())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("config.json", config) for config in (
            b"[]", b"{", b'{"model_type": "no-such-type"}',
            b'{"model_type": "roberta", "hidden_size": "wide"}',
        )),
        *(("model.safetensors", weights) for weights in (b"", b"\xff" * 100)),
        *(("tokenizer.json", tokens) for tokens in (b"", b"{}", b"[1]", b"\xff")),
    ],
)  # fmt: skip
def test_a_broken_file_gives_one_sentence(roberta, tmp_path, name, content):
    folder = copied(roberta, tmp_path)
    (tmp_path / "copy" / name).write_bytes(content)
    is_tokenizer = name == "tokenizer.json"
    what = "tokenizer" if is_tokenizer else "model"
    said = f"copy: transformers cannot load the {what} in this folder"
    with pytest.raises(ShroomError, match=said) as told:
        LOADS[is_tokenizer](folder)
    assert "\n" not in str(told.value)


def test_weights_that_lack_the_head_are_refused_and_never_random(tmp_path):
    folder = str(encoder(tmp_path))
    with pytest.raises(ShroomError, match=r"its weights lack classifier\.\w+; specify"):
        hub.model("nli", folder)
    with pytest.raises(ShroomError, match="not trained as a language model"):
        hub.model("causal", folder)


@pytest.mark.parametrize("name", ["./nowhere", "/nowhere/at all", "~/nowhere", "a/b/c", "", "a b"])
def test_no_such_folder(name):
    for load in LOADS:
        with pytest.raises(ShroomError, match="no such folder"):
            load(name)


@pytest.mark.parametrize("revision", [None, "v1", "0" * 40])
def test_a_hub_that_cannot_be_reached_gives_one_sentence_with_the_local_ways(revision):
    for load in LOADS:
        with pytest.raises(ShroomError) as told:
            load("nobody/no-such-model", revision)
        message = str(told.value)
        assert message.startswith("nobody/no-such-model: no such folder, and the hub does not ")
        assert "hf download nobody/no-such-model --local-dir FOLDER" in message
        assert "the default detector needs no download" in message
        assert "\n" not in message


def test_the_tries_that_fail_are_not_told_one_by_one(capfd, roberta):
    hub.config(roberta)
    client = logging.getLogger("huggingface_hub.utils._http")
    client.warning("thrown while requesting HEAD https://huggingface.co/nope/nope")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("terminal", "spared", "shown"),
    [(True, False, True), (True, True, False), (False, False, False)],
)
def test_downloads_are_shown_to_who_watches(monkeypatch, roberta, terminal, spared, shown):
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars

    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: terminal, write=len))
    monkeypatch.delenv("HF_HUB_DISABLE_PROGRESS_BARS", raising=False)
    if spared:
        monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    hub.config(str(roberta))
    assert are_progress_bars_disabled() != shown
    disable_progress_bars()


def test_a_device_that_is_not_there(roberta):
    with pytest.raises(ShroomError, match=r"cannot run on --device nonsense \(.+\); use"):
        hub.model("nli", str(roberta), device="nonsense")


@pytest.mark.parametrize(
    ("missing", "needing"),
    [("torch", (LOADS[0], lambda _: hub.best_device())), ("transformers", LOADS)],
)
def test_without_the_libraries_the_extra_is_named(missing, needing, monkeypatch):
    monkeypatch.setitem(sys.modules, missing, None)
    for load in needing:
        with pytest.raises(ShroomError, match=re.escape(install_hint("models"))):
            load("a/model")


def test_code_that_comes_with_a_model_is_never_run(roberta, tmp_path):
    folder = copied(roberta, tmp_path)
    (tmp_path / "copy" / "config.json").write_text(
        '{"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config",'
        '"AutoModelForSequenceClassification": "mine.Model"}}'
    )
    (tmp_path / "copy" / "mine.py").write_text("raise SystemExit('this was run')")
    with pytest.raises(ShroomError, match="transformers cannot load the model in this folder"):
        hub.model("nli", folder)


def test_the_identity_of_a_folder_changes_with_its_files(roberta, tmp_path):
    folder = copied(roberta, tmp_path)
    before = hub.identity(folder)
    assert before == hub.identity(folder)
    assert before.startswith("copy@")
    (tmp_path / "copy" / "1_Pooling").mkdir()
    assert hub.identity(folder) == before
    (tmp_path / "copy" / "1_Pooling" / "config.json").write_text("{}")
    assert hub.identity(folder) != before


def test_the_identity_of_a_name_is_its_revision():
    assert hub.identity("an/encoder") == "an/encoder@main"
    assert hub.identity("an/encoder", "v1") == "an/encoder@v1"
