"""CSV and TSV, wherever JSON is taken, and the names that users give to columns and labels."""

import csv
import io
import json

import pytest
from conftest import gold, predictions, write_json, write_lines

from shroom.core.problems import ERROR, Problems, Stopped
from shroom.metrics.intervals import Intervals
from shroom.scoring import csv_files
from shroom.scoring.check import check
from shroom.scoring.column_names import Names
from shroom.scoring.fix import fix_submission
from shroom.scoring.scores import score

P = "p(Hallucination)"
NO_CI = Intervals(resamples=0)
LABELS = ("Hallucination", "Not Hallucination")


def text_of(rows, separator=","):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=separator)
    writer.writerow(dict.fromkeys(key for row in rows for key in row))
    for row in rows:
        writer.writerow([json.dumps(v) if isinstance(v, list) else v for v in row.values()])
    return stream.getvalue()


def write_table(path, rows, separator=","):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(rows, separator), encoding="utf-8", newline="")
    return path


#: How each form of a file is written, by its ending.
WRITERS = {
    "json": write_json,
    "jsonl": write_lines,
    "csv": write_table,
    "tsv": lambda path, rows: write_table(path, rows, "\t"),
}


def items(data, problems=None):
    return list(csv_files.iter_items(data, "a.csv", Problems() if problems is None else problems))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("head", "separator"),
    [*(("", it) for it in ",;\t"), ("sep=;\r\n", ";"), ("SEP=|\n", "|"), ('"sep=,"\n', ",")],
)
def test_separator_and_encoding_are_recognised(head, separator, encoding, tmp_path):
    rows = [{"label": "Hallucination", P: 0.5, "hyp": 'Zwölf, "so"; etc.\nund 1\tmehr|'}]
    problems, path = Problems(), tmp_path / "table"
    assert items((head + text_of(rows, separator)).encode(encoding), problems) == rows
    assert problems.codes == set()
    path.write_bytes((head + text_of([*rows, {**rows[0], P: 2}], separator)).encode(encoding))
    (problem,) = check(path).problems
    assert (problem.code, problem.line_number) == ("p-range", 4 + bool(head))


def test_cells_become_the_values_of_json():
    head = "id,label,p(Hallucination),labels,hyp,model\n"
    row = "7, Hallucination,1e-3,\"['Hallucination', None]\",,\n"
    assert items((head + row + ",,nan,x,,m\n").encode()) == [
        {"id": 7, "label": "Hallucination", P: 0.001, "labels": ["Hallucination", None]}
        | {"hyp": "", "model": ""},
        {P: pytest.approx(float("nan"), nan_ok=True), "labels": "x", "hyp": "", "model": "m"},
    ]


def test_an_empty_cell_of_spans_is_null(tmp_path):
    span = '[{""start"": 0, ""end"": 3, ""prob"": 1.0}]'
    rows, path = f'id,soft_labels,hard_labels\na,"{span}",\nb,,"[[0, 3]]"\n', tmp_path / "p.csv"
    path.write_text(rows)
    (text,) = fix_submission(path, edition="mushroom2025").files.values()
    assert [json.loads(line) for line in text.splitlines()] == [
        {"id": "a", "soft_labels": [{"start": 0, "end": 3, "prob": 1.0}]},
        {"id": "b", "hard_labels": [[0, 3]]},
    ]


@pytest.mark.parametrize(
    ("header", "named", "keys"),
    [
        ("label,prob,probability", {}, {"prob": "0.1", "probability": "0.9"}),
        (f"label,prob,{P}", {}, {"prob": "0.1", P: 0.9}),
        (f"label,score,{P}", {"p": "score"}, {P: 0.1}),
    ],
)
def test_no_two_columns_are_taken_for_one_key(header, named, keys):
    data = f"{header}\nHallucination,0.1,0.9\n".encode()
    found = list(csv_files.iter_items(data, "a.csv", Problems(), None, Names.of(named).columns))
    assert found == [{"label": "Hallucination", **keys}]


