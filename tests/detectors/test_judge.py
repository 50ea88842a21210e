"""The judge: its requests, p from its answers, and errors."""

import json
import math
import re
import shutil
import socket
import sqlite3
import threading
import time
import tomllib
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import tiny_models
from chat_server import chat
from conftest import ROOT, gold, write_json

from shroom.core.datapoint import TASKS, Datapoint, Label, Reference, Task
from shroom.core.problems import ShroomError
from shroom.core.registry import settings_of
from shroom.detectors.judge import verdicts as answers
from shroom.detectors.judge.detector import SUPPORT, Judge
from shroom.inference.language_model.model import reply_of
from shroom.inference.run_settings import Run

YES, NO = math.log(0.6), math.log(0.2)


def point(hyp="a cat", tgt="the cat", task=Task.DM, **more):
    return Datapoint(**{"src": "a source", "hyp": hyp, "tgt": tgt, "task": task, **more})


def points(n):
    return [point(hyp=f"hypothesis {i}", tgt=f"target {i}") for i in range(n)]


def completion(text=" Yes", tokens=None, logprobs=(-0.1,), top=None):
    """Return an answer of the older kind, of one token unless told otherwise."""
    tokens = [text] if tokens is None else list(tokens)
    listed = {"tokens": tokens, "token_logprobs": list(logprobs), "top_logprobs": top}
    return {"choices": [{"text": text, "logprobs": listed}]}


def content(body):
    return body["messages"][0]["content"]


def number(body):
    """Return which of the ``points`` a request is about."""
    return int(re.search(r"target (\d+)", body.get("prompt") or content(body))[1])


def refuse(message, call, *given, **more):
    """Expect a sentence that matches, and return it."""
    with pytest.raises(ShroomError, match=message) as error:
        call(*given, **more)
    return str(error.value)


@pytest.fixture
def judge(asking):
    return partial(asking, Judge)


@pytest.fixture
def waits(asking, monkeypatch):
    """The seconds that were to be waited."""
    seconds = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def folder(tiny):
    return tiny("causal_model")


@pytest.fixture
def plain(tiny):
    return tiny("causal_model", chat=False)


@pytest.fixture
def server(serve):
    """A server that says no to everything."""
    return serve(lambda *_: chat("no"))


class Recorder:
    """A run that records its notes and its progress."""

    def __init__(self):
        self.notes, self.steps = [], []
        self.run = Run(note=self.notes.append, report=lambda *step: self.steps.append(step))


@pytest.fixture
def recorder():
    return Recorder()


# The answers


#: What answers say: p(Hallucination) of each. The other languages are those of Mu-SHROOM, with and
#: without a full stop.
DENIALS = [
    *("**No**", " no, it is not", "No the context says otherwise", "Not supported", "1. No"),
    *("The context says so, so my answer would be: No.", "I would say no", "Answer: No"),
    *("The correct answer is No.", "**Final answer:** no, since it differs", "<answer>no</answer>"),
    *("Sentence: yes\nVerdict: no", "```\nno\n```", "“No”", r"It is wrong, so \boxed{no}"),
    *('{"answer": "no"}', '{"reason": "yes, but", "Verdict": "No"}', "Réponse : Non", "答案：否"),
    *('```json\n{"supported": false}\n```', "<think>\nno? yes!\n</think>\n\nNo."),
    *("[THINK]yes[/THINK]No", "analysisIs it yes?assistantfinalNo"),
    "<|channel|>analysis<|message|>yes<|end|><|channel|>final<|message|>No<|return|>",
    *(f"{no}{stop}" for stop in ("", ".") for no in (
        "Non", "Nein", "Nej", "Ei", "Ne", "Ez", "Não", "Нет", "否", "いいえ", "لا", "خیر", "नहीं"
    )),
]  # fmt: skip
AFFIRMATIONS = [
    *("\n\nYES!", "Yes\nIt is.", "No doubt it is there: yes", "(2) yes.", r"$\boxed{\text{Yes}}$"),
    "Sure! The statement is in the context. Therefore: Yes",
    *(f"{yes}{stop}" for stop in ("", "。") for yes in (
        "Oui", "Ja", "Sì", "Kyllä", "Ano", "Bai", "Да", "是", "はい", "نعم", "بله", "हाँ"
    )),
]  # fmt: skip
NEITHER = [
    *("Nothing of it", "Yes and no", "No information is given", "Is it yes or no?"),
    *("I'm sorry, but I can't help with that request.", '{"hallucination": "yes"}'),
    *("<think>no, still thinking", "<think>Is it yes? no? yes"),
    "<|channel|>analysis<|message|>so no",
]


def test_the_verdict_of_an_answer(serve, judge):
    p = {**dict.fromkeys(DENIALS, 1), **dict.fromkeys(AFFIRMATIONS, 0)}
    p |= dict.fromkeys(NEITHER, 0.5)
    server = serve(lambda body, _: chat(list(p)[number(body)]))
    assert dict(zip(p, judge(server.url).p(points(len(p))).tolist())) == p


