"""SHROOM-Visions 2026: labelled spans on made-up files against a loop over the characters."""

import numpy as np
import pytest
from conftest import write_lines
from sklearn import metrics as sklearn
from span_oracles import loop_cor, loop_cor_lbl, loop_iou

from shroom.core.problems import InvalidInput
from shroom.scoring.check import check
from shroom.scoring.editions.files import built_in
from shroom.scoring.scores import score

LABELS = built_in("visions2026").annotation.labels


def span(start, end, prob=1.0, label="OCR"):
    return {"start": start, "end": end, "prob": prob, "label": label}


def made_up(n=40, seed=0):
    """Return gold, with spans that overlap, and predictions."""
    generator = np.random.default_rng(seed)
    gold, said = [], []
    for i in range(n):
        length = int(generator.integers(8, 60))
        sides = []
        for count in generator.integers(0, 4, 2):
            side = []
            for _ in range(count):
                start, end = sorted(generator.integers(0, length + 1, 2).tolist())
                prob, label = generator.integers(1, 7) / 6, LABELS[generator.integers(0, 5)]
                side += [span(start, end, float(prob), label)] if start < end else []
            sides.append(side)
        votes = {f"a{k}": "a word" if generator.random() < 0.5 else "|" for k in range(3)}
        row_id = f"val-en-{i}"
        gold.append(
            {"id": row_id, "response": "x" * length, "labels": sides[0], "raw_annots": votes}
        )
        said.append({"id": row_id, "labels": sides[1]})
    return gold, said


def loop(gold, said):
    """Return the scores by the definitions, a row, a label and a character at a time."""
    by_id = {row["id"]: row["labels"] for row in said}
    values = {"cor": [], "cor_lbl": [], "iou": []}
    marked, positive = [], []
    for row in gold:
        a, b = ([tuple(s.values()) for s in side] for side in (by_id[row["id"]], row["labels"]))
        values["cor"].append(loop_cor(a, b, len(row["response"])))
        values["cor_lbl"].append(loop_cor_lbl(a, b, len(row["response"])))
        values["iou"].append(loop_iou(a, b))
        marked.append(bool(a))
        votes = row["raw_annots"].values()
        positive.append(sum(text != "|" for text in votes) / len(votes) > 0.5)
    return {
        **{name: np.mean(value) for name, value in values.items()},
        "detection_accuracy": sklearn.accuracy_score(positive, marked),
        "detection_precision": sklearn.precision_score(positive, marked, zero_division=0),
        "detection_recall": sklearn.recall_score(positive, marked, zero_division=0),
        "detection_f1": sklearn.f1_score(positive, marked, zero_division=0),
    }


@pytest.fixture
def files(tmp_path):
    def make(gold, said):
        return write_lines(tmp_path / "s" / "en-val.jsonl", said), write_lines(
            tmp_path / "en-val.jsonl", gold
        )

    return make


def test_scores_are_those_of_a_loop_over_characters(files):
    gold, said = made_up()
    (result,) = score(*files(gold, said[::-1]), edition="visions2026").results
    assert (result.track, result.split, result.n) == ("en", "val", 40)
    assert result.scores == pytest.approx(loop(gold, said), abs=1e-12)


def test_floors_mark_everything_with_the_most_frequent_label_or_nothing(files):
    gold, said = made_up()
    (result,) = score(*files(gold, said), edition="visions2026").results
    labels = [s["label"] for row in gold for s in row["labels"]]
    often = max(LABELS, key=labels.count)
    for name, spans in (
        ("mark everything", lambda row: [span(0, len(row["response"]), 1.0, often)]),
        ("mark nothing", lambda _: []),
    ):
        constant = [{"id": row["id"], "labels": spans(row)} for row in gold]
        (expected,) = score(*files(gold, constant), edition="visions2026").results
        assert result.floors[name] == expected.scores
    assert result.floors["mark nothing"]["detection_precision"] is None


def test_gold_as_predictions_does_not_reach_1_where_its_spans_overlap(files):
    gold, _ = made_up()
    said = [{"id": row["id"], "labels": row["labels"]} for row in gold]
    (result,) = score(*files(gold, said), edition="visions2026").results
    assert result.scores["iou"] == 1.0
    assert result.scores["cor"] < 1.0