@pytest.mark.parametrize(
    ("data", "code", "found"),
    [
        (b"\n\n", "empty", "an empty file"),
        (b'"label,hyp\n', "not-csv", "an unclosed quotation mark, in the record that"),
        ("label,p\n".encode("utf-16")[:-1], "not-utf8", "byte 0x0a at line 1"),
        (b"label,p\n" + b"x" * 100, "too-large", "108 bytes"),
        (
            b"label,p\nHallucination," + b"1" * 30,
            "not-csv",
            "field larger than field limit (20), in the record that begins at line 2",
        ),
        (b"p\n" * 13, "too-large", "more"),
        (f"label,{P}\n".encode() + b"a,1\n" * 10, "not-csv", "more than 10 separators"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(data, code, found, monkeypatch):
    limits = {"MAX_BYTES": 100, "MAX_CELL": 20, "MAX_LINES": 12, "MAX_CELLS": 10}
    for name, limit in limits.items():
        monkeypatch.setattr(csv_files, name, limit)
    problems = Problems()
    with pytest.raises(Stopped):
        items(data, problems)
    (problem,) = (problem for problem in problems if problem.severity == ERROR)
    assert (problem.code, problem.found[: len(found)]) == (code, found)


@pytest.mark.parametrize("form", WRITERS)
def test_columns_name_the_keys_of_every_form(form, tmp_path):
    rows, truth, settings = (
        predictions(12),
        gold(12),
        {"by": ("task", "agreement"), "intervals": NO_CI},
    )
    columns = {"p": "prob", "label": "prediction"}
    renamed = [{"prediction": row["label"], "prob": row[P]} for row in rows]
    source = WRITERS[form](tmp_path / f"s.{form}", renamed)
    gold_file = WRITERS[form](tmp_path / f"g.{form}", truth)
    named = score(source, gold_file, columns=columns, **settings).results
    assert named == score(rows, truth, **settings).results
    assert check(renamed, columns=columns).ok
    assert not check(renamed).ok  # and nothing stays


@pytest.mark.parametrize(
    ("given", "written", "form"),
    [
        ("hallucinated,supported", ("hallucinated", "supported"), "json"),
        ("refuted,supported", ("\u200bRefuted ", "SUPPORTED"), "jsonl"),
        ("not entailed,entailed", ("Not_Entailed", "entailed"), "csv"),
        ("1,0", ("1", "0"), "tsv"),
        ("1,0", (1.0, 0.0), "csv"),
        ("0.0,1.0", (0, 1), "json"),
        ("true,false", (True, False), "json"),
        ("False,True", (False, True), "csv"),
    ],
)
def test_labels_name_the_words_of_every_form(given, written, form, tmp_path, shroom):
    word, names = dict(zip(LABELS, written)), given.split(",")
    rows, truth, out = predictions(12), gold(12), tmp_path / "out.json"
    in_words = [{**row, "label": word[row["label"]]} for row in rows]
    source = WRITERS[form](tmp_path / f"s.{form}", in_words)
    advice = "'shroom check' says if --fix can correct it"
    assert advice in shroom("compare", source, source, write_json(tmp_path / "g", truth))[2]
    assert shroom("check", source, "--labels", given, "--fix", out)[0] == 0
    assert json.loads(out.read_text()) == rows
    votes = [{**row, "label": word[row["label"]], "labels": [*map(word.get, row["labels"])]}
             for row in truth]  # fmt: skip
    plain, named = (
        score(*files, intervals=NO_CI, labels=labels).results
        for files, labels in (((rows, truth), None), ((source, votes), names))
    )
    assert named == plain
    alike = check([{**row, "label": written[0]} for row in rows], labels=names).problems
    assert f'"{names[0]}" in every item' in [problem.found for problem in alike]


def test_a_named_key_goes_before_one_that_is_called_like_it_in_json_too(tmp_path):
    rows = [{"label": "Hallucination", P: 0.1, "raw": 0.9}, {"label": "Hallucination", P: 0.8}]
    (track,) = check(rows, columns={"p": "raw"}).tracks
    assert track.predictions.p.tolist() == [0.9, 0.8]
    path = tmp_path / "p.json"
    path.write_text('[{"raw": 0.1, "raw": 0.2, "label": "Not Hallucination"}]', encoding="utf-8")
    assert check(path, columns={"p": "raw"}).problems.codes == {"key-doubled"}
