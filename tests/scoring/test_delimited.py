"""CSV and TSV, wherever JSON is taken."""

import csv
import io
import json

import pytest
from conftest import DATA, gold, predictions, write_json, write_lines

from shroom.core.problems import ERROR, Problems, ShroomError, Stopped
from shroom.metrics.intervals import Intervals
from shroom.scoring import column_names, csv_files
from shroom.scoring.check import check
from shroom.scoring.scores import score

P = "p(Hallucination)"
NO_CI = Intervals(resamples=0)


def text_of(rows, separator=",", **names):
    """Return rows as a table whose columns are called as ``names`` says."""
    stream = io.StringIO(newline="")
    keys = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.writer(stream, delimiter=separator)
    writer.writerow([names.get(key, key) for key in keys])
    for row in rows:
        writer.writerow([json.dumps(v) if isinstance(v, list) else v for v in row.values()])
    return stream.getvalue()


def write_table(path, rows, separator=",", encoding="utf-8", **names):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text_of(rows, separator, **names).encode(encoding))
    return path


def items(data, problems=None):
    try:
        return list(
            csv_files.iter_items(data, "a.csv", Problems() if problems is None else problems)
        )
    except Stopped:
        return None


def refused(data):
    """Return the code and the line of what cannot be read at all."""
    problems = Problems()
    assert items(data, problems) is None
    (problem,) = (problem for problem in problems if problem.severity == ERROR)
    return problem.code, problem.found


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separator_and_encoding_are_recognised(separator, encoding):
    rows = [{"label": "Hallucination", P: 0.5, "hyp": 'Zwölf, "so"; etc.\nund 1\tmehr'}]
    problems = Problems()
    assert items(text_of(rows, separator).encode(encoding), problems) == rows
    assert problems.codes == set()


@pytest.mark.parametrize("line", ["sep=;\r\n", "SEP=|\n", '"sep=,"\n', "sep=\t\n"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_line_that_tells_excel_the_separator_is_read(line, encoding, tmp_path):
    separator = line.strip('"\r\n')[-1] if line[-2] != "\t" else "\t"
    rows = [{"label": "Hallucination", P: 0.5, "hyp": "a,b;c|d"}, {"label": "?", P: 0.5, "hyp": ""}]
    data = (line + text_of(rows, separator)).encode(encoding)
    problems = Problems()
    assert items(data, problems) == rows
    path = tmp_path / "table"
    path.write_bytes(data)
    (problem,) = [p for p in check(path).problems if p.severity == ERROR]
    assert (problem.code, problem.line_number) == ("label-value", 4)


def test_cells_become_the_values_of_json():
    head = "id,label,p(Hallucination),labels,hyp,model\n"
    row = "7, Hallucination,1e-3,\"['Hallucination', None]\",,\n"
    assert items((head + row + ",,nan,x,,m\n").encode()) == [
        {"id": 7, "label": "Hallucination", P: 0.001, "labels": ["Hallucination", None]}
        | {"hyp": "", "model": ""},
        {P: pytest.approx(float("nan"), nan_ok=True), "labels": "x", "hyp": "", "model": "m"},
    ]


@pytest.mark.parametrize("role", ["submission", "gold"])
@pytest.mark.parametrize("header", [f"label,{P}", "Label;prob"])
def test_an_empty_cell_is_named(header, role, tmp_path):
    rows = "\nHallucination,0.7\nHallucination,\n ,0.2\n"
    path, other = tmp_path / "p.csv", predictions(3)
    path.write_text((header.replace(";", ",") + rows).replace(",", ";" if ";" in header else ","))
    checked = check(path) if role == "submission" else check(other, path)
    assert [(p.code, p.key, p.line_number) for p in checked.problems if p.severity == ERROR] == [
        ("p-number", P, 3),
        ("label-value", "label", 4),
    ]
    assert all(p.found == "an empty cell" for p in checked.problems if p.severity == ERROR)


def test_an_empty_cell_of_spans_is_null(tmp_path, shroom):
    span = '[{""start"": 0, ""end"": 3, ""prob"": 1.0}]'
    rows = f'id,soft_labels,hard_labels\na,"{span}",\nb,,"[[0, 3]]"\n'
    (tmp_path / "p.csv").write_text(rows)
    out, more = tmp_path / "o.jsonl", ("--edition", "mushroom2025")
    code, _, err = shroom("check", tmp_path / "p.csv", *more, "--fix", out)
    assert code == 0, err
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"id": "a", "soft_labels": [{"start": 0, "end": 3, "prob": 1.0}]},
        {"id": "b", "hard_labels": [[0, 3]]},
    ]


