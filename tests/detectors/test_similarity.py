"""The similarity detector: embeddings as the encoder's folder says, and their calibration."""

import functools
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import SAMPLE, write_json
from tiny_models import ENCODER_ARCHITECTURES, HIDDEN, TEXT, change, encoder, write_modules

from shroom.core.datapoint import TASKS, Datapoint, Task
from shroom.core.problems import ShroomError
from shroom.detectors import embeddings
from shroom.detectors.embeddings import SentenceEncoder
from shroom.detectors.out_of_fold import TrainingItems, fingerprint
from shroom.detectors.similarity import Similarity
from shroom.inference import hub
from shroom.inference.run_settings import RUN, Run
from shroom.learners.logistic import Logistic
from shroom.scoring.datapoint_files import read

TEXTS = [*TEXT, "A cat.", "", "猫だ 𝔘ñ", "A cat."]


def point(**more):
    return Datapoint(**{"hyp": "A cat.", "src": "", "tgt": TEXT[0], "task": Task.DM, **more})


POINTS = [
    point(hyp=hyp, tgt=tgt, task=task)
    for task, tgt in zip((*TASKS.values(), Task.DM), TEXT)
    for hyp in ("A cat.", "The dog sat on the mat.", "12 Grad.", "")
]
P = np.array([(n * 7 % 6) / 5 for n in range(len(POINTS))])


@pytest.fixture
def made(tiny):
    return functools.partial(tiny, "encoder")


def directly(folder, texts, pooling):
    """Return unit vectors of texts, from transformers alone, text by text."""
    import torch
    from transformers import AutoModel, AutoTokenizer, T5EncoderModel

    tokenizer = AutoTokenizer.from_pretrained(folder)
    config = Path(folder, "config.json").read_text(encoding="utf-8")
    model = (T5EncoderModel if "t5" in config else AutoModel).from_pretrained(folder).eval()
    rows = []
    for text in texts:
        with torch.no_grad():
            states = model(**tokenizer([text], return_tensors="pt")).last_hidden_state[0].numpy()
        row = {"mean": states.mean(axis=0), "cls": states[0], "max": states.max(axis=0)}[pooling]
        rows.append(row / np.linalg.norm(row))
    return np.array(rows)


# --- embeddings


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("architecture", ENCODER_ARCHITECTURES)
def test_embeddings_are_those_of_a_direct_forward_pass(architecture, pooling, made):
    folder = made(architecture, pooling)
    expected = directly(folder, TEXTS, pooling)
    embedded = SentenceEncoder(folder)
    for batch_tokens in (1, 30, 10_000):
        found = embedded.embed(TEXTS, Run(batch_tokens=batch_tokens))
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(found[0] - found[1]).max() > 0.05
    vectors = directly(folder, [text for one in POINTS for text in (one.hyp, one.tgt)], pooling)
    p = np.clip(1 - (vectors[::2] * vectors[1::2]).sum(axis=1), 0, 1)
    np.testing.assert_allclose(Similarity(folder).p(POINTS), p, atol=1e-5)


def test_a_tokenizer_that_names_no_padding(tmp_path):
    folder = str(encoder(tmp_path, "bert"))
    expected = directly(folder, TEXTS, "mean")
    change(tmp_path, "tokenizer_config.json", pad_token=None)
    np.testing.assert_allclose(SentenceEncoder(folder).embed(TEXTS, Run()), expected, atol=1e-5)


def test_without_the_files_of_a_sentence_encoder_tokens_are_averaged(made):
    folder = made(sentence_transformers=False)
    found = SentenceEncoder(folder).embed(TEXT, RUN)
    np.testing.assert_allclose(found, directly(folder, TEXT, "mean"), atol=1e-5)


