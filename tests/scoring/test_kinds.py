"""SHROOM-CAP 2025 and SHROOM-Visions 2026: aspects and labelled spans, against plain programs."""

import json
import shutil

import numpy as np
import pytest
import yaml
from conftest import DATA, ROOT, write_lines
from sklearn import metrics as sklearn
from span_oracles import loop_cor, loop_cor_lbl, loop_iou

from shroom.core.problems import InvalidInput
from shroom.scoring.check import check
from shroom.scoring.editions.files import built_in
from shroom.scoring.scores import score
from shroom.scoring.slices import unit_of

FACTUAL, FLUENCY = "has_factual_mistakes", "has_fluency_mistakes"
GOLD = ["yn", "yy", "nn", "yn", "ny", "yn"]
ANSWERS = ["yn", "ny", "nn", "yy", "ny", "nn"]
LABELS = built_in("visions2026").annotation.labels
NAMES = {
    "cap2025": ("en_valid.jsonl", "en_valid_label.jsonl"),
    "mushroom2025": ("val-en.jsonl", "val-en.jsonl"),
    "visions2026": ("en-val.jsonl", "en-val.jsonl"),
}


def rows(answers):
    return [
        {"index": f"en-val-{i}", FACTUAL: answer[0], FLUENCY: answer[1]}
        for i, answer in enumerate(answers)
    ]


def without(row, key):
    return {name: value for name, value in row.items() if name != key}


def span(start, end, prob=1.0, label="OCR"):
    return {"start": start, "end": end, "prob": prob, "label": label}


MARKED = [
    {"id": "val-en-0", "response": "Two dogs.", "labels": [span(0, 3)], "raw_annots": {"a": "Two"}},
    {"id": "val-en-1", "response": "A cat.", "labels": [], "raw_annots": {"a": "|"}},
]
PREDICTED = [{"id": row["id"], "labels": row["labels"]} for row in MARKED]
VALID = {"cap2025": (rows(ANSWERS), rows(GOLD)), "visions2026": (PREDICTED, MARKED)}
SPANS = [{"id": f"val-en-{n}", "hard_labels": [[4, 7]]} for n in range(2)]
TEXT = {"model_output_text": "The cat sat on the mat.", "soft_labels": []}  # 23 characters
VALID["mushroom2025"] = SPANS, [row | TEXT for row in SPANS]


def made_up(n=40, seed=0):
    generator = np.random.default_rng(seed)
    gold, predicted = [], []
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
        texts = {"response": "x" * length, "labels": sides[0], "raw_annots": votes}
        gold.append({"id": f"val-en-{i}", **texts})
        predicted.append({"id": f"val-en-{i}", "labels": sides[1]})
    return gold, predicted


def loop(gold, predicted):
    """Return the scores by the definitions, a row, a label and a character at a time."""
    by_id = {row["id"]: row["labels"] for row in predicted}
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
    precise = {"precision": sklearn.precision_score, "recall": sklearn.recall_score}
    precise["f1"] = sklearn.f1_score
    return {
        **{name: np.mean(value) for name, value in values.items()},
        "detection_accuracy": sklearn.accuracy_score(positive, marked),
        **{f"detection_{it}": f(positive, marked, zero_division=0) for it, f in precise.items()},
    }


@pytest.fixture
def files(tmp_path):
    def make(edition, predicted=None, gold=None):
        names = zip(("system", "gold"), NAMES[edition], (predicted, gold), VALID[edition])
        return [
            write_lines(tmp_path / folder / name, valid if own is None else own)
            for folder, name, own, valid in names
        ]

    return make


def scored(files, edition, *sides):
    (result,) = score(*files(edition, *sides), edition=edition).results
    return result


def test_scores_of_aspects_are_scikit_learns_and_floors_those_of_the_constants(files):
    result = scored(files, "cap2025", rows(ANSWERS)[::-1])  # in whatever order
    assert (result.track, result.split, result.n) == ("en", "valid", 6)
    for place, name in enumerate(("factual", "fluency")):
        gold, own = ([answer[place] for answer in side] for side in (GOLD, ANSWERS))
        assert result.scores[f"{name}_f1"] == sklearn.f1_score(gold, own, average="macro")
        for word in "yn":
            constant = sklearn.f1_score(gold, [word] * 6, average="macro")
            assert result.floors[f"all {word}"][f"{name}_f1"] == constant
    assert result.intervals == {"factual_f1": None, "fluency_f1": None}  # of six items
    assert "edition:cap2025|track:en|n:6|" in result.signature