def test_no_two_columns_are_taken_for_one_key():
    (row,) = items(b"label,prob,probability\nHallucination,0.1,0.9\n")
    assert row == {"label": "Hallucination", "prob": "0.1", "probability": "0.9"}
    (row,) = items(b"label,prob,p(Hallucination)\nHallucination,0.1,0.9\n")
    assert row == {"label": "Hallucination", "prob": "0.1", P: 0.9}


def test_a_named_column_goes_before_one_that_is_called_like_the_key():
    with column_names.naming({"p": "score"}):
        (row,) = items(b"label,score,p(Hallucination)\nHallucination,0.1,0.9\n")
    assert row == {"label": "Hallucination", P: 0.1}


@pytest.mark.parametrize(
    ("data", "code", "found"),
    [
        (b"", "empty", "an empty file"),
        (b"\n\n", "empty", "an empty file"),
        (b"label,p\n", "empty", "only a header"),
        (b"1,Hallucination,0.5\n", "not-csv", '["1", "Hallucination", "0.5"]'),
        (b"label,p\nHallucination,\0\n", "not-csv", "a NUL character at line 2"),
        (b"label,p,label\na,b,c\n", "not-csv", '"label" 2 times'),
        (
            b'label,hyp\nHallucination,a\nHallucination,"b\nc\n',
            "not-csv",
            "a quotation mark that is never closed in the record that begins at line 3",
        ),
        (b'"label,hyp\n', "not-csv", "a quotation mark that is never closed in the record that"),
        ("label,p\n".encode("utf-16")[:-1], "not-utf8", "byte 0x0a at line 1"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(data, code, found):
    told = refused(data)
    assert told[0] == code
    assert told[1].startswith(found)


def test_a_file_a_line_and_a_cell_have_limits(monkeypatch):
    monkeypatch.setattr(csv_files, "MAX_BYTES", 100)
    assert refused(b"label,p\n" + b"x" * 100)[0] == "too-large"
    monkeypatch.setattr(csv_files, "MAX_CELL", 20)
    assert refused(b"label,p\nHallucination," + b"1" * 30) == (
        "not-csv",
        "field larger than field limit (20) in the record that begins at line 2",
    )


def test_problems_have_the_line_of_their_item(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(
        "id,label,p(Hallucination),hyp\n"
        '3,Hallucination,0.7,"two\nlines"\n'
        "\n"
        "4,Hallucination,1.5,a\n"
        "5,Hallucination,a\n"
        "3,Hallucination,0.2,a\n"
    )
    lines = list(check(path).problems.lines())
    places = [line.removeprefix(f"{path}: ") for line in lines if not line.startswith("  ")]
    against_p = f'{P}: expected p >= 0.5 for "Hallucination", got 0.2 [label-p]'
    against_p = f"warning: {path}: item 3 (id 3, line 7): {against_p}"
    assert sorted(places) == [
        "item 1 (id 4, line 5): p(Hallucination): expected a number in [0, 1], got 1.5 [p-range]",
        "item 2 (line 6): expected 4 cells, as the header has, got 3 [not-csv]",
        "item 3 (id 3, line 7): id: expected an id of its own, got 3 again [id-doubled]",
        against_p,
    ]


@pytest.fixture
def pair(tmp_path):
    """Return a submission and gold as JSON and as tables."""
    rows, truth = predictions(12), gold(12)
    json_pair = (
        write_json(tmp_path / "json" / "s" / "val.model-aware.json", rows),
        write_json(tmp_path / "gold" / "val.model-aware.json", truth),
    )
    tables = (
        write_table(tmp_path / "csv" / "s" / "val.model-aware.csv", rows),
        write_table(tmp_path / "tsv" / "val.model-aware.tsv", truth, "\t"),
    )
    return json_pair, tables


def test_tables_score_as_their_json(pair, shroom):
    as_json, tables = (shroom("score", *paths, "--by", "task,agreement") for paths in pair)
    assert as_json[0] == 0
    assert tables[:2] == as_json[:2]


def renamed(rows):
    names = {"label": "prediction", P: "prob"}
    return [{names.get(key, key): value for key, value in row.items()} for row in rows]


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("s.json", write_json),
        ("s.jsonl", write_lines),
        ("s.csv", write_table),
        ("s.tsv", lambda path, rows: write_table(path, rows, "\t")),
    ],
)
def test_columns_name_the_keys_of_every_form(name, write, tmp_path, shroom):
    rows, truth = predictions(12), write_json(tmp_path / "gold.json", gold(12))
    told = write(tmp_path / name, renamed(rows))
    assert shroom("score", told, truth)[0] == 1
    option = "--columns", "p=prob,label=prediction"
    plain = write_json(tmp_path / "p.json", rows)
    assert shroom("score", told, truth, *option)[:2] == shroom("score", plain, truth)[:2]
    code, _, _ = shroom("check", told, *option, "--fix", tmp_path / "out.json")
    assert code == 0
    assert json.loads((tmp_path / "out.json").read_text()) == rows
    columns = {"p": "prob", "label": "prediction"}
    assert check(told, columns=columns).ok
    assert score(told, truth, columns=columns, intervals=NO_CI) == score(
        plain, truth, intervals=NO_CI
    )


@pytest.mark.parametrize(
    ("words", "name", "write"),
    [
        (("hallucinated", "supported"), "s.json", write_json),
        (("refuted", "supported"), "s.jsonl", write_lines),
        (("not entailed", "entailed"), "s.csv", write_table),
        (("1", "0"), "s.tsv", lambda path, rows: write_table(path, rows, "\t")),
        ((1, 0), "s.json", write_json),
    ],
)
def test_labels_name_the_words_of_every_form(words, name, write, tmp_path, shroom):
    rows, truth = predictions(12), gold(12)
    word = dict(zip(("Hallucination", "Not Hallucination"), words))
    told = write(tmp_path / name, [{**row, "label": word[row["label"]]} for row in rows])
    plain, truth_path = (
        write_json(tmp_path / "p.json", rows),
        write_json(tmp_path / "g.json", truth),
    )
    code, _, err = shroom("score", told, truth_path)
    assert (code, "or name yours by --labels" in err) == (1, True)
    words = tuple(map(str, words))
    option = "--labels", ",".join(words)
    code, out, _ = shroom("score", plain, truth_path)
    assert shroom("score", told, truth_path, *option)[:2] == (code, out) == (0, out)
    assert shroom("check", told, *option, "--fix", tmp_path / "out.json")[0] == 0
    assert json.loads((tmp_path / "out.json").read_text()) == rows
    truth = [{**row, "label": word[row["label"]], "labels": [*map(word.get, row["labels"])]}
             for row in truth]  # fmt: skip
    kwargs = {"labels": words, "intervals": NO_CI}
    assert score(told, write_json(tmp_path / "w.json", truth), **kwargs) == score(
        plain, truth_path, intervals=NO_CI
    )


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("refuted,supported", ("\u200bRefuted ", "SUPPORTED")),
        ("not entailed,entailed", ("Not_Entailed", "entailed")),
        ("1,0", (1.0, 0.0)),
        ("0.0,1.0", (0, 1)),
        ("true,false", (True, False)),
        ("False,True", (False, True)),
    ],
)
@pytest.mark.parametrize(("name", "write"), [("p.json", write_json), ("p.csv", write_table)])
def test_named_labels_are_found_in_another_spelling(given, written, name, write, tmp_path):
    word = dict(zip(("Hallucination", "Not Hallucination"), written))
    rows = [{**row, "label": word[row["label"]]} for row in predictions(12)]
    (track,) = check(write(tmp_path / name, rows), labels=given.split(",")).tracks
    (plain,) = check(predictions(12)).tracks
    assert track.predictions.label.tolist() == plain.predictions.label.tolist()