@pytest.mark.parametrize("activation", ["activation.Tanh", "linear.Identity"])
@pytest.mark.parametrize("bias", [True, False])
def test_a_dense_layer(activation, bias, tmp_path):
    import torch
    from safetensors.numpy import save_file
    from sentence_transformers import SentenceTransformer

    folder = str(encoder(tmp_path))
    write_modules(tmp_path, ("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"))
    linear = torch.nn.Linear(HIDDEN, 8, bias=bias)
    about = {"in_features": HIDDEN, "out_features": 8, "bias": bias}
    about["activation_function"] = f"torch.nn.modules.{activation}"
    write_json(tmp_path / "2_Dense" / "config.json", about)
    weights = {f"linear.{name}": value.numpy() for name, value in linear.state_dict().items()}
    with pytest.raises(ShroomError, match="sentence-transformers cannot load the model"):
        SentenceEncoder(folder)
    save_file(weights, tmp_path / "2_Dense" / "model.safetensors")
    expected = SentenceTransformer(folder, device="cpu").encode(TEXT, normalize_embeddings=True)
    np.testing.assert_allclose(SentenceEncoder(folder).embed(TEXT, RUN), expected, atol=1e-5)
    about["activation_function"] = "os.abort"
    write_json(tmp_path / "2_Dense" / "config.json", about)
    SentenceEncoder(folder)  # a model's files cannot have code run


def prompted(folder, prompts, *, include_prompt=True, lower=False, length=None):
    """Save an encoder with prompts, the last of which is the default."""
    encoder(folder)
    about = {"prompts": prompts, "default_prompt_name": next(reversed(prompts), None)}
    write_json(folder / "config_sentence_transformers.json", about)
    change(folder / "1_Pooling", "config.json", include_prompt=include_prompt)
    more = {"max_seq_length": length} if length else {}
    write_json(folder / "sentence_bert_config.json", {"do_lower_case": lower, **more})
    return str(folder)


@pytest.mark.parametrize(
    ("prompts", "more"),
    [
        ({"query": "The dog: "}, {}),
        ({"query": "Old: ", "passage": "He said: "}, {"lower": True}),
        ({"document": "A person who sells "}, {"include_prompt": False}),
        ({"query": "Old: ", "none": ""}, {}),
    ],
)
def test_the_default_prompt_is_applied(tmp_path, prompts, more):
    from sentence_transformers import SentenceTransformer

    folder = prompted(tmp_path, prompts, **more)
    expected = SentenceTransformer(folder, device="cpu").encode(TEXTS, normalize_embeddings=True)
    found = SentenceEncoder(folder).embed(TEXTS, RUN)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_windows_leave_room_for_the_default_prompt(tmp_path, notes):
    folder = prompted(tmp_path, {"query": "The dog sat on the mat: "}, length=24)
    run = Run(note=notes.append)
    Similarity(folder).p([point(tgt=" ".join(TEXT))], run)
    assert len(notes) == 1
    assert "windows" in notes[0]


def test_the_length_and_the_case_that_the_folder_tells(tmp_path):
    folder, notes = prompted(tmp_path, {}, lower=True, length=8), []
    texts = ["THE CAT SAT ON THE MAT", "the cat sat on the dog", "a"]
    found = SentenceEncoder(folder).embed(texts, Run(note=notes.append))
    np.testing.assert_array_equal(found[0], found[1])  # they differ where they are cut
    (note,) = notes
    assert note.startswith("2 of 3 texts had to be truncated: ")
    assert note.endswith("reads at most 8 tokens")


@pytest.mark.parametrize(
    "break_it",
    ["", "[5]", '[{"idx": 0, "type": "sentence_transformers.models.CNN", "path": "7_CNN"}]'],
)
def test_what_sentence_transformers_cannot_load_is_reported(break_it, tmp_path):
    folder = encoder(tmp_path)
    (folder / "modules.json").write_text(break_it)
    with pytest.raises(ShroomError, match="sentence-transformers cannot load the model"):
        SentenceEncoder(str(folder))


