"""The judge of numbered segments: FELM's prompts, the reading of answers, and predictions."""

import hashlib
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from chat_server import chat
from conftest import DATA, felm_row, write_lines

from shroom.core.problems import ShroomError
from shroom.datasets import felm
from shroom.datasets.felm_scores import scored
from shroom.detectors.judge.felm_methods import SEGMENTS, Response, SegmentJudge, wrong_segments
from shroom.inference.language_model.endpoint import Endpoint
from shroom.inference.run_settings import Run

#: The git blobs of the prompts in the source, by method and domain.
BLOBS = {
    ("raw", "math"): "84ab483ae7e177c479d5575fb5cf50b36e5df4c3",
    ("raw", "reasoning"): "97679102262d9effccc7ee1fe3f10189b2862233",
    ("raw", "science"): "24beab731a15ce28586a1b23e4eebde079306266",
    ("raw", "wk"): "4613a250ad48ef7a033bb9085ab29563e82db114",
    ("cot", "math"): "0bec9cd80546261acbaace029e6db6e0ce628efd",
    ("cot", "reasoning"): "402741c3f51eb7599e68f494be09fff5e72bf79e",
    ("cot", "science"): "311c0179dee8bfa37f783a5b945318605c947239",
    ("cot", "wk"): "39e4ba2b29f1cd24d631b6f61f66acd8bb3a6a2c",
    ("link", "science"): "275009ec7e0a0a029d02f1128b9f5d6728041052",
    ("link", "wk"): "a7f531160ef154ad9295c960243f8bd60600d731",
    ("content", "science"): "f2540fbc85e7c3f21cca7b72be8dcdeedded2b54",
    ("content", "wk"): "54ee346c3b2bcf25a8f45f06555f7cd3c2fa95f1",
}
MODEL = ("--model", "m", "--set", "endpoint=http://localhost:1/v1")
RESPONSE = Response("science", "Why?", ["1. One.", "(2) two", "3"], ["http://a", "b"], ["Text."])


@pytest.fixture
def judge(asking):
    return partial(asking, SegmentJudge)


@pytest.fixture
def data(tmp_path):
    """A file of FELM's form with three responses of two segments."""
    rows = [felm_row(i, [True, i != 1], domain="wk") for i in range(3)]
    return write_lines(tmp_path / "all.jsonl", rows)


@pytest.mark.parametrize("method", SEGMENTS.built_in)
def test_the_prompts_are_those_of_the_source(judge, method):
    for domain in SEGMENTS.variants:
        quoted = (SEGMENTS.built_in[method] / f"{domain}.txt").read_bytes()
        quoted = quoted.partition(b"\n\nQuestion: ")[0]
        blob = b"blob %d\0" % len(quoted) + quoted
        expected = BLOBS.get((method, domain)) or BLOBS["raw", domain]
        assert hashlib.sha1(blob).hexdigest() == expected  # noqa: S324 - git's
        asked = judge(method=method).dry_run([RESPONSE._replace(domain=domain)]).prompt
        own = {"link": "Rerefence links: http://a\nb", "content": "Rerefence doc: Text."}
        own = own.get(method) if (method, domain) in BLOBS else None
        end = "\n\nQuestion: Why?\nSegments: 1. One.\n2. two\n3. \n" + (f"\n{own}\n" if own else "")
        assert asked == quoted.decode() + end


def test_the_request_is_that_of_the_source(serve, judge):
    server = serve(lambda *_: chat("Answer: 2"))
    wrong, p = judge(server.url, method="cot").judge([RESPONSE])
    assert (wrong.tolist(), p.tolist()) == ([False, True, False], [0, 1, 0])
    (body,) = server.bodies
    assert [message["role"] for message in body.pop("messages")] == ["system", "user"]
    assert body == {"model": "m", "temperature": 0.0, "max_tokens": 100}


def test_a_completion_is_asked_and_read_as_vicuna_is(serve, judge):
    server = serve(lambda *_: {"choices": [{"text": " 1,2\nIt means"}]})
    wrong, _ = judge(server.url, mode="completion").judge([RESPONSE])
    assert wrong.tolist() == [True, True, False]
    assert server.paths == ["/v1/completions"]
    assert server.bodies[0]["prompt"].endswith("3. \n\nBelow are your outputs:\nAnswers:")


