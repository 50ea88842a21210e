"""Generating answers and refusals, by an endpoint and by a model on this machine."""

from collections import Counter

import pytest
import tiny_models
from chat_server import chat
from conftest import write_lines
from generated import prompt_of

from shroom.annotate.generate import Answers, Generator
from shroom.annotate.generations import read
from shroom.inference.run_settings import RUN


@pytest.fixture
def questions(tmp_path):
    rows = [
        {"question": "Who made it?", "answer": "Ada", "source": "mine"},
        {"question": "谁写的？", "generation": ["Before."]},
    ]
    return write_lines(tmp_path / "questions.jsonl", rows)


@pytest.fixture
def generate(shroom, tmp_path, questions, monkeypatch):
    """Run the command on the questions; answers are kept in a folder of the test."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    output = tmp_path / "out.jsonl"

    def run(model, *options, url=None):
        cache = ["--set", f'cache="{tmp_path / "cache"}"']
        where = ["--endpoint", url, *cache, "--set", "retries=0"] if url else []
        args = ("annotate", "generate", "answers", questions, "--model", model, "-o", output)
        return (*shroom(*args, *where, *options), output)

    return run


def numbered(body, _):
    return chat(f"{body['seed']}: {prompt_of(body)[:4]}")


def test_answers_and_refusals_of_an_endpoint(serve, generate):
    server = serve(numbered)
    code, out, err, output = generate("m", "-n", "3", "--refusals", "2", url=server.url)
    assert (code, out) == (0, "")
    assert err == f"wrote 2 questions with 10 new generations to {output}\n"
    first, second = read(output)
    assert (first.answer, first.extra) == ("Ada", {"source": "mine"})
    texts = [(g.text, g.type) for g in first.generation]
    normal = [(f"{i}: Who", "normal") for i in range(3)]
    assert texts == normal + [(f"{i}: Who", "uncertainty") for i in range(2)]
    assert [g.text for g in second.generation][:2] == ["Before.", "0: 谁写的？"]
    assert len(second.generation) == 6
    prompts = Counter(map(prompt_of, server.bodies))
    assert prompts["Who made it?"] == 3
    assert any(p.startswith("Who made it?\n\nSuppose that you lack") for p in prompts)
    assert any(p.startswith("谁写的？\n\n假设你") for p in prompts)
    assert {b["temperature"] for b in server.bodies} == {0.8}
    assert not list(output.parent.glob("*.partial"))


def test_a_dry_run_asks_nothing_and_shows_the_cost(serve, generate):
    server = serve(numbered)
    prices = ("--set", "price_in=1", "--set", "price_out=2")
    code, out, _, output = generate("m", "--dry-run", *prices, url=server.url)
    assert code == 0
    assert out.startswith("2 questions: 20 requests (0 more answers from the cache), about ")
    assert "up to 0.02" in out
    assert (server.bodies, output.exists()) == ([], False)


def test_what_fails_is_missing_and_resumed_without_asking_twice(serve, generate):
    failing = [True]

    def answer(body, number):
        if body["seed"] == 1 and failing:
            return 400, {}, {"error": {"message": "blocked"}}
        return chat("" if body["seed"] == 2 and failing else f"{body['seed']}")

    server = serve(answer)
    options = ("-n", "3", "--refusals", "0", "--set", "cache=false")
    code, _, err, output = generate("m", *options, url=server.url)
    assert code == 1
    assert "normal 1: " in err
    assert "the reply is empty" in err
    assert "missing generations: 4; to try again, add --resume" in err
    assert [g.text for g in read(output)[0].generation] == ["0"]
    code, _, err, _ = generate("m", *options, url=server.url)
    assert (code, "add --resume" in err) == (1, True)
    failing.clear()
    before = len(server.bodies)
    assert generate("m", *options, "--resume", url=server.url)[0] == 0
    assert len(server.bodies) == before + 4
    assert [g.text for g in read(output)[0].generation] == ["0", "1", "2"]
    code, _, err, _ = generate("m", *options, "--resume", url=server.url)
    assert (code, len(server.bodies)) == (0, before + 4)
    assert "is complete, so there is nothing to resume" in err


def test_a_maximum_cost_is_kept_and_the_cost_is_shown(serve, generate):
    usage = {"prompt_tokens": 100, "completion_tokens": 0}
    server = serve(lambda *_: chat("x", usage=usage))
    prices = ("--set", "price_in=10000", "--set", "price_out=0", "--set", "concurrency=1")
    code, _, err, _ = generate("m", *prices, "--max-cost", "3.5", url=server.url)
    assert code == 1
    assert 0 < len(server.bodies) <= 3
    assert f"this run has cost about {len(server.bodies)}" in err
    assert "the next request might exceed max_cost 3.5" in err


def test_of_a_prompt_one_s_own(serve, generate):
    server = serve(numbered)
    own = ("--template", "Q: {question}", "--refusal", "No: {question}", "--set", "top_p=0.5")
    assert generate("m", "-n", "1", "--refusals", "1", *own, url=server.url)[0] == 0
    expected = {f"{word}: {q}" for word in ("Q", "No") for q in ("Who made it?", "谁写的？")}
    assert set(map(prompt_of, server.bodies)) == expected
    assert {body["top_p"] for body in server.bodies} == {0.5}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--template", "Q"], "the template needs the placeholder {question}"),
        (["--refusal", "{quesion}"], "did you mean 'question'?"),
        (["--temperature", "0"], "at 0, all generations would be identical"),
        (["--set", "topp=1"], "no setting 'topp'"),
        (["--set", "top_p=2"], "top_p: expected a number from 0.001 to 1"),
        (["--max-cost", "1"], "max_cost needs price_in and price_out"),
        (["--endpoint", "localhost"], "expected a URL such as"),
    ],
)
def test_a_wrong_option_is_reported(generate, options, message):
    code, out, err, output = generate("m", *options)
    assert (code, out, output.exists()) == (2, "", False)
    assert message in err


@pytest.mark.parametrize("content", ["", '{"answer": "A"}\n', '{"question": " "}\n', "3\n"])
def test_rows_without_a_question_are_reported(generate, questions, content):
    questions.write_text(content)
    code, _, err, output = generate("m")
    assert (code, output.exists()) == (1, False)
    assert "questions.jsonl" in err


# A model on this machine


@pytest.mark.parametrize("mode", ["chat", "completion"])
def test_a_local_model_generates_alike_after_a_stop(tmp_path, mode):
    folder = str(tiny_models.causal_model(tmp_path / "model"))
    settings = {"max_tokens": 4, "mode": mode, "top_p": 0.9}
    generator = Generator(model=folder, **settings)
    wanted = Answers(3, 2)
    items = [item for text in ("Who sat?", "word " * 700) for item in wanted.items(text)]
    whole = dict(generator.generate(items, RUN))
    assert list(whole) == items
    texts = [text for text in whole.values() if isinstance(text, str)]
    assert len(set(texts)) > 2
    assert not any("Who sat?" in text for text in texts)
    rest = dict(generator.generate(items[1:3] + items[8:], RUN))
    assert rest == {item: whole[item] for item in rest}
    other = Generator(model=folder, **settings, seed=1)
    assert dict(other.generate(items, RUN)) != whole


def test_a_local_model_on_the_command_line(tmp_path, generate):
    folder = tiny_models.causal_model(tmp_path / "model")
    options = ("-n", "2", "--refusals", "1", "--max-tokens", "8")
    code, out, _, output = generate(folder, *options, "--dry-run")
    assert (code, out) == (0, "2 questions: 6 generations by a model on this machine, at no cost\n")
    assert generate(folder, *options)[0] == 0
    types = [[g.type for g in question.generation] for question in read(output)]
    assert types == [["normal"] * n + ["uncertainty"] for n in (2, 3)]