def test_weights_that_lack_a_part_are_refused_and_never_random(tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = encoder(tmp_path)
    weights = load_file(folder / "model.safetensors")
    kept = {name: array for name, array in weights.items() if "layer.0.output" not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ShroomError, match="its weights lack"):
        SentenceEncoder(str(folder))


# --- fitted


def test_fitting_gives_each_task_a_logistic_curve(made):
    distances = Similarity(made()).p(POINTS)
    tasks = [one.task.name for one in POINTS]
    expected = Logistic.fit(distances[:, None], tasks, P, 0.3).p(distances[:, None], tasks)
    np.testing.assert_allclose(Similarity(made()).fit(POINTS, P).p(POINTS), expected, 1e-6)


@pytest.mark.parametrize("revision", [None, "v1"])
def test_saved_and_read_again(revision, made, tmp_path):
    folder, path = made("mpnet", "cls"), tmp_path / "fitted.json"
    settings = {"reference": "tgt", "multilingual": True}
    fitted = Similarity(folder, revision=revision, **settings).fit(POINTS, P)
    fitted.remember(TrainingItems.of(POINTS[:8]))
    fitted.save(path, command="a command")
    content = json.loads(path.read_text())
    about = {"detector": "similarity", "model": folder, "command": "a command", **settings}
    assert {key: content[key] for key in about} == about
    expected, seen = fitted.p(POINTS), set(map(fingerprint, POINTS[:8]))
    again = Similarity(path)
    np.testing.assert_allclose(again.p(POINTS), expected, atol=1e-5)
    assert again.in_sample(POINTS).tolist() == [fingerprint(x) in seen for x in POINTS]
    assert again.identity.startswith(f"{Similarity(folder, revision=revision).identity}+")
    assert again.threshold_ == 0.5
    assert Similarity(path, threshold=0.25).threshold == 0.25
    for stored in ({"reference": "src"}, {"revision": "v1"}, {"multilingual": True}):
        with pytest.raises(ShroomError, match="contains revision, reference and multilingual"):
            Similarity(path, **stored).p(POINTS)
    fitted.remember(TrainingItems.of(POINTS, P))
    fitted.save(path)
    again = Similarity(path)
    assert again.out_of_fold_items(POINTS).all()  # and fitted again, it forgets them
    assert again.fit(POINTS, P).training_items.answers == TrainingItems.of(POINTS).answers


def test_what_tells_the_weights(made):
    folder = made()
    assert Similarity(folder).identity == hub.identity(folder)
    assert Similarity("an/encoder", revision="v1").identity == "an/encoder@v1"
    assert Similarity(folder).fit(POINTS, P).identity == f"{hub.identity(folder)}+as fitted"


def test_the_copies_of_cross_validation_share_an_encoder_and_its_distances(made, monkeypatch):
    read_pairs, loaded = [], []
    load, embed = embeddings._loaded, SentenceEncoder.read
    monkeypatch.setattr(embeddings, "_loaded", lambda *given: loaded.append(given) or load(*given))
    monkeypatch.setattr(
        SentenceEncoder, "read", lambda *given: read_pairs.extend(given[1]) or embed(*given)
    )
    points = read(SAMPLE)[:40]
    gold = np.array([point.p for point in points])
    doubled = Similarity(made("bert", seed=4)).out_of_fold(points * 2, np.tile(gold, 2), 4)
    assert ((doubled > 0) & (doubled < 1)).all()
    np.testing.assert_allclose(doubled[:40], doubled[40:])  # of one hypothesis, in one fold
    assert len(loaded) == 1
    assert len(read_pairs) == len(set(read_pairs))


def test_what_is_not_fitted_cannot_be_saved(made, tmp_path):
    chosen, path = Similarity(made()), tmp_path / "fitted.json"
    with pytest.raises(ShroomError, match="has not been fitted"):
        chosen.save(path)
    assert not path.exists()
    assert not chosen.in_sample(POINTS).any()
    same = [point()] * 4  # distances that are all alike
    assert chosen.fit(same, [0.0, 0.5, 1.0, 0.5]).p(same) == pytest.approx([0.5] * 4)


WEIGHTS = {task: [0.0, 1.0] for task in TASKS}
SOUND = {
    "model": "an/encoder", "revision": None, "reference": "given", "multilingual": False,
    "mean": [0.5], "scale": [0.25], "weights": WEIGHTS, "threshold": 0.5, "training_items": {},
}  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {**SOUND, "weights": {}},
        {**SOUND, "weights": {**WEIGHTS, "DM": [1.0]}},
        {**SOUND, "weights": {**WEIGHTS, "DM": [1.0, float("nan")]}},
        {**SOUND, "weights": {**WEIGHTS, "DM": ["a", "b"]}},
        {**SOUND, "weights": 5},
        {**SOUND, "scale": [0]},
        {**SOUND, "reference": "source"},
        {**SOUND, "training_items": 5},
        {key: value for key, value in SOUND.items() if key != "revision"},
    ],
)
def test_a_json_file_that_is_no_model_is_told(content, tmp_path):
    path = write_json(tmp_path / "m.json", content)
    with pytest.raises(ShroomError, match=r"m\.json is not a model of the detector similarity"):
        Similarity(path).p(POINTS)
    with pytest.raises(
        ShroomError, match=r"nowhere\.json is not a model of the detector similarity"
    ):
        Similarity("nowhere.json").p(POINTS)