@pytest.mark.parametrize(
    ("message", "response"),
    [
        *(("contains no answer", odd) for odd in (None, [], {"error": {}}, {"choices": [None]})),
        *(
            ("log-probabilities in the endpoint's response cannot be read", odd)
            for odd in (
                {"choices": [{"text": "a", "logprobs": 3}]},
                {"choices": [{"text": "a", "logprobs": {"content": [{"token": "a"}]}}]},
                chat("Yes", [("Yes", math.nan)]),
                completion(logprobs=[-(10**401)]),
                completion(logprobs=[math.inf]),
                completion(tokens=[None]),
                {"choices": [{"text": "a", "logprobs": {"token_logprobs": [YES]}}]},
                completion(top=[{"no": 10**401}]),
                *(chat("Yes", [("Yes", YES), (token, NO)]) for token in (7, None, [], {}, True)),
            )
        ),
    ],
)
def test_a_response_that_cannot_be_read_is_reported(message, response):
    refuse(message, reply_of, response)


def test_an_impossible_token_count_is_ignored():
    for count in (math.inf, -1, []):
        for usage in ({"prompt_tokens": count}, count):
            assert reply_of({**chat("Yes"), "usage": usage}).tokens is None


#: The log-probabilities of a sure yes, and of a token that a thought holds.
SURE = (("Yes", math.log(0.993)), ("No", math.log(0.007)))
DOUBT = (("No", math.log(0.9)), ("Yes", math.log(0.1)))


def thought(*tokens, text=None, form="content", message=None):
    """Return an answer in tokens; yes and "Hmm" are sure, no and the mark of a thought doubt."""
    known = {False: SURE, True: DOUBT, "Hmm": SURE, "<think>": DOUBT}
    tops = [known.get(t, known.get(answers.says_no(t), ((t, -0.1),))) for t in tokens]
    text = "".join(tokens) if text is None else text
    if form == "lists":
        return completion(text, tokens, [top[0][1] for top in tops], [dict(top) for top in tops])
    steps = []
    for token, top in zip(tokens, tops):
        listed = [{"token": token, "logprob": value} for token, value in top]
        steps.append({"token": token, "logprob": top[0][1], "top_logprobs": listed})
    about = {"message": {"content": text, **(message or {})}, "logprobs": {"content": steps}}
    return {"choices": [about]}


#: Tokens of an answer, and p; what a thought says does not count.
THOUGHTS = {
    ("<think>", "No", "?", "</think>", "\n\n", "Yes"): 0.007,
    ("No", "?", "</think>", "Yes"): 0.007,  # the prompt has opened the thought
    ("<", "think", ">", "No", "</", "think", ">\n", "Yes"): 0.007,
    ("<thinking>", "No", "</thinking>", "Yes"): 0.007,
    ("<think>", "No", "</think>", "<think>", "No", "</think>", "Yes"): 0.007,
    ("<think>", "Yes", "</think>", "No"): 0.9,
    ("Yes", ",", " no", " doubt"): 0.007,
    ("\n", "<", "think", ">", "No"): None,
    ("<thinking>", "No"): None,
    ("<think>", "No", "</think>", "<think>", "No"): None,
    ("<think>", "No", "</think>", "Perhaps", "!"): None,
    # without a verdict, the first token of the answer counts
    ("<think>", "No", "</think>", "Hmm", "!"): 0.007,
}


@pytest.mark.parametrize(
    ("response", "p"),
    [
        (chat("Yes", [("Yes", YES), ("No", NO)]), 0.25),
        (chat("Yes", [("Yes", 1e-9), ("No", -math.inf)]), 0),
        (completion("Yes", ["Yes"], [YES], [{"Yes": YES, "No": NO}]), 0.25),
        (completion("Yes", ["Yes"], [math.log(0.75)]), 0.25),
        # in the language of the verdict, and by the beginnings of words
        (chat("Non", [("Non", YES), ("Oui", NO), ("no", math.log(0.01))]), 0.61 / 0.81),
        (chat("No", [("N", YES), ("Y", NO)]), 0.75),
        *((thought(*tokens), p) for tokens, p in THOUGHTS.items()),
        *((thought(*tokens, form="lists"), p) for tokens, p in THOUGHTS.items()),
    ],
)
def test_p_is_read_from_log_probabilities_of_any_form(response, p):
    assert answers.judgement(reply_of(response)).p == (p if p is None else pytest.approx(p))


def test_a_thought_that_the_server_separates_is_not_an_answer():
    """Its tokens are listed all the same, and those of an open one without a mark."""
    apart = {"reasoning_content": "No?"}
    done = thought("<think>", "No", "?", "</think>", "Yes", text="Yes", message=apart)
    assert answers.judgement(reply_of(done)).p == pytest.approx(0.007)
    assert answers.official(reply_of(done)).p == pytest.approx(0.007)
    for text in ("", None):
        response = thought("No", "?", message={**apart, "content": text})
        assert answers.judgement(reply_of(response)) == answers.Judgement(None, unfinished=True)


@pytest.mark.parametrize(
    "response",
    [
        chat("<think>Is it yes? no? yes"),
        chat("<|channel|>analysis<|message|>It may be"),
        {"choices": [{"message": {"content": None, "reasoning_content": "It may be"}}]},
        {"choices": [{"message": {"content": "The context"}, "finish_reason": "length"}]},
    ],
)
@pytest.mark.parametrize("more", [{}, {"samples": 2}])
def test_a_truncated_answer_needs_a_larger_max_tokens(serve, judge, response, more):
    server = serve(lambda *_: response)
    for _ in range(2):  # from the server, and from the cache
        recorder = Recorder()
        assert judge(server.url, **more).p([point()], recorder.run).tolist() == [0.5]
        (note,) = recorder.notes  # no lack of log-probabilities
        assert note.endswith(
            "said neither yes nor no; increase max_tokens, because it cut off 1 answer"
        )


# The templates