def test_labels_and_columns_go_together(tmp_path, shroom):
    rows = [{"verdict": "?" if r["label"][0] == "H" else "!", "prob": r[P]} for r in predictions(5)]
    told = write_json(tmp_path / "p.json", rows)
    for options in (("--columns", "label=verdict,p=prob"), ("--labels", "?,!")):
        assert shroom("check", told, *options)[0] == 1
    both = "--labels", "?,!", "--columns", "label=verdict,p=prob"
    assert shroom("check", told, *both)[0] == shroom("check", told, *both[2:], *both[:2])[0] == 0


@pytest.mark.parametrize(
    "value",
    ["", "a", "a,a", "a,b,c", "x,Hallucination", " ,x", "A,a", "not-hallucination,x"],
)
def test_labels_that_are_not_two_words_are_refused(value, tmp_path, shroom):
    code, _, err = shroom(
        "check", write_json(tmp_path / "p.json", predictions(3)), "--labels", value
    )
    assert (code, "expected two words, the one for Hallucination first" in err) == (2, True)


def test_columns_name_the_keys_of_rows_in_memory():
    told = [{"prediction": row["label"], "prob": row[P]} for row in predictions(3)]
    assert check(told, columns={"p": "prob", "label": "prediction"}).ok
    with pytest.raises(ShroomError, match="'score' is not one of p, id, label"):
        check(told, columns={"score": "prob"})
    assert not check(told).ok  # and nothing stays


