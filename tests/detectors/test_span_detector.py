"""Detectors that mark spans: the choice of hard labels, the shipped model, and the two verbs."""

import itertools
import json
import unicodedata

import numpy as np
import pytest
from conftest import DATA, SAMPLE, write_lines
from hypothesis import given
from hypothesis import strategies as st

import shroom as kit
from shroom.core.datapoint import pair
from shroom.core.problems import ShroomError
from shroom.detectors.registry import Recipe, detector
from shroom.detectors.span_detector import SpanDetector, likeliest
from shroom.detectors.spans import FEATURES, Spans, features
from shroom.inference.run_settings import RUN, Run
from shroom.prediction.ray_data import Worker
from shroom.scoring.editions.files import built_in
from shroom.scoring.kinds.span_values import SoftSpan

REAL = DATA / "mushroom2025"
NAMES = ("Ann", "Bo", "Cy", "Dee", "Ed", "Flo")


def marked(text, part, prob=1.0, **more):
    start = text.index(part)
    return {"start": start, "end": start + len(part), "prob": prob, **more}


def rows(n, split="val", **more):
    """Return answers in which the year is marked by everyone, and the name by half."""
    made = []
    for i in range(n):
        name, year = NAMES[i % len(NAMES)], str(1700 + 7 * i)
        text = f"The ship {i} was built by {name} in {year}."
        soft = [marked(text, name, 0.5), marked(text, year)]
        row = {"id": f"{split}-en-{i}", "lang": "EN", "model_id": "made up", "soft_labels": soft}
        row |= {"model_input": f"Who built the ship {i}?", "model_output_text": text}
        made.append({**row, "hard_labels": [[soft[1]["start"], soft[1]["end"]]], **more})
    return made


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data").mkdir()
    return write_lines(tmp_path / "data" / "mushroom.en-val.v1.jsonl", rows(24))


def marker(spans):
    """Return a detector of a user, which marks the same whatever it reads."""

    class Mine(SpanDetector):
        name = "mine"
        label = "other"

        def mark(self, datapoints, run=RUN):
            del datapoints, run
            return spans

    return Mine()


# --- hard labels


@st.composite
def soft_spans(draw):
    steps = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), max_size=7))
    place, spans = 0, []
    for gap, size in steps:
        p = draw(st.sampled_from([0.0, 0.05, 0.3, 0.3000001, 0.5, 0.9, 1.0]))
        spans.append(SoftSpan(place + gap, place + gap + size, p))
        place += gap + size
    return spans


def expected_iou(chosen, spans):
    total, inside = (sum((s.end - s.start) * s.prob for s in some) for some in (spans, chosen))
    return inside / (sum(s.end - s.start for s in chosen) + total - inside)


@given(soft_spans())
def test_no_other_set_of_spans_has_a_greater_expected_iou(spans):
    chosen = likeliest(spans)
    assert chosen == [s for s in spans if s in chosen]
    if not any(s.prob for s in spans):
        assert chosen == []
        return
    subsets = (c for n in range(1, len(spans) + 1) for c in itertools.combinations(spans, n))
    best = max(expected_iou(c, spans) for c in subsets if any(s.prob for s in c))
    assert expected_iou(chosen, spans) == pytest.approx(best)


# --- the shipped model, on any text

HOSTILE = [
    *("", "?!", " \t\n ", "one", "1823", "\U0001f469\u200d\U0001f680 \U0001f1eb\U0001f1ee"),
    *("e\u0301\u0300\u0301 \u0301", "\ufeff(a) ((b] c)", "猫だ。犬1匹", "word 7, " * 500),
]