@pytest.mark.parametrize("name", SUPPORT.built_in)
def test_the_built_in_templates_contain_context_and_sentence(name):
    for task, template in SUPPORT.read(name).items():
        text = template.fill(context="CONTEXT", sentence="SENTENCE", task=task, examples="E\n")
        assert text.count("CONTEXT") == text.count("SENTENCE") == 1
        assert text.index("CONTEXT") < text.index("SENTENCE")
        assert text == text.strip()
        assert "yes or no" in text
        assert "{" not in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{context} {sentence} {contxt}", r"placeholder \{contxt\}; did you mean 'context'\?"),
        ("{context} {sentence!r}", "unknown placeholder"),
        ("{context:>20} {sentence}", "unknown placeholder"),
        ("{context} {sentence} {", "double all other braces"),
        ("{context}", r"needs the placeholder \{sentence\}"),
    ],
)
def test_a_template_that_cannot_be_filled_is_reported(tmp_path, text, message):
    (path := tmp_path / "mine.txt").write_text(text)
    refuse(rf"mine\.txt.*{message}", Judge, model="m", template=str(path))


def test_ones_own_templates(tmp_path):
    def asked(template, **more):
        return Judge(model="m", template=str(template)).dry_run([point(**more)]).prompt

    path, folder = tmp_path / "mine.txt", tmp_path / "folder"
    path.write_text("{task}: {context} > {sentence}? {{}}\n")
    assert asked(path) == "DM: the cat > a cat? {}"
    folder.mkdir()
    for task in TASKS:
        (folder / f"{task}.txt").write_text(f"{task} {{context}} {{sentence}}")
    assert asked(folder, task=Task.MT) == "MT the cat a cat"
    (folder / "TS.txt").unlink()
    refuse(r"TS\.txt: cannot be read as UTF-8 text: .*No such file", asked, folder)
    (folder / "TS.txt").write_bytes(b"\xff\xfe{context}{sentence}")
    refuse("cannot be read as UTF-8 text", asked, folder)
    refuse("expected support, official, official-chat, a file or a folder", asked, "suport")


# The settings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": None}, "the detector 'judge' needs --model"),
        ({"model": " "}, "model: expected a text"),
        ({"endpoint": "localhost:8080"}, "expected a URL such as"),
        ({"endpoint": "file:///etc/passwd"}, "expected a URL such as"),
        ({"endpoint": "http://a:99999999/v1"}, "expected a URL such as"),
        ({"endpoint": "http://a/v1\r\nX: y"}, "expected a URL such as"),
        ({"endpoint": "http://user:secret@host/v1"}, "without a key"),
        ({"endpoint": "http://host/v1?key=secret"}, "without a key"),
        ({"scoring": "offical"}, "expected one of probability, official, got"),
        ({"mode": "chats"}, "mode: expected one of chat, completion, got"),
        ({"shots": 2}, "the setting 'shots' needs labelled data"),
        ({"shots": 2, "examples": "x", "template": "official"}, "{examples} in the template"),
        ({"samples": 101}, "samples: expected a whole number from 0 to 100, got 101"),
        ({"samples": 3, "temperature": 0}, "identical"),
        ({"samples": 3, "endpoint": None}, "the setting 'samples' needs an endpoint"),
        ({"samples": 3, "scoring": "official"}, "the setting 'samples' needs"),
        ({"concurrency": 10**6}, "concurrency: expected a whole number from 1 to 256"),
        ({"max_cost": 1.0}, "max_cost needs price_in and price_out"),
        ({"cache": ["x"]}, "cache: expected a folder, or true or false"),
    ],
)
def test_a_wrong_setting_is_reported(judge, wrong, message):
    assert "secret" not in refuse(re.escape(message), judge, **wrong)


# An endpoint


def test_p_from_the_first_tokens_log_probabilities(serve, judge, recorder):
    server = serve(lambda *_: chat("Yes", [("Yes", YES), (" no", NO)]))
    p = judge(server.url).p([point(), point(hyp="other"), point()], recorder.run)
    assert (p.dtype, p.tolist()) == (np.float64, pytest.approx([0.25] * 3))
    assert len(server.bodies) == 2  # the same question is asked once
    assert (recorder.notes, recorder.steps[-1]) == ([], (2, 2))
    body = server.bodies[0]
    assert [message["role"] for message in body.pop("messages")] == ["user"]
    own = {"logprobs": True, "top_logprobs": 20, "temperature": 0.0}
    assert body == {"model": "m", "max_tokens": 8, **own}
    assert server.paths == ["/v1/chat/completions"] * 2
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions", "/completions"])
def test_completions_and_any_form_of_the_url(serve, judge, ending):
    server = serve(lambda *_: completion(" No", [" No"], [NO], [{" No": NO, " Yes": YES}]))
    made = judge(server.url + ending, mode="completion")
    assert made.p([point()]) == pytest.approx([0.25])
    own = {"logprobs": 5, "prompt": made.dry_run([point()]).prompt}
    assert server.bodies == [{"model": "m", "temperature": 0.0, "max_tokens": 8, **own}]
    assert server.paths == ["/v1/completions"]


def test_without_log_probabilities_the_answer_counts(serve, judge, tmp_path, recorder):
    said = {"one": "Yes.", "two": "No", "three": "Who knows?", "four": None}
    server = serve(lambda body, _: chat(said[content(body).split()[-1]]))
    (path := tmp_path / "t.txt").write_text("{context} {sentence}")
    p = judge(server.url, template=str(path)).p([point(hyp=hyp) for hyp in said], recorder.run)
    assert p.tolist() == [0, 1, 0.5, 0.5]
    noted = "\n".join(recorder.notes)
    assert "returns no log-probabilities" in noted
    assert "p is 0.5 for 2 of 4 answers, because the model said neither yes nor no" in noted