def test_a_named_key_goes_before_one_that_is_called_like_it_in_json_too(tmp_path):
    told = [{"label": "Hallucination", P: 0.1, "raw": 0.9}, {"label": "Hallucination", P: 0.8}]
    (track,) = check(told, columns={"p": "raw"}).tracks
    assert track.predictions.p.tolist() == [0.9, 0.8]
    path = tmp_path / "p.json"
    path.write_text('[{"raw": 0.1, "raw": 0.2, "label": "Not Hallucination"}]', encoding="utf-8")
    assert check(path, columns={"p": "raw"}).problems.codes == {"key-doubled"}


@pytest.mark.parametrize("value", ["p", "p=", "score=p", "p=a,p=b", "p=a,label=a"])
def test_columns_that_name_nothing_are_refused(value, tmp_path, shroom):
    table = write_table(tmp_path / "t.csv", predictions(3))
    code, _, err = shroom("check", table, "--columns", value)
    assert (code, "--columns" in err) == (2, True)


def test_a_named_column_that_is_not_there_is_reported(tmp_path, shroom):
    table = write_table(tmp_path / "t.csv", predictions(3))
    code, _, err = shroom("check", table, "--columns", "p=scroe")
    assert code == 0
    assert 'expected the columns of --columns: "scroe"' in err


def test_fix_writes_tables_as_json(tmp_path, shroom, monkeypatch):
    rows = predictions(3)
    table = write_table(tmp_path / "a" / "val.model-aware.CSV", rows, ";")
    for source, out in ((table, "out.json"), (table.parent, "out"), (table, "out.zip")):
        assert shroom("check", source, "--fix", tmp_path / out)[0] == 0
    assert json.loads((tmp_path / "out.json").read_text()) == rows
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["val.model-aware.json"]
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(table.read_bytes()), encoding="utf-8")
    )
    code, out, _ = shroom("check", "-", "--fix", "-")
    assert (code, json.loads(out)) == (0, rows)


@pytest.mark.parametrize(
    ("out", "reason"), [("out.csv", "fixed files are written as JSON"), ("t.csv", "is an input")]
)
def test_fix_writes_no_table(out, reason, tmp_path, shroom):
    table = write_table(tmp_path / "t.csv", predictions(3))
    before = table.read_bytes()
    code, _, err = shroom("check", table, "--fix", tmp_path / out)
    assert (code, reason in err) == (1, True)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]


@pytest.mark.real
def test_real_predictions_score_to_the_last_digit_as_their_json(tmp_path):
    gold_folder = DATA / "semeval2024"
    compared = 0
    for folder in sorted((DATA / "submissions").glob("gpt-*")):
        for source in sorted(folder.glob("val.*.json")):
            rows = json.loads(source.read_text(encoding="utf-8"))
            name = source.name.replace(".json", ".csv")
            table = write_table(tmp_path / folder.name / name, rows, ";")
            both = [score(path, gold_folder, intervals=NO_CI) for path in (source, table)]
            as_json, as_table = ([each.to_dict() for each in one.results] for one in both)
            assert as_table == as_json
            compared += 1
    assert compared >= 20
