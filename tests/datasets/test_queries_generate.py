"""New debate queries: the calls, the screening of answers, and resuming."""

import json
import time

import numpy as np
import pytest
from chat_server import chat
from conftest import DATA
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer, tokenizers

from shroom.core.problems import Problems, ShroomError
from shroom.core.result_log import record_of
from shroom.datasets.queries import reader as queries
from shroom.datasets.queries.generation import Prompts, Settings
from shroom.datasets.queries.near_duplicates import (
    EMPTY,
    NEAR,
    NO_QUESTION,
    Screen,
    describe,
    first_line,
    rouge_l,
    words,
)
from shroom.inference.endpoint.client import Endpoint

SEEDS = [
    f"Should {who} be {what}?"
    for who, what in [
        ("zoos", "closed"),
        ("public libraries", "open at night"),
        ("homework", "abolished in primary schools"),
        ("the census", "held every year"),
        ("bell ringing", "allowed before nine"),
        ("footballers", "paid like nurses"),
    ]
]
MATTERS = ["amber", "basil", "cedar", "delta", "ember", "fjord", "grape", "hazel", "ivory", "jelly"]


def question(number):
    """Return a question that is like no other."""
    one, two, three = (MATTERS[(number * step + step) % len(MATTERS)] for step in (1, 2, 5))
    return f"Should {one}{number} {two}{number} replace {three}{number}?"


def answer(number):
    """Return what the model says to a call: of each six answers, three are of use."""
    return (
        question(number),
        question(number - 1),  # a duplicate
        f"1. {question(number)}\nAnd here is another one.",
        "I cannot help with that.",
        f"<think>Should I answer this?</think>\n\n**{question(number)}**",
        "",
    )[number % 6]


def model(body, _=None):
    return chat(answer(body["seed"]))


def usable(calls):
    return [question(number) for number in range(calls) if number % 2 == 0]


@pytest.fixture
def seeds(tmp_path):
    path = tmp_path / "seeds.jsonl"
    path.write_text("".join(json.dumps({"query": text}) + "\n" for text in SEEDS))
    return path


@pytest.fixture
def out(tmp_path):
    return tmp_path / "new.jsonl"