def test_scores_of_spans_are_those_of_a_loop_over_characters(files):
    gold, predicted = made_up()
    result = scored(files, "visions2026", predicted[::-1], gold)
    assert (result.track, result.split, result.n) == ("en", "val", 40)
    assert result.scores == pytest.approx(loop(gold, predicted), abs=1e-12)
    labels = [s["label"] for row in gold for s in row["labels"]]
    often = max(LABELS, key=labels.count)
    for name, spans in (
        ("mark everything", lambda row: [span(0, len(row["response"]), 1.0, often)]),
        ("mark nothing", lambda _: []),
    ):
        constant = [{"id": row["id"], "labels": spans(row)} for row in gold]
        assert result.floors[name] == scored(files, "visions2026", constant, gold).scores
    assert result.floors["mark nothing"]["detection_precision"] is None
    # Gold as predictions does not reach 1, because its spans overlap.
    own = [{"id": row["id"], "labels": row["labels"]} for row in gold]
    scores = scored(files, "visions2026", own, gold).scores
    assert scores["iou"] == 1.0 > scores["cor"]


def test_without_annotators_what_is_marked_is_positive(files):
    gold = [without(row, "raw_annots") for row in MARKED]
    assert scored(files, "visions2026", None, gold).scores["detection_f1"] == 1.0


def labelled(*spans):
    return {"labels": list(spans)}


WRONG = yaml.safe_load((ROOT / "tests" / "scoring" / "wrong_values.yaml").read_text("utf-8"))
#: Ids that no array can hold.
NO_IDS = [
    {"change": {"index": id_}, "code": "id-value", "key": "index"}
    for id_ in ("x" * 2_000_000, "\ud800", "\0")
]


@pytest.mark.parametrize(
    ("edition", "case"),
    [
        *((edition, case) for edition, cases in WRONG.items() for case in cases),
        *(("cap2025", case) for case in NO_IDS),
    ],
    ids=lambda value: str(value)[:50],
)
def test_errors_of_predictions_have_code_and_place(files, edition, case):
    first, second, *rest = VALID[edition][0]
    changed = {key: value for key, value in (second | case["change"]).items() if value != "absent"}
    problems = check(*files(edition, [first, changed, *rest]), edition=edition).problems
    found = [(each.index, each.key) for each in problems if each.code == case["code"]]
    assert found == [(1, case["key"])]
    odd = ("span-empty", "span-past-end", "span-overlap", "key-unknown")
    assert bool(problems.errors) == (case["code"] not in odd)
    # An id that is not there, or not usable, leaves the gold's row without a prediction.
    other = {"ids-missing"} if case["code"].startswith("id-") else set()
    assert problems.codes - {case["code"]} == other


SECOND = MARKED[1]


@pytest.mark.parametrize(
    ("edition", "predicted", "gold", "message"),
    [
        ("cap2025", rows(ANSWERS)[:-1], None, "ids-missing"),
        ("cap2025", [{"index": "en-val-0", FACTUAL: "y"}], None, "key-missing"),
        ("cap2025", [5], None, "item-object"),
        ("cap2025", [], None, "empty"),
        ("visions2026", [{"id": "val-en-0"}, PREDICTED[1]], None, "key-missing"),
        ("visions2026", PREDICTED[:1], None, "none for 1 id: val-en-1"),
        (
            "cap2025",
            None,
            [*rows(GOLD), rows(GOLD)[0]],
            "label.jsonl: item 6 .* got en-val-0 again",
        ),
        ("visions2026", None, [SECOND | labelled(span(0, 3, label="x"))], "word-value"),
        ("visions2026", None, [{**SECOND, "raw_annots": {}}], "span-value"),
        ("visions2026", None, [SECOND, SECOND], "id-doubled"),
        ("visions2026", None, [MARKED[0], without(SECOND, "raw_annots")], "key-missing"),
        ("visions2026", None, [MARKED[0], without(SECOND, "labels")], "key-missing"),
    ],
)
def test_predictions_and_gold_that_are_none_are_refused(files, edition, predicted, gold, message):
    with pytest.raises(InvalidInput, match=message):
        scored(files, edition, predicted, gold)