@given(st.text() | st.sampled_from(HOSTILE), st.text())
def test_spans_are_in_the_text_and_do_not_overlap(answer, question):
    columns = Spans().columns([pair(question, answer)])
    soft = [(span["start"], span["end"]) for span in columns["soft_labels"][0]]
    for spans in (soft, columns["hard_labels"][0]):
        assert all(0 <= start < end <= len(answer) for start, end in spans)
        assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    assert all(0 <= s["prob"] <= 1 for s in columns["soft_labels"][0])
    assert bool(columns["hard_labels"][0]) == bool(answer.strip())
    assert 0 <= Spans().p([pair(question, answer)])[0] <= 1


def test_features_are_what_they_say():
    text = "Lee sailed north (Oslo). In 1823 Lee sails"
    bounds, values = features("When did Lee sail?", text)
    words = [text[start:end] for start, end in bounds]
    expected = {
        "in question": ["Lee", "sailed", "Lee", "sails"],
        "capital": ["Oslo", "Lee"],
        "digit": ["1823"],
        "sign": ["(", ")."],
        "repeated": ["Lee"],
        "next sign": ["north", "Oslo"],
        "previous in question": ["sailed", "north", "sails"],
        "after a sentence": ["In", "1823", "Lee", "sails"],
    }
    for name, having in expected.items():
        column = values[:, FEATURES.index(name)]
        assert [word for word, value in zip(words, column) if value] == having
    assert values.shape == (len(words), len(FEATURES))
    forms = [unicodedata.normalize(form, "Ren\u00e9 sailed in 1823") for form in ("NFC", "NFD")]
    assert len({len(features("", text)[0]) for text in forms}) == 1


# --- predict, fit and score


def test_fit_predict_check_and_score(data, tmp_path, done, in_json):
    model, out = tmp_path / "model.json", tmp_path / "out"
    header, _, line = done("fit", "spans", data, "-o", model, "--folds", 4).splitlines()
    assert header.split() == ["out", "of", "fold", "n", "iou", "rho", "flag", "everything"]
    iou, rho, floor = map(float, line.split()[-3:])
    assert (iou > 2 * floor > 0, rho > 0.6) == (True, True)

    test = write_lines(tmp_path / "mushroom.en-tst.v1.jsonl", rows(30, "tst")[24:])
    done("predict", test, "--model", model, "-o", out)
    (line, *_) = (out / "en-tst.jsonl").read_text().splitlines()
    assert list(json.loads(line)) == ["id", "soft_labels", "hard_labels"]
    done("check", out, "--gold", test)
    (result,) = in_json("score", out, test)["results"]
    record = json.loads((out / "run.json").read_text())
    assert result["iou"] == record["scores"][0]["iou"] > 0.4
    assert (record["detector"], record["in_sample"]) == ("spans", {})


@pytest.mark.parametrize("form", ["p.jsonl", "p.json", "p.zip", "folder"])
def test_from_python_and_in_parts(form, data, tmp_path, done):
    predictions = kit.predict("spans", data, edition="mushroom2025")
    expected = predictions.rows["en-val.jsonl"]
    assert (predictions.n, expected[0]["id"]) == (24, "val-en-0")
    assert kit.score(predictions, data, edition="mushroom2025").results[0].scores["iou"] > 0
    predictions.write(tmp_path / "out")
    worker = Worker(Recipe.of("spans"), RUN, built_in("mushroom2025"))
    outcome = worker({"name": "en-val.jsonl", "path": str(data)})["outcome"]
    assert [json.loads(line) for line in outcome.content.splitlines()] == expected
    assert outcome.content == (tmp_path / "out" / "en-val.jsonl").read_bytes()
    done("predict", "spans", data, "-o", tmp_path / form, "--resume")
    done("score", tmp_path / form, data)