@pytest.fixture
def make(shroom, seeds, out, monkeypatch):
    """Run ``shroom queries generate``, which never waits."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def call(url, *more, n=5):
        usual = ["--seeds", seeds, "-n", n, "--endpoint", url, "-o", out, "--examples", 3]
        return shroom("queries", "generate", *usual, *more)

    return call


def made(path):
    return [json.loads(line)["query"] for line in path.read_text().splitlines()]


def logged(path):
    text = path.with_name(path.name + ".log").read_bytes()
    return [record_of(line) for line in text.splitlines(keepends=True)]


# ROUGE-L


def naive(one, two):
    """Return ROUGE-L F by the table that every textbook has."""
    table = [[0] * (len(two) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            same = table[i][j] + 1
            table[i + 1][j + 1] = same if a == b else max(table[i][j + 1], table[i + 1][j])
    common = table[-1][-1]
    return 2 * common / (len(one) + len(two)) if common else 0.0


TEXT = st.lists(st.sampled_from("abcd"), max_size=90)


@given(st.lists(TEXT, max_size=6), TEXT)
def test_rouge_l_is_that_of_the_naive_table(references, candidate):
    found = rouge_l(candidate, references)
    assert found.tolist() == [naive(reference, candidate) for reference in references]


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_rouge_l_is_that_of_google(references, candidate):
    scorer = rouge_scorer.RougeScorer(["rougeL"])
    found = rouge_l(candidate, references)
    for reference, f in zip(references, found):
        expected = scorer.score(" ".join(reference), " ".join(candidate))["rougeL"].fmeasure
        assert f == pytest.approx(expected, abs=1e-12)


@given(st.text() | st.text("aB9_-'é. \n"))
def test_words_are_those_of_google(text):
    assert words(text) == tokenizers.DefaultTokenizer(use_stemmer=False).tokenize(text)


# Screening


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("Should cats vote?", "Should cats vote?"),
        ("\n  \n Should\tcats  vote? \nShould dogs?", "Should cats vote?"),
        ("11. Should cats vote?", "Should cats vote?"),
        ("- “Should cats vote?”", "Should cats vote?"),
        ("**Debate question:** Should cats vote?", "Should cats vote?"),
        ("3.5% of what should be taxed?", "3.5% of what should be taxed?"),
        ("<think>Should I?</think>Should cats vote?", "Should cats vote?"),
        ("<think>Should I ask about cats?", ""),
        ("Should cats\u2028vote?", "Should cats"),
        ("**", ""),
    ],
)
def test_the_first_line(given, line):
    assert first_line(given) == line


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SHOULD  zoos -- be closed!?", NEAR),
        ("Should zoos be closed at night?", NEAR),
        ("Should zoos at least be closed at night?", None),
        ("Should it be?", NO_QUESTION),
        ("Must every zoo be shut down?", NO_QUESTION),
        ("   ", EMPTY),
    ],
)
def test_verdicts(text, why):
    assert Screen(["Should zoos be closed?"], threshold=0.7).judge(text).why == why


def test_the_threshold_itself_is_a_near_duplicate():
    seed = "should a b c d e f g h i"
    nearest = Screen([seed], threshold=0.7).judge("Should a b c d e f x y z?")
    assert (nearest.why, nearest.rouge_l, nearest.nearest) == (NEAR, 0.7, seed)
    above = float(np.nextafter(0.7, 1))
    assert Screen([seed], threshold=above).judge("Should a b c d e f x y z?").why is None


def test_with_threshold_one_the_same_words_are_dropped_alone():
    screen = Screen(["Should zoos be closed?"], threshold=1)
    assert screen.judge("should Zoos be closed ?").why == NEAR
    assert screen.judge("Should zoos be closed now?").why is None
    assert screen.judge("Should zoos be closed now?").why == NEAR


# Prompts


def test_a_prompt_depends_on_the_seed_and_the_call_alone():
    one, two = (Prompts(SEEDS, Settings(examples=3, seed=4)) for _ in range(2))
    assert [one.of(i) for i in range(20)] == [two.of(i) for i in reversed(range(20))][::-1]
    assert len({one.of(i) for i in range(20)}) > 15
    assert one.of(0) != Prompts(SEEDS, Settings(examples=3, seed=5)).of(0)


def test_a_prompt_has_distinct_examples_one_on_each_line():
    doubled = [*SEEDS, *SEEDS, "Should {braces}\nand breaks be kept?"]
    lines = Prompts(doubled, Settings(examples=7)).of(0).splitlines()
    assert sorted(lines[2:9]) == sorted([*SEEDS, "Should {braces} and breaks be kept?"])
    with pytest.raises(ShroomError, match="are 7 distinct queries, and a prompt has 8 examples"):
        Prompts(doubled, Settings(examples=8))


# Runs


def test_a_run(serve, make, seeds, out):
    server = serve(model)
    code, stdout, stderr = make(server.url, n=7)
    assert (code, stdout) == (0, "")
    assert made(out) == usable(13)
    assert "wrote 7 queries" in stderr
    assert "13 calls: 7 kept; dropped: 2 near-duplicate, 2 no debate question, 2 empty" in stderr
    problems = Problems()
    assert len(queries.read(out, problems=problems).records) == 7
    assert not problems.codes
    prompts = Prompts(SEEDS, Settings(examples=3))
    for number, body in enumerate(server.bodies):
        assert body == {
            "messages": [{"role": "user", "content": prompts.of(number)}],
            "temperature": 1.0,
            "max_tokens": 100,
            "seed": number,
        }


def test_a_run_with_the_prompt_and_the_request_of_the_source(serve, make, out):
    texts = [f"\n {question(0)}\nQuestion: {question(1)}", "Why?", question(2)]
    server = serve(lambda _, number: {"choices": [{"text": texts[number]}]})
    source = ["--prompt", "source", "--mode", "completion", "--per-minute", 10_000]
    assert make(server.url, *source, n=2)[0] == 0
    assert (made(out), server.paths) == ([question(0), question(2)], ["/v1/completions"] * 3)
    opening, blank, *examples, end = server.bodies[0].pop("prompt").split("\n")
    assert opening.startswith("An intelligent computer system is constructed. It is friendly and ")
    assert opening.endswith("The questions the system came up with are:")
    assert (blank, len(examples), end) == ("", 3, "Question:")
    assert {text.partition("Question: ")[2] for text in examples} < set(SEEDS)
    assert server.bodies[0] == {"temperature": 1.0, "max_tokens": 100, "seed": 0}


def test_every_call_is_logged(serve, make, out):
    make(serve(model).url, "--model", "m", n=3)
    head, *calls = logged(out)
    assert head["settings"]["model"] == "m"
    assert [call["call"] for call in calls] == list(range(5))
    assert [call["answer"] for call in calls] == [answer(number) for number in range(5)]
    assert [call["verdict"] for call in calls] == ["kept", "dropped", "kept", "dropped", "kept"]
    assert [call["why"] for call in calls] == [None, NEAR, None, NO_QUESTION, None]
    assert calls[1]["nearest"] == question(0)
    assert calls[1]["rouge_l"] == 1
    assert all("Write one more question" in call["prompt"] for call in calls)


def test_a_seed_need_not_be_what_would_be_kept(serve, make, seeds):
    with seeds.open("a") as stream:
        stream.write('{"query": "Should there be one without its mark"}\n')
    code, _, stderr = make(serve(model).url)
    assert (code, "warning" in stderr) == (0, False)


def test_settings_are_sent_and_keys_are_not_kept(serve, make, out, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    server = serve(lambda body, _: chat(question(body["seed"])))
    more = ["--model", "m", "--temperature", 0.5, "--max-tokens", 9, "--seed", 40]
    assert make(server.url, *more, "--api-key-env", "MY_KEY", n=2)[0] == 0
    assert [body["seed"] for body in server.bodies] == [40, 41]
    sent = {key: server.bodies[0][key] for key in ("model", "temperature", "max_tokens")}
    assert sent == {"model": "m", "temperature": 0.5, "max_tokens": 9}
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "secret" not in out.with_name("new.jsonl.log").read_text()


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ((413, {}, {"error": "too long"}), "lower --examples"),
        ((500, {}, b"oops"), "HTTP 500: oops; tried 2 times"),
        ((200, {}, {"choices": [{"message": "text"}]}), "a response without an answer"),
    ],
)
def test_a_failure_keeps_what_was_answered(serve, make, out, trouble, message):
    out.write_text("of old\n")
    broken = serve(lambda body, number: model(body) if number < 3 else trouble)
    code, _, stderr = make(broken.url, "--retries", 1)
    assert code == 1
    assert message in stderr
    assert "to go on, add --resume" in stderr
    assert "Traceback" not in stderr
    assert out.read_text() == "of old\n"
    assert [line.get("call") for line in logged(out)] == [None, 0, 1, 2, 3]
    assert message in logged(out)[-1]["error"]
    sound = serve(model)
    assert make(sound.url, "--resume")[0] == 0
    assert made(out) == usable(9)
    assert [body["seed"] for body in sound.bodies] == list(range(3, 9))
    assert make(sound.url, "--resume")[0] == 0  # also with the failure in the log
    assert len(sound.bodies) == 6


def test_refusals_are_empty_answers(serve, make, out):
    refusals = [
        {"choices": [{"message": {"content": None, "refusal": "I cannot."}}]},
        {"choices": [{}]},
        chat("<think>Should I ask about this or about that?"),
    ]
    server = serve(lambda _, number: refusals[number] if number < 3 else chat(question(number)))
    assert make(server.url, n=1)[0] == 0
    assert [line["why"] for line in logged(out)[1:]] == [EMPTY, EMPTY, EMPTY, None]


# No more new questions


def test_it_stops_where_nothing_new_comes(serve, make, out):
    out.write_text("of old\n")
    code, _, stderr = make(serve(lambda *_: chat(SEEDS[0])).url, "--patience", 3)
    assert (code, "there are 0 of 5" in stderr, out.read_text()) == (1, True, "of old\n")
    out.with_name("new.jsonl.log").unlink()
    server = serve(lambda _, number: chat(question(min(number, 2))))
    code, _, stderr = make(server.url, "--patience", 6)
    assert code == 1
    assert "gave nothing new in 6 calls in a row, so there are 3 of 5 queries" in stderr
    assert made(out) == [question(number) for number in range(3)]
    assert len(server.bodies) == 9
    again = make(server.url, "--patience", 6, "--resume")
    assert again == (code, "", stderr)
    assert len(server.bodies) == 9
    assert make(serve(model).url, "--patience", 8, "--resume", n=4)[0] == 0
    assert made(out) == [question(number) for number in (0, 1, 2, 10)]


# Resuming


def test_a_finished_run_is_not_asked_again_and_can_grow(serve, make, out):
    server = serve(model)
    make(server.url)
    content, log = out.read_bytes(), logged(out)
    assert make(server.url, "--resume")[0] == 0
    assert (out.read_bytes(), logged(out), len(server.bodies)) == (content, log, 9)
    assert make(server.url, "--resume", n=8)[0] == 0
    assert (made(out), len(server.bodies)) == (usable(15), 15)
    assert make(server.url, "--resume", n=2)[0] == 0
    assert (made(out), len(server.bodies)) == (usable(3), 15)


def test_an_interrupted_run_goes_on(serve, make, out, monkeypatch):
    server = serve(model)
    ask = Endpoint.ask

    def interrupted(self, body):
        if body["seed"] == 4:
            raise KeyboardInterrupt
        return ask(self, body)

    monkeypatch.setattr(Endpoint, "ask", interrupted)
    code, _, stderr = make(server.url)
    assert code == 130
    assert "to go on, add --resume" in stderr
    monkeypatch.setattr(Endpoint, "ask", ask)
    assert make(server.url, "--resume")[0] == 0
    assert made(out) == usable(9)
    assert [body["seed"] for body in server.bodies] == list(range(9))


def test_a_log_is_not_begun_anew(serve, make, out):
    server = serve(model)
    make(server.url)
    log = logged(out)
    code, _, stderr = make(server.url)
    assert code == 1
    assert "new.jsonl.log: has 9 results of an earlier run; add --resume" in stderr
    assert (logged(out), len(server.bodies)) == (log, 9)


def test_a_run_without_any_answer_is_not_in_the_way(serve, make, out):
    code, _, stderr = make(serve(lambda *_: (404, {}, {"error": "no model n"})).url, "--model", "n")
    assert (code, "--resume" in stderr) == (1, False)
    assert "no model n" in logged(out)[-1]["error"]
    assert make(serve(model).url, "--model", "m")[0] == 0
    assert made(out) == usable(9)
    assert len(logged(out)) == 10


def test_a_run_with_other_settings_or_seeds_does_not_go_on(serve, make, out, seeds):
    server = serve(model)
    make(server.url)
    log = logged(out)
    for other, message in [
        (["--threshold", 0.8], "threshold 0.7 (now 0.8);"),
        (["--seed", 1], "seed 0 (now 1);"),
        (["--model", "n"], 'model null (now "n");'),
        (["--temperature", 0], "temperature 1.0 (now 0.0);"),
        (["--examples", 2], "examples 3 (now 2);"),
        (["--max-tokens", 3], "max_tokens 100 (now 3);"),
        (["--mode", "completion"], 'mode "chat" (now "completion");'),
    ]:
        code, _, stderr = make(server.url, "--resume", *other)
        assert (code, message in stderr) == (1, True), stderr
    with seeds.open("a") as stream:
        stream.write('{"query": "Should there be one more?"}\n')
    code, _, stderr = make(server.url, "--resume")
    assert (code, "other settings: seeds" in stderr) == (1, True)
    assert (logged(out), len(server.bodies)) == (log, 9)


# The command line


def test_a_dry_run_asks_and_writes_nothing(serve, make, out):
    server = serve(model)
    code, stdout, _ = make(server.url, "--dry-run")
    assert code == 0
    assert stdout.startswith(Prompts(SEEDS, Settings(examples=3)).of(0))
    assert stdout.endswith("at least 5 calls: one for each query, and for each that is dropped\n")
    assert not server.bodies
    assert not out.with_name("new.jsonl.log").exists()
    make(server.url)
    code, stdout, _ = make(server.url, "--dry-run", "--resume", n=9)
    assert code == 0
    assert Prompts(SEEDS, Settings(examples=3)).of(9) in stdout
    assert "at least 4 calls, beside 9 that the log has" in stdout


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (["--threshold", 0], 2, "is not in the range"),
        (["--temperature", "nan"], 2, "nan is not a number"),
        (["--examples", 7], 1, "give fewer --examples, or more seeds"),
        (["--endpoint", "localhost"], 1, "is not the URL of a server"),
        (["-o", "new.json"], 1, "name a file that ends in .jsonl"),
        (["--seeds", "nowhere.jsonl"], 2, "does not exist"),
    ],
)
def test_wrong_command_lines(serve, make, more, code, message):
    server = serve(model)
    found, _, stderr = make(server.url, *more)
    assert (found, "Traceback" in stderr) == (code, False)
    assert message in stderr
    assert not server.bodies


def test_seeds_are_never_touched(serve, make, seeds):
    content = seeds.read_bytes()
    code, _, stderr = make(serve(model).url, "-o", seeds)
    assert code == 1
    assert "is an input" in stderr
    assert seeds.read_bytes() == content


def test_places_that_cannot_be_written_are_reported_before_anything_is_asked(serve, make, tmp_path):
    server = serve(model)
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.jsonl").mkdir()
    for place in ("file/new.jsonl", "folder.jsonl"):
        code, _, stderr = make(server.url, "-o", tmp_path / place)
        assert (code, "Traceback" in stderr) == (1, False)
    assert not server.bodies


# The description of a set


def test_describe(shroom, seeds, tmp_path):
    path = tmp_path / "found.jsonl"
    texts = [question(1), question(2), f"{question(1)} ", "Should all zoos be closed?", "Why?"]
    path.write_text("".join(json.dumps({"query": text}) + "\n" for text in texts))
    code, stdout, _ = shroom("queries", "describe", path, "--seeds", seeds, "--format", "json")
    assert code == 0
    assert json.loads(stdout) == {
        "queries": 5,
        "debate": 3,
        "doubled": 1,
        "threshold": 0.7,
        "near_other": 2,
        "near_earlier": 1,
        "near_seed": 1,
        "left": 3,
    }
    code, stdout, _ = shroom("queries", "describe", path, "--threshold", 1)
    assert code == 0
    assert "seed" not in stdout
    assert "ROUGE-L F of at least 1" in stdout


def test_what_has_no_query_is_refused(shroom, tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text('{"index": "0"}\n')
    code, stdout, stderr = shroom("queries", "describe", path)
    assert (code, stdout) == (1, "")
    assert f"{path}: has no query" in stderr


@given(st.lists(st.lists(st.sampled_from(["should", "a", "b", "c"]), max_size=6), max_size=12))
def test_what_is_left_is_what_the_screen_would_keep(texts):
    questions = [f"Should this be it: {' '.join(text)}?" for text in texts]
    screen = Screen(SEEDS, threshold=0.7)
    kept = [text for text in questions if screen.judge(text).why is None]
    found = describe(questions, SEEDS, 0.7)
    assert found.left == len(kept)
    assert describe(kept, SEEDS, 0.7).near_other == 0


@pytest.mark.real
def test_near_duplicates_of_the_real_queries(shroom):
    folder = DATA / "verifiability" / "queries"
    given = [folder / "davinci-debate-1k.jsonl", "--seeds", folder / "davinci-debate-seed.jsonl"]
    found = json.loads(shroom("queries", "describe", *given, "--format", "json")[1])
    assert list(found.values()) == [1000, 1000, 4, 0.7, 451, 303, 50, 718]
    found = json.loads(shroom("queries", "describe", folder / "allsouls.jsonl", "--format=json")[1])
    assert list(found.values()) == [1000, 190, 1, 0.7, 38, 20, None, 980]
