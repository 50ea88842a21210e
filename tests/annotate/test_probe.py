"""The knowledge probe, on small models into whose weights what is known was written by hand."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from conftest import write_lines
from html_outline import assert_good
from msgspec import structs

from shroom.annotate import base, probe_training
from shroom.annotate.base import SCORERS
from shroom.annotate.hidden_states import Reader, frame
from shroom.annotate.probe_training import GRID, fitted, labelled, make, splits, train
from shroom.annotate.saved_probe import Figures, SavedProbe
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Generation, Question, to_dict
from shroom.inference import hub
from shroom.inference.run_settings import Run
from shroom.inference.store import Store
from shroom.metrics.classification import balanced_accuracy
from shroom.metrics.discrimination import auroc
from shroom.metrics.intervals import NO_INTERVALS, Intervals
from shroom.scoring.tables import Estimate

HIDDEN, LAYERS, WORDS, FIRST = 32, 4, 200, 20
#: Where a first word says what it is, where block 2 writes it into the last one, and what is large.
SAYS, TOLD, LARGE = (30, 31), (28, 29), (0, 1)


def words_tokenizer():
    """Return a tokenizer whose tokens are the words w0, w1, … alone."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {f"w{i}": i for i in range(WORDS)} | {"<unk>": WORDS, "<pad>": WORDS + 1}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))  # noqa: S106
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<unk>",  # noqa: S106
        pad_token="<pad>",  # noqa: S106
        model_max_length=64,
    )


