"""The judge as a scorer: its requests, the verdicts in replies, and errors."""

import json
import math
from functools import partial
from pathlib import Path

import pytest
from chat_server import chat
from generated import prompt_of, results_of
from hypothesis import given
from hypothesis import strategies as st

from shroom.annotate.base import score
from shroom.annotate.judge import Judge
from shroom.core.datapoint import Datapoint, Task
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Generation, Question
from shroom.detectors.judge.detector import Judge as Detector
from shroom.detectors.judge.verdicts import share_at, side_of, step_of_verdict, verdict_of
from shroom.inference.language_model.model import reply_of
from shroom.inference.language_model.served import HOPELESS
from shroom.inference.run_settings import Run
from shroom.inference.store import kept

p_right = partial(share_at, side=side_of)


def question(*texts, asked="Who made it?", answer="Ada", refusals=()):
    said = [Generation(text, "normal") for text in texts]
    said += [Generation(text, "uncertainty") for text in refusals]
    return Question(asked, answer, None, tuple(said))


def questions(n, each=5):
    return [
        question(*(f"generation {i * each + g} <" for g in range(each)), asked=f"Question {i}?")
        for i in range(n)
    ]


def verdict(right=True, reason="It is so."):
    return json.dumps({"reason": reason, "answer": "right" if right else "wrong"})


def number_of(body):
    """Return the number of the generation that a request is about."""
    return int(prompt_of(body).split("Student's answer: generation ")[1].split(" ")[0])


@pytest.fixture
def judge(asking):
    return partial(asking, Judge)


# The verdict in a reply


@pytest.mark.parametrize(
    ("text", "word", "right"),
    [
        (verdict(), "right", True),
        (verdict(right=False), "wrong", False),
        ('{"reason": "年份不符", "answer": "错误"}', "错误", False),
        ('{"answer": "正确。与答案一致"}', "正确。与答案一致", True),
        ('Here:\n```json\n{"answer": "wrong"}\n```', "wrong", False),
        ('{"reason": "line\nend", "answer": "right"}', "right", True),
        ('{"reason": "he said "no", so", "answer": "right"}', "right", True),
        ("{'reason': 'it is', 'answer': 'wrong'}", "wrong", False),
        ("{“reason”：“是”，“answer”：“错误”}", "错误", False),
        ('{"answer": "right"} or {"answer": "wrong"}', "wrong", False),
        ('<think>{"answer": "right"}</think>{"answer": "wrong"}', "wrong", False),
        ("yes", "yes", True),
        ("No, it is not.", "No", False),
        # neither
        ("", None, None),
        ('{"answer": "部分正确"}', None, None),
        ('{"answer": ["right"]}', None, None),
        ("正确答案是一九九八年", None, None),
        ("Right answers are not given.", None, None),
        ('{"reason": "It says that the right', None, None),
        ("{" * 5000, None, None),
    ],
)
def test_what_a_reply_says(text, word, right):
    found = verdict_of(reply_of(chat(text)).text)
    assert (found and found.word, found and found.right) == (word, right)


@given(st.text())
def test_any_text_can_be_read(text):
    assert verdict_of(text) is None or verdict_of(text).word


def response(tokens, top):
    """Return a chat whose token at ``top``'s place has these alternatives."""
    content = [
        {
            "token": token,
            "logprob": -0.1,
            "top_logprobs": [{"token": t, "logprob": math.log(p)} for t, p in top.get(place, [])],
        }
        for place, token in enumerate(tokens)
    ]
    message = {"content": "".join(tokens)}
    return {"choices": [{"message": message, "logprobs": {"content": content}}]}


@pytest.mark.parametrize(
    ("tokens", "place", "top", "p"),
    [
        (["yes"], 0, [("yes", 0.6), ("no", 0.2)], 0.75),
        ([" Yes", "."], 0, [(" Yes", 0.6), ("No", 0.1), (" no", 0.1)], 0.75),
        (['{"', "answer", '":', ' "', "right", '"}'], 4, [("right", 0.3), ("wrong", 0.1)], 0.75),
        (['{"answer": "', "wr", "ong", '"}'], 1, [("wr", 0.3), ("r", 0.1)], 0.25),
        (['{"reason":"正确","answer":"', "错误", '"}'], 1, [("错误", 0.6), ("正确", 0.2)], 0.25),
        (['{"answer":"', "不", "正确", '"}'], 1, [("不", 0.75), ("正", 0.25)], 0.25),
        (["<think>", "yes", "</think>", "no"], 3, [("no", 0.75), ("yes", 0.25)], 0.25),
        (["yes"], 0, [("yes", 0.0001), ("no", 0.0001)], None),
        (["Maybe"], 0, [("Maybe", 0.9)], None),
    ],
)
def test_p_is_that_of_the_token_of_the_verdict(tokens, place, top, p):
    found = p_right(step_of_verdict(reply_of(response(tokens, {place: top}))))
    assert found == (p if p is None else pytest.approx(p, abs=1e-12))


