"""Spoiled submissions: what check reports of each, and what --fix makes of it.

Every case spoils the same predictions. Fixed, each item has the id, the label and the p that it
had, to the last digit; what cannot be fixed leaves nothing behind but the original.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import Any, NamedTuple

import pytest
from conftest import write_json

from shroom.scoring.check import check

KEY = "p(Hallucination)"
NAME = "test.model-agnostic.json"
PS = [0.007, 0.247, 0.5, 0.123456789012345, 0.99, 1.0, 0.0, 0.66, 0.333, 0.81, 0.29, 0.57]
ROWS: list[dict[str, Any]] = [
    {"id": 101 + i, "label": "Hallucination" if p > 0.5 else "Not Hallucination", KEY: p}
    for i, p in enumerate(PS)
]
P_NUMBERS = [0.7, 24.7, 50, 12.3456789012345, 99, 100, 0, 66, 33.3, 81, 29, 57]
PERCENT = [str(p) for p in P_NUMBERS]


class Case(NamedTuple):
    """A spoiled submission: its files, the codes that check reports, and whether --fix fixes it."""

    name: str
    files: dict[str, str | bytes]
    codes: str
    fixed: bool = True


def one(name, rows, codes, fixed=True, file="p.json"):
    content = rows if isinstance(rows, (str, bytes)) else json.dumps(rows)
    return Case(name, {file: content}, codes, fixed)


def changed(change, rows=ROWS):
    """Return the rows, each as a function of its place and itself says."""
    return [change(i, dict(row)) for i, row in enumerate(rows)]


def renamed(**names):
    keys = {KEY if key == "p" else key: name for key, name in names.items()}
    return changed(lambda _, row: {keys.get(key, key): value for key, value in row.items()})


def with_p(values):
    return changed(lambda i, row: {**row, KEY: values[i]})


def with_label(words, rows=ROWS):
    return changed(lambda _, row: {**row, "label": words[row["label"] == "Hallucination"]}, rows)


def table(rows, separator=",", header=None):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=separator)
    writer.writerow(header or rows[0])
    writer.writerows(row.values() for row in rows)
    return stream.getvalue()


def swapped(_, row):
    return {**row, "label": row[KEY], KEY: row["label"]}


def everything():
    rows = with_label(["not_hallucination", "HALLUCINATION"], with_p([f"{p}%" for p in PERCENT]))
    return [{"ID": str(r["id"]), "Label": r["label"], "Prob": r[KEY], "run": 1} for r in rows][::-1]


RATINGS = [1, 2, 3, 1, 5, 5, 1, 4, 2, 5, 2, 4]
SPOILED = [
    one("key p", renamed(p="p"), "key-missing,key-unknown"),
    one("key with blanks", renamed(p=" P (Hallucination) "), "key-missing,key-unknown"),
    one("three keys", renamed(id="Id", label="LABEL", p="Probability"),
        "id-missing,key-missing,key-unknown"),
    one("p twice, equal", changed(lambda _, r: {**r, "p": r[KEY]}), "key-unknown"),
    one("p in percent", with_p(P_NUMBERS), "p-range"),
    one("p as 24.7%", with_p([f"{p}%" for p in PERCENT]), "p-number"),
    one("p as 24.7 %, some", with_p([*PS[:6], *(f"{p} %" for p in PERCENT[6:])]), "p-number"),
    one("percent in strings", with_p(PERCENT), "p-number"),
    one("percent with commas", with_p([p.replace(".", ",") for p in PERCENT]), "p-number"),
    one("p as 0,25", with_p([str(p).replace(".", ",") for p in PS]), "p-number"),
    *(one(f"p as a spreadsheet with commas writes it, {name}", text, "p-number", file=name)
      for name, text in (
          ("p.csv", table(with_p([f"{p:.15g}".replace(".", ",") for p in PS]), ";")),
          ("e.csv", table(with_p([f"{p:.15E}".replace(".", ",") for p in PS]))),
          ("p.json", json.dumps(with_p([p if p in (0, 1) else f"{p}".replace(".", ",")
                                        for p in PS]))),
      )),
    one("label and p swapped", changed(swapped), "label-value,p-number"),
    one("swapped, in strings", changed(swapped, with_p([str(p) for p in PS])),
        "label-value,p-number"),
    one("Not_Hallucination", with_label(["Not_Hallucination", "Hallucination"]), "label-value"),
    one("non-hallucination", with_label(["non-hallucination", "hallucinated"]), "label-value"),
    one("labels true and false", with_label([False, True]), "label-value"),
    one("labels 0 and 1", with_label([0, 1]), "label-value"),
    one("labels 0.0 and 1.0, csv", table(with_label([0.0, 1.0])), "label-value", file="p.csv"),
    one("labels in strings", with_label(["False", "True"]), "label-value"),
    one("ids as floats", changed(lambda _, r: {**r, "id": float(r["id"])}), "id-string"),
    one("csv, ids as floats", table(changed(lambda _, r: {**r, "id": f"{r['id']}.0"})),
        "id-string", file="p.csv"),
    one("csv, ids as numpy.savetxt() writes them",
        table(changed(lambda _, r: {**r, "id": f"{r['id']:.18e}"})), "id-string", file="p.csv"),
    one("csv, ids with a decimal comma",
        table(changed(lambda _, r: {**r, "id": f"{r['id']},0"}), ";"), "id-string", file="p.csv"),
    one("values as numpy prints them", changed(lambda _, r: {
        "id": f"np.int64({r['id']})",
        "label": f"np.str_('{r['label']}')",
        KEY: f"np.float64({r[KEY]})"}),
        "id-string,label-value,p-number"),
    one("p as numpy 2 prints it, csv", table(with_p([f"np.float32({p})" for p in PS])),
        "p-number", file="p.csv"),
    one("float32 around 0 and 1", with_p([*PS[:5], 1 + 1.1920929e-07, -5.9604645e-08, *PS[7:]]),
        "p-range"),
    one("zero-width space", with_label(["\u200bNot Hallucination", "Hallucination\u200b"]),
        "label-value"),
    one("other invisible characters", with_label(
        ["\ufeffNot\u2060 Hallucination\u200d", "\u200cHallucination"]), "label-value"),
    one("marks of the direction of writing", with_label(
        ["\u202aNot Hallucination\u202c", "\u2066Hallucination\u2069"]), "label-value"),
    Case("Test.Model-Agnostic", {"s/Test.Model-Agnostic.json": json.dumps(ROWS)}, "file-name"),
    Case("test_model_agnostic", {"s.zip/test_model_agnostic.json": json.dumps(ROWS)}, "file-name"),
    Case("a second download", {"s/test.model-agnostic (1).json": json.dumps(ROWS)}, "file-name"),
    Case("an editor's ending", {"s.zip/test.model-agnostic.json.txt": json.dumps(ROWS)},
        "file-name"),
    Case("a table of an editor", {"s/test.model-agnostic.csv.txt": table(ROWS)}, "file-name"),
    Case("a copy", {"s/test.model-agnostic - Copy.csv": table(ROWS)}, "file-name"),
    Case("a name by ids", {"s/predictions.json": json.dumps(ROWS)}, "file-name"),
    one("csv of Excel where commas are decimal", "sep=;\r\n" + table(changed(lambda _, r: {
        "id": f"{r['id']},0", "label": r["label"], KEY: str(r[KEY]).replace(".", ",")}), ";"),
        "id-string,p-number", file="p.csv"),
    one("csv, percent", table(with_p(PERCENT), header=["ID", "Label", "P"]), "column-name,p-range",
        file="p.csv"),
    one("csv, decimal comma", table(with_p([str(p).replace(".", ",") for p in PS]), ";"),
        "p-number", file="p.csv"),
    one("tsv in utf-16, 0 and 1", table(with_label([0, 1]), "\t").encode("utf-16"), "label-value",
        file="p.tsv"),
    Case("csv of another name", {"s.zip/Test_Agnostic.csv": table(ROWS)}, "file-name"),
    one("everything", everything(), "id-missing,key-missing,key-unknown"),
    # two readings, or none
    one("ratings from 1 to 5", with_p(RATINGS), "p-range", False),
    one("ids of thousands", changed(lambda _, r: {**r, "id": f"{r['id']}.000"}), "id-integer",
        False),
    one("p beyond float32", with_p([-2e-6, *PS[1:]]), "p-range", False),
    one("one p in percent", with_p([*PS[:4], 99, *PS[5:]]), "p-range", False),
    one("p up to 1000", with_p([10 * p for p in P_NUMBERS]), "p-range", False),
    one("p and prob differ", [{**r, "prob": 0.5} for r in renamed(p="p")],
        "key-missing,key-unknown", False),
    one("a key of another name", renamed(p="score"), "key-missing,key-unknown", False),
    one("1 is against p", with_label([1, 0]), "label-value", False),
    one("0 and 1 among words", [{**ROWS[0], "label": 0}, *ROWS[1:]], "label-value", False),
]  # fmt: skip


def write(case, folder):
    """Write the case's files, and return what is handed in."""
    for path, content in case.files.items():
        data = content.encode() if isinstance(content, str) else content
        top, _, name = path.rpartition("/")
        if top.endswith(".zip"):
            with zipfile.ZipFile(folder / top, "w") as archive:
                archive.writestr(name, data)
        else:
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(data)
    return folder / next(iter(case.files)).partition("/")[0]