def telling_model(folder: Path) -> Path:
    """Save a model whose block 2 writes the first word into the last token, which block 3 removes.

    An even first word adds to two numbers of the state, an odd one subtracts. All attention is
    uniform; block 3 does what block 2 does with the opposite sign. What is left is rounding, far
    below the noise that each word has in the same two numbers.
    """
    import torch
    import transformers

    sizes = {"hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 16, "max_position_embeddings": 64}
    config = transformers.LlamaConfig(vocab_size=WORDS + 2, **sizes)
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(float("norm" in name))
        known = model.get_input_embeddings().weight
        known.copy_(torch.randn(known.shape, generator=torch.Generator().manual_seed(5)))
        known[:, list(SAYS)] = 0
        known[:, TOLD[0]] *= 0.1
        known[:, TOLD[1]] = -known[:, TOLD[0]]
        known[:, list(LARGE)] = torch.tensor([100.0, -100.0])
        sign = 1.0 - 2.0 * (torch.arange(FIRST) % 2)
        known[:FIRST, list(SAYS)] = torch.stack((sign, -sign), 1)
        for block, gain in ((1, 150.0), (2, -150.0)):
            attention = model.model.layers[block].self_attn
            attention.v_proj.weight[0, SAYS[0]] = 1
            attention.o_proj.weight[list(TOLD), 0] = torch.tensor([gain, -gain])
    model.save_pretrained(folder)
    words_tokenizer().save_pretrained(folder)
    return folder


def questions(n: int = 80, seed: int = 0) -> list[Question]:
    """Return questions whose first word says whether they are known, all else being chance."""
    generator, found = np.random.default_rng(seed), []
    for place in range(n):
        first = 2 * int(generator.integers(0, FIRST // 2)) + place % 2
        rest = generator.integers(FIRST, WORDS, size=generator.integers(3, 9)).tolist()
        text = " ".join(f"w{i}" for i in (first, *rest))
        category = "all-wrong" if place % 2 else "all-right"
        said = (Generation("A.", "normal"), Generation("No idea.", "uncertainty"))
        found.append(Question(text, "A", "", said, category))
    return found


def write_questions(path: Path, given: list[Question]) -> Path:
    return write_lines(path, [to_dict(each) for each in given])


@pytest.fixture(scope="module", autouse=True)
def _two_penalties():
    """Try fewer strengths: where a signal is does not hang on them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe_training, "GRID", (1e-3, 1e-1))
        yield


@pytest.fixture(scope="module")
def telling(tmp_path_factory):
    return str(telling_model(tmp_path_factory.mktemp("telling") / "llama"))


@pytest.fixture(scope="module")
def made(telling, tmp_path_factory):
    """A folder with a probe of the model."""
    folder = tmp_path_factory.mktemp("made") / "probe"
    make(questions(), folder, Run(), model=telling, folds=2, how=Intervals(200))
    return folder


@pytest.fixture(scope="module")
def reader(telling):
    return Reader(telling)


@pytest.mark.parametrize("position", ["last", "before-answer"])
def test_the_signal_is_found_where_it_was_put(telling, tmp_path, position, monkeypatch):
    monkeypatch.setattr("shroom.annotate.hidden_states.AFTER", " w77")
    plan = {"model": telling, "position": position, "folds": 3, "how": NO_INTERVALS}
    found = make(questions(), tmp_path / "probe", Run(), **plan).figures
    assert found.best == 2
    assert set(found.chosen) == {2}
    for layer, scores in found.layers.items():
        if layer == 2:
            assert min(it.value for it in scores.values()) >= 0.97
        elif position == "last":
            assert 0.3 < scores["auroc"].value < 0.7, layer
        elif layer < 2:  # the last token is the same everywhere, and so is its state
            assert scores["auroc"].value == pytest.approx(0.5, abs=0.05), layer
    assert min(it.value for it in found.nested.values()) >= 0.97


SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
ARCHITECTURES = {
    "llama": SIZES,
    "gpt2": {"n_embd": 32, "n_layer": 3, "n_head": 4},
    "opt": {**SIZES, "ffn_dim": 48, "word_embed_proj_dim": 32},
    "bloom": {"hidden_size": 32, "n_layer": 3, "n_head": 4},
}


def random_reader(name: str) -> Reader:
    """Return a reader of a random model, made without any file."""
    import torch
    import transformers

    settings = {"vocab_size": WORDS + 2, "pad_token_id": 0, **ARCHITECTURES[name]}
    kind = transformers.models.auto.configuration_auto.CONFIG_MAPPING[name]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.AutoModelForCausalLM.from_config(kind(**settings))
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hub, "model", lambda *_: model.eval())
        patch.setattr(hub, "tokenizer", lambda *_: words_tokenizer())
        return Reader("random")


def plain_states(reader: Reader, ids: tuple[int, ...]) -> list:
    """Return the states of all layers, as the model alone gives them."""
    import torch

    with torch.inference_mode():
        return reader._model(torch.tensor([ids]), output_hidden_states=True).hidden_states


ITEMS = [(5, 6, 7, 8, 9, 10, 11), (12,), (5, 6, 13), (20, 21, 22, 23, 24), (30, 31)]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_states_are_those_of_a_plain_run(name):
    reader = random_reader(name)
    layers = list(range(reader.last + 1))
    found = reader.states(ITEMS, layers, Run(batch_tokens=20))
    assert found.dtype == np.float32
    for row, item in enumerate(ITEMS):
        plain = plain_states(reader, item)
        assert len(plain) == len(layers)
        for layer in layers:
            expected = plain[layer][0, -1].numpy()
            # Sums of float32 differ with the batch by so much of the greatest term.
            near = 1e-5 * max(1, np.abs(expected).max())
            np.testing.assert_allclose(found[row, layer], expected, atol=near)


def test_the_question_is_read_at_its_last_token_in_the_chat(tmp_path):
    reader = Reader(str(tiny_models.causal_model(tmp_path / "chat")))
    question = "Who sat on the mat?"
    last, before = (frame(reader.tokenizer, "m", at) for at in ("last", "before-answer"))
    assert last.mode == "chat"
    ids = reader.ids(before, question)
    assert reader.tokenizer.decode(ids).endswith("<|assistant|>\n")
    text = reader.tokenizer.decode(reader.ids(last, f"  {question} "))
    assert text.endswith(f"  {question} ")
    plain = plain_states(reader, ids)[1][0]
    for read in (reader.ids(last, question), ids):
        state = reader.states([read], [1], Run())[0, 0]
        np.testing.assert_allclose(state, plain[len(read) - 1], atol=1e-5)


def test_marks_of_the_start_are_kept(tmp_path):
    reader = Reader(str(tiny_models.causal_model(tmp_path / "plain", chat=False)))
    around = frame(reader.tokenizer, "m", "last")
    assert (around.mode, around.after) == ("completion", "\n")
    assert reader.ids(around, "The cat?")[0] == reader.tokenizer.bos_token_id


def test_a_template_that_fails():
    tokenizer = words_tokenizer()
    tokenizer.chat_template = "{{ raise_exception('no') }}"
    with pytest.raises(ShroomError, match="the chat template fails"):
        frame(tokenizer, "m", "last")


def test_what_is_too_long_keeps_its_end(reader):
    text = " ".join(f"w{i}" for i in range(100))
    assert reader.ids(frame(reader.tokenizer, "m", "last"), text) == tuple(range(36, 100))


@pytest.mark.parametrize("kind", ["t5", "roberta"])
def test_a_model_that_generates_nothing(kind, refused, tmp_path):
    model = tiny_models.nli_model(tmp_path / kind, kind)
    data = write_questions(tmp_path / "q.jsonl", questions(20))
    args = ("annotate", "probe", "train", data, "--model", model, "-o", tmp_path / "probe")
    assert str(model) in refused(*args)
    assert not (tmp_path / "probe").exists()


def test_a_run_that_was_stopped_goes_on_from_its_states(
    telling, tmp_path, monkeypatch, shroom, refused
):
    data = write_questions(tmp_path / "q.jsonl", questions(40))
    args = ["annotate", "probe", "train", str(data), "--folds", "2", "--no-ci"]
    args += ["--model", telling, "-o", str(tmp_path / "probe")]
    put, done = Store.put, []

    def stopping(*given):
        done.append(put(*given))
        if len(done) == 3 * (LAYERS + 1) + 2:  # with the states of some layers only
            raise KeyboardInterrupt

    monkeypatch.setattr(base, "SLICE", 8)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "put", stopping)
        code, _, err = shroom(*args)
    assert (code, "to continue, add --resume" in err) == (130, True)
    assert not (tmp_path / "probe" / "probe.json").exists()
    assert "add --resume to continue that run" in refused(*args)

    read, states_of = [], Reader.states

    def counted(self, items, layers, run):
        read.extend(items if len(layers) > 1 else [])  # for the check one layer is read
        return states_of(self, items, layers, run)

    monkeypatch.setattr(Reader, "states", counted)
    code, out, err = shroom(*args, "--resume")
    assert (code, err) == (0, f"wrote the probe for layer 2 to {tmp_path / 'probe'}\n")
    assert len(read) == len(set(read)) == 40 - 24
    # Trained again, from the states alone, of some layers, too.
    read.clear()
    assert shroom(*args, "--resume")[:2] == (0, out)
    assert shroom(*args, "--resume", "--layers", "1,2")[0] == 0
    assert read == []
    whole = [*args[:-1], str(tmp_path / "whole")]
    assert shroom(*whole)[:2] == (0, out)
    # What is damaged is read again.
    with sqlite3.connect(tmp_path / "probe" / "states.sqlite") as database:
        database.execute("UPDATE entries SET found = zeroblob(132) LIMIT 1")
    database.close()
    read.clear()
    assert shroom(*args, "--resume")[:2] == (0, out)
    assert len(read) == 1


def noisy(n, width, seed=0, signal=1.0):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(n, width)) * generator.uniform(0.1, 9, width)
    values += generator.normal(size=width) * 5
    knows = signal * (values[:, 0] - values[:, 0].mean()) / values[:, 0].std()
    return values, knows + generator.normal(size=n) > 0


@pytest.mark.parametrize(("width", "c"), [(3, GRID[0]), (40, 1e-2), (200, GRID[-1])])
def test_a_probe_is_scikit_learns_wherever_the_axes_point(width, c, monkeypatch):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    values, knows = noisy(60, width)
    model = LogisticRegression(C=c, tol=1e-10, max_iter=100_000, solver="newton-cholesky")
    naive = make_pipeline(StandardScaler(), model).fit(values[:50], knows[:50])
    monkeypatch.setattr(probe_training, "GRID", (c,))
    found = fitted(values[:50], knows[:50], 0)[0].decide(values)
    np.testing.assert_allclose(found, naive.decision_function(values), atol=1e-3)


def test_constant_columns_and_their_rounding_do_not_count():
    values, knows = noisy(40, 3, signal=0)
    values[:, 1] = 7 + 1e-6 * knows  # as a batch's rounding could
    values[:, 2] = 0
    probe, _, _ = fitted(values, knows, 0)
    assert probe.weights[1] == probe.weights[2] == 0
    assert np.isfinite(probe.decide(values)).all()


def test_the_figures_are_those_of_plain_folds():
    values, knows = noisy(60, 4)
    states = {0: values[:, 1:], 1: values}
    figures, *_ = train([0, 1], states.__getitem__, knows, folds=4, how=Intervals(50, seed=2))
    decisions = np.empty(60)
    for fit, judge in splits(knows, 4, 2):
        decisions[judge] = fitted(values[fit], knows[fit], 2)[0].decide(values[judge])
    assert {name: it.value for name, it in figures.layers[1].items()} == {
        "auroc": auroc(decisions, knows),
        "balanced_accuracy": balanced_accuracy(decisions > 0, knows),
        "accuracy": np.mean((decisions > 0) == knows),
    }
    assert figures.best == 1
    again = Figures.from_dict(json.loads(json.dumps(figures.to_dict())))
    assert again.to_dict() == figures.to_dict()


def test_the_best_of_many_places_of_noise_is_found_out():
    generator = np.random.default_rng(4)
    knows = np.arange(60) % 2 == 0
    states = {i: generator.normal(size=(60, 4)) for i in range(12)}
    found, *_ = train(list(states), states.__getitem__, knows, folds=3, how=NO_INTERVALS)
    best, nested = found.layers[found.best]["auroc"].value, found.nested["auroc"].value
    assert best > 0.6
    assert nested < best - 0.05
    assert 0.25 < nested < 0.65


def with_categories(categories):
    pairs = zip(questions(99), categories)
    return [structs.replace(each, category=category) for each, category in pairs]


def test_too_few_questions(refused, tmp_path):
    right, got = ["all-right"] * 20, "answers (got 20) and 5 with only wrong answers (got"
    for categories, said in (
        (right, f"{got} 0)"),
        ([None] * 20, "answers (got 0) and 5 with only wrong answers (got 0); to categorise"),
        (right + ["all-wrong"] * 4, f"only right {got} 4)"),
    ):
        data = write_questions(tmp_path / "q.jsonl", with_categories(categories))
        args = ("annotate", "probe", "train", data, "--model", "x", "-o", tmp_path / "probe")
        assert said in refused(*args)
        assert not (tmp_path / "probe").exists()


def test_what_is_left_out(reader):
    # Blanks around a question are read, and tell it from others.
    assert frame(reader.tokenizer, "m", "last").text(" Why?\t") == " Why?\t"
    given = [
        *with_categories(["all-right", "all-wrong", "partial-right", None]),
        Question(" \n", "", "", (), "all-right"),
        *with_categories(["all-right", "all-right"]),
    ]
    assert labelled(given, least=0) == {given[0].question: True}


def test_mistakes_of_the_command_line(shroom, refused, tmp_path, made, telling):
    data = write_questions(tmp_path / "q.jsonl", questions(20))
    train = ("annotate", "probe", "train", data, "--model", telling, "-o")
    for more, code, said in (
        ((tmp_path / "p", "--layers", "2,x"), 2, "expected layer numbers"),
        ((tmp_path / "p", "--layers", "9"), 1, "a number from -5 to 4, the last layer of"),
        ((data,), 1, "is not a folder; choose"),
        ((made,), 1, "results of an earlier run; add --resume"),
    ):
        assert said in refused(*train, *more, code=code)
    score = ("annotate", "probe", "score", data, "--probe")
    for more, code, said in (
        ((tmp_path, "-o", tmp_path / "o"), 1, "contains no probe.json"),
        ((made, "-o", data), 1, "is an input"),
        ((tmp_path / "none", "-o", tmp_path / "o"), 2, "does not exist"),
    ):
        assert said in refused(*score, *more, code=code)
    report = ("annotate", "probe", "report", made)
    assert "is an input" in refused(*report, "--html", made / "probe.json")


def test_scores_of_questions_it_has_not_seen(made, refused, tmp_path, telling):
    given = [structs.replace(each, category=None) for each in questions(40, seed=9)]
    given += [Question(" ", "A", "", (Generation("A.", "normal"),))]
    data = write_questions(tmp_path / "q.jsonl", given)
    output = tmp_path / "scored.jsonl"
    score = ("annotate", "probe", "score", data, "--probe", made, "-o")
    err = refused(*score, output)
    assert "item 40: no probe_score: the question is blank" in err
    assert err.endswith(f"wrote 41 questions to {output}; scored: 40\n")
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    for place, row in enumerate(rows[:-1]):
        scores = {each["probe_score"] for each in row["generation"]}
        assert len(scores) == 1
        assert (scores.pop() > 0.5) == (place % 2 == 0)
    assert "probe_score" not in rows[-1]["generation"][0]
    # In smaller batches, alike.
    refused(*score, tmp_path / "b.jsonl", "--batch-tokens", "1", "--model", telling)
    for row, line in zip(rows[:-1], (tmp_path / "b.jsonl").read_text().splitlines()):
        again = json.loads(line)["generation"][0]["probe_score"]
        assert again == pytest.approx(row["generation"][0]["probe_score"], abs=1e-6)


def test_the_wrong_model_is_refused(made, tmp_path):
    shallow = tiny_models.causal_model(tmp_path / "m", chat=False)
    scorer = SCORERS.make("probe", probe=str(made), model=str(shallow))
    with pytest.raises(ShroomError, match="is not the model that the probe was trained on"):
        list(scorer.score([each.question for each in questions(2)], Run()))


def test_a_damaged_probe(made, tmp_path):
    content = json.loads((made / "probe.json").read_text())
    numbers = (made / "probe.safetensors").read_bytes()
    damaged = [
        ("{", numbers),
        (json.dumps({**content, "format": "shroom-probe-1"}), numbers),
        (json.dumps({**content, "frame": {**content["frame"], "mode": "verse"}}), numbers),
        (json.dumps(content), numbers[:-8]),
    ]
    for about, data in damaged:
        (tmp_path / "probe.json").write_text(about)
        (tmp_path / "probe.safetensors").write_bytes(data)
        with pytest.raises(ShroomError, match="was written by another version of the kit"):
            SavedProbe.load(tmp_path)


@pytest.mark.parametrize(
    ("auroc", "accuracy", "chance", "majority"),
    [
        ((0.6, 0.8), (0.6, 0.8), "is better than chance", "better than the majority"),
        ((0.6, 0.8), (0.4, 0.8), "is better than chance", "not significantly better than the maj"),
        ((0.4, 0.8), (0.2, 0.4), "is not significantly better than chance", "worse than the maj"),
        ((0.2, 0.4), None, "is worse than chance", "not significantly better than the majority"),
        (None, None, "cannot be judged: its AUROC of 0.700 has no confidence interval (n = ", ""),
    ],
)
def test_the_verdict(made, auroc, accuracy, chance, majority):
    saved = SavedProbe.load(made)
    nested = {"auroc": Estimate(0.7, auroc), "accuracy": Estimate(0.7, accuracy)}
    figures = replace(saved.figures, nested={**saved.figures.nested, **nested})
    saved = replace(saved, figures=figures)
    assert saved.verdict.startswith(f"The probe {chance}")
    assert majority in saved.verdict


def test_the_report_as_text_and_json(made, done, in_json):
    lines = done("annotate", "probe", "report", made).splitlines()
    assert ["[" in line for line in lines if line.startswith("layer 2 *")] == [True]
    assert sum("*" in line for line in lines) == 2
    assert sum(line.startswith("layer ") for line in lines) == 5
    assert any(line.startswith("floor: majority label") and "0.500" in line for line in lines)
    assert "- 80 questions: 40 'all-right', 40 'all-wrong'" in lines
    found = in_json("annotate", "probe", "report", made)
    assert found["best"] == found["layer"] == 2
    assert [row["layer"] for row in found["layers"]] == [0, 1, 2, 3, 4]
    assert found["floor"]["accuracy"] == 0.5
    assert found["nested"]["auroc"] == found["layers"][2]["auroc"] > 0.97
    assert found["intervals"]["resamples"] == 200
    names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert names == {"probe.json", "probe.safetensors", "states.sqlite"}


def test_page(made, shroom, tmp_path):
    page = tmp_path / "page.html"
    report = ("annotate", "probe", "report", made)
    code, _, err = shroom(*report, "--html", page)
    assert (code, err) == (0, f"wrote {page}\n")
    outline = assert_good(page.read_text(encoding="utf-8"))
    assert len(outline.all("svg")) == 3
    assert "layer 2 was chosen because its AUROC is the highest" in outline.text
    first = page.read_bytes()
    shroom(*report, "--html", page)
    assert page.read_bytes() == first