# Requests


@pytest.mark.parametrize("template", ["reason", "word"])
@pytest.mark.parametrize(
    ("asked", "word"), [("谁？", "正确答案"), ("誰が作った？", "Right answer"), ("", "Right")]
)
def test_the_kits_templates_ask_in_the_questions_language(serve, judge, template, asked, word):
    server = serve(lambda *_: chat("yes"))
    results_of(judge(server.url, template=template), question("{answer} Bob", asked=asked))
    (text,) = map(prompt_of, server.bodies)
    assert all(part in text for part in (asked, "Ada", "{answer} Bob", word))
    assert ('{"reason": ' in text) == (template == "reason")


def test_ones_own_templates(tmp_path, serve, judge):
    file = tmp_path / "mine.txt"
    file.write_text("{question}|{answer}|{generation}\n")
    folder = tmp_path / "both"
    folder.mkdir()
    (folder / "en.txt").write_text("EN {question} {answer} {generation}")
    (folder / "zh.txt").write_text("ZH {question} {answer} {generation}")
    server = serve(lambda *_: chat("yes"))
    results_of(judge(server.url, template=str(file)), question("g"))
    results_of(judge(server.url, template=str(folder)), question("g"), question("g", asked="谁"))
    assert sorted(map(prompt_of, server.bodies)) == [
        "EN Who made it? Ada g",
        "Who made it?|Ada|g",
        "ZH 谁 Ada g",
    ]


def test_the_fields_of_a_verdict(serve, judge):
    top = [('{"answer": "', -0.1)]

    def answer(body, _):
        if "true one" in prompt_of(body):
            return response(
                ['{"reason": "So.", "answer": "', "right", '"}'],
                {1: [("right", 0.6), ("wrong", 0.2)]},
            )
        return chat('{"answer": "wrong"}', top)

    asked = question("true one", "false one", refusals=["I do not know."])
    found = results_of(judge(serve(answer).url), asked)
    assert found[0, 0] == {
        "gpt_judgement": "right",
        "gpt_judgement_score": 1,
        "gpt_judgement_p_right": pytest.approx(0.75),
        "gpt_judgement_reason": "So.",
    }
    assert found[0, 1] == {"gpt_judgement": "wrong", "gpt_judgement_score": 0}
    assert set(found) == {(0, 0), (0, 1)}  # a refusal claims nothing
    assert set(found[0, 0]) == set(Judge.fields)


def test_the_request(serve, judge):
    server = serve(lambda *_: chat("yes"))
    results_of(judge(server.url), question("g"))
    results_of(judge(server.url, template="word", top_logprobs=0), question("g"))
    results_of(judge(server.url, mode="completion"), question("g"))
    one, two, three = server.bodies
    assert (one["model"], one["temperature"], one["max_tokens"]) == ("m", 0, 512)
    assert (one["logprobs"], one["top_logprobs"], two["max_tokens"]) == (True, 5, 8)
    assert "logprobs" not in two
    assert three["logprobs"] == 5
    assert server.paths[2].endswith("/v1/completions")


# Each request once


def test_what_is_the_same_is_asked_once(serve, judge):
    server = serve(lambda *_: chat(verdict()))
    asked = [question("a", "a", "b"), question("b", "a"), question("a", asked="Another?")]
    found = results_of(judge(server.url), *asked)
    assert len(found) == 6
    assert len(server.bodies) == 3
    assert results_of(judge(server.url), *asked) == found
    assert len(server.bodies) == 3


# Errors


