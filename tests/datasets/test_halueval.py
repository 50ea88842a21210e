"""HaluEval: right and hallucinated texts, judged replies, and the scores of judgements."""

import json

import pytest
from conftest import write_lines

from shroom.datasets import native_scores
from shroom.datasets.halueval import DATA_SET, read
from shroom.metrics.intervals import NO_INTERVALS

QUESTION = {
    "knowledge": "Oslo is in Norway.",
    "question": "Where is Oslo?",
    "right_answer": "In Norway.",
    "hallucinated_answer": "In Peru.",
}
DIALOGUE = {
    "knowledge": "Tea is a drink.",
    "dialogue_history": "[Human]: What is tea? ",
    "right_response": "A drink.",
    "hallucinated_response": "A metal.",
}
ARTICLE = {
    "document": "Rain fell on the lake.",
    "right_summary": "It rained.",
    "hallucinated_summary": "It snowed.",
}
REPLY = {
    "ID": "7",
    "user_query": "Name a river.",
    "chatgpt_response": "The Oslo.",
    "hallucination": "yes",
    "hallucination_spans": ["The Oslo."],
}
FILES = {"qa": QUESTION, "dialogue": DIALOGUE, "summarization": ARTICLE, "general": REPLY}


def numbered(row, n=3):
    """Return copies of a row that differ in their first text."""
    key = "user_query" if "user_query" in row else next(iter(row))
    return [{**row, key: f"{row[key]} {number}"} for number in range(n)]


@pytest.fixture
def gold(tmp_path):
    """A folder with a file of three rows for each task; like theirs, JSON Lines named .json."""
    folder = tmp_path / "gold"
    folder.mkdir()
    for task, row in FILES.items():
        write_lines(folder / f"{task}_data.json", numbered(row))
    return folder


def test_each_text_is_a_datapoint(gold):
    found = read(gold)
    assert not list(found.problems)
    points = [
        [(point.src, point.hyp, point.p) for point in DATA_SET.view().datapoints([record])]
        for part in found.by_file
        for record in part.records[:1]
    ]
    talk, know = "Tea is a drink. 0\n[Human]: What is tea? ", "Oslo is in Norway. 0\nWhere is Oslo?"
    rain = "Rain fell on the lake. 0"
    assert sorted(points) == [
        [("Name a river. 0", "The Oslo.", 1.0)],
        [(know, "In Norway.", 0.0), (know, "In Peru.", 1.0)],
        [(rain, "It rained.", 0.0), (rain, "It snowed.", 1.0)],
        [(talk, "A drink.", 0.0), (talk, "A metal.", 1.0)],
    ]
    units = DATA_SET.view().units(found.records)
    assert (len(units), len(set(units))) == (21, 12)


def test_a_list_and_lines_read_alike_under_any_name(tmp_path):
    rows = numbered(QUESTION)
    (tmp_path / "list.json").write_text(json.dumps(rows))
    (tmp_path / "short.json").write_text(json.dumps(rows[:1], indent=1))
    assert read(tmp_path / "list.json").records[:1] == read(tmp_path / "short.json").records
    as_lines = write_lines(tmp_path / "a.jsonl", rows)
    assert read(as_lines).records == read(tmp_path / "list.json").records


def test_the_table_counts_texts(gold, in_json):
    found = in_json("datasets", "describe", "halueval", gold, "--no-ci")
    assert found["labels"] == {"texts": {"hallucinated": 12, "right": 9}}
    rows = {row["task"]: (row["records"], row["texts"]) for row in found["tables"]["task"]}
    assert rows == {**dict.fromkeys(FILES, (3, 6)), "general": (3, 3), "all": (12, 21)}


# judgements


def judgements(path, row=QUESTION, said=("No", "Yes", "failed!"), **changed):
    """Write a judgement of the right answer of each of three rows."""
    rows = [
        {
            "knowledge": each["knowledge"],
            "question": each["question"],
            "answer": each["right_answer"],
            "ground_truth": "No",
            "judgement": judgement,
        }
        for each, judgement in zip(numbered(row), said)
    ]
    rows[1] |= changed
    return write_lines(path, rows)


def test_accuracy_counts_a_failure_as_wrong(gold, tmp_path):
    qa = gold / "qa_data.json"
    path = judgements(tmp_path / "results.json")
    (result,) = native_scores.score("halueval", path, qa, NO_INTERVALS).results
    assert (result.scores["accuracy"], result.counts) == (1 / 3, {"n": 3, "texts": 3})
    assert result.floors["flag nothing"]["accuracy"] == 1.0
    turned = judgements(tmp_path / "turned.json", answer="In Peru.")
    (result,) = native_scores.score("halueval", turned, qa, NO_INTERVALS).results
    assert (result.scores["accuracy"], result.scores["recall"]) == (2 / 3, 1.0)


@pytest.mark.parametrize(
    ("changed", "code", "key"),
    [
        ({"judgement": "yes"}, "word-value", "judgement"),
        ({"judgement": ["Yes"]}, "word-value", "judgement"),
        ({"answer": "In Chile."}, "id-unknown", None),
        ({"knowledge": 5}, "id-unknown", None),
    ],
)
def test_an_error_of_judgements_has_its_place(gold, tmp_path, changed, code, key):
    path = judgements(tmp_path / "results.json", **changed)
    problems = native_scores.check("halueval", path, gold / "qa_data.json")
    assert (code, 1, key) in [(problem.code, problem.index, problem.key) for problem in problems]
    assert problems.errors


def test_rows_without_a_judgement_or_with_two_are_named(gold, tmp_path):
    path = judgements(tmp_path / "results.json")
    (missing,) = native_scores.check("halueval", path, gold)
    assert (missing.code, missing.found.partition(":")[0]) == ("ids-missing", "9 missing")
    path.write_text(path.read_text() * 2)  # as the authors' program appends to its file
    problems = native_scores.check("halueval", path, gold / "qa_data.json")
    assert [(p.code, p.index, p.key) for p in problems] == [
        ("id-doubled", n, "answer") for n in (3, 4, 5)
    ]


def test_equal_texts_are_told_apart_by_the_ground_truth(tmp_path):
    row = {**QUESTION, "hallucinated_answer": QUESTION["right_answer"]}
    gold = write_lines(tmp_path / "gold.json", numbered(row))
    path = judgements(tmp_path / "results.json", row, ("Yes",) * 3, ground_truth="Yes")
    (result,) = native_scores.score("halueval", path, gold, NO_INTERVALS).results
    assert result.scores["accuracy"] == 1 / 3


def test_predictions_of_a_detector_are_written_and_scored(gold, tmp_path, shroom, in_json, done):
    items, submission, native = (tmp_path / name for name in ("i.json", "s.json", "n.jsonl"))
    assert shroom("datasets", "convert", "halueval", gold, "-o", items)[0] == 0
    points = json.loads(items.read_text())
    wrong = {"label": "Hallucination", "p(Hallucination)": 1.0}
    submission.write_text(json.dumps([wrong] * len(points)))
    convert = ("datasets", "convert", "halueval", gold, "--predictions", submission, "-o", native)
    assert shroom(*convert)[0] == 0
    (result,) = in_json("score", native, gold, "--no-ci")["results"]
    assert result["accuracy"] == result["floors"]["flag everything"]["accuracy"] == 12 / 21
    by_task = {task: part["accuracy"] for task, part in result["by_task"].items()}
    assert by_task == {**dict.fromkeys(FILES, 0.5), "general": 1.0}