def test_an_edition_with_keys_of_its_own(tmp_path, done):
    (tmp_path / "edition.toml").write_text(
        'name = "ours"\ntitle = "Ours"\nyear = 2027\n'
        '[files]\npredictions = "{split}.jsonl"\n'
        '[item]\nid = "string"\n[item.keys]\nid = "nr"\nhyp = "answer"\nsrc = "question"\n'
        '[annotation]\nkind = "spans"\n'
    )
    names = {"id": "nr", "model_input": "question", "model_output_text": "answer"}
    kept = (*names, "hard_labels")
    renamed = [{names.get(key, key): row[key] for key in kept} for row in rows(12)]
    data = write_lines(tmp_path / "val.jsonl", renamed)
    model, out = tmp_path / "m.json", tmp_path / "out"
    done("fit", "spans", data, "-o", model, "--folds", 3)
    done("predict", data, "--model", model, "-o", out)
    assert json.loads((out / "val.jsonl").read_text().splitlines()[0])["nr"] == "val-en-0"
    done("score", out, data)


# --- spans with labels


def visions(tmp_path, n, split="val"):
    """Return a file of answers about images, in which the number is marked."""
    made = []
    for i in range(n):
        text = f"The man on the left holds {i + 2} green balloons. It is raining."
        span = marked(text, str(i + 2), label="miscounting")
        both = marked(text, f"{i + 2} green", 0.25, label="other")
        made.append({"id": f"{split}-{i}", "response": text, "labels": [span, both]})
    return write_lines(tmp_path / f"en-{split}.jsonl", made)


def test_labelled_spans_from_fit_to_score(tmp_path, done, in_json):
    data, model, out = visions(tmp_path, 20), tmp_path / "model.json", tmp_path / "out"
    own = ("--edition", "visions2026")
    done("fit", "spans", data, *own, "-o", model, "--folds", 4)
    test = visions(tmp_path, 30, "test")
    done("predict", test, *own, "--model", model, "--set", "label=miscounting", "-o", out)
    row = json.loads((out / "en-test.jsonl").read_text().splitlines()[-1])
    assert list(row) == ["id", "labels"]
    (span,) = row["labels"]
    assert (span["start"], span["end"], span["label"]) == (26, 28, "miscounting")
    done("check", out, "--gold", test, *own)
    (result,) = in_json("score", out, test, *own)["results"]
    assert (result["cor"] > 0.4, result["cor_lbl"] > 0.2) == (True, True)


def test_the_annotators_of_several_labels_are_added(tmp_path):
    text = "red cars"
    labels = [marked(text, "red", 0.4, label="OCR"), marked(text, "d c", 0.4, label="other")]
    rows = [{"id": "a", "response": text, "labels": labels}]
    (point,) = kit.read(write_lines(tmp_path / "en-val.jsonl", rows), edition="visions2026")
    assert point.spans == ((0, 2, 0.4), (2, 3, 0.8), (3, 5, 0.4))
    assert point.p == 1 / 8


def test_answers_without_an_input_or_annotation_are_marked(tmp_path, done):
    rows = [{"id": "a", "response": "Two red cars."}, {"id": "b", "response": ""}]
    data, out = write_lines(tmp_path / "en-test.jsonl", rows), tmp_path / "out.jsonl"
    done("predict", data, "--edition", "visions2026", "--set", "label=other", "-o", out)
    first, second = map(json.loads, out.read_text().splitlines())
    assert first["labels"]
    assert second == {"id": "b", "labels": []}


def test_a_label_that_is_missing_or_unknown_is_refused(tmp_path, refused):
    out = tmp_path / "out.jsonl"
    given = ("predict", visions(tmp_path, 3), "--edition", "visions2026", "-o", out)
    assert "other for each span, got none" in refused(*given)
    told = refused(*given, "--set", "label=cats")
    assert "one of the labels mischaracterization, OCR, miscounting" in told
    assert not out.exists()


def test_labels_of_a_detector_of_ones_own():
    mine = marker([[(0, 3, 0.9, "miscounting"), (4, 7, 0.8)]])
    visions = built_in("visions2026").annotation
    columns = mine.columns([pair("", "Two red cars.")], annotation=visions)
    labels = [tuple(span.values()) for span in columns["labels"][0]]
    assert labels == [(0, 3, 0.9, "miscounting"), (4, 7, 0.8, "other")]