def test_the_same_answer_everywhere_is_reported(files):
    sides = files("cap2025", rows(["yy", "yn", "yy", "yn", "yn", "yn"]))
    (problem,) = check(*sides, edition="cap2025").problems
    assert (problem.code, problem.key) == ("label-constant", FACTUAL)
    assert '"y" in every item' in str(problem)


TO_END = "a span inside the 7 characters of the text"


@pytest.mark.parametrize(
    ("response", "spans", "told"),
    [
        # past the end, which UTF-16 would hold
        ("😀😀 cats", [span(5, 9)], f"expected {TO_END}, "),
        ("😀😀 cats", [span(5, 10)], f"expected {TO_END}, "),
        # text that says where a span is
        ("😀😀 a red cat", [{**span(5, 8), "text": "red"}], None),
        ("😀😀 a red cat", [{**span(7, 10), "text": "red"}], "got offsets in UTF-16 units"),
    ],
)
def test_offsets_in_utf_16_units_are_told(files, response, spans, told):
    gold = [{**SECOND, "response": response, "labels": [span(5, 8)] if len(response) > 7 else []}]
    sides = files("visions2026", [{"id": "val-en-1", "labels": spans}], gold)
    lines = [problem.sentence for problem in check(*sides, edition="visions2026").problems]
    assert len(lines) == (told is not None)
    assert all(told in line for line in lines)


# The real files: factual and fluency by the organisers' own record

LANGUAGES = ("en", "es", "fr", "hi", "it")
FIGURES = {
    "random": ".414069 .472059 .457778 .518954 .419244 .449735 .384921 .415067 .45338 .46712",
    "selfcheck": ".448774 .37919 .534125 .495755 .467198 .457014 .424568 .401667 .469276 .394363",
    "all y": ".443155 .183673 .429929 .322034 .460674 .378238 .475983 .189189 .285714 .120879",
}


def pairs(system):
    figures = map(float, FIGURES[system].split())
    return list(zip(figures, figures))


def recorded(scores):
    return tuple(round(scores[f"{name}_f1"], 6) for name in ("factual", "fluency"))


@pytest.mark.real
@pytest.mark.parametrize("system", ["random", "selfcheck"])
def test_the_recorded_figures_of_the_baselines(tmp_path, system):
    for lang, figures, constant in zip(LANGUAGES, pairs(system), pairs("all y")):
        name = f"{lang}_valid_label_{system}.jsonl"
        file = tmp_path / name
        shutil.copy(DATA / "cap2025" / "baselines" / system / name, file)
        if file.read_bytes().startswith(b"["):  # they are one JSON list, which .json is for
            with pytest.raises(InvalidInput, match=r"got one JSON list \(use the ending .json\)"):
                score(file, DATA / "cap2025", edition="cap2025")
            file = file.rename(file.with_suffix(".json"))
        (result,) = score(file, DATA / "cap2025", edition="cap2025", by=()).results
        assert (result.track, result.split, result.n) == (lang, "valid", 240)
        assert recorded(result.scores) == figures
        assert recorded(result.floors["all y"]) == constant


@pytest.mark.real
def test_intervals_draw_the_questions_that_eight_models_answered():
    file = DATA / "cap2025" / "baselines" / "random" / "en_valid_label_random.jsonl"
    result = score(file, DATA / "cap2025", edition="cap2025", metrics=["factual_accuracy"])
    assert result.intervals.unit == "question"
    (track,) = result.tracks
    assert len(set(unit_of(track.gold, track.edition).tolist())) == 30
    lines = (DATA / "cap2025" / "en_valid_label.jsonl").read_text(encoding="utf-8").splitlines()
    alone = score(file, [json.loads(line) for line in lines], edition="cap2025")
    assert alone.intervals.unit == ""
    assert alone.results[0].intervals != result.results[0].intervals
