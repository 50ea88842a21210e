"""Recorded NLI outputs as submissions."""

import gzip
import json
import shutil

import numpy as np
import pytest
from conftest import DATA, gold, write_json
from hypothesis import given
from hypothesis import strategies as st

from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.datasets import nli_outputs
from shroom.datasets.nli_outputs import recorded
from shroom.prediction.submission_rows import check_output, name_for, text_of
from shroom.scoring.file_names import Name

P = "p(Hallucination)"


def csv_of(path, *lines, header="p(Contr),p(Entl)", end="\n", encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(end.join([header, *lines, ""]).encode(encoding))
    return path


def data_of(path, n, first_id=None):
    return write_json(path, gold(n, first_id=first_id))


def rows_of(path):
    return json.loads(path.read_text(encoding="utf-8"))


def convert(shroom, tmp_path, lines, *more, n=None, first_id=None, **form):
    """Convert one file; return the exit code, what was written, and stderr."""
    source = csv_of(tmp_path / "m.val.model-aware.csv", *lines, **form)
    data = data_of(tmp_path / "data.json", len(lines) if n is None else n, first_id)
    out = tmp_path / "out.json"
    code, _, err = shroom("convert", "nli", source, data, "-o", out, *more)
    return code, rows_of(out) if out.exists() else None, err


LINES = ["0.2,0.6", "0,0", "0.9,0.05", "0.3,0.3"]


@pytest.mark.parametrize(
    ("score", "p"),
    [
        ("c/(c+e)", [0.2 / (0.2 + 0.6), 0.5, 0.9 / (0.9 + 0.05), 0.5]),
        ("1-e", [1 - 0.6, 1, 1 - 0.05, 1 - 0.3]),
        ("c", [0.2, 0, 0.9, 0.3]),
    ],
)
def test_scores(shroom, tmp_path, score, p):
    code, rows, err = convert(shroom, tmp_path, LINES, "--score", score)
    assert code == 0, err
    assert [row[P] for row in rows] == p
    assert [row["label"] == "Hallucination" for row in rows] == [value > 0.5 for value in p]
    assert [row["p(Contr)"] for row in rows] == [0.2, 0, 0.9, 0.3]
    assert [row["p(Entl)"] for row in rows] == [0.6, 0, 0.05, 0.3]


def test_contradiction_alone_is_p(shroom, tmp_path):
    code, rows, _ = convert(shroom, tmp_path, ["0.2", "0.7"], header="p(Contr)")
    assert code == 0
    assert rows == [
        {"label": "Not Hallucination", P: 0.2},
        {"label": "Hallucination", P: 0.7},
    ]


def test_one_minus_e_wants_entailment(shroom, tmp_path):
    code, rows, err = convert(shroom, tmp_path, ["0.2"], "--score", "1-e", header="p(Contr)")
    assert code == 1
    assert rows is None
    assert 'expected a column "p(Entl)", for --score 1-e' in err


@pytest.mark.parametrize(
    "form",
    [
        {"encoding": "utf-8-sig"},
        {"end": "\r\n"},
        {"end": "\r"},
        {"end": "\n\n"},
        {"header": " p(Entl) ,p(Contr),other"},
        {"header": '"p(Contr)","p(Entl)"'},
    ],
)
def test_forms_of_the_file(shroom, tmp_path, form):
    lines = (
        ["0.6, 0.2,x", "0.5,0.5,x"]
        if "other" in form.get("header", "")
        else ["0.2,0.6", '"0.5",0.5']
    )
    code, rows, err = convert(shroom, tmp_path, lines, **form)
    assert code == 0, err
    assert [row[P] for row in rows] == [0.2 / (0.2 + 0.6), 0.5]


def test_ids_align_whatever_the_order(shroom, tmp_path):
    lines = ["7,0.7", "5,0.5", "6,0.6"]
    code, rows, err = convert(shroom, tmp_path, lines, header="id,p(Contr)", first_id=5)
    assert code == 0, err
    assert [(row["id"], row[P]) for row in rows] == [(5, 0.5), (6, 0.6), (7, 0.7)]


def test_a_gzipped_file(shroom, tmp_path):
    plain = csv_of(tmp_path / "both" / "m.val.model-aware.csv", *LINES)
    packed = tmp_path / "in" / "m.val.model-aware.csv.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    data, out = data_of(tmp_path / "data.json", len(LINES)), tmp_path / "out.json"
    shutil.copy(packed, plain.parent)
    for source in (packed, packed.parent, plain.parent):  # of two of a name, one is read
        code, _, err = shroom("convert", "nli", source, data, "-o", out)
        assert (code, len(rows_of(out))) == (0, len(LINES)), err


@pytest.mark.parametrize("line", ["0.334,0.667", "0.34,0.67", "1.0,0.0"])
def test_probabilities_that_were_rounded_are_taken(shroom, tmp_path, line):
    one, other = map(float, line.split(","))
    code, rows, err = convert(shroom, tmp_path, [line])
    assert code == 0, err
    assert rows[0][P] == one / (one + other)


BOTH, IDS = "p(Contr),p(Entl)", "id,p(Contr)"
BAD = {
    "number": (BOTH, ["x,0.1"], 'item 0: p(Contr): expected a finite number, got "x" at line 2'),
    "empty": (BOTH, [",0.1"], 'item 0: p(Contr): expected a finite number, got "" at line 2'),
    "nan": (BOTH, ["0.1,nan"], 'p(Entl): expected a finite number, got "nan" at line 2'),
    "infinite": (BOTH, ["0.1,0", "inf,0"], 'item 1: p(Contr): expected a finite number, got "inf"'),
    "range": (BOTH, ["0.1,1.5"], 'p(Entl): expected a number in [0, 1], got "1.5" at line 2'),
    "negative": (BOTH, ["-0.1,0.5"], 'p(Contr): expected a number in [0, 1], got "-0.1" at line 2'),
    "sum": (BOTH, ["0.7,0.6"], "expected p(Contr) + p(Entl) of at most 1, got 1.3 at line 2"),
    "fields": (BOTH, ["0.7"], "expected 2 fields, as the header has, got 1 at line 2"),
    "no id": ("p(Contr)", ["0.1", "0.2"], "[id-missing]"),
    "doubled": (IDS, ["5,0.1", "5,0.2"], "[id-doubled]"),
    "unknown": (IDS, ["5,0.1", "9,0.2"], "[id-unknown]"),
    "missing": (IDS, ["5,0.1"], "[ids-missing]"),
    "no integer": (IDS, ["5,0.1", "6.5,0.2"], "[id-integer]"),
    "more": (IDS, ["5,0.1", "6,0.2", "7,0.1"], "[count]"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines(shroom, tmp_path, name):
    header, lines, message = BAD[name]
    ids = {"n": 2, "first_id": 5} if message.startswith("[") else {}
    code, rows, err = convert(shroom, tmp_path, lines, header=header, **ids)
    assert (code, rows) == (1, None)
    assert message in err


def test_all_problems_at_once(shroom, tmp_path):
    lines = [line for header, lines, _ in BAD.values() for line in lines if header == BOTH]
    code, _, err = convert(shroom, tmp_path, lines, n=3)
    assert code == 1
    for message in (
        "[p-finite]",
        "[p-range]",
        "[key-missing]",
        "[count]",
        "at line 2",
        "at line 10",
    ):
        assert message in err


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "[empty]"),
        (b"p(Contr)\n", "only a header"),
        (b"p\n0.5\n", '"p(Contr)"'),
        (b"p(Contr),p(Contr)\n0.5,0.1\n", 'one column "p(Contr)"'),
        (b"p(Contr)\n\xff\n", "byte 0xff at line 2"),
        (b'p(Contr)\n"' + b"1" * 140_000 + b'"\n', "at line"),
    ],
)
def test_what_is_no_such_file(shroom, tmp_path, content, problem):
    source, out = tmp_path / "m.csv", tmp_path / "out.json"
    source.write_bytes(content)
    out.write_text("before")
    code, _, err = shroom("convert", "nli", source, data_of(tmp_path / "d.json", 1), "-o", out)
    assert code == 1
    assert problem in err
    assert out.read_text() == "before"


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_explained(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "m.csv"
    path.write_bytes(b"p(Contr)\n" + content)
    problems = Problems()
    found = recorded(path, problems)
    assert found is not None or problems.errors
    assert found is None or ((found.contradiction >= 0) & (found.contradiction <= 1)).all()


def test_a_missing_file():
    problems = Problems()
    assert recorded("no/such.csv", problems) is None
    assert problems.codes == {"file-unreadable"}


def folder(tmp_path, *names):
    for name in names:
        first = 5 if "test" in name else None
        lines = ["5,0.1", "6,0.9"] if first else ["0.1", "0.9"]
        csv_of(tmp_path / "csv" / name, *lines, header="id,p(Contr)" if first else "p(Contr)")
    for split, first in (("val", None), ("test", 5)):
        for track in ("agnostic", "aware"):
            data_of(tmp_path / "data" / f"{split}.model-{track}.json", 2, first)
    return tmp_path / "csv", tmp_path / "data"


FILES = [f"{s}.model-{t}.csv" for s in ("test", "val") for t in ("agnostic", "aware")]


@pytest.mark.parametrize("out", ["out", "out.zip"])
def test_a_folder_of_one_model(shroom, tmp_path, out):
    source, data = folder(tmp_path, *(f"m.{name}" for name in FILES))
    target = tmp_path / out
    code, _, err = shroom("convert", "nli", source, data, "-o", target)
    assert code == 0, err
    code, shown, err = shroom("check", target, "--data", data)
    assert code == 0, err
    assert shown.count("(2 items)") == 4


def test_a_folder_of_several_models(shroom, tmp_path):
    source, data = folder(tmp_path, "a-b.val.model-aware.csv", "c.val.model-aware.csv")
    out = tmp_path / "out"
    code, _, err = shroom("convert", "nli", source, data, "-o", out)
    assert code == 1
    assert "choose one by --model: a-b, c" in err
    code, _, err = shroom("convert", "nli", source, data, "-o", out, "--model", "a-b")
    assert code == 0, err
    assert [file.name for file in out.iterdir()] == ["val.model-aware.json"]
    code, _, err = shroom("convert", "nli", source, data, "-o", out, "--model", "d")
    assert code == 1
    assert "there are: a-b, c" in err


@pytest.mark.parametrize("more", [[], ["all.jsonl", "-o", "felm.json"]])
def test_a_data_set_has_another_command(shroom, more):
    code, _, told = shroom("convert", "felm", *more)
    assert code == 2
    assert "expected nli or table, got 'felm'; the data sets have a command of their own" in told
    assert "shroom datasets convert" in told


def test_an_empty_folder(tmp_path):
    with pytest.raises(ShroomError, match=r"no \.csv file"):
        nli_outputs.files(tmp_path)


def test_data_are_chosen_by_the_name(shroom, tmp_path):
    source, data = folder(tmp_path, "m.val.model-aware.csv")
    data_of(data / "val.model-aware.v2.json", 3)  # the latest counts, and does not fit
    file = source / "m.val.model-aware.csv"
    code, _, err = shroom("convert", "nli", file, data, "-o", tmp_path / "out")
    assert code == 1
    assert "val.model-aware.v2.json" in err
    named = data / "test.model-aware.json"
    code, _, err = shroom("convert", "nli", file, named, "-o", tmp_path / "out")
    assert code == 1
    assert "[no-gold]" in err
    plain = csv_of(tmp_path / "plain.csv", "0.1", "0.9", header="p(Contr)")
    code, _, err = shroom("convert", "nli", plain, data, "-o", tmp_path / "out")
    assert code == 1
    assert "[file-name]" in err
    one = data / "val.model-agnostic.json"
    code, _, err = shroom("convert", "nli", plain, one, "-o", tmp_path / "out")
    assert code == 0, err
    assert (tmp_path / "out" / "val.model-agnostic.json").exists()


def test_two_files_of_one_split(shroom, tmp_path):
    source, data = folder(tmp_path, "m.val.model-aware.csv", "m.val.model-aware.v2.csv")
    code, _, err = shroom("convert", "nli", source, data, "-o", tmp_path / "out")
    assert code == 1
    assert "of this split and track, too" in err


def test_inputs_are_never_touched(shroom, tmp_path):
    source = csv_of(tmp_path / "m.csv", "0.1", header="p(Contr)")
    data = data_of(tmp_path / "data.json", 1)
    for target in (source, data):
        before = target.read_bytes()
        code, _, err = shroom("convert", "nli", source, data, "-o", target)
        assert code == 1
        assert "inputs are never touched" in err
        assert target.read_bytes() == before


def test_unnamed_predictions_go_to_a_file_alone(shroom, tmp_path):
    source = csv_of(tmp_path / "m.csv", "0.1", header="p(Contr)")
    data = data_of(tmp_path / "trial.json", 1)
    code, _, _ = shroom("convert", "nli", source, data, "-o", tmp_path / "out.json")
    assert code == 0
    assert name_for(Name("trial", "model-aware"), "-", "x") == "predictions.json"
    with pytest.raises(ShroomError, match="does not show"):
        name_for(Name("", "model-aware"), "folder", "m.csv")


def test_what_is_written_is_checked():
    bad = text_of(np.array([True]), np.array([2.0]))
    with pytest.raises(InvalidInput, match="p-range"):
        check_output({"predictions.json": bad})


@pytest.mark.real
@pytest.mark.parametrize(
    "scores", sorted((DATA / "nli_outputs").glob("*.val.score.txt")), ids=lambda path: path.name
)
def test_recorded_scores_to_the_last_digit(shroom, tmp_path, scores):
    model = scores.name.removesuffix(".val.score.txt")
    out = tmp_path / "out"
    source = DATA / "nli_outputs"
    code, _, err = shroom(
        "convert", "nli", source, DATA / "semeval2024", "-o", out, "--model", model
    )
    assert code == 0, err
    assert len(list(out.iterdir())) == 4
    for file in out.glob("test.*"):
        file.unlink()
    command = "score", out, DATA / "semeval2024", "--format", "json", "--no-ci"
    code, shown, err = shroom(*command)
    assert code == 0, err
    found = {}
    for result in json.loads(shown)["results"]:
        short = result["track"].removeprefix("model-")
        found |= {f"{short}_acc": result["accuracy"], f"{short}_rho": result["rho"]}
    recorded = dict(line.split(":") for line in scores.read_text().split())
    assert found == {key: float(value) for key, value in recorded.items()}