def test_samples_are_shares_of_no_and_settings_may_come_as_texts(serve, judge):
    server = serve(lambda body, _: chat(["no", "yes", "no", "no", "hm"][body["seed"] - 4]))
    made = judge(server.url, samples="5", seed="4", concurrency="2")
    assert made.p([point()]) == pytest.approx([0.75])
    assert {body["temperature"] for body in server.bodies} == {0.7}
    assert not any("logprobs" in body for body in server.bodies)


def test_the_better_supported_side_counts(serve, judge):
    def answer(body, _):
        near = "Context: near" in content(body)
        return chat("x", [("Yes", math.log(0.9 if near else 0.1)), ("No", math.log(0.1))])

    server = serve(answer)
    either = point(task=Task.PG, src="far", tgt="near", ref=Reference.EITHER)
    assert judge(server.url).p([either]) == pytest.approx([0.1])
    assert len(server.bodies) == 2
    assert judge(server.url, reference="src").p([either]) == pytest.approx([0.5])


def test_any_hypothesis_can_be_asked_about(server, judge, folder):
    hypotheses = ["", "\ud800", "\x00", "文字 \u202e", "{context}", "<|user|></s>", "x" * 9000]
    asked = [point(hyp=hyp) for hyp in hypotheses]
    assert judge(server.url, concurrency=1).p(asked).tolist() == [1] * len(hypotheses)
    for hyp, body in zip(hypotheses, server.bodies):
        assert f"Sentence: {hyp}\n".replace("\ud800", "?") in content(body)
    p = Judge(model=folder).p(asked)
    assert ((p >= 0) & (p <= 1)).all()


def test_a_long_context_is_cut_and_reported(server, judge, recorder):
    long = point(tgt="y" * 50_000, hyp="z" * 300)
    judge(server.url, context_chars=1000).p([long, point()], recorder.run)
    asked = max(map(content, server.bodies), key=len)
    assert (asked.count("z" * 300), re.findall("yy+", asked)) == (1, ["y" * 1000])
    assert "1 context had to be truncated to 1000 characters (context_chars)" in recorder.notes


# The official baseline


def test_the_official_labels_and_p_of_recorded_answers(serve, judge, recorder):
    """Expected are those of the organisers' notebook, to the last digit, with its seed.
    The rows are answers of our own; the labels of those that are neither yes nor no are random.
    """
    file = ROOT / "tests" / "detectors" / "official_answers.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    told = [completion(row["text"], [row["token"], "x"], [row["logprob"], -1.0]) for row in rows]
    server = serve(lambda body, _: told[number(body)])
    made = judge(server.url, scoring="official", seed=442)
    p, labels = made.decide(points(len(rows)), recorder.run)
    assert p.tolist() == [row["p(Hallucination)"] for row in rows]
    assert labels.tolist() == [row["label"] == Label.HALLUCINATION.value for row in rows]
    assert recorder.notes == [
        "p is 0.5 for 12 of 21 answers, because the model said neither yes nor no"
    ]
    assert made.p(points(len(rows))).tolist() == p.tolist()
    lacking = serve(lambda *_: {"choices": [{"text": "yes"}]})
    lacking = judge(lacking.url, scoring="official")
    refuse("needs the log-probability of the first token", lacking.p, [point()])


def test_the_official_label_is_that_of_the_best_reference(serve, judge):
    server = serve(lambda body, _: completion("no" if "Bad" in str(body) else "yes"))
    several = Datapoint("H", "S", "Bad.", Task.DM, other_tgts=("Good.", "Bad too."))
    asked = [replace(several, other_tgts=()), several]
    p, flagged = judge(server.url, scoring="official").decide(asked)
    assert p == pytest.approx([np.exp(-0.1), 1 - np.exp(-0.1)])
    assert flagged.tolist() == [True, False]


@pytest.mark.parametrize("mode", ["completion", "chat"])
def test_the_official_request(serve, judge, mode):
    answers = {"completion": completion("no", logprobs=[-0.5]), "chat": chat("No", [("No", -0.5)])}
    server = serve(lambda *_: answers[mode])
    asked = point(hyp="H", src="S", tgt="T", task=Task.DM, ref=Reference.SRC)
    template = {"completion": None, "chat": "official-chat"}[mode]
    p = judge(server.url, scoring="official", mode=mode, template=template).p([asked])
    assert p.tolist() == [math.exp(-0.5)]
    question = "Is the Sentence supported by the Context above? Answer using ONLY yes or no:"
    prompt = f"Context: T\nSentence: H\n{question}"
    own = {"prompt": f"<s>[INST] {prompt} [/INST]", "logprobs": 1, "repeat_penalty": 1.1}
    if mode == "chat":  # without the marks of Mistral
        messages = [{"role": "user", "content": prompt}]
        own = {"messages": messages, "logprobs": True, "top_logprobs": 1}
    assert server.bodies == [{"model": "m", "temperature": 0.0, "max_tokens": 16, **own}]


