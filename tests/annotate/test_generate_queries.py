"""New debate queries: the calls, which answers are kept, and resuming."""

import json

import pytest
import tiny_models
from chat_server import chat
from conftest import write_lines
from generated import prompt_of

from shroom.annotate.generate import Prompts, first_line, generate
from shroom.core.problems import Problems, ShroomError
from shroom.datasets import queries

SEEDS = [
    "Should zoos be closed?",
    "Should public libraries be open at night?",
    "Should homework be abolished in primary schools?",
    "Should the census be held every year?",
    "Should bell ringing be allowed before nine?",
    "Should footballers be paid like nurses?",
    "Should museums be free?",
    "Should school days be shorter?",
    "Should letters be written by hand?",
]
PROMPTS = [item.prompt for item in Prompts(SEEDS, examples=5).items(60)]


def question(number):
    return f"Should question {number} be answered?"


def answer(number):
    """Return what the model says to a call: of each six answers, three are of use."""
    return (
        question(number),
        question(number - 1).upper(),  # a duplicate
        f"1. {question(number)}\nAnd here is another one.",
        "I cannot help with that.",
        f"<think>Should I answer this?</think>\n\n**{question(number)}**",
        "",
    )[number % 6]


def call_of(body):
    return PROMPTS.index(prompt_of(body))


def model(body, _=None):
    return chat(answer(call_of(body)))


def usable(calls):
    return [question(number) for number in range(calls) if number % 2 == 0]


@pytest.fixture
def seeds(tmp_path):
    return write_lines(tmp_path / "seeds.jsonl", [{"query": text} for text in SEEDS])


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new.jsonl"


