"""RAGTruth: answers with their sources, what counts, and the scores of marked spans."""

import json

import numpy as np
import pytest
from conftest import write_lines
from sklearn.metrics import f1_score, precision_score, recall_score

from shroom.core.problems import InvalidInput
from shroom.datasets import native_scores
from shroom.datasets.ragtruth import DATA_SET, read
from shroom.metrics.intervals import NO_INTERVALS

INFO = {
    "QA": {"question": "Where is Oslo?", "passages": "Oslo is in Norway."},
    "Data2txt": {"name": "Café", "hours": None},
    "Summary": "Rain fell on the lake.",
}


def source(number, task="QA", **changed):
    return {
        "source_id": f"s{number}",
        "task_type": task,
        "source": "made up",
        "source_info": INFO[task],
        "prompt": f"Instruction {number}",
    } | changed


def span(start, end, text, **changed):
    return {
        "start": start,
        "end": end,
        "text": text,
        "meta": "",
        "label_type": "Evident Conflict",
        "implicit_true": False,
        "due_to_null": False,
    } | changed


def answer(number, of=0, labels=(), **changed):
    return {
        "id": str(number),
        "source_id": f"s{of}",
        "model": f"model {number % 2}",
        "temperature": 0.7,
        "labels": list(labels),
        "split": "test",
        "quality": "good",
        "response": f"Oslo is in Peru {number}.",
    } | changed


def write(folder, answers, sources):
    folder.mkdir(exist_ok=True)
    write_lines(folder / "response.jsonl", answers)
    write_lines(folder / "source_info.jsonl", sources)
    return folder