@pytest.mark.parametrize(
    ("task", "more", "contexts"),
    [
        (Task.MT, {"multilingual": True}, ("S", "T")),
        (Task.PG, {"scoring": "official"}, ("S",)),
        (Task.TS, {"scoring": "official"}, ("T",)),
        (Task.PG, {"scoring": "official", "reference": "tgt"}, ("T",)),
    ],
)
def test_the_premises_are_the_contexts_of_the_prompts(task, more, contexts):
    made = Judge(model="m", **more)
    datapoint = point(src="S", tgt="T", task=task, ref=Reference.EITHER)
    assert made.premises(datapoint) == contexts
    prompts, _ = made.prompts([datapoint])
    assert all(f"Context: {one}\n" in text for text, one in zip(prompts, contexts, strict=True))


def test_the_identity_of_the_weights(judge):
    made = (judge(), judge(revision="v2"), Judge(model="a", revision="v2"))
    assert [one.identity for one in made] == ["m", "m@v2", "a@v2"]


# Temporary failures and refusals


@pytest.mark.parametrize(
    "failure",
    [
        (429, {"Retry-After": "7"}, {"error": {"message": "slow down"}}),
        (429, {"Retry-After": "Mon, 01 Jan 99999 00:00:00 GMT"}, b""),
        (500, {}, {"error": "loading"}),
        (502, {}, b"<html>"),
        ConnectionAbortedError(),
    ],
    ids=str,
)
def test_a_temporary_failure_is_retried(serve, judge, waits, failure):
    def answer(_, number):
        if number < 2 and isinstance(failure, Exception):
            raise failure
        return failure if number < 2 else chat("no")

    server = serve(answer)
    assert judge(server.url).p([point()]).tolist() == [1]
    assert (len(waits), len(server.bodies)) == (2, 3)
    assert "'7'" not in str(failure) or waits == [7, 7]


def test_retries_end_in_a_sentence_after_bounded_waits(serve, judge, waits):
    server = serve(lambda *_: (503, {}, {"error": {"message": "Loading\nmodel \x1b[31m"}}))
    made = judge(server.url, retries=9)
    refuse(r"HTTP 503: Loading model \\u001b\[31m; the answers", made.p, [point()])
    assert waits[:2] == [pytest.approx(0.5, rel=0.3), pytest.approx(1, rel=0.3)]
    assert (len(waits), max(waits) <= 8, len(server.bodies)) == (9, True, 10)
    waits.clear()
    server = serve(lambda *_: (429, {"Retry-After": "86400"}, {"error": {"message": "quota"}}))
    refuse("HTTP 429: quota;", judge(server.url).p, [point()])
    assert sum(waits) < 60


def test_a_server_that_does_not_answer_is_reported(serve, judge):
    silence = threading.Event()
    made = judge(serve(lambda *_: silence.wait(30) and chat()).url, timeout=0.05, retries=1)
    refuse("no answer within 0.05 seconds; check", made.p, [point()])
    silence.set()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: it refuses
        made = judge(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        message = "/v1/chat/completions: cannot be reached.*check that the server is running"
        refuse(message, made.p, points(20))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((400, {}, {"error": {"message": "context too long"}}), "HTTP 400: context too long"),
        ((401, {}, {"error": {"message": "no"}}), "environment variable OPENAI_API_KEY"),
        ((403, {}, {"detail": "forbidden"}), "HTTP 403: forbidden; set the environment variable"),
        ((404, {}, {"message": "no model m"}), "HTTP 404: no model m; check the name of the model"),
        ((413, {}, b"too large"), "HTTP 413: too large"),
        ((418, {}, {"error": {"code": 3}}), 'HTTP 418: {"code": 3}'),
        ((418, {}, b""), "HTTP 418: I'm a Teapot"),
        ((422, {}, b"\xff" * 1000), "…"),
        ((200, {}, b"{not json"), "invalid response (Expecting property name"),
        ((200, {}, b"[" * 100_000), "invalid response"),
        ((400, {"Content-Type": "a/b; charset=base64"}, b"no"), "invalid response"),
    ],
)
def test_a_refusal_is_reported_and_not_retried(serve, judge, answer, message):
    server = serve(lambda *_: answer)
    refuse(re.escape(message), judge(server.url, concurrency=1).p, points(3))
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("refused", "notes"),
    [
        ({"top_logprobs": 5}, ["more than 5 log-probabilities"]),
        ({"logprobs": None}, ["more than 5", "accept log-probabilities", "returns no log-"]),
        ({"max_tokens": None}, ["max_tokens"]),
        ({"temperature": None}, ["temperature"]),
    ],
)
def test_fields_that_a_server_refuses_are_left_out(serve, judge, refused, notes, recorder):
    def answer(body, _):
        for key, most in refused.items():
            if key in body and (most is None or body[key] > most):
                name = "max_completion_tokens" if key == "max_tokens" else key
                return 400, {}, {"error": {"message": f"use {name} otherwise"}}
        return chat("No", [("No", YES), ("Yes", NO)] if "logprobs" in body else None)

    server = serve(answer)
    made = judge(server.url)
    p = made.p(points(20), recorder.run)
    assert p == pytest.approx([1 if "logprobs" in refused else 0.75] * 20)
    assert [next(n for n in notes if n in note) for note in recorder.notes] == notes
    before = len(server.bodies)
    made.p([point()])
    assert len(server.bodies) == before + 1  # it is known now
    if "max_tokens" in refused:
        assert server.bodies[-1]["max_completion_tokens"] == 8


def test_requests_keep_to_a_rate(serve, judge, monkeypatch):
    made = judge(serve(lambda *_: chat("no")).url, per_minute=120)
    waits = []
    monkeypatch.setattr("shroom.inference.language_model.endpoint.monotonic", lambda: 5.0)
    monkeypatch.setattr(made._model.endpoint.stopped, "wait", waits.append)
    made.p(points(3))
    assert sorted(waits) == [0, 0.5, 1]