@pytest.mark.parametrize(("end", "said"), [(9, " (9 UTF-16 units)"), (10, "")])
def test_a_span_past_the_end_that_utf_16_would_hold_is_told(files, end, said):
    gold = [{**GOLD[1], "response": "😀😀 cats"}]
    spans = [{"id": GOLD[1]["id"], "labels": [span(5, end)]}]
    (problem,) = check(*files(gold, spans), edition="visions2026").problems
    assert (problem.code, problem.expected) == (
        "span-value",
        f"a span within the 7 characters of the text{said}",
    )


GOLD = [
    {"id": "val-en-0", "response": "Two dogs.", "labels": [span(0, 3)], "raw_annots": {"a": "Two"}},
    {"id": "val-en-1", "response": "A cat.", "labels": [], "raw_annots": {"a": "|"}},
]


@pytest.mark.parametrize(
    ("labels", "code", "key"),
    [
        ([span(0, 3, label="ocr")], "word-value", "labels[0].label"),
        ([span(0, 3), span(0, 3, label=None)], "word-value", "labels[1].label"),
        ([{"start": 0, "end": 3, "prob": 1}], "span-value", "labels[0]"),
        ([span(0, 7)], "span-value", "labels[0]"),  # the text has six characters
        ([span(3, 3)], "span-value", "labels[0]"),  # its label would count all the same
        ([span(0, 3, 0.0)], "p-range", "labels[0].prob"),  # as would this one's
        ([span(0, 3, 1e-9)], "p-range", "labels[0].prob"),
        ([span(0, 3, 1.5)], "p-range", "labels[0].prob"),
        ([span(0, 3, "1")], "p-number", "labels[0].prob"),
        ([span(0, 3, float("nan"))], "p-finite", "labels[0].prob"),
        ("0-3", "span-value", "labels"),
        (None, "span-value", "labels"),
    ],
    ids=str,
)
def test_errors_of_predictions_have_code_and_place(files, labels, code, key):
    said = [{"id": "val-en-0", "labels": []}, {"id": "val-en-1", "labels": labels}]
    checked = check(*files(GOLD, said), edition="visions2026")
    assert [(p.code, p.index, p.key) for p in checked.problems] == [(code, 1, key)]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([{"id": "val-en-0"}, {"id": "val-en-1", "labels": []}], "key-missing"),
        ([{"id": "val-en-0", "labels": []}], "1 missing: val-en-1"),
    ],
)
def test_a_row_without_labels_or_left_out_is_refused(files, said, message):
    with pytest.raises(InvalidInput, match=message):
        score(*files(GOLD, said), edition="visions2026")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"labels": [span(0, 3, label="x")]}, "word-value"),
        ({"raw_annots": {}}, "span-value"),
        ({"raw_annots": "absent"}, "key-missing"),
        ({"labels": "absent"}, "key-missing"),
        ({"id": "val-en-0"}, "id-doubled"),
    ],
)
def test_gold_that_cannot_be_gold(files, change, code):
    row = {key: value for key, value in {**GOLD[1], **change}.items() if value != "absent"}
    said = [{"id": row["id"], "labels": []} for row in GOLD]
    with pytest.raises(InvalidInput, match=code):
        score(*files([GOLD[0], row], said), edition="visions2026")


def test_without_annotators_what_is_marked_is_positive(files):
    gold = [{key: row[key] for key in ("id", "response", "labels")} for row in GOLD]
    said = [{"id": row["id"], "labels": row["labels"]} for row in GOLD]
    (result,) = score(*files(gold, said), edition="visions2026").results
    assert result.scores["detection_f1"] == 1.0


def test_the_text_of_a_labelled_span_is_compared_with_its_offsets(files):
    text = "\U0001f600\U0001f600 a red cat"
    votes = {"a0": "red", "a1": "|"}
    gold = [{"id": "val-en-1", "response": text, "labels": [span(5, 8)], "raw_annots": votes}]
    for start, codes in ((5, set()), (7, {"span-utf16"})):
        said = [{"id": "val-en-1", "labels": [{**span(start, start + 3), "text": "red"}]}]
        problems = check(*files(gold, said), edition="visions2026").problems
        assert problems.codes == codes
        assert all("not in UTF-16 units" in problem.sentence for problem in problems)