@pytest.mark.parametrize(
    ("answer", "chat", "wrong"),
    [
        ("Answer: 1,3", True, [1, 3]),
        ("Thought: in 2, 4 is wrong.\nAnswer: 1 and 3.", True, [1, 3]),
        ("Answer: none\nAnswer: 2", True, [2]),
        ("Answer: ALL_CORRECT", True, []),
        ("It is not ALL_CORRECT. Answer: 2", True, []),
        ("Answer: 9, 12", True, []),
        ("Answers: 2", True, []),
        ("Answer: 0", True, [4]),
        ("Answer: " + "9" * 5000, True, []),
        ("", True, []),
        (" 1,3\nIt means segment 1,3", False, [1, 3]),
        ("ALL_CORRECT 2", False, [2]),
        (r"ALL\_CORRECT 2", False, []),
    ],
)
def test_an_answer_is_read_as_by_the_source(answer, chat, wrong):
    assert (np.flatnonzero(wrong_segments(answer, 4, chat=chat)) + 1).tolist() == wrong


def test_the_majority_of_samples_counts_and_the_first_where_halves_disagree(serve, judge):
    answers = ["1,2", "2,3", "ALL_CORRECT", "2"]
    server = serve(lambda body, _: chat(f"Answer: {answers[body['seed']]}"))
    made = judge(server.url, method="cot-cons", samples=4)
    wrong, p = made.judge([RESPONSE._replace(segments=["a", "b", "c"])])
    assert wrong.tolist() == [False, True, False]
    assert p.tolist() == [0.25, 0.75, 0.25]
    assert {body["temperature"] for body in server.bodies} == {0.9}
    assert judge(server.url, method="cot-cons", samples=2).judge([RESPONSE])[0].tolist() == [
        *(True, True, False)
    ]


@pytest.mark.parametrize(
    ("answer", "end"),
    [("Perhaps", ""), ("<think>Answer: 2", "; increase max_tokens, because it cut off 1 answer")],
)
def test_answers_that_cannot_be_read_are_noted(answer, end, serve, judge, notes):
    server = serve(lambda body, _: chat(answer if "Why" in str(body) else "Answer: ALL_CORRECT"))
    responses = [RESPONSE, RESPONSE._replace(question="How?", domain="no such")]
    wrong, _ = judge(server.url).judge(responses, Run(note=notes.append))
    assert not wrong.any()
    (note,) = notes
    assert note.startswith("1 of 2 answers counts as ALL_CORRECT")
    assert (note.endswith(end), "max_tokens" in note) == (True, bool(end))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"endpoint": None}, "use a model at an endpoint"),
        ({"method": "cod"}, "method: expected one of raw, cot, "),
        ({"samples": 3, "temperature": 0}, "identical"),
        ({"template": "nowhere"}, "No such file"),
    ],
)
def test_a_wrong_setting_is_reported(judge, settings, message):
    with pytest.raises(ShroomError, match=message):
        judge(**settings)


def test_predict_writes_predictions_that_score_reads(
    serve, shroom, in_json, data, tmp_path, monkeypatch
):
    monkeypatch.setenv("SHROOM_CACHE", str(tmp_path / "cache"))
    server = serve(
        lambda body, _: chat("Answer: 2" if "Question 1" in str(body) else "ALL_CORRECT")
    )
    line = ("predict", "judge", data, "--model", "m", "--set", f"endpoint={server.url}")
    code, out, err = shroom(*line, "--dry-run")
    assert code == 0
    assert out.startswith("3 requests (0 more answers from the cache), about ")
    assert server.bodies == []
    predicted = tmp_path / "predictions.jsonl"
    for _ in range(2):  # the second run has all answers
        code, _, err = shroom(*line, "-o", predicted)
        assert (code, len(server.bodies)) == (0, 3)
    assert err.startswith("0 requests (3 more answers from the cache)")
    rows = [json.loads(row) for row in predicted.read_text().splitlines()]
    assert rows[1] == {"index": "1", "labels": [True, False]}
    assert in_json("score", predicted, data, "--no-ci")["results"][0]["segment_f1"] == 1
    assert shroom(*line, "--set", "samples=2", "-o", predicted)[0] == 0
    assert json.loads(predicted.read_text().splitlines()[1])["p"] == [0, 1]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([*MODEL], 2, "missing option '-o'"),
        ([*MODEL, "-o", "{data}"], 1, "is an input"),
        ([*MODEL, "-o", "p.csv"], 1, "the name must end in .jsonl"),
        (["-o", "p.jsonl"], 1, "use a model at an endpoint"),
        ([*MODEL, "-o", "p.jsonl", "--set", "sample=3"], 1, "no setting 'sample'; did you mean"),
    ],
)
def test_what_is_wrong_is_reported_before_it_asks(shroom, data, options, code, message):
    found, _, err = shroom("predict", "judge", data, *(t.format(data=data) for t in options))
    assert found == code
    assert message in err