# --- what is refused


def test_a_detector_of_another_annotation_is_refused(data, tmp_path, refused):
    binary, out = SAMPLE / "val.model-aware.json", ("-o", tmp_path / "m.json")
    for verb in ("predict", "fit"):
        told = refused(verb, "lexical", data, *out)
        assert 'the lexical detector predicts "binary" annotations, but' in told
        told = refused(verb, "spans", binary, *out)
        assert '"binary" annotations; use the cross-encoder detector' in told
    with pytest.raises(ShroomError, match='semeval2024 has "binary" annotations'):
        kit.predict("spans", binary)
    told = refused("predict", data, "--edition", "cap2025", *out)
    assert 'cap2025 has "aspects" annotations' in told
    assert not (tmp_path / "m.json").exists()


def test_unlabelled_or_malformed_data_are_not_fitted_on(tmp_path, refused):
    none = {"soft_labels": None, "hard_labels": None}
    for more, sentence in ((none, "have no spans"), ({"soft_labels": 3}, "soft_labels")):
        data = write_lines(tmp_path / "mushroom.en-val.v1.jsonl", rows(5, **more))
        assert sentence in refused("fit", "spans", data, "-o", tmp_path / "m.json")


def test_a_model_of_other_features_is_refused(tmp_path):
    content = json.loads(Spans.shipped.read_text())
    content["weights"].pop("digit")
    for stored, sentence in (
        (content, "not a model of the detector spans"),
        ([], "not a model of the detector spans"),
    ):
        (tmp_path / "m.json").write_text(json.dumps(stored))
        with pytest.raises(ShroomError, match=sentence):
            Spans(tmp_path / "m.json").p([pair("Who?", "Ann.")])


@pytest.mark.parametrize(
    ("spans", "sentence"),
    [
        ([[]], "for each of 2 datapoints, got 1 lists"),
        ([[], [(0, 9, 0.5)]], "with an end of at most 4"),
        ([[(2, 3, 0.5), (0, 1, 0.5)], []], "in order and without overlap"),
        ([[(0, 1, float("nan"))], []], "and 0 <= p <= 1"),
        ([[(0, 1)], []], r"or \(start, end, p, label\)"),
        ([[(0, 1, "0.5")], []], "and 0 <= p <= 1, got"),
        ([[{"start": 0}], []], r"or \(start, end, p, label\)"),
        (None, "for each of 2 datapoints, got 0 lists"),
    ],
)
def test_what_a_detector_of_a_user_does_wrong(spans, sentence):
    points = [pair("Who?", "Ann."), pair("Who?", "Bob.")]
    with pytest.raises(ShroomError, match=sentence):
        marker(spans).columns(points, Run())


# --- real data


@pytest.mark.real
@pytest.mark.parametrize(
    ("language", "iou", "rho"),
    [("de", 0.467, 0.510), ("fi", 0.637, 0.620), ("fr", 0.609, 0.576), ("hi", 0.559, 0.654)],
)
def test_the_shipped_model_on_the_test_files(language, iou, rho):
    data = REAL / f"mushroom.{language}-tst.v1.extra.jsonl"
    predictions = kit.predict("spans", data, edition="mushroom2025")
    assert not any(predictions.in_sample.values())
    scores = kit.score(predictions, data, edition="mushroom2025").results[0].scores
    np.testing.assert_allclose((scores["iou"], scores["rho"]), (iou, rho), atol=6e-4)


@pytest.mark.real
def test_the_shipped_model_was_fitted_on_validation_alone():
    fitted = detector("spans")
    for path in sorted(REAL.glob("*.jsonl")):
        seen = fitted.in_sample(kit.read(path, edition="mushroom2025"))
        assert set(seen.tolist()) == {"-val." in path.name}, path.name