# The key


@pytest.mark.parametrize("key", ["token", "max", "p", "sk-x"])
@pytest.mark.parametrize("field", ["max_tokens", "temperature", "repeat_penalty"])
def test_a_key_that_is_a_word_of_a_message(serve, judge, monkeypatch, key, field, recorder):
    monkeypatch.setenv("OPENAI_API_KEY", key)

    def answer(body, _):
        message = f"Unsupported parameter: '{field}' is not supported with this model."
        return (400, {}, {"error": {"message": message}}) if field in body else answered

    official = field == "repeat_penalty"
    answered = completion("no", logprobs=[0.0]) if official else chat("no")
    server = serve(answer)
    more = {"scoring": "official"} if official else {}
    assert judge(server.url, **more).p([point()], recorder.run).tolist() == [1]
    assert len(server.bodies) == 2
    assert field not in server.bodies[1]
    assert f"does not accept {field}, so requests no longer include {field}" in recorder.notes[0]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, {}, {"error": "bad sk-secret!"}), "bad ***!; set the environment variable"),
        ((200, {}, b"x" * 190 + b" Bearer sk-secret"), "invalid response"),
        ((400, {}, {"error": "x" * 293 + " sk-secret"}), "HTTP 400: xxx"),  # cut afterwards
    ],
)
def test_the_key_is_sent_and_never_shown(serve, judge, monkeypatch, tmp_path, answer, message):
    monkeypatch.setenv("MY_KEY", " sk-secret\n")
    server = serve(lambda _, number: answer if number else chat("no"))
    made = judge(server.url, api_key_env="MY_KEY")
    made.p([point()])
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "sk-" not in refuse(re.escape(message), made.p, [point(hyp="other")])
    assert not any(b"sk-secret" in path.read_bytes() for path in tmp_path.rglob("*.sqlite*"))


def test_a_key_is_neither_shown_if_invalid_nor_redirected(serve, judge, monkeypatch):
    thief = serve(lambda *_: chat("no"))
    server = serve(lambda *_: (307, {"Location": f"{thief.url}/chat/completions"}, b""))
    for key, message, n in (
        ("sk-very\nsecret", "OPENAI_API_KEY contains characters that are not", 0),
        ("sk-secret", "HTTP 307", 1),
    ):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        assert "secret" not in refuse(message, judge(server.url).p, [point()])
        assert (len(server.bodies), thief.bodies) == (n, [])


# Concurrency, cache and budget


def test_concurrent_replies_belong_to_their_questions(serve, judge):
    together = threading.Barrier(4)

    def answer(body, _):
        together.wait(30)  # no request is answered before four have arrived
        mass = (number(body) + 1) / 20
        return chat("x", [("No", math.log(mass)), ("Yes", math.log(1 - mass))])

    p = judge(serve(answer).url, concurrency=4).p(points(16))
    np.testing.assert_allclose(p, (np.arange(16) + 1) / 20)


def test_the_cache_distinguishes_all_that_an_answer_depends_on(serve, judge):
    server = serve(lambda *_: completion("no", ["no"], [-0.1]))
    p = judge(server.url).p([point()])
    others = {"model": "n", "revision": "v2", "temperature": 0.1, "max_tokens": 9, "samples": 1}
    others |= {"mode": "completion", "scoring": "official"}
    for number, other in enumerate((*others.items(), ("template", "official-chat")), start=2):
        judge(server.url, **dict([other])).p([point()])
        assert len(server.bodies) == number, other
    for same in ({"concurrency": 1}, {"threshold": 0.1}, {"retries": 0}):
        assert judge(server.url, **same).p([point()]).tolist() == p.tolist()
    assert len(server.bodies) == 9


def interrupted(made, n, after):
    """Have a judge asked about ``n`` points, and interrupt it after some answers."""

    def report(done, _):
        if done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.p(points(n), Run(report=report))


def test_an_interrupted_run_is_resumed(server, judge, recorder):
    interrupted(judge(server.url, concurrency=2), 10, after=3)
    before = len(server.bodies)
    assert 3 <= before <= 5
    assert judge(server.url, concurrency=2).p(points(10), recorder.run).tolist() == [1] * 10
    assert len(server.bodies) == 10  # none twice: what was under way was kept as well
    assert recorder.steps[0] == (before + 1, 10)


def test_an_interrupted_run_does_not_go_on_retrying(serve, judge, monkeypatch):
    retried = threading.Event()

    def answer(_, number):
        return (500, {}, b"") if number == 0 else retried.wait(30) and chat("no")

    server = serve(answer)
    made = judge(server.url, concurrency=2)

    def sleep(seconds):
        retried.set()  # the other request ends, its report interrupts, and then this one goes on
        made._model.endpoint.stopped.wait(30)

    monkeypatch.setattr(time, "sleep", sleep)
    interrupted(made, 2, after=0)
    assert len(server.bodies) == 2
    assert judge(server.url).p(points(2)).tolist() == [1, 1]
    assert len(server.bodies) == 3


def test_a_damaged_answer_is_requested_again(server, judge, tmp_path):
    judge(server.url).p(points(3))
    with sqlite3.connect(tmp_path / "cache" / "answers.sqlite") as database:
        key, value = database.execute("SELECT key, found FROM entries").fetchone()
        value = bytes([value[0] ^ 1]) + value[1:]
        database.execute("UPDATE entries SET found = ? WHERE key = ?", (value, key))
    assert judge(server.url).p(points(3)).tolist() == [1] * 3
    assert len(server.bodies) == 4