@pytest.fixture
def make(shroom, seeds, out, monkeypatch):
    """Run the command with five seeds in each prompt; answers are kept in no cache."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(url, *more, n=5):
        usual = ["--model", "m", "--endpoint", url, "-n", n, "-o", out, "--examples", 5]
        usual += ["--set", "cache=false", "--set", "retries=0"]
        return shroom("annotate", "generate", "queries", seeds, *usual, *more)

    return call


def made(path):
    return [json.loads(line)["query"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("Should cats vote?", "Should cats vote?"),
        ("\n  \n Should\tcats  vote? \nShould dogs?", "Should cats vote?"),
        ("11. Should cats vote?", "Should cats vote?"),
        ("- “Should cats vote?”", "Should cats vote?"),
        ("**Debate question:** Should cats vote?", "Should cats vote?"),
        ("3.5% of what should be taxed?", "3.5% of what should be taxed?"),
        ("Should cats\u2028vote?", "Should cats"),
        ("**", ""),
    ],
)
def test_the_first_line(given, line):
    assert first_line(given) == line


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SHOULD  zoos be closed?", False),
        ("Should zoos be closed at night?", True),
        ("Should it be?", False),
        ("Must every zoo be shut down?", False),
        ("   ", False),
    ],
)
def test_verdicts(text, kept):
    prompts = Prompts(["Should zoos be closed?"], examples=1)
    found = generate(1, prompts, lambda items: dict.fromkeys(items, text), patience=1)
    assert found == ([text] * kept, 1)


def test_a_prompt_depends_on_the_seed_and_the_call_alone():
    one, two = (Prompts(SEEDS, examples=3, seed=4).items(n) for n in (20, 30))
    assert one == two[:20]
    assert len(set(one)) == 20
    assert one[0] != Prompts(SEEDS, examples=3, seed=5).items(1)[0]
    same = Prompts(SEEDS[:1], examples=1).items(3)
    assert [item.number for item in same] == [0, 1, 2]
    assert len({item.prompt for item in same}) == 1


def test_a_prompt_has_distinct_examples_one_on_each_line():
    doubled = [*SEEDS, *SEEDS, "Should {braces}\nand breaks be kept?"]
    lines = Prompts(doubled, examples=10).items(1)[0].prompt.splitlines()
    assert sorted(lines[2:12]) == sorted([*SEEDS, "Should {braces} and breaks be kept?"])
    with pytest.raises(ShroomError, match="needs 11 seed queries, but only 10 are distinct"):
        Prompts(doubled, examples=11)


def test_a_run(serve, make, out):
    server = serve(model)
    code, stdout, stderr = make(server.url, n=7)
    assert (code, stdout) == (0, "")
    assert made(out) == usable(13)
    assert stderr == (f"wrote 7 queries to {out}\n13 calls: 7 kept\n")
    problems = Problems()
    assert len(queries.read(out, problems=problems).records) == 7
    assert not problems.codes
    sent = {key: server.bodies[0][key] for key in ("model", "temperature", "max_tokens", "seed")}
    assert sent == {"model": "m", "temperature": 1.0, "max_tokens": 100, "seed": 0}
    assert not out.with_name("new.jsonl.partial").exists()


def test_a_run_with_the_prompt_and_the_request_of_the_source(serve, make, out):
    texts = [f"\n {question(0)}\nQuestion: {question(1)}", "Why?", question(2)]
    server = serve(lambda _, number: {"choices": [{"text": texts[number]}]})
    source = ["--prompt", "source", "--set", "mode=completion", "--set", "concurrency=1"]
    assert make(server.url, *source, n=2)[0] == 0
    assert (made(out), server.paths) == ([question(0), question(2)], ["/v1/completions"] * 3)
    parameters = [{key: body[key] for key in body if key != "prompt"} for body in server.bodies]
    assert parameters == [{"model": "m", "max_tokens": 100}] * 3
    opening, blank, *examples, end = server.bodies[0].pop("prompt").split("\n")
    assert opening.startswith("An intelligent computer system is constructed. It is friendly and ")
    assert opening.endswith("The questions the system came up with are:")
    assert (blank, len(examples), end) == ("", 5, "Question:")
    assert {text.partition("Question: ")[2] for text in examples} < set(SEEDS)


def test_equal_prompts_of_the_source_are_sent_again(serve, make, seeds):
    server = serve(lambda _, number: chat(question(number)))
    seeds.write_text('{"query": "Should zoos be closed?"}\n')
    assert make(server.url, "--prompt", "source", "--examples", 1, n=3)[0] == 0
    assert [sorted(body) for body in server.bodies] == [["max_tokens", "messages", "model"]] * 3


def test_a_seed_need_not_be_what_would_be_kept(serve, make, seeds):
    with seeds.open("a") as stream:
        stream.write('{"query": "Should there be one without its mark"}\n')
    code, _, stderr = make(serve(lambda *_: chat(question(1))).url, n=1)
    assert (code, "warning" in stderr) == (0, False)


def test_a_failure_keeps_what_was_answered(serve, make, out):
    out.write_text("of old\n")
    failing = [True]

    def answers(body, number):
        return (500, {}, b"oops") if failing and number >= 3 else model(body)

    server = serve(answers)
    code, _, stderr = make(server.url, "--set", "concurrency=1")
    assert (code, out.read_text()) == (1, "of old\n")
    assert "HTTP 500: oops; " in stderr
    assert stderr.endswith("; to continue, add --resume\n")
    failing.clear()
    server.bodies.clear()
    assert make(server.url, "--resume")[0] == 0
    assert made(out) == usable(9)
    assert {call_of(body) for body in server.bodies} == {3, 4, 5, 6, 7, 8}


def test_it_stops_where_nothing_new_comes_and_goes_on(serve, make, out):
    server = serve(lambda body, _: chat(question(min(call_of(body), 2))))
    code, _, stderr = make(server.url, "--patience", 6)
    assert code == 1
    assert "wrote 3 of 5 queries, because 6 consecutive calls returned no new query" in stderr
    assert made(out) == [question(number) for number in range(3)]
    assert len(server.bodies) == 9
    again = make(server.url, "--patience", 6, "--resume")
    assert again == (code, "", stderr)
    assert len(server.bodies) == 9
    make(server.url, "--patience", 8, "--resume")
    assert len(server.bodies) == 11


def test_a_dry_run_asks_and_writes_nothing(serve, make, out):
    server = serve(model)
    code, stdout, _ = make(server.url, "--dry-run")
    assert code == 0
    assert stdout.startswith(f"{PROMPTS[0]}\n\nat least 5 requests (0 more answers from the ")
    assert not server.bodies
    assert not list(out.parent.glob("new*"))


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--prompt", "source", "--temperature", "1"], 2, "leave out temperature"),
        (["--prompt", "source", "--set", "top_p=1"], 2, "leave out top_p"),
        (["--examples", 10], 1, "lower --examples, or add seed queries"),
        (["--endpoint", "localhost"], 2, "expected a URL such as"),
        (["--set", "thershold=1"], 2, "no setting 'thershold'"),
        (["-o", "-"], 2, "the result cannot be written to stdout"),
        (["-o", "seeds.jsonl"], 1, "is an input"),
    ],
)
def test_wrong_command_lines(serve, make, seeds, monkeypatch, more, code, message):
    monkeypatch.chdir(seeds.parent)
    server, content = serve(model), seeds.read_bytes()
    found, _, stderr = make(server.url, *more)
    assert seeds.read_bytes() == content
    assert (found, "Traceback" in stderr) == (code, False)
    assert message in stderr
    assert not server.bodies


def test_a_local_model_is_asked_as_well(shroom, seeds, out, tmp_path):
    folder = tiny_models.causal_model(tmp_path / "model")
    more = ("-n", 1, "--examples", 1, "--patience", 2, "--max-tokens", 4, "-o", out)
    code, _, stderr = shroom("annotate", "generate", "queries", seeds, "--model", folder, *more)
    assert (code, "2 consecutive calls returned no new query" in stderr) == (1, True)
