"""Explaining: which words drive p, and how that is shown."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from conftest import SAMPLE, gold, write_json
from html_outline import assert_good
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.datapoint import Datapoint, Task
from shroom.core.problems import ShroomError
from shroom.core.registry import Entry
from shroom.detectors.base import Detector
from shroom.detectors.explain import Explanation, explain
from shroom.detectors.out_of_fold import TrainingItems
from shroom.detectors.registry import REGISTRY, detector
from shroom.inference.run_settings import RUN
from shroom.report.explanation import ShownExplanation, as_text
from shroom.scoring.datapoint_files import read

HOSTILE = (
    "<script>alert(1)</script> \"a\" & 'b' \x1b[31mred\x00 \u202eover\u202c 猫だ \ud800 "
    "👩\u200d👧\n\ttab \u2028end --> ]]> &lt; \x85 style=x onerror=y"
)
STEERING = {"\x00", "\x1b", "\u202e", "\u2028", "\x85", "\ud800"}
TEXTS = st.text(min_size=1, max_size=40).filter(str.strip)


class Counting(Detector):
    """p grows with each word of a list, and remembers what it was asked."""

    name = "counting"

    def __init__(self, words=("bad", "worse")):
        self.bad, self.asked = words, []

    def p(self, datapoints, run=RUN):
        self.asked.append([point.hyp for point in datapoints])
        counts = [sum(point.hyp.count(word) for word in self.bad) for point in datapoints]
        run.report(len(datapoints), len(datapoints))
        return np.array([count / (1 + count) for count in counts], np.float64)


def point(hyp, **more):
    return Datapoint(**{"hyp": hyp, "src": "a source", "tgt": "", "task": Task.PG, **more})


class Answering(Counting):
    """Says what it says, whatever p."""

    labels_itself = True

    def premises(self, _):
        return ("what was asked", "and more")

    def p(self, *_):
        raise AssertionError("it is asked once, for both")

    def decide(self, datapoints, run=RUN):
        p = super().p(datapoints, run)
        return p, p <= 0.5


def told(explanation, threshold=0.5):
    about = {"file": "val.json", "id": 7, "index": 3}
    found = replace(explanation, premises=("a source",))
    return ShownExplanation(found, "counting", "val.json, id 7", threshold, about)


# the weights


def test_the_word_that_drives_p_has_the_weight():
    found = explain(Counting(), point("a bad cat, so bad"))
    assert found.words == ("a", "bad", "cat", ",", "so", "bad")
    assert found.p == pytest.approx(2 / 3)
    without = 2 / 3 - 1 / 2
    assert found.weights == pytest.approx((0, without, 0, 0, 0, without))
    found = explain(Counting(), point("bad"))
    assert (found.words, found.weights) == (("bad",), (0.5,))


@given(TEXTS)
def test_the_pieces_are_the_hypothesis(text):
    found = explain(Counting(), point(text))
    assert "".join(piece for piece, _ in found.pieces()) == text
    weighed = [(piece, weight) for piece, weight in found.pieces() if weight is not None]
    assert weighed == list(zip(found.words, found.weights))
    assert all(piece.isspace() for piece, weight in found.pieces() if weight is None)


@pytest.mark.parametrize(
    ("hyp", "variants"),
    [
        ("one two", ["two", "one"]),
        ("bad", [""]),
        ("  one  two  ", ["  two  ", "  one"]),
        ("a\nb", ["b", "a"]),
        ("猫だ", ["だ", "猫"]),
        ("ไป", ["ป", "ไ"]),
        ("(so) it", ["so) it", "() it", "(so it", "(so)"]),
        ("a cat, so", ["cat, so", "a, so", "a cat so", "a cat,"]),
        ("it is.", ["is.", "it.", "it is"]),
    ],
)
def test_what_is_left_without_a_word(hyp, variants):
    chosen = Counting()
    explain(chosen, point(hyp))
    assert chosen.asked == [[hyp, *variants]]  # one call, the whole first


@pytest.mark.parametrize("hyp", ["", " ", "\n\t\u3000"])
def test_no_words_at_all(hyp):
    with pytest.raises(ShroomError, match="id 4: the hypothesis has no words"):
        explain(Counting(), point(hyp, id=4))


# the label, and what it is held against


@pytest.mark.parametrize(
    ("p", "threshold", "label"),
    [
        (0.5000004, 0.5, "Not Hallucination"),  # in a submission, p is 0.5
        (0.5000006, 0.5, "Hallucination"),
        (0.4999996, 0.4999999, "Hallucination"),
        (1.0, 1.0, "Not Hallucination"),
    ],
)
def test_the_label_is_what_a_submission_would_have(p, threshold, label):
    found = told(Explanation("a", ((0, 1),), (0.0,), p), threshold)
    assert found.label == json.loads(found.render("json"))["label"] == label
    assert label in found.verdict


@pytest.mark.parametrize(("hyp", "label"), [("a bad cat", "Hallucination"), ("a bad bad", "Not")])
def test_of_a_detector_that_answers_the_answer_counts(hyp, label):
    shown = told(found := explain(Answering(), point(hyp)))
    assert found.weights[1] > 0
    assert shown.label.startswith(label)
    assert shown.verdict.endswith("(by the answer, not by p)")


# how it is shown


@pytest.mark.parametrize("hyp", [HOSTILE, "bad word", "x", "worse " * 300])
def test_a_page_shows_and_never_runs_what_a_hypothesis_says(hyp):
    page = told(explain(Counting(), point(hyp))).render("html")
    outline = assert_good(page)
    assert not {"script", "img", "svg"} & {tag for tag, _ in outline.tags}
    assert not STEERING & set(page)
    assert "://" not in page
    page.encode()


def test_a_page_marks_the_words():
    shown = told(explain(Counting(), point("a bad cat")))
    assert shown.render("csv").startswith("word,weight\n")
    assert "\n## val.json" in shown.render("markdown")
    page = shown.render("html")
    assert '<span class=up style="--w:1.000" title="+0.500">bad</span>' in page
    assert '<span title=" 0.000">cat</span>' in page
    assert "p(Hallucination) 0.500: Not Hallucination (threshold 0.5)" in page


def test_the_terminal_is_coloured_and_not_steered():
    text = as_text(told(explain(Counting(), point(HOSTILE))))
    assert not STEERING & set(text.plain)
    assert text.plain.count("\n") < 60
    text = as_text(told(explain(Counting(), point("a bad cat"))))
    assert text.plain.endswith("\n 0.000  a\n+0.500  bad\n 0.000  cat")
    (span,) = [span for span in text.spans if span.style]
    assert text.plain[span.start : span.end] == "bad"
    assert str(span.style) == "black on rgb(255,120,110)"


# the command


@pytest.fixture
def explained(shroom, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return partial(shroom, "explain")


@pytest.fixture
def data(tmp_path):
    return write_json(tmp_path / "test.model-aware.json", gold(12, first_id=30))


def test_it_shows_what_the_detector_reads(explained, in_json, data, tmp_path, monkeypatch):
    monkeypatch.setitem(REGISTRY, "answering", Entry(f"{__name__}:Answering", "for tests"))
    code, out, _ = explained("answering", data, "--id", 33)
    premises = "premise: what was asked\npremise: and more\n"
    assert (code, premises in out, "by the answer" in out) == (0, True, True)
    samples = ["one thing", "another"]
    path = write_json(tmp_path / "samples.json", [{"id": 33, "samples": samples}])
    given = ("--id", 33, "--set", f"samples={path}")
    assert in_json("explain", "selfcheck", data, *given)["premises"] == samples


def test_its_label_is_that_of_predict(in_json, done, data, tmp_path, monkeypatch):
    class Near(Counting):
        def p(self, datapoints, _=RUN):
            return np.full(len(datapoints), 0.5000004)

    monkeypatch.setitem(globals(), "Near", Near)
    for name in ("Near", "Answering"):
        monkeypatch.setitem(REGISTRY, name.lower(), Entry(f"{__name__}:{name}", "for tests"))
        out = tmp_path / f"{name}.json"
        done("predict", name.lower(), data, "-o", out)
        shown = in_json("explain", name.lower(), data, "--index", 2)
        assert shown["label"] == json.loads(out.read_text())[2]["label"]


@pytest.mark.parametrize("stored", [None, 0.9], ids=["in-sample", "out-of-fold"])
def test_p_of_a_training_item_is_marked_in_every_form(explained, in_json, tmp_path, stored):
    data, model = SAMPLE / "val.model-aware.json", tmp_path / "model.json"
    points, chosen = read(data), detector("lexical")
    train = points[:30]
    own = chosen.fit(train, [point.p for point in train]).p(points)  # of no fold
    chosen.remember(TrainingItems.of(train, stored and np.full(30, stored)))
    chosen.save(model)
    for index, seen in ((3, True), (33, False)):
        assert explain(chosen, points[index]).p == pytest.approx(own[index])
        page = tmp_path / "new" / f"{index}.html"
        asked = ("lexical", data, "--index", index, "--model", model)
        _, text, _ = explained(*asked, "--html", page)
        found = in_json("explain", *asked)
        marked = " (in-sample: lexical was fitted on this datapoint): "
        assert (marked in text, marked in page.read_text()) == (seen, seen)
        assert (found["in_sample"], found["threshold"]) == (seen, chosen.threshold_)


ROWS, ONE = gold(12, first_id=30), gold(1)[0]
NO_IDS = json.loads((SAMPLE / "val.model-aware.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("rows", "arguments", "code", "message"),
    [
        (ROWS, ("--index", 12), 1, "expected one datapoint at index 12, got 0; specify"),
        (ROWS, ("--index", "q00"), 2, "is not a valid integer.\n"),
        (ROWS, (), 1, "expected one datapoint, got 12; specify one file"),
        (NO_IDS, ("--id", 3), 1, "expected one datapoint with id 3, got 0"),
        ([{**ONE, "id": 5}] * 2, ("--id", 5), 1, "expected one datapoint with id 5, got 2"),
        ([ONE], (), 0, ""),  # the only one
        ([{**ONE, "hyp": ""}], (), 1, "has no words"),
        ([{**ONE, "src": "", "tgt": " "}], (), 1, "both empty"),
        (ROWS, ("--id", 3, "-o", "x.html", "--html", "x.html"), 2, "a separate file"),
        (ROWS, ("--id", 30, "--html", "{data}"), 1, "never overwritten"),
    ],
)
def test_one_datapoint_is_selected(explained, rows, arguments, code, message, tmp_path):
    data = write_json(tmp_path / "d.json", rows)
    before = data.read_bytes()
    given = [str(argument).format(data=data) for argument in arguments]
    found, _, err = explained("lexical", data, *given)
    assert (found, message in err, list(tmp_path.iterdir())) == (code, True, [data]), err
    assert data.read_bytes() == before


def test_what_is_in_two_files_or_names_no_data(refused, data, tmp_path):
    write_json(tmp_path / "test.model-agnostic.json", ROWS)
    told = "expected one datapoint with id 33, got 2; specify one file"
    assert told in refused("explain", "lexical", tmp_path, "--id", 33)
    for arguments, told in (
        (("lexical",), "does not exist"),
        (("lexicle", data), "'lexical'?"),
    ):
        assert told in refused("explain", *arguments, code=2)