def test_without_a_cache_nothing_is_kept(server, judge, tmp_path, recorder):
    for _ in range(2):
        judge(server.url, cache=False).p([point()])
    assert len(server.bodies) == 2
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")  # cannot be a cache
    judge(server.url, cache=str(tmp_path / "file")).p([point()], recorder.run)
    assert "answers.sqlite cannot be used" in recorder.notes[0]


def test_max_cost_stops_in_time_and_a_higher_one_goes_on(serve, judge):
    server = serve(lambda *_: chat("no", usage={"prompt_tokens": 100, "completion_tokens": 1}))
    prices = {"price_in": 1000.0, "price_out": 0.0}  # a request costs 0.1
    made = judge(server.url, max_cost=0.55, **prices)
    told = refuse("to continue, run again", made.p, points(20))
    asked = len(server.bodies)
    assert 1 <= asked <= 5
    assert made.budget.spent == pytest.approx(0.1 * asked)
    assert f"might exceed max_cost 0.55; this run has cost about {0.1 * asked:.4g};" in told
    made = judge(server.url, max_cost=10, **prices)
    made.p(points(20))
    assert len(server.bodies) == 20
    assert made.budget.spent == pytest.approx(0.1 * (20 - asked))


def test_the_usage_or_else_the_estimate_counts(serve, judge):
    usage = {"prompt_tokens": 10_000, "completion_tokens": 1}
    server = serve(lambda *_: chat("no", usage=usage))
    made = judge(server.url, price_in=100, price_out=0, max_cost=3.5, concurrency=1)
    refuse("max_cost", made.p, points(50))
    assert len(server.bodies) == 3  # at 1 each; estimated at some hundredths
    assert made.budget.spent <= 3.5
    server = serve(lambda *_: chat("no"))
    made = judge(server.url, price_in=4_000_000, price_out=0, max_cost=1e9)
    made.p([point()])
    estimated = math.ceil(len(made.dry_run([point()]).prompt) / 4)
    assert made.budget.spent == pytest.approx(4 * estimated)


def test_a_dry_run_asks_nothing(server, judge):
    made = judge(server.url, price_in=2, price_out=8, max_tokens=10)
    judge(server.url, max_tokens=10).p(points(1))
    estimate = made.dry_run([*points(3), points(3)[1]])
    assert (estimate.requests, estimate.cached, estimate.tokens_out) == (2, 1, 20)
    assert estimate.tokens_in == pytest.approx(2 * len(estimate.prompt) / 4, abs=2)
    assert estimate.cost == pytest.approx((2 * estimate.tokens_in + 8 * 20) / 1e6)
    assert estimate.prompt.endswith("yes or no:")
    assert "2 requests (1 more answer from the cache)" in str(estimate)
    assert (made.dry_run([]).requests, judge(server.url).dry_run(points(3)).cost) == (0, None)
    local = Judge(model="an/unknown-model")  # is not loaded before it is needed
    assert (local.dry_run(points(3)).requests, local.dry_run(points(3)).cost) == (3, 0)
    assert (local.p([]).shape, len(server.bodies)) == ((0,), 1)


# Few-shot examples


def labelled(task="DM"):
    return [{**row, "task": task, "hyp": f"{task} {row['hyp']}"} for row in gold()]


def test_examples_are_of_the_task_balanced_and_never_the_datapoint_itself(tmp_path):
    file = write_json(tmp_path / "val.json", [*labelled(), *labelled(task="PG")])

    def drawn(shots=4, seed=0, hyp="new", task=Task.DM):
        made = Judge(model="any", shots=shots, seed=seed, examples=str(file))
        return made.shots_of(point(hyp=hyp, task=task))

    found = drawn()
    assert {example.task for example in found} == {Task.DM}
    assert Counter(example.label for example in found) == dict.fromkeys(Label, 2)
    assert len({example.hyp for example in found}) == 4
    assert found == drawn(hyp="another")
    assert [e.label for e in drawn(shots=2)] == [e.label for e in found[:2]]
    assert len({tuple(example.hyp for example in drawn(seed=seed)) for seed in range(9)}) > 4
    hyp = labelled()[4]["hyp"]
    found = drawn(shots=11, hyp=f" {hyp} ")
    assert (len(found), hyp in [example.hyp for example in found]) == (11, False)
    assert len(drawn(shots=50)) == 12  # fewer than requested
    assert drawn(task=Task.TS) == []


def test_examples_stand_in_the_prompt(server, judge, tmp_path, recorder):
    file = write_json(tmp_path / "val.json", labelled())
    made = judge(server.url, shots=4, examples=str(file))
    made.p([point(), point(task=Task.TS)], recorder.run)
    (asked,) = (text for text in map(content, server.bodies) if "Context: target" in text)
    assert asked.count("Answer: yes\n\n") == asked.count("Answer: no\n\n") == 2
    assert asked.index("Answer: yes") < asked.index("Sentence: a cat")
    other = judge(server.url, shots=4, examples=str(file), seed=1)
    assert other.dry_run([point()]).prompt != asked


def test_missing_examples_are_reported(judge, tmp_path):
    unlabelled = write_json(tmp_path / "test.json", [{"hyp": "a", "src": "b", "task": "MT"}])
    for file, message in ((unlabelled, "no labelled datapoints"), ("none.json", "No such file")):
        refuse(message, judge(shots=2, examples=str(file)).p, [point()])


# A model on this machine