@pytest.fixture
def gold(tmp_path):
    """Twelve answers to three sources: every other one has a span, one of them is truncated."""
    answers = [answer(n, n // 4, [span(11, 15, "Peru")] * (n % 2)) for n in range(12)]
    answers[5]["quality"] = "truncated"
    answers[7]["labels"][0]["implicit_true"] = True
    return write(tmp_path / "gold", answers, map(source, range(3), INFO))


def problems_of(collection):
    return [(problem.code, problem.index, problem.key) for problem in collection.problems]


def test_an_answer_has_its_source(gold):
    found = read(gold)
    assert not list(found.problems)
    records = found.by_file[0].records
    assert [record.task for record in records[::4]] == list(INFO)
    points = DATA_SET.view().datapoints(found.records)
    assert {point.src for point in points} == {
        "Where is Oslo?\nOslo is in Norway.",
        '{"name": "Café", "hours": null}',
        "Rain fell on the lake.",
    }
    assert points[1].hyp == "Oslo is in Peru 1."
    assert set(DATA_SET.view().units(found.records)) == {"s0", "s1", "s2"}
    again = read(gold / "source_info.jsonl", gold / "response.jsonl")
    assert again.by_file[1].records == records


def test_view_and_tables_agree_on_what_counts(gold, in_json):
    records = read(gold).records
    points = DATA_SET.view().datapoints(records)
    assert (len(points), DATA_SET.view().left_out(records)) == (11, 1)
    *_, whole = in_json("datasets", "describe", "ragtruth", gold, "--no-ci")["tables"]["task"]
    assert whole["judged"] == len(points)
    assert whole["hallucinated"] == sum(point.p for point in points) == whole["spans"] == 5
    assert (whole["responses"], whole["implicit_true"]) == (12, 1)


def test_doubled_ids_and_answers_alone(tmp_path):
    folder, marked = tmp_path / "gold", answer(0, labels=[span(0, 4, "Oslo")])
    with pytest.raises(InvalidInput, match="id-doubled"):
        read(write(folder, [answer(0), marked], [source(0)]))
    with pytest.raises(InvalidInput, match="source_id: expected a unique id"):
        read(write(folder, [answer(0)], [source(0), source(0, "Summary")]))
    (problem,) = read(write(folder, [answer(0)], [source(0), source(0)])).problems
    assert problem.code == "row-doubled"
    alone = read(write_lines(tmp_path / "response.jsonl", [answer(0)]))
    assert (alone.records, alone.problems.codes) == ([], {"row-value"})


def test_only_what_is_left_out_is_told(gold, tmp_path, shroom):
    _, _, told = shroom("datasets", "convert", "ragtruth", gold, "-o", tmp_path / "out.json")
    assert "source_info" not in told
    assert "left out 1 datapoint" in told
    for file in gold.iterdir():
        file.write_text("")
    code, _, told = shroom("evaluate", "unigram", "--on", f"ragtruth={gold}")
    assert (code, told.count("expected at least one item")) == (1, 2)


# predictions


def predictions(path, **changed):
    """Write the spans of a system that marks Oslo in every third answer, and Peru in others."""
    rows = []
    for n in range(12):
        labels = [{"start": 0, "end": 4}] if n % 3 == 0 else [{"start": 11, "end": 15}] * (n % 2)
        rows.append({"id": str(n), "labels": labels})
    rows[3] |= changed
    return write_lines(path, rows)


def scored(path, gold):
    return native_scores.score("ragtruth", path, gold, NO_INTERVALS).results[0]


def test_scores_equal_scikit_learn(gold, tmp_path):
    records = [r for r in read(gold).by_file[0].records if r.is_judged]
    rows = map(json.loads, predictions(tmp_path / "p.jsonl").read_text().splitlines())
    said = {row["id"]: row["labels"] for row in rows}

    def marked(size, spans):
        there = np.zeros(size, bool)
        for start, end in spans:
            there[start:end] = True
        return there

    wrong = [marked(len(r.response), [(s.start, s.end) for s in r.labels]) for r in records]
    flagged = [
        marked(len(r.response), [(s["start"], s["end"]) for s in said[r.id]]) for r in records
    ]
    sides = {
        "response": ([side.any() for side in wrong], [side.any() for side in flagged]),
        "span": (np.concatenate(wrong), np.concatenate(flagged)),
    }
    functions = {"f1": f1_score, "precision": precision_score, "recall": recall_score}
    result = scored(tmp_path / "p.jsonl", gold)
    assert result.scores == {
        f"{level}_{name}": pytest.approx(function(*columns))
        for level, columns in sides.items()
        for name, function in functions.items()
    }
    assert result.counts == {"n": 3, "responses": 11}
    for key in ("task", "model"):
        assert sum(part["responses"] for part in result.slices[key].values()) == 11


@pytest.mark.parametrize(
    ("changed", "code", "key"),
    [
        ({"id": "99"}, "id-unknown", "id"),
        ({"id": "0"}, "id-doubled", "id"),
        ({"labels": "Oslo"}, "span-value", "labels"),
        ({"labels": [[0, 4]]}, "span-value", "labels"),
        ({"labels": [{"start": -1, "end": 4}]}, "span-value", "labels"),
    ],
)
def test_an_error_of_predictions_has_its_place(gold, tmp_path, changed, code, key):
    problems = native_scores.check("ragtruth", predictions(tmp_path / "p.jsonl", **changed), gold)
    assert (code, 3, key) in [(problem.code, problem.index, problem.key) for problem in problems]
    assert problems.errors


def test_empty_spans_and_missing_answers_are_named(gold, tmp_path):
    path = predictions(tmp_path / "p.jsonl", labels=[{"start": 4, "end": 2}])
    (problem,) = native_scores.check("ragtruth", path, gold)
    assert (problem.code, problem.index, problem.key) == ("span-empty", 3, "labels[0]")
    path = write_lines(tmp_path / "p.jsonl", [{"id": "0", "labels": []}])
    problems = native_scores.check("ragtruth", path, gold)
    assert [problem.found for problem in problems] == ["10 missing: 1, 2, 3, 4, 6, …"]


def test_only_the_splits_that_are_predicted_count(tmp_path):
    rows = [answer(0, split="train"), answer(1, labels=[span(0, 4, "Oslo")]), answer(2)]
    gold = write(tmp_path / "gold", rows, [source(0)])
    said = [{"id": "1", "labels": [{"start": 0, "end": 4}]}, {"id": "2", "labels": []}]
    result = scored(write_lines(tmp_path / "p.jsonl", said), gold)
    assert (result.counts["responses"], result.scores["span_f1"]) == (2, 1.0)


def test_its_gold_is_recognised_by_its_form(gold, tmp_path, shroom):
    code, out, err = shroom("score", predictions(tmp_path / "p.jsonl"), gold, "--no-ci")
    assert (code, "span_precision" in out, "ragtruth data" in err) == (0, True, True), err
