"""How problems are printed: one line for the warnings of a code, errors one by one."""

import json

import numpy as np
import pytest
from conftest import SAMPLE, write_json

from shroom.core.json_reading import again, object_of
from shroom.core.problem_codes import CODES
from shroom.core.problems import EachRow, Problem, Problems


def sample():
    return json.loads((SAMPLE / "val.model-aware.json").read_text(encoding="utf-8"))


def odd_rows(limit=20):
    problems = Problems(limit)
    for index in range(50):
        expected = f"as many as {index}"
        problems.add("length-odd", f"{index % 2}.jsonl", expected, "none", index=index)
    problems.add("list-odd", "1.jsonl", "a list", "null", index=7)
    problems.add("row-doubled", "1.jsonl", "another query", "that of item 1", index=8)
    return problems


@pytest.mark.parametrize("limit", [20, 3, None])
def test_warnings_are_printed_once_a_code_with_the_first_place_and_the_count(limit):
    lines = [line for line in odd_rows(limit).lines() if line.startswith("warning: ")]
    count = "(the first of 50, in 2 files)"
    assert [line[len("warning: ") :] for line in lines] == [
        f"0.jsonl: item 0: expected as many as 0, got none {count} [length-odd]",
        "1.jsonl: item 7: expected a list, got null [list-odd]",
        "1.jsonl: item 8: expected another query, got that of item 1 [row-doubled]",
    ]


@pytest.mark.parametrize("as_rows", [False, True])
def test_errors_are_printed_one_by_one_and_put_into_words_only_if_kept(as_rows, monkeypatch):
    monkeypatch.setattr("shroom.core.problems.MAX_ERRORS", 2_000_000)
    problems, shown, count = Problems(limit=5), [], 200_000

    def at(index):
        def found():
            shown.append(index)
            return f"{index}"

        return Problem("p-range", "a.json", "a number in [0, 1]", found, index)

    problems.line_numbers["a.json"] = range(2, count + 2)
    problems.extend([EachRow(np.arange(count), at)] if as_rows else map(at, range(count)))
    assert list(problems.lines()) == [
        *(
            f"a.json: item {n} (line {n + 2}): expected a number in [0, 1], got {n} [p-range]"
            for n in range(3)
        ),
        "a.json: 199997 more problems [p-range]",
        f"  to fix [p-range]: {CODES['p-range'].fix}",
    ]
    assert (problems.errors, shown) == (count, [0, 1, 2, 3, 4])


def test_problems_of_two_checks_are_counted_once():
    both = Problems()
    both.extend(odd_rows())
    both.extend(odd_rows())  # of the same files, so that each was found twice
    assert list(both.lines()) == list(odd_rows().lines())


@pytest.mark.parametrize("verb", [["check"], ["score", "--no-ci"]])
def test_all_warnings_are_shown_on_request(tmp_path, verb, shroom):
    """Of 60 rows, each of which has a key too many and an id in quotes."""
    rows = [
        {"label": row["label"], "p(Hallucination)": row["p(Hallucination)"], "id": str(place)}
        for place, row in enumerate(sample())
    ]
    path = write_json(tmp_path / "val.model-aware.json", rows)
    gold = ["--gold"] if verb[0] == "check" else []
    line = [verb[0], path, *gold, SAMPLE / "val.model-aware.json", *verb[1:]]
    (few_code, _, few), (code, _, every) = shroom(*line), shroom(*line, "--all")
    assert (few_code, code) == (0, 0)
    assert every.count('" [id-string]\n') == 60
    assert few.count("(the first of 60) [id-string]\n") == 1
    assert "note: use --all to show 59 more warnings\n" in few
    write_json(path, [{**rows[0], "label": "maybe"}, *rows[1:]])
    code, _, err = shroom(*line, "--all")
    assert (code, err.count("[id-string]\n")) == (1, 60)


def test_paths_are_shown_relative_to_the_working_directory(tmp_path, shroom, monkeypatch):
    """Whatever was given, absolute or not, and where SHROOM_DATA is absolute."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHROOM_DATA", str(tmp_path / "data"))
    data, preds, rows = tmp_path / "data" / "semeval2024", tmp_path / "preds", sample()
    next(row for row in rows if row["tgt"])["src"] = float("nan")
    write_json(data / "val.model-aware.json", rows)
    pred = preds / "mine" / "val.model-aware.json"
    write_json(pred, [{**row, "note": ""} for row in rows])
    for line in (
        ["check", pred, "--gold", data],
        ["datasets", "describe", "semeval2024", "--no-ci"],
        ["list", "datasets"],
        ["leaderboard", preds, data, "--no-ci"],
        ["evaluate", "lexical", "--on", "semeval2024", "--no-ci", "--runs", tmp_path / "runs"],
        ["explain", "lexical", data, "--index", "3"],
        ["predict", "lexical", data, "-o", tmp_path / "out.zip"],
        ["check", pred, "--gold", preds, "--official"],
    ):
        code, out, err = shroom(*line)
        assert code == ("--official" in line), err
        assert str(tmp_path) not in out + err


def test_pages_show_names_of_files_and_no_absolute_paths(tmp_path, done):
    """A page is passed on, and its reader has other folders."""
    preds, gold = tmp_path / "preds & more", write_json(tmp_path / "gold.json", sample())
    for name, key in (("a", "note"), ("b", "label")):
        rows = [{**row, key: ""} for row in sample()]
        write_json(preds / name / "val.model-aware.json", rows)
    good, page = preds / "a" / "val.model-aware.json", tmp_path / "page.html"
    for line in (
        ["report", good, gold, "-o", page, "--resamples", 20, "--trials", 20, "--all"],
        ["leaderboard", preds, gold, "--html", page, "--resamples", 20],
        ["evaluate", "lexical", "--on", gold, "--no-ci", "--html", page, "--runs", tmp_path / "r"],
    ):
        done(*line)
        text = page.read_text(encoding="utf-8")
        assert str(tmp_path) not in text
        assert ("val.model-aware.json: item 0" in text) == (line[0] != "evaluate")


def test_what_is_said_of_many_places_is_one_line(tmp_path, shroom):
    """Of what is no submission, and of gold without labels."""
    for name in ("val", "test", "train"):
        rows = sample() if name == "val" else [{**row, "labels": []} for row in sample()]
        write_json(tmp_path / "gold" / f"{name}.model-aware.json", rows)
    line = ("gold", "agreement", tmp_path / "gold", "--no-ci")
    assert shroom(*line)[2].count("no item has labels\n") == 2
    gold = SAMPLE / "val.model-aware.json"
    write_json(tmp_path / "all" / "one" / gold.name, sample())
    for number in range(30):
        (tmp_path / "all" / f"{number}.md").write_text("notes", encoding="utf-8")
    err = shroom("leaderboard", tmp_path / "all", gold, "--no-ci")[2]
    assert err.count(": ignored") == 3
    assert err.endswith("note: use --all to show 27 more warnings\n")


@pytest.mark.parametrize(
    ("n", "named"),
    [
        (1, '"0" more than once'),
        (2, '"0" and "1" more than once'),
        (6, '"0", "1", "2", "3", "4" and 1 other key more than once'),
        (7, '"0", "1", "2", "3", "4" and 2 other keys more than once'),
    ],
)
def test_repeated_keys_are_listed_and_the_rest_counted(n, named):
    doubled = object_of([(str(key), None) for key in range(n)] * 2)
    assert again(doubled).startswith(f"{named} (")