@pytest.mark.parametrize(
    ("cache", "message", "asked_again"),
    [
        ("true", "the answers so far are stored; to continue, run the same command again", 2),
        ("false", "", 3),
    ],
)
def test_an_interrupted_prediction_goes_on(
    serve, shroom, data, tmp_path, monkeypatch, cache, message, asked_again
):
    monkeypatch.setenv("SHROOM_CACHE", str(tmp_path / "cache"))
    server = serve(lambda *_: chat("ALL_CORRECT"))
    line = ("predict", "judge", data, "--model", "m", "--set", f"endpoint={server.url}")
    line += ("--set", f"cache={cache}", "--set", "concurrency=1", "--set", "retries=0")
    line += ("-o", tmp_path / "p.jsonl")
    ask = Endpoint.ask

    def interrupted(self, body):
        if server.bodies:
            raise KeyboardInterrupt
        return ask(self, body)

    with monkeypatch.context() as broken:
        broken.setattr(Endpoint, "ask", interrupted)
        code, _, err = shroom(*line)
    assert (code, len(server.bodies)) == (130, 1)
    assert message in err
    assert ("are stored" in err) == bool(message)
    assert shroom(*line)[0] == 0
    assert len(server.bodies) == 1 + asked_again


@pytest.mark.parametrize("detector", ["lexical", "cross-encoder"])
def test_another_detector_names_the_way_out(refused, data, detector, tmp_path):
    err = refused("predict", detector, data, "-o", tmp_path / "p.json")
    assert "to judge its segments, run 'shroom predict judge FILE'" in err
    assert "run 'shroom datasets convert felm'" in err


#: The figures that a run of the source's program on Vicuna-7B recorded, last (TN, TP, FN, FP) with
#: the factual segments as positives. 12 responses of 847 have no answer.
RECORDED = json.loads(Path(__file__).with_name("felm_vicuna_7b_raw.json").read_text("utf-8"))


@pytest.mark.real
@pytest.mark.parametrize("domain", RECORDED)
def test_a_recorded_runs_answers_give_its_recorded_figures(domain):
    """The file has the numbers and marks of the answers in eval/res/vicuna_7B_raw.csv.
    They are from https://github.com/khushipatni/Replicate-FELM, commit 9a0e8a5, MIT License.
    """
    records = {r.index: r for r in felm.read(DATA / "felm" / "all.jsonl").records}
    table = Path(__file__).with_name("felm_vicuna_7b_raw.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in table.splitlines()]
    rows = [(records[i], text) for i, text in rows if domain in ("ALL", records[i].domain)]
    flags = [wrong_segments(text, len(record.labels), chat=False) for record, text in rows]
    wrong = np.array([not label for record, _ in rows for label in record.labels])
    response = np.repeat(np.arange(len(rows)), list(map(len, flags)))
    found = np.concatenate(flags)
    figures = {m.name: m(s) for m, s in scored(found, wrong, response, len(rows))}
    *expected, (_, counts) = RECORDED[domain].items()
    assert {name: figures[name] for name, _ in expected} == pytest.approx(dict(expected), rel=1e-15)
    cells = (found & wrong, ~found & ~wrong, found & ~wrong, ~found & wrong)
    assert [int(each.sum()) for each in cells] == counts