def by_hand(folder, prompt, *, marks):
    """Return the log-probabilities of the first token, one prompt at a time."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(prompt, add_special_tokens=marks, return_tensors="pt")
    with torch.no_grad():
        logits = AutoModelForCausalLM.from_pretrained(folder).eval()(**ids).logits[0, -1]
    return tokenizer, logits.log_softmax(-1).numpy()


@pytest.mark.parametrize("batch_tokens", [1, 100_000])
@pytest.mark.parametrize("in_chat", [True, False])
def test_a_local_model_by_hand(folder, plain, batch_tokens, in_chat):
    name = folder if in_chat else plain
    made = Judge(model=name, template="official-chat")
    datapoints = [point(hyp="he " * i) for i in range(4)]
    p = made.p(datapoints, Run(batch_tokens=batch_tokens))
    for datapoint, value in zip(datapoints, p):
        asked = made.dry_run([datapoint]).prompt
        text = f"<|user|>\n{asked}</s>\n<|assistant|>\n" if in_chat else asked
        tokenizer, logprobs = by_hand(name, text, marks=not in_chat)
        yes, no = (tokenizer.encode(word, add_special_tokens=False)[0] for word in ("yes", "no"))
        expected = 1 / (1 + math.exp(logprobs[yes] - logprobs[no]))
        assert value == pytest.approx(expected, abs=1e-4)
    assert len(set(p.tolist())) == 4


@pytest.mark.parametrize(
    "template", [None, "{{ raise_exception('no\nway') }}", "{% if %}", "{{ 1 / 0 }}"]
)
def test_a_chat_template_that_fails_is_reported(plain, tmp_path, template):
    message = "the chat template fails"
    broken = shutil.copytree(plain, tmp_path / "broken")
    if template:
        message = r"the chat template fails \(.+\); use mode = "
        (broken / "chat_template.jinja").write_text(template, encoding="utf-8")
    refuse(message, Judge(model=str(broken), mode="chat").p, [point()])


#: What opens an answer, what the model says, and p.
LOCAL = [
    *(("", "No.", 1), ("", "Answer: No", 1), ("", "1. yes", 0), ("", "Non.", 1)),
    *(("", "<think>yes</think>No", 1), ("", "<think>yes, or", None), ("[THINK]", "yes, or", None)),
    *(("<think>\n", "yes</think>No", 1), ("<think>\n", "No</think>Answer: yes", 0)),
    ("<think>\n", "yes", None),
]


@pytest.mark.parametrize(("opened", "said", "p"), LOCAL)
def test_a_local_model_is_read_as_a_server_is(tmp_path, opened, said, p, recorder):
    name = tiny_models.saying(tmp_path / "model", said, opened)
    found = Judge(model=str(name), max_tokens=20).p([point()], recorder.run)
    assert found == pytest.approx([0.5 if p is None else p], abs=1e-3)
    assert len(recorder.notes) == (p is None)
    assert p is not None or "increase max_tokens" in recorder.notes[0]


def test_all_tokens_that_mean_yes_count(plain, tmp_path):
    folder = shutil.copytree(plain, tmp_path / "words")
    # Rows of the vocabulary that the model has, under names that mean something.
    file = folder / "tokenizer.json"
    stored = json.loads(file.read_text())
    vocabulary = {i: token for token, i in stored["model"]["vocab"].items()}
    vocabulary |= {300: "Yes", 301: "Ġyes", 302: "NO"}
    stored["model"] |= {"vocab": {token: i for i, token in vocabulary.items()}, "merges": []}
    file.write_text(json.dumps(stored))
    made = Judge(model=folder, template="official-chat")
    (p,) = made.p([point()])
    _, logprobs = by_hand(folder, made.dry_run([point()]).prompt, marks=True)
    mass = np.exp(logprobs[[300, 301, 302]].astype(float))
    assert p == pytest.approx(mass[2] / mass.sum(), abs=1e-4)


def test_the_official_baseline_with_a_local_model(plain, recorder):
    made = Judge(model=plain, scoring="official")
    p, labels = made.decide(points(3), recorder.run)
    assert (p.tolist(), labels.dtype) == ([0.5] * 3, bool)  # random weights say neither
    assert any("neither yes nor no" in note for note in recorder.notes)
    assert made.dry_run(points(1)).prompt.startswith("<s>[INST] Context: target 0\n")


def test_a_long_prompt_keeps_its_end(folder, recorder):
    long = point(tgt="the cat sat on the mat. " * 2500, hyp="he did not want to go there")
    made = Judge(model=folder, context_chars=60_000)
    p = made.p([long], recorder.run)
    assert p == made.p([replace(long, tgt=f"a dog. {long.tgt}")])
    note = "1 prompt had to be truncated at the start, because the model reads at most 512"
    assert note in "\n".join(recorder.notes)


# The recipes


def test_the_recipe_of_the_official_baseline():
    recipe = tomllib.loads((ROOT / "baselines" / "official-mistral-7b.toml").read_text())
    assert (recipe.pop("detector"), recipe.pop("data")) == ("judge", ["val", "test"])
    made = Judge(**recipe)
    assert (made.labels_itself, made.seed) == (True, 442)
    found = (recipe["endpoint"], recipe["model"])
    assert found == ("http://localhost:8080/v1", "mistral-7b-instruct-v0.2.Q6_K")


def test_the_documentation_names_every_setting():
    page = (ROOT / "docs" / "judge.md").read_text(encoding="utf-8")
    for setting in settings_of(Judge):
        assert f"`{setting}" in page, setting