@pytest.fixture
def data(tmp_path):
    """Return a folder of data with ids for both tracks."""
    for track, first in (("agnostic", 101), ("aware", 501)):
        rows = [{"id": first + i, "hyp": f"h {i}", "src": "s", "task": "PG"} for i in range(12)]
        write_json(tmp_path / "data" / f"test.model-{track}.json", rows)
    return tmp_path / "data"


@pytest.mark.parametrize("case", SPOILED, ids=lambda case: case.name)
def test_spoiled(case, tmp_path, data, shroom):
    source = write(case, tmp_path)
    against = data / NAME if source.is_file() and source.suffix != ".zip" else data
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    found = check(source, data=against).problems.codes
    assert found - {"label-p"} == set(case.codes.split(","))
    out = tmp_path / "out.json"
    code, stdout, err = shroom("check", source, "--data", against, "--fix", out)
    assert {p: p.read_bytes() for p in before} == before
    if case.fixed:
        assert (code, json.loads(out.read_text())) == (0, ROWS), err
        assert "fixed: " in err
        assert check(out, data=data / NAME).problems.codes == set()
    else:
        assert (code, out.exists()) == (1, False)
        assert "not valid: " in stdout
        assert "out.json: not written, since" in err
        errors = [line for line in err.splitlines() if line.endswith("]") and "fixed" not in line]
        assert errors
        assert "left out" not in err