def test_every_generation_ends_scored_or_failed(serve, judge, tmp_path):
    """What is retried, and for how long, is tested with the detector."""
    always = {
        5: (500, {}, b"broken"),
        6: (400, {}, {"error": {"message": "blocked by the content filter"}}),
        8: chat("I would rather not say."),
        9: {"choices": [{"message": {"content": None, "refusal": "I can't judge that."}}]},
        10: chat('{"reason": "he said "no" twice", "answer": "wrong"}'),
        12: {"choices": []},
    }
    server = serve(lambda body, _: always.get(number_of(body), chat(verdict())))

    def scored(*, resume):
        with kept(tmp_path / "log", print, resume=resume) as store:
            store.unfinished = True
            server.bodies.clear()
            result = score(questions(4), [judge(server.url, retries=0)], store)
        return result, {each.question * 5 + each.generation: each.reason for each in result.failed}

    result, reasons = scored(resume=False)
    said = {
        5: "HTTP 500: broken",
        6: "HTTP 400: blocked by the content filter",
        8: 'the reply says neither "right" nor "wrong": "I would rather not say."',
        9: 'the reply says neither "right" nor "wrong": "I can\'t judge that."',
        12: "contains no answer: ",
    }
    assert set(reasons) == set(said)
    assert all(part in reasons[number] for number, part in said.items())
    found = [g.extra.get("gpt_judgement_score") for q in result.questions for g in q.generation]
    assert found == [None if n in said else int(n != 10) for n in range(20)]
    # Another run asks about what was not answered, and about nothing that was.
    always[5] = always[6] = chat(verdict())
    assert set(scored(resume=True)[1]) == set(said) - {5, 6}
    assert sorted(map(number_of, server.bodies)) == [5, 6, 12]


def test_a_run_without_hope_is_given_up(serve, judge):
    assert 2 * Judge(model="m").concurrency < HOPELESS
    server = serve(lambda *_: (404, {}, b"no"))
    found = results_of(judge(server.url, concurrency=4), *questions(14))
    assert all(isinstance(scores, ShroomError) for scores in found.values())
    given_up = [s for s in found.values() if "not sent, because 50 requests in a row" in str(s)]
    assert 70 - len(server.bodies) == len(given_up) > 0
    assert 50 <= len(server.bodies) <= 54


# Costs


def test_a_dry_run_asks_and_touches_nothing(serve, judge, tmp_path):
    server = serve(lambda *_: chat(verdict()))
    priced = judge(server.url, price_in=1, price_out=2)
    asked = [question("a", "a", "b", refusals=["?"]), question("c")]
    work = [priced.item(each, g) for each in asked for g in priced.places(each)]
    said = priced.cost(work)
    assert said.startswith("3 requests (0 more answers from the cache), about ")
    assert "1536 output tokens, an estimated cost of up to 0.00" in said
    assert "\n" not in said
    assert not (tmp_path / "cache").exists()
    results_of(priced, question("c"))
    assert priced.cost(work).startswith("2 requests (1 more answer from the cache)")
    assert "unknown cost (set price_in" in judge(server.url).cost(work)
    assert judge(server.url).cost([]).startswith("0 requests")
    assert len(server.bodies) == 1


# A model on this machine


def test_a_local_model_gives_the_p_of_the_detector(tiny, monkeypatch, tmp_path):
    folder = tiny("causal_model")
    monkeypatch.setattr("shroom.annotate.base.SLICE", 2)
    template, support = tmp_path / "template.txt", tmp_path / "support.txt"
    template.write_text("{question}\n{answer}\n{generation}")
    support.write_text("Who made it?\n{context}\n{sentence}")
    texts = ["the cat", "a dog of the old town", "the cat"]
    asked = [question(*texts), question("x", asked="谁？")]
    made, steps = Judge(model=folder, template=str(template)), []
    found = results_of(made, *asked, run=Run(report=lambda *step: steps.append(step)))
    assert steps[-1] == (3, 3)
    points = [Datapoint(hyp=text, src="", tgt="Ada", task=Task.DM) for text in texts]
    p = 1 - Detector(model=folder, template=str(support)).p(points)
    scores = [found[0, g] for g in range(3)]
    assert [each["gpt_judgement_p_right"] for each in scores] == pytest.approx(p, abs=1e-5)
    assert [each["gpt_judgement_score"] for each in scores] == (p > 0.5).tolist()
    assert [each["gpt_judgement"] == "yes" for each in scores] == (p > 0.5).tolist()
    assert "3 prompts to a model on this machine" in made.cost(
        [made.item(asked[place], g) for place, g in found]
    )
    assert Path(folder).name in made.identity
